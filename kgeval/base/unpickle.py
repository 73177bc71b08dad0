"""A safe unpickler: it makes tensors, arrays and plain values; every other object becomes a stub.

``pickled.py`` calls :func:`unpickle` with the bytes of one pickle. A further library whose names model files hold is
added to ``LIBRARIES``; a class that becomes a plain value is added to ``_CONSTRUCTORS``.

A pickle is a program: it names classes and functions, and calls them. Here a name is either one of a few harmless
constructors (tensors, arrays, ordered dictionaries), or, for libraries whose names occur in model files, a stub that
keeps its arguments and does nothing. Any other name is refused without being imported.

Only the instructions that model files need are executed, and the number of values is bounded by the length: a pickle
may use a value many times, so a few bytes can make a tuple that takes exponential time to hash or print.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from reprlib import repr as short
from typing import Any, ClassVar

import numpy as np

from kgeval.base.arrays import bfloat16_to_float32
from kgeval.base.errors import PickleError
from kgeval.base.files import Budget


def unpickle(program: bytes, numbers: Callable[[str], bytes], budget: Budget, *, nested: NestedReader) -> Any:
    """Read one pickle: tensors as arrays, instances of classes as :class:`StubObject`.

    ``numbers`` returns the bytes of the storage (the numbers of a tensor) with a key. ``nested`` reads the bytes of a
    ``torch.save`` file of the older format, which a pickle may contain in place of a tensor.
    """
    refuse_instructions(program, budget)
    value = _Unpickler(program, numbers, budget, nested).load_known()
    check_object_graph_size(value, MAX_VALUES_PER_BYTE * len(program), _parts)
    return value


FORBIDDEN = {"NEXT_BUFFER", "READONLY_BUFFER", "EXT1", "EXT2", "EXT4", "INST", "OBJ", "PERSID"}
"""instructions that no model file has, and that could take memory or run code out of proportion to its size"""


def refuse_instructions(program: bytes, budget: Budget) -> None:
    """Refuse a pickle by its instructions, without executing them."""
    for opcode, _, _ in pickletools.genops(program):
        budget.step()
        if opcode.name in FORBIDDEN:
            raise PickleError(f"the pickle has the instruction {opcode.name}, which no model needs. It was refused.")


MAX_VALUES_PER_BYTE = 64
"""the most values for each byte of a pickle, each counted as often as it is used"""


def check_object_graph_size(value: Any, most: int, parts: Callable[[Any], Iterable[Any]]) -> None:
    """Refuse a value that consists of more than ``most`` values, each counted as often as it is used.

    ``parts`` returns the values that a value directly consists of; a cycle is followed once.
    """
    sizes: dict[int, int] = {}
    stack = [(value, False)]
    while stack:  # depth first, parts before wholes
        whole, after_parts = stack.pop()
        if after_parts:
            sizes[id(whole)] = 1 + sum(sizes.get(id(part), 1) for part in parts(whole))
            if sizes[id(whole)] > most:
                raise PickleError(f"the pickle repeats a few values to more than {most}. It was refused.")
        elif id(whole) not in sizes:
            sizes[id(whole)] = 1
            stack.append((whole, True))
            stack.extend((part, False) for part in parts(whole))


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, StubObject):
        return (*value.args, *value.state.values())
    return value if isinstance(value, list | tuple | set | frozenset) else ()


MAX_KEY_SIZE = 64
"""the most values in a key of a dictionary, which is hashed while the pickle is read"""


def _with_keys(code: bytes, first: int | None, step: int) -> Callable[[Any], None]:
    """Make the handler of an instruction that hashes keys: it checks the size of the keys on the stack before."""
    load: Callable[[Any], None] = pickle._Unpickler.dispatch[code[0]]

    def checked(unpickler: Any) -> None:
        for key in unpickler.stack[first::step]:
            if isinstance(key, tuple):
                check_object_graph_size(key, MAX_KEY_SIZE, lambda part: part if isinstance(part, tuple) else ())
        load(unpickler)

    return checked


class BoundedUnpickler(pickle._Unpickler):
    """Python's own unpickler, changed to check each key of a dictionary or set before it is hashed."""

    dispatch = {  # noqa: RUF012  # the name in the base class
        **pickle._Unpickler.dispatch,
        pickle.SETITEM[0]: _with_keys(pickle.SETITEM, -2, 2),
        **{code[0]: _with_keys(code, None, 2) for code in (pickle.SETITEMS, pickle.DICT)},
        **{code[0]: _with_keys(code, None, 1) for code in (pickle.ADDITEMS, pickle.FROZENSET)},
    }


LIBRARIES = (
    *("torch", "__torch__", "pykeen", "kge", "class_resolver", "gensim"),
    *("pytorch_lightning", "lightning", "numpy", "scipy", "collections", "functools", "pathlib"),
)
"""top-level packages whose names become stubs"""

STUBS = (
    *("builtins.getattr", "builtins.set", "__builtin__.getattr", "__builtin__.set", "argparse.Namespace"),
    *(f"{module}.{name}" for module in ("builtins", "__builtin__") for name in ("int", "long", "hash")),
    *(f"torch_geometric.nn.kge.{name.lower()}.{name}" for name in ("TransE", "DistMult", "ComplEx", "RotatE")),
)
"""further names that become stubs"""

STUB_CLASS_SIZE = 2**11
"""the bytes that a stub class takes"""

NestedReader = Callable[[bytes, Budget], Any]
"""reads a file that is stored as bytes in a pickle"""


class _Unpickler(BoundedUnpickler):
    def __init__(self, program: bytes, numbers: Callable[[str], bytes], budget: Budget, nested: NestedReader) -> None:
        super().__init__(io.BytesIO(program))
        self._budget = budget
        self._nested = nested
        self._numbers = cache(lambda kind, key: kind.decode(numbers(key)))
        self._classes: dict[str, Any] = {}
        self._unknown: list[type[StubObject]] = []
        """the stubs of names that are in neither ``LIBRARIES`` nor ``STUBS``"""

    def load_known(self) -> Any:
        """Load the pickle; refuse it if it asks for a name of no known library, except a user's PyTorch module."""
        try:
            return self.load()
        finally:
            if other := next((stub.origin for stub in self._unknown if not stub.is_module), None):
                raise PickleError(f"the pickle asks for {other}, which no model needs. Nothing was executed.")

    def find_class(self, module: str, name: str) -> Any:
        """Return the constructor or stub of a name; nothing is imported."""
        full_name = f"{module}.{name}"
        if full_name not in self._classes:
            self._budget.take(STUB_CLASS_SIZE)
            self._classes[full_name] = self._make_class(module, name, full_name)
        return self._classes[full_name]

    def _make_class(self, module: str, name: str, full_name: str) -> Any:
        if full_name == "numpy.dtype":
            return type("NumpyType", (_NumpyType,), {})
        constructor = _CONSTRUCTORS.get(full_name.replace("numpy._core.", "numpy.core.", 1))  # as numpy 2 calls it
        if constructor is not None:
            return _Constructor(constructor, self._budget)
        if full_name == "torch.storage._load_from_bytes":
            return _Constructor(self._read_nested, self._budget)
        if module == "torch" and name in DTYPES:
            return StorageType(name)
        stub = type("Stub", (StubObject,), {"origin": full_name})
        if module.partition(".")[0] not in LIBRARIES and full_name not in STUBS:
            self._unknown.append(stub)
        return stub

    def _read_nested(self, budget: Budget, content: Any) -> Any:
        """Read a file of the older format that ``torch`` has pickled as bytes."""
        if not isinstance(content, bytes):
            raise PickleError("the pickle makes a tensor from something that is not bytes.")
        budget.take(len(content))
        return self._nested(content, budget)

    def persistent_load(self, pid: Any) -> Storage | type[StubObject]:
        """Return the numbers of a tensor's storage, or the class of a module, which torch named so before 1.6."""
        if (module := module_class(pid)) is not None:
            return module
        reference = Reference.of(pid)
        data = self._numbers(reference.storage_type, reference.key)
        if data.size < reference.count:
            fault = f"storage {reference.key} holds {data.size} numbers where {reference.count} are announced"
            raise PickleError(f"{fault}. The file may be cut short.")
        return Storage(data)


def module_class(pid: Any) -> type[StubObject] | None:
    """Return the class of a persistent id ("module", class, its file, its source); None if it is of another kind."""
    is_module = isinstance(pid, tuple) and len(pid) == 4 and pid[0] == "module"
    return pid[1] if is_module and isinstance(pid[1], type) and issubclass(pid[1], StubObject) else None


MAX_ARGUMENTS = 16
"""the most arguments of a call: Python copies them for every call, and the budget does not count the copies"""


class StubObject:
    """Represents an object whose class is never imported."""

    origin: ClassVar[str] = ""
    """module and name of the class"""
    is_module: ClassVar[bool] = False
    """whether an object of the class has the state of a PyTorch module"""

    args: tuple[Any, ...]
    state: dict[str, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> StubObject:
        """Keep the positional arguments, here because pickles may skip ``__init__``."""
        _refuse_many_arguments(len(args) + len(kwargs))
        stub = object.__new__(cls)
        stub.args, stub.state = args, {}
        return stub

    def __init__(self, *_: Any, **__: Any) -> None:
        """Do nothing with the arguments."""

    def __setstate__(self, state: Any) -> None:
        self.state = state if isinstance(state, dict) else {"state": state}
        type(self).is_module |= {"_modules", "_parameters"} <= self.state.keys()

    def __setitem__(self, key: Any, value: Any) -> None:
        """Ignore the items of unknown mappings."""

    def append(self, value: Any) -> None:
        """Ignore the items of unknown lists."""

    @property
    def class_name(self) -> str:
        return self.origin.rpartition(".")[2]


def _refuse_many_arguments(count: int) -> None:
    if count > MAX_ARGUMENTS:
        raise PickleError(f"the pickle calls a function with more than {MAX_ARGUMENTS} arguments. It was refused.")


class Immutable:
    """An object that a pickle cannot change: BUILD, which sets the state of an object, is refused."""

    def __setstate__(self, state: Any) -> None:
        raise PickleError("the pickle tries to change an object that it did not make. It was refused.")


class _Constructor(Immutable):
    """A function that a pickle may call."""

    def __init__(self, function: Callable[..., Any], budget: Budget) -> None:
        self._function, self._budget = function, budget

    def __call__(self, *args: Any) -> Any:
        _refuse_many_arguments(len(args))
        return self._function(self._budget, *args)


@dataclass(frozen=True)
class Reference:
    """A reference of a pickle to a storage outside of it."""

    storage_type: StorageType
    key: str
    count: int

    @classmethod
    def of(cls, pid: Any) -> Reference:
        """Parse a persistent id."""
        match pid:
            case ("storage", StorageType() as kind, str() | int() as key, _, int() as count, *view):
                if all(part is None for part in view):
                    return cls(kind, str(key), count)
        raise PickleError(f"the pickle refers to an unknown kind of data ({short(pid)}).")


HALF = "BFloat16Storage"
"""torch's name for a storage of bfloat16 numbers, which numpy lacks"""

DTYPES = {
    "DoubleStorage": np.float64,
    "FloatStorage": np.float32,
    "HalfStorage": np.float16,
    HALF: np.uint16,
    "LongStorage": np.int64,
    "IntStorage": np.int32,
    "ShortStorage": np.int16,
    "CharStorage": np.int8,
    "ByteStorage": np.uint8,
    "BoolStorage": np.bool_,
    "ComplexFloatStorage": np.complex64,
    "ComplexDoubleStorage": np.complex128,
}
"""torch's name for a storage -> the dtype of its numbers; for bfloat16, of their bits"""


@dataclass(frozen=True)
class StorageType(Immutable):
    """The type of the numbers of a tensor."""

    name: str

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy dtype of the numbers; for bfloat16, which numpy lacks, of their bits."""
        return np.dtype(DTYPES[self.name])

    def decode(self, content: bytes) -> np.ndarray[Any, Any]:
        numbers: np.ndarray[Any, Any] = np.frombuffer(content, self.dtype)
        return bfloat16_to_float32(numbers) if self.name == HALF else numbers


@dataclass(frozen=True)
class Storage(Immutable):
    """The numbers that tensors are views of."""

    numbers: np.ndarray[Any, Any]
    """numbers in one dimension"""


def tensor(storage: Storage, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: Any) -> Any:
    """Make a strided view of a storage; one that exceeds the storage is refused."""
    if not isinstance(storage, Storage):
        raise PickleError("a tensor is made from something that is not a storage.")
    data, size, stride = storage.numbers, shape_of(size), shape_of(stride)
    last = offset + sum((length - 1) * step for length, step in zip(size, stride, strict=True))
    numbers = int(np.prod(size, dtype=object))
    if offset < 0 or (numbers and last >= data.size) or numbers > data.size:
        raise PickleError(f"a tensor of shape {size} does not fit into its storage of {data.size} numbers.")
    steps = [step * data.itemsize if length > 1 else 0 for length, step in zip(size, stride, strict=True)]
    return np.lib.stride_tricks.as_strided(data[offset:], size, steps, writeable=False)


def shape_of(lengths: Any) -> tuple[int, ...]:
    """Refuse what is no shape of an array."""
    if not isinstance(lengths, tuple) or not all(isinstance(length, int) and length >= 0 for length in lengths):
        raise PickleError(f"the pickle holds an array of the shape {short(lengths)}.")
    return lengths


class _OrderedDict(OrderedDict[Any, Any]):
    """An ordered dictionary without further attributes: those that torch adds do not affect scores."""

    def __setstate__(self, state: Any) -> None:
        """Ignore attributes."""


NUMBERS = {"b1", "f2", "f4", "f8", *(f"{sign}{size}" for sign in "iu" for size in (1, 2, 4, 8))}
"""numpy's names of numeric dtypes"""


class _NumpyType:
    """A numpy dtype of text or of plain numbers; model files need no others."""

    def __init__(self, name: Any = "", _align: Any = None, _copy: Any = None) -> None:
        self.name = name if isinstance(name, str) else ""
        self.order = "<"

    def __setstate__(self, state: Any) -> None:
        """Take the byte order; the rest describes structured dtypes, which model files do not have."""
        if not isinstance(state, tuple) or len(state) < 2 or not isinstance(state[1], str):
            raise PickleError(f"the pickle describes the numbers of an array by {short(state)}.")
        self.order = state[1]

    def numeric(self) -> np.dtype[Any]:
        if self.name not in NUMBERS or self.order not in {"<", "|", "="}:
            raise PickleError(f"the pickle holds an array of {self.order}{self.name}, which are not plain numbers.")
        return np.dtype(self.name)


class _Array(np.ndarray[Any, Any]):
    """An array that a pickle fills at most once, with plain numbers."""

    budget: Budget

    def __setstate__(self, state: Any) -> None:
        if not self.flags.writeable:  # its numbers may be in use already
            raise PickleError("the pickle fills an array twice. It was refused.")
        _, shape, kind, fortran, content = state
        if not isinstance(kind, _NumpyType) or not isinstance(content, bytes):
            raise PickleError("the pickle holds an array of objects. It was refused.")
        self.budget.take(len(content))
        super().__setstate__((1, shape_of(shape), kind.numeric(), bool(fortran), content))  # type: ignore[arg-type]
        self.flags.writeable = False


def _scalar(budget: Budget, kind: Any, content: Any) -> str | int | float | bool:
    """Return the text or the number of a numpy scalar, as one of Python's own."""
    if not isinstance(kind, _NumpyType) or not isinstance(content, bytes):
        raise PickleError("the pickle makes a numpy scalar from something that is not bytes.")
    budget.take(len(content))
    if kind.name.startswith("U"):
        return content.decode("utf-32-le").rstrip("\0")
    if len(content) != kind.numeric().itemsize:
        raise PickleError(f"the pickle makes a numpy scalar of {kind.name} from {len(content)} bytes.")
    value: int | float | bool = np.frombuffer(content, kind.numeric())[0].item()
    return value


def _empty_array(budget: Budget, *_: Any) -> Any:
    """Return an empty array, which ``_Array.__setstate__`` then fills."""
    array = _Array(0, np.uint8)
    array.budget = budget
    return array


def _array_from_buffer(budget: Budget, content: Any, kind: Any, shape: Any, order: Any) -> Any:
    """Return an array of bytes, as newer pickles store it."""
    if not isinstance(kind, _NumpyType) or not isinstance(content, bytes | bytearray) or order not in {"C", "F"}:
        raise PickleError("the pickle makes an array from something that is not bytes.")
    budget.take(len(content))
    return np.frombuffer(bytes(content), kind.numeric()).reshape(shape_of(shape), order=order)


def _bytes(budget: Budget, text: Any, encoding: Any) -> bytes:
    if not isinstance(text, str) or encoding != "latin1":
        raise PickleError("the pickle encodes something that is not bytes.")
    budget.take(len(text))
    return text.encode("latin1")


_CONSTRUCTORS: dict[str, Callable[..., Any]] = {
    # Only without arguments: copies of copies of a collection would take unbounded memory.
    "collections.OrderedDict": lambda _: _OrderedDict(),
    "torch._utils._rebuild_tensor": lambda _, *args: tensor(*args),  # up to version 0.3
    "torch._utils._rebuild_tensor_v2": lambda _, *args: tensor(*args),
    "torch._utils._rebuild_parameter": lambda _, *args: args[0],
    "_codecs.encode": _bytes,
    "numpy.core.multiarray.scalar": _scalar,
    "numpy.core.multiarray._reconstruct": _empty_array,
    "numpy.core.numeric._frombuffer": _array_from_buffer,
}
"""a name that a pickle may call -> the function that is called instead, with the budget as its first argument"""
