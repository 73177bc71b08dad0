"""Scoring: from labelled triples to the score that a model gives each, kept in a label table."""
