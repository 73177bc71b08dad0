"""Who is best? The verdict, and the leaderboard with its intervals, baselines and chance."""

from __future__ import annotations

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
    cells = [study.cell(score) for _, score in own.iterrows()]
    return {"model": name, "baseline": bool(own["baseline"].iloc[0]), "cells": cells}


def _note(study: Study) -> str:
    """Say what the numbers, intervals and dots are."""
    several, seeds = len(study.names) > 1, study.has_seeds
    drawn = f"had the {PLURAL[study.unit]} been drawn again"
    intervals = f"Below each number its 95 % interval, {drawn}"
    if study.scores["low"].isna().all():
        why = next(filter(None, study.scores["without"]), "")
        intervals = f"No intervals, {drawn}: {why}" if why else "No intervals"
    parts = [
        intervals,
        "of several seeds the mean, whose interval is of other seeds too, with a dot for each" if seeds else "",
        "bold: the best" if several else "",
        "dashed lines: chance" if study.scores["chance"].notna().any() else "",
    ]
    middle = "What follows is of the run in the middle. " if seeds else ""
    return f"{'; '.join(filter(None, parts))}. {middle}↑ higher is better."


def standings_title(study: Study) -> str:
    """Name the best model, and say whether it is more than noise."""
    first = study.scores[study.scores["metric"] == HEADLINES[0]]
    ranked = first[~first["baseline"]].dropna(subset=["value"])
    if ranked.empty:
        return "No model has a mean reciprocal rank"
    best, value = isolated(ranked.iloc[0]["model"]), study.cell(ranked.iloc[0])["value"]
    floors = first[first["baseline"] & (first["value"] > ranked.iloc[0]["value"])]
    floor = "" if floors.empty else f", less than {isolated(floors.iloc[0]['model'])}, which learns nothing"
    if ranked.iloc[0]["low"] <= ranked.iloc[0]["chance"]:
        floor += ", not seen to be more than chance"
    if len(ranked) == 1:
        return f"{best} reaches an MRR of {value}{floor}"
    other = isolated(ranked.iloc[1]["model"])
    seen = study.comparison.pairs[0].seen if study.comparison and study.comparison.pairs else ""
    ahead, pairs = study.ahead(ranked.iloc[0]["model"], ranked.iloc[1]["model"]) or (1, 1)
    if seen == "better" and ahead == pairs:
        return f"{best} leads with an MRR of {value}{floor}"
    words = {
        "better": "not with every seed",
        "worse": "not with every seed",
        "none": f"no difference to {other} is seen",
    }
    return f"{best} has the highest MRR, {value}{floor}, but {words.get(seen, f'no difference to {other} is tested')}"
