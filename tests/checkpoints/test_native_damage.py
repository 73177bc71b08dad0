"""Damaged and hostile native files: one CheckpointError each, and no memory asked for on the word of a header."""

from __future__ import annotations

import contextlib
import io
import json
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgeval import load_checkpoint
from kgeval.errors import CheckpointError
from tests.checkpoints.conftest import ENTITIES, arrays_of, safetensors_file, write_arrays
from tests.checkpoints.memory import at_most

ENDINGS = [".npz", ".safetensors"]


def contents(ending):
    """The bytes of a sound file."""
    arrays, file = arrays_of("DistMult"), io.BytesIO()
    if ending == ".npz":
        np.savez(file, **arrays)
        return file.getvalue()
    from safetensors.numpy import save

    labels = np.frombuffer(json.dumps(ENTITIES).encode(), np.uint8)
    return save({**arrays, "entity_labels": labels}, {"model": "DistMult", "options": "{}", "reciprocal": "false"})


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_cut_short_anywhere_is_refused(tmp_path, ending):
    whole, path = contents(ending), tmp_path / f"m{ending}"
    for length in [*range(0, len(whole), 7), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match=r"m\.(npz|safetensors): not a readable"):
            load_checkpoint(path, model="DistMult")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged")


@pytest.mark.parametrize("ending", ENDINGS)
@settings(max_examples=200, deadline=None, derandomize=True)
@given(data=st.data())
def test_flipped_bits_are_refused_or_harmless(scratch, ending, data):
    damaged = bytearray(contents(ending))
    for _ in range(data.draw(st.integers(1, 3))):
        bit = data.draw(st.integers(0, 8 * len(damaged) - 1))
        damaged[bit // 8] ^= 1 << bit % 8
    path = scratch / f"m{ending}"
    path.write_bytes(damaged)
    with contextlib.suppress(CheckpointError):
        made = load_checkpoint(path, nan="worst", **({} if ending == ".safetensors" else {"model": "DistMult"}))
        assert sum(array.nbytes for array in made.family.arrays.values()) <= 2 * len(damaged)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(header=st.text(max_size=80), version=st.sampled_from([b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x09\x00"]))
def test_any_text_as_the_header_of_an_array_is_refused(scratch, header, version):
    """Python itself reads these headers, and has many ways to fail at it."""
    path = npz_file(scratch / "m.npz", header.encode(), b"", version)
    with pytest.raises(CheckpointError, match=r"not a readable \.npz file, or cut short"):
        load_checkpoint(path, model="DistMult")


@pytest.mark.parametrize("header", [b"(" * 200, b"{'a': 1", b"-" * 9000 + b"1", b"'"])
def test_headers_that_upset_pythons_parser_are_refused(tmp_path, header):
    with pytest.raises(CheckpointError, match=r"not a readable \.npz file, or cut short"):
        load_checkpoint(npz_file(tmp_path / "m.npz", header, b""), model="DistMult")


def npz_file(path, header, numbers, version=b"\x01\x00", **zipped):
    """Write an .npz whose only array has a header of our own."""
    length = struct.pack("<H" if version == b"\x01\x00" else "<I", len(header))
    with zipfile.ZipFile(path, "w", **zipped) as file:
        file.writestr("entity.npy", b"\x93NUMPY" + version + length + header + numbers)
    return path


# Announced sizes


def announcing(shape):
    return f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}\n".encode()


@pytest.mark.parametrize("shape", [(2**32, 2**10), (2**62, 2**62), (2**63, 1), (-1, 4), (-4, -1), (True, 4), (4, 2.0)])
@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["stored", "deflated"])
def test_an_array_that_is_not_as_large_as_it_says_is_refused_unread(tmp_path, shape, compression):
    path = npz_file(tmp_path / "m.npz", announcing(shape), bytes(16), compression=compression)
    with at_most(8), pytest.raises(CheckpointError, match=r"not a readable \.npz file, or cut short"):
        load_checkpoint(path, model="DistMult")


def test_an_archive_that_lies_about_the_size_of_its_array_is_refused_unread(tmp_path):
    header = announcing((2**26, 8))
    path = npz_file(tmp_path / "m.npz", header, bytes(16))
    honest = len(header) + 10 + 16
    lie = len(header) + 10 + 2**26 * 8 * 4
    path.write_bytes(path.read_bytes().replace(struct.pack("<II", honest, honest), struct.pack("<II", honest, lie)))
    with at_most(8), pytest.raises(CheckpointError, match=r"it unpacks to more than .* refused"):
        load_checkpoint(path, model="DistMult")


@pytest.mark.parametrize("length", [2**20, 2**32, 2**60, 2**63, 2**64 - 1])
def test_a_header_that_is_not_as_long_as_it_says_is_refused_unread(tmp_path, length):
    with at_most(8), pytest.raises(CheckpointError, match=r"not a readable \.safetensors file"):
        load_checkpoint(safetensors_file(tmp_path, {}, length=length), model="DistMult")


@pytest.mark.parametrize(
    ("shape", "offsets"),
    [([2**40, 2**40], [0, 4]), ([2**30, 2**10], [0, 4]), ([1, 1], [0, 2**40]), ([1, 1], [4, 0]), ([-1, -1], [0, 4])],
)
def test_a_tensor_that_is_not_where_it_says_is_refused_unread(tmp_path, shape, offsets):
    header = {"entity": {"dtype": "F32", "shape": shape, "data_offsets": offsets}}
    with at_most(8), pytest.raises(CheckpointError, match=r"not a readable \.safetensors file"):
        load_checkpoint(safetensors_file(tmp_path, header, bytes(4)), model="DistMult")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("junk", [b"", b"\0" * 100, b"PK\x03\x04", b"PK\x05\x06" + bytes(18), bytes(range(256))])
def test_junk_is_refused(tmp_path, ending, junk):
    path = tmp_path / f"m{ending}"
    path.write_bytes(junk)
    with pytest.raises(CheckpointError, match=rf"not a readable \{ending} file|expected arrays named entity"):
        load_checkpoint(path, model="DistMult")


@pytest.mark.parametrize(("offset", "number"), [(8, 1), (10, 77)], ids=["encrypted", "compressed in an unknown way"])
def test_an_archive_that_cannot_be_unpacked_is_refused(tmp_path, offset, number):
    path = write_arrays(tmp_path / "m.npz", arrays_of("DistMult"))
    sound = path.read_bytes()
    field = sound.index(b"PK\x01\x02") + offset  # of the first entry of the archive's directory
    path.write_bytes(sound[:field] + struct.pack("<H", number) + sound[field + 2 :])
    with pytest.raises(CheckpointError, match=r"not a readable \.npz file, or cut short"):
        load_checkpoint(path, model="DistMult")
