"""Repeated triples: one row each in the table, and counted in a printout as often as the framework counts them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgeval import Dataset, RankTable, Triples, evaluate, explain, framework_metrics, summarize
from kgeval.base.errors import TableError
from kgeval.ranking.protocols.protocol import find_protocol, protocols
from tests.brute_force import brute_force
from tests.conftest import random_dataset

SETTINGS = {"standard", "bordes-raw", "bordes-filtered", "sun-random"}
ONCE = {
    *SETTINGS,
    "ampligraph",
    "ampligraph1",
    "ampligraph-best",
    "ampligraph-middle",
    "conve-128",
    "pykeen",
    "ogb",
    "ogb-shared",
}
"""settings that are no framework's, frameworks whose readers drop repetitions, and what depends on where they stand"""

TIMES = [3, 1, 2, 1, 1]
"""how often the first triples stand in test"""


def model(h, r, t):
    return (h * 7 + r * 3 + t * 11) % 97 + t / 64


@pytest.fixture(scope="module")
def plain():
    return random_dataset(8)


@pytest.fixture(scope="module")
def repeated(plain):
    """The same graph with some triples of test several times, in another order."""
    times = [*TIMES, *[1] * (len(plain.test) - len(TIMES))]
    rows = np.random.default_rng(0).permutation(np.repeat(plain.test.ids, times, axis=0))
    splits = {**plain.splits, "test": Triples.of(rows)}
    return Dataset.build("repeated", splits, entities=plain.entities, relations=plain.relations)


@pytest.fixture(scope="module")
def everyone(repeated, plain):
    """Every rank as often as its triple stands, by plain loops."""
    ranks = brute_force(model, repeated)
    times = {tuple(row): count for row, count in zip(plain.test.ids.tolist(), TIMES, strict=False)}
    return {key: ([1 + counts[0]] * times.get(key[:3], 1)) for key, counts in ranks.items()}


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3), max_size=30))
def test_multiplicities_bring_every_triple_back(rows):
    triples = Triples.of(rows)
    distinct, times = triples.distinct()
    again = distinct.ids if times is None else np.repeat(distinct.ids, times, axis=0)
    assert sorted(map(tuple, again.tolist())) == sorted(rows)
    assert list(map(tuple, distinct.ids.tolist())) == list(dict.fromkeys(rows))
    assert (times is None) == (len(set(rows)) == len(rows))


def test_a_dataset_knows_how_often_each_triple_stands(repeated, plain):
    assert repeated.repeated == {"test": sum(TIMES) - len(TIMES)}
    assert plain.multiplicity == {}
    found = dict(zip(map(tuple, repeated.test.ids.tolist()), repeated.multiplicity["test"].tolist(), strict=True))
    assert [found[tuple(row)] for row in plain.test.ids[: len(TIMES)].tolist()] == TIMES
    assert repeated.sha256() != plain.sha256()


def test_each_triple_is_one_row_with_the_same_integers(repeated, plain):
    ours, without = (evaluate(model, data).to_pandas() for data in (repeated, plain))
    assert "multiplicity" not in without
    keys = ["head", "relation", "tail", "side"]
    both = ours.merge(without, on=keys, suffixes=("", "_plain"))
    assert len(both) == len(ours) == len(without)
    assert (both["greater"] == both["greater_plain"]).all()


@pytest.mark.parametrize(
    ("name", "printed"),
    {
        "openke": "averaged(filter) MRR",
        "dicee": "MRR",
        "rotate": "MRR",
        "libkge": "mean_reciprocal_rank_filtered",
    }.items(),
)
def test_a_framework_counts_them_as_often_as_they_stand(repeated, everyone, name, printed):
    table = evaluate(model, repeated, protocol=name)
    each = np.concatenate([1 / np.array(ranks) for ranks in everyone.values()])
    assert len(each) == 2 * (len(repeated.test) + 3)
    assert framework_metrics(table)[printed] == pytest.approx(each.mean(), rel=1e-6)
    assert any("counts repeated triples each time" in note for note in framework_metrics(table).notes)
    assert "3 repeated test triples: kgeval's own metrics count each triple once." in table.notes


@pytest.mark.parametrize("name", sorted(ONCE - {"conve-128", "ogb", "ogb-shared", "bordes-raw", "sun-random"}))
def test_others_count_them_once(repeated, plain, name):
    ours, without = (framework_metrics(evaluate(model, data, protocol=name)).values for data in (repeated, plain))
    assert ours == pytest.approx(without, rel=1e-12)


def test_every_framework_counts_each_but_those_whose_readers_drop_them():
    assert {name for name, rules in protocols().items() if rules.repeats == "once"} == ONCE


def test_the_usual_metrics_count_each_triple_once(repeated, plain):
    ours, without = (summarize(evaluate(model, data, protocol="openke"), ["mrr"])["mrr"] for data in (repeated, plain))
    assert ours == pytest.approx(without, rel=1e-12)


def test_explain_names_repeated_triples_as_a_cause(repeated):
    explanation = explain(model, repeated, ["dicee", "pykeen"])
    counted, once = (explanation[name].causes["repeated triples"] for name in ("dicee", "pykeen"))
    assert counted == pytest.approx(explanation["dicee"].value - explanation.standard, abs=1e-12)
    assert counted != 0 == once


def test_multiplicities_that_are_none_are_refused(repeated):
    table = evaluate(model, repeated, protocol="openke")
    place = table.columns.index("multiplicity")
    wrong = RankTable(table.data.set_column(place, "multiplicity", [[0] * len(table)]), protocol="openke")
    with pytest.raises(
        TableError, match="the column multiplicity counts how often a triple is repeated: expected whole numbers"
    ):
        find_protocol("openke").with_repeats(wrong)
