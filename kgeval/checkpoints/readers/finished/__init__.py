"""What a model made of its queries and left behind: vectors, scores, or lists of predictions."""
