"""Hostile files of pickles: what is decoded is paid from one budget, and no announcement is taken at its word."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
from contextlib import nullcontext

import numpy as np
import pytest

from kgeval import load_checkpoint
from kgeval.base import files as budget
from kgeval.base.errors import CheckpointError, FileError
from kgeval.base.files import Budget
from kgeval.base.pickled import read_pickled, read_stream, strings_of
from kgeval.base.unpickle import unpickle
from tests.models.checkpoints.layouts import ampligraph_rotate, number, save_table
from tests.models.checkpoints.memory import MEBIBYTE, at_most
from tests.models.checkpoints.pickles import (
    BEGINNING,
    EMPTY,
    ORDERED,
    PREFIX,
    archive,
    called,
    dtype,
    named,
    program,
    refuse,
    row,
    storage,
    tensor,
    value,
)

ANY = 64
"""mebibytes that may be decoded from any file"""


def doubled(times, kind=b"t"):
    """A tuple or list of two of the same, of two of the same, and so on; it is the part 255."""
    return b")" + b"".join(b"q%c0(" % index + b"h%c" % index * 2 + kind for index in range(times)) + b"q\xff"


def often(times, *parts):
    """A tuple of a few parts, and of the last one so many times."""
    return b"(" + b"".join(parts[:-1]) + parts[-1] * times + b"t"


BYTES = b"B" + struct.pack("<I", 40_000) + bytes(40_000) + b"q\1"
SHAPE = value((40_000,))
FEW = b"(" + b"N" * 5000 + b"tq\0"
"""a tuple that is made once and given to every call"""

STREAM = BEGINNING + program(value(list(range(1000)))) + program(value([]))
"""a file that torch wrote before version 1.6, of many instructions"""

LATER = b"".join(b"]q%c" % index for index in range(60)) + b"".join(
    b"h%c" % index + b"h%ca" % (index + 1) * 2 for index in range(59)
)
"""lists each of which gets the next one twice while that is still empty"""

NAMES = often(1, *(named("torch", f"x{index}") for index in range(20_000)))

REFUSED = {
    "it unpacks to more than [0-9]+ bytes": {
        "texts as bytes": often(
            4000, value("é" * 40_000), b"q\1", named("_codecs", "encode"), b"q\2", b"h\2(h\1" + value("latin1") + b"tR"
        ),
        "numpy scalars": often(
            4000, BYTES, dtype("U3"), b"q\3", named("numpy.core.multiarray", "scalar"), b"q\2", b"h\2(h\3h\1tR"
        ),
        "arrays": often(2000, BYTES, dtype("u1"), b"q\3", EMPTY + row(value(1), SHAPE, b"h\3", b"\x89", b"h\1") + b"b"),
        "buffers": often(
            2000,
            *(BYTES, dtype("u1"), b"q\3", named("numpy.core.numeric", "_frombuffer"), b"q\2"),
            b"h\2(h\1h\3" + SHAPE + value("C") + b"tR",
        ),
    },
    "too many steps to read": {
        "streams": often(500, value(STREAM), b"q\1", named("torch.storage", "_load_from_bytes"), b"q\2", b"h\2h\1\x85R")
    },
    "the pickle repeats a few values": {
        "copies of sets": often(300, value([*range(2000)]), b"q\1", named("builtins", "set"), b"q\2", b"h\2h\1\x85R"),
        "lists that are filled later": LATER + b"h\0",
        **{
            f"parts of {kind!r} {used!r}": doubled(60, kind) + used
            for kind in (b"t", b"l")
            for used in (b"", b"]h\xffa", b"}K\1h\xffs", named("pykeen.models", "x") + b"h\xff\x85R")
        },
    },
    "takes 1 positional argument": {
        f"copies of a {type(items).__name__}": often(300, value(items), b"q\1", ORDERED, b"q\2", b"h\2h\1\x85R")
        for items in ([(index, None) for index in range(2000)], dict.fromkeys(range(2000)))
    },
    "more than 16 arguments|damaged": {
        **{
            f"{name} by {call!r}": FEW + part + b"q\1" + (b"h\1h\0" + call + b"0") * 500 + b"N"
            for name, part in {
                "a stand-in": named("torch", "foo"),
                "a constructor": named("numpy.core.multiarray", "_reconstruct"),
                "an ordered dictionary": ORDERED,
            }.items()
            for call in (b"R", b"\x81", b"}\x92")
        },
        "a type of numbers": called(named("numpy", "dtype"), value("u1"), *[b"N"] * 5),
        "by name": b"}("
        + b"".join(value(f"k{index}") + b"N" for index in range(5000))
        + b"uq\0"
        + named("torch", "foo")
        + b"q\1"
        + b"h\1)h\0\x92" * 200,
    },
    "": {f"part {put!r}": b"]" + put for put in (b"p-5\n", b"px\n")}
    | {
        f"{opcode!r} of {length}": opcode + struct.pack(form, length)
        for form, opcodes, lengths in (
            ("<I", (b"B", b"X", b"T", b"\x8b"), (2**31 - 1, 2**32 - 1)),
            ("<Q", (b"\x8d", b"\x8e", b"\x95", b"\x96"), (2**32 - 1, 2**40, 2**62, 2**63 - 1)),
        )
        for opcode in opcodes
        for length in lengths
    },
}
"""(what is told, the attack): its instructions"""


@pytest.mark.parametrize(
    ("message", "attack"), [(message, name) for message, attacks in REFUSED.items() for name in attacks]
)
def test_what_asks_for_too_much_is_refused(file, message, attack):
    with at_most(24 + ANY):
        refuse(archive(file, program(REFUSED[message][attack], protocol=5)), message or None)


@pytest.mark.parametrize("put", [b"r\xff\xff\xff\xff", b"r\0\0\0\x10", b"p4294967295\n"])
def test_a_part_with_a_high_number_takes_no_memory(file, put):
    with at_most(8):
        assert read_pickled(archive(file, program(b"]" + put))) == []


# Keys, which are hashed while the pickle is read

KEYS = {
    "the pickle repeats a few values to more than 64": (
        *(b"}h\xffNs", b"}(K\1Nh\xffNu", b"(h\xffNd", b"}h\xff\x85Ns", b"\x8f(h\xff\x90", b"(h\xff\x91"),
    ),
    "": (row(value("storage"), named("torch", "FloatStorage"), b"h\xff", value("cpu"), value(1)) + b"Q",),
}


@pytest.mark.parametrize(("message", "used"), [(message, used) for message, uses in KEYS.items() for used in uses])
def test_keys_that_take_exponential_time_to_hash_are_refused(file, message, used):
    refuse(archive(file, program(doubled(60) + used, protocol=4)), message or None)


# What no table of instructions says


def test_a_stream_of_many_names_makes_few_classes(file):
    file.write_bytes(BEGINNING + program(NAMES) + program(value([])))
    with at_most(8), pytest.raises(FileError, match="it unpacks to"):
        read_stream(file.read_bytes(), Budget(file, times=1, least=MEBIBYTE))


def test_a_stream_of_many_pickles_is_looked_at_for_so_many_only(file):
    """Its words are looked for by every reader that there is."""
    file.write_bytes(BEGINNING * 1000)
    with pytest.raises(FileError, match="too many steps"):
        strings_of(io.BytesIO(file.read_bytes()), Budget(file, times=1, steps=100))


@pytest.mark.parametrize("steps", [50, 500])
def test_every_instruction_is_a_step(file, steps):
    content = program(b"]" + b"0]" * 100)
    file.write_bytes(content)
    told = nullcontext() if steps == 500 else pytest.raises(FileError, match="too many steps")
    with told:
        assert unpickle(content, bytes.fromhex, Budget(file, times=1, steps=steps), nested=read_stream) == []


def test_one_storage_of_many_types_is_paid_for(file):
    kinds = ["DoubleStorage", "FloatStorage", "HalfStorage", "LongStorage", "IntStorage", "ShortStorage", "ByteStorage"]
    views = [tensor(storage(count=8, kind=kind), (8,), (1,)) for kind in kinds]
    refuse(archive(file, program(row(*views)), {"0": bytes(16 * MEBIBYTE)}), "it unpacks to")
    assert len(read_pickled(archive(file, program(row(*views[:3])), {"0": bytes(16 * MEBIBYTE)}))) == 3


def test_numbers_that_are_named_often_are_read_once(file):
    """A few bytes name a mebibyte; a hundred times that is still a mebibyte."""
    reference = storage(count=2**20, kind="ByteStorage")[:-1]
    with at_most(16):
        read = read_pickled(
            archive(file, program(b"(", reference, b"q\x01", b"Qh\x01" * 100, b"t"), {"0": bytes(2**20)})
        )
    assert len(read) == 101


def overlapping(path, count, size=2**21):
    """An archive whose entries all are the same bytes of it."""
    views = [tensor(storage(str(key), size, "ByteStorage"), (size,), (1,)) for key in range(count)]
    archive(path, program(row(*views)), {"0": bytes(size)})
    content = path.read_bytes()
    start, end = content.index(b"PK\1\2"), content.index(b"PK\5\6")
    entry = content[content.rindex(b"PK\1\2", start, end) : end]  # that of the numbers is the last
    entries = content[start:end] + b"".join(
        entry[:28] + struct.pack("<H", len(name)) + entry[30:46] + name
        for name in (f"{PREFIX}/data/{key}".encode() for key in range(1, count))
    )
    tail = bytearray(content[end:])
    struct.pack_into("<HHII", tail, 8, count + 2, count + 2, len(entries), start)
    path.write_bytes(content[:start] + entries + tail)


def test_entries_that_are_the_same_bytes_are_paid_for_each(file):
    overlapping(file, 60)
    with at_most(8 + ANY):
        refuse(file, r"it unpacks to|Overlapped|differ")


@pytest.mark.parametrize(
    ("names", "shape", "message"),
    [
        (["entity"] * 20, (1000, 4), "two arrays have the same name"),
        (["a", "b", "c", "d"], (2**19, 8), "it unpacks to"),
    ],
)
def test_an_archive_of_arrays_unpacks_each_once_and_in_proportion(tmp_path, names, shape, message):
    with zipfile.ZipFile(tmp_path / "m.npz", "w", zipfile.ZIP_DEFLATED) as pack, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there already
        for name in names:
            with pack.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, np.zeros(shape))
    with at_most(8), pytest.raises(CheckpointError, match=message):
        load_checkpoint(tmp_path / "m.npz")


def test_a_small_machine_has_a_small_budget(file, monkeypatch):
    monkeypatch.setattr(budget, "free_memory", lambda: 10_000)
    refuse(
        archive(file, program(tensor(storage(count=2501), (1,), (1,))), {"0": bytes(10_004)}), "more than 10000 bytes"
    )
    refuse(archive(file, program(b"]" + b"0]" * 100)), "too many steps")


def test_keys_of_a_tensorflow_table_do_not_grow_without_end(tmp_path):
    """Each repeats the one before it and adds a byte: so a table of bytes would take its square."""
    ampligraph_rotate(tmp_path)
    entries = b"".join(number(index) + b"\1\0" + b"k" for index in range(20_000))
    save_table(tmp_path / "model/variables", entries + struct.pack("<I", 0))
    with at_most(24), pytest.raises(CheckpointError, match="an entry of the table reaches beyond it"):
        load_checkpoint(tmp_path)
