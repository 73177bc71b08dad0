"""Protocols of papers, their code, and benchmarks, one source a file."""
