"""Pictures: the right marks, every format, and messages about files."""

from __future__ import annotations

import pytest

import kgeval
from kgeval.errors import InputError, RunError
from kgeval.reports.plots import PLOTS, save_picture
from tests.reports.conftest import family, ranks_of

pytest.importorskip("altair")

DATA = family()
TABLES = {f"m{seed}": ranks_of(DATA, skill, seed=seed) for seed, skill in enumerate([0.2, 0.4])}


def values_in(spec):
    """The rows of the first data in a chart."""
    if isinstance(spec, dict) and isinstance(spec.get("data"), dict) and "values" in spec["data"]:
        return spec["data"]["values"]
    parts = spec.values() if isinstance(spec, dict) else spec if isinstance(spec, list) else ()
    return next(filter(None, map(values_in, parts)), None)


STARTS = {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF"}


@pytest.mark.parametrize("kind", PLOTS)
def test_every_kind_is_drawn(kind, tmp_path):
    chart = PLOTS[kind](TABLES, dataset=DATA)
    save_picture(chart, tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_text().count("<path") > 4


@pytest.mark.parametrize("ending", STARTS)
def test_every_format_is_written(ending, tmp_path):
    save_picture(kgeval.plot_distribution(TABLES), tmp_path / f"picture{ending}")
    assert (tmp_path / f"picture{ending}").read_bytes().startswith(STARTS[ending])


def test_a_picture_as_a_page_asks_nobody(tmp_path):
    save_picture(kgeval.plot_leaderboard(TABLES), tmp_path / "picture.html")
    assert "cdn.jsdelivr" not in (tmp_path / "picture.html").read_text()


def test_the_leaderboard_has_the_values_and_intervals_of_summarize():
    (panel, *_) = kgeval.plot_leaderboard(TABLES).to_dict()["concat"]
    for row in values_in(panel):
        summary = kgeval.summarize(TABLES[row["model"]], "both.mrr", intervals="triple")
        interval = summary.interval("both.mrr")
        assert (row["value"], row["low"], row["high"]) == (summary["both.mrr"], interval.low, interval.high)


def test_slices_are_the_groups_of_summarize():
    for row in values_in(kgeval.plot_slices(TABLES, "side", dataset=DATA).to_dict()):
        summary = kgeval.summarize(TABLES[row["model"]], "mrr", by="side")
        assert row["value"] == pytest.approx(summary.of("model", "mrr", side=row["group"]))
    with pytest.raises(InputError, match="nothing to draw"):
        kgeval.plot_slices(TABLES, "cardinality")


def test_a_file_that_is_no_picture_or_has_no_folder_is_refused(tmp_path):
    chart = kgeval.plot_distribution(TABLES)
    with pytest.raises(InputError, match=r"ends in \.svg, \.png, \.pdf or \.html"):
        save_picture(chart, tmp_path / "picture.gif")
    with pytest.raises(RunError, match="cannot be written"):
        save_picture(chart, tmp_path / "nowhere" / "picture.svg")
