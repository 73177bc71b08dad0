"""Analysis: what the numbers of a rank table mean, and of which of its triples they hold."""
