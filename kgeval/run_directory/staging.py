"""A run while it is written: by one process at a time, and out of sight until all of it is there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import yaml
from filelock import FileLock, Timeout

from kgeval.errors import FileError, InputError, RunError
from kgeval.files.opening import read_json
from kgeval.paths import is_plain_name
from kgeval.run_directory.contents import (
    CONFIG,
    CURVES,
    MANIFEST,
    METRICS,
    MODEL,
    as_json,
    digests,
    is_run,
    tables_in,
)
from kgeval.storage.atomic import write_text

LOCK, STAGE = ".kgeval.lock", ".kgeval.partial"

TRAINED = "training.json"
"""on the stage: what the model there was trained by, once it is whole"""


class ParquetTable(Protocol):
    """A table that can be written."""

    def to_parquet(self, path: Path) -> None:
        """Write the table, whole or not at all."""
        ...


@contextmanager
def reserve(folder: Path, *, force: bool, resume: bool = False, trains: bool = False) -> Iterator[Path]:
    """Hold a folder for a run, and give the stage inside it, where the run is written until it is whole.

    What a killed process left is cleared, but for a model that it had trained; if the process was killed while a whole
    run moved from the stage into its folder, the move is finished first. A folder that nothing is put into is taken
    away again.

    Parameters
    ----------
    folder
        the run directory, which need not exist
    force
        whether a run that is there may be replaced
    resume
        whether a whole run may be there, because it may be the very one that is wanted
    trains
        whether a model will be put there too

    Raises
    ------
    InputError
        if it holds a run, part of one or a model, and may not; if another process writes into it; if it is a file, or
        no UTF-8 text; if its stage leads to another folder
    RunError
        if it cannot be made or written to
    """
    stage = folder / STAGE
    with alone_in(folder):
        _refuse_link(stage)
        try:
            _clear(stage, keep=trains)
            _refuse_use(folder, force=force, resume=resume, trains=trains)
            with _telling(folder):
                stage.mkdir(exist_ok=True)
            yield stage
        finally:
            _clear(stage, keep=trains)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold a folder for this process, and make it; it is taken away again where nothing is put into it.

    The system gives up the lock of a process that dies.

    Raises
    ------
    InputError
        if another process holds it, if it is a file, or no UTF-8 text
    RunError
        if it cannot be made or written to
    """
    missing = _missing(folder)
    try:
        lock = _lock(folder)
        try:
            yield
        finally:
            with suppress(OSError):
                (folder / LOCK).unlink()
            lock.release()
    finally:
        with suppress(OSError):  # it holds something by now, or another run is at home in a parent
            for place in missing:
                place.rmdir()


def _lock(folder: Path) -> FileLock:
    lock = FileLock(folder / LOCK, timeout=0)
    with _telling(folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
        except Timeout as error:  # which is an OSError as well
            what = f"another process is writing a run into {str(folder)!r}"
            raise InputError(f"{what}. Choose another folder, or wait for it.") from error
    return lock


def write_run(
    stage: Path,
    *,
    config: dict[str, Any],
    manifest: dict[str, Any],
    tables: Mapping[str, ParquetTable],
    metrics: dict[str, Any],
    curves: dict[str, Any] | None = None,
) -> None:
    """Write a run on its stage, the manifest last, with the SHA-256 of all else; then move it into its folder."""
    numbers = as_json(metrics)
    for name, table in tables.items():
        table.to_parquet(stage / name)
    if curves:
        write_text(stage / CURVES, as_json(curves))
    write_text(stage / METRICS, numbers)
    write_text(stage / CONFIG, yaml.safe_dump(config, sort_keys=False, allow_unicode=True))
    names = [CONFIG, METRICS, *tables, *([CURVES] if curves else [])]
    write_text(stage / MANIFEST, as_json(manifest | {"written": digests(stage, names)}))
    _publish(stage)


def unstaged(path: str) -> str:
    """Name a file that may lie on a stage as it will be named when the run is whole.

    >>> unstaged("runs/new/.kgeval.partial/model/trained_model.pkl"), unstaged("model.npz")
    ('runs/new/model/trained_model.pkl', 'model.npz')
    """
    return str(Path(*(part for part in Path(path).parts if part != STAGE)))


def _publish(stage: Path) -> None:
    """Move a whole run from its stage into its folder; where this was interrupted, doing it again finishes it.

    Names change and nothing is written, so a full disk cannot stop it half-way. While files are exchanged, there is no
    manifest: nobody takes the files of two runs for one.
    """
    folder = stage.parent
    with _telling(folder):
        belongs = _written(stage)
        (folder / MANIFEST).unlink(missing_ok=True)
        for name in set(tables_in(folder)) - belongs:  # by an earlier run, which may have been of another kind
            (folder / name).unlink(missing_ok=True)
        (stage / TRAINED).unlink(missing_ok=True)
        if (stage / MODEL).exists() and (folder / MODEL).exists():
            shutil.rmtree(folder / MODEL)
        for path in sorted(stage.iterdir(), key=lambda path: path.name == MANIFEST):  # which comes last
            path.replace(folder / path.name)


def _clear(stage: Path, *, keep: bool) -> None:
    """Finish a move that was interrupted; else take away what is on the stage, but for a trained model to ``keep``."""
    with _telling(stage.parent):
        if _written(stage):
            _publish(stage)
        kept = {MODEL, TRAINED} if keep and (stage / TRAINED).is_file() else set()
        for path in stage.iterdir() if stage.is_dir() else ():
            if path.name not in kept:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        if stage.is_dir() and not kept:
            stage.rmdir()


def _written(stage: Path) -> frozenset[str]:
    """Name the files of a whole run on a stage; none where its manifest is missing or not one that a run wrote."""
    try:
        manifest = read_json(stage / MANIFEST)
    except (FileNotFoundError, FileError, ValueError, RecursionError):
        return frozenset()
    written = manifest.get("written") if isinstance(manifest, dict) else None
    if not isinstance(written, dict) or not all(map(is_plain_name, written)):
        return frozenset()
    return frozenset(written)


def _refuse_link(stage: Path) -> None:
    """Refuse a stage that is a link: what is there would be cleared, and it is another's."""
    if stage.is_symlink():
        raise InputError(f"{str(stage)!r} is a link to another folder, whose files would be cleared. Remove the link.")


def _missing(folder: Path) -> list[Path]:
    """Tell which folders have to be made, the innermost first; refuse what can be none."""
    try:
        str(folder).encode()
    except UnicodeEncodeError as error:
        raise InputError(f"the folder {str(folder)!r} has a name that is not UTF-8 text. Choose another.") from error
    with _telling(folder):
        places = [folder, *folder.parents]
        for place in places:
            if place.exists() and not place.is_dir():
                raise InputError(f"{str(place)!r} is a file; a run needs a folder. Choose another name.")
        return [place for place in places if not place.exists()]


def _refuse_use(folder: Path, *, force: bool, resume: bool, trains: bool) -> None:
    names = (CONFIG, MANIFEST, METRICS, *tables_in(folder))
    there = [name for name in names if (folder / name).exists()]
    for name in there:
        if (folder / name).is_dir():
            raise RunError(f"{str(folder / name)!r} is a folder; a file of that name has to be written.")
    if force or (resume and is_run(folder)):
        return
    if there:
        what = f"{str(folder)!r} already holds a run ({', '.join(there)})"
        raise InputError(f"{what}. Choose another folder, or add --force.")
    if trains and (folder / MODEL).exists():
        what = f"{str(folder / MODEL)!r} is there already, where the trained model has to be saved"
        raise InputError(f"{what}. Choose another folder, or add --force to replace it.")


@contextmanager
def _telling(folder: Path) -> Iterator[None]:
    """Tell what the system refuses as one message."""
    try:
        yield
    except OSError as error:
        raise RunError(
            f"cannot make the folder {str(folder)!r}, or write a run into it: {error.strerror or error}."
        ) from error
