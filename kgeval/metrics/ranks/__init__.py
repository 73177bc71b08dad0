"""Metrics of ranks, and the tie policies that make one rank of the three counts."""
