"""Dictionaries of positive and negative scores: the numbers of OGB's own evaluator, and of TGB's."""

from __future__ import annotations

import csv
import json
import pickle
from itertools import groupby

import numpy as np
import pytest
import torch

import kgeval
from kgeval.base.errors import DatasetError, InputError, MetricError, ScoreError


def test_ranks_and_metrics_are_ogbs(shared):
    folder = shared / "lists" / "ogb-evaluator"
    positive, negative, for_all = (np.load(folder / f"y_pred_{name}.npy") for name in ("pos", "neg", "neg_shared"))
    expected = np.genfromtxt(folder / "expected_ranks.tsv", names=True)
    printed = json.loads((folder / "expected.json").read_text())
    kinds = [negative, torch.from_numpy(negative), list(negative), [torch.from_numpy(row) for row in negative]]
    for lists in kinds:
        table = kgeval.ogb_eval({"y_pred_pos": positive, "y_pred_neg": lists})
        for name in ("greater", "tied"):
            np.testing.assert_array_equal(table.column(name), expected[name])
        np.testing.assert_array_equal(table.ranks, expected["rank"])
    summary = kgeval.summarize(table, list(printed["float64_from_the_ranks"]))
    for name, value in printed["float64_from_the_ranks"].items():
        assert summary[name] == pytest.approx(value, rel=1e-12)
    table = kgeval.ogb_eval({"y_pred_pos": positive, "y_pred_neg": for_all})
    (against_one_list,) = (value for key, value in printed.items() if key.startswith("hits@K against the one shared"))
    for of_dataset in against_one_list.values():
        for name, value in of_dataset.items():
            assert kgeval.summarize(table, name)[name] == pytest.approx(value)
            assert kgeval.framework_metrics(table)[name] == pytest.approx(value)


@pytest.mark.parametrize("count", [1, 19, 20, 300])
@pytest.mark.parametrize("kind", [np.asarray, list])
def test_hits_of_one_list_are_above_its_kth_best_negative(tmp_path, count, kind):
    """OGB's formula: the share of the scores above the K-th best negative; 1 where there are fewer than K."""
    rng = np.random.default_rng(count)
    positive, negative = rng.integers(0, 40, 200) / 8, rng.integers(0, 40, count) / 8
    table = kgeval.ogb_eval({"y_pred_pos": positive, "y_pred_neg": kind(negative)})
    expected = {}
    for k in (1, 10, 20, 50, 100):
        threshold = np.sort(negative)[-k] if count >= k else -np.inf
        expected[f"hits@{k}"] = (positive > threshold).mean()
    for ties in ("realistic", "pessimistic"):
        summary = kgeval.summarize(table, [*expected], ties=ties)
        assert summary.heads[0].endswith(", ties: pessimistic")
        assert {name: summary[name] for name in expected} == pytest.approx(expected, rel=1e-12)
    assert {**kgeval.framework_metrics(table).values} == {f"hits@{k}": expected[f"hits@{k}"] for k in (20, 50, 100)}
    for wanted in ({"metrics": "optimistic.hits@20"}, {"metrics": "mrr", "ties": "random"}):
        with pytest.raises(MetricError, match="ranks cannot be computed, as these ranks are pessimistic"):
            kgeval.summarize(table, **wanted)
    tied = np.isin(positive, negative).sum()
    assert any(note.startswith(f"{tied} of 200 scores tie with negatives") for note in table.notes) == (tied > 0)
    table.to_parquet(tmp_path / "ranks.parquet")
    assert kgeval.framework_metrics(kgeval.RankTable.from_parquet(tmp_path / "ranks.parquet")).values


def test_the_protocol_of_one_list_ranks_no_model():
    with pytest.raises(DatasetError, match=r"Give both to kgeval\.ogb_eval"):
        kgeval.evaluate(lambda h, r, t: h + t, "nations", protocol="ogb-shared")


def test_lists_of_other_lengths_are_tgbs(shared):
    """Its negatives of a query are those listed, or all but the true destinations at that time."""
    folder = shared / "cases" / "tgb" / "synthetic"
    scores, first = np.load(folder / "scores.npy"), {"val": 0}
    with (folder / "expected_ranks.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    first["test"] = sum(row["strategy"] == "time-filtered" and row["split"] == "val" for row in rows)
    for (strategy, split), group in groupby(rows, key=lambda row: (row["strategy"], row["split"])):
        own = list(group)
        stem = "tkgl-synthetic" if strategy == "time-filtered" else "tkgl-synthetic-dst"
        stored = pickle.loads((folder / f"{stem}_{split}_ns.pkl").read_bytes())
        positive, negative = [], []
        for place, row in enumerate(own):
            listed = stored[tuple(int(row[name]) for name in ("timestamp", "source", "relation"))]
            ids = np.setdiff1d(np.arange(scores.shape[1]), listed) if strategy == "time-filtered" else listed
            positive.append(scores[first[split] + place, int(row["destination"])])
            negative.append(scores[first[split] + place, ids])
        table = kgeval.ogb_eval({"y_pred_pos": np.array(positive), "y_pred_neg": negative})
        np.testing.assert_array_equal(table.ranks, [float(row["rank"]) for row in own])
        np.testing.assert_array_equal(table.column("candidates") - 1, [int(row["negatives"]) for row in own])


def test_a_stored_table_is_read_again_and_has_intervals(tmp_path):
    rng = np.random.default_rng(0)
    table = kgeval.ogb_eval({"y_pred_pos": rng.random(50), "y_pred_neg": rng.random((50, 20))})
    table.to_parquet(tmp_path / "ranks.parquet")
    again = kgeval.RankTable.from_parquet(tmp_path / "ranks.parquet")
    assert again.data.equals(table.data)
    assert again.provenance.candidates == "20 negatives as listed"
    assert kgeval.summarize(again, "mrr", intervals="query").interval("mrr").low > 0


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ({"y_pred_pos": [0.5]}, "the scores need the key 'y_pred_neg'; found 'y_pred_pos'"),
        ({"y_pred_pos": [], "y_pred_neg": []}, r"y_pred_pos: expected float\[triple\], found shape \[0\]"),
        ({"y_pred_pos": [[0.5, 0.1]], "y_pred_neg": [0.1]}, r"found shape \[1, 2\]"),
        ({"y_pred_pos": [0.5, 0.1], "y_pred_neg": [[0.1]]}, "a list of scores for each of 2 triples, found 1 lists"),
        ({"y_pred_pos": [0.5, 0.1], "y_pred_neg": np.zeros((3, 2))}, r"float\[2, negative\] or one list for all"),
        ({"y_pred_pos": [0.5, 0.1], "y_pred_neg": [[0.1], 0.2]}, "found lists of other dimensions"),
        ({"y_pred_pos": [0.5, np.nan], "y_pred_neg": [0.1]}, "row 1 has a score that is NaN"),
        ({"y_pred_pos": [0.5, 0.1], "y_pred_neg": [[0.1], [np.nan]]}, "row 1 has a score that is NaN"),
        ({"y_pred_pos": ["a"], "y_pred_neg": [0.1]}, "expected real numbers"),
    ],
)
def test_what_does_not_fit_is_one_clear_error(scores, message):
    with pytest.raises((InputError, ScoreError), match=message):
        kgeval.ogb_eval(scores)
