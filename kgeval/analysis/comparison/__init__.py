"""Comparison of models: which is better, by how much, and whether the difference is more than noise."""
