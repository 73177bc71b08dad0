"""The audit of a dataset: what in it makes a metric say less than it seems to."""
