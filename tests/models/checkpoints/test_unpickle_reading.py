"""Sound pickles, read to the value; and any instructions at all, which change nothing that is read."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from kgeval.base.errors import CheckpointError
from kgeval.base.pickled import read_pickled
from kgeval.base.unpickle import StubObject
from tests.models.checkpoints.memory import MEBIBYTE
from tests.models.checkpoints.pickles import (
    BEGINNING,
    EMPTY,
    ORDERED,
    REBUILD,
    TEN,
    archive,
    called,
    dtype,
    filled,
    made,
    named,
    program,
    refuse,
    storage,
    tensor,
    value,
)

KEYS = {(index, -index): 1 for index in range(500)}

SOUND = [
    value(KEYS | {f"Q{index}": [(index, index)] for index in range(2000)}),
    value([2**127, 0x1950A86A20F9469CFC6C, -(2**100)]),
    b"(K\1K\2tq\0" + b"}(h\0h\0K\5(h\0h\0h\0tu",
]


@pytest.mark.parametrize("content", SOUND, ids=["many keys", "large numbers", "shared parts"])
def test_plain_values_are_those_of_python(file, content):
    assert read_pickled(archive(file, program(content))) == pickle.loads(program(content))


def test_what_leads_back_to_itself_is_counted_once(file):
    assert len(read_pickled(archive(file, program(b"]q\0h\0ah\0a")))) == 2


def test_bfloat16_is_read_exactly(file):
    numbers = np.array([0x3F80, 0xC049, 0x0001, 0x7F7F], np.uint16)  # 1, -3.140625, the least and the largest
    view = tensor(storage(count=4, kind="BFloat16Storage"), (4,), (1,))
    read = read_pickled(archive(file, program(view), {"0": numbers.tobytes()}))
    assert read.dtype == np.float32
    assert read.tolist() == [1, -3.140625, 2.0**-133, (2 - 2.0**-7) * 2.0**127]


def test_a_stream_is_read(file):
    whole = program(tensor(storage("7", 6), (2, 3), (3, 1))) + program(value(["7"]))
    file.write_bytes(BEGINNING + whole + (6).to_bytes(8, "little") + np.arange(6, dtype=np.float32).tobytes())
    assert read_pickled(file).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_tensor_of_torch_0_3_is_read(file):
    old = called(named("torch._utils", "_rebuild_tensor"), storage("7", 6), value(2), value((2, 2)), value((2, 1)))
    numbers = np.arange(6, dtype=np.float32)
    file.write_bytes(BEGINNING + program(old) + program(value(["7"])) + (6).to_bytes(8, "little") + numbers.tobytes())
    assert read_pickled(file).tolist() == [[2, 3], [4, 5]]


@pytest.mark.parametrize("module", ["numpy.core.multiarray", "numpy._core.multiarray"])
def test_a_scalar_of_numpy_is_a_text_or_a_number_or_refused(file, module):
    def scalar(kind, content):
        return archive(file, program(called(named(module, "scalar"), dtype(kind), value(content))))

    assert read_pickled(scalar("U3", "abc".encode("utf-32-le"))) == "abc"
    for number in (np.float64(0.1), np.float32(3), np.int64(-5), np.uint8(200), np.bool_(True)):
        found = read_pickled(scalar(number.dtype.str[1:], number.tobytes()))
        assert (found, type(found)) == (number.item(), type(number.item()))
    refuse(scalar("f8", bytes(16)), "a numpy scalar of f8 from 16 bytes")
    refuse(scalar("i4", bytes(3)), "from 3 bytes")
    for kind in ("O", "V8", "M8", "S3"):
        refuse(scalar(kind, bytes(8)), "not plain numbers")


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_numpys_own_pickles_of_scalars_are_read(file, protocol):
    content = {np.str_("ant"): np.int64(3), "norm": np.float64(0.25), "flags": [np.bool_(False), np.float32(2)]}
    file.write_bytes(pickle.dumps(content, protocol=protocol))
    assert read_pickled(file) == {"ant": 3, "norm": 0.25, "flags": [False, 2.0]}


NUMBERS = st.sampled_from(["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"])


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    array=NUMBERS.flatmap(lambda kind: st_numpy.arrays(kind, st_numpy.array_shapes(min_dims=1, max_dims=3))),
    protocol=st.integers(0, 5),
    columns_first=st.booleans(),
)
def test_arrays_are_read_as_numpy_reads_them(file, array, protocol, columns_first):
    array = np.asfortranarray(array) if columns_first else array
    file.write_bytes(pickle.dumps({"ids": array}, protocol=protocol))
    found = read_pickled(file)["ids"]
    assert found.dtype == array.dtype
    assert not found.flags.writeable
    np.testing.assert_array_equal(found, array)


def test_a_sound_file_is_paid_for_once(file):
    """The steps of a pickle are fewer than its bytes, and its numbers are made once."""
    content = {"labels": [f"Q{index}" for index in range(5000)], "ids": np.arange(10 * MEBIBYTE)}
    file.write_bytes(pickle.dumps(content, protocol=4))
    read = read_pickled(file)
    assert read["labels"] == content["labels"]
    np.testing.assert_array_equal(read["ids"], content["ids"])


# Any instructions at all, of the kinds that make and change objects

PARTS = [
    *(storage(), called(ORDERED), EMPTY, filled((2,), value(bytes(8))), filled((10**9, 0), b"C\0"), dtype("f4")),
    *(named("torch", "FloatStorage"), named("torch", "x"), named("numpy", "ndarray"), ORDERED, REBUILD),
    *(made(named("torch", "x")), b"}", b"]", b")", b"h\0", b"h\1", b"h\2"),
    *map(value, ("numbers", "items", "args", "0", "origin", "__class__", "__dict__", "_function")),
    *map(value, (None, 0, 7, -1, 10**9, (2,), (10**9, 0), bytes(40), [1], {}, {"a": 1})),
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
        sane(list(read.values()), seen)
    elif isinstance(read, list | tuple | set):
        for part in read:
            sane(part, seen)
    elif isinstance(read, StubObject):
        sane([*read.args, *read.state.values()], seen)


def test_no_sequence_of_instructions_changes_what_stands_for_what(file):
    rng = random.Random(0)
    read = refused = 0
    for _ in range(400):
        body = [rng.choice(PARTS) + rng.choice([b"", b"", b"q\0", b"q\1", b"q\2"])]
        while len(body) < rng.randrange(2, 14):
            body.append(rng.choice(PARTS) if rng.random() < 0.5 else rng.choice(STEPS))
        archive(file, program(b"(", *body, tensor(storage(), (2, 5), (5, 1)), b"t"), TEN)
        try:
            content = read_pickled(file)
        except CheckpointError:
            refused += 1
            continue
        read += 1
        sane(content[:-1], set())
        assert content[-1].tolist() == np.arange(10.0).reshape(2, 5).tolist()
    assert read > 20
    assert refused > 50
