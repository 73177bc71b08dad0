"""``--sort`` and ``--limit``: the same rows in the order of a metric, and the first of them; JSON stays as it was."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest

from kgeval import evaluate, summarize
from kgeval.base.tables.table import Figure, Table
from kgeval.cli.display import SortKey, arranged
from tests.cli.conftest import invoke
from tests.conftest import random_dataset

BIG = random_dataset(5, entities=20, relations=8, triples=900)


@pytest.fixture
def tables(place):
    """Three files of ranks of some hundred triples."""
    scores = {"sines": lambda h, r, t: np.sin(h * 31 + r * 7 + t * 3), "sums": lambda h, r, t: (h + 3 * r + t) % 11}
    made = {name: evaluate(score, BIG) for name, score in {**scores, "tails": lambda h, r, t: t}.items()}
    for name, table in made.items():
        table.to_parquet(place / f"{name}.parquet")
    return made


def rows_of(printed):
    return list(csv.DictReader(printed.splitlines()))


@pytest.mark.parametrize("metric", ["mrr", "-mrr", "mr", "head.mrr", "count"])
def test_groups_are_in_the_order_of_a_metric(done, tables, metric):
    """The worst first: the lowest MRR, the highest mean rank; of a count, the largest."""
    name, worst_is_low = metric.lstrip("-"), metric in ("mrr", "head.mrr")
    summary = summarize(tables["sines"], ["mrr", "mr"], by="relation")
    values = {group.key["relation"]: summary.of("model", name, **group.key) for group in summary.groups}
    call = ("summarize", "sines.parquet", "--by", "relation", "-m", "mrr,mr", "--format", "csv")
    found = [row["relation"] for row in rows_of(done(*call, "--sort", metric))]
    assert sorted(found) == sorted(values)
    numbers = [values[relation] for relation in found]
    assert numbers == sorted(numbers, reverse=not worst_is_low)
    few = invoke(*call, "--sort", metric, "--limit", "3")
    assert [row["relation"] for row in rows_of(few.stdout)] == found[:3]
    assert f"… and {len(values) - 3} more groups" in few.stderr


def test_models_are_in_the_order_of_a_metric(done, data, tables):
    values = {name: summarize(table, ["mrr"])["mrr"] for name, table in tables.items()}
    call = ("compare", *(f"{name}.parquet" for name in tables), "-m", "mrr", "--draws", "99")
    for sort, best_first in (("mrr", True), ("-mrr", False)):
        expected = sorted(values, key=values.get, reverse=best_first)[:2]
        order = ("--sort", sort, "--limit", "2")
        assert [row["model"] for row in rows_of(done(*call, "--format", "csv", *order))] == expected
        printed = done(*call, "--format", "markdown", *order)
        assert re.findall(r"^\| (\w+) \|", printed, re.MULTILINE)[1:] == expected
        assert "… and 1 more model" in printed
    assert data(*call, "--sort", "mrr", "--limit", "1") == data(*call)


def test_groups_of_models_stay_together(done, tables):
    printed = done(
        *("compare", "sines.parquet", "sums.parquet", "-m", "mrr", "--by", "relation", "--draws", "99"),
        *("--format", "csv", "--sort", "mrr", "--limit", "2"),
    )
    rows = rows_of(printed)
    assert [row["model"] for row in rows] == ["sines", "sums"] * 2
    assert rows[0]["relation"] == rows[1]["relation"] != rows[2]["relation"] == rows[3]["relation"]
    worst = [min(float(row["mrr"]) for row in pair) for pair in (rows[:2], rows[2:])]
    assert worst == sorted(worst)


def test_differences_are_in_the_order_of_their_own_metric():
    rows = [["likes", "a", "b", 1.0], ["eats", "a", "b", Figure(-2.0)], ["owns", "a", "b", None]]
    table = Table(["relation", "model", "other", "difference"], rows, 3, title="mr (secondary):", item="group")
    assert [row[0] for row in arranged(table, SortKey.read("mrr"), None).rows] == ["likes", "eats", "owns"]
    higher = arranged(Table(table.columns, rows, 3, title="mrr:", item="group"), SortKey.read("mrr"), 1)
    assert ([row[0] for row in higher.rows], higher.notes) == (["eats"], ["… and 2 more groups"])


def test_undefined_numbers_are_last_and_other_tables_are_left_alone():
    rows = [["a", None], ["b", 0.5], ["c", Figure(None)], ["d", 0.25]]
    for sort, expected in (("mrr", "bd"), ("-mrr", "db")):
        found = arranged(Table(["model", "mrr"], rows, item="model"), SortKey.read(sort), None).rows
        assert [row[0] for row in found[:2]] == [*expected]
    assert arranged(Table(["model", "mrr"], rows), SortKey.read("mrr"), 1).rows == rows


def test_the_worst_relations_are_readable_in_a_terminal(done, place):
    call = ("evaluate", "model", "--dataset", "graph/", "--option", "model=TransE", "--option", "norm=1")
    printed = done(*call, "--by", "relation", "--sort", "mrr", "--limit", "1")
    assert printed.splitlines()[-1].startswith("… and ")


@pytest.mark.parametrize(
    ("sort", "message"),
    [
        ("mrrr", "unknown metric 'mrrr'. Did you mean 'mrr' or "),
        ("hits@5", "--sort: hits@5 is not among the metrics of the table. Did you mean 'hits@"),
    ],
)
def test_other_metrics_are_refused_before_anything_is_ranked(place, monkeypatch, sort, message):
    monkeypatch.setattr("kgeval.ranking.engine.Engine.rank", lambda *_: pytest.fail("it was ranked"))
    call = ("evaluate", "model", "--dataset", "graph/", "--option", "model=TransE", "--option", "norm=1")
    for command in (call, ("run", "config.yaml", "--out", "new"), ("summarize", "run", "--by", "relation")):
        refused = invoke(*command, "--sort", sort)
        assert (refused.exit_code, message in refused.stderr) == (2, True), refused.stderr


def test_two_runs_are_the_same_or_not(tables, place):
    (place / "copy.parquet").write_bytes((place / "sines.parquet").read_bytes())
    same = invoke("compare", "sines.parquet", "copy.parquet", "--same")
    assert same.exit_code == 0
    assert len(same.stdout.splitlines()) == 1
    other = invoke("compare", "sines.parquet", "sums.parquet", "--same", "--json")
    assert other.exit_code == 1
    assert '"same": false' in other.stdout
    for names in (["sines"], ["sines", "sums", "tails"]):
        refused = invoke("compare", *(f"{name}.parquet" for name in names), "--same")
        expected = f"Error: expected two tables of ranks, found {len(names)}: {', '.join(names)}.\n"
        assert (refused.exit_code, refused.stderr) == (2, expected)
    for other in (["--format", "html"], ["--by", "relation"], ["--across-datasets"]):
        assert (
            "--same compares all ranks" in invoke("compare", "sines.parquet", "sums.parquet", "--same", *other).stderr
        )
