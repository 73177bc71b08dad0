"""BUILD in hostile pickles: what stands for storages, arrays and dictionaries stays what it was made as."""

from __future__ import annotations

import random
import resource
import subprocess
import sys
from collections import OrderedDict

import numpy as np
import pytest

from kgeval.errors import CheckpointError
from kgeval.pickles.pickled import read_pickle, read_torch
from kgeval.pickles.unpickle import StubObject
from tests.checkpoints.memory import at_most
from tests.checkpoints.pickles import archive, called, made, mapping, named, program, refuse, row, storage, value

TEN = {"0": np.arange(10, dtype=np.float32).tobytes()}

ORDERED = called(named("collections", "OrderedDict"))
REBUILD = named("torch._utils", "_rebuild_tensor_v2")
DTYPE = called(named("numpy", "dtype"), value("f4"), value(False), value(True))
EMPTY = called(named("numpy.core.multiarray", "_reconstruct"), named("numpy", "ndarray"), value((0,)), value(b"b"))


NOTHING = b"C\0"
"""no bytes: protocol 2 would ask for a name"""


def state_of(shape, content):
    """What BUILD gives an array of float32."""
    return row(value(1), value(shape), DTYPE, value(False), content)


def view(numbers, size, stride, offset=0):
    """A tensor on numbers that lie on the stack."""
    return called(REBUILD, numbers, value(offset), value(size), value(stride), value(False), ORDERED)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "model.pkl"


LONG_AND_EMPTY = EMPTY + state_of((10**9, 0), NOTHING) + b"b"
"""an array that says it has a thousand million rows, and has no numbers"""

SHORT = EMPTY + state_of((2,), value(bytes(8))) + b"b"


@pytest.mark.parametrize("numbers", [LONG_AND_EMPTY, SHORT, value([0.0] * 100), value(None)])
@pytest.mark.parametrize("slot", [False, True], ids=["dict", "slot"])
def test_a_storage_keeps_its_numbers(file, numbers, slot):
    state = b"}(" + value("numbers") + numbers + b"u"
    other = storage() + (row(value(None), state) if slot else state) + b"b"
    refuse(archive(file, program(view(other, (10**6,), (1,))), TEN), "tries to change an object")


def test_a_storage_that_lies_about_its_length_is_never_read(file):
    """In a process of its own: without the refusal, it reads beyond its memory."""
    other = storage() + b"}(" + value("numbers") + LONG_AND_EMPTY + b"ub"
    archive(file, program(view(other, (10**8, 4), (4, 1))), TEN)
    said = subprocess.run(
        [sys.executable, "-c", f"from kgeval.pickles.pickled import *; read_torch(Path({str(file)!r})).sum()"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    )
    assert said.returncode == 1, said.returncode
    assert "tries to change an object" in said.stderr


@pytest.mark.parametrize(
    "thing", [named("torch", "FloatStorage"), REBUILD, storage()], ids=["type", "function", "numbers"]
)
@pytest.mark.parametrize("state", [value({"name": "DoubleStorage"}), value(["DoubleStorage"]), value(None), value(5)])
def test_what_a_pickle_is_given_is_sealed(file, thing, state):
    refuse(archive(file, program(thing + state + b"b"), TEN))


def test_an_array_is_filled_once(file):
    twice = EMPTY + state_of((2,), value(bytes(8))) + b"b" + state_of((1,), value(bytes(4))) + b"b"
    refuse(archive(file, program(twice)), "fills an array twice")


def test_a_filled_array_cannot_be_changed_by_its_items(file):
    refuse(archive(file, program(SHORT, value(0), value(5.0), b"s")), "read-only")


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_arrays_are_read_only(tmp_path, protocol):
    import pickle

    (tmp_path / "a.pickle").write_bytes(pickle.dumps([np.arange(3), np.asfortranarray(np.eye(2))], protocol=protocol))
    assert not any(array.flags.writeable for array in read_pickle(tmp_path / "a.pickle"))


@pytest.mark.parametrize("state", [value("<"), value({}), value((3,)), value((3, 5)), value([3, "<"])])
def test_the_numbers_of_an_array_are_described_by_a_tuple(file, state):
    refuse(archive(file, program(DTYPE + state + b"b")), "describes the numbers of an array")


@pytest.mark.parametrize("name", ["items", "get", "keys", "values", "__iter__", "__len__", "pop", "copy"])
@pytest.mark.parametrize("slot", [False, True], ids=["dict", "slot"])
def test_a_dictionary_keeps_its_methods(file, name, slot):
    """As torch writes them, dictionaries of tensors have a state: it must be read, and do nothing."""
    state = mapping(**{name: value(5), "_metadata": ORDERED})
    state = row(value(None), state) if slot else state
    filled = ORDERED + b"(" + value("a") + value(1) + b"u" + state + b"b"
    read = read_torch(archive(file, program(filled)))
    assert isinstance(read, OrderedDict)
    assert list(read.items()) == [("a", 1)]
    assert read.get("a") == 1
    assert vars(read) == {}


@pytest.mark.parametrize(
    "use",
    [
        LONG_AND_EMPTY + b"Q",
        view(storage(), (2,), (1,)) + b"0" + called(REBUILD, storage(), value(0), LONG_AND_EMPTY, value((1,))),
        called(REBUILD, storage(), value(0), value((1,)), LONG_AND_EMPTY),
        called(named("numpy.core.numeric", "_frombuffer"), value(bytes(8)), DTYPE, LONG_AND_EMPTY, value("C")),
        EMPTY + LONG_AND_EMPTY + b"b",
    ],
    ids=["reference", "size", "stride", "shape", "state"],
)
def test_an_array_of_many_rows_and_no_numbers_is_not_walked_over(file, use):
    with at_most(8):
        refuse(archive(file, program(use), TEN))


# Any instructions at all, of the kinds that make and change objects

PARTS = [
    *(storage(), ORDERED, EMPTY, SHORT, LONG_AND_EMPTY, DTYPE, REBUILD, made(named("torch", "x"))),
    *(
        named("torch", "FloatStorage"),
        named("torch", "x"),
        named("numpy", "ndarray"),
        named("collections", "OrderedDict"),
    ),
    *(value(text) for text in ("numbers", "items", "args", "0", "origin", "__class__", "__dict__", "_function")),
    *(value(plain) for plain in (None, 0, 7, -1, 10**9, (2,), (10**9, 0), bytes(40), [1], {}, {"a": 1})),
    *(b"}", b"]", b")", b"h\0", b"h\1", b"h\2"),
]

STEPS = [b"b", b"b", b"R", b"\x81", b"s", b"a", b"\x85", b"\x86", b"\x87", b"2", b"0", b"1", b"Q"]
"""BUILD, REDUCE, NEWOBJ, SETITEM, APPEND, tuples, DUP, POP, POP_MARK, BINPERSID"""


def sane(read, seen):
    """Walk over what was read: every array lies where it says, and dictionaries are dictionaries."""
    if id(read) in seen or len(seen) > 1000:
        return
    seen.add(id(read))
    if isinstance(read, np.ndarray):
        assert not read.flags.writeable or read.size == 0
        assert read.size <= 10
        read.sum()
    elif isinstance(read, dict):
        assert dict(read.items()) == read
        for part in list(read.values()):
            sane(part, seen)
    elif isinstance(read, list | tuple | set):
        for part in read:
            sane(part, seen)
    elif isinstance(read, StubObject):
        sane(list(read.args), seen)
        sane(dict(read.state), seen)


def test_no_sequence_of_instructions_changes_what_stands_for_what(file):
    rng = random.Random(0)
    read = refused = 0
    for _ in range(400):
        body = [rng.choice(PARTS) + rng.choice([b"", b"", b"q\0", b"q\1", b"q\2"])]
        while len(body) < rng.randrange(2, 14):
            body.append(rng.choice(PARTS) if rng.random() < 0.5 else rng.choice(STEPS))
        archive(file, program(b"(", *body, view(storage(), (2, 5), (5, 1)), b"t"), TEN)
        try:
            content = read_torch(file)
        except CheckpointError:
            refused += 1
            continue
        read += 1
        sane(content[:-1], set())
        assert content[-1].tolist() == np.arange(10.0).reshape(2, 5).tolist()
    assert read > 20
    assert refused > 50
