"""The arithmetic of scores: similarities, sums and products in one fixed order."""
