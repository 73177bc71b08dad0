"""AnyBURL: the lists of predictions that it writes."""
