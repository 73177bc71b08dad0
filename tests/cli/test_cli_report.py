"""``kgeval report``, ``kgeval plot`` and the formats of ``kgeval compare``."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pandas as pd
import pytest

import kgeval
from tests.cli.conftest import invoke
from tests.reports.conftest import family, ranks_of

pytest.importorskip("altair")


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = family()
    for seed, skill in enumerate([0.2, 0.4]):
        ranks_of(data, skill, seed=seed, model=f"model {seed}").to_parquet(tmp_path / f"m{seed}.parquet")
    return tmp_path


def test_a_page_is_written_once(tables):
    done = invoke("report", "m0.parquet", "better=m1.parquet", "--out", "page.html")
    assert done.exit_code == 0, done.output
    page = (tables / "page.html").read_text()
    assert "better is better than model 0, with an MRR of" in page
    assert "better is better than model 0: MRR +" in page
    told = invoke("report", "m0.parquet", "--out", "other.html", "--json")
    assert json.loads(told.stdout) == {"path": "other.html", "bytes": (tables / "other.html").stat().st_size}


def test_the_unit_of_a_page_is_an_option(tables):
    done = invoke("report", "m0.parquet", "m1.parquet", "--intervals", "relation", "--out", "page.html", "--quiet")
    assert done.exit_code == 0, done.output
    assert "(resampling relations)" in (tables / "page.html").read_text()


def test_the_points_of_a_precision_recall_curve_are_printed(tables):
    for by in (3, 5):
        table = kgeval.evaluate(lambda h, r, t, by=by: (h * by + r + t * 7) % 11, "nations")
        replace(table, model=f"model {by}").to_parquet(tables / f"m{by}.parquet")
    plot = ["plot", "m3.parquet", "m5.parquet", "--kind", "precision-recall"]
    points = pd.read_csv(io.StringIO(invoke(*plot, "--format", "csv", "--quiet").stdout))
    assert list(points) == ["model", "k", "precision", "low", "high", "recall", "baseline"]
    for model, of_model in points.groupby("model"):
        path = f"m{model.removeprefix('model ')}.parquet"
        told = json.loads(invoke("summarize", path, "-m", "p@5,r@5", "--json").stdout)["metrics"]["both"]
        at_five = of_model[of_model["k"] == 5].iloc[0]
        assert [at_five["precision"], at_five["recall"]] == pytest.approx([told["p@5"], told["r@5"]])
        assert of_model["recall"].is_monotonic_increasing
    assert invoke(*plot, "--out", "curve.png").exit_code == 0
    csv = ["--format", "csv"]
    for options in (
        [],
        [*csv, "--out", "curve.svg"],
        ["--kind", "slices", *csv],
        [*csv, "--json"],
        [*csv, "--width", "3"],
    ):
        done = invoke(*plot, *options)
        assert done.exit_code == 2
        assert "give --out FILE for a picture, or --format csv alone for points (roc, precision-recall)" in done.output
