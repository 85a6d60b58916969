"""Networks, one idea per file, and how they are trained: devices, checkpoints, several processes."""
