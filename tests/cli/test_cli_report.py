"""``kgeval report``, ``kgeval plot`` and the formats of ``kgeval compare``."""

from __future__ import annotations

import json

import pytest

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
