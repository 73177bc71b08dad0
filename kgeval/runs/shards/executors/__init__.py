"""Executors: where the shards of a ranking are ranked, one kind a file."""
