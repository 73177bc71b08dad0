"""Pictures: the right marks, every format, and messages about files."""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from importlib.resources import files
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import kgeval
from kgeval.base.errors import InputError, RunError, visible
from kgeval.reports.evaluated_models import EvaluatedModel
from kgeval.reports.plots import PLOTS, save_picture, svg_of
from kgeval.reports.theme import DASHES, LIGHT, SHAPES
from tests.conftest import random_dataset
from tests.reports.conftest import family, ranks_of

pytest.importorskip("altair")

DATA = family()
TABLES = {f"m{seed}": ranks_of(DATA, skill, seed=seed) for seed, skill in enumerate([0.2, 0.4])}


CSS = (files("kgeval.reports") / "templates" / "page.css").read_text()

VISIONS = {
    "all colours": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
"""linear RGB as it is seen with full protanopia, deuteranopia, tritanopia (Machado, Oliveira and Fernandes, 2009)"""


def theme(number):
    """The colours of the style sheet: of light (0) or dark (1) pages."""
    of_theme = re.findall(r"--muted: (#\w+);.*?--paper: (#\w+);.*?\n(.*?\n.*?)\n", CSS)[number]
    return of_theme[0], of_theme[1], re.findall(r"--model-\d+: (#\w+)", of_theme[2])


def linear(color):
    channels = np.array([int(color[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(color, vision):
    """CIELAB of a colour as somebody sees it, under D65."""
    seen = np.clip(np.array(VISIONS[vision]) @ linear(color), 0, 1)
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
    parts = np.array(to_xyz) @ seen / [0.95047, 1, 1.08883]
    x, y, z = np.where(parts > 216 / 24389, np.cbrt(parts), (24389 / 27 * parts + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("number", [0, 1], ids=["light", "dark"])
def test_twelve_models_are_told_apart_by_colour_and_shape(number, vision):
    """A CIELAB distance of 2.3 is just noticed: any two are 10 apart, and 25 where they share a shape or a dash."""
    grey, paper, colors = theme(number)
    assert len(colors) == 12
    seen = [lab(color, vision) for color in [*colors, grey]]
    for one, other in combinations(range(13), 2):
        alike = 12 not in (one, other) and (
            one % len(SHAPES) == other % len(SHAPES) or one % len(DASHES) == other % len(DASHES)
        )
        assert np.linalg.norm(seen[one] - seen[other]) >= (25 if alike else 10), (one, other)
    luminance = [float(linear(color) @ [0.2126, 0.7152, 0.0722]) for color in [paper, *colors]]
    for one in luminance[1:]:
        assert (max(one, luminance[0]) + 0.05) / (min(one, luminance[0]) + 0.05) >= 3


def test_pictures_have_the_colours_of_light_pages():
    assert list(LIGHT.models) == theme(0)[2]
    assert theme(1) == theme(2)


def scales_in(spec, channel):
    """All scales of a channel in a chart: {model: its look}."""
    found = []
    if isinstance(spec, dict):
        scale = spec.get("encoding", {}).get(channel, {}).get("scale")
        found = [dict(zip(scale["domain"], map(str, scale["range"]), strict=True))] if scale else []
    parts = spec.values() if isinstance(spec, dict) else spec if isinstance(spec, list) else ()
    return [*found, *(one for part in parts for one in scales_in(part, channel))]


@pytest.mark.parametrize(("kind", "channel"), [("slices", "shape"), ("distribution", "strokeDash")])
def test_no_two_models_look_alike_and_baselines_are_grey(kind, channel):
    models = {f"m{place:02}": EvaluatedModel("", ranks_of(DATA, 0.5 - place / 50, seed=place)) for place in range(15)}
    floor = {"model": {"baseline": {"name": "popularity"}}}
    for name in ("floor", "ground"):
        models[name] = EvaluatedModel("", ranks_of(DATA, 0.6), floor)
    spec = PLOTS[kind](models, dataset=DATA).to_dict()
    for colors, others in zip(scales_in(spec, "color")[:1], scales_in(spec, channel)[:1], strict=True):
        looks = {model: (colors[model], others[model]) for model in models}
        assert len(set(looks.values())) == len(models)
        assert len({colors[f"m{place:02}"] for place in range(12)}) == 12
        assert {model for model, color in colors.items() if color == LIGHT.muted} == {"floor", "ground"}


def values_in(spec):
    """The rows of the first data in a chart."""
    if isinstance(spec, dict) and isinstance(spec.get("data"), dict) and "values" in spec["data"]:
        return spec["data"]["values"]
    parts = spec.values() if isinstance(spec, dict) else spec if isinstance(spec, list) else ()
    return next(filter(None, map(values_in, parts)), None)


STARTS = {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF"}


OF_RANKS = [kind for kind in PLOTS if kind not in ("times", "critical-difference", "roc", "precision-recall")]


@pytest.mark.parametrize("kind", OF_RANKS)
def test_every_kind_is_drawn(kind, tmp_path):
    chart = PLOTS[kind](TABLES, dataset=DATA)
    save_picture(chart, tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_text().count("<path") > 4


@pytest.mark.parametrize("ending", STARTS)
def test_every_format_is_written(ending, tmp_path):
    save_picture(kgeval.plot_distribution(TABLES), tmp_path / f"picture{ending}")
    assert (tmp_path / f"picture{ending}").read_bytes().startswith(STARTS[ending])


def test_control_characters_of_labels_are_written_as_on_a_terminal(tmp_path):
    """XML has none of them, and the library that draws would end the process."""
    names = {"a\x1b[2Jb": TABLES["m0"], "c\0\ufffe\\b": TABLES["m1"]}
    values = {"one\x07": dict.fromkeys(names, 0.1) | {"d": 0.2}, "two": dict.fromkeys(names, 0.3) | {"d": 0.1}}
    for kind in (*OF_RANKS, "critical-difference"):
        chart = PLOTS[kind](values) if kind == "critical-difference" else PLOTS[kind](names, dataset=DATA)
        text = " ".join(ET.fromstring(svg_of(chart)).itertext())
        assert all(visible(name) in text for name in names)
    for width in (None, 4):
        save_picture(kgeval.plot_leaderboard(names, metrics="mrr", width=width), tmp_path / "picture.png")
        assert (tmp_path / "picture.png").read_bytes().startswith(STARTS[".png"])


def test_a_picture_as_a_page_asks_nobody(tmp_path):
    save_picture(kgeval.plot_leaderboard(TABLES), tmp_path / "picture.html")
    assert "cdn.jsdelivr" not in (tmp_path / "picture.html").read_text()


def test_the_leaderboard_has_the_values_and_intervals_of_summarize():
    (panel, *_) = kgeval.plot_leaderboard(TABLES).to_dict()["concat"]
    for row in values_in(panel):
        summary = kgeval.summarize(TABLES[row["model"]], "both.mrr", intervals="triple")
        interval = summary.interval("both.mrr")
        assert (row["value"], row["low"], row["high"]) == (summary["both.mrr"], interval.low, interval.high)


def test_precision_and_recall_at_every_k_are_those_of_summarize():
    data = random_dataset(13)
    tables = {f"m{by}": kgeval.evaluate(lambda h, r, t, by=by: (h * by + r + t * 7) % 11, data) for by in (3, 5)}
    floor = EvaluatedModel("floor", kgeval.evaluate(lambda h, r, t: h * t % 5, data), {"model": {"baseline": {}}})
    chart = PLOTS["precision-recall"]({**tables, "floor": floor}, intervals="query")
    tables["floor"] = floor.table
    rows = values_in(chart.to_dict())
    assert {row["model"] for row in rows if row["baseline"]} == {"floor"}
    assert next(iter(scales_in(chart.to_dict(), "color")))["floor"] == LIGHT.muted
    of_map = {name: kgeval.summarize(table, "map")["map"] for name, table in tables.items()}
    del of_map["floor"]
    best = max(of_map, key=of_map.get)
    listed = ", ".join(f"{name} {of_map[name]:.3f}" for name in sorted(of_map, key=of_map.get, reverse=True))
    assert chart.title.startswith(f"MAP: {listed}, floor 0.")
    assert rows[0]["model"] == best
    for row in (row for row in rows if row["k"] in (1, 3, 17)):
        names = [f"both.{name}@{row['k']}" for name in "pr"]
        summary = kgeval.summarize(tables[row["model"]], names, intervals="query")
        ends = summary.interval(names[0])
        assert [row["precision"], row["recall"]] == pytest.approx([summary[name] for name in names], rel=1e-12)
        assert [row["low"], row["high"]] == pytest.approx([ends.low, ends.high], rel=1e-12)
    last = {row["model"]: row for row in rows}
    assert [row["recall"] for row in last.values()] == pytest.approx([1.0, 1.0, 1.0])
    raw = replace(tables["m3"], filter=("train",))
    with pytest.raises(InputError, match="nothing to draw: precision and recall at k are undefined: the test split"):
        PLOTS["precision-recall"]({"raw": raw})


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
    with pytest.raises(RunError, match=r"cannot write .*No file was written"):
        save_picture(chart, Path(__file__) / "picture.svg")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a limit on the size of files")
@pytest.mark.parametrize("ending", [".svg", ".pdf", ".html"])
def test_a_picture_that_no_disk_has_room_for_is_not_cut(tmp_path, ending):
    import resource

    chart = kgeval.plot_distribution(TABLES)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(RunError, match=r"cannot write .*No file was written"):
            save_picture(chart, tmp_path / f"picture{ending}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not [*tmp_path.iterdir()]
