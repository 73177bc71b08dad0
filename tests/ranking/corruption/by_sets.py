"""Counts of rivals by sets: what a table of ranks must hold, given the candidates of each triple and side."""

from __future__ import annotations


def hashed(h, r, t):
    return (h * 7 + r * 3 + t * 5) % 11


def counts_among(data, competing, sides=("head", "tail")):
    """Map (triple, side) to filtered greater, tied, candidates and raw ones, among ``competing(side, triple)``."""
    known = {tuple(row) for part in data.splits.values() for row in part.ids.tolist()}
    found = {}
    for row, (h, r, t) in enumerate(data.test.ids.tolist()):
        for side in sides:
            entities = competing(side, (h, r, t))
            rivals = {(entity, r, t) if side == "head" else (h, r, entity) for entity in entities} - {(h, r, t)}
            counts = []
            for among in (rivals - known, rivals):
                scores = [hashed(*rival) for rival in among]
                truth = hashed(h, r, t)
                counts += [sum(score > truth for score in scores), scores.count(truth), len(scores) + 1]
            found[row, side] = tuple(counts)
    return found


def counts_of(table):
    """Bring a table of ranks into the same form."""
    names = ("triple", "side", "greater", "tied", "candidates", "raw_greater", "raw_tied", "raw_candidates")
    columns = zip(*(table.column(name).tolist() for name in names), strict=True)
    return {(triple, side): tuple(rest) for triple, side, *rest in columns}
