"""Intervals: where a metric would fall, had triples, queries or relations been drawn again."""
