"""Where things lie, and how they are written once: paths, files, locks, Delta tables, tensors between stages."""
