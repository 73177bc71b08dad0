"""Files that are no files of data, wherever one is given: refused by name, at once, and never opened."""

from __future__ import annotations

import hashlib
import json
import os
import socket
from pathlib import Path

import pytest

from kgeval import RankTable, load_checkpoint, load_dataset
from kgeval.base import files
from kgeval.base.errors import FileError, KgevalError
from kgeval.base.files import (
    ReadFiles,
    checked,
    noting_openings,
    read_bytes,
    read_json,
    read_settings,
    refuse_special,
)
from kgeval.runs.config.load import load_config
from tests.data import stored_layouts

linux = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs a system with /proc")


def pipe(path):
    os.mkfifo(path)


def device(path):
    path.symlink_to("/dev/zero")


def system(path):
    path.symlink_to("/proc/kmsg" if Path("/proc/kmsg").exists() else "/proc/self/environ")


ODD = [pipe, device, pytest.param(system, marks=linux)]

WHY = r"is a pipe|is a device|is a part of the system"


@pytest.mark.parametrize("odd", ODD)
def test_no_way_of_reading_opens_it(tmp_path, odd):
    path = tmp_path / "odd"
    odd(path)
    for read in (checked, read_bytes, read_settings, read_json):
        with pytest.raises(FileError, match=WHY) as refusal:
            read(path)
        assert str(path) in str(refusal.value)


def test_a_socket_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s")
        with pytest.raises(FileError, match="s: it is a socket"):
            refuse_special(Path("s"))


def test_what_is_not_there_or_sound_passes(tmp_path):
    (tmp_path / "a").write_text("[1]")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("none", "a", "link", "loop", ".", "x" * 5000):
        refuse_special(tmp_path / name)
    assert checked(tmp_path / "link") == 3
    assert read_json(tmp_path / "link") == [1]
    with pytest.raises(FileNotFoundError):
        checked(tmp_path / "none")


@pytest.mark.parametrize(("read", "size"), [(read_bytes, 600), (read_json, 120), (read_settings, 600)])
def test_a_file_that_the_memory_has_no_room_for_is_not_read(tmp_path, monkeypatch, read, size):
    monkeypatch.setattr(files, "free_memory", lambda: 1000)
    path = tmp_path / "a"
    path.write_text(json.dumps("x" * size))
    with pytest.raises(FileError, match="1000 bytes are free"):
        read(path)
    path.write_text(json.dumps("x" * 10))
    assert read(path)


def test_json_that_the_memory_has_no_room_for_is_refused(tmp_path, monkeypatch):
    def fill(_):
        raise MemoryError

    monkeypatch.setattr(files.json, "loads", fill)
    (tmp_path / "a.json").write_bytes(b"[]")
    with pytest.raises(FileError, match="its content does not fit into memory"):
        read_json(tmp_path / "a.json")


def test_settings_have_a_size(tmp_path):
    (tmp_path / "a.yaml").write_text("a: " + "1" * 2**21)
    with pytest.raises(FileError, match="it has 2097155 bytes; settings have at most 2097152"):
        load_config(tmp_path / "a.yaml")


# In the place of every file that is read


FORMATS = {
    "pbg": ["config.json", "checkpoint_version.txt"],
    "dglke": ["config.json"],
    "marius": ["full_config.yaml", "embeddings.bin", "model.pt"],
    "dicee": ["configuration.json", "model.pt"],
    "rotate": ["checkpoint", "config.json"],
    "native": ["model.npz"],
    "ampligraph": ["keras_metadata.pb"],
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", ["model.npz", "model.safetensors", "model.pt", "model.pkl", "model.json", "model"])
def test_in_the_place_of_a_checkpoint(tmp_path, odd, name):
    odd(tmp_path / name)
    with pytest.raises(KgevalError, match=WHY):
        load_checkpoint(tmp_path / name)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", FORMATS)
def test_in_the_place_of_a_file_of_a_checkpoint(tmp_path, odd, name):
    for file in FORMATS[name]:
        odd(tmp_path / file)
    with pytest.raises(KgevalError):
        load_checkpoint(tmp_path, format=name)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("place", ["train.txt", "test.tsv.gz", "test.parquet", ""])
def test_in_the_place_of_a_dataset(tmp_path, odd, place):
    folder = tmp_path / "folder"
    if place:
        folder.mkdir()
        for name in {"train.txt", "test.txt" if "train" in place else "train.txt"} - {place}:
            (folder / name).write_text("a\tr\tb\n")
    odd(folder / place)
    with pytest.raises(KgevalError, match=WHY):
        load_dataset(folder)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    "file", ["entity_names_all_0.json", "dynamic_rel_names.json", "small-train_partitioned/edges_0_0.h5"]
)
def test_in_the_place_of_a_file_of_pbg(tmp_path, odd, file):
    pytest.importorskip("h5py")
    stored_layouts.pbg(tmp_path)
    (tmp_path / file).unlink()
    odd(tmp_path / file)
    with pytest.raises(FileError, match=WHY):
        load_dataset(tmp_path)


@pytest.mark.parametrize("odd", ODD)
def test_in_the_place_of_a_configuration_or_a_table(tmp_path, odd):
    odd(tmp_path / "dataset.yaml")
    (tmp_path / "train.del").write_text("0\t0\t1\n")
    for read in (load_config, RankTable.from_parquet):
        with pytest.raises(FileError, match=WHY):
            read(tmp_path / "dataset.yaml")
    with pytest.raises(FileError, match=WHY):
        load_dataset(tmp_path, layout="libkge")


def test_a_line_that_is_longer_than_any_text(tmp_path):
    for split in ("train", "test"):
        (tmp_path / f"{split}.txt").write_text("a\tr\tb\n" + "x" * (2**24 + 1) + "\n")
    with pytest.raises(FileError, match=f"a line has more than {2**24} characters"):
        load_dataset(tmp_path)


def test_a_cell_however_long_is_a_short_message(tmp_path):
    (tmp_path / "dataset.yaml").write_text("dataset: {num_entities: 2, num_relations: 1}")
    for split in ("train", "test"):
        (tmp_path / f"{split}.del").write_text(f"0\t{'9' * 5000}\t1\n")
    with pytest.raises(KgevalError, match="is not a whole number") as refusal:
        load_dataset(tmp_path)
    assert len(str(refusal.value)) < 500


def test_a_digest_is_of_what_was_read_or_refused(tmp_path):
    """A file that was replaced by another of its size, or overwritten, between reading and hashing."""
    file, other = tmp_path / "a.json", tmp_path / "b.json"
    for change in (lambda: other.replace(file), lambda: file.write_text("[1, 2]")):
        file.write_text("[1]")
        other.write_text("[2]")
        with noting_openings():
            assert read_json(file) == [1]
            read = ReadFiles()
            assert read.sha256(file)[0] == hashlib.sha256(b"[1]").hexdigest()
            read_json(file)
            change()
            with pytest.raises(FileError, match=r"a\.json: it changed while it was read"):
                read.sha256(file)
