"""Summaries and comparisons: sides, groups, averages, ties, and what is undefined."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from kgeval import CallableScorer, Dataset, RankTable, Triples, Vocabulary, compare, evaluate, summarize
from kgeval.analysis.comparison.comparison import Comparison
from kgeval.base.errors import MetricError, TableError
from kgeval.metrics.rank_summary import shared_columns
from kgeval.metrics.ranks.ranks import Ranks
from tests.conftest import random_dataset
from tests.metrics.example_ranks import HASHED, METRICS, changed

TABLE = HASHED


def test_summaries_speak_every_name():
    summary = summarize(TABLE, ["mrr", "hits@3", "pessimistic.mrr", "tail.mr"], ties="expected")
    assert summary["mrr"] == summary["both.mrr"] == summary["both.expected.inverse_harmonic_mean_rank"]
    assert summary["pessimistic.mrr"] < summary["mrr"]
    assert summary["hits_at_3"] == summary["both.hits@3"]
    with pytest.raises(MetricError, match=r"has no metric 'head\.mr'"):
        summary["head.mr"]


def test_both_pools_the_rows_of_the_sides():
    summary = summarize(TABLE, ["mrr", "count"])
    assert summary["mrr"] == pytest.approx((summary["head.mrr"] + summary["tail.mrr"]) / 2)
    assert summary["count"] == summary["head.count"] + summary["tail.count"] == len(TABLE)


def test_a_side_that_was_not_evaluated_is_refused():
    tails = TABLE.where(TABLE.column("side") == "tail")
    for name in ("head.mrr", "both.mrr", "relation_side.mrr"):
        with pytest.raises(MetricError, match=rf"{name}: only tails are ranked\. Use mrr\."):
            summarize(tails, [name])
    assert set(summarize(tails, ["mrr"]).to_dict()["metrics"]) == {"tail"}


@pytest.mark.parametrize("side", ["head", "tail"])
def test_what_ranks_one_side_never_says_both(side):
    rows = TABLE.column("side") == side
    alone, everything = TABLE.where(rows), summarize(TABLE, ["mrr", "map"], by="side")
    ranks = 1 + alone.column("greater") + alone.column("tied") / 2
    summary = summarize(alone, ["mrr"], intervals="triple")
    assert summary["mrr"] == summary[f"{side}.mrr"] == pytest.approx((1 / ranks).mean(), rel=1e-12)
    assert everything.of("model", "mrr", side=side) == summary["mrr"]
    shown = [str(summary), summary._repr_html_(), str(summarize(alone, by="relation")), str(everything)]
    frames = [summary.to_frame(), summarize(alone, by="relation").to_frame(), everything.to_frame()]
    contents = [json.dumps(one.to_dict()["groups"] if one.by else one.to_dict()) for one in (summary, everything)]
    assert not [text for text in (*shown, *contents, *map(str, frames)) if "both" in text]
    assert f"({side}s only)" in str(summary)
    assert "only" not in str(everything)
    with pytest.raises(MetricError, match=r"both\.mrr: each group has one side\. Use mrr"):
        summarize(TABLE, ["both.mrr"], by="side")


def test_a_side_that_is_asked_for_by_name_has_its_column_in_groups_by_side():
    frame = summarize(TABLE, ["mrr", "tail.mrr"], by="side").to_frame().set_index("side")
    assert list(frame.columns) == ["mrr", "tail.mrr", "count", "tail.count"]
    assert frame.loc["tail", "tail.mrr"] == frame.loc["tail", "mrr"] == summarize(TABLE, ["mrr"])["tail.mrr"]
    assert np.isnan(frame.loc["head", "tail.mrr"])


def test_models_that_ranked_other_sides_stand_in_one_table():
    tails = TABLE.where(TABLE.column("side") == "tail")
    comparison = compare({"all": TABLE, "tails": tails}, ["mrr"], allow="triples")
    assert comparison.table()[0] == ["model", "tail.mrr"]  # on what both ranked
    summaries = {"all": summarize(TABLE, ["mrr"]), "tails": summarize(tails, ["mrr"])}
    assert [str(name) for name in shared_columns(summaries.values())] == ["mrr"]
    mixed = Comparison({"": summaries})
    assert (
        mixed.to_csv()
        == f'model,sides,mrr\nall,"head, tail",{summaries["all"]["both.mrr"]!r}\n'
        + f"tails,tail,{summaries['tails']['tail.mrr']!r}\n"
    )


def test_no_competitors_leave_the_index_undefined():
    summary = summarize(evaluate(lambda h, r, t: h, lonely()), ["amri", "mrr", "head.amri", "tail.amri"])
    assert summary["mrr"] == 1
    assert summary.to_dict()["metrics"]["both"]["amri"] is None
    assert summary.to_dict()["undefined"]["both.amri"] == "no answer had a competitor"
    assert [note for note in summary.notes if "amri" in note] == ["both.amri is undefined: no answer had a competitor."]
    with pytest.raises(MetricError, match="amri is undefined: no answer had a competitor"):
        summary["amri"]


def lonely():
    names = {"entities": Vocabulary(["only"]), "relations": Vocabulary(["is"], "relation")}
    return Dataset.build("lonely", {"test": Triples.of([(0, 0, 0)])}, **names)


def test_averages_are_means_of_means():
    frame = TABLE.to_pandas()
    frame["rr"] = 1 / (1 + frame["greater"] + frame["tied"] / 2)
    frame["anchor"] = frame["head"].where(frame["side"] == "tail", frame["tail"])
    summary = summarize(TABLE, ["macro.mrr", "relation.mrr", "head.macro.mrr"])
    queries = frame.groupby(["side", "anchor", "relation"], observed=True)["rr"].mean()
    assert summary["macro.mrr"] == pytest.approx(queries.mean(), rel=1e-12)
    assert summary["head.macro.mrr"] == pytest.approx(queries["head"].mean(), rel=1e-12)
    assert summary["relation.mrr"] == pytest.approx(frame.groupby("relation")["rr"].mean().mean(), rel=1e-12)


@pytest.mark.parametrize("exponents", [(1.0, 1.0), (0.5, 0.0), (0.0, 0.0)])
def test_strat_weighs_against_popularity(exponents):
    frame = TABLE.to_pandas()
    entities = Counter([*frame["head"], *frame["tail"]])
    relations = Counter(frame["relation"])
    answers = frame["tail"].where(frame["side"] == "tail", frame["head"])
    weights = [
        entities[e] ** -exponents[0] * relations[r] ** -exponents[1]
        for e, r in zip(answers, frame["relation"], strict=True)
    ]
    rank = 1 + frame["greater"] + frame["tied"] / 2
    summary = summarize(TABLE, ["strat-mrr", "strat-hits@3", "mrr"], popularity=exponents)
    assert summary["strat.mrr"] == pytest.approx(np.average(1 / rank, weights=weights), rel=1e-12)
    assert summary["strat.hits@3"] == pytest.approx(np.average(rank <= 3, weights=weights), rel=1e-12)
    assert summary.to_dict()["popularity"] == list(exponents)
    if exponents == (0.0, 0.0):
        assert summary["strat.mrr"] == pytest.approx(summary["mrr"], rel=1e-12)


def test_random_ties_are_a_function_of_seed_and_triple():
    summary = summarize(TABLE, ["mrr"], ties="random", seed=3)
    assert summary.to_dict()["seed"] == 3
    assert summary["mrr"] == summarize(TABLE, ["random.mrr"], seed=3)["random.mrr"]
    assert summary["mrr"] != summarize(TABLE, ["mrr"], ties="random", seed=4)["mrr"]
    backwards = RankTable(TABLE.data.take(np.arange(len(TABLE))[::-1]))
    assert summarize(backwards, ["mrr"], ties="random", seed=3)["mrr"] == pytest.approx(summary["mrr"], rel=1e-14)
    head = summarize(TABLE.where(TABLE.column("side") == "head"), ["mrr"], ties="random", seed=3)
    assert head["mrr"] == summary["head.mrr"]


def test_random_ties_are_expected_ones_on_average():
    drawn = [summarize(TABLE, ["random.mrr"], seed=seed)["random.mrr"] for seed in range(200)]
    expected = summarize(TABLE, ["expected.mrr"])["expected.mrr"]
    assert abs(np.mean(drawn) - expected) < 4 * np.std(drawn) / np.sqrt(200)


@pytest.mark.parametrize(
    ("column", "keys"),
    [
        (["b", None, "a"], [None, "a", "b"]),
        ([1.5, float("nan"), 0.5], [0.5, 1.5, "nan"]),
        ([7, 7, 3], [3, 7]),
        ([True, False, True], [False, True]),
        ([date(2020, 1, 2), date(2020, 1, 1), None], ["2020-01-01", "2020-01-02", "NaT"]),
        ([Decimal("0.50"), None, Decimal("0.25")], [None, "0.25", "0.50"]),
    ],
    ids=["text", "floats", "whole", "truths", "dates", "decimals"],
)
def test_any_plain_column_makes_groups(column, keys, tmp_path):
    cells = pa.array([column[row % 3] for row in range(len(TABLE))])
    table = replace(TABLE, data=TABLE.data.append_column("topic", cells))
    table.to_parquet(tmp_path / "ranks.parquet")
    read = RankTable.from_parquet(tmp_path / "ranks.parquet")
    assert read.data.column("topic").type == cells.type
    summary = summarize(read, ["mrr", "count"], by="topic")
    assert [group.key["topic"] for group in summary.groups] == keys
    assert json.loads(json.dumps(summary.to_dict()))["groups"][0]["key"] == {"topic": keys[0]}
    assert sum(group.ties.ranks for group in summary.groups) == len(TABLE)
    frame = TABLE.to_pandas().assign(
        topic=cells.to_pandas(), rr=1 / (1 + TABLE.column("greater") + TABLE.column("tied") / 2)
    )
    means = frame.groupby("topic", dropna=False)["rr"].mean().sort_values()
    own = sorted(value for group in summary.groups for name, value in group.values.items() if str(name) == "both.mrr")
    assert own == pytest.approx(means.to_list())


def test_shards_have_the_same_further_columns():
    even = TABLE.column("triple") % 2 == 0
    cells = pa.array(np.arange(len(TABLE)))
    whole = replace(TABLE, data=TABLE.data.append_column("topic", cells))
    with pytest.raises(TableError, match="ranks with other further columns: add these to all tables"):
        RankTable.concat([TABLE.where(even), whole.where(~even)])
    both = RankTable.concat([whole.where(even), whole.where(~even)])
    assert sorted(both.column("topic")) == cells.to_pylist()


def test_a_column_is_there_once():
    with pytest.raises(TableError, match="a rank table has one column of each name; found two 'tied'"):
        RankTable(TABLE.data.append_column("tied", TABLE.data.column("tied")))


@pytest.mark.parametrize("cell", [[1], [1, 2], {"a": 1}], ids=str)
def test_columns_of_lists_make_no_groups(cell):
    table = replace(TABLE, data=TABLE.data.append_column("topic", pa.array([cell] * len(TABLE))))
    with pytest.raises(MetricError, match="by: the values of 'topic' are not numbers, text or dates"):
        summarize(table, ["mrr"], by="topic")


@pytest.mark.parametrize("other", [None, TABLE.to_pandas(), "runs/mine"], ids=["none", "frame", "path"])
def test_what_is_no_rank_table_is_refused(other):
    for call in (summarize, lambda table: compare({"mine": table, "same": table})):
        with pytest.raises(MetricError, match=f"expected a rank table .* found {type(other).__name__}"):
            call(other)


@pytest.mark.parametrize("keep", [np.ones(3, bool), np.arange(len(TABLE)), None], ids=["short", "numbers", "none"])
def test_rows_are_kept_by_a_truth_value_each(keep):
    with pytest.raises(TableError, match="where: expected bool of shape"):
        TABLE.where(keep)


def test_without_ranks_nothing_is_told_of_ties():
    summary = summarize(TABLE.where(np.zeros(len(TABLE), bool)))
    told = summary.to_dict()["tie_diagnosis"]
    assert [told[key] for key in ("ranks", "optimistic_mrr", "pessimistic_mrr", "mrr_gap")] == [0, None, None, None]
    assert str(summary.groups[0].ties) == "there are no ranks."
    assert not any("tie policy" in note for note in summary.notes)


def test_ties_are_diagnosed():
    summary = summarize(TABLE, ["optimistic.mrr", "pessimistic.mrr"])
    found = summary.groups[0].ties
    tied = TABLE.column("tied")
    assert (found.ranks, found.tied, found.largest) == (len(TABLE), (tied > 0).sum(), tied.max())
    assert found.gap == summary["optimistic.mrr"] - summary["pessimistic.mrr"] > 0.01
    assert summary.to_dict()["tie_diagnosis"]["mrr_gap"] == found.gap
    (note,) = (note for note in summary.notes if note not in TABLE.notes)
    assert note.startswith(f"{found.tied} of {found.ranks:,} answers tie, each with up to {found.largest} candidates.")
    grouped = summarize(TABLE, ["mrr"], by=["relation"])
    assert grouped.notes[len(TABLE.notes) :] == (
        "in 4 of 4 groups the tie policy alone moves the MRR by more than 0.01.",
    )


def test_without_ties_there_is_nothing_to_warn_of():
    sharp = evaluate(CallableScorer(lambda h, r, t: h * 1e3 + t * 1.7 + r * h * t * 0.1, 30, 4), random_dataset(13))
    summary = summarize(sharp, ["mrr"])
    assert summary.groups[0].ties.gap == 0
    assert summary.notes == sharp.notes


def test_chance_can_be_counted_without_the_answer():
    given = {name: TABLE.column(name) for name in ("greater", "tied", "candidates")}
    exact, fewer = (Ranks(given["greater"], given["tied"], given["candidates"] - less) for less in (0, 1))
    for chance, ranks in (("exact", exact), ("without-answer", fewer)):
        summary = summarize(TABLE, ["z-mrr", "amri", "mrr"], chance=chance)
        assert summary["z-mrr"] == METRICS["z-mrr"](ranks)
        assert summary["amri"] == METRICS["amri"](ranks)
        assert summary["mrr"] == METRICS["mrr"](exact)
    assert summary.to_dict()["chance"] == "without-answer"
    with pytest.raises(MetricError, match=r"unknown chance 'exakt'. Did you mean 'exact'\?"):
        summarize(TABLE, chance="exakt")


def test_a_list_is_as_long_as_it_is_however_chance_is_counted():
    names = ["auc", "map", "ndcg", "p@3", "first-rr"]
    exact, fewer = (summarize(TABLE, names, chance=chance) for chance in ("exact", "without-answer"))
    assert exact.groups[0].values == fewer.groups[0].values


def test_the_ranges_of_the_indices_are_those_of_exact_chance():
    """Ranks 2 and 4, the last of 2 and 4: by hand, 1 − (3 − 1) / ((2 + 1)/2 − 1) = −1 and, among 1 and 3, −3."""
    low, high = (TABLE.column("side") == side for side in ("head", "tail"))
    rows = np.flatnonzero(low)[:1].tolist() + np.flatnonzero(high)[:1].tolist()
    worst = changed(TABLE.where(np.isin(np.arange(len(TABLE)), rows)), greater=[1, 3], tied=[0, 0], candidates=[2, 4])
    exact, fewer = (summarize(worst, ["amri", "amrr"], chance=chance) for chance in ("exact", "without-answer"))
    assert exact["amri"] == -1
    assert fewer["amri"] == -3
    assert exact["amrr"] >= -1 > fewer["amrr"]


@pytest.mark.parametrize("popularity", [(np.nan, 1), (-1e4, 0), ("a", 1), (1,), 3, (np.inf, 0), (1, True)])
def test_exponents_of_popularity_are_two_numbers(popularity):
    with pytest.raises(MetricError, match="popularity: expected two exponents"):
        summarize(TABLE, ["strat.mrr"], popularity=popularity)


@pytest.mark.parametrize("exponent", [-10, 10])
def test_the_largest_exponents_still_weigh(exponent):
    assert 0 < summarize(TABLE, ["strat.mrr"], popularity=(exponent, exponent))["strat.mrr"] <= 1


def test_arguments_of_another_kind_are_refused():
    for metrics_given in ([5], None, 5, ["mrr", None]):
        with pytest.raises(MetricError, match=r"metrics: expected names, such as 'mrr'"):
            summarize(TABLE, metrics_given)
    for by in (None, 5, [["relation"]], b"relation"):
        with pytest.raises(MetricError, match="by: expected the name of a column"):
            summarize(TABLE, ["mrr"], by=by)
    with pytest.raises(MetricError, match="found None"):
        summarize(TABLE)[None]
    with pytest.raises(MetricError, match="give tables with names"):
        compare([TABLE])
    with pytest.raises(MetricError, match="grouped by relation"):
        summarize(TABLE, ["mrr"], by="relation")["mrr"]
    for seed in ("a", 1.5, None, True):
        with pytest.raises(MetricError, match="the seed of random ties must be a whole number"):
            summarize(TABLE, seed=seed)


def test_a_comparison_takes_the_policies_of_a_summary():
    policies = {"ties": "random", "seed": 3, "chance": "without-answer", "popularity": (0.5, 2)}
    names = ["mrr", "amri", "strat.mrr"]
    tables = {"hash": TABLE, "same": TABLE}
    found, expected = compare(tables, names, **policies), summarize(TABLE, names, **policies)
    assert found.summaries[TABLE.dataset]["hash"].records == expected.records
    content = found.to_dict()
    assert {name: content[name] for name in ("ties", "seed", "chance")} == {
        "ties": "random", "seed": 3, "chance": "without-answer",
    }  # fmt: skip
    assert found.records != compare(tables, names).records
