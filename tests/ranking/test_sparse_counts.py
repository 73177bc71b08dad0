"""Sparse scores are counted as they would be if they were laid out, whatever competes and whatever ties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgeval import Protocol, Vocabulary, evaluate
from kgeval.base.errors import ScoreError
from kgeval.data.queries import Rows
from kgeval.models.scorer import SparseScorer, SparseScores
from kgeval.ranking.corruption import TypeConstrained, Uniform
from kgeval.ranking.rules import isclose_ties
from tests.conftest import random_dataset

NEAR = Protocol(name="near", summary="", tie_rule=isclose_ties(relative=1e-9, absolute=1.0))


@dataclass
class LaidOut:
    """The same scores, as any scorer gives them."""

    sparse: SparseScorer
    entities: Any = None
    relations: Any = None

    @property
    def num_entities(self):
        return self.sparse.num_entities

    @property
    def num_relations(self):
        return self.sparse.num_relations

    def scores(self, queries, candidates):
        listed = self.sparse.sparse_scores(queries)
        whole = np.full((len(queries), self.num_entities), listed.others)
        for query, row in enumerate(listed.of_query):
            part = slice(*listed.rows.offsets[row : row + 2])
            whole[query, listed.rows.ids[part]] = listed.scores[part]
        return np.take_along_axis(whole, np.broadcast_to(candidates, (len(queries), candidates.shape[-1])), 1)


def scorer(seed, entities, relations, *, others=0.0):
    """Each relation and parity of the anchor lists some entities, with few different scores, below others' too."""
    rng = np.random.default_rng(seed)
    rows = Rows.of([np.flatnonzero(rng.random(entities) < 0.4) for _ in range(2 * relations)])
    scores = rng.integers(-2, 4, len(rows.ids)).astype(float)
    return SparseScorer(
        entities,
        relations,
        lambda queries: SparseScores(rows, scores, 2 * queries.relations + queries.anchors % 2, others),
    )


HOW = {
    "all": {},
    "raw": {"filter": ()},
    "filtered by train": {"filter": "train"},
    "within a tolerance": {"protocol": NEAR},
    "few queries at a time": {"batch_size": 2},
    "NaN as the worst": {"nan": "worst"},
    "drawn": {"corruption": Uniform(count=7)},
    "typed": {"corruption": TypeConstrained()},
}


@pytest.mark.parametrize("how", HOW.values(), ids=HOW)
@settings(max_examples=25)
@given(seed=st.integers(0, 2**16), others=st.sampled_from([0.0, -1.0, -np.inf]))
def test_counts_are_those_of_scores_laid_out(how, seed, others):
    data = random_dataset(seed, entities=12, relations=3, triples=90)
    sparse = scorer(seed, 12, 3, others=others)
    assert evaluate(sparse, data, **how).data.equals(evaluate(LaidOut(sparse), data, **how).data)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**16))
def test_ids_of_its_own_are_matched_by_label(seed):
    data = random_dataset(seed, entities=12, relations=3, triples=90)
    rng = np.random.default_rng(seed)
    # In another order, without one entity, and with two that the dataset lacks.
    labels = Vocabulary([*rng.permutation(list(data.entities))[1:], "strange", "stranger"])
    names = {"entities": labels, "relations": Vocabulary(list(data.relations)[::-1], "relation")}
    sparse = scorer(seed, len(labels), 3)
    tables = [evaluate(one, data, unseen="worst", **names) for one in (sparse, LaidOut(sparse))]
    assert tables[0].data.equals(tables[1].data)


def test_nan_is_refused():
    with pytest.raises(ScoreError, match="a sparse scorer returned NaN: entities without a score are left out"):
        SparseScores(Rows.of([[1]]), np.array([np.nan]), np.zeros(1, np.int64))
    with pytest.raises(ScoreError, match="NaN"):
        SparseScores(Rows.of([[1]]), np.array([1.0]), np.zeros(1, np.int64), others=np.nan)
