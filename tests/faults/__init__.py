"""Noise once, for ever: `vdr release` is killed at many points, and the same command makes the same release of it."""
