"""Runs: from a configuration file to a directory that holds everything one needs to trust its numbers."""
