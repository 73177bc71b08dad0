"""The verdict: one sentence for each two models, made of the test of their difference, and what that test is."""

from __future__ import annotations

from typing import NamedTuple

from kgeval.analysis.comparison.compare_models import compare
from kgeval.analysis.comparison.comparison_notes import adjustment
from kgeval.analysis.comparison.paired_difference import PairedDifference
from kgeval.errors import MetricError
from kgeval.metrics.intervals.units import PLURAL
from kgeval.metrics.tables.metric_titles import short_title
from kgeval.metrics.tables.rendering import number
from kgeval.reports.isolation import isolated
from kgeval.reports.study import HEADLINES, Study


class Verdict(NamedTuple):
    """What the difference of two models says."""

    sentence: str
    seen: str
    """``"better"``, ``"worse"``, ``"none"``, or empty where nothing was tested"""


EXCEPTIONS = 3
"""groups of a kind that the sentence on the two best models names"""


def verdicts(study: Study) -> list[Verdict]:
    """Say of each two models which is better."""
    if study.comparison is None:
        return []
    pairs = study.comparison.pairs
    sentences = [Verdict(sentence_of(pair, study.ahead(pair.model, pair.other)), pair.seen) for pair in pairs]
    if pairs and pairs[0].seen == "better":
        first = sentences[0]
        sentences[0] = first._replace(sentence=first.sentence + exceptions(study, pairs[0]))
    return sentences


def basis(study: Study) -> str:
    """Say by which test the verdicts are reached."""
    if study.comparison is None or not study.comparison.family:
        return ""
    options = study.comparison.options
    tested = [pair for pair in study.comparison.pairs if pair.p is not None]
    seeds = " Of several seeds the mean is compared; the seeds are not resampled." if study.has_seeds else ""
    return (
        f"Each statement is a test of the difference in {short_title(tested[0].metric)} on the same "
        f"{tested[0].units:,} {PLURAL[options.unit]}: {options.draws:,} sign flips per {options.unit}, two-sided; p is "
        f"{adjustment(tested)}. Intervals: {100 * options.level:g} %, one difference at a time, resampling "
        f"{PLURAL[options.unit]}.{seeds}"
    )


def sentence_of(pair: PairedDifference, ahead: tuple[int, int] | None = None) -> str:
    """Put a difference into words, and in how many of how many pairs of seeds the model is ahead of the other."""
    mean = "mean " if ahead else ""
    metric, model, other = f"{mean}{short_title(pair.metric)}", isolated(pair.model), isolated(pair.other)
    in_seeds = f" {model} is ahead in {ahead[0]:,} of {ahead[1]:,} pairs of seeds." if ahead else ""
    always = ahead is not None and ahead[0] == {"better": ahead[1], "worse": 0}.get(pair.seen)
    if pair.seen in ("better", "worse"):
        change = signed(number(pair.difference, pair.decimals))
        ends = (pair.interval.low, pair.interval.high) if pair.interval else ()
        between = " to ".join(signed(number(end, pair.decimals)) for end in ends)
        why = "; ".join(
            part for part in (between and f"{100 * pair.level:g} % interval {between}", p_value(pair)) if part
        )
        found = f"{metric} {change} ({why})."
        if always:
            return f"{model} is {pair.seen} than {other}, with every seed: {found}"
        return f"{model} is {pair.seen} than {other}: {found}{in_seeds}"
    if pair.seen == "none" and pair.detectable is not None:
        least = number(pair.detectable, pair.decimals)
        none = f"no difference in {metric} is seen ({p_value(pair)})"
        return f"{model} and {other}: {none}; a single test sees a difference of {least} on 4 of 5 test sets.{in_seeds}"
    return f"{model} and {other}: {pair.verdict}.{in_seeds}"


def exceptions(study: Study, pair: PairedDifference) -> str:
    """Name the kinds of queries on which the better of two models is worse, or not seen to be better.

    All models are tested, as in ``compare --by cardinality,side``, whose p-values these are.
    """
    tables = study.sliced
    if study.has_seeds or any("cardinality" not in table.columns for table in tables.values()):
        return ""
    try:
        groups = compare(tables, [HEADLINES[0]], by=("cardinality", "side"), unit=study.unit, ties=study.ties)
    except MetricError:  # they may differ in what was allowed above
        return ""
    models = (pair.model, pair.other)
    clauses = [
        f"{words} {_listed(unlike)}"
        for seen, words in (("worse", "worse on"), ("none", "no difference seen on"))
        if (unlike := [one for one in groups.pairs if one.seen == seen and (one.model, one.other) == models])
    ]
    text = "; ".join(clauses)
    return f" {text[0].upper()}{text[1:]}." if text else ""


def _listed(pairs: list[PairedDifference]) -> str:
    names = [f"{pair.group['cardinality']} {pair.group['side']}s" for pair in pairs]
    more = f" and {len(names) - EXCEPTIONS} more" if len(names) > EXCEPTIONS else ""
    return f"{', '.join(names[:EXCEPTIONS])}{more}"


def signed(number: str) -> str:
    """Write a number with its sign, as text does.

    >>> signed("0.04"), signed("-0.04")
    ('+0.04', '−0.04')
    """
    return f"−{number[1:]}" if number.startswith("-") else f"+{number}"


def p_value(pair: PairedDifference) -> str:
    """Write an adjusted p-value, as ``kgeval compare`` does."""
    return f"p {pair.p_text}" if pair.p_text[:1] in "≤<" else f"p = {pair.p_text}"
