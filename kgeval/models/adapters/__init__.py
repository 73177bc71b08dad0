"""Scorers that are no model family: functions, arrays of scores, lists of predictions, live models."""
