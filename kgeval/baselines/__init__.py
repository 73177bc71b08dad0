"""Baselines: predictors that count what train holds and learn nothing. A model below one has learned less than that."""
