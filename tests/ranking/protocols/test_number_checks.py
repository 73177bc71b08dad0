"""Which protocol gives a number: hand-worked ranks, and numbers as people write them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import kgeval
from kgeval.base.errors import MetricError
from kgeval.ranking.corruption import Uniform
from kgeval.ranking.protocols.protocol import protocols


@pytest.fixture(scope="module")
def recorder():
    """Tails: of 30 entities, two are above each answer, one of them known, and two tie with it."""
    train = [(f"h{i}", "r", "a") for i in range(4)]
    data = kgeval.Dataset.from_labels(train=train, test=[(f"h{i}", "r", "b") for i in range(4)])
    recorder = kgeval.Recorder(data, sides="tail")
    names = list(data.entities)
    scores = np.zeros((4, len(names)))
    for label, value in {"a": 9, "h0": 8, "b": 5, "h1": 5, "h2": 5}.items():
        scores[:, names.index(label)] = value
    recorder.update(data.test.ids, scores, side="tail")
    return recorder


@pytest.mark.parametrize(
    ("metric", "printed", "setting", "ties"),
    [
        ("mr", "2", "filtered", "optimistic"),
        ("mr", "3.0", "filtered", "realistic"),
        ("mrr", ".25", "filtered", "pessimistic"),
        ("mrr", "25.00", "filtered", "pessimistic"),
        ("mrr", "25%", "filtered", "pessimistic"),
        ("tail.mr", 5, "raw", "pessimistic"),
        ("hits@3", "0.0", "raw", "pessimistic"),
    ],
)
def test_the_rule_of_a_hand_worked_number_is_among_the_matches(recorder, metric, printed, setting, ties):
    matches = recorder.check({metric: printed}).matches
    assert any(it.setting == setting and ties in it.ties for it in matches)


def test_protocols_that_do_not_filter_give_no_filtered_number(recorder):
    readings = recorder.check(mrr="3.0").readings
    assert not any({"ogb", "pyg"} & {*it.protocols} for it in readings if it.setting == "filtered")
    assert "pyg" in {name for it in readings if it.setting == "raw" for name in it.protocols}
    # Nor does one that ranks among lists of negatives give a number of ranks among all entities.
    assert not any("ogb" in it.protocols for it in readings)


def as_score(h, r, t):
    return (h * 31 + r * 7 + t * 5 + h * t) % 6


SETTINGS = {
    "standard": {},
    "raw tails": {"filter": [], "sides": "tail"},
    "filtered by train alone": {"filter": "train"},
    "valid": {"split": "valid"},
    "heads": {"sides": "head"},
    "sampled": {"corruption": Uniform(count=5)},
    "restricted": {"restrict_entities_to": ["china", "usa", "uk", "ussr", "india"]},
    "of pyg": {"protocol": "pyg"},
    "of libkge": {"protocol": "libkge", "split": "valid"},
}


@cache
def printed_by(protocol, split):
    """What a protocol prints of a model that it ranks by its own rules."""
    table, rules = kgeval.evaluate(as_score, "nations", protocol=protocol, split=split), protocols()[protocol]
    printed = [*kgeval.framework_metrics(table).values.values()]
    if not rules.framework_metrics:
        names = [f"{side}.{name}" for side in ("head", "tail", "both") for name in rules.metrics if name != "count"]
        summary = kgeval.summarize(table, names, ties=rules.ties)
        printed += [summary[name] for name in names]
    return np.array(printed, float)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("metric", ["mrr", "mr"])
def test_every_protocol_that_is_named_prints_that_number(settings, metric):
    """Of the same model and split by the rules of that protocol, whatever the ranks that are checked are of."""
    table = kgeval.evaluate(as_score, "nations", **settings)
    for side in np.unique(table.column("side").astype(str)):
        part = table.where(table.column("side") == side)
        for prefix in ("", "raw_"):
            ranks = 1 + part.column(f"{prefix}greater") + part.column(f"{prefix}tied") / 2
            number = float(np.mean(1 / ranks if metric == "mrr" else ranks))
            for found in kgeval.check_numbers(table, {f"{side}.{metric}": f"{number:.7f}"}).matches:
                for name in found.protocols:
                    printed = printed_by(name, table.split) + (name == "pyg" and metric == "mr")
                    assert np.isclose(printed, number, rtol=2e-6).any(), (name, side, prefix, number)


def test_a_run_that_was_not_filtered_is_of_no_protocol_that_filters():
    """Its raw tails are what PyTorch Geometric, LibKGE and OpenKE report; the standard protocol's number is another."""
    table = kgeval.evaluate(as_score, "nations", filter=[], sides="tail")
    raw = 1 + table.column("greater") + table.column("tied") / 2
    (found,) = kgeval.check_numbers(table, {"mrr": f"{np.mean(1 / raw):.6f}"}).matches
    assert (found.setting, found.side, found.protocols) == ("raw", "tail", ("pyg",))


def test_several_numbers_have_to_match_together(recorder):
    assert {tie for it in recorder.check(mr="3.000").matches for tie in it.ties} >= {"realistic", "optimistic"}
    both = recorder.check({"mr": "3.000", "hits@2": "0.00"}).matches
    assert both[0].setting == "filtered"
    assert "realistic" in both[0].ties
    none = recorder.check(mr="3.000", mrr="0.9")
    assert not none.matches
    assert none.heads[0].startswith(
        "mr 3.000, mrr 0.9: no protocol gives this number from these ranks. The nearest is "
    )
    assert "kgeval explain CHECKPOINT --number" in none.notes[0]


@cache
def by_optimistic_ranks():
    """Ranks that tie often, of a table, and the exact mean reciprocal of one more than the better scores."""
    table = kgeval.evaluate(lambda h, r, t: (h * 31 + r * 7 + t * 5) % 4, "nations")
    return table, sum(Fraction(1, 1 + int(better)) for better in table.column("greater")) / len(table)


@pytest.mark.parametrize("digits", [1, 3, 6, 7, 8, 16])
def test_an_exact_mean_is_found_however_many_digits_are_given(digits):
    """OpenKE's own sum is one float32 after the other, which has lost the seventh digit after 402 ranks."""
    table, exact = by_optimistic_ranks()
    printed = f"{Decimal(exact.numerator) / exact.denominator:.{digits}f}"
    for it in (printed, float(printed)):
        assert any("openke" in reading.protocols for reading in kgeval.check_numbers(table, {"mrr": it}).matches)
    step = Decimal(10) ** -min(digits, 6)
    for other in (Decimal(printed) - step, Decimal(printed) + step):
        readings = kgeval.check_numbers(table, {"mrr": str(other)}).matches
        assert not any("openke" in it.protocols for it in readings if (it.setting, it.side) == ("filtered", "both"))


@pytest.mark.parametrize("prefix", ["", "raw_"])
def test_the_mean_over_all_orders_of_ties_is_tried_too(prefix):
    """As baselines have it; by hand, over each rank that an answer may have."""
    table, _ = by_optimistic_ranks()
    first, tied = (table.column(f"{prefix}{name}") for name in ("greater", "tied"))
    means = [np.mean(1 / np.arange(1 + low, 2 + low + more)) for low, more in zip(first, tied, strict=True)]
    (found,) = kgeval.check_numbers(table, {"mrr": f"{np.mean(means):.6f}"}).matches
    assert (found.ties, found.protocols) == (("expected",), () if prefix else ("standard",))


def test_halfway_a_number_is_rounded_either_way(recorder):
    for printed in (".2", ".3"):
        assert any("pessimistic" in it.ties for it in recorder.check({"mrr": printed}).matches)


def test_only_protocols_that_report_a_number_are_named():
    """Raw, tails: PyTorch Geometric and OpenKE print an MRR; KB2E no MRR, DGL-KE neither sides, ConvE nothing raw."""
    table, _ = by_optimistic_ranks()
    tails = table.column("side") == "tail"
    raw = 1 + table.column("raw_greater")[tails]
    for ranks, protocol in ((raw + table.column("raw_tied")[tails] / 2, "pyg"), (raw, "openke")):
        matches = kgeval.check_numbers(table, {"mrr": f"{np.mean(1 / ranks):.6f}"}).matches
        (found,) = (it for it in matches if (it.setting, it.side) == ("raw", "tail"))
        assert found.protocols == (protocol,)
    filtered = 1 + table.column("greater")[tails] + table.column("tied")[tails] / 2
    found = kgeval.check_numbers(table, {"mr": f"{filtered.mean():.6f}"}).matches[0]
    assert {"kb2e", "conve", "pykeen"} <= {*found.protocols}
    assert not {"pyg", "rotate", "tucker", "bordes-raw"} & {*found.protocols}
    optimistic = kgeval.check_numbers(table, {"mrr": f"{np.mean(1 / (1 + table.column('greater'))):.6f}"}).matches[0]
    assert {"pykeen", "openke"} <= {*optimistic.protocols}
    heads = 1 + table.column("raw_greater")[~tails] + table.column("raw_tied")[~tails]
    (only_rules,) = kgeval.check_numbers(table, {"mrr": f"{np.mean(1 / heads):.6f}"}).matches
    assert str(only_rules) == "raw, heads only, pessimistic ties (no protocol reports it)"


@pytest.mark.parametrize("wrong", ["", "x", "nan", "-1", "0,33", "1e999999", "inf"])
def test_what_is_no_number_is_refused(recorder, wrong):
    with pytest.raises(MetricError, match="is not a number such as"):
        recorder.check(mrr=wrong)


def test_other_metrics_and_none_are_refused(recorder):
    with pytest.raises(MetricError, match="a check compares mrr, mr and hits@k"):
        recorder.check(amri=0.3)
    with pytest.raises(MetricError, match="no number to check"):
        recorder.check()
