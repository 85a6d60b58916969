"""Earlier windows of a series as evidence: their stored noisy tensors, which cost no more privacy."""
