"""Metrics of ranked lists: one query, all of its answers, and their candidates."""
