"""AnyBURL's predictions: ranks by plain loops over the lists, and what a malformed file is told."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import Uniform, evaluate, load_checkpoint
from kgeval.checkpoints.native import save_checkpoint
from kgeval.checkpoints.reader import formats
from kgeval.errors import CheckpointError, InputError
from tests.brute_force import as_counts, brute_force
from tests.conftest import random_dataset

DATA = random_dataset(5)


def confidences(rng):
    """For every question of test a list of some entities; confidences of few values, so that many tie."""
    lists = {}
    for h, r, t in DATA.test.ids.tolist():
        for side, query in (("head", (t, r)), ("tail", (h, r))):
            size = int(rng.integers(0, 12))
            chosen = rng.permutation(30)[:size].tolist()
            lists.setdefault(
                (side, *query), {e: round(float(c), 1) for e, c in zip(chosen, rng.random(size), strict=True)}
            )
    return lists


def written(lists, *, separator=" ", indent="", cells="{}\t{}\t"):
    """Each triple lists what its questions know, but for the other answers: as AnyBURL filters."""
    known = {tuple(row) for part in DATA.splits.values() for row in part.ids.tolist()}
    lines = []
    for h, r, t in DATA.test.ids.tolist():
        lines.append(separator.join([DATA.entities[h], DATA.relations[r], DATA.entities[t]]))
        heads = {e: c for e, c in lists["head", t, r].items() if e == h or (e, r, t) not in known}
        tails = {e: c for e, c in lists["tail", h, r].items() if e == t or (h, r, e) not in known}
        for mark, listed in (("Heads:", heads), ("Tails:", tails)):
            lines.append(f"{indent}{mark} " + "".join(cells.format(DATA.entities[e], c) for e, c in listed.items()))
    return "".join(f"{line}\n" for line in lines)


@pytest.fixture
def lists():
    return confidences(np.random.default_rng(0))


BRACED = {"indent": "\t", "cells": "{}_{{{}}} "}


@pytest.mark.parametrize(
    "style", [{}, {"separator": "\t", "indent": "\t"}, BRACED], ids=["spaces", "tabs", "kbc_evaluation"]
)
def test_ranks_are_those_of_plain_loops_over_the_lists(tmp_path, lists, style):
    path = tmp_path / "predictions.txt"
    path.write_text(written(lists, **style))
    table = evaluate(load_checkpoint(path, dataset=DATA), DATA)
    for side in ("head", "tail"):

        def score(h, r, t, side=side):
            anchor, answer = (t, h) if side == "head" else (h, t)
            return lists[side, anchor, r].get(answer, -np.inf)

        expected = brute_force(score, DATA, sides=(side,))
        found = as_counts(table.where(table.column("side") == side))
        assert {key: counts[:3] for key, counts in found.items()} == {
            key: counts[:3] for key, counts in expected.items()
        }


def test_sampled_candidates_meet_their_own_confidences(tmp_path, lists):
    path = tmp_path / "predictions.txt"
    path.write_text(written(lists))
    sampled = evaluate(load_checkpoint(path, dataset=DATA), DATA, corruption=Uniform(count=30), sides="tail")
    full = evaluate(load_checkpoint(path, dataset=DATA), DATA, sides="tail")
    for column in ("greater", "tied", "candidates"):
        assert sampled.column(column).tolist() == full.column(column).tolist()


def test_predictions_are_recognised_and_described(tmp_path, lists):
    path = tmp_path / "predictions.txt"
    path.write_text(written(lists))
    assert [name for name, reader in formats().items() if reader.recognises(path)] == ["anyburl"]
    found = load_checkpoint(path, dataset=DATA)
    assert found.describe()["queries"]["tail"] == len({key for key in lists if key[0] == "tail"})
    with pytest.raises(CheckpointError, match="it is of no model family, so that it cannot be converted"):
        save_checkpoint(found, tmp_path / "model.safetensors")


def test_predictions_without_their_dataset_are_refused(tmp_path, lists):
    (tmp_path / "p.txt").write_text(written(lists))
    with pytest.raises(CheckpointError, match="Give the dataset that they are about"):
        load_checkpoint(tmp_path / "p.txt")


def test_queries_without_predictions_are_refused(tmp_path, lists):
    (tmp_path / "p.txt").write_text("".join(written(lists).splitlines(keepends=True)[:3]))
    predictions = load_checkpoint(tmp_path / "p.txt", dataset=DATA)
    for side, asked in (("head", r"\(\?, r\d\d, e\d{4}\)"), ("tail", r"\(e\d{4}, r\d\d, \?\)")):
        with pytest.raises(InputError, match=f"there are no predictions for {asked}. Are they those of this split?"):
            evaluate(predictions, DATA, sides=(side,))


BEGINNING = "e0000 r00 e0001\nHeads: e0000\t0.5\t\nTails: e0001\t0.25\te0002\t0.125\n"


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ("e0000 r00\n", "line 4: expected head, relation, tail, or 'Heads:', 'Tails:'; found 2 words"),
        ("e0000 r99 e0001\n", "line 4: unknown relation 'r99'. Is it the right dataset?"),
        ("nobody r00 e0001\n", "line 4: unknown entity 'nobody'"),
        ("Tails: nobody\t0.5\n", "line 4: unknown entity 'nobody'"),
        ("Tails: e0001\n", "line 4: expected pairs of entity and confidence, between tabs; found 1 cells"),
        ("Tails: e0001\thigh\n", "line 4: the confidence 'high' of 'e0001' is no number"),
        ("Tails: e0001\tnan\n", "line 4: the confidence 'nan' of 'e0001' is no number"),
        ("Tails: e0001\t0.75\n", "line 4: 'e0001' had the confidence 0.25 for the same question, and here 0.75"),
        ("Heads: e0003\t0.5\te0003\t0.75\n", "line 4: 'e0003' is listed twice, with the confidences 0.5, 0.75"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path, added, message):
    (tmp_path / "p.txt").write_text(BEGINNING + added)
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(tmp_path / "p.txt", dataset=DATA)
    assert message in str(caught.value)


def test_a_list_before_its_triple_is_refused(tmp_path):
    (tmp_path / "p.txt").write_text("Heads: e0000\t0.5\n" + BEGINNING)
    with pytest.raises(CheckpointError, match="line 1: Heads: before the first triple"):
        load_checkpoint(tmp_path / "p.txt", dataset=DATA, format="anyburl")
