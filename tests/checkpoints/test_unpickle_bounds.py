"""Hostile pickles: no tensor reaches beyond its numbers, and no announcement is taken at its word."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from kgeval import load_checkpoint
from kgeval.errors import CheckpointError
from kgeval.pickles.pickled import read_torch
from kgeval.pickles.unpickle import StubObject
from tests.checkpoints.memory import at_most
from tests.checkpoints.pickles import archive, made, named, program, refuse, row, storage, tensor, value
from tests.checkpoints.test_unpickle_attacks import ORDERED, REBUILD, TEN


@pytest.fixture
def file(tmp_path):
    return tmp_path / "model.pkl"


# Tensors


def test_a_sound_tensor_is_read(file):
    view = tensor(storage(), (2, 3), (1, 2), offset=3)
    assert read_torch(archive(file, program(view), TEN)).tolist() == [[3, 5, 7], [4, 6, 8]]


def test_bfloat16_is_read_exactly(file):
    numbers = np.array([0x3F80, 0xC049, 0x0001, 0x7F7F], np.uint16)  # 1, -3.140625, the least and the largest
    view = tensor(storage(count=4, kind="BFloat16Storage"), (4,), (1,))
    read = read_torch(archive(file, program(view), {"0": numbers.tobytes()}))
    assert read.dtype == np.float32
    assert read.tolist() == [1, -3.140625, 2.0**-133, (2 - 2.0**-7) * 2.0**127]


def test_tensors_cannot_be_written_to(file):
    assert not read_torch(archive(file, program(tensor(storage(), (10,), (1,))), TEN)).flags.writeable


@pytest.mark.parametrize(
    ("size", "stride", "offset"),
    [
        ((2, 6), (5, 1), 0),
        ((2, 5), (6, 1), 0),
        ((2, 5), (5, 1), 1),
        ((11,), (1,), 0),
        ((1,), (1,), 10),
        ((), (), 10),
        ((2,), (2**62,), 0),
        ((2**62, 4), (1, 1), 0),
        ((1,), (1,), 2**63),
        ((2, 2), (1, 1), -1),
        ((3,), (-1,), 5),
        ((-3,), (1,), 0),
        ((-2, -5), (5, 1), 0),
        ((2, 2), (1,), 0),
        ((2,), (1, 1), 0),
        ((2.0,), (1,), 0),
        (("2",), (1,), 0),
        ((2,), (None,), 0),
        ((2,), (1,), 0.5),
        ((2,), (1,), "0"),
        (None, (1,), 0),
        (5, 1, 0),
    ],
)
def test_a_tensor_outside_its_storage_is_refused(file, size, stride, offset):
    refuse(archive(file, program(tensor(storage(), size, stride, offset)), TEN))


@pytest.mark.parametrize(
    ("size", "stride"),
    [
        ((2**31, 2**31), (0, 0)),
        ((11,), (0,)),
        ((10, 10), (1, 0)),
        ((2**20, 2**20), (0, 0)),
        ((0, 2**62, 2**62), (0, 0, 0)),
    ],
)
def test_a_tensor_larger_than_its_storage_is_refused(file, size, stride):
    with at_most(8):
        refuse(archive(file, program(tensor(storage(), size, stride)), TEN))


@pytest.mark.parametrize("offset", [0, 9])
def test_a_tensor_is_no_storage(file, offset):
    """A stretched view says that it is long; taken for a storage, it would let the next one read beyond the numbers."""
    stretched = tensor(storage(), (10,), (0,), offset=9)
    refuse(archive(file, program(tensor(stretched, (10 - offset,), (1,), offset=offset)), TEN))


@pytest.mark.parametrize(
    "thing",
    [value([1.0] * 10), value("0123456789"), value(b"0123456789"), value(None), made(named("torch", "x")), REBUILD],
)
def test_nothing_else_is_a_storage_either(file, thing):
    refuse(archive(file, program(tensor(thing, (2,), (1,)))))


@pytest.mark.parametrize(
    "reference",
    [
        storage(count=11),
        storage(key="1"),
        storage(key="../data.pkl"),
        storage(key="../../../../../../etc/passwd"),
        storage(key="/etc/passwd"),
        storage(key=""),
        storage(kind="UntypedStorage"),
        storage(kind="NoStorage"),
        storage(kind="DoubleStorage"),
        storage(count="10"),
        storage(count=None),
        value("0") + b"Q",
        value(("storage",)) + b"Q",
        value(("storage", "FloatStorage", "0", "cpu", 10)) + b"Q",
        row(value("module"), named("torch", "FloatStorage"), value("0"), value("cpu"), value(10)) + b"Q",
    ],
    ids=[
        *("too short", "wrong key", "the pickle itself", "traversal", "absolute", "no key", "untyped"),
        *("unknown type", "too wide", "text count", "no count", "text", "short tuple", "text type", "other kind"),
    ],
)
def test_a_reference_to_numbers_that_are_not_there_is_refused(file, reference):
    refuse(archive(file, program(tensor(reference, (2,), (1,))), TEN))


def test_a_key_never_leads_out_of_the_archive(file, tmp_path):
    (tmp_path / "secret").write_bytes(bytes(40))
    refuse(archive(file, program(tensor(storage(key=f"../../{tmp_path}/secret"), (10,), (1,)))))


# Memory


@pytest.mark.parametrize("length", [2**32 - 1, 2**40, 2**62, 2**63 - 1])
@pytest.mark.parametrize(
    ("opcode", "width"),
    [(b"B", 4), (b"X", 4), (b"T", 4), (b"\x8b", 4), (b"\x8d", 8), (b"\x8e", 8), (b"\x95", 8), (b"\x96", 8)],
    ids=["BINBYTES", "BINUNICODE", "BINSTRING", "LONG4", "BINUNICODE8", "BINBYTES8", "FRAME", "BYTEARRAY8"],
)
def test_announced_lengths_ask_for_nothing(file, opcode, width, length):
    announced = opcode + struct.pack("<Q", length)[:width] if width == 8 else opcode + struct.pack("<I", 2**31 - 1)
    with at_most(8):
        refuse(archive(file, program(announced, protocol=5)))


@pytest.mark.parametrize(
    "put", [b"r" + struct.pack("<I", 2**32 - 1), b"r" + struct.pack("<I", 2**28), b"p4294967295\n", b"p-5\n", b"px\n"]
)
def test_memo_numbers_ask_for_nothing(file, put):
    with at_most(8):
        refuse(archive(file, program(b"]", put)))


def test_numbers_that_are_named_often_are_read_once(file):
    """A few bytes name a mebibyte; a hundred times that is still a mebibyte."""
    reference = storage(count=2**20, kind="ByteStorage")[:-1]
    often = program(b"(", reference, b"q\x01", b"Qh\x01" * 100, b"t")
    with at_most(16):
        read = read_torch(archive(file, often, {"0": bytes(2**20)}))
    assert len(read) == 101


@pytest.mark.parametrize(
    ("kind", "items"),
    [
        (named("builtins", "set"), value([*range(2000)])),
        (ORDERED, value([(index, None) for index in range(2000)])),
        (ORDERED, value(dict.fromkeys(range(2000)))),
    ],
    ids=["set", "dict of pairs", "dict of dict"],
)
def test_collections_cannot_be_copied_over_and_over(file, kind, items):
    copies = program(b"(", items, b"q\x01", kind, b"q\x02", b"h\x02h\x01\x85R" * 300, b"t")
    with at_most(16), pytest.raises(CheckpointError, match=r"by repeating them|takes 1 positional argument"):
        read_torch(archive(file, copies))


def test_sets_of_tensors_cannot_be_made(file):
    numbers = tensor(storage(count=50_000), (50_000,), (1,))
    copies = program(b"(", numbers, b"q\x01", named("builtins", "set"), b"q\x02", b"h\x02h\x01\x85R" * 10, b"t")
    with at_most(16):
        _, kind, *sets = read_torch(archive(file, copies, {"0": np.arange(50_000, dtype=np.float32).tobytes()}))
    assert issubclass(kind, StubObject)
    assert [type(one) for one in sets] == [kind] * 10


@pytest.mark.parametrize("deep", [b"(" * 30_000 + b"l" * 30_000, b")" + b"\x85" * 30_000, b"}" + b"}N\x86s" * 3])
def test_deep_nesting_is_no_crash(file, deep):
    with pytest.raises(CheckpointError, match=r"in no known checkpoint format|damaged"):
        load_checkpoint(archive(file, program(deep)))


# Time: a few instructions that make a value of very many parts, all of them the same


def doubled(times, kind=b"t"):
    """A tuple or list of two of the same, of two of the same, and so on."""
    return b")" + b"".join(b"q%c0(" % index + b"h%c" % index * 2 + kind for index in range(times)) + b"q\xff"


@pytest.mark.parametrize(
    "used",
    [b"}h\xffNs", b"}(K\1Nh\xffNu", b"(h\xffNd", b"\x8f(h\xff\x90", b"(h\xff\x91", b"}h\xff\x85Ns"],
    ids=["SETITEM", "SETITEMS", "DICT", "ADDITEMS", "FROZENSET", "in a tuple"],
)
def test_a_key_of_many_parts_is_refused_before_it_is_hashed(file, used):
    refuse(archive(file, program(doubled(60), used, protocol=4)), "a key that is made of more than 64 values")


@pytest.mark.parametrize("kind", [b"t", b"l"])
@pytest.mark.parametrize("used", [b"", b"]h\xffa", b"}K\1h\xffs", named("pykeen.models", "x") + b"h\xff\x85R"])
def test_a_value_of_many_parts_is_refused_before_it_is_printed(file, kind, used):
    refuse(archive(file, program(doubled(60, kind), used)), "by repeating them")


def test_lists_that_are_filled_later_are_counted_when_they_are_full(file):
    """Each list gets the next one twice while that is still empty."""
    filled = b"".join(b"]q%c" % index for index in range(60))
    filled += b"".join(b"h%c" % index + b"h%ca" % (index + 1) * 2 for index in range(59))
    refuse(archive(file, program(filled, b"h\0")), "by repeating them")


def test_what_leads_back_to_itself_is_counted_once(file):
    assert len(read_torch(archive(file, program(b"]q\0h\0ah\0a")))) == 2


def test_sound_keys_and_values_may_be_used_again(file):
    shared = b"(K\1K\2tq\0" + b"}(h\0h\0K\5(h\0h\0h\0tu"
    assert read_torch(archive(file, program(shared))) == {(1, 2): (1, 2), 5: ((1, 2), (1, 2), (1, 2))}


def test_references_of_many_parts_are_refused_before_they_are_hashed(file):
    named_by = row(value("storage"), named("torch", "FloatStorage"), b"h\xff", value("cpu"), value(1)) + b"Q"
    refuse(archive(file, program(doubled(60), named_by)))
