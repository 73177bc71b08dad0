"""A real PyKEEN pickle, damaged: one CheckpointError each, or a load that the damage did not touch."""

from __future__ import annotations

import contextlib
import struct
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgeval import load_checkpoint
from kgeval.base.errors import CheckpointError
from tests.models.checkpoints.memory import at_most

REFUSED = r"damaged|not a PyTorch file|not a PyKEEN model|refused"

BITS = settings(max_examples=250, deadline=None, derandomize=True)


@pytest.fixture(scope="module")
def trained(transe_folder):
    """A small model as PyKEEN saves it: the file's bytes, the parts of the archive, and its pickle."""
    path = transe_folder / "trained_model.pkl"
    with zipfile.ZipFile(path) as pack:
        parts = {name: pack.read(name) for name in pack.namelist()}
    return path.read_bytes(), parts, next(part for name, part in parts.items() if name.endswith("data.pkl"))


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged") / "trained_model.pkl"


def arrays(path):
    return {name: array.tolist() for name, array in load_checkpoint(path, nan="worst").family.arrays.items()}


def with_part(path, trained, ending, content):
    """The same archive with another part, or with none in its place, its checksums right."""
    with zipfile.ZipFile(path, "w") as pack:
        for name, before in trained[1].items():
            part = content if name.endswith(ending) else before
            if part is not None:
                pack.writestr(name, part)


def flipped(data, content, most):
    damaged = bytearray(content)
    for _ in range(data.draw(st.integers(1, most))):
        bit = data.draw(st.integers(0, 8 * len(damaged) - 1))
        damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def test_a_file_cut_short_anywhere_is_refused(trained, scratch):
    content = trained[0]
    for length in [*range(0, len(content), 50), len(content) - 1]:
        scratch.write_bytes(content[:length])
        with pytest.raises(CheckpointError, match="not a PyTorch file" if length else "the file is empty"):
            load_checkpoint(scratch)


def test_a_pickle_cut_short_anywhere_is_refused(trained, scratch):
    for length in range(0, len(trained[2]), 17):
        with_part(scratch, trained, "data.pkl", trained[2][:length])
        with pytest.raises(CheckpointError, match=REFUSED):
            load_checkpoint(scratch)


@BITS
@given(data=st.data())
def test_a_flipped_bit_of_the_file_is_refused_or_changes_nothing(trained, scratch, data):
    scratch.write_bytes(trained[0])
    expected = arrays(scratch)
    scratch.write_bytes(flipped(data, trained[0], 1))
    with contextlib.suppress(CheckpointError):
        assert arrays(scratch) == expected


@BITS
@given(data=st.data())
def test_flipped_bits_of_the_pickle_are_refused_or_make_another_model(trained, scratch, data):
    with_part(scratch, trained, "data.pkl", flipped(data, trained[2], 4))
    stored = sum(len(part) for name, part in trained[1].items() if "/data/" in name)
    with contextlib.suppress(CheckpointError):
        made = load_checkpoint(scratch, nan="worst").family.arrays.values()
        assert all(array.dtype.kind == "f" and 0 < array.size <= stored // 2 for array in made)


@BITS
@given(instructions=st.lists(st.binary(min_size=1, max_size=6), max_size=20))
def test_any_bytes_as_a_pickle_are_refused(trained, scratch, instructions):
    with_part(scratch, trained, "data.pkl", b"\x80\x02" + b"".join(instructions) + b".")
    with pytest.raises(CheckpointError, match=REFUSED):
        load_checkpoint(scratch)


def test_damage_asks_for_no_memory(trained, scratch):
    """Bytes all over the pickle, four at a time set to their largest value."""
    pickled, refused = trained[2], 0
    places = range(0, len(pickled), 11)
    with at_most(16):
        for index in places:
            with_part(scratch, trained, "data.pkl", pickled[:index] + b"\xff\xff\xff\xff" + pickled[index + 4 :])
            try:
                load_checkpoint(scratch, nan="worst")
            except CheckpointError as error:
                refused += str(scratch) in str(error)
    assert 0.9 * len(places) < refused <= len(places)


@pytest.mark.parametrize(
    ("name", "length", "message"),
    [
        *((name, None, REFUSED) for name in ("data/0", "data/1", "data.pkl")),
        ("data/0", 0, "holds 0 numbers where 42 are announced"),
        *(("data/0", length, "buffer size must be a multiple") for length in (4, 41)),
    ],
)
def test_a_part_that_is_missing_or_cut_short_is_refused(trained, scratch, name, length, message):
    content = None if length is None else next(part for key, part in trained[1].items() if key.endswith(name))[:length]
    with_part(scratch, trained, f"/{name}", content)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(scratch)


def test_an_entry_that_lies_about_its_size_asks_for_no_memory(trained, scratch):
    content, parts, _ = trained
    size = len(next(part for name, part in parts.items() if name.endswith("/data/0")))
    lie = content.replace(struct.pack("<II", size, size), struct.pack("<II", size, 2**31))
    assert lie != content
    scratch.write_bytes(content)
    expected = arrays(scratch)
    scratch.write_bytes(lie)
    with at_most(8), contextlib.suppress(CheckpointError):
        assert arrays(scratch) == expected
