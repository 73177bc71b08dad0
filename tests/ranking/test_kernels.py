"""Kernels and the engine: whatever the kernel, blocks and threads, the integers are those of the definition."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from kgeval import CallableScorer, VectorScorer, evaluate
from kgeval.base.errors import ScoreError
from kgeval.data.known import known_answers
from kgeval.data.queries import Queries, Rows
from kgeval.data.triples import Triples
from kgeval.models.similarity import canonical
from kgeval.ranking.corruption import AllEntities, Uniform
from kgeval.ranking.corruption.candidates import Candidates
from kgeval.ranking.engine import Engine
from kgeval.ranking.kernels import kernel
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.ranking.ranking_task import RankingTask
from tests.conftest import random_dataset

COMPILED = ["dot", "l1", "l2", "modulus", "squared_l2"]

SIMILARITIES = [*COMPILED, "cosine"]
"""a cosine is ranked as the dot product of unit vectors"""

KERNELS = ["reference", "compiled", "float32", "bfloat16"]


class Vectors(VectorScorer):
    """Random vectors in a few values each, so that many scores tie exactly; biases and offsets too.

    Entities that are given have no biases.
    """

    similarity = None

    def __init__(self, similarity, entity=None, *, entities=30, relations=4, dim=6, values=3):
        rng = np.random.default_rng(0)
        self.similarity, shape = similarity, (entities, dim) if entity is None else entity.shape
        drawn = rng.integers(-values, values + 1, shape).astype(np.float32)
        self.entity = drawn if entity is None else entity
        self.relation = rng.integers(-values, values + 1, (relations, shape[1])).astype(np.float32)
        self.bias = rng.integers(-1, 2, shape[0]) / 4 * (entity is None)

    num_entities = property(lambda self: len(self.entity))
    num_relations = property(lambda self: len(self.relation))

    def query_vectors(self, queries):
        sign = 1.0 if queries.side == "tail" else -1.0
        return self.entity[queries.anchors] + sign * self.relation[queries.relations].astype(np.float64)

    def entity_vectors(self, side, ids):
        return self.entity[ids]

    def entity_biases(self, side, ids):
        return self.bias[ids]

    def query_offsets(self, queries):
        return 0.5 * queries.anchors


@pytest.mark.parametrize("similarity", COMPILED)
def test_the_compiled_scores_have_the_bits_of_the_reference(similarity):
    rng = np.random.default_rng(0)
    for dim in (2, 10, 64, 130):
        scale = 10.0 ** rng.integers(-8, 8, (90, 1))
        query_vectors = QueryVectors(similarity, rng.normal(size=(90, dim)) * scale, rng.normal(size=90))
        entity_vectors = EntityVectors((rng.normal(size=(300, dim)) * 3).astype(np.float32), rng.normal(size=300))
        offsets = np.sort(np.r_[0, rng.integers(0, 300, 89), 300])
        own = Rows(offsets, rng.permutation(300))
        ours = kernel("compiled").scores(query_vectors, entity_vectors, own)
        theirs = kernel("reference").scores(query_vectors, entity_vectors, own)
        assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_canonical_scores_are_the_formulas(similarity):
    rng = np.random.default_rng(1)
    q, e = rng.normal(size=(5, 8)), rng.normal(size=(5, 8))
    as_complex = (q - e)[:, :4] + 1j * (q - e)[:, 4:]
    expected = {
        "dot": np.einsum("nd,nd->n", q, e),
        "l1": -np.linalg.norm(q - e, 1, axis=1),
        "l2": -np.linalg.norm(q - e, 2, axis=1),
        "modulus": -np.abs(as_complex).sum(1),
        "cosine": np.einsum("nd,nd->n", q, e) / np.linalg.norm(q, axis=1) / np.linalg.norm(e, axis=1),
        "squared_l2": -(np.linalg.norm(q - e, 2, axis=1) ** 2),
    }[similarity]
    np.testing.assert_allclose(canonical(similarity, q, e), expected, rtol=1e-14)


@pytest.mark.parametrize("corruption", [AllEntities(), Uniform(count=60)], ids=str)
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_every_way_of_cutting_the_work_gives_the_same_table(similarity, corruption):
    dataset, scorer = random_dataset(6, entities=150, triples=400), Vectors(similarity, entities=150, values=2)
    whole = evaluate(scorer, dataset, corruption=corruption, kernel="reference").to_pandas()
    assert (whole["tied"] > 0).any()
    assert (whole["greater"] > 0).any()
    for settings in (
        *({"batch_size": size} for size in (1, 7)),
        *({"threads": 1}, {"threads": 2, "batch_size": 33}),
        *({"memory_limit": limit} for limit in ("32kB", None)),
        *({"kernel": name} for name in KERNELS),
        *({"device": "torch:cpu", "memory_limit": limit} for limit in (None, "300kB")),
    ):
        assert evaluate(scorer, dataset, corruption=corruption, **settings).to_pandas().equals(whole)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_chunks_of_candidates_add_up(similarity):
    dataset, scorer = random_dataset(7, entities=300, triples=300), Vectors(similarity, entities=300)
    whole = evaluate(scorer, dataset, kernel="reference").to_pandas()
    for name, limit in product(KERNELS, ("50kB", "500kB")):
        assert evaluate(scorer, dataset, kernel=name, memory_limit=limit).to_pandas().equals(whole), name


def test_vector_and_finished_scores_rank_alike():
    dataset, scorer = random_dataset(9), Vectors("dot")
    finished = CallableScorer(None, 30, 4)
    object.__setattr__(finished, "scores", scorer.scores)
    assert evaluate(finished, dataset).to_pandas().equals(evaluate(scorer, dataset).to_pandas())


def test_raw_counts_are_the_filtered_ones_without_a_filter():
    dataset, scorer = random_dataset(10), Vectors("l2")
    kept, raw = evaluate(scorer, dataset), evaluate(scorer, dataset, filter=())
    for column in ("greater", "tied", "candidates"):
        for table in (kept, raw):
            assert table.column(f"raw_{column}").tolist() == raw.column(column).tolist()


def test_the_score_kept_is_the_canonical_one():
    dataset, scorer = random_dataset(11), Vectors("modulus")
    table = evaluate(scorer, dataset, sides=("tail",))
    for row in range(0, len(table), 7):
        h, r, t = (int(table.column(name)[row]) for name in ("head", "relation", "tail"))
        vector = scorer.entity[h].astype(float) + scorer.relation[r]
        expected = canonical("modulus", vector, scorer.entity[t].astype(float)) + scorer.bias[t] + 0.5 * h
        assert table.column("score")[row] == expected


def test_an_empty_task_has_no_ranks():
    queries = Queries.of(Triples.of([]), "tail")
    task = RankingTask.of(queries, Candidates.shared(np.arange(5)), known_answers(queries, []))
    assert len(Engine(kernel()).rank(Vectors("dot"), task).scores) == 0


@pytest.mark.parametrize("how", [*({"kernel": name} for name in KERNELS), {"device": "torch:cpu"}], ids=str)
def test_vectors_of_other_types_are_ranked_or_refused_alike(how):
    dataset, scorer = random_dataset(9), Vectors("dot")
    expected = evaluate(scorer, dataset, kernel="reference").to_pandas()
    plain = scorer.entity
    for dtype in (">f4", np.int64, np.longdouble):
        scorer.entity = plain.astype(dtype)
        assert evaluate(scorer, dataset, **how).to_pandas().equals(expected)
    scorer.entity = plain.astype(np.complex64)
    with pytest.raises(ScoreError, match="expected real numbers"):
        evaluate(scorer, dataset, **how)
