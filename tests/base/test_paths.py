"""Paths: what a mistaken one may have meant, and never that path itself."""

from __future__ import annotations

import pytest

from kgeval.base.files import no_file, suggest_paths


def test_the_nearest_neighbours_are_named(tmp_path):
    for name in ("fb15k-237", "fb15k", "wn18rr", ".fb15k"):
        (tmp_path / name).mkdir()
    assert suggest_paths(tmp_path / "fb15k-23") == f"Nearby: '{tmp_path / 'fb15k-237'}', '{tmp_path / 'fb15k'}'."


def test_the_path_itself_is_no_neighbour(tmp_path):
    (tmp_path / "graph").mkdir()
    assert suggest_paths(tmp_path / "graph") == ""
    assert no_file(tmp_path / "graph") == f"'{tmp_path / 'graph'}' is a folder; a file is expected."


@pytest.mark.parametrize("name", ["x" * 5000, "a\x00b", "file/inside"])
def test_no_path_is_too_odd_to_ask_about(tmp_path, name):
    (tmp_path / "file").write_text("")
    assert suggest_paths(tmp_path / name) == ""
