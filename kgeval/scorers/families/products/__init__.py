"""Families whose score is a product of head, relation and tail."""
