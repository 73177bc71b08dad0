"""Interruptions: every file is either whole or not there, and no temporary file stays behind."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kgeval import RankTable, generate_negatives, load_dataset
from kgeval.base.errors import InputError, RunError
from kgeval.base.storage import replacing_folder
from kgeval.ranking.corruption import Uniform
from kgeval.ranking.corruption.export import write_negatives
from kgeval.ranking.rank_table import SCHEMA
from kgeval.runs.config.load import load_config
from kgeval.runs.runner import run
from kgeval.runs.stored import read_outcome
from kgeval.stored.contents import LOCK, STAGE, is_run
from kgeval.stored.staging import reserve
from kgeval.stored.stored_run import StoredRun

WRITTEN = ["ranks.parquet", "metrics.json", "config.yaml", "manifest.json"]
"""in this order"""

FAILURES = {
    "full disk": (OSError(errno.ENOSPC, "No space left on device"), RunError),
    "interrupt": (KeyboardInterrupt(), KeyboardInterrupt),
    "out of memory": (MemoryError(), MemoryError),
}


@pytest.fixture(params=FAILURES)
def failure(request):
    """What is raised inside, and what comes out."""
    return FAILURES[request.param]


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def fail_half_way(monkeypatch, number, error):
    """Let the writing of one file fail when half of it is written."""
    write_table, write_text = pq.write_table, Path.write_text
    calls = iter(range(100))

    def half_a_table(table, where, *args, **kwargs):
        write_table(table, where, *args, **kwargs)
        if next(calls) == number:
            os.truncate(where, Path(where).stat().st_size // 2)
            raise error

    def half_a_text(path, text, *args, **kwargs):
        if next(calls) == number:
            write_text(path, text[: len(text) // 2], *args, **kwargs)
            raise error
        return write_text(path, text, *args, **kwargs)

    monkeypatch.setattr(pq, "write_table", half_a_table)
    monkeypatch.setattr(Path, "write_text", half_a_text)


def fail_at_the_end(monkeypatch, number, error):
    """Let a file fail when all of it is written, but not yet known to be safe."""
    calls = iter(range(100))
    sync = os.fsync

    def fail(descriptor):
        if next(calls) == number:
            raise error
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fail)


@pytest.mark.parametrize("number", range(4), ids=WRITTEN)
@pytest.mark.parametrize("fail", [fail_half_way, fail_at_the_end])
def test_a_write_that_fails_leaves_nothing_or_the_earlier_run(config, place, monkeypatch, fail, number, failure):
    error, outcome = failure
    run(load_config(config()), place / "run")
    before = contents(place / "run")
    settings = load_config(config(evaluation={"split": "valid"}))
    for folder, force in (("new", False), ("run", True)):
        with monkeypatch.context() as patch:
            fail(patch, number, error)
            with pytest.raises(outcome):
                run(settings, place / folder, force=force)
    assert not (place / "new").exists()
    assert contents(place / "run") == before
    assert is_run(place / "run")
    run(settings, place / "new")
    assert is_run(place / "new")


@pytest.mark.parametrize("number", range(4))
def test_a_move_into_place_that_is_cut_short_is_finished_by_the_next_run(config, place, monkeypatch, number):
    """While files are exchanged nobody finds a run; the next one to write there finds the new one whole."""
    run(load_config(config(evaluation={"split": "valid"})), place / "run")
    run(load_config(config()), place / "whole")
    replace, calls = Path.replace, iter(range(100))

    class Killed(BaseException):
        """Nothing is done after it."""

    def cut_short(path, target):
        if path.parent.name == STAGE and not path.name.startswith(".") and next(calls) >= number:
            raise Killed
        return replace(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", cut_short)
        patch.setattr("kgeval.stored.stored_run.write_text", lambda path, text: path.write_text(text))
        with pytest.raises(Killed):
            run(load_config(config()), place / "run", force=True)
    assert not is_run(place / "run")
    (taken,) = run(load_config(config()), place / "run")
    assert taken.stored
    assert is_run(place / "run")
    assert not StoredRun(place / "run").faults
    there, whole = contents(place / "run"), contents(place / "whole")
    assert there.keys() == whole.keys()
    assert there["ranks.parquet"] == whole["ranks.parquet"]


def test_a_full_disk_is_told_with_the_file(config, place, monkeypatch):
    settings = load_config(config())
    fail_half_way(monkeypatch, 0, OSError(errno.ENOSPC, "No space left on device"))
    with pytest.raises(RunError, match=r"cannot write .*ranks\.parquet.*: No space left on device"):
        run(settings, place / "new")


def test_of_two_writers_one_is_refused(config, place):
    settings = load_config(config())
    with reserve(place / "run", force=False), pytest.raises(InputError, match="another process is writing a run into"):
        run(settings, place / "run")
    assert not (place / "run").exists()


def test_the_lock_of_a_dead_process_stops_nobody(config, place):
    (place / "run" / STAGE).mkdir(parents=True)
    (place / "run" / STAGE / "ranks.parquet").write_bytes(b"half")
    (place / "run" / LOCK).write_text("")
    run(load_config(config()), place / "run")
    assert set(contents(place / "run")) == set(WRITTEN)


def test_the_manifest_tells_the_digests_of_what_was_written(config, place):
    run(load_config(config()), place / "run")
    written = json.loads((place / "run/manifest.json").read_text())["written"]
    names = set(WRITTEN) - {"manifest.json"}
    assert written == {name: hashlib.sha256((place / "run" / name).read_bytes()).hexdigest() for name in names}


def test_a_file_that_another_run_wrote_is_told_or_refused_if_it_is_read(config, place):
    run(load_config(config()), place / "run")
    run(load_config(config(evaluation={"split": "valid"})), place / "other")
    (place / "other/metrics.json").replace(place / "run/metrics.json")
    notes = read_outcome(StoredRun(place / "run")).summary.notes
    assert notes[-1] == f"'{place / 'run'}' changed since the run was written: metrics.json."
    (place / "other/ranks.parquet").replace(place / "run/ranks.parquet")
    with pytest.raises(InputError, match=r"ranks\.parquet' is not as the run wrote it.*give the file itself"):
        read_outcome(StoredRun(place / "run"))


def test_what_is_no_whole_run_is_not_read_as_one(config, place):
    run(load_config(config()), place / "run")
    (place / "run/manifest.json").unlink()
    with pytest.raises(InputError, match=r"holds ranks\.parquet, but no manifest\.json: a run was interrupted there"):
        read_outcome(StoredRun(place / "run"))
    with pytest.raises(InputError, match="with --force if that is refused"):
        read_outcome(StoredRun(place / "run"))
    with pytest.raises(InputError, match="or add --force"):
        run(load_config(config()), place / "run")
    run(load_config(config()), place / "run", force=True)
    assert read_outcome(StoredRun(place / "run")).summary is not None


@pytest.mark.parametrize("path", ["n.tsv", "n.parquet"])
@pytest.mark.parametrize("before", [None, b"mine"], ids=["new", "replaced"])
def test_negatives_that_fail_half_way_leave_the_place_as_it_was(place, path, before, failure):
    error, outcome = failure
    graph = load_dataset("graph/")
    if before:
        (place / path).write_bytes(before)

    def tables():
        yield from generate_negatives(graph, Uniform(count=3))
        raise error

    with pytest.raises(outcome):
        write_negatives(place / path, tables())
    assert [file.read_bytes() for file in (*place.glob("*n.*"), *place.glob(".*"))] == ([before] if before else [])


def large_table(rows):
    """Ranks that nobody gave."""
    numbers = pa.array(np.random.default_rng(0).integers(0, 2**60, rows))
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), ["tail"])
    columns = [text if pa.types.is_dictionary(field.type) else numbers.cast(field.type, safe=False) for field in SCHEMA]
    return RankTable(pa.table(columns, SCHEMA))


def test_a_disk_that_fills_up_leaves_the_earlier_table_alone(place):
    """The limit is the system's own: the write fails in the middle, in the library that writes."""
    resource = pytest.importorskip("resource", reason="only Unix limits the size of files")
    (place / "ranks.parquet").write_bytes(b"mine")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(RunError, match="cannot write"):
            large_table(100_000).to_parquet(place / "ranks.parquet")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (place / "ranks.parquet").read_bytes() == b"mine"
    assert not list(place.glob(".*"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a process that can be forked and killed")
def test_a_process_that_is_killed_leaves_nothing_under_the_final_name(tmp_path):
    table, final = large_table(3_000_000), tmp_path / "ranks.parquet"
    writer = os.fork()
    if not writer:
        try:
            table.to_parquet(final)
        finally:
            os._exit(0)
    deadline = time.monotonic() + 30
    try:
        begun = False
        while not begun and time.monotonic() < deadline:
            time.sleep(0.001)
            with suppress(FileNotFoundError):  # the folder vanishes while it is listed
                begun = any(path.stat().st_size > 0 for path in tmp_path.glob("*/*"))
    finally:
        os.kill(writer, signal.SIGKILL)
        ended = os.waitpid(writer, 0)[1]
    assert os.waitstatus_to_exitcode(ended) == -signal.SIGKILL, "the table was written before it was looked for"
    assert [path.stat().st_size > 0 for path in tmp_path.glob("*/*")] == [True]
    assert not final.exists()


def test_a_folder_that_cannot_be_replaced_is_kept(tmp_path, monkeypatch):
    """Its new content stands ready, its old one was moved aside, and then the system refuses."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "old").write_text("old")
    rename, calls = Path.rename, iter(range(100))

    def fail_once(path, target):
        if next(calls) == 1:
            raise OSError(errno.EIO, "Input/output error")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fail_once)
    with (
        pytest.raises(RunError, match=r"cannot write .*model.*: Input/output error"),
        replacing_folder(folder) as partial,
    ):
        (partial / "new").write_text("new")
    assert [path.name for path in tmp_path.rglob("*")] == ["model", "old"]
