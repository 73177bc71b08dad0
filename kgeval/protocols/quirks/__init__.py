"""Quirks that several frameworks share."""
