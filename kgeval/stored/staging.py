"""Atomic runs: one process at a time writes a run on a hidden stage, and moves it into place when it is complete.

The runner and PyKEEN's evaluator enter :func:`reserve`, which yields the stage, a hidden folder in the run directory.
``StoredRun.write`` fills it, and calls :func:`publish`, which moves its files into the run directory. A process that
ranks one shard of a run enters :func:`reserve_shard`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from kgeval.base.errors import InputError, RunError
from kgeval.base.storage import refuse_to_replace_special
from kgeval.stored.contents import (
    CONFIG,
    LOCK,
    MANIFEST,
    METRICS,
    MODEL,
    REPORT,
    RESULTS,
    SHARDS,
    STAGE,
    Manifest,
    is_run,
    read_record,
    tables_in,
)

TRAINED = "training.json"
"""on the stage: the training that made its model; written once the model is complete"""


@contextmanager
def reserve(folder: Path, *, force: bool, resume: bool = False, trains: bool = False) -> Iterator[Path]:
    """Lock a folder for a run, and yield the stage inside it, where the run is written until it is complete.

    What a killed process left is cleared, except a model that it had trained and shards that it had ranked. If the
    process was killed while it moved a complete run from the stage into its folder, the move is finished first. A
    folder that stays empty is removed. With ``resume`` a complete run may exist, which the caller compares with the
    current one; ``trains`` says that a trained model will be written too.
    """
    stage = folder / STAGE
    with locked(folder):
        _refuse_link(stage)
        for lock in (stage / SHARDS).glob("*.lock"):
            _lock(lock, _in_use(folder)).release()
            lock.unlink(missing_ok=True)
        try:
            _clear(stage, keep=trains)
            _refuse_use(folder, force=force, resume=resume, trains=trains)
            with _as_run_error(folder):
                stage.mkdir(exist_ok=True)
            yield stage
        finally:
            _clear(stage, keep=trains)


@contextmanager
def reserve_shard(
    folder: Path, number: int, *, force: bool, prepare: Callable[[], None] = lambda: None, patience: float = 10
) -> Iterator[None]:
    """Lock one shard of a run, which is written to the stage; other processes may rank others at the same time.

    With ``force`` the folder may hold an existing run, which stays until the new one is complete; ``prepare`` is called
    while no other process writes there. ``patience`` is how many seconds to wait for other processes to begin.
    """
    stage = folder / STAGE
    with locked(folder, wait=patience):
        _refuse_link(stage)
        _refuse_use(folder, force=force, resume=False, trains=False)
        with _as_run_error(folder):
            (stage / SHARDS).mkdir(parents=True, exist_ok=True)
        prepare()
        problem = f"another process is ranking shard {number} in {str(folder)!r}"
        lock = _lock(stage / SHARDS / f"{number:05}.lock", f"{problem}. Take another shard, or wait for it.")
    try:
        yield
    finally:
        lock.release()


def publish(stage: Path) -> None:
    """Move a complete run from its stage into its folder; if this is interrupted, a second call finishes it.

    Files are renamed, not written, so a full disk cannot interrupt it. There is no manifest while files are replaced,
    so a mixture of two runs is never taken for a run.
    """
    folder = stage.parent
    with _as_run_error(folder):
        files_of_run = _complete_run(stage)
        (folder / MANIFEST).unlink(missing_ok=True)
        (folder / REPORT).unlink(missing_ok=True)  # of an earlier run
        for name in set(tables_in(folder)) - files_of_run:  # of an earlier run, which may have been of another kind
            (folder / name).unlink(missing_ok=True)
        (stage / TRAINED).unlink(missing_ok=True)
        shutil.rmtree(stage / SHARDS, ignore_errors=True)
        if (stage / MODEL).exists() and (folder / MODEL).exists():
            shutil.rmtree(folder / MODEL)
        for path in sorted(stage.iterdir(), key=lambda path: path.name == MANIFEST):  # the manifest last
            path.replace(folder / path.name)


@contextmanager
def locked(folder: Path, *, wait: float = 0) -> Iterator[None]:
    """Make a folder and lock it for this process; it is removed if it stays empty.

    The system releases the lock of a process that dies. ``wait`` is how many seconds to wait for another process.
    """
    missing = _missing_folders(folder)
    try:
        with _as_run_error(folder):
            folder.mkdir(parents=True, exist_ok=True)
            for path in folder.iterdir():
                refuse_to_replace_special(path)
        lock = _lock(folder / LOCK, _in_use(folder), wait=wait)
        try:
            yield
        finally:
            with suppress(OSError):
                (folder / LOCK).unlink()
            lock.release()
    finally:
        with suppress(OSError):  # it is not empty, or another run has been written into a parent
            for path in missing:
                path.rmdir()


def unstaged(path: str) -> str:
    """The final path of a file that may lie on a stage."""
    return str(Path(*(part for part in Path(path).parts if part != STAGE)))


def _complete_run(stage: Path) -> frozenset[str]:
    """Return the files of a complete run on a stage; none if its manifest is missing or damaged."""
    with suppress(InputError):
        return frozenset(read_record(stage / MANIFEST, Manifest).get("written", ()))
    return frozenset()


def _clear(stage: Path, *, keep: bool) -> None:
    """Finish an interrupted move; otherwise clear the stage, except for shards, and a trained model if ``keep``."""
    with _as_run_error(stage.parent):
        if _complete_run(stage):
            publish(stage)
        kept = {MODEL, TRAINED} if keep and (stage / TRAINED).is_file() else set()
        kept |= {SHARDS} if (stage / SHARDS).is_dir() and any((stage / SHARDS).iterdir()) else set()
        for path in stage.iterdir() if stage.is_dir() else ():
            if path.name not in kept:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        if stage.is_dir() and not kept:
            stage.rmdir()


def _refuse_use(folder: Path, *, force: bool, resume: bool, trains: bool) -> None:
    names = (CONFIG, MANIFEST, METRICS, *tables_in(folder))
    existing = [name for name in names if (folder / name).exists()]
    for name in existing:
        if (folder / name).is_dir():
            raise RunError(f"{str(folder / name)!r} is a folder, but a file of that name must be written.")
    for link in (folder / name for name in (*names, MODEL, REPORT, RESULTS) if (folder / name).is_symlink()):
        if force or not is_run(folder):
            problem = f"{str(link)!r} is a link, which a run would replace"
            raise InputError(f"{problem}. Remove the link, or choose another folder.")
    if force or (resume and is_run(folder)):
        return
    if existing:
        problem = f"{str(folder)!r} already holds a run ({', '.join(existing)})"
        raise InputError(f"{problem}. Choose another folder, or add --force.")
    if trains and (folder / MODEL).exists():
        problem = f"{str(folder / MODEL)!r} exists already, but the trained model must be saved there"
        raise InputError(f"{problem}. Choose another folder, or add --force to replace it.")


def _refuse_link(stage: Path) -> None:
    if stage.is_symlink():  # clearing it would delete the files of another folder
        problem = f"{str(stage)!r} is a link to another folder, whose files would be deleted"
        raise InputError(f"{problem}. Remove the link.")


def _missing_folders(folder: Path) -> list[Path]:
    """Return the folders that have to be made, the innermost first; refuse a path that cannot be a folder."""
    try:
        str(folder).encode()
    except UnicodeEncodeError as error:
        raise InputError(f"the folder {str(folder)!r} has a name that is not UTF-8 text. Choose another.") from error
    with _as_run_error(folder):
        paths = [folder, *folder.parents]
        for path in paths:
            if path.exists() and not path.is_dir():
                raise InputError(f"{str(path)!r} is a file, but a run needs a folder. Choose another name.")
        return [path for path in paths if not path.exists()]


def _lock(path: Path, in_use: str, *, wait: float = 0) -> FileLock:
    """Lock a file; ``in_use`` is the error message if another process has locked it."""
    lock = FileLock(path)
    with _as_run_error(path.parent):
        try:
            lock.acquire(timeout=wait)
        except Timeout as error:  # before OSError, of which it is a subclass
            raise InputError(in_use) from error
    return lock


def _in_use(folder: Path) -> str:
    return f"another process is writing a run into {str(folder)!r}. Choose another folder, or wait for it."


@contextmanager
def _as_run_error(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        problem = f"cannot make the folder {str(folder)!r}, or write a run into it"
        raise RunError(f"{problem}: {error.strerror or error}.") from error
