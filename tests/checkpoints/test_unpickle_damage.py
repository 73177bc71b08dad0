"""A real PyKEEN pickle, damaged: one CheckpointError each, or a load that the damage did not touch."""

from __future__ import annotations

import contextlib
import io
import struct
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgeval import load_checkpoint
from kgeval.errors import CheckpointError
from tests.checkpoints.memory import at_most


@pytest.fixture(scope="module")
def trained(transe_folder):
    """A small model as PyKEEN saves it: the file's bytes, and the parts of the archive."""
    content = (transe_folder / "trained_model.pkl").read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as pack:
        return content, {name: pack.read(name) for name in pack.namelist()}


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged") / "trained_model.pkl"


def arrays(path):
    return {name: array.tolist() for name, array in load_checkpoint(path, nan="worst").family.arrays.items()}


def with_pickle(parts, pickled):
    """The same archive around another pickle, its checksums right."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as pack:
        for name, content in parts.items():
            pack.writestr(name, pickled if name.endswith("data.pkl") else content)
    return file.getvalue()


def test_a_file_cut_short_anywhere_is_refused(trained, scratch):
    content, _ = trained
    for length in [*range(0, len(content), 50), len(content) - 1]:
        scratch.write_bytes(content[:length])
        with pytest.raises(CheckpointError, match="not a PyTorch file" if length else "the file is empty"):
            load_checkpoint(scratch)


def test_a_pickle_cut_short_anywhere_is_refused(trained, scratch):
    _, parts = trained
    pickled = next(content for name, content in parts.items() if name.endswith("data.pkl"))
    for length in range(0, len(pickled), 17):
        scratch.write_bytes(with_pickle(parts, pickled[:length]))
        with pytest.raises(CheckpointError, match=r"damaged|not a PyTorch file|holds no PyKEEN model|refused"):
            load_checkpoint(scratch)


@settings(max_examples=250, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_flipped_bit_of_the_file_is_refused_or_changes_nothing(trained, scratch, data):
    content, _ = trained
    bit = data.draw(st.integers(0, 8 * len(content) - 1))
    damaged = bytearray(content)
    damaged[bit // 8] ^= 1 << bit % 8
    scratch.write_bytes(content)
    expected = arrays(scratch)
    scratch.write_bytes(damaged)
    with contextlib.suppress(CheckpointError):
        assert arrays(scratch) == expected


@settings(max_examples=250, deadline=None, derandomize=True)
@given(data=st.data())
def test_flipped_bits_of_the_pickle_are_refused_or_make_another_model(trained, scratch, data):
    _, parts = trained
    damaged = bytearray(next(content for name, content in parts.items() if name.endswith("data.pkl")))
    for _ in range(data.draw(st.integers(1, 4))):
        bit = data.draw(st.integers(0, 8 * len(damaged) - 1))
        damaged[bit // 8] ^= 1 << bit % 8
    scratch.write_bytes(with_pickle(parts, bytes(damaged)))
    stored = sum(len(part) for name, part in parts.items() if "/data/" in name)
    with contextlib.suppress(CheckpointError):
        made = load_checkpoint(scratch, nan="worst").family.arrays.values()
        assert all(array.dtype.kind == "f" and 0 < array.size <= stored // 2 for array in made)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(instructions=st.lists(st.binary(min_size=1, max_size=6), max_size=20))
def test_any_bytes_as_a_pickle_are_refused(trained, scratch, instructions):
    scratch.write_bytes(with_pickle(trained[1], b"\x80\x02" + b"".join(instructions) + b"."))
    with pytest.raises(CheckpointError, match=r"damaged|not a PyTorch file|holds no PyKEEN model|refused"):
        load_checkpoint(scratch)


def test_damage_asks_for_no_memory(trained, scratch):
    """Bytes all over the pickle, four at a time set to their largest value."""
    _, parts = trained
    pickled = next(content for name, content in parts.items() if name.endswith("data.pkl"))
    places, refused = range(0, len(pickled), 11), 0
    with at_most(16):
        for index in places:
            scratch.write_bytes(with_pickle(parts, pickled[:index] + b"\xff\xff\xff\xff" + pickled[index + 4 :]))
            try:
                load_checkpoint(scratch, nan="worst")
            except CheckpointError as error:
                refused += str(scratch) in str(error)
    assert 0.9 * len(places) < refused <= len(places)


@pytest.mark.parametrize("name", ["data/0", "data/1", "data.pkl"])
def test_a_missing_part_is_refused(trained, scratch, name):
    with zipfile.ZipFile(scratch, "w") as pack:
        for part, content in trained[1].items():
            if not part.endswith(f"/{name}"):
                pack.writestr(part, content)
    with pytest.raises(CheckpointError, match=r"damaged|not a PyTorch file|holds no PyKEEN model|refused"):
        load_checkpoint(scratch)


@pytest.mark.parametrize("length", [0, 4, 41])
def test_numbers_cut_short_are_refused(trained, scratch, length):
    with zipfile.ZipFile(scratch, "w") as pack:
        for part, content in trained[1].items():
            pack.writestr(part, content[:length] if part.endswith("/data/0") else content)
    with pytest.raises(CheckpointError, match=r"buffer size must be a multiple|holds 0 numbers where 42 are announced"):
        load_checkpoint(scratch)


def test_an_entry_that_lies_about_its_size_asks_for_no_memory(trained, scratch):
    content, parts = trained
    size = len(next(part for name, part in parts.items() if name.endswith("/data/0")))
    lie = content.replace(struct.pack("<II", size, size), struct.pack("<II", size, 2**31))
    assert lie != content
    scratch.write_bytes(content)
    expected = arrays(scratch)
    scratch.write_bytes(lie)
    with at_most(8), contextlib.suppress(CheckpointError):
        assert arrays(scratch) == expected
