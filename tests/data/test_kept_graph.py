"""Kept graphs: the same files are read once, other ones never give an old graph, and no cache can do harm."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from kgeval import load_dataset
from kgeval.data.io import kept_graph

ROWS = {"train": "b\tlikes\ta\na\tlikes\tc\na\tlikes\tc\n", "test": "z\tknows\tä\n"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of a graph, and a cache that keeps graphs of any size."""
    monkeypatch.setattr(kept_graph, "LEAST_BYTES", 0)
    monkeypatch.setattr(kept_graph, "LEAST_TRIPLES", 0)
    monkeypatch.setenv("KGEVAL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "graph").mkdir()
    for split, text in ROWS.items():
        (tmp_path / f"graph/{split}.txt").write_text(text, encoding="utf-8")
    return tmp_path / "graph"


def kept(folder):
    return sorted((folder.parent / "cache/graphs").glob("*"))


def facts(dataset):
    ids = {split: triples.ids.tolist() for split, triples in dataset.splits.items()}
    return repr(dataset), dataset.sha256(), dataset.files, dataset.id_source, dataset.notes, dataset.repeated, ids


def refuse(*_, **__):
    raise AssertionError("it was read again")


def test_the_same_files_are_read_once(folder, monkeypatch):
    first = load_dataset(folder)
    assert len(kept(folder)) == 1
    monkeypatch.setattr("kgeval.data.layouts.label_layout.read_triples", refuse)
    again = load_dataset(folder)
    assert facts(again) == facts(first)
    assert again.repeated == {"train": 1}
    assert again.train.ids.dtype == first.train.ids.dtype == "int64"
    assert list(again.entities) == ["a", "b", "c", "z", "ä"]


def test_other_code_reads_the_files_again(folder, monkeypatch):
    load_dataset(folder)
    monkeypatch.setattr(kept_graph, "_reading_code", lambda: "of another day")
    load_dataset(folder)
    assert len(kept(folder)) == 2


def test_a_header_that_was_left_out_is_still_said(folder):
    for split, rows in ROWS.items():
        (folder / f"{split}.txt").write_text(f"S\tP\tO\n{rows}", encoding="utf-8")
    first, again = load_dataset(folder), load_dataset(folder)
    assert first.notes == again.notes != ()


def test_the_name_is_that_of_the_folder(folder):
    load_dataset(folder)
    moved = folder.rename(folder.with_name("moved"))
    assert (load_dataset(moved).name, len(kept(moved))) == ("moved", 1)


def test_a_file_of_the_same_size_and_time_but_other_content_is_read(folder):
    load_dataset(folder)
    path = folder / "test.txt"
    state = path.stat()
    path.write_text(ROWS["test"].replace("z", "y"), encoding="utf-8")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert list(load_dataset(folder).entities)[-2:] == ["y", "ä"]


def test_a_file_that_came_or_got_another_name_is_read(folder):
    load_dataset(folder)
    (folder / "valid.txt").write_text("a\tknows\tb\n")
    assert set(load_dataset(folder).splits) == {"train", "valid", "test"}
    (folder / "test.txt").rename(folder / "rest.txt")
    (folder / "valid.txt").rename(folder / "test.txt")
    assert set(load_dataset(folder).splits) == {"train", "test"}


def test_what_changes_while_it_is_read_is_not_kept(folder, monkeypatch):
    from kgeval.data.layouts import label_layout

    def changing(path):
        table = read_triples(path)
        path.write_text(ROWS["test"], encoding="utf-8")
        return table

    read_triples = label_layout.read_triples
    monkeypatch.setattr(label_layout, "read_triples", changing)
    load_dataset(folder)
    assert kept(folder) == []


def test_damaged_files_of_the_cache_are_made_again(folder):
    """Cut anywhere, and with a byte of another value anywhere."""
    first = load_dataset(folder)
    (place,) = kept(folder)
    whole = place.read_bytes()
    for position in range(0, len(whole), max(1, len(whole) // 150)):
        flipped = bytearray(whole)
        flipped[position] ^= 0x55
        for damaged in (whole[:position], bytes(flipped)):
            place.write_bytes(damaged)
            assert facts(load_dataset(folder)) == facts(first)
    place.write_bytes(b"")
    load_dataset(folder)
    assert facts(load_dataset(folder)) == facts(first)
    assert place.stat().st_size == len(whole)


def test_no_cache_is_no_error(folder, monkeypatch):
    first = facts(load_dataset(folder))
    for nowhere in ("/dev/null/cache", str(folder / "train.txt"), "off", "OFF"):
        monkeypatch.setenv("KGEVAL_CACHE", nowhere)
        assert facts(load_dataset(folder)) == first
    monkeypatch.delenv("KGEVAL_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(kept_graph.Path, "home", refuse_home)
    assert facts(load_dataset(folder)) == first


def refuse_home():
    raise RuntimeError("Could not determine home directory.")


def test_off_is_off(folder, monkeypatch):
    monkeypatch.setenv("KGEVAL_CACHE", "off")
    load_dataset(folder)
    assert not (folder.parent / "cache").exists()
    assert kept_graph.cache_folder() is None


def test_the_cache_is_where_the_user_has_it(monkeypatch, tmp_path):
    monkeypatch.delenv("KGEVAL_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kept_graph.cache_folder() == tmp_path / "kgeval/graphs"


def test_only_a_few_graphs_are_kept(folder):
    for number in range(kept_graph.MOST_GRAPHS + 2):
        (folder / "test.txt").write_text(f"a\tknows\t{number}\n")
        load_dataset(folder)
    assert len(kept(folder)) == kept_graph.MOST_GRAPHS


def test_small_graphs_are_not_kept(folder, monkeypatch):
    monkeypatch.setattr(kept_graph, "LEAST_TRIPLES", 10)
    load_dataset(folder)
    assert kept(folder) == []


def test_two_at_once_do_not_disturb_each_other(folder):
    with ThreadPoolExecutor(4) as pool:
        found = {facts(dataset)[1] for dataset in pool.map(load_dataset, [folder] * 12)}
    assert len(found) == len(kept(folder)) == 1
