"""What is not a family's formula, as a scorer: functions, arrays of scores, lists of predictions, live models."""
