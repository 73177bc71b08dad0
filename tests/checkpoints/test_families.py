"""The formulas of the model families, against complex numbers and loops."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval.graph.queries import Queries
from kgeval.graph.triples import Triples
from kgeval.scorers.family import families, family
from kgeval.scorers.reciprocal import Reciprocal
from tests.checkpoints.conftest import ENTITIES, OPTIONS, arrays_of

EVERYONE = np.arange(len(ENTITIES))

CASES = {
    "ComplEx": ("ComplEx", {}),
    "DistMult": ("DistMult", {}),
    "RotatE-1": ("RotatE", {"norm": 1}),
    "RotatE-2": ("RotatE", {"norm": 2}),
    "RotatE-phases": ("RotatE", {"norm": 1}),
    "TransE-1": ("TransE", {"norm": 1}),
    "TransE-2": ("TransE", {"norm": 2}),
    "TuckER": ("TuckER", {}),
}


def case(name, *, relations=3):
    """A model in float64."""
    model, options = CASES[name]
    arrays = arrays_of(model, relations=relations, dtype=np.float64)
    if "phases" in name:
        arrays["relation"] = np.arctan2(arrays["relation"][:, 2:], arrays["relation"][:, :2])
    return family(model).build(arrays, options)


def complexes(vector):
    return vector[: len(vector) // 2] + 1j * vector[len(vector) // 2 :]


def by_definition(model, head, relation, tail):
    """The score of one triple, the way its paper writes it."""
    h, r, t = model.entity[head], model.relation[relation], model.entity[tail]
    if model.name == "DistMult":
        return sum(h * r * t)
    if model.name == "TransE":
        return -np.linalg.norm(h + r - t, model.norm)
    if model.name == "ComplEx":
        return sum(complexes(h) * complexes(r) * complexes(t).conj()).real
    if model.name == "RotatE":
        rotation = np.exp(1j * r) if len(r) == 2 else complexes(r)
        return -np.linalg.norm(complexes(h) * rotation - complexes(t), model.norm)
    normalised = model.head_scale * h
    product = np.einsum("i,ijk,j->k", normalised, model.core, r) + model.product_shift
    return sum(product * t)


def all_scores(model, side, relations=3):
    """What the model says about every entity in the place of one side of every pair."""
    anchors = [(entity, relation) for relation in range(relations) for entity in EVERYONE]
    rows = [(a, r, 0) if side == "tail" else (0, r, a) for a, r in anchors]
    queries = Queries.of(Triples.of(rows), side)
    scores = model.scores(queries, EVERYONE)
    return {(a, r): row for a, r, row in zip(queries.anchors, queries.relations, scores, strict=True)}


@pytest.mark.parametrize("name", CASES)
def test_tail_scores_are_those_of_the_definition(name):
    model = case(name)
    for (anchor, relation), scores in all_scores(model, "tail").items():
        expected = [by_definition(model, anchor, relation, tail) for tail in EVERYONE]
        assert scores == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_head_scores_are_those_of_the_definition(name):
    model = case(name)
    for (anchor, relation), scores in all_scores(model, "head").items():
        expected = [by_definition(model, head, relation, anchor) for head in EVERYONE]
        assert scores == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_a_reciprocal_model_asks_for_heads_as_tails_of_the_inverse(name):
    model = case(name, relations=6)
    for (anchor, relation), scores in all_scores(Reciprocal(model), "head").items():
        expected = [by_definition(model, anchor, relation + 3, other) for other in EVERYONE]
        assert scores == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_a_reciprocal_model_has_half_as_many_relations():
    assert Reciprocal(case("DistMult", relations=6)).num_relations == 3


def test_a_head_query_of_a_reciprocal_model_knows_no_forward_relation():
    model = case("DistMult", relations=6)
    model.relation[:3] = np.nan
    assert not any(np.isnan(scores).any() for scores in all_scores(Reciprocal(model), "head").values())


@pytest.mark.parametrize("name", CASES)
def test_stored_precision_is_exact_in_the_scores(name):
    """float32 parameters give what the same numbers in float64 give."""
    model, options = CASES[name]
    arrays = {key: getattr(case(name), key).astype(np.float32) for key in case(name).arrays}
    narrow = family(model).build(arrays, options)
    wide = family(model).build({key: array.astype(np.float64) for key, array in arrays.items()}, options)
    mine, theirs = (np.stack(list(all_scores(built, "tail").values())) for built in (narrow, wide))
    assert np.array_equal(mine, theirs)


def test_every_family_is_tested_here():
    assert families().keys() == OPTIONS.keys() == {model for model, _ in CASES.values()}
