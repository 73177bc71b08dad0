"""The one unpickler for all files: what frameworks pickled, read without executing any of it.

A pickle is a program: it names classes and functions, and calls them. Here every name is either one of a few harmless
constructors (tensors, arrays, ordered dictionaries), or, if it belongs to a library that such files are known to
mention, an inert stand-in that remembers its arguments and does nothing. Any other name is refused before it is looked
at.
"""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import cache
from reprlib import repr as short
from typing import Any, ClassVar

import numpy as np

from kgeval.errors import PickleError
from kgeval.pickles.bounds import refuse_entangled, refuse_instructions
from kgeval.pickles.storages import DTYPES, Reference, Storage, StorageType, tensor

LIBRARIES = (
    *("torch", "__torch__", "pykeen", "kge", "class_resolver"),
    *("numpy", "scipy", "collections", "functools", "pathlib"),
)
"""top-level packages whose names become stand-ins"""

STAND_INS = ("builtins.getattr", "builtins.set", "__builtin__.getattr", "__builtin__.set")
"""further names that do"""

NUMBERS = {"b1", "f2", "f4", "f8", *(f"{sign}{size}" for sign in "iu" for size in (1, 2, 4, 8))}
"""numpy's names for the types of plain numbers"""


REPEATED = 64
"""how many values there may be for each byte of a pickle, where every value is counted as often as it is used"""


class Inert:
    """Stands for an object of a class that is never imported."""

    origin: ClassVar[str] = ""
    """module and name of the class"""

    args: tuple[Any, ...]
    state: dict[str, Any]

    def __new__(cls, *args: Any, **__: Any) -> Inert:
        """Make an object that remembers its arguments, whether or not it will be initialised."""
        made = object.__new__(cls)
        made.args, made.state = args, {}
        return made

    def __init__(self, *_: Any, **__: Any) -> None:
        """Do nothing with the arguments."""

    def __setstate__(self, state: Any) -> None:
        self.state = state if isinstance(state, dict) else {"state": state}

    def __setitem__(self, key: Any, value: Any) -> None:
        """Ignore the items of unknown mappings."""

    def append(self, value: Any) -> None:
        """Ignore the items of unknown lists."""

    @property
    def class_name(self) -> str:
        """The name of the class, without its module."""
        return self.origin.rpartition(".")[2]


class _Constructor:
    """A function that a pickle may call, and do nothing else with: it has no attributes that could be set."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        object.__setattr__(self, "_function", function)

    def __call__(self, *args: Any) -> Any:
        return self._function(*args)  # type: ignore[attr-defined]

    def __setattr__(self, name: str, value: Any) -> None:
        raise PickleError("the pickle tries to change a function. It was refused.")

    def __setstate__(self, state: Any) -> None:
        raise PickleError("the pickle tries to change a function. It was refused.")


class _NumpyType:
    """Stands for a numpy dtype, of which only those of text and of plain numbers are needed."""

    def __init__(self, name: Any = "", *_: Any) -> None:
        self.name = name if isinstance(name, str) else ""
        self.order = "<"

    def __setstate__(self, state: Any) -> None:
        """Take the byte order; all else describes structures, which no file needs."""
        if isinstance(state, tuple) and len(state) > 1:
            self.order = state[1] if isinstance(state[1], str) else ""

    def numbers(self) -> np.dtype[Any]:
        """As numpy calls it.

        Raises
        ------
        PickleError
            if it is no type of numbers, or one of a big-endian machine
        """
        if self.name not in NUMBERS or self.order not in {"<", "|", "="}:
            raise PickleError(f"the pickle holds an array of {self.order}{self.name}, which are no plain numbers.")
        return np.dtype(self.name)


class _Array(np.ndarray[Any, Any]):
    """An array that a pickle fills: with plain numbers that are in the pickle, or not at all."""

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, fortran, content = state
        if not isinstance(kind, _NumpyType) or not isinstance(content, bytes):
            raise PickleError("the pickle holds an array of objects. It was refused.")
        if not isinstance(shape, tuple) or not all(isinstance(length, int) and length >= 0 for length in shape):
            raise PickleError(f"the pickle holds an array of the shape {short(shape)}.")
        super().__setstate__((1, shape, kind.numbers(), bool(fortran), content))  # type: ignore[arg-type]


class _Unpickler(pickle.Unpickler):
    def __init__(self, program: bytes, numbers: Callable[[str], bytes]) -> None:
        super().__init__(io.BytesIO(program))
        self._numbers = cache(lambda kind, key: kind.decode(numbers(key)))
        self._made: dict[str, Any] = {}

    def find_class(self, module: str, name: str) -> Any:
        """Give what stands for a name; nothing is imported."""
        full = f"{module}.{name}"
        if full == "numpy.dtype":
            return self._made.setdefault(full, type("NumpyType", (_NumpyType,), {}))
        if full in _CONSTRUCTORS:
            return self._made.setdefault(full, _Constructor(_CONSTRUCTORS[full]))
        if module == "torch" and name in DTYPES:
            return StorageType(name)
        if module.partition(".")[0] in LIBRARIES or full in STAND_INS:
            return self._made.setdefault(full, type("Inert", (Inert,), {"origin": full}))
        raise PickleError(f"the pickle asks for {full}, which no model needs. It was refused; nothing was executed.")

    def persistent_load(self, pid: Any) -> Storage:
        """Give the numbers of a tensor's storage."""
        asked = Reference.of(pid)
        data = self._numbers(asked.storage_type, asked.key)
        if len(data) < asked.count:
            raise PickleError(
                f"storage {asked.key} holds {len(data)} numbers where {asked.count} are announced: cut short?"
            )
        return Storage(data)


def _text(kind: Any, content: Any) -> str:
    """Make the text that numpy pickled as a scalar of its own."""
    if not isinstance(kind, _NumpyType) or not kind.name.startswith("U") or not isinstance(content, bytes):
        raise PickleError("the pickle holds a numpy scalar that is no text.")
    return content.decode("utf-32-le").rstrip("\0")


def _empty_array(*_: Any) -> Any:
    """Make the array without numbers that ``_Array.__setstate__`` then fills."""
    return _Array(0, np.uint8)


def _buffered(content: Any, kind: Any, shape: Any, order: Any) -> Any:
    """Make an array of the bytes that newer pickles hold."""
    if not isinstance(kind, _NumpyType) or not isinstance(content, bytes | bytearray) or order not in {"C", "F"}:
        raise PickleError("the pickle holds an array that is made of no bytes.")
    return np.frombuffer(content, kind.numbers()).reshape(shape, order=order)


def _bytes(text: Any, encoding: Any) -> bytes:
    """Make the bytes that older pickles spell as text."""
    if not isinstance(text, str) or encoding != "latin1":
        raise PickleError("the pickle encodes something that stands for no bytes.")
    return text.encode("latin1")


def _stream(content: Any) -> Any:
    """Read what ``torch`` pickled as the bytes of a whole older file."""
    from kgeval.pickles.pickled import read_stream

    if not isinstance(content, bytes):
        raise PickleError("the pickle holds a tensor that is made of no bytes.")
    return read_stream(content)


_CONSTRUCTORS: dict[str, Callable[..., Any]] = {
    # Called without arguments, it is filled item by item: copying collections over and over would take memory.
    "collections.OrderedDict": lambda: OrderedDict([]),
    "torch._utils._rebuild_tensor_v2": tensor,
    "torch._utils._rebuild_parameter": lambda tensor, *_: tensor,
    "_codecs.encode": _bytes,
    "numpy.core.multiarray.scalar": _text,
    "numpy._core.multiarray.scalar": _text,
    "numpy.core.multiarray._reconstruct": _empty_array,
    "numpy._core.multiarray._reconstruct": _empty_array,
    "numpy.core.numeric._frombuffer": _buffered,
    "numpy._core.numeric._frombuffer": _buffered,
    "torch.storage._load_from_bytes": _stream,
}


def unpickle(program: bytes, numbers: Callable[[str], bytes]) -> Any:
    """Read one pickle: tensors as arrays, instances of classes as :class:`Inert`.

    Parameters
    ----------
    program
        the pickle
    numbers
        gives the bytes of the numbers that the pickle refers to by a key

    Raises
    ------
    PickleError
        if it asks for a name or an instruction that no model needs; damage raises whatever it raises
    """
    refuse_instructions(program)
    read = _Unpickler(program, numbers).load()
    refuse_entangled(read, REPEATED * len(program), _parts)
    return read


def _parts(value: Any) -> Iterable[Any]:
    """Tell what a value is made of."""
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, Inert):
        return (*value.args, *value.state.values())
    return value if isinstance(value, list | tuple | set | frozenset) else ()
