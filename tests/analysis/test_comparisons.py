"""Comparisons: which ranks compare, which are refused and why, and what is shown of each model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kgeval import CallableScorer, RankTable, compare, evaluate, summarize
from kgeval.analysis.comparison.comparison import Comparison
from kgeval.base.errors import MetricError, RunError
from kgeval.ranking.corruption import DegreeWeighted, Uniform
from kgeval.runs.metric_bounds import refuse_worse
from tests.conftest import random_dataset, unwrapped
from tests.metrics.example_ranks import changed

DATA = random_dataset(13)


def hashed(h, r, t):
    return (h * 5 + r * 3 + t * 11) % 7


def ranked(score=hashed, data=DATA, **options):
    return evaluate(CallableScorer(score, 30, 4), data, **options)


FULL = ranked()
FEW = Uniform(count=5)


def test_notes_on_the_models_are_said_once_with_their_names():
    one, two = replace(FULL, notes=("of all", "left and right may be exchanged")), replace(FULL, notes=("of all",))
    comparison = compare({"one": one, "two": two}, ["mrr"])
    assert comparison.notes.count("of all") == comparison.notes.count("one: left and right may be exchanged") == 1


def test_groups_have_their_sizes_and_names():
    comparison = compare({"one": FULL, "two": ranked(lambda h, r, t: h + t)}, ["mrr"], by="side")
    (table,) = comparison.differences().values()
    assert table.columns[:4] == ["side", "model", "other", "ranks"]
    assert [row[3] for row in table.rows] == [int((FULL.column("side") == side).sum()) for side in ("head", "tail")]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("by", [(), "side"])
def test_tables_without_rows_have_no_differences_and_every_form(by):
    empty = FULL.where(np.zeros(len(FULL), bool))
    seeds = {"d": {"one": [empty] * 3, "two": [empty] * 3}}
    datasets = {"d": {"one": empty}, "f": {"one": empty}}
    found = compare({"one": empty, "two": empty}, ["mrr"], by=by)
    for comparison in (found, compare(seeds, "mrr", by=by), compare(datasets, "mrr", by=by)):
        assert [pair for pair in comparison.pairs if pair.p is not None] == []
        assert "0 test triples" in str(comparison)
        assert "mrr" in comparison.to_csv() or by
        assert len(comparison.to_frame()) == (0 if by else len(comparison.models))
        for text in (comparison.to_latex(), comparison.to_markdown(), comparison._repr_html_()):
            assert "MRR" in text or "mrr" in text


@pytest.mark.parametrize(
    ("others", "fields"),
    [
        (ranked(corruption=FEW), ["candidates"]),
        (ranked(filter=[]), ["filter"]),
        (ranked(filter=["train", "test"]), ["filter"]),
        (ranked(protocol="libkge"), ["protocol"]),
        (ranked(protocol="bordes-raw"), ["protocol", "filter"]),
        (ranked(split="valid"), ["split"]),
        (replace(FULL, fingerprint="another graph"), ["dataset"]),
        (FULL.where(FULL.column("triple") < 5), ["triples"]),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else "",
)
def test_what_does_not_compare_is_refused_unless_it_is_allowed(others, fields):
    with pytest.raises(MetricError, match="these runs cannot be compared") as refusal:
        compare({"full": FULL, "other": others}, ["mrr"])
    message = str(refusal.value)
    assert [field for field in fields if f"\n{field}: " in message] == fields
    assert "other" in message
    assert f"allow={fields}" in message
    for part in range(len(fields)):
        with pytest.raises(MetricError, match=f"{fields[part]}: "):
            compare({"full": FULL, "other": others}, ["mrr"], allow=fields[:part])
    allowed = compare({"full": FULL, "other": others}, ["mrr"], allow=fields)
    left_out = f"{len(FULL) - len(others)} of {len(FULL)}"
    assert allowed.summaries[FULL.dataset]["other"].groups == summarize(others, ["mrr"]).groups
    if fields == ["triples"]:
        remark, _ = allowed.remarks
        assert remark == f"compared on the {len(others)} rows that all models have. Rows left out: {left_out} of full."
    else:
        said = [remark.split(": ")[:2] for remark in allowed.remarks if "these metrics" in remark]
        assert said == [["these metrics do not compare", name] for name in fields]
    assert allowed.to_dict()["notes"] == list(allowed.notes)
    assert all(note in unwrapped(allowed) for note in allowed.notes)


@pytest.mark.parametrize(
    "other", [Uniform(count=6), Uniform(count=5, seed=1), Uniform(count=5, allow_known=True), DegreeWeighted(count=5)]
)
def test_samples_compare_at_one_kind_count_and_seed(other):
    few = ranked(corruption=FEW)
    same = ranked(lambda h, r, t: h + t, corruption=FEW)
    assert compare({"few": few, "same": same}, ["mrr"]).remarks == ()
    with pytest.raises(MetricError, match=r"candidates: 5 uniform \(seed 0\) in few"):
        compare({"few": few, "same": same, "other": ranked(corruption=other)}, ["mrr"])


def test_case_and_punctuation_of_a_name_make_no_other_dataset():
    """PyKEEN's class is FB15k237, and its name fb15k-237."""
    live, named = (
        replace(table, dataset=name, fingerprint="")  # as older versions kept them
        for table, name in ((FULL, "FB15k237"), (shifted(3), "fb15k-237"))
    )
    (unknown,) = compare({"live": live, "named": named}, ["mrr"]).remarks
    assert unknown == ("not known of the ranks of live, named, and perhaps different: graph (known by its name alone).")
    with pytest.raises(MetricError, match="dataset: FB15k237 in live; FB15k in other"):
        compare({"live": live, "other": replace(live, dataset="FB15k")})


def test_what_is_not_known_is_said_and_its_counts_are_looked_at():
    """Ranks that an earlier version kept, or nobody's, tell nothing of themselves."""
    old = RankTable(FULL.data)
    equal, unknown = compare({"full": FULL, "old": old}, ["mrr"]).remarks
    assert equal == "full and old have the same ranks in every row: are they one model?"
    assert unknown == "not known of the ranks of old, and perhaps different: dataset, protocol, filter, candidates."
    with pytest.raises(MetricError, match="candidates: old and few have different numbers of them"):
        compare({"few": ranked(corruption=FEW), "old": old})


def test_nothing_else_can_be_allowed():
    with pytest.raises(MetricError, match=r"allow .*: unknown field 'candidate'. Did you mean 'candidates'\?"):
        compare({"full": FULL, "few": ranked(corruption=FEW)}, allow="candidate")
    for wrong in (5, [None], [["candidates"]]):
        with pytest.raises(MetricError, match=r"allow .*: unknown field"):
            compare({"full": FULL, "same": FULL}, allow=wrong)
    for nothing in ({}, {"nations": {}}):
        with pytest.raises(MetricError, match="nothing to compare"):
            compare(nothing)
    with pytest.raises(MetricError, match="full has no run"):
        compare({"full": []})


def test_every_form_of_the_same_runs_is_the_same_comparison():
    models = {"full": FULL, "same": FULL}
    listed = {model: [table] for model, table in models.items()}
    for form in (listed, {FULL.dataset: models}, {FULL.dataset: listed}):
        assert compare(form).to_dict() == compare(models).to_dict()
    seeds = {model: [table, table, table] for model, table in models.items()}
    assert compare(seeds).to_dict() == compare({FULL.dataset: seeds}).to_dict()
    assert compare(seeds).metrics == compare(models).metrics


def test_one_model_alone_is_shown_and_the_gate_does_not_pass():
    alone = compare({"full": FULL}, "mrr")
    assert alone.summaries[FULL.dataset]["full"]["mrr"] == summarize(FULL)["mrr"]
    assert alone.notes[-1] == "full is the only model: there is no other to compare it with."
    for tables in ({"full": FULL}, {"full": [FULL, FULL, FULL]}):
        with pytest.raises(RunError, match="full is the only model"):
            refuse_worse(compare(tables, "mrr"))


def test_a_column_for_each_metric_as_it_was_requested():
    constant = ranked(lambda h, r, t: h * 0)
    columns, rows = compare({"hash": FULL, "constant": constant}, ["mrr", "head.mrr", "tail.mrr", "both.mrr"]).table()
    assert columns == ["model", "mrr", "head.mrr", "tail.mrr"]
    for (model, *cells), table in zip(rows, (FULL, constant), strict=True):
        frame = table.to_pandas()
        reciprocal = 1 / (1 + frame["greater"] + frame["tied"] / 2)
        sides = [reciprocal, reciprocal[frame["side"] == "head"], reciprocal[frame["side"] == "tail"]]
        assert [float(cell) for cell in cells] == [round(side.mean(), 6) for side in sides], model


def shifted(places):
    """The table with every answer so many places further down."""
    greater = np.minimum(FULL.column("greater") + places, FULL.column("candidates") - FULL.column("tied") - 1)
    return changed(FULL, greater=greater)


@pytest.mark.parametrize("metric", ["mrr", "hits@10", "mr", "amr", "amri", "gmr", "igmr"])
def test_the_best_model_is_that_with_the_better_ranks(metric):
    """Mean ranks are better where they are lower, all else where it is higher."""
    tables = {"worst": shifted(9), "best": FULL, "middle": shifted(3)}
    comparison = compare(tables, [metric])
    values = {model: comparison.of(model, metric) for model in comparison.models}
    assert len(set(values.values())) == 3
    assert comparison.best(metric) == "best"
    del tables["best"]
    assert compare(tables, [metric]).best(metric) == "middle"


def test_a_frame_has_all_sides():
    frame = Comparison({"random": {"hash": summarize(FULL, ["mrr"])}}).to_frame()
    assert frame.columns.tolist() == ["both.mrr", "head.mrr", "tail.mrr"]
    assert frame.loc["hash", "both.mrr"] == summarize(FULL, ["mrr"])["mrr"]
