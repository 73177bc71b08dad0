"""Confidence intervals of metrics, and estimates of a whole split from a sample."""
