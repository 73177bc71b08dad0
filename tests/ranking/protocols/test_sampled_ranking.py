"""Samples of triples, each ranked exactly: integers, prefixes, going on, and what is refused or ranked as a whole."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import kgeval
from kgeval import Dataset, Estimate, RankTable, Triples, Vocabulary
from kgeval.base.errors import ConfigError, InputError, MetricError, TableError
from kgeval.data.queries import Queries
from kgeval.metrics.selection import MetricOptions
from kgeval.models.adapters.prediction_lists import ALL_LISTS, OneList, PredictionLists, SideLists
from kgeval.models.alignment import align
from kgeval.ranking.corruption import Uniform
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.model_ranking import ranking_of
from kgeval.ranking.protocols.protocol import find_protocol
from kgeval.ranking.protocols.sampled_ranking import rank_all_or_sample

COUNTS = ["greater", "tied", "candidates", "raw_greater", "raw_tied", "raw_candidates", "score"]


@pytest.fixture(scope="module")
def data():
    """1,200 entities, each of one of 40 types; relations of very different sizes lead from type to type."""
    rng = np.random.default_rng(3)
    relations = np.minimum(rng.geometric(0.12, 5000) - 1, 29)
    heads, tails = (rng.integers(0, 30, 5000) * 40 + (relations * step) % 40 for step in (3, 7))
    ids = Triples.of(np.stack([heads, relations, tails], axis=1)).distinct().triples.ids
    rng.shuffle(ids)
    return Dataset.build(
        "types",
        {"train": Triples(ids[:2500]), "test": Triples(ids[2500:])},
        entities=Vocabulary([f"e{index}" for index in range(1200)]),
        relations=Vocabulary([f"r{index}" for index in range(30)], "relation"),
    )


def model(heads, relations, tails):
    """A hash; triples of the right types are better, so that few entities of another type compete with an answer."""
    noise = (heads * 7919 + relations * 104729 + tails * 1299709) % 1009
    return noise + 900 * ((tails - relations * 7) % 40 == 0) + 900 * ((heads - relations * 3) % 40 == 0)


@pytest.fixture(scope="module")
def whole(data):
    return kgeval.evaluate(model, data)


def settings(**changes):
    return Estimate(**{"first": 200, **changes})


@pytest.fixture(scope="module")
def small(data):
    return kgeval.evaluate(model, data, estimate=settings(error=0.01))


def by_row(table):
    return table.to_pandas().set_index(["side", "triple"])


def test_rows_of_a_sample_are_those_of_the_full_ranking(whole, small):
    sample, full = by_row(small), by_row(whole)
    assert 200 <= small.num_triples < whole.num_triples
    assert sample.index.get_level_values("side").value_counts().to_dict() == dict.fromkeys(
        ["head", "tail"], small.num_triples
    )
    for name in COUNTS:
        assert (sample[name] == full.loc[sample.index, name]).all()


def test_estimate_is_near_the_whole_and_says_what_it_is(whole, small):
    estimated, exact = kgeval.summarize(small), kgeval.summarize(whole)
    for name in ("mrr", "hits@10", "amri", "head.mrr", "tail.hits@3"):
        interval = estimated.interval(name)
        assert abs(estimated[name] - exact[name]) < 2 * (interval.high - interval.low) / 2
    half = estimated["mrr"] - estimated.interval("mrr").low
    assert half <= 0.01
    drawn, of = small.num_triples, whole.num_triples
    assert estimated.heads[1].startswith(f"estimated from {drawn:,} of {of:,} triples (95 %), stratified by relation")
    content = estimated.to_dict()
    assert content["estimated"] is True
    assert (content["estimate"]["n"], content["estimate"]["of"], content["estimate"]["error"]) == (drawn, of, 0.01)
    assert "estimated" not in exact.to_dict()
    assert repr(small) == f"RankTable({2 * drawn:,} ranks of model on types, {drawn:,} of {of:,} test triples)"


def test_a_regression_is_chosen_where_it_pays_and_said(data, small):
    assert small.sampling.typed_counts
    assert "regression on the rank among typed candidates" in kgeval.summarize(small).heads[1]
    (note,) = [note for note in small.notes if "regression" in note]
    assert note.startswith("regression on typed ranks: they explain")
    wider = kgeval.evaluate(model, data, estimate=settings(error=0.02))
    assert not wider.sampling.typed_counts
    assert any("no regression on typed ranks, which saves nothing" in note for note in wider.notes)
    without = Dataset.build("no train", {"test": data.split("test")}, entities=data.entities, relations=data.relations)
    alone = kgeval.evaluate(model, without, estimate=settings(error=0.02))
    assert not alone.sampling.typed_counts
    assert not any("regression" in note for note in alone.notes)


def test_typed_ranks_of_the_sample_are_those_of_their_corruption(data, small):
    from kgeval.ranking.corruption import TypeConstrained

    typed = by_row(kgeval.evaluate(model, data, corruption=TypeConstrained())).loc[by_row(small).index]
    assert (by_row(small)["typed_greater"] == typed["greater"]).all()
    assert (by_row(small)["typed_tied"] == typed["tied"]).all()


def test_a_smaller_sample_is_the_beginning_of_a_larger_and_seeds_differ(data):
    three = [set(kgeval.evaluate(model, data, estimate=settings(triples=n)).column("triple")) for n in (300, 301, 700)]
    assert [len(triples) for triples in three] == [300, 301, 700]
    assert three[0] < three[1] < three[2]
    assert set(kgeval.evaluate(model, data, estimate=settings(triples=300, seed=1)).column("triple")) != three[0]


def test_going_on_is_the_same_as_running_tighter_at_once(data, small):
    counted = []
    resolved = find_protocol("standard").resolve(Evaluation(estimate=settings(error=0.003)), data)
    scorer = align(model, data)
    at_once = resolved.rank(scorer, data)
    ranking = ranking_of(scorer, data, resolved.evaluation, progress=counted.append)
    gone_on = rank_all_or_sample(ranking, title=None, options=MetricOptions(resolved.ties), earlier=small)
    assert gone_on.to_pandas().equals(at_once.to_pandas())
    assert gone_on.sampling == at_once.sampling
    assert at_once.num_triples > small.num_triples
    assert sum(counted) == len(at_once) - len(small)


def test_the_sample_of_lists_goes_on(data):
    """Each test query has a list of three entities; ranks say whether the answer is in it."""
    rng = np.random.default_rng(0)
    lists = {}
    for side in ("head", "tail"):
        queries = Queries.of(data.split("test"), side)
        keys = zip(queries.anchors.tolist(), queries.relations.tolist(), strict=True)
        of_side = {(*key, ALL_LISTS): OneList.of(dict.fromkeys(rng.integers(0, 1200, 3).tolist(), 0.5)) for key in keys}
        lists[side] = SideLists.of(of_side)
    listed = PredictionLists(lists, data.entities, data.relations)
    first = kgeval.evaluate(listed, data, estimate=settings(triples=200))
    resolved = find_protocol("standard").resolve(Evaluation(estimate=settings(triples=400)), data)
    ranking = ranking_of(align(listed, data), data, resolved.evaluation)
    gone_on = rank_all_or_sample(ranking, title=None, options=MetricOptions(resolved.ties), earlier=first)
    assert gone_on.to_pandas().equals(resolved.rank(align(listed, data), data).to_pandas())


def test_a_file_keeps_the_estimate(small, tmp_path):
    small.to_parquet(tmp_path / "ranks.parquet")
    read = RankTable.from_parquet(tmp_path / "ranks.parquet")
    assert read.sampling == small.sampling
    assert kgeval.summarize(read).to_dict() == kgeval.summarize(small).to_dict()


def test_order_of_rows_changes_nothing(small):
    from dataclasses import replace

    rows = np.random.default_rng(0).permutation(len(small))
    shuffled = replace(small, data=small.data.take(pa.array(rows)))
    one, other = (kgeval.summarize(table, ["mrr", "head.amri"]) for table in (small, shuffled))
    assert one["mrr"] == pytest.approx(other["mrr"], rel=1e-12)
    assert one.interval("head.amri").low == pytest.approx(other.interval("head.amri").low, rel=1e-9)


def test_groups_are_estimated_too(data, whole):
    table = kgeval.evaluate(model, data, estimate=settings(triples=1500))
    found, exact = (kgeval.summarize(one, ["both.mrr"], by="relation") for one in (table, whole))
    for group in exact.groups[:5]:
        interval = found.interval("mrr", **group.key)
        assert interval.low - 0.02 < exact.of("model", "mrr", **group.key) < interval.high + 0.02
    plain = {group.key["relation"]: group for group in found.groups}
    few = [group for group in found.groups if str(next(iter(group.values))) in group.no_interval]
    assert few
    assert len(plain) == len(found.groups)
    by_side = kgeval.summarize(table, ["mrr"], by="side")
    assert by_side.of("model", "mrr", side="head") == pytest.approx(kgeval.summarize(table, "head.mrr")["head.mrr"])


@pytest.mark.parametrize(
    ("metric", "reason"),
    [
        ("median", "cannot be estimated from a sample of triples"),
        ("relation.mrr", "weights each triple by all others"),
        ("map", "needs all answers of a query"),
        ("z-mrr", "cannot be estimated from a sample of triples"),
    ],
)
def test_metrics_without_an_estimator_are_undefined(small, metric, reason):
    with pytest.raises(MetricError, match=reason):
        kgeval.summarize(small, metric)[metric]
    with pytest.raises(InputError, match=reason):
        Estimate(error=0.1, metric=metric)


def test_drawn_candidates_are_said_to_be_what_is_estimated(data):
    corruption = Uniform(count=50)
    table = kgeval.evaluate(model, data, corruption=corruption, estimate=settings(error=0.03))
    sample, full = by_row(table), by_row(kgeval.evaluate(model, data, corruption=corruption))
    assert (sample["greater"] == full.loc[sample.index, "greater"]).all()
    first, second = kgeval.summarize(table).heads
    assert "candidates: 50 uniform" in first
    assert second.startswith("estimated from")
    assert not table.sampling.typed_counts


def test_one_side_and_a_metric_of_one_side(data):
    table = kgeval.evaluate(model, data, sides="tail", estimate=settings(error=0.02, metric="tail.hits@10", level=0.9))
    assert set(table.column("side")) == {"tail"}
    interval = kgeval.summarize(table).interval("hits@10")
    assert interval.high - interval.low <= 0.04
    assert interval.level == 0.9


@pytest.mark.parametrize("aim", [{"error": 1e-6}, {"triples": 10**6}, {"error": 0.02, "first": 10**5}])
def test_a_whole_split_is_exact_and_said_to_be(data, whole, aim):
    table = kgeval.evaluate(model, data, estimate=settings(**aim))
    assert table.sampling is None
    assert by_row(table)[COUNTS].equals(by_row(whole)[COUNTS])
    assert any(note.startswith(f"no estimate: all {whole.num_triples:,} triples were ranked") for note in table.notes)
    assert "estimated" not in kgeval.summarize(table).to_dict()


def test_unknown_triples_are_left_out_of_the_whole(data):
    few = {"entities": [f"e{index}" for index in range(1100)], "relations": data.relations}
    sample = kgeval.evaluate(model, data, unseen="drop", estimate=settings(triples=400), **few)
    full = kgeval.evaluate(model, data, unseen="drop", **few)
    assert sample.sampling.num_triples == full.num_triples
    assert (by_row(sample)["greater"] == by_row(full).loc[by_row(sample).index, "greater"]).all()


@pytest.mark.parametrize("unseen", ["error", "drop"])
def test_a_restriction_leaves_triples_out_of_the_whole(data, unseen):
    """The triples that it leaves out are in no stratum, and are not waited for."""
    few = {"restrict_entities_to": [f"e{index}" for index in range(900)], "unseen": unseen}
    sample = kgeval.evaluate(model, data, estimate=settings(triples=400), **few)
    full = kgeval.evaluate(model, data, **few)
    assert sample.num_triples >= 400
    assert sample.sampling.num_triples == full.num_triples < len(data.test)
    assert (by_row(sample)["greater"] == by_row(full).loc[by_row(sample).index, "greater"]).all()
    every = kgeval.evaluate(model, data, estimate=settings(triples=10**6), **few)
    assert any(note.startswith(f"no estimate: all {full.num_triples:,} triples were ranked") for note in every.notes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"error": 0}, "error: expected greater than 0, found 0"),
        ({"error": -0.1}, "error: expected greater than 0"),
        ({}, "give error .* or triples"),
        ({"error": 0.1, "triples": 5000}, "give error .* or triples"),
        ({"triples": 50}, "50 triples are fewer than the smallest sample, 1000"),
        ({"error": 0.1, "metric": "mmr"}, "unknown metric 'mmr'. Did you mean 'mr' or 'mrr'"),
        ({"error": 0.1, "metric": "count"}, "count cannot be estimated from a sample"),
        ({"error": 0.1, "level": 1.0}, "level: expected less than 1"),
        ({"error": 0.1, "first": 5}, "first: expected at least 100"),
    ],
)
def test_settings_that_cannot_be(arguments, message):
    with pytest.raises(InputError, match=message):
        Estimate(**arguments)


def test_what_does_not_go_with_a_sample(data, small, whole):
    with pytest.raises(MetricError, match="Leave intervals out"):
        kgeval.summarize(small, intervals="triple")
    with pytest.raises(MetricError, match="no framework estimates metrics"):
        kgeval.framework_metrics(small, protocol="pykeen")
    with pytest.raises(TableError, match="cannot concatenate samples"):
        RankTable.concat([small])
    with pytest.raises(ConfigError, match="protocol tucker has a rule for this model that needs all triples"):
        kgeval.evaluate(model, data, protocol="tucker", estimate=settings(error=0.02))
    with pytest.raises(MetricError, match=r"sample is estimated from .* of .* triples"):
        kgeval.compare({"sample": small, "whole": whole})
    comparison = kgeval.compare({"sample": small, "whole": whole}, ["mrr"], allow="triples")
    assert any(note.startswith("sample is estimated from") for note in comparison.notes)


def test_two_estimates_from_one_sample_compare(data, small):
    other = kgeval.evaluate(
        lambda h, r, t: model(h, r, t) - 300 * (t % 2), data, estimate=settings(triples=small.num_triples)
    )
    comparison = kgeval.compare({"one": small, "other": other}, ["mrr"])
    assert comparison.pairs[0].units == small.num_triples
    assert any(sign in comparison.table()[1][0][1] for sign in "±(")


def test_the_longer_side_of_an_interval_is_compared_with_the_error(data):
    """Hits of a model at chance are few, and more of them may not have been drawn than were drawn by luck."""
    table = kgeval.evaluate(
        lambda h, r, t: (h * 7919 + r * 104729 + t * 1299709) % 1009,
        data,
        estimate=settings(error=0.006, metric="hits@1"),
    )
    summary = kgeval.summarize(table, "hits@1")
    interval, value = summary.interval("hits@1"), summary["hits@1"]
    assert interval.method == "bounded mean"
    assert value - interval.low < interval.high - value <= 0.006
