"""Entities of types: only those of the answer's type compete, an entity of two types has two rows, others score −∞."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import Dataset, Triples, Vocabulary, evaluate, predict
from kgeval.analysis.answer_sets.scored_split import ScoredSplit
from kgeval.base.errors import InputError
from kgeval.data.queries import Queries
from kgeval.models.alignment import align
from kgeval.models.families.bilinear import DistMult
from kgeval.models.families.projections import BigGraph
from kgeval.models.mapped import EntityTypes, Reciprocal, Typed
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.import_ranks import RankTable
from kgeval.ranking.model_ranking import ranking_of

ROWS = np.array(
    [[0, 1, 2, 3, 4, -1, -1, -1, -1], [-1, -1, -1, 5, 6, 7, 8, 9, -1], [-1, 10, -1, -1, -1, -1, -1, 11, 12]]
)
"""of nine entities in three types; entities 1, 3, 4 and 7 are of two"""

OPERATORS = ("diagonal", "none", "translation", "diagonal")

TAKEN = {"head": np.array([0, 0, 1, 2]), "tail": np.array([0, 1, 2, 1])}


def typed(kind="products"):
    """Four relations between three types."""
    rng = np.random.default_rng(0)
    entity, relation = rng.integers(-2, 3, size=(13, 4)).astype(float), rng.integers(-2, 3, size=(8, 4)).astype(float)
    families = {
        "products": DistMult(entity, relation[:4]),
        "reciprocal": Reciprocal(DistMult(entity, relation)),
        "operators": BigGraph(entity, relation[:4], OPERATORS, "dot", "tail", True),
    }
    return Typed(families[kind], EntityTypes(ROWS, TAKEN))


def score(model, h, r, t, side):
    """Of one triple, by the model's own rows."""
    rows = [ROWS[TAKEN[place][r], entity] for place, entity in (("head", h), ("tail", t))]
    if min(rows) < 0:
        return -np.inf
    query = Queries.of(Triples.of([(rows[0], r, rows[1])]), side)
    return model.model.scores(query, np.array([rows[side == "tail"]]))[0, 0]


@pytest.fixture
def graph():
    """Every triple whose entities are of the right types, in turn in train and test."""
    rows = [(h, r, t) for h in range(9) for r in range(4) for t in range(9)]
    rows = [(h, r, t) for h, r, t in rows if ROWS[TAKEN["head"][r], h] >= 0 and ROWS[TAKEN["tail"][r], t] >= 0]
    splits = {"train": Triples.of(rows[::3]), "test": Triples.of(rows[1::5])}
    labels = Vocabulary([f"e{i}" for i in range(9)]), Vocabulary([f"r{i}" for i in range(4)], "relation")
    return Dataset.build("typed", splits, entities=labels[0], relations=labels[1])


KINDS = ["products", "reciprocal", "operators"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", ["auto", "reference"])
def test_ranks_are_those_among_the_answers_type(graph, kind, kernel):
    model = typed(kind=kind)
    table = evaluate(model, graph, kernel=kernel)
    known = set(map(tuple, np.concatenate([graph.train.ids, graph.test.ids]).tolist()))
    for row in table.to_pandas().itertuples():
        h, r, t, side = row.head, row.relation, row.tail, row.side
        own = score(model, h, r, t, side)
        others = [(e, r, t) if side == "head" else (h, r, e) for e in range(9) if ROWS[TAKEN[side][r], e] >= 0]
        others = [triple for triple in others if triple != (h, r, t)]
        raw = np.array([score(model, *triple, side) for triple in others])
        free = np.array([triple not in known for triple in others], bool)
        assert row.score == own
        assert (row.raw_greater, row.raw_tied, row.raw_candidates) == (sum(raw > own), sum(raw == own), len(raw) + 1)
        assert (row.greater, row.tied) == (sum(raw[free] > own), sum(raw[free] == own))
        assert row.candidates == sum(free) + 1
    assert table.candidates == "all 9 entities, of which those of the answer's type compete"


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_of_another_type_scores_minus_infinity(kind):
    model, everyone = typed(kind=kind), np.arange(9)
    for side in ("head", "tail"):
        queries = Queries.of(Triples.of([(a, r, a) for a in range(9) for r in range(4)]), side)
        found = model.scores(queries, everyone)
        for anchor, relation, scores in zip(queries.anchors, queries.relations, found, strict=True):
            pairs = [(anchor, e) if side == "tail" else (e, anchor) for e in everyone]
            assert scores.tolist() == [score(model, h, relation, t, side) for h, t in pairs]


def test_a_triple_of_other_types_is_one_that_the_model_does_not_know(graph):
    foreign = Triples.of([*graph.test.ids.tolist(), (8, 0, 0)])
    splits = {"train": graph.train, "test": foreign}
    wider = Dataset.build("typed", splits, entities=graph.entities, relations=graph.relations)
    with pytest.raises(InputError, match=r"1 test triple with an entity .* does not know: \(e8, r0, e0\)"):
        evaluate(typed(), wider)
    assert len(evaluate(typed(), wider, unseen="drop")) == 2 * len(graph.test)
    last = evaluate(typed(), wider, unseen="worst").to_pandas()
    assert last[(last["head"] == 8) & (last.relation == 0)].score.tolist() == [-np.inf, -np.inf]


def test_a_graph_may_number_entities_and_relations_otherwise(graph):
    entities, relations = ["new", *list(graph.entities)[::-1]], list(graph.relations)[::-1]
    splits = {name: Triples(np.array([9, 3, 9]) - part.ids) for name, part in graph.splits.items()}
    labels = Vocabulary(entities), Vocabulary(relations, "relation")
    other = Dataset.build("other", splits, entities=labels[0], relations=labels[1])
    tables = [
        evaluate(typed(), data, entities=list(graph.entities), relations=list(graph.relations)).to_pandas()
        for data in (graph, other)
    ]
    key = ["side", "head_label", "relation_label", "tail_label"]
    counts = [table[[*key, "greater", "tied", "candidates"]].astype(str).sort_values(key) for table in tables]
    assert np.array_equal(*(part.to_numpy() for part in counts))


def test_predictions_are_of_the_answers_type(graph):
    model = typed()
    found = predict(model, graph, k=9, queries=[("e3", "r1", "?"), ("?", "r3", "e5")]).to_pandas()
    for number, (side, relation, fixed) in enumerate([("tail", 1, 3), ("head", 3, 5)]):
        scores = {
            e: score(model, *((fixed, relation, e) if side == "tail" else (e, relation, fixed)), side) for e in range(9)
        }
        expected = sorted((value for value in scores.values() if value > -np.inf), reverse=True)
        assert found[found["query"] == number].score.tolist() == expected
    with pytest.raises(InputError, match=r"1 query with an entity .* does not know: \(e8, r0, \?\)"):
        predict(model, graph, k=1, queries=[("e8", "r0", "?")])


def test_answer_sets_are_of_the_answers_type(graph):
    table = evaluate(typed(), graph)
    split = ScoredSplit.of(ranking_of(align(typed(), graph), graph, Evaluation()))
    reaching = split.count_from(np.full(len(table), -1e9))
    assert reaching.tolist() == (table.column("candidates") - 1 + split.answer_is_known).tolist()
    assert isinstance(table, RankTable)


UNKNOWING = {
    "products": DistMult(np.ones((2, 2)), np.ones((1, 2))),
    "relational": BigGraph(np.ones((2, 2)), np.ones((1, 2)), "diagonal", "cos", "tail", bias=False),
    "typed": Typed(
        DistMult(np.ones((2, 2)), np.ones((1, 2))),
        EntityTypes(np.array([[0, 1]]), {"head": np.array([0]), "tail": np.array([0])}),
    ),
}


@pytest.mark.parametrize("kind", UNKNOWING)
def test_a_graph_all_of_whose_triples_are_unknown_ranks_them_last(kind):
    data = Dataset.from_labels(train=[("a", "r", "b")], test=[("a", "s", "b")])
    table = evaluate(UNKNOWING[kind], data, relations=["r"], entities=["a", "b"], unseen="worst")
    assert table.to_pandas()[["greater", "candidates"]].to_numpy().tolist() == [[1, 2], [1, 2]]
