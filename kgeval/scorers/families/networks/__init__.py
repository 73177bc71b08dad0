"""Families whose score is computed by a neural network."""
