"""Ranking: from scores to the kept counts (greater, tied, candidates) of every test triple and side."""
