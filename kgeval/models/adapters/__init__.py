"""Scorers that are no model family: functions, arrays of scores, lists of predictions, live models.

Users, readers of checkpoints and ``alignment.py`` make them; ``kgeval.ranking`` asks them for scores.
"""
