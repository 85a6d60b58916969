"""Networks, one idea a file: `vector_quantizer` (the codebook), `vqvae` (the paper's model)."""
