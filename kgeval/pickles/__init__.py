"""Pickles: what frameworks pickled, models and graphs, read without executing any of it."""
