"""Baselines: predictors that count train triples and learn nothing. A useful model should be better than they are."""
