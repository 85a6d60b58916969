"""Noisy slices in, denoised tensor out, on the driver. Reads nothing but the noisy tensor: post-processing.

Three separate parts: a *prior* predicts every cell's mean (`priors`, chosen by name), *fusion* combines it with the
cell's own noisy count (`estimation`), and refinement (`vdr_spark.refine`) goes from the pings kept to all pings;
`stage` puts them together. Rooms, each importing only those before it: `statistics` of noisy slices, `estimation` of
counts and of errors, `networks` and how they are trained, `priors`. Nothing here imports Spark.
"""
