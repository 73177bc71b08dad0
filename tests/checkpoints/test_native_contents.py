"""Native files whose arrays, labels or metadata cannot be a model's: one CheckpointError each."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import Vocabulary, evaluate, load_checkpoint, save_checkpoint
from kgeval.errors import CheckpointError, FileError
from kgeval.scorers.families.bilinear import DistMult
from tests.checkpoints.conftest import ENTITIES, OPTIONS, arrays_of, safetensors_file, write_arrays, write_labels

ENDINGS = [".npz", ".safetensors"]


def bad(array):
    return {**arrays_of("DistMult"), "entity": array}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones((7, 4), np.int64), r"'entity' is int64; expected float16, float32 or float64"),
        (np.ones((7, 4), np.uint8), r"'entity' is uint8"),
        (np.ones((7, 4), np.bool_), r"'entity' is bool"),
        (np.ones(7, np.float32), r"'entity' has shape \(7,\)"),
        (np.ones((1, 7, 4), np.float32), r"'entity' has shape \(1, 7, 4\)"),
        (np.ones((), np.float32), r"'entity' has shape \(\)"),
        (np.ones((7, 5), np.float32), r"same width; found entity 7×5, relation 3×4"),
    ],
    ids=["int64", "uint8", "bool", "vector", "cube", "scalar", "wider"],
)
def test_arrays_of_another_type_or_shape_are_refused(tmp_path, ending, array, message):
    path = write_arrays(tmp_path / f"m{ending}", bad(array))
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(path, model="DistMult")


@pytest.mark.parametrize(
    "array",
    [
        np.array([[{}, "x"]], object),
        np.ones((7, 4), np.complex64),
        np.ones((7, 4), ">f4"),
        np.ones((7, 4), np.longdouble),
        np.full((7, 4), "x"),
        np.ones(7, [("a", "f4"), ("b", "f4")]),
        np.array(["2020-01-01"], "datetime64[D]"),
    ],
    ids=["object", "complex", "big-endian", "longdouble", "text", "record", "date"],
)
def test_arrays_that_only_npz_can_hold_are_refused(tmp_path, array):
    with pytest.raises(CheckpointError, match=r"the array 'entity' is .*; expected float16|not a readable \.npz file"):
        load_checkpoint(write_arrays(tmp_path / "m.npz", bad(array)), model="DistMult")


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


def test_a_relation_that_is_not_finite_is_named_without_labels(tmp_path):
    arrays = arrays_of("DistMult")
    arrays["relation"][1, 3] = np.nan
    with pytest.raises(CheckpointError, match=r"'relation' holds nan at row 1, column 3; 1 of its values"):
        load_checkpoint(write_arrays(tmp_path / "m.npz", arrays), model="DistMult")


def test_values_that_are_not_finite_can_be_let_through(tmp_path):
    arrays = arrays_of("DistMult")
    arrays["entity"][4, 2] = np.nan
    path = write_arrays(tmp_path / "m.npz", arrays)
    assert np.isnan(load_checkpoint(path, model="DistMult", nan="worst").family.entity[4, 2])


@pytest.mark.parametrize("labels", [False, True], ids=["bare", "labelled"])
@pytest.mark.parametrize("empty", ["entity", "relation"])
def test_a_model_without_rows_is_refused(tmp_path, graph, empty, labels):
    arrays = arrays_of("DistMult")
    path = write_arrays(tmp_path / "m.npz", {**arrays, empty: arrays[empty][:0]})
    if labels:
        (tmp_path / {"entity": "entities.tsv", "relation": "relations.tsv"}[empty]).write_text("")
    with pytest.raises(CheckpointError, match=f"'{empty}' has shape .*; expected one row per {empty}"):
        load_checkpoint(path, model="DistMult", dataset=graph)


@pytest.mark.parametrize("model", OPTIONS)
def test_a_model_without_columns_is_refused(tmp_path, model, graph):
    arrays = {name: array[:, :0] for name, array in arrays_of("DistMult").items()}
    if model == "TuckER":
        arrays["core"] = np.empty((0, 0, 0), np.float32)
    path = write_arrays(tmp_path / "m.npz", arrays)
    with pytest.raises(CheckpointError, match=r"expected one row per entity|needs the array"):
        evaluate(load_checkpoint(path, model=model, **OPTIONS[model]), graph)


def test_an_array_with_the_name_of_an_option_is_refused(tmp_path):
    path = write_arrays(tmp_path / "m.npz", {**arrays_of("TransE"), "norm": np.ones(1)})
    with pytest.raises(CheckpointError, match="norm"):
        load_checkpoint(path, model="TransE")


def test_an_array_with_the_name_of_a_given_option_is_refused(tmp_path):
    path = write_arrays(tmp_path / "m.npz", {**arrays_of("TransE"), "norm": np.ones(1)})
    with pytest.raises(CheckpointError, match="norm"):
        load_checkpoint(path, model="TransE", norm=1)


def test_an_array_that_the_model_does_not_have_is_refused(tmp_path):
    path = write_arrays(tmp_path / "m.npz", {**arrays_of("DistMult"), "biases": np.ones(7, np.float32)})
    with pytest.raises(CheckpointError, match="DistMult has no array 'biases'"):
        load_checkpoint(path, model="DistMult")


@pytest.mark.parametrize("missing", ["entity", "relation"])
def test_a_missing_array_is_named(tmp_path, missing):
    arrays = {name: array for name, array in arrays_of("DistMult").items() if name != missing}
    with pytest.raises(CheckpointError, match=f"expected arrays named {missing}"):
        load_checkpoint(write_arrays(tmp_path / "m.npz", arrays), model="DistMult")


@pytest.mark.parametrize("shape", [(8, 8), (4, 4, 4), (4, 3, 5), (16, 3)])
def test_a_core_of_another_shape_is_refused(tmp_path, shape):
    path = write_arrays(tmp_path / "m.npz", {**arrays_of("TuckER"), "core": np.ones(shape, np.float32)})
    with pytest.raises(CheckpointError, match=r"core must have the shape \(4, 3, 4\)"):
        load_checkpoint(path, model="TuckER")


@pytest.mark.parametrize("model", ["ComplEx", "RotatE"])
def test_complex_vectors_have_an_even_width(tmp_path, model):
    arrays = {name: array[:, :3] for name, array in arrays_of(model).items()}
    with pytest.raises(CheckpointError, match="even width"):
        load_checkpoint(write_arrays(tmp_path / "m.npz", arrays), model=model, **OPTIONS[model])


# Labels


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("0\ta\n1\tb\n", r"the model has 7 entity rows, but 2 entity labels"),
        ("".join(f"{i}\te{i}\n" for i in range(8)), r"the model has 7 entity rows, but 8 entity labels"),
        ("", r"the model has 7 entity rows, but 0 entity labels"),
        ("".join(f"{i}\te{i}\n" for i in (0, 1, 2, 3, 4, 5, 7)), r"its 7 ids are not 0 to 6, each once"),
        ("".join(f"{i}\te{i}\n" for i in (0, 1, 2, 3, 4, 5, 5)), r"its 7 ids are not 0 to 6, each once"),
        ("".join(f"{i}\te{i}\n" for i in range(1, 8)), r"its 7 ids are not 0 to 6, each once"),
        ("".join(f"{i}\te{i}\n" for i in range(-1, 6)), r"its 7 ids are not 0 to 6, each once"),
        ("".join(f"e{i}\t{i}\n" for i in range(7)), r"an id is not a whole number. Lines are id<TAB>label"),
        ("99999999999999999999\ta\n", r"an id is not a whole number"),
        ("".join(f"{i}\te{i % 6}\n" for i in range(7)), r"two ids carry the entity label 'e0'"),
        ("0\ta\n1\n", r"line 2: 1 column where 2 columns"),
        ("0\ta\tb\n", r"line 1: 3 columns where 2 columns"),
        ("0,a\n", r"line 1: 1 column where 2 columns"),
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
        match=r"not a readable \.safetensors file.*(list|text|decod|Expecting|carry)|7 entity rows, but 2",
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
    with pytest.raises(CheckpointError, match=r"not a readable \.safetensors file|norm=.*: Input should be 1 or 2"):
        load_checkpoint(path)


def test_labels_inside_are_paid_for(tmp_path, monkeypatch):
    """A text of a few bytes takes many times that as a label."""
    model = DistMult(entity=np.ones((1000, 2)), relation=np.ones((1, 2)))
    labels = Vocabulary([f"e{index}" for index in range(1000)])
    save_checkpoint(model, tmp_path / "m.safetensors", entities=labels, relations=Vocabulary(["r"], "relation"))
    assert load_checkpoint(tmp_path / "m.safetensors").entities == labels
    monkeypatch.setattr("kgeval.files.opening.free_memory", lambda: 50_000)
    with pytest.raises(FileError, match="it unpacks to more than 50000 bytes"):
        load_checkpoint(tmp_path / "m.safetensors")
