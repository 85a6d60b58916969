"""Networks, one idea a file: `autoencoder` and its two middles, `vector_quantizer` (the paper's) and `gaussian`."""
