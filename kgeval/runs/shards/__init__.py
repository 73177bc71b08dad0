"""Shards: a ranking in parts, each ranked by itself, here or on other machines, and written as soon as it is done."""
