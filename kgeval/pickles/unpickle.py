"""A safe unpickler: tensors, arrays and plain values are made, everything else becomes a stub.

A pickle is a program: it names classes and functions, and calls them. Here every name is either one of a few harmless
constructors (tensors, arrays, ordered dictionaries), or, if it belongs to a library that such files are known to
mention, a stub that keeps its arguments and does nothing. Any other name is refused before it is looked up.
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
from kgeval.files.budget import Budget
from kgeval.pickles.bounds import check_object_graph_size, refuse_instructions
from kgeval.pickles.storages import DTYPES, Immutable, Reference, Storage, StorageType, shape_of, tensor

LIBRARIES = (
    *("torch", "__torch__", "pykeen", "kge", "class_resolver"),
    *("numpy", "scipy", "collections", "functools", "pathlib"),
)
"""top-level packages whose names become stand-ins"""

STAND_INS = ("builtins.getattr", "builtins.set", "__builtin__.getattr", "__builtin__.set")
"""further names that do"""

NUMBERS = {"b1", "f2", "f4", "f8", *(f"{sign}{size}" for sign in "iu" for size in (1, 2, 4, 8))}
"""numpy's names for the types of plain numbers"""


ARGUMENTS = 16
"""how many a call may have: Python copies them for every call, and what is left of them is less than its steps pay"""

CLASS = 2**11
"""bytes that a stand-in class takes"""

REPEATED = 64
"""how many values there may be for each byte of a pickle, where every value is counted as often as it is used"""


NestedReader = Callable[[bytes, Budget], Any]
"""reads a file that a pickle holds as bytes"""


class StubObject:
    """Stands for an object of a class that is never imported."""

    origin: ClassVar[str] = ""
    """module and name of the class"""

    args: tuple[Any, ...]
    state: dict[str, Any]

    def __new__(cls, *args: Any, **named: Any) -> StubObject:
        """Make an object that remembers its arguments, whether or not it will be initialised."""
        _refuse_many_arguments(len(args) + len(named))
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


def _refuse_many_arguments(count: int) -> None:
    if count > ARGUMENTS:
        raise PickleError(f"the pickle calls a function with more than {ARGUMENTS} arguments. It was refused.")


class _Constructor(Immutable):
    """A function that a pickle may call, and do nothing else with."""

    def __init__(self, function: Callable[..., Any], budget: Budget) -> None:
        self._function, self._budget = function, budget

    def __call__(self, *args: Any) -> Any:
        _refuse_many_arguments(len(args))
        made = self._function(self._budget, *args)
        if isinstance(made, tuple | frozenset):  # keys of these are counted where a pickle makes them
            raise PickleError("the pickle hands a tuple through a function. It was refused.")
        return made


class _Ordered(OrderedDict[Any, Any]):
    """An ordered dictionary whose attributes stay what they are: what torch keeps in them is no matter to a score."""

    def __setstate__(self, state: Any) -> None:
        """Do nothing."""


class _NumpyType:
    """Stands for a numpy dtype, of which only those of text and of plain numbers are needed."""

    def __init__(self, name: Any = "", _align: Any = None, _copy: Any = None) -> None:
        self.name = name if isinstance(name, str) else ""
        self.order = "<"

    def __setstate__(self, state: Any) -> None:
        """Take the byte order; all else describes structures, which no file needs."""
        if not isinstance(state, tuple) or len(state) < 2 or not isinstance(state[1], str):
            raise PickleError(f"the pickle describes the numbers of an array by {short(state)}.")
        self.order = state[1]

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
    """An array that a pickle fills once: with plain numbers that are in the pickle, or not at all."""

    budget: Budget

    def __setstate__(self, state: Any) -> None:
        if not self.flags.writeable:  # others may look at its numbers by now
            raise PickleError("the pickle fills an array twice. It was refused.")
        _, shape, kind, fortran, content = state
        if not isinstance(kind, _NumpyType) or not isinstance(content, bytes):
            raise PickleError("the pickle holds an array of objects. It was refused.")
        self.budget.take(len(content))
        super().__setstate__((1, shape_of(shape), kind.numbers(), bool(fortran), content))  # type: ignore[arg-type]
        self.flags.writeable = False


class _Unpickler(pickle.Unpickler):
    def __init__(self, program: bytes, numbers: Callable[[str], bytes], budget: Budget, nested: NestedReader) -> None:
        super().__init__(io.BytesIO(program))
        self._budget = budget
        self._nested = nested
        self._numbers = cache(lambda kind, key: kind.decode(numbers(key)))
        self._made: dict[str, Any] = {}

    def find_class(self, module: str, name: str) -> Any:
        """Give what stands for a name; nothing is imported."""
        full = f"{module}.{name}"
        if full not in self._made:
            self._budget.take(CLASS)
            self._made[full] = self._make(module, name, full)
        return self._made[full]

    def _make(self, module: str, name: str, full: str) -> Any:
        if full == "numpy.dtype":
            return type("NumpyType", (_NumpyType,), {})
        if full in _CONSTRUCTORS:
            return _Constructor(_CONSTRUCTORS[full], self._budget)
        if full == "torch.storage._load_from_bytes":
            return _Constructor(self._read_nested, self._budget)
        if module == "torch" and name in DTYPES:
            return StorageType(name)
        if module.partition(".")[0] in LIBRARIES or full in STAND_INS:
            return type("Inert", (StubObject,), {"origin": full})
        raise PickleError(f"the pickle asks for {full}, which no model needs. It was refused; nothing was executed.")

    def _read_nested(self, budget: Budget, content: Any) -> Any:
        """Read what ``torch`` pickled as the bytes of a whole older file."""
        if not isinstance(content, bytes):
            raise PickleError("the pickle holds a tensor that is made of no bytes.")
        budget.take(len(content))
        return self._nested(content, budget)

    def persistent_load(self, pid: Any) -> Storage:
        """Give the numbers of a tensor's storage."""
        reference = Reference.of(pid)
        data = self._numbers(reference.storage_type, reference.key)
        if data.size < reference.count:
            raise PickleError(
                f"storage {reference.key} holds {data.size} numbers where {reference.count} are announced: cut short?"
            )
        return Storage(data)


def _text(budget: Budget, kind: Any, content: Any) -> str:
    """Make the text that numpy pickled as a scalar of its own."""
    if not isinstance(kind, _NumpyType) or not kind.name.startswith("U") or not isinstance(content, bytes):
        raise PickleError("the pickle holds a numpy scalar that is no text.")
    budget.take(len(content))
    return content.decode("utf-32-le").rstrip("\0")


def _empty_array(budget: Budget, *_: Any) -> Any:
    """Make the array without numbers that ``_Array.__setstate__`` then fills."""
    array = _Array(0, np.uint8)
    array.budget = budget
    return array


def _buffered(budget: Budget, content: Any, kind: Any, shape: Any, order: Any) -> Any:
    """Make an array of the bytes that newer pickles hold."""
    if not isinstance(kind, _NumpyType) or not isinstance(content, bytes | bytearray) or order not in {"C", "F"}:
        raise PickleError("the pickle holds an array that is made of no bytes.")
    budget.take(len(content))
    return np.frombuffer(bytes(content), kind.numbers()).reshape(shape_of(shape), order=order)


def _bytes(budget: Budget, text: Any, encoding: Any) -> bytes:
    """Make the bytes that older pickles spell as text."""
    if not isinstance(text, str) or encoding != "latin1":
        raise PickleError("the pickle encodes something that stands for no bytes.")
    budget.take(len(text))
    return text.encode("latin1")


_CONSTRUCTORS: dict[str, Callable[..., Any]] = {
    # Called without arguments, it is filled item by item: copying collections over and over would take memory.
    "collections.OrderedDict": lambda _: _Ordered(),
    "torch._utils._rebuild_tensor_v2": lambda _, *args: tensor(*args),
    "torch._utils._rebuild_parameter": lambda _, *args: args[0],
    "_codecs.encode": _bytes,
    "numpy.core.multiarray.scalar": _text,
    "numpy._core.multiarray.scalar": _text,
    "numpy.core.multiarray._reconstruct": _empty_array,
    "numpy._core.multiarray._reconstruct": _empty_array,
    "numpy.core.numeric._frombuffer": _buffered,
    "numpy._core.numeric._frombuffer": _buffered,
}


def unpickle(program: bytes, numbers: Callable[[str], bytes], budget: Budget, *, nested: NestedReader) -> Any:
    """Read one pickle: tensors as arrays, instances of classes as :class:`StubObject`.

    Parameters
    ----------
    program
        the pickle
    numbers
        gives the bytes of the numbers that the pickle refers to by a key
    budget
        what is left for all that is decoded from the file
    nested
        reads the bytes of a whole older ``torch.save`` file, which a pickle may hold in place of a tensor

    Raises
    ------
    PickleError
        if it asks for a name or an instruction that no model needs; damage raises whatever it raises
    FileError
        if the budget is spent
    """
    refuse_instructions(program, budget)
    read = _Unpickler(program, numbers, budget, nested).load()
    check_object_graph_size(read, REPEATED * len(program), _parts)
    return read


def _parts(value: Any) -> Iterable[Any]:
    """Tell what a value is made of."""
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, StubObject):
        return (*value.args, *value.state.values())
    return value if isinstance(value, list | tuple | set | frozenset) else ()
