"""What is noticed of a model before it is ranked: rows that are alike, random scores, shapes that do not fit."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pytest
import torch

from kgeval import Baseline, ScoreTable, VectorScorer, classify, evaluate, load_checkpoint, load_dataset, summarize
from kgeval.base.errors import ScoreError
from kgeval.models.checks import notes_on_equal_rows
from kgeval.models.families.bilinear import DistMult
from kgeval.ranking.corruption import Uniform
from tests.conftest import random_dataset
from tests.models.conftest import ByVectors

DATA = random_dataset(6)
RNG = np.random.default_rng(0)
ENTITY, RELATION = RNG.normal(size=(30, 6)), RNG.normal(size=(4, 6))


# Degenerate models: tables whose rows are alike are told of, with their number


def told(model, **settings):
    return [note for note in evaluate(model, DATA, **settings).notes if "cannot distinguish" in note]


@pytest.mark.parametrize("seed", range(3))
def test_a_model_whose_ids_are_mixed_up_is_told_of_first(seed):
    """It knows every fact. With its labels in another order it is at chance, which no baseline is told."""
    facts = np.zeros((30, 4, 30))
    for split in DATA.splits.values():
        facts[tuple(split.ids.T)] = 1
    order = np.random.default_rng(seed).permutation(30)
    mixed = evaluate(lambda h, r, t: facts[order[h], r, order[t]], DATA)
    index = summarize(mixed, ["head.amri", "tail.amri"])
    said = f"(AMRI: heads {index['head.amri']:.3f}, tails {index['tail.amri']:.3f})"
    assert mixed.notes[0].startswith(f"the model is no better than chance {said}. Its ids or labels may be mixed up")
    assert mixed.notes[0].endswith("far better there.")
    h, r, _ = DATA.test.ids.T
    stored = evaluate(ScoreTable(DATA.test, tail=facts[order[h], r][:, order]), DATA)
    assert stored.notes[0].endswith("or it has learned nothing.")
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
    end = ": the model cannot distinguish them."
    assert told(checkpoint) == ([what.format("the array entity") + end] if what else [])
    assert told(vectors, sides="tail") == ([what.format("the tails' vectors") + end] if what else [])


def test_relations_that_are_all_alike_are_told_of():
    assert told(DistMult(ENTITY, np.ones((4, 6)))) == [
        "4 of 4 rows of the array relation are equal: the model cannot distinguish them."
    ]


def test_a_row_for_each_of_many_is_counted_beyond_those_that_were_looked_at():
    entity = np.arange(5000.0)[:, None] * np.ones(3)
    assert notes_on_equal_rows(DistMult(entity, RELATION[:, :3])) == []
    entity[1000:] = 7.0
    (note,) = notes_on_equal_rows(DistMult(entity, RELATION[:, :3]))
    assert note.startswith("4001 of 5000 rows of the array entity are equal")


# Repeatability: a model that gives other scores when it is asked again

REFUSED = r"different scores for the same triples.*model\.eval\(\)"


def dropped(products, share=0.5):
    return torch.nn.functional.dropout(torch.from_numpy(products), share)


def with_dropout(share):
    """Dropout as a function, which no evaluation mode reaches."""
    return lambda h, r, t: dropped(ENTITY[h] * RELATION[r] * ENTITY[t], share).sum(1)


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

    notes = [note for note in evaluate(score, DATA).notes if "not fully deterministic" in note]
    assert len(notes) == 1
    share = float(notes[0].split("differ by ")[1].split(" of")[0])
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
    scorer = ByVectors(lambda anchors, relations: dropped(ENTITY[anchors] * RELATION[relations]), ENTITY.__getitem__)
    with pytest.raises(ScoreError, match=REFUSED):
        evaluate(scorer, DATA)


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


# Arrays that do not fit together are refused with the shapes, however they are ranked


class Ones(VectorScorer):
    """Arrays of ones, in the shapes that are wanted."""

    similarity = "dot"
    num_entities, num_relations = 30, 4

    def __init__(self, **shapes):
        self.shapes = shapes

    def _ones(self, name, *usual):
        return np.ones(self.shapes.get(name, lambda *shape: shape)(*usual))

    def query_vectors(self, queries):
        return self._ones("query", len(queries), 8)

    def entity_vectors(self, side, ids):
        return self._ones("entity", len(ids), 8)

    def entity_biases(self, side, ids):
        return self._ones("biases", len(ids))

    def query_offsets(self, queries):
        return self._ones("offsets", len(queries))


@pytest.mark.parametrize("how", [{}, {"nan": "worst"}, {"corruption": Uniform(count=5)}], ids=str)
@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"entity": lambda n, _: (n, 6)}, r"query vectors have shape \(\d+, 8\), its entity vectors \(\d+, 6\)"),
        ({"query": lambda n, dim: (n - 1, dim)}, r"returned 7 query vectors for 8 queries: shape \(7, 8\)"),
        ({"query": lambda n, dim: (n,)}, r"returned 8 query vectors for 8 queries: shape \(8,\), expected \(8, dim\)"),
        ({"entity": lambda n, dim: (n + 1, dim)}, r"returned 31 entity vectors for 30 entities"),
        ({"entity": lambda n, dim: (n,)}, r"shape \(30,\), expected \(30, dim\)"),
        ({"entity": lambda n, dim: ()}, r"returned a single number as entity vectors for 30 entities"),
        ({"biases": lambda n: (n, 1)}, r"entity biases for 30 entities: shape \(30, 1\), expected \(30,\)"),
        ({"offsets": lambda n: (n - 1,)}, r"returned 7 query offsets for 8 queries"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(how, shapes, message):
    with pytest.raises(ScoreError, match=message):
        evaluate(Ones(**shapes), DATA, **how)


def test_shapes_that_fit_are_ranked():
    assert evaluate(Ones(), DATA).column("tied").max() > 0


def test_query_vectors_of_several_widths_are_refused():
    """Those of thousands of queries are computed in batches, which are concatenated."""

    class Many(Ones):
        num_entities, num_relations = 60, 60

    widths = cycle([8, 7])
    with pytest.raises(ScoreError, match="query vectors have 8 dimensions for some queries, 7 for others"):
        evaluate(
            Many(query=lambda n, dim: (n, next(widths) if n > 8 else dim)),
            random_dataset(entities=60, relations=60, triples=40_000),
        )
