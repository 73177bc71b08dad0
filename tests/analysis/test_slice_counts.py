"""The slices of real graphs: as pandas and scipy count them, and as the guide says.

``kgeval summarize RUN --by cardinality -m tail.count`` prints the counts of a run, and docs/guides/slices.md those of
four graphs, which this test computes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from kgeval import annotate, load_dataset
from tests.analysis.ranked_rows import ranked

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "slices.md"

CARDINALITIES = ["cardinality", "cardinality-all", "cardinality-libkge", "edge-cardinality"]
PATTERNS = ["loop", "symmetric", "inverse", "parallel", "composition"]


@pytest.fixture(scope="module", params=["UMLS", "WN18RR", "FB15k-237", "CoDEx-S"])
def graph(request):
    """(name, dataset, the slices of its test triples as a frame)."""
    name = request.param
    source = "umls" if name == "UMLS" else request.getfixturevalue("shared") / "data" / name.lower()
    dataset = load_dataset(source)
    wanted = [*CARDINALITIES, "pattern", *(f"pattern-{flag}" for flag in PATTERNS), "known-answers"]
    frame = annotate(ranked(dataset), dataset, wanted).to_pandas()
    return name, dataset, frame[frame["side"] == "tail"].reset_index(drop=True)


def frame_of(dataset, *splits):
    import pandas as pd

    ids = np.concatenate([dataset.split(split).ids for split in splits])
    return pd.DataFrame(ids, columns=["h", "r", "t"]).drop_duplicates()


def means(dataset, *splits):
    """Heads for a tail and tails for a head, on the mean of each relation."""
    facts = frame_of(dataset, *splits)
    heads = facts.groupby(["r", "t"])["h"].size().groupby("r").mean()
    tails = facts.groupby(["r", "h"])["t"].size().groupby("r").mean()
    return heads, tails


def named(many_heads, many_tails):
    return [
        f"{'N' if heads else '1'}-{'N' if tails else '1'}" for heads, tails in zip(many_heads, many_tails, strict=True)
    ]


def test_cardinalities_are_those_of_pandas(graph):
    _, dataset, frame = graph
    for name, splits, many in (
        ("cardinality", ("train",), lambda mean: mean >= 1.5),
        ("cardinality-all", ("train", "valid", "test"), lambda mean: mean >= 1.5),
        ("cardinality-libkge", ("train",), lambda mean: mean > 1.5),
    ):
        heads, tails = means(dataset, *splits)
        relations = frame["relation"]
        assert frame[name].tolist() == named(many(heads[relations]), many(tails[relations])), name
    facts = frame_of(dataset, "train", "valid", "test")
    tails, heads = facts.groupby(["h", "r"]).size().to_dict(), facts.groupby(["r", "t"]).size().to_dict()
    triples = list(frame[["head", "relation", "tail"]].itertuples(index=False, name=None))
    expected = named([heads[r, t] > 1 for _, r, t in triples], [tails[h, r] > 1 for h, r, _ in triples])
    assert frame["edge-cardinality"].tolist() == expected


def test_patterns_are_those_of_sets_and_sparse_matrices(graph):
    _, dataset, frame = graph
    train = {tuple(row) for row in dataset.train.ids.tolist()}
    between = {}
    for h, r, t in train:
        between.setdefault((h, t), set()).add(r)
    edges = np.array([pair for pair in between if pair[0] != pair[1]])
    steps = csr_array((np.ones(len(edges), np.int64), edges.T), shape=(len(dataset.entities),) * 2)
    triples = frame[["head", "relation", "tail"]].to_numpy()
    h, t = triples[:, 0], triples[:, 2]
    paths = np.asarray(steps[h].multiply(steps.T.tocsr()[t]).sum(axis=1))
    expected = {
        "loop": h == t,
        "symmetric": [a != c and (c, b, a) in train for a, b, c in triples.tolist()],
        "inverse": [bool(between.get((c, a), set()) - {b}) for a, b, c in triples.tolist()],
        "parallel": [bool(between.get((a, c), set()) - {b}) for a, b, c in triples.tolist()],
        "composition": (paths > 0) & (h != t),
    }
    for flag, holds in expected.items():
        assert frame[f"pattern-{flag}"].tolist() == ["yes" if one else "no" for one in holds], flag


def row(name, cells):
    return f"| {name} | {' | '.join(map(str, cells))} |"


def test_the_guide_has_the_counts(graph):
    name, dataset, frame = graph
    page = GUIDE.read_text(encoding="utf-8")
    classes = ("1-1", "1-N", "N-1", "N-N")
    cells = [" / ".join(str((frame[column] == one).sum()) for one in classes) for column in CARDINALITIES]
    assert row(name, [len(dataset.test), *cells]) in page
    holds = [(frame[f"pattern-{flag}"] == "yes").sum() for flag in PATTERNS]
    assert row(name, [*holds, (frame["pattern"] == "none").sum()]) in page
