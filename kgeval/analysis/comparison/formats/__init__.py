"""Comparisons as tables for papers and for other programs, one format a file."""
