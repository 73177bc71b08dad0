"""Datasets: triples, vocabularies, the layouts of files that they are read from, queries and known answers."""
