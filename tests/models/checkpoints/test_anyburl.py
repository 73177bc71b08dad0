"""AnyBURL's predictions: ranks by plain loops over the lists, and what a malformed file is told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kgeval import evaluate, explain, framework_metrics, load_checkpoint
from kgeval.base.errors import CheckpointError, InputError
from kgeval.models.checkpoints.readers import formats
from kgeval.models.checkpoints.readers.native import save_checkpoint
from kgeval.ranking.corruption import Uniform
from kgeval.ranking.protocols.protocol import find_protocol
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
    with pytest.raises(CheckpointError, match="it has no formula and no arrays, so it cannot be converted"):
        save_checkpoint(found, tmp_path / "model.safetensors")


def test_predictions_without_their_dataset_are_refused(tmp_path, lists):
    (tmp_path / "p.txt").write_text(written(lists))
    with pytest.raises(CheckpointError, match="Give the dataset: --dataset"):
        load_checkpoint(tmp_path / "p.txt")


def test_queries_without_predictions_are_refused(tmp_path, lists):
    (tmp_path / "p.txt").write_text("".join(written(lists).splitlines(keepends=True)[:3]))
    predictions = load_checkpoint(tmp_path / "p.txt", dataset=DATA)
    for side, asked in (("head", r"\(\?, r\d\d, e\d{4}\)"), ("tail", r"\(e\d{4}, r\d\d, \?\)")):
        with pytest.raises(
            InputError, match=f"queries have no list of predictions, such as {asked}. Are these the lists of"
        ):
            evaluate(predictions, DATA, sides=(side,))


BEGINNING = "e0000 r00 e0001\nHeads: e0000\t0.5\t\nTails: e0001\t0.25\te0002\t0.125\n"


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ("e0000 r00\n", "line 4: expected head, relation, tail, or Heads: or Tails:; found 2 words"),
        ("e0000 r99 e0001\n", "line 4: unknown relation 'r99'. Is it the right dataset?"),
        ("nobody r00 e0001\n", "line 4: unknown entity 'nobody'"),
        ("Tails: nobody\t0.5\n", "line 4: unknown entity 'nobody'"),
        ("Tails: e0001\n", "line 4: expected pairs of entity and confidence; found 1 cells"),
        ("Tails: e0001\thigh\n", "line 4: the confidence 'high' of 'e0001' is not a number"),
        ("Tails: e0001\tnan\n", "line 4: the confidence 'nan' of 'e0001' is not a number"),
        ("Tails: e0001\t0.75\n", "line 4: Tails: occurs twice for one triple"),
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


# Lists as AnyBURL itself takes them


def own_lists(rng):
    """For every triple and side a list of its own, sorted; the confidences of one question differ a little."""
    lists = {}
    for triple in map(tuple, DATA.test.ids.tolist()):
        for side in ("head", "tail"):
            chosen = rng.permutation(30)[: int(rng.integers(0, 25))].tolist()
            scores = sorted(rng.integers(1, 6, len(chosen)) / 8 + rng.integers(0, 2, len(chosen)) * 4e-5, reverse=True)
            lists[side, triple] = list(zip(chosen, scores, strict=True))
    return lists


def write_own(path, lists):
    lines = []
    for triple in map(tuple, DATA.test.ids.tolist()):
        h, r, t = triple
        lines.append(f"{DATA.entities[h]} {DATA.relations[r]} {DATA.entities[t]}")
        for mark, side in (("Heads:", "head"), ("Tails:", "tail")):
            lines.append(f"{mark} " + "".join(f"{DATA.entities[e]}\t{c}\t" for e, c in lists[side, triple]))
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def own(tmp_path):
    lists = own_lists(np.random.default_rng(1))
    return lists, write_own(tmp_path / "predictions.txt", lists)


def anyburls_ranks(lists, *, top=100):
    """Walk down each list and pass over known answers, as its HitsAtK does; nothing for an answer that is not there."""
    known = {tuple(row) for part in DATA.splits.values() for row in part.ids.tolist()}
    ranks = {}
    for side, (h, r, t) in lists:
        passed = 0
        ranks[h, r, t, side] = None
        for place, (entity, _) in enumerate(lists[side, (h, r, t)][:top]):
            if entity == (h if side == "head" else t):
                ranks[h, r, t, side] = 1 + place - passed
                break
            passed += ((entity, r, t) if side == "head" else (h, r, entity)) in known
    return ranks


def test_the_protocol_prints_what_anyburls_evaluation_does(own):
    lists, path = own
    found = list(anyburls_ranks(lists).values())
    assert 0 < found.count(None) < len(found)
    printed = framework_metrics(evaluate(load_checkpoint(path, dataset=DATA), DATA, protocol="anyburl"))
    assert printed["ALL MRR"] == pytest.approx(sum(1 / rank for rank in found if rank) / len(found), rel=1e-12)
    assert printed["ALL HITS-AT-3"] == sum(1 for rank in found if rank and rank <= 3) / len(found)
    assert printed.texts["ALL MRR"] == f"{printed['ALL MRR']:.4f}"
    missed = f"{found.count(None)} of {len(found)} answers are not in the first 100 places of their list"
    assert any(note.startswith(missed) for note in printed.notes)


def test_ranks_by_place_are_those_of_the_list(own):
    lists, path = own
    table = evaluate(load_checkpoint(path, dataset=DATA, order="listed"), DATA)
    expected = anyburls_ranks(lists)
    listed = table.column("score") > -np.inf
    for key, counts, there in zip(as_counts(table), as_counts(table).values(), listed, strict=True):
        assert (1 + counts[0] if there else None) == expected[key]
        assert counts[1] == 0 or not there


def test_each_list_is_its_triples_own(own):
    """By plain loops over each triple's own confidences, which tie and which differ within a question."""
    lists, path = own
    table = evaluate(load_checkpoint(path, dataset=DATA), DATA)
    own_scores = {(*triple, side): dict(listed) for (side, triple), listed in lists.items()}
    known = {tuple(row) for part in DATA.splits.values() for row in part.ids.tolist()}
    for (h, r, t, side), counts in as_counts(table).items():
        answer, scores = h if side == "head" else t, own_scores[h, r, t, side]
        others = [e for e in range(30) if ((e, r, t) if side == "head" else (h, r, e)) not in known]
        mine = scores.get(answer, -np.inf)
        assert counts[0] == sum(scores.get(e, -np.inf) > mine for e in others)
        assert counts[1] == sum(scores.get(e, -np.inf) == mine for e in others)


def test_answers_beyond_the_cut_off_are_not_found(own):
    lists, path = own
    rules = replace(find_protocol("anyburl"), cutoff=5)
    table = evaluate(load_checkpoint(path, dataset=DATA), DATA, protocol="anyburl")
    expected = [np.inf if rank is None else rank for rank in anyburls_ranks(lists, top=5).values()]
    assert sorted(rules.ranks(table)) == sorted(expected)


def test_explain_names_order_and_cut_off(own):
    told = explain(load_checkpoint(own[1], dataset=DATA), DATA, ["anyburl"])
    causes = told["anyburl"].causes
    assert causes["listed order"] != 0
    assert causes["cut-off"] < 0
    assert told.standard + sum(causes.values()) == pytest.approx(told["anyburl"].value, rel=1e-12)


def test_an_unknown_order_is_refused(own):
    with pytest.raises(CheckpointError, match="order='lsted': expected order=confidence or order=listed"):
        load_checkpoint(own[1], dataset=DATA, order="lsted")


def test_the_last_lists_of_a_triple_stand(tmp_path):
    again = BEGINNING.replace("0.25", "0.125").replace("0.125\n", "0.5\n")
    (tmp_path / "p.txt").write_text(BEGINNING + again)
    tails = load_checkpoint(tmp_path / "p.txt", dataset=DATA).model.sides["tail"]
    assert tails.scores.tolist() == [0.125, 0.5]
