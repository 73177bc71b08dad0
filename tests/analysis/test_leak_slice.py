"""The slice ``leak``: the way in which train gives a triple away, as the audit flags it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import kgeval
from kgeval import annotate
from kgeval.data import leaks as relation_overlaps
from kgeval.errors import DatasetError
from tests.analysis.ranked_rows import graph_of, graphs, ranked
from tests.analysis.relations_by_sets import flagged

WAYS = ("repeated", "reverse", "duplicate", "inverse")


@given(graphs())
def test_the_first_way_names_the_leak(dataset):
    flags = flagged(dataset, "test", 0.8)
    expected = [
        next((way for way, holds in zip(WAYS, ways, strict=True) if holds), "none")
        for ways in zip(*(flags[way] for way in WAYS), strict=True)
    ]
    table = annotate(ranked(dataset), dataset, "leak")
    assert table.column("leak").tolist() == expected * 2
    column = table.data.column("leak").combine_chunks()
    assert column.dictionary.to_pylist() == ["none", *WAYS]
    assert column.type.ordered


def test_a_search_that_was_too_much_gives_no_slice(monkeypatch):
    dataset = graph_of(train=[(0, 0, 1), (0, 1, 1)], test=[(2, 0, 3)])
    monkeypatch.setattr(relation_overlaps, "MOST_COMPARED", 0)
    with pytest.raises(
        DatasetError, match=r"slice 'leak': which relations are near-duplicate is not known: .* Leave it out\."
    ):
        annotate(ranked(dataset), dataset, "leak")


def test_a_metric_on_the_clean_part_beside_the_whole():
    """On UMLS, 11 test triples are reversed under a symmetric relation, and 8 more by inverse rules only."""
    data = kgeval.load_dataset("umls")
    table = annotate(kgeval.evaluate(lambda h, r, t: (h * 31 + r * 5 + t * 7) % 50, data), data, "leak")
    groups = kgeval.summarize(table, ["both.mrr"], by="leak").to_frame()
    assert dict(zip(groups["leak"], groups["both.count"], strict=True)) == {"none": 1284, "reverse": 22, "inverse": 16}
    clean = kgeval.summarize(table.where(table.column("leak") == "none"), ["both.mrr"])["mrr"]
    assert groups["both.mrr"][0] == pytest.approx(clean, rel=1e-12)
    whole = kgeval.summarize(table, ["both.mrr"])["mrr"]
    assert np.average(groups["both.mrr"], weights=groups["both.count"]) == pytest.approx(whole, rel=1e-12)
