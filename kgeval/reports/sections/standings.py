"""Who is best? The verdict, and the leaderboard with its intervals, baselines and chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kgeval.metrics.intervals.units import PLURAL
from kgeval.reports.charts.leaderboard import metric_panel
from kgeval.reports.charts.theme import PAGE, themed
from kgeval.reports.isolation import isolated
from kgeval.reports.sections.section import Section
from kgeval.reports.sections.verdict import basis, verdicts
from kgeval.reports.study import HEADLINES, Study


def standings(study: Study) -> Section:
    """Show the models by the first headline metric, the best first."""
    scores = study.scores
    panels = {
        f"leaderboard-{metric}": themed(metric_panel(own, PAGE, width="container"), PAGE)
        for metric, own in scores.groupby("metric", sort=False)
        if own["value"].notna().any()
    }
    runs = {model.name: len(model.seeds) for model in study.models}
    content = {
        "metrics": list(dict.fromkeys(scores["title"])),
        "rows": [{**_row(study, name), "seeds": runs[name]} for name in study.names],
        "verdicts": verdicts(study),
        "basis": basis(study),
        "note": _note(study),
    }
    return Section("standings", "Results", standings_title(study), content, panels)


def _row(study: Study, name: str) -> dict[str, Any]:
    """Lay out a model's row of the leaderboard."""
    own = study.scores[study.scores["model"] == name]
    best = study.scores.groupby("metric")["value"].max().to_dict() if len(study.names) > 1 else {}
    cells = [{**study.cell(score), "best": score["value"] == best.get(score["metric"])} for _, score in own.iterrows()]
    return {"model": name, "baseline": bool(own["baseline"].iloc[0]), "cells": cells}


def _note(study: Study) -> str:
    """Say what the numbers, intervals and dots are."""
    several, seeds = len(study.names) > 1, study.has_seeds
    intervals = f"Below each number its 95 % interval (resampling {PLURAL[study.unit]})"
    if study.scores["low"].isna().all():
        why = next(filter(None, study.scores["without"]), "")
        intervals = f"No intervals (resampling {PLURAL[study.unit]}): {why}" if why else "No intervals"
    parts = [
        intervals,
        "of several seeds the mean, whose interval resamples seeds too; a dot for each seed" if seeds else "",
        "bold: the best in the column, baselines included" if several else "",
        "dashed lines: chance" if study.scores["chance"].notna().any() else "",
    ]
    middle = "The sections below show the run with the middle MRR of several seeds. " if seeds else ""
    return f"{'; '.join(filter(None, parts))}. {middle}↑ higher is better."


def standings_title(study: Study) -> str:
    """Name the model with the highest mean reciprocal rank, and what the tests against the others say."""
    first = study.scores[study.scores["metric"] == HEADLINES[0]].dropna(subset=["value"]).set_index("model")
    learned = first[~first["baseline"]]
    if learned.empty:
        return "No model has a mean reciprocal rank"
    best, others = str(learned.index[0]), [str(name) for name in learned.index[1:]]
    told = {name: f"{isolated(name)}" for name in map(str, first.index)}
    value = f"{'a mean' if study.has_seeds else 'an'} MRR of {study.cell(learned.iloc[0])['value']}"
    seen = {name: _seen(study, best, name) for name in first.index}
    title = f"{told[best]} reaches {value}"
    if others and all(seen[name] == "better" for name in others):
        rest = told[others[0]] if len(others) == 1 else f"the other {len(others)} models"
        some = any((pairs := study.ahead(best, name)) and pairs[0] < pairs[1] for name in others)
        title = f"{told[best]} is better than {rest}: {value}{', but not with every seed' if some else ''}"
    elif others:
        title = (
            f"{told[best]} has the highest MRR of the {len(others) + 1} models, {study.cell(learned.iloc[0])['value']}"
        )
        title += f", but {_unlike(others, seen)}"
    floors = [str(name) for name in first.index if first["baseline"][name] and seen[name] != "better"]
    if floors:
        floor = max(floors, key=lambda name: float(first["value"][name]))
        value = study.cell(first[first.index == floor].iloc[0])["value"]
        named = f"the baseline {isolated(floor.removeprefix('baseline '))} ({value})"
        found = {"worse": f"{named} is better", "none": f"no difference to {named} is seen"}
        title += f"; {found.get(seen[floor], f'{named} is not tested')}"
    if learned["low"].iloc[0] <= learned["chance"].iloc[0]:
        title += f"; the interval of {told[best]} reaches down to chance ({learned['chance'].iloc[0]:.3f})"
    return title


def _seen(study: Study, best: str, other: str) -> str:
    """What the test of two models says of the first: better, worse, none, or empty where nothing was tested."""
    pairs = study.comparison.pairs if study.comparison else ()
    return next((pair.seen for pair in pairs if (pair.model, pair.other) == (best, other)), "")


def _unlike(others: Sequence[str], seen: Mapping[str, str]) -> str:
    """Say of which other models the best by its mean reciprocal rank is not seen to be better."""
    unlike = {word: [isolated(name) for name in others if seen[name] == word] for word in ("worse", "none", "")}
    word, names = next((word, names) for word, names in unlike.items() if names)
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return {
        "worse": f"{names[0]}{more} is better on the rows that all models have",
        "none": f"no difference to {names[0]}{more} is seen",
        "": f"no difference to {names[0]}{more} is tested",
    }[word]
