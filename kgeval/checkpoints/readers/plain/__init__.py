"""Plain vectors: text tables, word2vec, state dictionaries whose tensors the user names."""
