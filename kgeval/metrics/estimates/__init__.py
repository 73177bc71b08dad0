"""Estimates: metrics of a whole split from a sample of its triples, each with the interval that says how far off."""
