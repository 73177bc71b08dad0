"""Related relations and leaked triples, found once more with plain sets."""

from __future__ import annotations


def sets_of(data):
    """The triples of each split, all of them, and the pairs of each relation in all splits and in train."""
    rows = {split: [tuple(row) for row in part.ids.tolist()] for split, part in data.splits.items()}
    everything = {row for part in rows.values() for row in part}
    pairs = {r: {(h, t) for h, q, t in everything if q == r} for r in range(len(data.relations))}
    trained = {r: {(h, t) for h, q, t in rows.get("train", ()) if q == r} for r in range(len(data.relations))}
    return rows, everything, pairs, trained


def turned(pairs):
    return {(t, h) for h, t in pairs}


def of_both(first, second, threshold):
    common = len(first & second)
    return bool(common) and min(common / len(first), common / len(second)) >= threshold


def related(data, threshold):
    """The pairs of relations of each kind, by the sentences of the documentation."""
    _, _, pairs, trained = sets_of(data)
    every = [(r, q) for r in pairs for q in pairs if r <= q]

    def rule(r, q):
        common = len(trained[r] & turned(trained[q]))
        return bool(common) and max(common / len(trained[r]), common / len(trained[q])) >= threshold

    return {
        "near-duplicate relations": {(r, q) for r, q in every if r != q and of_both(pairs[r], pairs[q], threshold)},
        "reverse-duplicate relations": {
            (r, q) for r, q in every if r != q and of_both(pairs[r], turned(pairs[q]), threshold)
        },
        "symmetric relations": {(r, r) for r in pairs if of_both(pairs[r], turned(pairs[r]), threshold)},
        "Cartesian relations": {
            (r, r)
            for r, own in pairs.items()
            if len(trained[r]) > 1 and len(own) / (len({h for h, _ in own}) * len({t for _, t in own})) >= threshold
        },
        "inverse rules": {(r, q) for r, q in every if rule(r, q)},
    }


def flagged(data, split, threshold):
    """The flags of a split's triples, by the same sentences."""
    rows, _, _, _ = sets_of(data)
    kinds, train, own = related(data, threshold), set(rows.get("train", ())), rows[split]
    known = {entity for h, _, t in train for entity in (h, t)}

    def partners(r, *names):
        pairs = {pair for name in names for pair in kinds[name]}
        return {q for q in range(len(data.relations)) if (r, q) in pairs or (q, r) in pairs}

    reverses = ("reverse-duplicate relations", "symmetric relations")
    found = {
        "repeated": [row in train for row in own],
        "reverse": [any((t, q, h) in train for q in partners(r, *reverses)) for h, r, t in own],
        "duplicate": [any((h, q, t) in train for q in partners(r, "near-duplicate relations")) for h, r, t in own],
        "inverse": [any((t, q, h) in train for q in partners(r, "inverse rules")) for h, r, t in own],
    }
    found["leaked"] = [any(ways) for ways in zip(*found.values(), strict=True)]
    found["Cartesian"] = [(r, r) in kinds["Cartesian relations"] for _, r, _ in own]
    if split == "test" and rows.get("valid"):
        found["in valid too"] = [row in set(rows["valid"]) for row in own]
    found["unseen entity"] = [not {h, t} <= known for h, _, t in own]
    found["unseen relation"] = [r not in {q for _, q, _ in train} for _, r, _ in own]
    return found
