"""A real ComplEx on FB15k-237, against numbers that were computed elsewhere and by plain numpy here."""

from __future__ import annotations

import json
from collections import defaultdict

import numpy as np
import pytest

from kgeval import evaluate, load_checkpoint, load_dataset, summarize
from tests.brute_force import COUNTS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def checkpoint(shared):
    return shared / "checkpoints/fb15k-237-complex"


@pytest.fixture(scope="module")
def dataset(shared):
    return load_dataset(shared / "data/fb15k-237")


@pytest.fixture(scope="module")
def table(checkpoint, dataset):
    return evaluate(load_checkpoint(checkpoint, dataset=dataset, model="ComplEx"), dataset)


def test_blocks_and_threads_change_no_integer(table, checkpoint, dataset):
    again = evaluate(load_checkpoint(checkpoint, model="ComplEx"), dataset, batch_size=1000, threads=1)
    for column in [*COUNTS, "score"]:
        assert np.array_equal(table.column(column), again.column(column)), column


def test_ranks_are_those_of_plain_numpy(table, checkpoint, dataset):
    """Every fortieth triple, both sides, with complex numbers and Python sets."""
    stored = np.load(checkpoint / "embeddings.npz")
    names = {
        kind: [line.rstrip("\n").split("\t")[1] for line in (checkpoint / f"{kind}.tsv").open()]
        for kind in ("entities", "relations")
    }
    where = {label: row for row, label in enumerate(names["entities"])}
    rows = [where[label] for label in dataset.entities]
    relation_rows = [names["relations"].index(label) for label in dataset.relations]
    halves = {kind: stored[kind].astype(float) for kind in ("entity", "relation")}
    entity = (halves["entity"][:, :200] + 1j * halves["entity"][:, 200:])[rows]
    relation = (halves["relation"][:, :200] + 1j * halves["relation"][:, 200:])[relation_rows]
    answers = defaultdict(list)
    for h, r, t in {tuple(row) for part in dataset.splits.values() for row in part.ids.tolist()}:
        answers["tail", h, r].append(t)
        answers["head", r, t].append(h)
    expected, found, rows = [], [], range(0, len(dataset.test), 40)
    heads, relations, tails = dataset.test.ids[rows].T
    of_all = {"head": (relation[relations] * entity[tails].conj()) @ entity.T}
    of_all["tail"] = (entity[heads] * relation[relations]) @ entity.conj().T
    for side, matrix in of_all.items():
        mine = table.where(table.column("side") == side)
        for row, scores in zip(rows, matrix.real, strict=True):
            h, r, t = dataset.test.ids[row].tolist()
            answer, query = (t, ("tail", h, r)) if side == "tail" else (h, ("head", r, t))
            known = [e for e in answers[query] if e != answer]
            above = scores > scores[answer]
            expected.append((above.sum(), above.sum() - above[known].sum(), len(entity) - len(known)))
            found.append(tuple(int(mine.column(name)[row]) for name in ("raw_greater", "greater", "candidates")))
    assert found == expected


def test_metrics_are_the_published_ones(table, checkpoint):
    expected = json.loads((checkpoint / "expected.json").read_text())["metrics"]
    summary = summarize(table, list(expected["both"]))
    for side, metrics in expected.items():
        for name, value in metrics.items():
            assert summary[f"{side}.{name}"] == pytest.approx(value, abs=1e-6), (side, name)
