"""Scorers made of other scorers: reciprocal relations, renumbered ids, one for each side, squared distances."""
