"""Graphs: triples, vocabularies, datasets and their readers, unique queries, the known-answer index."""
