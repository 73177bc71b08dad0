"""Every form in which results are written has the numbers, sizes, seeds, ties and marks of their records."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgeval import RankTable, compare, evaluate, summarize
from kgeval.base.tables.table import escape_latex
from tests.conftest import random_dataset, unwrapped
from tests.metrics.example_ranks import changed

DATASETS = {name: replace(random_dataset(seed, triples=160 + 40 * seed), name=name) for seed, name in enumerate("ab")}
BASE = {name: evaluate(lambda h, r, t: h + t, data) for name, data in DATASETS.items()}

FUNCTIONS = {"mrr": lambda ranks: (1 / ranks).mean(), "hits@3": lambda ranks: (ranks <= 3).mean(), "mr": np.mean}

RANK = {
    "realistic": lambda greater, tied: 1 + greater + tied / 2,
    "pessimistic": lambda greater, tied: 1 + greater + tied,
    "optimistic": lambda greater, tied: 1 + greater,
}


@dataclass(frozen=True, repr=False)
class Case:
    """Runs of models on datasets, and how they are compared."""

    runs: dict[str, dict[str, list[RankTable]]]
    metrics: list[str]
    by: list[str]
    ties: str
    reference: str | None

    @property
    def is_grid(self) -> bool:
        return len(self.runs) > 1 or any(len(runs) > 1 for models in self.runs.values() for runs in models.values())

    def compare(self):
        options = {"by": self.by, "ties": self.ties, "reference": self.reference, "draws": 99}
        if self.is_grid:
            return compare(self.runs, self.metrics, **options)
        (models,) = self.runs.values()
        return compare({name: table for name, (table,) in models.items()}, self.metrics, **options)

    def values(self):
        """The runs' values by dataset, group, model and metric, computed by numpy alone."""
        found = {}
        for dataset, models in self.runs.items():
            for model, tables in models.items():
                for group in self.groups(tables[0]):
                    for metric in self.metrics:
                        runs = [self.value(table, group, metric) for table in tables]
                        found[dataset, tuple(group.items()), model, metric] = runs
        return found

    def groups(self, table):
        frame = table.to_pandas()
        columns = [f"{name}_label" if name == "relation" else name for name in self.by]
        keys = dict.fromkeys(map(tuple, frame[columns].astype(str).to_numpy().tolist())) if self.by else {(): None}
        return [dict(zip(self.by, key, strict=True)) for key in sorted(keys)]

    def value(self, table, group, metric):
        frame = table.to_pandas()
        for name, value in group.items():
            frame = frame[frame[f"{name}_label" if name == "relation" else name].astype(str) == value]
        return float(FUNCTIONS[metric](RANK[self.ties](frame["greater"].to_numpy(), frame["tied"].to_numpy())))


@st.composite
def cases(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    seeds = draw(st.sampled_from([1, 1, 3]))
    models = {
        f"m{place}": draw(st.sampled_from([seeds, seeds, 2])) if seeds > 1 else 1
        for place in range(2 + rng.integers(2))
    }

    def run(base):
        candidates = base.column("candidates")
        greater = rng.integers(0, candidates)
        return changed(base, greater=greater, tied=rng.integers(0, candidates - greater))

    datasets = draw(st.sampled_from([["a"], ["a", "b"]]))
    runs = {
        name: {model: [run(BASE[name]) for _ in range(count)] for model, count in models.items()} for name in datasets
    }
    metrics = draw(st.lists(st.sampled_from([*FUNCTIONS]), min_size=1, max_size=3, unique=True))
    by = draw(st.sampled_from([[], [], ["side"], ["relation"]]))
    return Case(runs, metrics, by, draw(st.sampled_from([*RANK])), draw(st.sampled_from([None, "m0", "m1"])))


def written_as(text, value):
    """Whether a text is a number, rounded to its own digits; ± and what follows are left aside."""
    number = re.sub(r" [±(].*", "", text)
    return float(number) == pytest.approx(value, abs=0.5000001 * 10 ** -len(number.partition(".")[2]))


@settings(max_examples=25, deadline=None)
@given(cases())
def test_all_forms_of_a_comparison_have_the_numbers_and_marks_of_its_records(case):
    found, expected = case.compare(), case.values()
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    records = {
        (one["dataset"], tuple(one.get("group", {}).items()), one["model"], one["metric"]): one
        for one in content["values"]
        if one["metric"] in case.metrics
    }
    assert records.keys() == expected.keys()
    for place, runs in expected.items():
        assert records[place]["value"] == pytest.approx(np.mean(runs), rel=1e-12)
        assert records[place].get("runs", runs) == pytest.approx(runs, rel=1e-12)
    rows = [(group, model) for group in dict.fromkeys(place[1] for place in expected) for model in found.models]
    columns = [(dataset, metric) for dataset in case.runs for metric in case.metrics]
    values = [[records[dataset, group, model, metric]["value"] for dataset, metric in columns] for group, model in rows]
    keys = [[*dict(group).values(), model] for group, model in rows]

    texts = found.tables()[0].texts()
    for row, key, numbers in zip(texts, keys, values, strict=True):
        assert row[: len(key)] == key
        assert all(written_as(text, value) for text, value in zip(row[len(key) :], numbers, strict=True))
        assert "".join(row) in "".join(str(found).split("  ")).replace(" \n", "\n") or unwrapped(
            " ".join(row)
        ) in unwrapped(found)
    html = ET.fromstring(found._repr_html_()).find(".//table/tbody")
    assert [[cell.text for cell in row] for row in html] == texts

    read = list(csv.reader(io.StringIO(found.csv_tables()[0].csv())))
    mean = [f"{dataset} {metric} mean" for dataset, metric in columns] if case.is_grid else case.metrics
    for row, key, numbers in zip(read[1:], keys, values, strict=True):
        cells = dict(zip(read[0], row, strict=True))
        assert row[: len(key)] == key
        assert [float(cells[name]) for name in mean] == pytest.approx(numbers, rel=1e-12)
    frame = found.to_frame()
    for group, model in rows:
        line = frame.loc[(*dict(group).values(), model)] if case.by else frame.loc[model]
        for dataset, metric in columns:
            names = (dataset, metric, "mean") if case.is_grid else metric if "side" in case.by else f"both.{metric}"
            assert line[names] == records[dataset, group, model, metric]["value"]

    marks = expected_marks(case, content, records, rows, columns)
    (paper,) = found.papers()
    assert [
        [(cell.best, cell.near) for cell in row[len(key) :]] for row, key in zip(paper.rows, keys, strict=True)
    ] == marks
    markdown = [line.strip("| ").split(" | ") for line in found.to_markdown().splitlines() if line.startswith("| ")][2:]
    body = found.to_latex().partition(r"\midrule")[2].partition(r"\bottomrule")[0].strip().splitlines()
    latex = [[cell.strip() for cell in line.removesuffix(r"\\").split("&")] for line in body]
    for place, (key, numbers, own) in enumerate(zip(keys, values, marks, strict=True)):
        for cell, value, (best, near) in zip(markdown[place][len(key) :], numbers, own, strict=True):
            assert (cell.startswith("**"), "<u>" in cell) == (best, near)
            assert written_as(re.sub(r"\*\*|</?u>", "", cell), value)
        for cell, value, (best, near) in zip(latex[place][len(key) :], numbers, own, strict=True):
            assert (r"\bfseries" in cell, r"\underline" in cell) == (best, near)
            plain = re.sub(r"\\phantom\{.*\}|\\bfseries|\\underline|\\tablenum\[[^]]*\]|[{}]", "", cell).replace(
                r"$\pm$", "±"
            )
            assert written_as(plain.strip(), value)

    head = found.heads[0]
    sizes = " and ".join(f"{len(DATASETS[name].test):,}" for name in case.runs)
    assert head.startswith(f"{len(found.models)} models on {' and '.join(case.runs)}, {sizes} test triples, ")
    assert f", ties: {case.ties}" in head
    assert content["ties"] == case.ties
    most = max(len(runs) for models in case.runs.values() for runs in models.values())
    assert (f"{most} seeds" in head) == (most > 1)
    assert head in paper.title
    assert escape_latex(head) in found.to_latex()
    assert head in unwrapped(found)


def expected_marks(case, content, records, rows, columns):
    """What is bold and underlined, from the values and the verdicts of the records alone."""
    verdicts = {}
    for pair in content["differences"]["pairs"]:
        place = (pair["dataset"], tuple(pair.get("group", {}).items()), pair["metric"])
        verdicts[(*place, frozenset((pair["model"], pair["other"])))] = pair["verdict"]
    marks = []
    for group, model in rows:
        row = []
        for dataset, metric in columns:
            of_models = {one: records[dataset, group, one, metric]["value"] for other, one in rows if other == group}
            best = (min if metric == "mr" else max)(of_models.values())
            first = next(one for one, value in of_models.items() if value == best)
            against = case.reference or first
            verdict = verdicts.get((dataset, group, metric, frozenset((model, against))), "")
            equal = of_models[model] == best == of_models[against]
            row.append((of_models[model] == best, verdict.startswith("no significant") and not equal))
        marks.append(row)
    return marks


@settings(max_examples=15, deadline=None)
@given(cases())
def test_all_forms_of_a_summary_have_the_numbers_of_its_records(case):
    table = case.runs["a"]["m0"][0]
    summary = summarize(table, case.metrics, by=case.by, ties=case.ties, intervals="triple")
    content, frame = json.loads(json.dumps(summary.to_dict(), allow_nan=False)), summary.to_frame()
    groups = content["groups"] if case.by else [{"key": {}, **content}]
    flat, pooled = summary.flat(), "" if "side" in case.by else "both."
    for place, (group, key) in enumerate(zip(groups, case.groups(table), strict=True)):
        assert group["key"] == key
        for metric in case.metrics:
            value = case.value(table, key, metric)
            assert group["metrics"][key.get("side", "both")][metric] == pytest.approx(value, rel=1e-12)
            name = "/".join([*(f"{column}={part}" for column, part in key.items()), f"{pooled}{metric}"])
            assert flat[name] == frame.loc[place, f"{pooled}{metric}"] == pytest.approx(value, rel=1e-12)
            assert summary.of("model", metric, **key) == flat[name]
            if f"{name}.low" in flat:
                assert (flat[f"{name}.low"], flat[f"{name}.high"]) == (
                    frame.loc[place, f"{pooled}{metric}.low"], frame.loc[place, f"{pooled}{metric}.high"]
                )  # fmt: skip
    columns, rows = summary.table()
    html = ET.fromstring(summary._repr_html_()).find(".//table")
    assert [[cell.text or "" for cell in row] for row in html.iter("tr")] == [columns, *rows]
    if case.by:
        for row, key in zip(rows, case.groups(table), strict=True):
            assert all(
                written_as(row[columns.index(f"{pooled}{metric}")], case.value(table, key, metric))
                for metric in case.metrics
            )
    else:
        assert dict(summary) == {name: value for name, value in flat.items() if not name.endswith((".low", ".high"))}
        assert all(metric in summary and summary[metric] == flat[f"both.{metric}"] for metric in case.metrics)
        assert "amri" not in summary
        assert summary.get("amri", 3) == 3
    assert f"{len(DATASETS['a'].test):,} test triples, " in summary.heads[0]
    assert summary.heads[0].endswith(f"ties: {case.ties}")
