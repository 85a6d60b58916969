"""The past: earlier windows' stored noisy tensors as further evidence. Post-processing, so it costs no privacy."""
