"""Intervals: where a metric would fall, had others been drawn; and estimates of a whole split from a sample."""
