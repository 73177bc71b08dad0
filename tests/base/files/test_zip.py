"""Zip archives: those of models are opened as Python opens them, and a long list of contents is not read."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

from kgeval import load_checkpoint
from kgeval.base.containers import open_zip
from kgeval.base.errors import FileError
from kgeval.base.pickled import pickle_strings, read_pickled
from tests.models.checkpoints.memory import at_most
from tests.models.checkpoints.pickles import archive, program, value


def crowded(path, count):
    with zipfile.ZipFile(path, "w") as file:
        for index in range(count):
            file.writestr(f"archive/data/{index}", b"")
    return path


def test_many_entries_are_refused_unread(tmp_path):
    """An entry of some sixty bytes takes ten times that in Python."""
    path = crowded(tmp_path / "m.pt", 40_000)
    with at_most(1), pytest.raises(FileError, match=r"m\.pt: its list of contents has [0-9]+ bytes"):
        read_pickled(path)
    assert pickle_strings(path) == frozenset()
    path.rename(tmp_path / "m.npz")
    with pytest.raises(FileError, match="its list of contents"):
        load_checkpoint(tmp_path / "m.npz")


def test_the_contents_may_be_long(tmp_path):
    """Only their list is bounded."""
    content = {"text": "x" * 2**22}
    assert read_pickled(archive(tmp_path / "m.pt", program(value(content)))) == content
    np.savez(tmp_path / "m.npz", entity=np.ones((2**18, 2)), relation=np.ones((2, 2)))
    assert load_checkpoint(tmp_path / "m.npz", model="DistMult").num_entities == 2**18


def test_it_is_what_python_reads(tmp_path):
    path = crowded(tmp_path / "m.zip", 1000)
    with open_zip(path) as ours, zipfile.ZipFile(path) as theirs:
        assert ours.namelist() == theirs.namelist()
    path.write_bytes(b"PK")
    with pytest.raises(zipfile.BadZipFile), open_zip(path):
        pass
