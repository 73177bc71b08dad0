"""Metrics of labelled triples: predicted labels, areas under curves, probabilities, curves."""
