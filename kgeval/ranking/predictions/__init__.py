"""Predictions: the best answers of queries, and where each stands among all candidates."""
