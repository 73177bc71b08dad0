"""What frameworks would print, and why they differ: the objects themselves."""

from __future__ import annotations

import pytest
import torch

from kgeval import evaluate, framework_metrics
from kgeval.base.errors import DatasetError, MetricError
from kgeval.data.provenance import Provenance
from kgeval.ranking.protocols.explain import NO_CHANGE, Explanation, ProtocolExplanation
from tests.conftest import random_dataset

DATA = random_dataset(6)
PROVENANCE = Provenance("m", "d", "test", 10, "standard", (), "all")


def by_ids(h, r, t):
    return (h * 31 + r * 3 + t * 7) % 11


def cells_of(standard, value, causes):
    row = ProtocolExplanation("framework", value, causes, value, value, PROVENANCE)
    columns, (cells,) = Explanation("both.mrr", standard, PROVENANCE, (row,), ()).table()
    return dict(zip(columns, cells, strict=True))


def test_a_digit_that_differs_has_a_cause():
    cells = cells_of(0.12345646, 0.12345655, {"averaging": 9e-8})
    assert (cells["both.mrr"], cells["− standard"], cells["averaging"]) == ("0.123457", "+9e-08", "+9e-08")


def test_what_no_digit_shows_is_a_dot():
    cells = cells_of(0.12345601, 0.1234561, {"averaging": 9e-8})
    assert cells["− standard"] == NO_CHANGE
    assert "averaging" not in cells
    cells = cells_of(0.25, 0.35, {"ties": 0.1, "averaging": 9e-8})
    assert cells["ties"] == "+0.100000"
    assert "averaging" not in cells


def test_the_metrics_of_a_framework_are_a_mapping():
    metrics = framework_metrics(evaluate(by_ids, DATA, protocol="libkge"))
    assert dict(metrics) == dict(metrics.items()) == metrics.values
    assert list(metrics) == list(metrics.keys())
    assert len(metrics) == len(metrics.values)
    assert "mean_reciprocal_rank_filtered" in metrics
    with pytest.raises(MetricError, match=r"libkge reports no 'mean_reciprocal_rank_filtred'\. Did you mean"):
        metrics["mean_reciprocal_rank_filtred"]


def test_model_and_dataset_the_wrong_way_round_are_told_to_be():
    with pytest.raises(DatasetError, match=r"The model comes first: kgeval\.evaluate\(model, dataset\)"):
        evaluate(DATA, by_ids)


def test_libkge_adds_as_its_own_code_does_and_its_filtered_numbers_come_first():
    table = evaluate(by_ids, DATA, protocol="libkge")
    metrics = framework_metrics(table)
    assert next(iter(metrics)) == "mean_rank_filtered"
    for prefix, setting in (("", "_filtered"), ("raw_", "")):
        greater, tied = table.column(f"{prefix}greater"), table.column(f"{prefix}tied")
        ranks = torch.from_numpy(greater + (tied + 1) // 2)  # from 0
        # compute_metrics of eval_entity_ranking.py
        rank_hist = torch.bincount(ranks, minlength=len(DATA.entities)).float()
        reciprocal_ranks = 1.0 / torch.arange(1, len(DATA.entities) + 1).float()
        expected = torch.sum(rank_hist * reciprocal_ranks).item() / torch.sum(rank_hist).item()
        assert metrics[f"mean_reciprocal_rank{setting}"] == expected
