"""Degenerate models: tables whose rows are alike are told of, with their number."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import Baseline, evaluate, load_checkpoint, summarize
from kgeval.scorers.checks import notes_on_equal_rows
from kgeval.scorers.families.bilinear import DistMult
from tests.conftest import random_dataset
from tests.scorers.conftest import ByVectors

DATA = random_dataset(8)
RNG = np.random.default_rng(0)
ENTITY, RELATION = RNG.normal(size=(30, 6)), RNG.normal(size=(4, 6))


def told(model, **settings):
    return [note for note in evaluate(model, DATA, **settings).notes if "told apart" in note]


@pytest.mark.parametrize("seed", range(3))
def test_a_model_whose_ids_are_mixed_up_is_told_of_first(seed):
    """It knows every fact. With its labels in another order it is at chance, which no baseline is told."""
    facts = np.zeros((30, 4, 30))
    for split in DATA.splits.values():
        facts[tuple(split.ids.T)] = 1
    order = np.random.default_rng(seed).permutation(30)
    mixed = evaluate(lambda h, r, t: facts[order[h], r, order[t]], DATA)
    index = summarize(mixed, ["head.amri", "tail.amri"])
    said = f"(AMRI of heads {index['head.amri']:.3f}, AMRI of tails {index['tail.amri']:.3f})"
    assert mixed.notes[0].startswith(f"the model is no better than chance {said}: its ids or labels may be mixed up")
    for model in (lambda h, r, t: facts[h, r, t], Baseline("random")):
        assert not any("chance" in note for note in evaluate(model, DATA).notes)


@pytest.mark.parametrize(
    ("entity", "what"),
    [
        (np.zeros((30, 6)), "30 of 30 rows of {} are zero"),
        (np.tile(ENTITY[:1], (30, 1)), "30 of 30 rows of {} are equal"),
        (np.concatenate([ENTITY[:7], ENTITY[7:8].repeat(23, 0)]), "23 of 30 rows of {} are equal"),
        (ENTITY, None),
    ],
    ids=["zero", "equal", "most", "trained"],
)
def test_equal_rows_are_counted(entity, what, tmp_path):
    np.savez(tmp_path / "m.npz", entity=entity, relation=RELATION)
    checkpoint = load_checkpoint(tmp_path / "m.npz", model="DistMult")
    vectors = ByVectors(lambda anchors, relations: ENTITY[anchors] * RELATION[relations], entity.__getitem__)
    end = ": what they stand for cannot be told apart."
    assert told(checkpoint) == ([what.format("the array entity") + end] if what else [])
    assert told(vectors, sides="tail") == ([what.format("the tails' vectors") + end] if what else [])


def test_relations_that_are_all_alike_are_told_of():
    assert told(DistMult(ENTITY, np.ones((4, 6)))) == [
        "4 of 4 rows of the array relation are equal: what they stand for cannot be told apart."
    ]


def test_a_row_for_each_of_many_is_counted_beyond_those_that_were_looked_at():
    entity = np.arange(5000.0)[:, None] * np.ones(3)
    assert notes_on_equal_rows(DistMult(entity, RELATION[:, :3])) == []
    entity[1000:] = 7.0
    (note,) = notes_on_equal_rows(DistMult(entity, RELATION[:, :3]))
    assert note.startswith("4001 of 5000 rows of the array entity are equal")
