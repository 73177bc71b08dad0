"""The verdict: one sentence for each two models, in words, with what makes it more than noise."""

from __future__ import annotations

from typing import NamedTuple

from kgeval.analysis.comparison.compare_models import compare
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
    """Say what intervals and p-values of the verdicts are of."""
    if study.comparison is None or not study.comparison.family:
        return ""
    options, family = study.comparison.options, study.comparison.family
    middle = " Of a model with seeds, these are of the run in the middle." if study.has_seeds else ""
    return (
        f"Differences on the same triples. {100 * options.level:g} % intervals: had the {PLURAL[options.unit]} been "
        f"drawn again. p: by {options.draws:,} sign flips per {options.unit}, adjusted for "
        f"{'one pair' if family == 1 else f'all {family} pairs'} (Holm, 1979).{middle}"
    )


def sentence_of(pair: PairedDifference, ahead: tuple[int, int] | None = None) -> str:
    """Put a difference into words, and in how many of how many pairs of seeds the model is ahead of the other."""
    metric, model, other = short_title(pair.metric), isolated(pair.model), isolated(pair.other)
    in_seeds = f" {model} is ahead in {ahead[0]:,} of {ahead[1]:,} pairs of seeds." if ahead else ""
    always = ahead is not None and ahead[0] == {"better": ahead[1], "worse": 0}.get(pair.seen)
    if pair.seen in ("better", "worse"):
        change = signed(number(pair.difference, pair.decimals))
        ends = (pair.interval.low, pair.interval.high) if pair.interval else ()
        between = " to ".join(signed(number(end, pair.decimals)) for end in ends)
        why = "; ".join(part for part in (between, p_value(pair)) if part)
        found = f"{metric} {change} ({why})."
        if always:
            return f"{model} is {pair.seen} than {other}, with every seed: {found}"
        return f"{model} is {pair.seen} than {other}: {found}{in_seeds}"
    if pair.seen == "none" and pair.detectable is not None:
        least = number(pair.detectable, pair.decimals)
        none = f"no difference in {metric} seen; one of {least} or more would be, mostly"
        return f"{model} and {other}: {none}.{in_seeds}"
    return f"{model} and {other}: {pair.verdict}.{in_seeds}"


def exceptions(study: Study, pair: PairedDifference) -> str:
    """Name the kinds of queries on which the better of two models is worse, or not seen to be better."""
    tables = {name: table for name, table in study.sliced.items() if name in (pair.model, pair.other)}
    if any("cardinality" not in table.columns for table in tables.values()):
        return ""
    try:
        groups = compare(tables, [HEADLINES[0]], by=("cardinality", "side"), unit=study.unit, ties=study.ties)
    except MetricError:  # they may differ in what was allowed above
        return ""
    clauses = [
        f"{words} {_listed(unlike)}"
        for seen, words in (("worse", "worse on"), ("none", "no difference seen on"))
        if (unlike := [one for one in groups.pairs if one.seen == seen])
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
    """Write an adjusted p-value."""
    p = pair.adjusted_p if pair.adjusted_p is not None else 1.0
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
