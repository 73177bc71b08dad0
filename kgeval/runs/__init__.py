"""Runs: from a configuration file to a run directory with ranks, metrics and their provenance."""
