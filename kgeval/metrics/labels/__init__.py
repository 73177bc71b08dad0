"""Metrics of labelled triples: decisions, areas, probabilities, curves."""
