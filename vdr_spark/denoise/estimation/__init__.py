"""Estimation: the likelihood of noisy counts, fusion of prior and count, and error estimates without truth."""
