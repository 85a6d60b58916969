"""Priors: models that predict the mean of every cell, by name in `registry`, and the features that they share."""
