"""Read what ``torch.save`` wrote without executing any of it.

A pickle is a program: it names classes and functions, and calls them. Here every name is either one of a few harmless
constructors (tensors, ordered dictionaries, sets), or, if it belongs to a library that such files are known to mention,
an inert stand-in that remembers its arguments and does nothing. Any other name is refused before it is looked at.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from kgeval.errors import CheckpointError

LIBRARIES = ("torch", "pykeen", "numpy", "class_resolver", "collections", "functools", "pathlib")
"""top-level packages whose names become stand-ins"""

STAND_INS = ("builtins.getattr", "builtins.set", "__builtin__.getattr", "__builtin__.set")
"""further names that do"""

DTYPES = {
    "DoubleStorage": np.float64,
    "FloatStorage": np.float32,
    "HalfStorage": np.float16,
    "LongStorage": np.int64,
    "IntStorage": np.int32,
    "ShortStorage": np.int16,
    "CharStorage": np.int8,
    "ByteStorage": np.uint8,
    "BoolStorage": np.bool_,
    "ComplexFloatStorage": np.complex64,
    "ComplexDoubleStorage": np.complex128,
}

# Opcodes that a torch.save never writes, and that could ask for memory or code out of proportion to the file.
FORBIDDEN = {"BYTEARRAY8", "NEXT_BUFFER", "READONLY_BUFFER", "EXT1", "EXT2", "EXT4", "INST", "OBJ", "PERSID"}


class Inert:
    """Stands for an object of a class that is never imported."""

    origin: ClassVar[str] = ""
    """module and name of the class"""

    def __new__(cls, *_: Any, **__: Any) -> Inert:
        """Make an empty object, whatever the arguments."""
        return object.__new__(cls)

    def __init__(self, *args: Any, **_: Any) -> None:
        self.args = args
        self.state: dict[str, Any] = {}

    def __setstate__(self, state: Any) -> None:
        self.state = state if isinstance(state, dict) else {}

    def __setitem__(self, key: Any, value: Any) -> None:
        """Ignore the items of unknown mappings."""

    def append(self, value: Any) -> None:
        """Ignore the items of unknown lists."""

    @property
    def class_name(self) -> str:
        """The name of the class, without its module."""
        return self.origin.rpartition(".")[2]


@dataclass(frozen=True)
class _StorageType:
    name: str


@dataclass(frozen=True)
class _Storage:
    numbers: np.ndarray[Any, Any]


class _Constructor:
    """A function that a pickle may call, and do nothing else with: it has no attributes that could be set."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        object.__setattr__(self, "_function", function)

    def __call__(self, *args: Any) -> Any:
        return self._function(*args)  # type: ignore[attr-defined]

    def __setattr__(self, name: str, value: Any) -> None:
        raise CheckpointError("the pickle tries to change a function. It was refused.")

    def __setstate__(self, state: Any) -> None:
        raise CheckpointError("the pickle tries to change a function. It was refused.")


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, storage: Callable[[str], bytes]) -> None:
        super().__init__(file)
        self._storage = cache(storage)
        self._made: dict[str, Any] = {}

    def find_class(self, module: str, name: str) -> Any:
        """Give what stands for a name; nothing is imported."""
        full = f"{module}.{name}"
        if full in _CONSTRUCTORS:
            return self._made.setdefault(full, _Constructor(_CONSTRUCTORS[full]))
        if module == "torch" and name in DTYPES:
            return _StorageType(name)
        if module.partition(".")[0] in LIBRARIES or full in STAND_INS:
            return self._made.setdefault(full, type("Inert", (Inert,), {"origin": full}))
        raise CheckpointError(
            f"the pickle asks for {full}, which no model needs. It was refused; nothing was executed."
        )

    def persistent_load(self, pid: Any) -> _Storage:
        """Give the numbers of a tensor's storage."""
        kind, storage_type, key, _, count = pid
        if kind != "storage" or not isinstance(storage_type, _StorageType):
            raise CheckpointError(f"the pickle refers to an unknown kind of data ({kind!r}).")
        data: np.ndarray[Any, Any] = np.frombuffer(self._storage(str(key)), DTYPES[storage_type.name])
        if len(data) < count:
            raise CheckpointError(f"storage {key} holds {len(data)} numbers where {count} are announced: cut short?")
        return _Storage(data)


def _tensor(storage: _Storage, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: Any) -> Any:
    """Make a strided view of a storage, refusing what lies outside of it."""
    if not isinstance(storage, _Storage):
        raise CheckpointError("a tensor is made of something that is no storage.")
    data = storage.numbers
    last = offset + sum((length - 1) * step for length, step in zip(size, stride, strict=True))
    numbers = int(np.prod(size, dtype=object))
    if min((offset, *size, *stride), default=0) < 0 or (numbers and last >= len(data)) or numbers > len(data):
        raise CheckpointError(f"a tensor of shape {size} does not fit into its storage of {len(data)} numbers.")
    steps = [step * data.itemsize for step in stride]
    return np.lib.stride_tricks.as_strided(data[offset:], size, steps, writeable=False)


_CONSTRUCTORS: dict[str, Callable[..., Any]] = {
    # Called without arguments, it is filled item by item: copying collections over and over would take memory.
    "collections.OrderedDict": lambda: OrderedDict([]),
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_parameter": lambda tensor, *_: tensor,
}


def read_torch(path: Path) -> Any:
    """Read the object in a ``torch.save`` file: tensors as arrays, instances of classes as :class:`Inert`.

    Raises
    ------
    CheckpointError
        if the file is damaged or cut short, or if its pickle asks for a name that no model needs
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive)
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from error
    except zipfile.BadZipFile as error:
        raise CheckpointError(f"{path}: not a PyTorch file (a zip archive), or cut short ({error}).") from error
    except Exception as error:  # a damaged pickle can fail in any way; nothing of it has run
        raise CheckpointError(f"{path}: damaged ({type(error).__name__}: {error}).") from error


def _read(archive: zipfile.ZipFile) -> Any:
    names = [name for name in archive.namelist() if name == "data.pkl" or name.endswith("/data.pkl")]
    if len(names) != 1:
        raise CheckpointError("not a PyTorch file: the archive holds no data.pkl.")
    prefix = names[0].removesuffix("data.pkl")
    if any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()):
        raise CheckpointError("not a PyTorch file: its archive is compressed.")
    if f"{prefix}byteorder" in archive.namelist() and archive.read(f"{prefix}byteorder") != b"little":
        raise CheckpointError("written on a big-endian machine, which is not supported.")
    program = archive.read(names[0])
    for opcode, argument, _ in pickletools.genops(program):
        if opcode.name in FORBIDDEN:
            raise CheckpointError(
                f"the pickle has the instruction {opcode.name}, which no model needs. It was refused."
            )
        if "PUT" in opcode.name and int(argument or 0) > len(program):
            raise CheckpointError("damaged: the pickle numbers its parts beyond its own length.")
    return _Unpickler(io.BytesIO(program), lambda key: archive.read(f"{prefix}data/{key}")).load()
