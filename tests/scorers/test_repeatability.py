"""Repeatability: a model that gives other scores when it is asked again is noticed before it is ranked."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kgeval import classify, evaluate, load_dataset
from kgeval.errors import ScoreError
from tests.conftest import random_dataset
from tests.scorers.conftest import ByVectors

DATA = random_dataset(6)
RNG = np.random.default_rng(0)
ENTITY, RELATION = (torch.from_numpy(RNG.normal(size=(size, 16))) for size in (30, 4))
REFUSED = r"other scores when it was asked for the same triples again.*model\.eval\(\)"


def with_dropout(share):
    """Dropout as a function, which no evaluation mode reaches."""

    def score(h, r, t):
        return torch.nn.functional.dropout(ENTITY[h] * RELATION[r] * ENTITY[t], share).sum(1)

    return score


@pytest.mark.parametrize("share", [0.01, 0.5])
def test_dropout_left_on_in_a_function_is_refused(share):
    with pytest.raises(ScoreError, match=REFUSED):
        evaluate(with_dropout(share), DATA)


def test_a_random_function_is_refused_wherever_scores_are_taken():
    generator = np.random.default_rng(0)
    data = load_dataset("nations")
    for take in (evaluate, classify):
        with pytest.raises(ScoreError, match=REFUSED):
            take(lambda h, r, t: generator.normal(size=len(h)), data)


def test_noise_of_the_last_bits_is_told():
    """As of a device that adds up in no fixed order."""
    generator = np.random.default_rng(0)

    def score(h, r, t):
        return (h * 7 + r * 3 + t * 5) % 11 + generator.normal(size=len(h)) * 1e-7

    notes = [note for note in evaluate(score, DATA).notes if "asked again" in note]
    assert len(notes) == 1
    share = float(notes[0].split("differed by ")[1].split(" of")[0])
    assert 1e-9 < share < 1e-6


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf, -np.inf])
def test_what_is_not_random_is_ranked_without_a_word(value):
    for score in (with_dropout(0.0), lambda h, r, t: np.where(t % 3 == 0, value, t * 1.0)):
        assert not any("again" in note for note in evaluate(score, DATA, nan="worst").notes)


def test_scores_that_are_numbers_only_sometimes_are_refused():
    calls = []

    def score(h, r, t):
        calls.append(1)
        return np.where(t == 0, np.nan if len(calls) % 2 else 0.0, t * 1.0)

    with pytest.raises(ScoreError, match=REFUSED):
        evaluate(score, DATA, nan="worst")


def test_random_vectors_are_refused():
    def of_queries(anchors, relations):
        return torch.nn.functional.dropout(ENTITY[anchors] * RELATION[relations])

    with pytest.raises(ScoreError, match=REFUSED):
        evaluate(ByVectors(of_queries, ENTITY.numpy().__getitem__), DATA)


def test_a_live_model_that_is_random_is_refused():
    from pykeen.datasets import Nations
    from pykeen.models import ERModel
    from pykeen.nn.modules import DistMultInteraction

    import kgeval.pykeen

    class Noisy(DistMultInteraction):
        def forward(self, h, r, t):
            scores = super().forward(h, r, t)
            return scores + torch.randn_like(scores)

    graph = Nations()
    model = ERModel(
        triples_factory=graph.training,
        interaction=Noisy,
        entity_representations_kwargs={"shape": 8},
        relation_representations_kwargs={"shape": 8},
        random_seed=0,
    )
    for rank in (evaluate, kgeval.pykeen.evaluate):
        with pytest.raises(ScoreError, match=REFUSED):
            rank(model, graph)
    with pytest.raises(ScoreError, match=REFUSED):
        kgeval.pykeen.KGEvalEvaluator().evaluate(model, graph.testing.mapped_triples, use_tqdm=False)
