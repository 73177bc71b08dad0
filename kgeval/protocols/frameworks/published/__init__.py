"""Protocols of papers and benchmarks, one source a file."""
