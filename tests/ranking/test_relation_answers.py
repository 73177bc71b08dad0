"""Relations as answers: ranks against plain loops, the scores of tails, and what cannot predict relations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from kgeval import (
    CallableScorer,
    DualEncoder,
    Estimate,
    QueryScorer,
    ScoreTable,
    answers,
    compare,
    evaluate,
    explain,
    framework_metrics,
    predict,
    summarize,
)
from kgeval.analysis import answers_of_ranks
from kgeval.analysis.slices.annotation import annotate
from kgeval.analysis.slices.slice import slices
from kgeval.base.errors import InputError, KgevalError, MetricError
from kgeval.data.triples import TARGETS
from kgeval.models.families.complex import ComplEx, RotatE
from kgeval.models.families.projections import TransH
from kgeval.models.families.translations import TransE
from kgeval.models.mapped import Reciprocal
from kgeval.ranking.corruption import Uniform
from kgeval.ranking.evaluation import Evaluation
from tests.brute_force import as_counts, brute_force
from tests.conftest import random_dataset
from tests.ranking.test_times import by_loops, counts_of, models, random_graph

DATA = random_dataset(3, entities=9, relations=6, triples=150)
E, R = len(DATA.entities), len(DATA.relations)
RNG = np.random.default_rng(5)


def halves(*shape: int) -> np.ndarray:
    """Few values, whose products and sums are exact: many scores tie."""
    return RNG.integers(-1, 2, shape) / 2


def complex_score(entity, relation):
    width = entity.shape[1] // 2
    e, r = (array[:, :width] + 1j * array[:, width:] for array in (entity, relation))
    return lambda h, k, t: (e[h] * r[k] * e[t].conj()).sum().real


ENTITY, RELATION, TWICE = halves(E, 4), halves(R, 4), halves(2 * R, 4)
SCORED = {
    "ComplEx": (ComplEx(ENTITY, RELATION), complex_score(ENTITY, RELATION)),
    "TransE": (TransE(ENTITY, RELATION, norm=1), lambda h, k, t: -np.abs(ENTITY[h] + RELATION[k] - ENTITY[t]).sum()),
    # A triple is scored by its tail: by the relation itself, never by its inverse.
    "Reciprocal": (Reciprocal(ComplEx(ENTITY, TWICE)), complex_score(ENTITY, TWICE)),
}


@pytest.mark.parametrize("kernel", ["reference", "compiled", "float32"])
@pytest.mark.parametrize("name", SCORED)
def test_ranks_with_ties_equal_brute_force(name, kernel):
    scorer, score = SCORED[name]
    table = evaluate(scorer, DATA, sides="relation", kernel=kernel, memory_limit=5000)
    assert as_counts(table) == brute_force(score, DATA, sides=["relation"])
    assert table.column("tied").any()
    assert table.candidates == f"all {R} relations"


OTHERS = [
    RotatE(halves(E, 4), RNG.normal(size=(R, 2)), norm=1),
    TransH(halves(E, 4), halves(R, 4), norm=2, normalization="none", normal=RNG.normal(size=(R, 4))),
    QueryScorer(lambda anchors, relations, side: (anchors * 7 + relations * 5)[:, None] % np.arange(2, E + 2), E, R),
]


@pytest.mark.parametrize("model", OTHERS, ids=lambda model: type(model).__name__)
def test_a_triple_has_one_score_whatever_is_predicted(model):
    by_side = {side: evaluate(model, DATA, sides=side) for side in ("tail", "relation")}
    assert by_side["relation"].column("score").tolist() == by_side["tail"].column("score").tolist()


@pytest.mark.parametrize("times", ["time-aware", "static"])
def test_relations_at_a_time_equal_loops(times):
    dataset = random_graph(8, relations=4)
    for scorer, score in models(2, dataset).values():
        table = evaluate(scorer, dataset, sides=TARGETS, times=times)
        assert counts_of(table) == by_loops(score, dataset, times=times, sides=TARGETS)


def test_a_relation_that_the_model_does_not_know_is_no_candidate():
    relations = list(DATA.relations)[1:]
    model = CallableScorer(lambda h, r, t: (h + 2 * r + t) % 3, entities=DATA.entities, relations=relations)
    table = evaluate(model, DATA, sides=["relation"], unseen="worst")
    known = table.where(table.column("relation") > 0)
    assert known.column("raw_candidates").tolist() == [R - 1] * len(known)
    last = table.where(table.column("relation") == 0)
    assert len(last)
    assert last.column("raw_greater").tolist() == [R - 1] * len(last)


@pytest.fixture(scope="module")
def three_sides():
    return evaluate(SCORED["ComplEx"][0], DATA, sides=TARGETS)


def test_both_are_heads_and_tails_and_relation_is_a_mean_over_relations(three_sides):
    entities = evaluate(SCORED["ComplEx"][0], DATA)
    names = ["mrr", "relation.mrr", "macro.hits@3", "map", "amri"]
    found, without = summarize(three_sides, names), summarize(entities, names)
    for name in names:
        assert found[name] == without[name] == found[f"both.{name}"]
    alone = summarize(evaluate(SCORED["ComplEx"][0], DATA, sides="relation"), [*names[:-1], "relation_side.mrr"])
    rows = three_sides.column("side") == "relation"
    ranks = 1 + (three_sides.column("greater") + three_sides.column("tied") / 2)[rows]
    assert found["relation_side.mrr"] == alone["mrr"] == alone["relation_side.mrr"] == pytest.approx((1 / ranks).mean())
    relations = three_sides.column("relation")[rows]
    means = [(1 / ranks[relations == relation]).mean() for relation in np.unique(relations)]
    assert found["relation_side.relation.mrr"] == pytest.approx(np.mean(means))
    pairs = [*zip(*(three_sides.column(name)[rows].tolist() for name in ("head", "tail")), strict=True)]
    queries = np.unique(pairs, axis=0, return_inverse=True)[1].ravel()
    of_queries = [((ranks <= 3)[queries == query]).mean() for query in np.unique(queries)]
    assert found["relation_side.macro.hits@3"] == pytest.approx(np.mean(of_queries))
    with pytest.raises(MetricError, match="a list of relations is of several relations"):
        summarize(three_sides, ["relation_side.relation.map"])["relation_side.relation.map"]


def test_lists_of_several_relations_are_no_units_of_relations(three_sides):
    found = summarize(three_sides, ["mrr", "map"], intervals="relation", by="side")
    with pytest.raises(MetricError, match="only 6 relations; an interval needs at least 20"):
        found.interval("mrr", side="relation")
    with pytest.raises(MetricError, match=r"map has no interval: a list of relations is of several"):
        found.interval("map", side="relation")


def test_weights_against_popularity_are_those_of_the_relation_alone(three_sides):
    strat = summarize(three_sides, ["strat.mrr"], popularity=(0.5, 1))
    plain = summarize(evaluate(SCORED["ComplEx"][0], DATA), ["strat.mrr"], popularity=(0.5, 1))
    assert strat["both.strat.mrr"] == plain["strat.mrr"]
    by_relation = summarize(three_sides, ["relation_side.relation.mrr"])
    assert strat["relation_side.strat.mrr"] == pytest.approx(by_relation["relation_side.relation.mrr"])


def test_weights_of_entities_do_not_depend_on_relation_rows(three_sides):
    def strat(rows):
        table = replace(three_sides, data=three_sides.data.filter(pa.array(rows)))
        return summarize(table, ["strat.mrr"], popularity=(0.5, 0.5)).groups[0].values

    relations = three_sides.column("side") == "relation"
    some = np.arange(len(relations)) % 3 > 0
    alone, beside_some, beside_all = strat(~relations), strat(~relations | some), strat(np.full(len(relations), True))
    for name, value in alone.items():
        assert beside_some[name] == beside_all[name] == value


def test_every_slice_divides_relation_rows_too(three_sides):
    own = [name for name, one in slices().items() if not (one.needs_times or one.needs_training_graph)]
    table = annotate(three_sides, DATA, own)
    rows, tails = (table.column("side") == side for side in ("relation", "tail"))
    for name in own:
        if slices()[name].of_triples:
            assert table.column(name)[rows].tolist() == table.column(name)[tails].tolist()
        else:
            assert set(table.column(name)[rows]) == {"relation side"}
            assert "relation side" not in set(table.column(name)[~rows])
    groups = summarize(table, ["mrr"], by=["seen"])
    found = groups.of("model", "relation_side.mrr", seen="relation side")
    assert found == summarize(three_sides, ["mrr"])["relation_side.mrr"]
    with pytest.raises(MetricError, match="there are no ranks"):
        groups.of("model", "both.mrr", seen="relation side")


def test_models_are_compared_by_relations(three_sides):
    other = evaluate(SCORED["TransE"][0], DATA, sides=TARGETS)
    pair = compare({"a": three_sides, "b": other}, ["relation_side.mrr", "mrr"]).pairs
    for one in pair:
        name = str(one.metric)
        values = [summarize(table, [name])[name] for table in (three_sides, other)]
        assert one.difference == pytest.approx(values[0] - values[1])


def test_torchkge_names_its_relation_metrics_as_those_of_links(three_sides):
    table = evaluate(SCORED["ComplEx"][0], DATA, sides="relation", protocol="torchkge")
    metrics = framework_metrics(table)
    ranks = 1 + table.column("greater") + table.column("tied")
    assert metrics["relations: mrr, filtered"] == pytest.approx((1 / ranks).mean(), abs=1e-7)
    assert not [name for name in metrics if not name.startswith("relations: ")]


def test_protocols_that_predict_relations_are_explained_of_them():
    model, protocols = SCORED["ComplEx"][0], ["standard", "torchkge"]
    alone = explain(model, DATA, protocols, sides="relation")
    beside = explain(model, DATA, protocols, sides=TARGETS, metric="relation_side.mrr")
    assert [row.value for row in alone.rows] == [row.value for row in beside.rows]
    table = evaluate(model, DATA, sides="relation", protocol="torchkge")
    assert alone.rows[1].value == framework_metrics(table)["relations: mrr, filtered"]
    with pytest.raises(InputError, match="the protocol libkge ranks heads and tails only"):
        explain(model, DATA, ["torchkge", "libkge"], sides=TARGETS)


ARRAY = np.zeros((len(DATA.test), E))
ENCODER = DualEncoder(DATA.test, ENTITY, similarity="dot", tail=ARRAY[:, :4])
HEADS = QueryScorer(lambda anchors, relations, side: np.zeros((len(anchors), E)), E, R, sides="head")


@pytest.mark.parametrize(
    ("model", "settings", "message"),
    [
        (ScoreTable(DATA.test, tail=ARRAY), {}, "it has entities for its own queries only"),
        (ENCODER, {}, "it has entities for its own queries only"),
        (HEADS, {}, "it predicts heads only"),
        (SCORED["ComplEx"][0], {"corruption": Uniform(count=3)}, "the corruption 'uniform' chooses entities"),
        (SCORED["ComplEx"][0], {"protocol": "libkge"}, "the protocol libkge ranks heads and tails only"),
        (SCORED["ComplEx"][0], {"estimate": Estimate(error=0.01)}, "estimate is for heads and tails only"),
    ],
)
def test_what_cannot_predict_relations_says_why(model, settings, message):
    with pytest.raises(KgevalError, match=message):
        evaluate(model, DATA, sides="relation", **settings)


def test_a_score_that_is_nan_is_named():
    nan = lambda h, r, t: np.where(r == 2, np.nan, 0.0)  # noqa: E731
    with pytest.raises(KgevalError, match=r"NaN for \(e\d+, \?, e\d+\), candidate r02"):
        evaluate(nan, DATA, sides="relation")


VALID = evaluate(SCORED["ComplEx"][0], DATA, sides=TARGETS, split="valid")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda ranks: predict(SCORED["ComplEx"][0], DATA, sides="relation"), "are not made for relations"),
        (lambda ranks: answers(SCORED["ComplEx"][0], DATA, sides="relation"), "are not made for relations"),
        (lambda ranks: answers_of_ranks(VALID, ranks), "there are no answer sets of relations yet"),
        (
            lambda _: Evaluation(sides=("relation",), keep={"predictions": 3}),
            "keep is for heads and tails only",
        ),
    ],
)
def test_predictions_and_answer_sets_are_of_entities(three_sides, make, message):
    with pytest.raises(InputError, match=message):
        make(three_sides)
