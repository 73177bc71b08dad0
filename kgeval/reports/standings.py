"""The first section of the page: the verdict, and the leaderboard with its intervals, baselines and chance.

``page.py`` calls :func:`standings`; :func:`standings_title` is also the title of the picture of a leaderboard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kgeval.analysis.comparison.adjustment import adjustment
from kgeval.analysis.comparison.compare import compare
from kgeval.analysis.comparison.paired_difference import PairedDifference
from kgeval.base.errors import MetricError
from kgeval.base.tables.table import number
from kgeval.metrics.intervals.interval import PLURAL
from kgeval.metrics.names import short_title
from kgeval.reports.document import Section, isolated
from kgeval.reports.evaluated_models import EvaluatedModel
from kgeval.reports.pictures import metric_panel
from kgeval.reports.study import HEADLINES, Study
from kgeval.reports.theme import PAGE, themed

MANY = 4
"""the fewest models whose order is written in one line; the sentences about pairs are then folded away"""

EXCEPTIONS = 3
"""how many groups of queries the sentence about the two best models names"""


def standings(study: Study) -> Section:
    """Make the section of the verdict and the leaderboard."""
    scores = study.scores
    panels = {
        f"leaderboard-{metric}": themed(metric_panel(of_metric, PAGE, width="container"), PAGE)
        for metric, of_metric in scores.groupby("metric", sort=False)
        if of_metric["value"].notna().any()
    }
    content = {
        "metrics": list(dict.fromkeys(scores["title"])),
        "rows": [_row(study, model) for model in study.models],
        "order": order(study),
        "verdicts": verdicts(study),
        "basis": basis(study),
        "note": _note(study),
    }
    return Section("standings", "Results", standings_title(study), content, panels)


def _row(study: Study, model: EvaluatedModel) -> dict[str, Any]:
    scores = study.scores[study.scores["model"] == model.name]
    best = study.scores.groupby("metric")["value"].max().to_dict() if len(study.names) > 1 else {}
    cells = [{**study.cell(row), "best": row["value"] == best.get(row["metric"])} for _, row in scores.iterrows()]
    return {"model": model.name, "baseline": model.baseline, "cells": cells, "seeds": len(model.seeds)}


def standings_title(study: Study) -> str:
    """Say in one sentence which model is best, and whether the difference is significant."""
    first = study.scores[study.scores["metric"] == HEADLINES[0]].dropna(subset=["value"]).set_index("model")
    kind = "baseline" if set(study.names) == set(study.baselines) else "model"
    learned = first[first["baseline"] == (kind == "baseline")]
    if learned.empty:
        return f"The MRR is undefined for every {kind}"
    best, others = str(learned.index[0]), [str(name) for name in learned.index[1:]]
    called = {name: isolated(name) for name in map(str, first.index)}
    highest = study.cell(learned.iloc[0])["value"]
    value = f"{'a mean' if study.has_seeds else 'an'} MRR of {highest}"
    seen = dict.fromkeys(first.index, "") | {pair.other: pair.seen for pair in study.pairs if pair.model == best}
    title = f"{called[best]} reaches {value}"
    if others and all(seen[name] == "better" for name in others):
        rest = called[others[0]] if len(others) == 1 else f"the other {len(others)} {kind}s"
        title = f"{called[best]} is better than {rest}, with {value}"
    elif others:
        title = f"{called[best]} has the highest MRR of the {len(others) + 1} {kind}s ({highest})"
        title += f"; {_unlike(others, seen)}"
    floors = [str(name) for name in first.index if first["baseline"][name] and seen[name] != "better"]
    if floors and kind == "model":
        floor = max(floors, key=lambda name: float(first["value"][name]))
        value = study.cell(first[first.index == floor].iloc[0])["value"]
        named = f"the baseline {isolated(floor.removeprefix('baseline '))} ({value})"
        results = {"worse": f"{named} is better", "none": f"the difference to {named} is not significant"}
        title += f"; {results.get(seen[floor], f'the difference to {named} was not tested')}"
    if learned["low"].iloc[0] <= learned["chance"].iloc[0]:
        title += f"; the interval of {called[best]} reaches chance ({learned['chance'].iloc[0]:.3f})"
    return title


def _unlike(others: Sequence[str], seen: Mapping[str, str]) -> str:
    unlike = {word: [isolated(name) for name in others if seen[name] == word] for word in ("worse", "none", "")}
    word, names = next((word, names) for word, names in unlike.items() if names)
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return {
        "worse": f"{names[0]}{more} is better on the queries that all models ranked",
        "none": f"the difference to {names[0]}{more} is not significant",
        "": f"the difference to {names[0]}{more} was not tested",
    }[word]


def order(study: Study) -> str:
    """Write the order of the models in one line; empty for fewer than ``MANY``, whose pairs have a sentence each."""
    return study.block.order(study.metric) if len(study.names) >= MANY else ""


def verdicts(study: Study) -> list[tuple[str, str]]:
    """For each pair of models, the result of its test (empty if it was not tested) and a sentence about it."""
    sentences = [(pair.seen, sentence_of(pair)) for pair in study.pairs]
    if sentences and sentences[0][0] == "better":
        sentences[0] = "better", sentences[0][1] + exceptions(study, study.pairs[0])
    return sentences


def sentence_of(pair: PairedDifference) -> str:
    """Put a difference into words."""
    mean = "mean " if pair.over_seeds else ""
    metric, model, other = f"{mean}{short_title(pair.metric)}", isolated(pair.model), isolated(pair.other)
    if pair.seen in ("better", "worse"):
        change = signed(number(pair.difference, pair.decimals))
        ends = (pair.interval.low, pair.interval.high) if pair.interval else ()
        between = " to ".join(signed(number(end, pair.decimals)) for end in ends)
        why = "; ".join(filter(None, [between and f"{100 * pair.level:g} % interval {between}", p_value(pair)]))
        return f"{model} is {pair.seen} than {other}: {metric} {change} ({why})."
    if pair.seen == "none" and pair.detectable is not None:
        least = number(pair.detectable, pair.decimals)
        none = f"no significant difference in {metric} ({p_value(pair)})"
        return f"{model} and {other}: {none}. A single test detects a difference of {least} on 4 of 5 test sets."
    return f"{model} and {other}: {pair.verdict}."


def signed(number: str) -> str:
    """Write a number with its sign, as text does.

    >>> signed("0.04"), signed("-0.04")
    ('+0.04', '−0.04')
    """
    return f"−{number[1:]}" if number.startswith("-") else f"+{number}"


def p_value(pair: PairedDifference) -> str:
    """Write the p-value of a difference."""
    return f"p {pair.p_text}" if pair.p_text[:1] in "≤<" else f"p = {pair.p_text}"


def exceptions(study: Study, pair: PairedDifference) -> str:
    """Name the kinds of queries on which the better of two models is worse, or not significantly better.

    The tests of all models are made as by ``kgeval compare --by cardinality,side``, with the same p-values.
    """
    tables = {model: table for model, (table, *_) in study.sliced.items()}
    if study.has_seeds or any("cardinality" not in table.columns for table in tables.values()):
        return ""
    try:
        groups = compare(tables, [HEADLINES[0]], by=("cardinality", "side"), intervals=study.unit, ties=study.ties)
    except MetricError:  # the runs may differ in fields that only the page allows
        return ""
    models = (pair.model, pair.other)
    clauses = [
        f"{words} {_listed(unlike)}"
        for seen, words in (("worse", "worse on"), ("none", "no significant difference on"))
        if (unlike := [test for test in groups.pairs if test.seen == seen and (test.model, test.other) == models])
    ]
    text = "; ".join(clauses)
    return f" {text[0].upper()}{text[1:]}." if text else ""


def _listed(pairs: list[PairedDifference]) -> str:
    names = [f"{pair.group['cardinality']} {pair.group['side']}s" for pair in pairs]
    more = f" and {len(names) - EXCEPTIONS} more" if len(names) > EXCEPTIONS else ""
    return f"{', '.join(names[:EXCEPTIONS])}{more}"


def basis(study: Study) -> str:
    """Say what was tested and how."""
    tested = [pair for pair in study.pairs if pair.p is not None]
    if not tested:
        return ""
    options = study.grid.options
    test = "Student's t test of the means" if study.has_seeds else f"{options.draws:,} draws of sign flips"
    return (
        f"Tests of the difference in {short_title(tested[0].metric)} on the same {tested[0].units:,} "
        f"{PLURAL[options.unit]}: {test}, two-sided; p is {adjustment(tested)}. Intervals: "
        f"{100 * options.level:g} % for each difference alone (resampling {study.resampled})."
    )


def _note(study: Study) -> str:
    several, seeds = len(study.names) > 1, study.has_seeds
    intervals = f"Below each number: its 95 % interval (resampling {PLURAL[study.unit]})"
    if study.scores["low"].isna().all():
        why = next(filter(None, study.scores["without"]), "")
        intervals = f"No intervals (resampling {PLURAL[study.unit]}): {why}" if why else "No intervals"
    parts = [
        intervals,
        "Models with seeds: the mean, whose interval resamples seeds too; a dot is one seed" if seeds else "",
        "Bold: the best of the column, baselines included" if several else "",
        "Dashed lines: chance" if study.scores["chance"].notna().any() else "",
        "↑: higher is better",
    ]
    return f"{'. '.join(filter(None, parts))}."
