"""Noisy slices in, denoised tensor out, on the driver. Reads nothing but the noisy tensor: post-processing.

Three separate parts: a *prior* predicts every cell's mean (`temporal`, `vqvae`), *fusion* combines it with the cell's
own noisy count, and refinement (`vdr_spark.refine`) goes from the pings kept to all pings. `stage` puts them together.
"""
