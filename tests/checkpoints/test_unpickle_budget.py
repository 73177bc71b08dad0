"""Hostile files of pickles: what is decoded is paid from one budget, so that little is never much."""

from __future__ import annotations

import struct
import zipfile
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from kgeval import load_checkpoint
from kgeval.errors import CheckpointError, FileError
from kgeval.files import opening as budget
from kgeval.files.opening import Budget
from kgeval.pickles import pickled
from kgeval.pickles.bounds import refuse_instructions
from kgeval.pickles.pickled import pickle_strings, read_pickle, read_torch
from tests.checkpoints.memory import at_most
from tests.checkpoints.pickles import PREFIX, archive, called, named, program, row, storage, tensor, value
from tests.checkpoints.test_unpickle_attacks import BEGINNING, stream

MEBIBYTE = 2**20

TIMES = 4000


@pytest.fixture
def file(tmp_path):
    return tmp_path / "model.pkl"


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """The same proportions with smaller numbers."""
    monkeypatch.setattr(budget, "LEAST", MEBIBYTE)


def often(content, function, *rest):
    """Call a function with the same content many times."""
    return program(b"(", content, b"q\1", function, b"q\2", (b"h\2(h\1" + b"".join(rest) + b"tR") * TIMES, b"t")


TEXT = called(named("numpy", "dtype"), value("U3"), value(False), value(True))
NUMBERS = called(named("numpy", "dtype"), value("u1"), value(False), value(True))
BYTES = b"B" + struct.pack("<I", 40_000) + bytes(40_000)
EMPTY = called(named("numpy.core.multiarray", "_reconstruct"), named("numpy", "ndarray"), value((0,)), value(b"b"))

REPEATED = {
    "_codecs.encode": often(value("é" * 40_000), named("_codecs", "encode"), value("latin1")),
    "numpy scalars": program(
        b"(", BYTES, b"q\1", TEXT, b"q\3", named("numpy.core.multiarray", "scalar"), b"q\2",
        b"h\2(h\3h\1tR" * TIMES, b"t",
    ),
    "arrays": program(
        b"(", BYTES, b"q\1", NUMBERS, b"q\3",
        (EMPTY + row(value(1), value((40_000,)), b"h\3", b"\x89", b"h\1") + b"b") * 500, b"t",
    ),
    "buffers": program(
        b"(", BYTES, b"q\1", NUMBERS, b"q\3", named("numpy.core.numeric", "_frombuffer"), b"q\2",
        (b"h\2(h\1h\3" + value((40_000,)) + value("C") + b"tR") * 500, b"t",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REPEATED)
def test_what_is_said_once_is_not_made_again_and_again(file, name):
    archive(file, REPEATED[name])
    with at_most(24), pytest.raises(CheckpointError, match=r"it unpacks to more than [0-9]+ bytes"):
        read_torch(file)


def test_streams_in_a_pickle_are_not_read_again_and_again(file):
    inner = stream(*BEGINNING, program(value(list(range(1000)))), program(value([])))
    loads = named("torch.storage", "_load_from_bytes")
    archive(file, program(b"(", value(inner), b"q\1", loads, b"q\2", b"h\2h\1\x85R" * 500, b"t"))
    with at_most(24), pytest.raises(FileError, match="it takes more steps to read than a sound file of"):
        read_torch(file)


def test_a_stream_of_many_pickles_is_looked_at_for_so_many_only(tmp_path, monkeypatch):
    """Its words are looked for by every reader that there is."""
    monkeypatch.setattr(budget, "LEAST_STEPS", 100)
    monkeypatch.setattr(budget, "MOST_STEPS", 100)
    followed = []
    genops = pickled.pickletools.genops
    monkeypatch.setattr(
        pickled.pickletools, "genops", lambda file: (followed.append(one) or one for one in genops(file))
    )
    path = tmp_path / "m.pt"
    path.write_bytes(BEGINNING[0] * 1000)
    assert pickle_strings(path) == frozenset()
    assert len(followed) <= 101


@pytest.mark.parametrize("steps", [50, 500])
def test_every_instruction_is_a_step(file, monkeypatch, steps):
    monkeypatch.setattr(budget, "LEAST_STEPS", steps)
    monkeypatch.setattr(budget, "STEPS", 0)
    archive(file, program(b"]" + b"0]" * 100))
    if steps == 500:
        assert read_torch(file) == []
    else:
        with pytest.raises(FileError, match="more steps"):
            read_torch(file)


def test_a_number_has_a_bounded_length(file):
    """Large numbers can be chosen to fall on one place of a dictionary: it would compare each with all."""
    keys = b"".join(value(index * (2**61 - 1) + 2**70) + value(None) for index in range(100))
    with pytest.raises(CheckpointError, match="more than 16 beyond 64"):
        read_torch(archive(file, program(b"}(" + keys + b"u")))
    few = [2**127, 0x1950A86A20F9469CFC6C, -(2**100)]
    assert read_torch(archive(file, program(value(few)))) == few
    with pytest.raises(CheckpointError, match="a number beyond 256 bits"):
        read_torch(archive(file, program(value(2**300))))


def test_names_are_paid_for(file):
    names = b"".join(named("torch", f"x{index}") for index in range(2000))
    with pytest.raises(FileError, match="it unpacks to"):
        read_torch(archive(file, program(b"(", names, b"t")))


def test_one_storage_of_many_types_is_paid_for(file):
    kinds = ["DoubleStorage", "FloatStorage", "HalfStorage", "LongStorage", "IntStorage", "ShortStorage", "ByteStorage"]
    views = [tensor(storage(count=8, kind=kind), (8,), (1,)) for kind in kinds]
    with pytest.raises(FileError, match="it unpacks to"):
        read_torch(archive(file, program(row(*views)), {"0": bytes(MEBIBYTE)}))
    assert len(read_torch(archive(file, program(row(*views[:3])), {"0": bytes(MEBIBYTE)}))) == 3


def overlapping(path, count, size=2**18):
    """An archive whose entries all are the same bytes of it."""
    views = [tensor(storage(str(key), size, "ByteStorage"), (size,), (1,)) for key in range(count)]
    archive(path, program(row(*views)), {"0": bytes(size)})
    content = path.read_bytes()
    start = content.index(b"PK\1\2")
    end = content.index(b"PK\5\6")
    with zipfile.ZipFile(path) as pack:
        names = [info.filename for info in pack.infolist()]
    assert names[-1] == f"{PREFIX}/data/0"
    entry = content[content.rindex(b"PK\1\2", start, end) : end]
    entries = content[start:end] + b"".join(
        entry[:28] + struct.pack("<H", len(name)) + entry[30:46] + name
        for name in (f"{PREFIX}/data/{key}".encode() for key in range(1, count))
    )
    tail = bytearray(content[end:])
    struct.pack_into("<HHII", tail, 8, count + 2, count + 2, len(entries), start)
    path.write_bytes(content[:start] + entries + tail)


def test_entries_that_are_the_same_bytes_are_paid_for_each(file):
    overlapping(file, 60)
    with at_most(8), pytest.raises(CheckpointError, match=r"it unpacks to|Overlapped|differ"):
        read_torch(file)


def test_a_compressed_mark_of_the_byte_order_is_refused_unread(file):
    with zipfile.ZipFile(file, "w") as pack:
        pack.writestr("archive/data.pkl", program(b"N"))
        pack.writestr("archive/byteorder", bytes(2**26), zipfile.ZIP_DEFLATED)
    with at_most(8), pytest.raises(CheckpointError, match="compressed"):
        read_torch(file)


def npz(path, members, compression=zipfile.ZIP_DEFLATED):
    import warnings

    with zipfile.ZipFile(path, "w", compression) as pack, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there already
        for name, array in members:
            with pack.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, array)
    return path


def test_an_array_of_an_archive_is_there_once(tmp_path):
    path = npz(tmp_path / "m.npz", [("entity", np.zeros((1000, 4)))] * 20)
    with at_most(8), pytest.raises(CheckpointError, match="two arrays have the same name"):
        load_checkpoint(path)


def test_archives_of_arrays_unpack_in_proportion(tmp_path):
    path = npz(tmp_path / "m.npz", [(f"x{index}", np.zeros((2**16, 8))) for index in range(4)])
    with at_most(4), pytest.raises(FileError, match="it unpacks to"):
        load_checkpoint(path)


def test_a_sound_file_is_paid_for_once(tmp_path):
    """The steps of a pickle are fewer than its bytes, and its numbers are made once."""
    import pickle

    content = {"labels": [f"Q{index}" for index in range(5000)], "ids": np.arange(2 * MEBIBYTE)}
    (tmp_path / "a.pickle").write_bytes(pickle.dumps(content, protocol=4))
    read = read_pickle(tmp_path / "a.pickle")
    assert read["labels"] == content["labels"]
    np.testing.assert_array_equal(read["ids"], content["ids"])


def test_a_small_machine_has_a_small_budget(tmp_path, monkeypatch):
    monkeypatch.setattr(budget, "free_memory", lambda: 1000)
    (tmp_path / "a").write_bytes(bytes(100))
    small = Budget(Path(tmp_path / "a"), times=100)
    with pytest.raises(FileError, match="more than 1000 bytes"):
        small.take(1001)
    steps = Budget(tmp_path / "a", times=100)
    with pytest.raises(FileError, match="more steps"):
        refuse_instructions(program(b"]" + b"0]" * 100), steps)


def test_keys_of_a_tensorflow_table_do_not_grow_without_end(tmp_path):
    """Each repeats the one before it and adds a byte: so a table of bytes would take its square."""
    from kgeval.checkpoints.readers import tensor_bundle as bundle

    entries = b"".join(_varint(index) + b"\1\0" + b"k" for index in range(20_000))
    block = entries + struct.pack("<I", 0)
    with at_most(24), pytest.raises(ValueError, match="an entry of the table reaches beyond it"):
        list(bundle._block(block + b"\0", 0, len(block)))
    assert len(list(islice(bundle._block(block + b"\0", 0, len(block)), 4096))) == 4096


def _varint(number):
    said = bytearray()
    while number > 127:
        said.append(number & 127 | 128)
        number >>= 7
    return bytes([*said, number])


MANY = b"(" + b"N" * 5000 + b"t"
"""a tuple that is made once and given to every call"""

CALLED = {
    "a stand-in": named("torch", "foo"),
    "a constructor": named("numpy.core.multiarray", "_reconstruct"),
    "an ordered dictionary": named("collections", "OrderedDict"),
}


@pytest.mark.parametrize("call", [b"R", b"\x81", b"}\x92"], ids=["REDUCE", "NEWOBJ", "NEWOBJ_EX"])
@pytest.mark.parametrize("name", CALLED)
def test_a_call_has_few_arguments(file, name, call):
    """Python copies them for every call; what calls nothing (a constructor as a class) is damaged."""
    calls = (b"h\1h\0" + call + b"0") * 500
    archive(file, program(MANY, b"q\0", CALLED[name], b"q\1", calls, b"N", protocol=4))
    with at_most(4), pytest.raises(CheckpointError, match=r"more than 16 arguments|damaged"):
        read_torch(file)


def test_a_type_of_numbers_has_few_arguments(file):
    with pytest.raises(CheckpointError, match="damaged"):
        read_torch(archive(file, program(called(named("numpy", "dtype"), value("u1"), *[b"N"] * 5))))


def test_a_call_has_few_named_arguments(file):
    keys = b"".join(value(f"k{index}") + b"N" for index in range(5000))
    pickled = program(b"}(", keys, b"u", b"q\0", named("torch", "foo"), b"q\1", b"h\1)h\0\x92" * 200, protocol=4)
    with at_most(16), pytest.raises(CheckpointError, match="more than 16 arguments"):
        read_torch(archive(file, pickled))


def alike(count):
    """Tuples of -1 and -2, which have the same hash in Python."""
    return [tuple(-1 - (index >> bit & 1) for bit in range(16)) for index in range(count)]


PASSED_ON = {
    "as it is": lambda key: key,
    "from the memo": lambda key: key + b"q\0000h\0",
    "twice (DUP)": lambda key: key + b"20",
    "with no state (BUILD)": lambda key: key + b"Nb",
    "with no items (APPENDS)": lambda key: key + b"(e",
    "as a set": lambda key: b"(" + key + b"\x91",
    "through a function": lambda key: named("torch._utils", "_rebuild_parameter") + b"(" + key + b"tR",
}


@pytest.mark.parametrize("passed_on", PASSED_ON.values(), ids=PASSED_ON)
def test_few_keys_are_tuples(file, passed_on):
    """Those that hash alike can be chosen: a dictionary would compare each with all before it."""
    keys = b"".join(passed_on(b"(" + b"".join(map(value, key)) + b"t") + b"N" for key in alike(600))
    with pytest.raises(CheckpointError, match=r"keys that are tuples or sets|passes a tuple through"):
        read_torch(archive(file, program(b"}(" + keys + b"u", protocol=4)))


def test_some_keys_are_tuples_and_many_are_text(file):
    content = dict.fromkeys(alike(500), 1) | {f"Q{index}": [(index, index)] for index in range(2000)}
    assert read_torch(archive(file, program(value(content)))) == content


def test_names_of_a_stream_take_no_classes(tmp_path):
    """The survey of a stream, which only looks for numbers, makes nothing of names."""
    from kgeval.pickles.pickled import _StorageTypes

    survey = _StorageTypes(b"")
    assert survey.find_class("a", "b") is survey.find_class("c", "d")
