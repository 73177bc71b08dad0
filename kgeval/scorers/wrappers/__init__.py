"""Scorers made of others: reciprocal relations, renumbered ids, relations as answers, squares, one for each side."""
