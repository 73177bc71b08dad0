"""Figures for papers: exactly as wide as they should be, text as text, chosen metrics, critical difference diagrams."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

import kgeval
from kgeval.base.errors import ConfigError, InputError, MetricError
from kgeval.reports.evaluated_models import EvaluatedModel
from kgeval.reports.pictures import joined, lanes
from kgeval.reports.plots import PLOTS, save_picture, size_in, svg_of
from kgeval.reports.theme import LIGHT, PRINT
from tests.reports.conftest import family, ranks_of
from tests.reports.test_plots import values_in

pytest.importorskip("altair")

DATA = family()
TABLES = {f"m{seed}": ranks_of(DATA, skill, seed=seed) for seed, skill in enumerate([0.2, 0.4])}

LONG = "model_with_a_name_of_forty_letters_no_"


@pytest.mark.parametrize(("kind", "inches"), [("leaderboard", 3.3), ("slices", 7), ("relations", 3.3)])
def test_a_figure_has_exactly_its_width_in_every_format(kind, inches, tmp_path):
    chart = PLOTS[kind](TABLES, dataset=DATA, width=inches)
    for ending in ("svg", "pdf", "png"):
        save_picture(chart, tmp_path / f"figure.{ending}")
    text = (tmp_path / "figure.svg").read_text()
    (width, box) = re.search(r'width="([^"]+)" height="[^"]+" viewBox="0 0 ([^ ]+) ', text).groups()
    assert width == f"{inches:g}in"
    assert float(box) == pytest.approx(96 * inches)
    (points,) = re.findall(rb"/MediaBox\s*\[0 0 ([\d.]+) [\d.]+\]", (tmp_path / "figure.pdf").read_bytes())
    assert float(points) == pytest.approx(72 * inches, abs=0.01)
    picture = (tmp_path / "figure.png").read_bytes()
    assert int.from_bytes(picture[16:20], "big") == round(300 * inches)
    assert round(int.from_bytes(picture[picture.index(b"pHYs") + 4 :][:4], "big") * 0.0254) == 300


def test_text_is_text_and_names_are_whole(tmp_path):
    names = {f"{LONG}{place:02}": ranks_of(DATA, 0.5 - place / 50, seed=place) for place in range(14)}
    chart = kgeval.plot_distribution(names, width=3.3)
    for ending in ("svg", "pdf"):
        save_picture(chart, tmp_path / f"figure.{ending}")
    text = (tmp_path / "figure.svg").read_text()
    assert set(re.findall(r"<text[^>]*>(model_[^<]*)</text>", text)) == set(names)
    assert set(re.findall(r'font-family="([^"]*)"', text)) == {PRINT.font}
    assert PRINT.font.endswith("sans-serif")
    content = (tmp_path / "figure.pdf").read_bytes()
    assert b"/FontFile" in content
    assert b"/ToUnicode" in content
    if shutil.which("pdftotext"):
        command = ["pdftotext", str(tmp_path / "figure.pdf"), "-"]
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        assert set(names) <= set(found)


def test_slices_of_many_models_fit_on_a_page():
    models = {f"m{place:02}": ranks_of(DATA, 0.5 - place / 50, seed=place) for place in range(10)}
    chart = kgeval.plot_slices(models, dataset=DATA, width=7)
    assert size_in(svg_of(chart))[1] <= 9 * 96
    assert chart.usermeta["notes"] == []
    narrow = kgeval.plot_slices(models, dataset=DATA, width=3.3)
    assert size_in(svg_of(narrow))[1] <= 9 * 96
    assert "left out" in narrow.usermeta["notes"][0]


def test_chosen_metrics_are_those_of_summarize_and_the_first_orders_the_models():
    metrics = ["mr", "head.mrr", "hits@5"]
    chart = kgeval.plot_leaderboard(TABLES, metrics=metrics).to_dict()
    for metric, panel in zip(metrics, chart["concat"], strict=True):
        rows = values_in(panel)
        whole = metric if "." in metric else f"both.{metric}"
        assert [row["value"] for row in rows] == [kgeval.summarize(TABLES[row["model"]], metric)[whole] for row in rows]
    means = [row["value"] for row in values_in(chart["concat"][0])]
    assert means == sorted(means)
    for row in values_in(kgeval.plot_slices(TABLES, "side", dataset=DATA, metric="hits@3").to_dict()):
        summary = kgeval.summarize(TABLES[row["model"]], "hits@3", by="side")
        assert row["value"] == pytest.approx(summary.of("model", "hits@3", side=row["group"]))


def test_models_whose_ranks_differ_by_less_are_joined():
    """Demšar (2006), section 3.2.4: average ranks of four variants of C4.5; CD 1.25 and, at 90 %, 1.12."""
    average = [1.964, 2.0, 2.893, 3.143]
    assert joined(average, 1.25) == [(0, 3)]
    assert joined(average, 1.12) == [(0, 2), (2, 3)]
    rng = np.random.default_rng(0)
    for _ in range(50):
        ranks, difference = np.sort(rng.integers(2, 20, 8) / 2), rng.uniform(0, 4)
        near = {(i, j) for i in range(8) for j in range(i + 1, 8) if ranks[j] - ranks[i] < difference}
        longest = {(i, j) for i, j in near if (i - 1, j) not in near and (i, j + 1) not in near}
        bars = joined(ranks.tolist(), difference)
        assert set(bars) == longest
        for (one, lane), (other, below) in zip(zip(bars, lanes(bars)), zip(bars[1:], lanes(bars)[1:])):  # noqa: B905
            assert lane != below or other[0] > one[1]


def test_a_critical_difference_diagram_has_the_ranks_of_its_runs():
    other = {"first": family(1), "second": family(2)}
    runs = [
        (f"m{seed}", replace(ranks_of(data, skill, seed=seed), dataset=name))
        for name, data in other.items()
        for seed, skill in enumerate([0.2, 0.5, 0.35])
    ]
    floor = {"model": {"baseline": {"name": "popularity"}}}
    runs += [("floor", EvaluatedModel("", table, floor)) for name, table in runs if name == "m0"]
    values = {}
    for name, run in runs:
        table = run.table if isinstance(run, EvaluatedModel) else run
        values.setdefault(table.dataset, {})[name] = kgeval.summarize(table, "both.mrr")["both.mrr"]
    ranks = kgeval.analysis.rank_models(values)
    chart = kgeval.plot_critical_difference(runs, ties="realistic")
    texts = [row for layer in chart.to_dict()["layer"][1:] for row in layer["data"]["values"]]
    expected = {f"{model} ({rank:.2f})" for model, rank in zip(ranks.models, ranks.average_ranks, strict=True)}
    assert {row["text"] for row in texts} == expected | {f"CD = {ranks.critical_difference:.3f}"}
    assert {row["text"][:5] for row in texts if row["color"] == LIGHT.muted} == {"floor"}
    assert kgeval.plot_critical_difference(values).usermeta["notes"] == list(ranks.notes)
    with pytest.raises(MetricError, match="three models and two datasets"):
        kgeval.plot_critical_difference({"a": {"x": 1.0, "y": 2.0, "z": 3.0}})
    with pytest.raises(InputError, match="several datasets"):
        kgeval.plot_leaderboard(runs)


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(MetricError, match="'mrr'"):
        kgeval.plot_leaderboard(TABLES, metrics=["mmr"])
    with pytest.raises(InputError, match="Did you mean 'cardinality'"):
        kgeval.plot_slices(TABLES, "cardinalty", dataset=DATA)
    with pytest.raises(ConfigError, match="no room for a chart beside the names"):
        kgeval.plot_leaderboard({LONG: TABLES["m0"]}, width=1.5)
    with pytest.raises(ConfigError, match="1 to 40 inches"):
        kgeval.plot_leaderboard(TABLES, width=-1)
