"""What is written becomes a file or a folder, in one step, and takes the place of nothing else."""

from __future__ import annotations

import os
import signal
import socket
import stat
from functools import cache

import numpy as np
import pytest

import kgeval
from kgeval import load_dataset, save_checkpoint
from kgeval.base.errors import InputError
from kgeval.base.storage import replacing, replacing_folder, write_text
from kgeval.data.layouts.converted import save_dataset
from kgeval.models.families.bilinear import DistMult
from kgeval.ranking.corruption.export import write_negatives
from kgeval.reports.plots import save_picture
from kgeval.stored.staging import reserve
from tests.cli.conftest import invoke
from tests.reports.conftest import family, ranks_of

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a system with pipes that have names")


def device(path):
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")


def listening(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))


KINDS = {"pipe": os.mkfifo, "socket": listening, "device": device}

MODEL = DistMult(entity=np.ones((3, 2), np.float32), relation=np.ones((1, 2), np.float32))
RANKS = ranks_of(family(), 0.3)


def fill(path):
    with replacing_folder(path) as folder:
        (folder / "content").write_text("new")


def reserved(path):
    with reserve(path.parent, force=True):
        pytest.fail("the folder was accepted")


@cache
def chart(width=None):
    return kgeval.plot_distribution({"a": RANKS}, width=width)


@cache
def page():
    return kgeval.report({"a": RANKS})


WRITERS = {
    "file": (".txt", lambda path: write_text(path, "new")),
    "folder": ("", fill),
    "ranks": (".parquet", RANKS.to_parquet),
    "checkpoint": (".safetensors", lambda path: save_checkpoint(MODEL, path)),
    "dataset": ("", lambda path: save_dataset(load_dataset("nations"), path, replace_folder=True)),
    "negatives": (".tsv", lambda path: write_negatives(path, iter(()))),
    "svg": (".svg", lambda path: save_picture(chart(), path)),
    "pdf": (".pdf", lambda path: save_picture(chart(3), path)),
    "page": (".html", lambda path: page().save(path)),
    "run": ("", reserved),
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_is_refused_and_stays(tmp_path, monkeypatch, kind, writer):
    monkeypatch.chdir(tmp_path)
    ending, write = WRITERS[writer]
    path = tmp_path / f"out{ending}"
    KINDS[kind](path)
    before = path.lstat()
    (tmp_path / f"link{ending}").symlink_to(path)
    for name in (path, tmp_path / f"link{ending}"):
        with pytest.raises(InputError, match=r"Choose another name\."):
            write(name)
    assert (path.lstat().st_ino, path.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert {found.name for found in tmp_path.iterdir()} == {path.name, f"link{ending}"}


@pytest.mark.parametrize("command", [["report"], ["plot", "--kind", "distribution"]], ids=" ".join)
def test_a_command_refuses_it_before_its_work_though_it_is_forced(tmp_path, command):
    os.mkfifo(tmp_path / "out.svg")
    refused = invoke(*command, "no-such-run", "--out", tmp_path / "out.svg", "--force")
    assert refused.exit_code == 2
    assert "out.svg' is a pipe, which no file may replace. Choose another name." in refused.stderr


@pytest.mark.parametrize("written", ["file", "folder", "ranks", "checkpoint", "svg"])
def test_the_target_of_a_link_is_replaced_and_not_the_link(tmp_path, written):
    ending, write = WRITERS[written]
    place = tmp_path / "elsewhere"
    place.mkdir()
    link, target = tmp_path / f"link{ending}", place / f"target{ending}"
    link.symlink_to(target)
    for _ in range(2):  # first it leads nowhere
        write(link)
    assert link.is_symlink()
    assert target.exists()
    assert [*place.iterdir()] == [target]


def test_a_run_does_not_replace_links(tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "run").mkdir()
    (tmp_path / "run/metrics.json").symlink_to(tmp_path / "mine")
    with pytest.raises(InputError, match=r"is a link, which a run would replace\. Remove the link"):
        reserved(tmp_path / "run/metrics.json")
    assert (tmp_path / "run/metrics.json").is_symlink()


def test_what_a_killed_process_left_goes_with_the_next_write_and_not_what_is_being_written(tmp_path):
    reading, writing = os.pipe()
    writer = os.fork()
    if not writer:
        with replacing(tmp_path / "a.txt") as file, replacing_folder(tmp_path / "b") as folder:
            file.write_text("half")
            (folder / "half").write_text("half")
            os.write(writing, b"x")
            signal.pause()
    try:
        assert os.read(reading, 1) == b"x"
        write_text(tmp_path / "a.txt", "whole")
        assert sorted(path.read_text() for path in tmp_path.glob(".*/**/*") if path.is_file()) == ["half", "half"]
    finally:
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
    assert len([*tmp_path.glob(".*")]) == 2
    write_text(tmp_path / "a.txt", "anew")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.txt", "anew")]
