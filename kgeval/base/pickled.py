"""Pickle files: zip archives and older streams of ``torch.save``, and plain pickles, read without running their code.

Readers of checkpoints and of datasets call :func:`read_pickled`. They get arrays, plain values and stubs, objects that
only keep the values of an instance (``unpickle.py``). By :func:`pickle_strings` they recognise the framework of a file.
"""

from __future__ import annotations

import io
import pickletools
import zipfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.containers import open_zip
from kgeval.base.errors import FileError, PickleError, reason
from kgeval.base.files import Budget, beginning_of, checked, read_bytes
from kgeval.base.unpickle import (
    DTYPES,
    BoundedUnpickler,
    Reference,
    StorageType,
    StubObject,
    module_class,
    refuse_instructions,
    unpickle,
)

PICKLED = {".pkl", ".pt", ".pth", ".ckpt", ".model"}
"""the endings of files that ``torch.save`` or ``pickle`` wrote"""

LOCAL_HEADER = 512
"""bytes at the start of a zip archive that have the name of its first member, ``data.pkl`` from ``torch.save``"""

MAGIC = 0x1950A86A20F9469CFC6C
"""the number that a stream of ``torch.save`` (before version 1.6) begins with"""

STREAM_START = b"\x80\x02\x8a\n" + MAGIC.to_bytes(10, "little") + b"."
"""the bytes at the start of such a stream: the pickle of ``MAGIC``"""

MAX_EXPANSION = 4
"""the most bytes that are decoded from a file, as a multiple of its size"""

PICKLES = 5
"""the number of pickles in a stream: magic number, version, machine, the object, the order of its storages"""


def read_pickled(path: Path) -> Any:
    """Read the object in a ``torch.save`` file of any version or a plain pickle: tensors as arrays, others as stubs.

    A ``Budget`` limits memory and steps; every error names the file.
    """
    if not checked(path):
        raise PickleError(f"{path}: the file is empty.")
    budget = Budget(path, times=MAX_EXPANSION)
    try:
        if _is_zip(path):
            return _read_archive(path, budget)
        content = read_bytes(path)
        return read_stream(content, budget) if content.startswith(STREAM_START) else _unpickle(content, budget)
    except FileError:
        raise
    except PickleError as error:
        raise PickleError(f"{path}: {error}") from error
    except zipfile.BadZipFile as error:
        raise PickleError(f"{path}: not a PyTorch file (a zip archive), or cut short ({reason(error)}).") from error
    except Exception as error:  # a damaged pickle can fail in any way; none of its code is executed
        why = f"{type(error).__name__}: {reason(error)}"
        raise PickleError(f"{path}: not a PyTorch file or a pickle, or damaged ({why}).") from error


def _is_zip(path: Path) -> bool:
    return beginning_of(path, 2) == b"PK"


def _read_archive(path: Path, budget: Budget) -> Any:
    with open_zip(path) as archive:
        program = _program_name(archive)
        prefix = program.removesuffix("data.pkl")
        order, numbers = f"{prefix}byteorder", f"{prefix}data/"
        members = (info for info in archive.infolist() if info.filename.startswith((program, numbers, order)))
        if any(info.compress_type != zipfile.ZIP_STORED for info in members):
            raise PickleError("not a PyTorch file: its archive is compressed.")

        def member(name: str) -> bytes:
            budget.take(archive.getinfo(name).file_size)
            return archive.read(name)

        if order in archive.namelist() and member(order) != b"little":
            raise PickleError("written on a big-endian machine, which is not supported.")
        return _unpickle(member(program), budget, lambda key: member(f"{numbers}{key}"))


def _program_name(archive: zipfile.ZipFile) -> str:
    names = [name for name in archive.namelist() if name == "data.pkl" or name.endswith("/data.pkl")]
    if len(names) != 1:
        raise PickleError("not a PyTorch file: the archive holds no data.pkl.")
    return names[0]


def read_stream(content: bytes, budget: Budget) -> Any:
    """Read the format of ``torch.save`` before version 1.6: five pickles, then the storages (numbers of tensors)."""
    if not content.startswith(STREAM_START):
        raise PickleError("not a PyTorch file (a zip archive), or cut short (the file is of a different kind).")
    file = io.BytesIO(content)
    programs = []
    for _ in range(PICKLES):
        start = file.tell()
        for _ in pickletools.genops(file):
            budget.step()
        programs.append(content[start : file.tell()])
    machine = _unpickle(programs[2], budget)
    if not machine.get("little_endian"):
        raise PickleError("written on a big-endian machine, which is not supported.")
    refuse_instructions(programs[3], budget)
    types = _StorageTypes(programs[3])
    types.load()
    numbers: dict[str, bytes] = {}
    for key in _unpickle(programs[4], budget):
        count = int.from_bytes(file.read(8), "little")
        numbers[key] = file.read(min(count * types.dtypes[key].itemsize, len(content)))
    return _unpickle(programs[3], budget, numbers.__getitem__)


class _StorageTypes(BoundedUnpickler):
    """Collects the dtypes of the storages that a pickle refers to, without reading their numbers."""

    def __init__(self, program: bytes) -> None:
        super().__init__(io.BytesIO(program))
        self.dtypes: dict[str, np.dtype[Any]] = {}
        self.stub = type("Stub", (StubObject,), {})  # made for this pickle alone, as stubs change their class

    def find_class(self, module: str, name: str) -> Any:
        return StorageType(name) if module == "torch" and name in DTYPES else self.stub

    def persistent_load(self, pid: Any) -> Any:
        """Keep the dtype of a storage."""
        if (module := module_class(pid)) is None:
            reference = Reference.of(pid)
            self.dtypes[reference.key] = reference.storage_type.dtype
        return module


def _no_numbers(key: str) -> bytes:
    raise PickleError(f"the pickle refers to numbers ({key}) that are not in the file.")


def _unpickle(program: bytes, budget: Budget, numbers: Callable[[str], bytes] = _no_numbers) -> Any:
    return unpickle(program, numbers, budget, nested=read_stream)


def is_pickled(file: Path) -> bool:
    """Whether ``torch.save`` or ``pickle`` wrote a file: by its ending, or if it has none, by how it begins."""
    if file.suffix or not file.is_file():
        return file.suffix in PICKLED and file.is_file()
    beginning = beginning_of(file, LOCAL_HEADER)
    return beginning[:1] == b"\x80" or (beginning[:2] == b"PK" and b"data.pkl" in beginning)


def pickle_strings(path: Path) -> frozenset[str]:
    """Collect the strings in the pickles of a file, by which its framework is recognised; nothing is executed.

    For a damaged file, these are the strings before the damage.
    """
    try:
        checked(path)
        info = path.stat()
    except (OSError, FileError):
        return frozenset()
    return _cached_strings(path, info.st_size, info.st_mtime_ns)


@lru_cache(maxsize=1024)
def _cached_strings(path: Path, size: int, _: int) -> frozenset[str]:
    """Collect the strings once for each state of a file: its size and time of change."""
    strings: set[str] = set()
    budget = Budget(path, times=MAX_EXPANSION)
    try:
        if _is_zip(path):
            with open_zip(path) as archive:
                name = _program_name(archive)
                if archive.getinfo(name).file_size <= size:
                    strings.update(strings_of(io.BytesIO(archive.read(name)), budget))
        else:
            with path.open("rb") as file:
                if file.read(1) == b"\x80":
                    file.seek(0)
                    strings.update(strings_of(file, budget))
    except Exception:  # noqa: S110 - a damaged file has fewer strings, and its reader raises the error
        pass
    return frozenset(strings)


def strings_of(file: Any, budget: Budget) -> list[str]:
    """List the strings in an open pickle, and in the pickles after it if it begins a stream of ``torch.save``."""
    strings = []
    pickles = 1
    while pickles:
        pickles -= 1
        for _, argument, _ in pickletools.genops(file):
            budget.step()
            if isinstance(argument, str):
                strings.append(argument)
            elif argument == MAGIC:
                pickles = PICKLES - 2
    return strings
