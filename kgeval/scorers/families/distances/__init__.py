"""Families whose score is a distance between the transformed head and the transformed tail."""
