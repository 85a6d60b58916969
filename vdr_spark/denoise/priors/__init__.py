"""Priors: models that predict the mean of every cell, by name in `registry`, the features they share, and how they are trained together."""
