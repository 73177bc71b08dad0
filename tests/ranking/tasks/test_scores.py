"""The score of a triple is the number it is ranked by, whatever scores."""

from __future__ import annotations

import numpy as np
import pytest

import kgeval
from kgeval.base.errors import InputError, ScoreError
from kgeval.data.dataset import Dataset
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.models.alignment import align
from kgeval.models.family import family
from kgeval.models.mapped import Reciprocal
from kgeval.ranking.tasks.classification import classify, score_triples
from tests.conftest import random_dataset

DATA = random_dataset(3)


def vectors(name, relations=4, **options):
    rng, width = np.random.default_rng(0), 32 if name == "PairRE" else 16
    shapes = {"entity": (30, 16), "relation": (relations, width)}
    return family(name).build(
        {key: rng.normal(size=shape).astype(np.float32) for key, shape in shapes.items()}, options
    )


SCORERS = {
    "TransE 1": lambda: vectors("TransE", norm=1),
    "TransE 2": lambda: vectors("TransE", norm=2),
    "DistMult": lambda: vectors("DistMult"),
    "ComplEx": lambda: vectors("ComplEx"),
    "PairRE": lambda: vectors("PairRE", norm=2),
    "reciprocal": lambda: Reciprocal(vectors("ComplEx", relations=8)),
    "callable": lambda: lambda h, r, t: np.float32(0.1) * ((h * 7 + r * 3 + t) % 11),
}


@pytest.mark.parametrize("side", ["head", "tail"])
@pytest.mark.parametrize("name", SCORERS)
def test_scores_are_those_of_the_rank_table_bit_for_bit(name, side):
    model = SCORERS[name]()
    table = kgeval.evaluate(model, DATA, sides=(side,))
    scores = score_triples(align(model, DATA), DATA.test, DATA, side=side)
    np.testing.assert_array_equal(scores[table.column("triple")], table.column("score"))


def test_order_repetition_and_company_change_no_score():
    scorer = align(SCORERS["TransE 2"](), DATA)
    rows = np.random.default_rng(1).integers(0, len(DATA.train), 300)
    alone = score_triples(scorer, DATA.train, DATA)
    np.testing.assert_array_equal(score_triples(scorer, Triples(DATA.train.ids[rows]), DATA), alone[rows])


@pytest.mark.parametrize("side", ["head", "tail"])
def test_nan_is_refused_with_the_triple(side):
    head, relation, tail = DATA.test.ids[5]
    named = DATA.triple(head, relation, tail)

    def broken(h, r, t):
        return np.where((h == head) & (r == relation) & (t == tail), np.nan, 1.0)

    with pytest.raises(ScoreError, match="is NaN") as error:
        score_triples(align(broken, DATA), DATA.test, DATA, side=side)
    assert named in str(error.value)


def test_infinite_scores_are_refused_with_the_triple():
    with pytest.raises(ScoreError, match=r"\(e.*\) is -inf: labelled triples need finite scores"):
        classify(lambda h, r, t: np.where(h == DATA.test.heads[0], -np.inf, 1.0), DATA)


def test_a_live_model_scores_as_its_saved_checkpoint(tmp_path):
    """PyKEEN's own scores of triples, asked of the model itself."""
    import torch
    from pykeen.models import DistMult

    from kgeval.data.layouts.pykeen import to_factories

    model = DistMult(triples_factory=to_factories(DATA)["train"], embedding_dim=8, random_seed=0).double()
    theirs = model.predict_hrt(torch.from_numpy(DATA.test.ids)).detach().numpy().ravel()
    np.testing.assert_allclose(score_triples(align(model, DATA), DATA.test, DATA), theirs, rtol=1e-9)


def test_triples_that_the_model_does_not_know_are_refused_or_left_out():
    small = vectors("DistMult")
    assert len(np.unique(DATA.train.ids[:, [0, 2]])) == 30
    wider = Dataset.build(
        "wider",
        {"train": DATA.train, "valid": DATA.valid, "test": Triples(np.vstack([DATA.test.ids, [[30, 0, 1]]]))},
        entities=Vocabulary([f"e{index:04}" for index in range(31)]),
        relations=DATA.relations,
    )
    with pytest.raises(InputError, match=r"labelled test triples with an entity .*e0030.*unseen: drop"):
        classify(small, wider)
    table = classify(small, wider, unseen="drop")
    assert any("left out" in note for note in table.notes)
    assert "e0030" not in table.column("head_label").astype(str)
