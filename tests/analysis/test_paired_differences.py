"""Paired differences: brute force over data frames, the order of rows, groups, restrictions, and what is not tested."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from kgeval import CallableScorer, Metric, compare, evaluate, summarize
from kgeval.analysis.comparison.paired_difference import by_reason
from kgeval.analysis.comparison.sign_flips import signed_sums
from kgeval.base.errors import MetricError, TableError
from tests.conftest import random_dataset, unwrapped
from tests.metrics.example_ranks import changed, shuffled

DATA = random_dataset(3, entities=25, relations=30, triples=2400)


def ranked(score, **options):
    return evaluate(CallableScorer(score, 25, 30), DATA, **options)


TABLES = {
    "sines": ranked(lambda h, r, t: np.sin(h * 31 + r * 7 + t * 3)),
    "sums": ranked(lambda h, r, t: (h * 5 + r * 3 + t * 11) % 13),
    "products": ranked(lambda h, r, t: (h * t + r) % 7),
}
PAIRS = [("sines", "sums"), ("sines", "products"), ("sums", "products")]
UNITS = {
    "triple": ["head_label", "relation_label", "tail_label"],
    "query": ["is_tail", "relation_label", "anchor"],
    "relation": ["relation_label"],
}


def frame(table):
    rows = table.to_pandas()
    for name in ("head_label", "relation_label", "tail_label", "side"):
        rows[name] = rows[name].astype(str)
    rows["is_tail"] = rows["side"] == "tail"
    rows["anchor"] = np.where(rows["is_tail"], rows["head_label"], rows["tail_label"])
    rows["rank"] = 1 + rows["greater"] + rows["tied"] / 2
    return rows.sort_values([*UNITS["triple"], "side"]).reset_index(drop=True)


VALUES = {
    "mrr": lambda rows: 1 / rows["rank"],
    "hits@3": lambda rows: rows["rank"] <= 3,
    "mr": lambda rows: rows["rank"],
}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("metric", [*VALUES, "head.mrr", "macro.mrr", "relation.hits@3"])
def test_differences_are_those_of_brute_force(unit, metric):
    comparison = compare(TABLES, [metric, "amri"], intervals=unit, draws=500, seed=6)
    frames = {model: frame(table) for model, table in TABLES.items()}
    for (model, other), pair in zip(PAIRS, comparison.pairs[::2], strict=True):
        assert (pair.model, pair.other, pair.name) == (model, other, metric)
        side, _, base = metric.rpartition(".")
        rows = frames[model].assign(
            d=VALUES[base](frames[model]).astype(float) - VALUES[base](frames[other]).astype(float)
        )
        rows = rows[rows["side"] == "head"] if side == "head" else rows
        weighed = {"macro": UNITS["query"], "relation": UNITS["relation"]}.get(side)
        weights = 1 / rows.groupby(weighed)["d"].transform("size") if weighed else rows["d"] * 0 + 1
        share = weights / weights.sum()
        difference = (share * rows["d"]).sum()
        assert pair.difference == pytest.approx(difference, abs=1e-13)
        of_units = rows.assign(d=share * rows["d"], w=share).groupby(UNITS[unit], sort=True)[["d", "w"]].sum()
        count = len(of_units)
        assert (pair.units, pair.rows) == (count, len(rows))
        error = np.sqrt(count / (count - 1) * ((of_units["d"] - difference * of_units["w"]) ** 2).sum())
        half = stats.t.ppf(0.975, count - 1) * error
        halves = pair.interval.method == "random halves"  # of relations that are nearly equal: close to Student's
        assert halves or unit != "relation"
        assert (pair.interval.low, pair.interval.high) == pytest.approx(
            (difference - half, difference + half), abs=0.2 * error if halves else 1e-12
        )
        detectable = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * error
        assert pair.detectable == pytest.approx(detectable, rel=0.1 if halves else 1e-6)
        assert (pair.interval.low <= 0 <= pair.interval.high) == (pair.p > 0.05) or not halves
        every = frames[model].assign(d=0.0).groupby(UNITS[unit], sort=True)["d"].sum()
        every.loc[of_units.index] = of_units["d"]
        sums = signed_sums(np.eye(len(every)), draws=500, seed=6) @ every.to_numpy()
        p = (1 + (abs(sums) >= abs(difference) - 1e-12).sum()) / 501
        assert pair.p == p


def test_a_ratio_of_means_is_tested_where_both_models_are_alike():
    """AMRI is linear in the mean rank here, all answers having about as many candidates: p-values are nearly those."""
    pairs = {pair.name: pair for pair in compare(TABLES, ["amri", "mr"], reference="sums").pairs[:2]}
    assert pairs["amri"].p == pytest.approx(pairs["mr"].p, abs=0.005)
    assert pairs["amri"].difference * pairs["mr"].difference < 0
    own, other = (summarize(TABLES[model], ["amri"])["amri"] for model in ("sines", "sums"))
    assert pairs["amri"].difference == pytest.approx(own - other, abs=1e-12)


def test_a_note_says_that_an_interval_is_of_one_pair_where_p_is_of_all():
    (note,) = [note for note in compare(TABLES, "mrr").notes if note.startswith("difference: ")]
    assert note.endswith("It is for one pair alone, p for all pairs: it may leave out 0 where p is above 0.05.")
    two = {model: TABLES[model] for model in ("sines", "sums")}
    assert not [note for note in compare(two, "mrr").notes if "alone, p" in note]


@pytest.mark.parametrize("kept", [1, 4])
def test_a_relation_with_a_tenth_of_the_triples_is_named(kept):
    """Relation 0 keeps all of its triples, and the others every fourth."""
    rows = {
        model: (table.column("relation") == 0) | (table.column("triple") % kept == 0) for model, table in TABLES.items()
    }
    tables = {model: table.where(rows[model]) for model, table in TABLES.items()}
    share = (tables["sums"].column("relation") == 0).mean()
    notes = [note for note in compare(tables, "mrr", intervals="relation").notes if note.startswith("one relation")]
    assert bool(notes) == (share > 0.1) == (kept == 4)
    assert all(note.startswith(f"one relation has {100 * share:.0f} % of the weight: ") for note in notes)
    assert not [note for note in compare(tables, "mrr").notes if "of the weight" in note]


def test_metrics_of_lists_are_tested_by_queries():
    pairs = compare(TABLES, ["map", "mrr"]).pairs
    assert {pair.name: pair.unit for pair in pairs} == {"map": "query", "mrr": "triple"}
    values = {model: summarize(table, ["map"])["map"] for model, table in TABLES.items()}
    for pair in pairs[::2]:
        assert pair.difference == pytest.approx(values[pair.model] - values[pair.other], abs=1e-12)
        assert pair.interval.low < pair.difference < pair.interval.high
    assert any("queries or " in note for note in compare(TABLES, ["map", "mrr"]).notes)


def renumbered(table):
    """The same ranks under other ids, as of a model with a vocabulary of its own."""
    tops = {"head": 24, "tail": 24, "relation": 29}
    return changed(table, **{name: top - table.column(name) for name, top in tops.items()})


@pytest.mark.parametrize("unit", UNITS)
def test_neither_the_order_of_rows_nor_ids_matter(unit):
    names = ["mrr", "hits@3", "amri", "macro.mr", "map"]
    expected = compare(TABLES, names, intervals=unit)
    changed = {
        "sines": shuffled(TABLES["sines"], 1),
        "sums": renumbered(TABLES["sums"]),
        "products": shuffled(renumbered(TABLES["products"]), 2),
    }
    found = compare(changed, names, intervals=unit)
    assert [pair.p for pair in found.pairs] == [pair.p for pair in expected.pairs]
    np.testing.assert_allclose(
        [pair.difference for pair in found.pairs], [pair.difference for pair in expected.pairs], atol=1e-13
    )


def test_the_other_way_round_only_the_sign_changes():
    one, other = (compare({name: TABLES[name] for name in pair}).pairs for pair in (PAIRS[0], PAIRS[0][::-1]))
    opposite = {"better": "worse", "worse": "better", "none": "none"}
    for forth, back in zip(one, other, strict=True):
        assert (back.difference, back.p, back.seen) == (-forth.difference, forth.p, opposite[forth.seen])


def test_better_is_up_or_down_as_the_metric_is():
    greater = TABLES["sums"].column("greater")
    upper = changed(TABLES["sums"], greater=np.maximum(greater - 1, 0))
    pairs = compare({"upper": upper, "lower": TABLES["sums"]}, ["mr", "mrr", "amri"]).pairs
    assert [pair.verdict for pair in pairs] == ["better"] * 3
    assert [np.sign(pair.difference) for pair in pairs] == [-1, 1, 1]


def test_what_is_not_seen_is_said_with_its_size():
    pairs = [pair for pair in compare(TABLES, ["mrr", "mr", "hits@10"]).pairs if pair.seen == "none"]
    assert pairs
    for pair in pairs:
        assert pair.adjusted_p > 0.05
        assert pair.verdict.startswith("no significant difference (detectable: ")
        assert float(pair.verdict.split(": ")[1][:-1]) == pytest.approx(pair.detectable, rel=0.1)


def test_a_family_is_the_pairs_of_models_by_one_metric_in_one_group():
    comparison = compare(TABLES, ["mrr", "mr", "hits@3", "count"], by=["side"])
    families = {}
    for pair in comparison.pairs:
        families.setdefault((pair.name, pair.group["side"]), []).append(pair)
    assert [len(family) for family in families.values()] == [3] * 6
    for family in families.values():
        first, second, third = sorted(family, key=lambda pair: pair.p)
        expected = np.minimum(np.maximum.accumulate([3 * first.p, 2 * second.p, third.p]), 1)
        assert [pair.adjusted_p for pair in (first, second, third)] == expected.tolist()
        assert {pair.family for pair in family} == {3} == {comparison.family}
    assert comparison.decisive == "mrr"
    told = " ".join(comparison.notes)
    assert "adjusted for 3 pairs of models per metric and group (Holm, 1979)" in told
    assert (
        "not adjusted for the number of metrics (mrr, the first, decides) or of groups (by chance, on average "
        "up to 5 % of them show a difference)" in told
    )


def test_further_metrics_change_no_p_value():
    (alone, *_), (first, *others) = (
        compare(TABLES, names).pairs for names in (["mrr"], ["mrr", "mr", "hits@1", "gmr"])
    )
    assert others
    assert first == alone


def test_a_p_value_that_no_draw_reached_is_a_bound():
    """As good in all units: no draw of 99 has a sum as large, so p is 1/100 or less, and adjusted 3/100 or less."""
    greater = TABLES["sums"].column("greater")
    better = {f"{shift} better": changed(TABLES["sums"], greater=np.maximum(greater - shift, 0)) for shift in (1, 4)}
    comparison = compare({"as it is": TABLES["sums"], **better}, ["mrr"], draws=99)
    assert [(pair.p, pair.adjusted_p, pair.is_bound) for pair in comparison.pairs] == [(0.01, 0.03, True)] * 3
    assert [row[-3] for table in comparison.differences().values() for row in table.texts()] == ["≤ 0.0300"] * 3
    assert [
        (row["p_is_bound"], row["adjusted_p_is_bound"]) for row in comparison.to_dict()["differences"]["pairs"]
    ] == [(True, True)] * 3
    assert any('"≤": no draw gave a difference as large' in note for note in comparison.notes)
    measured = [pair for pair in compare(TABLES, ["mrr"], draws=99).pairs if pair.p > 0.01]
    assert measured
    assert not any(pair.is_bound or "≤" in pair.p_text for pair in measured)


def test_a_p_value_above_the_bound_of_its_family_is_none():
    """In nine triples b is worse than a: three of 999 draws are as large, so that p is .004. Others have the bound."""
    greater, triple = TABLES["sums"].column("greater"), TABLES["sums"].column("triple")
    heads = TABLES["sums"].column("side") == "head"
    models = {
        "a": TABLES["sums"],
        "b": changed(TABLES["sums"], greater=greater + (heads & (triple < 9))),
        "c": changed(TABLES["sums"], greater=greater + 100),
    }
    compared = [compare(models, ["mrr"], draws=999, ties="optimistic", seed=seed).pairs for seed in range(20)]
    first = [pair for pairs in compared for pair in pairs if pair.adjusted_p == pytest.approx(0.004)]
    assert {(pair.model, pair.other, pair.p_text, pair.is_bound) for pair in first} == {("a", "b", "0.0040", False)}
    assert all(pair.is_bound for pairs in compared for pair in pairs if pair.other == "c")


def test_groups_are_compared_as_tables_of_their_own():
    grouped = compare(TABLES, ["mrr", "hits@3"], by=["side", "relation"], intervals="triple", draws=200)
    of_tails = {name: table.where(table.column("side") == "tail") for name, table in TABLES.items()}
    by_side = compare(TABLES, ["mrr", "hits@3"], by="side", draws=200).pairs
    alone = compare(of_tails, ["mrr", "hits@3"], draws=200).pairs
    for pair, own in zip([pair for pair in by_side if pair.group["side"] == "tail"], alone, strict=True):
        assert (pair.p, pair.rows, pair.units, pair.interval) == (own.p, own.rows, own.units, own.interval)
    counts = TABLES["sums"].to_pandas().groupby(["side", "relation_label"], observed=True).size()
    for pair in grouped.pairs:
        assert pair.rows == counts[pair.group["side"], pair.group["relation"]]
        assert (pair.p is None) == (pair.units < 20)
        if pair.p is None:
            assert pair.verdict == f"not tested: only {pair.units} triples; a test needs at least 20"
    assert {(pair.group["side"], pair.group["relation"]) for pair in grouped.pairs} == set(counts.index)


def test_groups_are_of_triples_and_not_of_models():
    with pytest.raises(MetricError, match=r"by: sums and sines have different values of 'greater' in \d+ rows"):
        compare(TABLES, ["mrr"], by="greater")
    with pytest.raises(TableError, match=r"no column 'relatoin'\. Did you mean 'relation"):
        compare(TABLES, ["mrr"], by="relatoin")


def test_too_few_draws_for_the_family_are_said():
    comparison = compare(TABLES, ["mrr", "mr"], by="side", draws=49)
    (note,) = [note for note in comparison.notes if "too few" in note]
    assert "49 draws are too few for 3 pairs" in note
    assert "no adjusted p-value can be below 0.06. Use at least 59 draws (--draws 59) or compare with one " in note
    assert {(pair.seen, pair.verdict) for pair in comparison.pairs} == {("", "not tested: too few draws")}
    assert not any("too few" in note for note in compare(TABLES, ["mrr", "mr"], by="side", draws=59).notes)
    assert note.endswith("model (--reference).")
    (note,) = [note for note in compare(TABLES, ["mrr"], draws=19, reference="sums").notes if "too few" in note]
    assert note.endswith("Use at least 39 draws (--draws 39).")
    (note,) = [note for note in compare(TABLES, "gmr", draws=2000, level=0.9999).notes if "too few" in note]
    assert note.endswith("no adjusted p-value can be below 0.003. Compare with one model (--reference).")


def test_few_units_have_neither_interval_nor_p_value():
    few = {name: table.where(table.column("relation") < 12) for name, table in TABLES.items()}
    for pair in compare(few, ["mrr"], intervals="relation").pairs:
        assert (pair.interval, pair.p, pair.detectable) == (None, None, None)
        assert pair.difference is not None
        assert pair.verdict == "not tested: only 12 relations; a test needs at least 20"
    assert (
        "not tested: mrr: only 12 relations; a test needs at least 20."
        in compare(few, "mrr", intervals="relation").notes
    )


def test_rows_that_one_model_lacks_are_named():
    gone = TABLES["sums"].column("triple") % 10 == 0
    tables = {"sines": TABLES["sines"], "sums": TABLES["sums"].where(~gone)}
    with pytest.raises(MetricError, match=rf"another model lacks: {gone.sum()} of {len(gone)} in sines, 0 of"):
        compare(tables, ["mrr"])
    found = compare(tables, ["mrr"], allow="triples")
    assert found.remarks == (
        f"compared on the {(~gone).sum()} rows that all models have. "
        f"Rows left out: {gone.sum()} of {len(gone)} of sines.",
    )
    expected = compare({name: TABLES[name].where(~gone) for name in tables}, ["mrr"])
    assert found.pairs == expected.pairs
    assert found.records == expected.records


def test_rows_of_repeated_triples_are_joined_as_often_as_they_are_there():
    table = TABLES["sums"]
    again = len(again_of(table))
    twice = {
        name: replace(one, data=pa.concat_tables([one.data, again_of(one)]).unify_dictionaries())
        for name, one in TABLES.items()
    }
    assert len(twice["sums"]) == len(table) + again
    (pair, *_) = compare(twice, ["mrr"]).pairs
    own, other = (summarize(twice[name], ["mrr"])["mrr"] for name in ("sines", "sums"))
    assert pair.difference == pytest.approx(own - other, abs=1e-13)
    assert pair.units == table.num_triples
    with pytest.raises(MetricError, match=f"0 of {len(table)} in sums, {again} of {len(twice['sums'])} in sines"):
        compare({"sums": table, "sines": twice["sines"]}, ["mrr"])


def again_of(table):
    first = table.where(table.column("triple") < table.column("triple").min() + 30)
    return changed(first, triple=first.column("triple") + 10_000).data


def test_one_model_under_two_names_is_said():
    comparison = compare({"one": TABLES["sums"], "two": shuffled(TABLES["sums"], 5)}, ["mrr"])
    assert comparison.remarks == ("one and two have the same ranks in every row: are they one model?",)
    (pair,) = comparison.pairs
    assert (pair.difference, pair.p, pair.interval, pair.detectable) == (0, 1, None, None)
    assert pair.verdict == "no significant difference: no triple differs"


def test_a_metric_that_one_model_has_not_is_not_tested():
    picky = Metric(
        "picky", "undefined for some", "—", "—", lowest=0, highest=1, increasing=True,
        compute=summarize(TABLES["sums"], ["mrr"]).requested[0].metric.compute,
    )  # fmt: skip
    unscored = changed(TABLES["sums"], score=np.full(len(TABLES["sums"]), np.nan))
    pairs = {pair.name: pair for pair in compare({"sines": TABLES["sines"], "sums": unscored}, ["map", picky]).pairs}
    assert pairs["map"].difference is None
    assert pairs["map"].verdict.startswith("not tested: it is undefined for sums: the score of an answer is NaN")
    assert pairs["picky"].p is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"intervals": "triples"}, "intervals: unknown unit 'triples'. Did you mean 'triple'"),
        ({"level": 1.0}, "level: expected a number between 0 and 1, such as 0.95, found 1.0"),
        ({"draws": 0}, "draws: expected a whole number from 1 to 1,000,000, usually 9999; found 0"),
        ({"reference": "sine"}, "reference: no model is called 'sine'. Did you mean 'sines'"),
        ({"by": 5}, "by: expected the name of a column"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(MetricError, match=message):
        compare(TABLES, ["mrr"], **options)


def test_what_is_told_as_data_frame_and_text():
    comparison = compare(TABLES, ["mrr", "mr"], reference="sums", by="side")
    content = comparison.to_dict()["differences"]
    assert {name: content[name] for name in ("unit", "level", "draws", "seed", "family", "adjustment")} == {
        "unit": "triple", "level": 0.95, "draws": 9999, "seed": 0, "family": 2, "adjustment": "holm",
    }  # fmt: skip
    differences = comparison.differences_frame()
    assert differences["difference"].tolist() == [pair["difference"] for pair in content["pairs"]]
    assert set(differences["other"]) == {"sums"}
    assert set(differences["side"]) == {"head", "tail"}
    text, html = str(comparison), comparison._repr_html_()
    for row in (row for table in comparison.differences().values() for row in table.texts()):
        assert all(cell in text and cell in html for cell in row)
    assert all(note in unwrapped(text) for note in comparison.notes)


def test_a_reason_of_few_units_is_told_once_with_the_range_of_their_numbers():
    reasons = [
        "only 18 queries; a test needs at least 20",
        "only 1 query; a test needs at least 20",
        "",
        "it is a count",
    ]
    (pair,) = compare({name: TABLES[name] for name in PAIRS[0]}, "mrr", draws=99).pairs
    pairs = [replace(pair, reason=reason) for reason in reasons]
    told = {reason: len(of) for reason, of in by_reason(pairs)}
    assert told == {"only 1 to 18 queries; a test needs at least 20": 2, "it is a count": 1}


def test_equivalence_is_two_one_sided_t_tests_of_scipy():
    """By triple: the mean of both sides of one model less that of the other."""
    (pair,) = compare({name: TABLES[name] for name in ("sines", "sums")}, "mrr", margin=0.02).pairs
    one, other = (
        (1 / frame(TABLES[name])["rank"]).groupby(frame(TABLES[name])[UNITS["triple"]].agg(" ".join, axis=1)).mean()
        for name in ("sines", "sums")
    )
    values = (one - other).to_numpy()
    below = stats.ttest_1samp(values, 0.02, alternative="less").pvalue
    above = stats.ttest_1samp(values, -0.02, alternative="greater").pvalue
    assert pair.equivalence_p == pytest.approx(max(below, above))
    assert pair.effect_size == pytest.approx(values.mean() / values.std(ddof=1))
    assert pair.to_dict()["equivalence_p"] == pair.equivalence_p


def test_equivalence_is_of_the_first_metric_alone():
    comparison = compare(TABLES, ["mrr", "mr"], margin=0.01)
    assert {pair.name: pair.margin for pair in comparison.pairs} == {"mrr": 0.01, "mr": None}
    first, second = comparison.differences().values()
    assert first.columns[-2:] == ["equivalent", "effect"]
    assert second.columns[-1] == "seen"
    with pytest.raises(MetricError, match="margin: expected a number above 0"):
        compare(TABLES, "mrr", margin=0.0)
    with pytest.raises(MetricError, match="margin: 1 is not below 1, the largest difference by mrr"):
        compare(TABLES, ["mrr", "mr"], margin=1)
    assert compare(TABLES, ["mr", "mrr"], margin=1).pairs[0].margin == 1
