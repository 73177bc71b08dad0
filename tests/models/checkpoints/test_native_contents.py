"""Native files that are damaged, or cannot be a model's: one CheckpointError each, and no memory on a header's word."""

from __future__ import annotations

import contextlib
import io
import json
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kgeval import Vocabulary, evaluate, load_checkpoint, save_checkpoint
from kgeval.base.errors import CheckpointError, FileError
from kgeval.models.families.bilinear import DistMult
from tests.models.checkpoints.conftest import ENTITIES, OPTIONS, arrays_of, safetensors_file, write_arrays, write_labels
from tests.models.checkpoints.memory import at_most

ENDINGS = [".npz", ".safetensors"]


BOTH, NPZ = ENDINGS, ENDINGS[:1]

FLOATS = "expected float16, float32 or float64"

ARRAYS = {
    "int64": (BOTH, np.ones((7, 4), np.int64), f"'entity' is int64; {FLOATS}"),
    "uint8": (BOTH, np.ones((7, 4), np.uint8), "'entity' is uint8"),
    "bool": (BOTH, np.ones((7, 4), np.bool_), "'entity' is bool"),
    "vector": (BOTH, np.ones(7, np.float32), r"'entity' has shape \(7,\)"),
    "cube": (BOTH, np.ones((1, 7, 4), np.float32), r"'entity' has shape \(1, 7, 4\)"),
    "scalar": (BOTH, np.ones((), np.float32), r"'entity' has shape \(\)"),
    "wider": (BOTH, np.ones((7, 5), np.float32), r"same width; found entity 7×5, relation 3×4"),
    "object": (NPZ, np.array([[{}, "x"]], object), r"entity\.npy is an array of Python objects"),
    "complex": (NPZ, np.ones((7, 4), np.complex64), FLOATS),
    "big-endian": (NPZ, np.ones((7, 4), ">f4"), FLOATS),
    "longdouble": (NPZ, np.ones((7, 4), np.longdouble), FLOATS),
    "text": (NPZ, np.full((7, 4), "x"), FLOATS),
    "record": (NPZ, np.ones(7, [("a", "f4"), ("b", "f4")]), FLOATS),
    "date": (NPZ, np.array(["2020-01-01"], "datetime64[D]"), FLOATS),
    "no entities": (BOTH, np.ones((0, 4), np.float32), "'entity' has shape .*; expected .* one row per entity"),
}
"""the endings of files that can hold an array, the array, and what is told of it"""


@pytest.mark.parametrize(("name", "ending"), [(name, ending) for name in ARRAYS for ending in ARRAYS[name][0]])
def test_arrays_of_another_type_or_shape_are_refused(tmp_path, name, ending):
    _, array, message = ARRAYS[name]
    path = write_arrays(tmp_path / f"m{ending}", {**arrays_of("DistMult"), "entity": array})
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(path, model="DistMult")


@pytest.mark.parametrize(("kind", "width"), [("F8_E4M3", 1), ("I32", 4), ("U64", 8)])
def test_types_that_only_safetensors_can_hold_are_refused(tmp_path, kind, width):
    header = {
        "entity": {"dtype": kind, "shape": [2, 2], "data_offsets": [0, 4 * width]},
        "relation": {"dtype": "F32", "shape": [1, 2], "data_offsets": [4 * width, 4 * width + 8]},
    }
    with pytest.raises(CheckpointError, match=r"the array 'entity' is \w+; expected"):
        load_checkpoint(safetensors_file(tmp_path, header, bytes(4 * width + 8)), model="DistMult")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_named_by_row_label_and_column(tmp_path, ending, value):
    arrays = arrays_of("DistMult")
    arrays["entity"][4, 2] = arrays["entity"][5, 0] = value
    path = write_arrays(tmp_path / f"m{ending}", arrays)
    write_labels(tmp_path / "entities.tsv", ENTITIES)
    with pytest.raises(CheckpointError, match=rf"'entity' holds {value} at row 4 \(eel\), column 2; 2 of its values"):
        load_checkpoint(path, model="DistMult")


def test_a_value_that_is_not_finite_is_named_without_labels_or_let_through(tmp_path):
    arrays = arrays_of("DistMult")
    arrays["relation"][1, 3] = np.nan
    path = write_arrays(tmp_path / "m.npz", arrays)
    with pytest.raises(CheckpointError, match=r"'relation' holds nan at row 1, column 3; 1 of its values"):
        load_checkpoint(path, model="DistMult")
    assert np.isnan(load_checkpoint(path, model="DistMult", nan="worst").family.relation[1, 3])


@pytest.mark.parametrize("labels", [False, True], ids=["bare", "labelled"])
@pytest.mark.parametrize("empty", ["entity", "relation"])
def test_a_model_without_rows_is_refused(tmp_path, graph, empty, labels):
    arrays = arrays_of("DistMult")
    path = write_arrays(tmp_path / "m.npz", {**arrays, empty: arrays[empty][:0]})
    if labels:
        (tmp_path / {"entity": "entities.tsv", "relation": "relations.tsv"}[empty]).write_text("")
    with pytest.raises(CheckpointError, match=f"'{empty}' has shape .*; expected .* one row per {empty}"):
        load_checkpoint(path, model="DistMult", dataset=graph)


@pytest.mark.parametrize("model", OPTIONS)
def test_a_model_without_columns_is_refused(tmp_path, model, graph):
    arrays = {name: array[:, :0] for name, array in arrays_of("DistMult").items()}
    if model == "TuckER":
        arrays["core"] = np.empty((0, 0, 0), np.float32)
    path = write_arrays(tmp_path / "m.npz", arrays)
    with pytest.raises(CheckpointError, match=r"expected .* one row per entity|needs the array"):
        evaluate(load_checkpoint(path, model=model, **OPTIONS[model]), graph)


ODD = {name: array[:, :3] for name, array in arrays_of("DistMult").items()}


@pytest.mark.parametrize(
    ("arrays", "options", "message"),
    [
        ({**arrays_of("TransE"), "norm": np.ones(1)}, {"model": "TransE"}, "norm"),
        ({**arrays_of("TransE"), "norm": np.ones(1)}, {"model": "TransE", "norm": 1}, "norm"),
        (
            {**arrays_of("DistMult"), "biases": np.ones(7, np.float32)},
            {},
            "a DistMult does not use the tensor 'biases'",
        ),
        ({"relation": np.ones((3, 4))}, {}, "expected arrays named entity"),
        ({"entity": np.ones((7, 4))}, {}, "expected arrays named relation"),
        *(
            ({**arrays_of("TuckER"), "core": np.ones(shape, np.float32)}, {"model": "TuckER"}, r"shape \(4, 3, 4\)")
            for shape in ((8, 8), (4, 4, 4), (4, 3, 5), (16, 3))
        ),
        *((ODD, {"model": model, **OPTIONS[model]}, "even width") for model in ("ComplEx", "RotatE")),
    ],
)
def test_arrays_that_are_not_the_models_are_refused(tmp_path, arrays, options, message):
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(write_arrays(tmp_path / "m.npz", arrays), **{"model": "DistMult", **options})


# Labels


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("0\ta\n1\tb\n", r"the model has 7 entity rows, but 2 entity labels"),
        ("".join(f"{i}\te{i}\n" for i in range(8)), r"the model has 7 entity rows, but 8 entity labels"),
        ("", r"the model has 7 entity rows, but 0 entity labels"),
        ("".join(f"{i}\te{i}\n" for i in (0, 1, 2, 3, 4, 5, 7)), r"the 7 ids must be 0 to 6, each once"),
        ("".join(f"{i}\te{i}\n" for i in (0, 1, 2, 3, 4, 5, 5)), r"the 7 ids must be 0 to 6, each once"),
        ("".join(f"{i}\te{i}\n" for i in range(1, 8)), r"the 7 ids must be 0 to 6, each once"),
        ("".join(f"{i}\te{i}\n" for i in range(-1, 6)), r"the 7 ids must be 0 to 6, each once"),
        ("".join(f"e{i}\t{i}\n" for i in range(7)), r"is not a whole number. Expected lines of id<TAB>label"),
        ("99999999999999999999\ta\n", r"is not a whole number"),
        ("".join(f"{i}\te{i % 6}\n" for i in range(7)), r"two ids carry the entity label 'e0'"),
        ("0\ta\n1\n", r"line 2: 1 column where 2 columns"),
        ("0\ta\tb\n", r"line 1: 3 columns where 2 columns"),
        ("0a\n", r"line 1: 1 column where 2 columns"),
    ],
)
def test_label_files_that_do_not_fit_are_refused(model_file, lines, message):
    model_file.with_name("entities.tsv").write_text(lines)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(model_file, model="DistMult")


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("junk", [b"\xff\xfe\x00", b"0\t\xff\n", bytes(range(256))])
def test_label_files_that_are_no_text_are_refused(model_file, junk):
    model_file.with_name("entities.tsv").write_bytes(junk)
    with pytest.raises(CheckpointError, match=r"entities.tsv"):
        load_checkpoint(model_file, model="DistMult")


@pytest.mark.parametrize(
    "labels",
    [
        b'["a", "a", "c", "d", "e", "f", "g"]',
        b'["a", "b"]',
        b"[null, true, 3, 4, 5, 6, 7]",
        b'{"a": 0, "b": 1, "c": 2, "d": 3, "e": 4, "f": 5, "g": 6}',
        b'"abcdefg"',
        b'[["a"], "b", "c", "d", "e", "f", "g"]',
        b'["\\ud800", "b", "c", "d", "e", "f", "g"]',
        b"5",
        b"null",
        b"junk",
        b"\xff\xff",
        b"[" * 100_000,
    ],
    ids=lambda labels: labels[:24].decode("latin-1"),
)
def test_labels_inside_that_are_no_list_of_distinct_texts_are_refused(tmp_path, labels):
    arrays = {**arrays_of("DistMult"), "entity_labels": np.frombuffer(labels, np.uint8)}
    with pytest.raises(
        CheckpointError,
        match=r"not a readable \.safetensors file.*(list|text|JSON|carry)|7 entity rows, but 2",
    ):
        load_checkpoint(write_arrays(tmp_path / "m.safetensors", arrays), model="DistMult")


# Metadata


@pytest.mark.parametrize(
    "metadata",
    [
        {"options": "[]"},
        {"options": "5"},
        {"options": "null"},
        {"options": '"norm"'},
        {"options": "{"},
        {"options": '{"norm": [1]}'},
        {"options": '{"norm": NaN}'},
        {"options": '{"norm": ' + "1" * 5000 + "}"},
        {"options": "[" * 100_000},
        {"reciprocal": "5"},
        {"reciprocal": '"no"'},
        {"reciprocal": "{}"},
        {"reciprocal": "no"},
    ],
    ids=lambda metadata: next(f"{key} {value[:20]}" for key, value in metadata.items()),
)
def test_metadata_of_another_type_are_refused(tmp_path, metadata):
    stored = {"model": "TransE", "options": '{"norm": 1}', **metadata}
    path = write_arrays(tmp_path / "m.safetensors", arrays_of("TransE", relations=4), **stored)
    with pytest.raises(CheckpointError, match=r"not a readable \.safetensors file|norm=.*: expected 1 or 2"):
        load_checkpoint(path)


def test_labels_inside_are_paid_for(tmp_path, monkeypatch):
    """A text of a few bytes takes many times that as a label."""
    model = DistMult(entity=np.ones((1000, 2)), relation=np.ones((1, 2)))
    labels = Vocabulary([f"e{index}" for index in range(1000)])
    save_checkpoint(model, tmp_path / "m.safetensors", entities=labels, relations=Vocabulary(["r"], "relation"))
    assert load_checkpoint(tmp_path / "m.safetensors").entities == labels
    monkeypatch.setattr("kgeval.base.files.free_memory", lambda: 50_000)
    with pytest.raises(FileError, match="it unpacks to more than 50000 bytes"):
        load_checkpoint(tmp_path / "m.safetensors")


# Damage


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


BITS = settings(max_examples=200, deadline=None, derandomize=True)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged")


@pytest.mark.parametrize("ending", ENDINGS)
@BITS
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


def npz_file(path, header, numbers, version=b"\x01\x00", **zipped):
    """Write an .npz whose only array has a header of our own."""
    length = struct.pack("<H" if version == b"\x01\x00" else "<I", len(header))
    with zipfile.ZipFile(path, "w", **zipped) as file:
        file.writestr("entity.npy", b"\x93NUMPY" + version + length + header + numbers)
    return path


@BITS
@example(header="(" * 200, version=b"\x01\x00")
@example(header="{'a': 1", version=b"\x01\x00")
@example(header="-" * 9000 + "1", version=b"\x01\x00")
@example(header="'", version=b"\x01\x00")
@given(header=st.text(max_size=80), version=st.sampled_from([b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x09\x00"]))
def test_any_text_as_the_header_of_an_array_is_refused(scratch, header, version):
    """Python itself reads these headers, and has many ways to fail at it."""
    path = npz_file(scratch / "m.npz", header.encode(), b"", version)
    with pytest.raises(CheckpointError, match=r"not a readable \.npz file, or cut short"):
        load_checkpoint(path, model="DistMult")


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
    with at_most(8), pytest.raises(CheckpointError, match=r"it unpacks to more than .* too many"):
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
