"""Checks of a model before it is ranked: equal rows, scores that change when they are computed again."""
