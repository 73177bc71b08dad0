"""Conformal limits: the order statistic of the definition, and the coverage that it guarantees over random splits."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kgeval import Dataset, Triples, Vocabulary
from kgeval.analysis.answer_sets.limits import calibrate, conformal_limits, place_of_limit
from kgeval.analysis.answer_sets.nonconformity import NONCONFORMITIES
from kgeval.analysis.answer_sets.scored_split import ScoredSplit
from kgeval.models.alignment import align
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.model_ranking import ranking_of
from tests.ranking.test_kernels import Vectors

SPLITS = 200

COVERAGE = 0.9

TRIPLES = 600


@given(
    arrays(np.float64, st.integers(1, 40), elements=st.integers(0, 5).map(float)),
    st.integers(1, 99),
    st.sampled_from([1, 2]),
)
def test_the_limit_is_the_quantile_of_numpy(values, percent, together):
    """⌈(n + 1) c⌉ / n, as the smallest value whose share of values at or below it is at least that."""
    coverage, count = percent / 100, len(values)
    (limit,) = conformal_limits(values, np.zeros(count, int), 1, coverage=coverage, values_per_draw=together)
    level = Fraction(math.ceil(Fraction(percent, 100) * (count + together)), count)
    if level > 1:
        assert limit == math.inf
    else:
        assert limit == np.quantile(values, float(level) - 1e-12, method="inverted_cdf")


@given(st.integers(0, 60), st.integers(1, 98), st.sampled_from([1, 2]))
def test_a_higher_coverage_has_no_lower_limit(count, percent, together):
    places = [place_of_limit(count, p / 100, values_per_draw=together) for p in (percent, percent + 1)]
    assert places[0] <= places[1]
    assert place_of_limit(count, 0.999, values_per_draw=together) > count - together


def test_groups_are_calibrated_each_by_itself():
    rng = np.random.default_rng(0)
    values, groups = rng.normal(size=500), rng.integers(0, 7, 500)
    limits = conformal_limits(values, groups, 8, coverage=0.8)
    for group in range(7):
        own = np.sort(values[groups == group])
        assert limits[group] == own[math.ceil(0.8 * (len(own) + 1)) - 1]
    assert limits[7] == math.inf  # no value at all


@pytest.fixture(scope="module")
def measured():
    """Every triple of a graph but those of train, ranked by a model with real scores: tables and nonconformities.

    The filter knows train alone, so what an answer's is does not depend on which split its triple is in.
    """
    rng = np.random.default_rng(0)
    relations = np.array([0.55, 0.3, 0.1, 0.03, 0.02])
    rows = np.stack([rng.integers(0, 300, 900), rng.choice(5, 900, p=relations), rng.integers(0, 300, 900)], axis=1)
    ids = Triples(rows).distinct().triples.ids
    data = Dataset.build(
        "random",
        {"train": Triples(ids[TRIPLES:]), "test": Triples(ids[:TRIPLES])},
        entities=Vocabulary([f"e{row}" for row in range(300)]),
        relations=Vocabulary([f"r{row}" for row in range(5)], "relation"),
    )
    model = Vectors("dot", entities=300, relations=5)
    model.entity, model.bias = rng.normal(size=(300, 6)).astype(np.float32), rng.normal(size=300)
    split = ScoredSplit.of(ranking_of(align(model, data), data, Evaluation(filter=("train",))))
    return split.ranks, {name: one.measure(split).values for name, one in NONCONFORMITIES.items()}


def coverage_of_splits(values, calibrated, coverage, together):
    """The coverage of each of many splits: values float64[triple, side], of which ``calibrated`` triples calibrate."""
    rng = np.random.default_rng(1)
    order = np.argsort(rng.random((SPLITS, len(values))), axis=1)
    valid, test = values[order[:, :calibrated]], values[order[:, calibrated:]]
    groups = np.repeat(np.arange(SPLITS), valid[0].size)
    limits = conformal_limits(valid.ravel(), groups, SPLITS, coverage=coverage, values_per_draw=together)
    return (test <= limits[:, None, None]).mean(axis=(1, 2))


def error(shares):
    return shares.std(ddof=1) / math.sqrt(len(shares))


@pytest.mark.parametrize("sides", [["head", "tail"], ["tail"]])
@pytest.mark.parametrize("name", ["rank", "gap", "softmax"])
def test_coverage_over_200_random_splits(measured, name, sides):
    """20 triples: with ⌈n c⌉ in place of ⌈(n + 1) c⌉ it would be 18 of 21, and that is seen."""
    ranks, values = measured
    of_sides = np.stack([values[name][ranks.column("side") == side] for side in sides], axis=1)
    together, most_alike = len(sides), np.unique(of_sides, return_counts=True)[1].max() / of_sides.size
    shares = coverage_of_splits(of_sides, 20, COVERAGE, together)
    assert shares.mean() >= COVERAGE - 3 * error(shares)
    assert shares.mean() <= COVERAGE + 1 / 20 + most_alike + 3 * error(shares)
    without = coverage_of_splits(of_sides, 20, COVERAGE, 0)
    assert without.mean() < COVERAGE - 3 * error(without)


@pytest.mark.parametrize(
    ("name", "per"),
    [
        *((name, ("relation",)) for name in ("rank", "gap", "softmax")),
        ("softmax", ("relation", "side")),
        ("gap", ("side",)),
    ],
)
def test_coverage_over_200_random_splits_by_group(measured, name, per):
    """In all groups together, and in the largest, whose answers are not those of the others."""
    ranks, values = measured
    rng, triples, shares, of_largest = np.random.default_rng(2), ranks.column("triple"), [], []
    of_group = {"relation": ranks.column("relation") == 0, "side": ranks.column("side") == "head"}
    largest = np.all([of_group[name] for name in per], axis=0)
    for _ in range(SPLITS):
        is_valid = np.isin(triples, rng.permutation(TRIPLES)[:150])
        valid, test = ranks.where(is_valid), ranks.where(~is_valid)
        limits = calibrate(valid, values[name][is_valid], test, coverage=COVERAGE, per=per)
        covered = values[name][~is_valid] <= limits.of_rows
        shares.append(covered.mean())
        of_largest.append(covered[largest[~is_valid]].mean())
    for of_rows in (np.array(shares), np.array(of_largest)):
        assert of_rows.mean() >= COVERAGE - 3 * error(of_rows)
        assert of_rows.mean() <= COVERAGE + 0.06


def test_what_is_calibrated_together_is_not_covered_by_group(measured):
    """Marginal coverage promises nothing of one relation: its answers may be the harder ones."""
    ranks, values = measured
    first = (ranks.column("triple") < 300) & (ranks.column("side") == "head")
    (limit,) = conformal_limits(values["softmax"][first], np.zeros(first.sum(), int), 1, coverage=COVERAGE)
    covered = values["softmax"] <= limit
    by_relation = [covered[(ranks.column("relation") == relation) & ~first].mean() for relation in range(5)]
    assert min(by_relation) < COVERAGE - 0.03 < COVERAGE + 0.03 < max(by_relation)


def test_few_values_are_pooled_and_that_is_counted(measured):
    ranks, values = measured
    is_valid = ranks.column("triple") < 100
    valid, test = ranks.where(is_valid), ranks.where(~is_valid)
    limits = calibrate(valid, values["gap"][is_valid], test, coverage=COVERAGE, per=("relation",))
    few = [label for label in map(str, range(5)) if (valid.column("relation") == int(label)).sum() < 2 * 9]
    assert 2 <= len(few) < 5
    pool = limits.of_groups[-1]
    of_pool = {
        split: np.isin(table.column("relation"), [*map(int, few)]) for split, table in (("v", valid), ("t", test))
    }
    assert (pool.pooled, pool.valid, pool.test) == (len(few), of_pool["v"].sum(), of_pool["t"].sum())
    own = np.sort(values["gap"][is_valid][of_pool["v"]])
    place = math.ceil(Fraction("0.9") * (len(own) + 2))
    assert pool.limit == (own[place - 1] if place <= len(own) else math.inf)
    assert set(limits.of_rows[of_pool["t"]]) == {pool.limit}
    assert [limit.key for limit in limits.of_groups[:-1]] == [
        {"relation": f"r{row}"} for row in range(5) if str(row) not in few
    ]
