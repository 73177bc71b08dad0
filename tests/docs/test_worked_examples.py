"""The page on metrics: its worked examples give what they say, and it has every metric with its names and source."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from kgeval.metrics import mae, mse, rmse
from kgeval.metrics.labels.fitted import LabelPredictions
from kgeval.metrics.lists.ranked_lists import ranked
from kgeval.metrics.metric import metrics
from kgeval.metrics.names import parse
from kgeval.metrics.ranks.ranks import Ranks

PAGE = (Path(__file__).parents[2] / "docs/guides/metrics.md").read_text(encoding="utf-8")
ROWS = [re.split(r"(?<!\\) ?\| ?", line.strip("| ")) for line in PAGE.splitlines() if line.startswith("| `")]
EXAMPLES = [row for row in ROWS if re.match(r"(ranks|list|TP|true) ?\d", row[1])]
SIGNS = {"·": "*", "−": "-", "^": "**", "√": "math.sqrt", "log₂": "math.log2", "log₁₀": "math.log10"}


def by_hand(text):
    """Compute what stands before the remark of a cell."""
    formula = re.sub(r"\bln\b", "math.log", re.split("[,:] ", text)[0])
    for sign, code in SIGNS.items():
        formula = formula.replace(sign, code)
    return eval(formula, {"math": math})


def ranks_of(text):
    """Read ``2, 1 among 5`` and, of a tie, ``1–2``."""
    listed, _, among = text.partition(" among ")
    ends = [[int(end) for end in one.split("–")] for one in listed.split(", ")]
    best, worst = (np.array([of[place] for of in ends]) for place in (0, -1))
    return Ranks(best - 1, worst - best, np.full(len(ends), int(among or worst.max())))


def labels_of(text):
    counts = [int(number) for number in re.findall(r"\d+", text)]
    truths, decisions = (
        np.repeat(pattern, counts) for pattern in ([True, False, True, False], [True, True, False, False])
    )
    empty = np.zeros(len(truths))
    return LabelPredictions(truths, empty, empty, decisions, empty)


def computed(name, data):
    kind, _, numbers = data.partition(" ")
    if kind == "TP":
        return parse(name, "classification")(labels_of(numbers))
    if kind == "true":
        true, predicted = numbers.split(", predicted ")
        return {"mse": mse, "rmse": rmse, "mae": mae}[name](eval(f"[{true}]"), eval(f"[{predicted}]"))
    metric = parse(name)
    return metric(
        ranked(eval(f"[{numbers}]")) if kind == "list" else ranks_of(numbers).under(metric.ties or "realistic")
    )


@pytest.mark.parametrize("row", EXAMPLES, ids=lambda row: f"{row[0]} {row[1]}")
def test_a_worked_example_is_right(row):
    name, data, hand, value = row
    assert by_hand(hand) == pytest.approx(float(value), abs=0.5e-4)
    assert computed(name.split("`")[1], data) == pytest.approx(by_hand(hand), rel=1e-12)


def test_there_is_an_example_of_each_kind():
    assert len(EXAMPLES) > 35
    assert {row[1].split()[0] for row in EXAMPLES} == {"ranks", "list", "TP", "true"}


@pytest.mark.parametrize("needs", ["ranks", "lists", "labels", "confidences"])
def test_every_metric_stands_there_with_its_names_and_its_source(needs):
    tables = [row for row in ROWS if row not in EXAMPLES and len(row) == 4]
    section = {"labels": "## Metrics of classifications", "confidences": "## Metrics of confidences"}.get(needs)
    page = PAGE.partition(section)[2] if section else PAGE.partition("## Metrics of classifications")[0]
    for metric in metrics(needs).values():
        first = {"none": metric.name, "required": f"{metric.name}@k", "optional": f"{metric.name}[@k]"}[metric.cutoff]
        rows = [row for row in tables if row[0].startswith(f"`{first}`") and f"| {row[0]} | {row[1]} |" in page]
        assert len(rows) == 1, metric.name
        assert rows[0][3] == metric.source, metric.name
        spelled = [name.replace("{k}", "k") for name in metric.spellings()[1:] if name != f"{metric.name}@{{k}}"]
        if metric.cutoff == "optional":
            spelled = [name for name in spelled if "@k" not in name]
        assert [name for name in spelled if f"`{name}`" not in rows[0][2]] == [], metric.name
