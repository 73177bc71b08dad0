"""Layouts: the one that is asked for is the one that is taken, or the reason is told."""

from __future__ import annotations

import pytest

from kgeval import load_dataset
from kgeval.errors import DatasetError


def test_the_pykeen_layout_is_accepted_for_a_pykeen_name():
    assert len(load_dataset("nations", layout="pykeen").entities) == 14


def test_the_pykeen_layout_tells_a_name_from_a_folder_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nations").mkdir()
    for split in ("train", "test"):
        (tmp_path / "nations" / f"{split}.txt").write_text("a\tlikes\tb\n")
    assert len(load_dataset("nations").entities) == 2
    assert len(load_dataset("nations", layout="pykeen").entities) == 14


@pytest.mark.parametrize("layout", ["labels", "openke"])
def test_a_layout_of_folders_is_not_ignored_for_a_name(layout):
    with pytest.raises(
        DatasetError, match=f"no such folder 'nations', and layout '{layout}' is one of folders.*'pykeen'"
    ):
        load_dataset("nations", layout=layout)


def test_the_pykeen_layout_is_none_of_folders(tmp_path):
    with pytest.raises(DatasetError, match="layout 'pykeen' takes a PyKEEN name"):
        load_dataset(tmp_path, layout="pykeen")


@pytest.mark.parametrize(("layout", "near"), [("label", "labels"), ("open-ke", "openke"), ("PyKEEN", "pykeen")])
def test_an_unknown_layout_names_the_nearest(layout, near):
    with pytest.raises(DatasetError, match=rf"unknown dataset layout '{layout}'. Did you mean '{near}'\?"):
        load_dataset("nations", layout=layout)


@pytest.mark.parametrize("layout", [None, 5, "", ["labels"]])
def test_what_is_no_layout_is_refused(layout):
    with pytest.raises(DatasetError, match="unknown dataset layout"):
        load_dataset("nations", layout=layout)
