"""Hits@k_n: against fractions, draws, ULTRA's own numbers; its names, notes and intervals."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgeval
from kgeval.base.errors import MetricError
from kgeval.metrics.metric import Undefined
from kgeval.metrics.names import parse
from kgeval.metrics.ranks.ranks import Ranks
from kgeval.ranking.protocols.framework_metric import FrameworkMetric, float32
from tests.conftest import random_dataset, unwrapped
from tests.metrics.example_ranks import HASHED, ranks

GRAPHS = {
    "fb237-v1": ("grail-fb237-v1-ind", ("valid", "test")),
    "ingram-fb-100": ("ingram-fb-100", "test"),
    "ingram-nl-0": ("ingram-nl-0", "test"),
}


def exact(k, n, rank, candidates):
    f = Fraction(rank - 1, max(candidates - 1, 1))
    return sum(comb(n - 1, i) * f**i * (1 - f) ** (n - 1 - i) for i in range(k))


def test_it_is_the_share_of_all_draws():
    """Two of the 3 negatives of the third of 4 candidates are above: it is a hit at 2 if at most one of 3 draws is."""
    draws = list(itertools.product([True, True, False], repeat=3))
    share = sum(sum(draw) < 2 for draw in draws) / len(draws)
    assert parse("hits@2_4")(ranks([3], [4])) == pytest.approx(share, rel=1e-15)


@given(st.data())
def test_it_is_the_sum_of_fractions(data):
    candidates = data.draw(st.integers(1, 5000))
    rank = data.draw(st.integers(1, candidates))
    n = data.draw(st.integers(2, 300))
    k = data.draw(st.integers(1, n - 1))
    value = parse(f"hits@{k}_{n}")(ranks([rank], [candidates]))
    assert value == pytest.approx(float(exact(k, n, rank, candidates)), rel=1e-11, abs=1e-300)


def test_large_n_neither_overflow_nor_lose_digits():
    first, middle = ranks([1], [7]), ranks([6], [11])
    assert parse("hits@500000_1000000")(middle) == 0.5  # an odd number of fair coins
    assert parse("hits@1_1000000")(ranks([2], [10**6 + 1])) == pytest.approx((1 - 1e-6) ** 999_999, rel=1e-9)
    assert parse(f"hits@1_{10**15 - 1}")(first) == 1


def test_an_answer_without_competitors_is_a_hit_also_where_chance_leaves_it_out():
    assert parse("hits@1_50")(ranks([1], [1])) == 1
    both = [kgeval.summarize(HASHED, "hits@3_9", chance=chance)["hits@3_9"] for chance in ("exact", "without-answer")]
    assert both[0] == both[1]


@pytest.mark.parametrize("graph", GRAPHS)
def test_it_is_ultras(shared, graph):
    folder, split = GRAPHS[graph]
    case = shared / "cases" / "ultra" / graph
    said = json.loads((case / "expected.json").read_text("utf-8"))
    table = kgeval.load_ranks(case / "expected_ranks.tsv", shared / "data" / folder, split=split)
    expected = {"pessimistic": said["metrics_float64_from_the_ranks"], **said["other_treatments_of_exact_ties"]}
    for ties, numbers in expected.items():
        summary = kgeval.summarize(table, ["hits@10_50", "hits@10"], ties=ties)
        assert summary["hits@10_50"] == pytest.approx(numbers["hits@10_50"], rel=1e-12)
    columns = [table.column(name) for name in ("greater", "tied", "candidates")]
    last = (1 + columns[0] + columns[1]).astype(np.float64)
    for name in ("hits@10_50", "hits@10"):
        printed = np.float32(float32(last, FrameworkMetric(name, name).values(columns[2] - 1)))
        tolerance = 4 * np.spacing(printed) if "_" in name else 0  # torch adds in another order
        assert abs(printed - np.float32(said["metrics"][name])) <= tolerance


def test_a_framework_computes_its_terms_in_float32():
    values = FrameworkMetric("h", "hits@2_4").values(np.array([3, 9, 0]))(np.array([3, 1, 1], np.float32))
    assert values.dtype == np.float32
    f = np.float32(2) / np.float32(3)
    assert values.tolist() == [np.float32(1) * (1 - f) ** 3 + np.float32(3) * f * (1 - f) ** 2, 1, 1]


@pytest.mark.parametrize("name", ["head.hits@10_50", "tail.pessimistic.macro.hits@1_2", "both.hits@3_100"])
def test_its_names_are_read_back(name):
    assert str(parse(name)) == name
    assert parse(name) == parse(str(parse(name)))
    assert parse(name) != parse(name + "0")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        *((f"hits@{numbers}", f"found '{numbers}'") for numbers in ("10_", "_50", "10_50_3", "0_5", "010_50", "1_x")),
        ("hits@1_" + "9" * 30, "below 10¹⁵"),
        ("hits@50_50", "where n is at most k, it is 1 at every rank"),
        ("hits@2_1", "n above k"),
        ("hist@10_50", "Did you mean 'hits@10_50'"),
        ("mrr@10_50", "mrr has no cut-off"),
        ("ahits@10_50", "ahits needs a cut-off"),
        ("haed.hits@10_50", "Did you mean 'head'"),
    ],
)
def test_a_wrong_name_is_refused(name, message):
    with pytest.raises(MetricError, match=message):
        parse(name)
    with pytest.raises(MetricError, match="computed from ranks, not from labels"):
        parse("hits@10_50", "classification")


@given(st.data())
def test_expected_ties_are_the_mean_over_their_ranks(data):
    candidates = data.draw(st.integers(1, 500))
    greater = data.draw(st.integers(0, candidates - 1))
    tied = data.draw(st.integers(0, candidates - 1 - greater))
    n = data.draw(st.integers(2, 120))
    k = data.draw(st.integers(1, n - 1))
    span = range(1 + greater, 2 + greater + tied)
    mean = sum(exact(k, n, rank, candidates) for rank in span) / len(span)
    one = Ranks(np.array([greater, 0]), np.array([tied, 0]), np.array([candidates, 9]), "expected")
    value = (parse(f"hits@{k}_{n}")(one)) * 2 - 1  # the second answer has the first rank
    assert value == pytest.approx(float(mean), rel=1e-12, abs=1e-14)


def test_a_wide_tie_of_many_draws_is_summed_rank_by_rank():
    wide = Ranks(np.array([0]), np.array([2999]), np.array([3000]), "expected")
    alone = [parse("hits@5_4000")(ranks([rank], [3000])) for rank in range(1, 3001)]
    assert parse("hits@5_4000")(wide) == pytest.approx(np.mean(alone), rel=1e-12)


def test_no_ranks_have_no_value_whatever_the_ties():
    nothing = np.array([], np.int64)
    for ties in ("realistic", "expected"):
        with pytest.raises(Undefined, match="there are no ranks"):
            parse("hits@10_50")(Ranks(nothing, nothing, nothing, ties))


def test_intervals_groups_and_tests_are_those_of_a_mean():
    summary = kgeval.summarize(HASHED, ["hits@3_9"], intervals="triple")
    assert summary.interval("hits@3_9").low < summary["hits@3_9"] < summary.interval("hits@3_9").high
    groups = kgeval.summarize(HASHED, ["hits@3_9"], by="side").flat()
    assert groups["side=head/hits@3_9"] == summary["head.hits@3_9"]
    other = kgeval.evaluate(lambda h, r, t: (h + t) % 5, random_dataset(13))
    (pair,) = kgeval.compare({"a": HASHED, "b": other}, metrics="hits@3_9").pairs
    assert pair.difference == pytest.approx(summary["hits@3_9"] - kgeval.summarize(other, "hits@3_9")["hits@3_9"])


def notes(table, *names, **options):
    return [unwrapped(note) for note in kgeval.summarize(table, names, **options).notes if "@" in note]


def test_notes_say_how_it_relates_to_the_full_ranking():
    alone = notes(HASHED, "head.hits@3_9", ties="pessimistic")
    assert alone == [
        "head.hits@3_9 is of no full ranking: answers compete with 8 negatives drawn from their candidates, not with "
        "all of these. head.hits@3 is of the full one."
    ]
    (above,) = notes(HASHED, "hits@3", "hits@3_9", ties="pessimistic")
    assert above.startswith("hits@3_9 is above hits@3, which is ")
    (below,) = notes(HASHED, "hits@20", "hits@20_900", ties="pessimistic")
    assert below.startswith("hits@20_900 is below hits@20, which is ")
    assert all("groups: " in note for note in notes(HASHED, "hits@3", "hits@3_9", by="side", ties="pessimistic"))
    assert not notes(HASHED, "hits@3", "mrr")
