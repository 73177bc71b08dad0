"""The native reader: arrays with names, from .npz and .safetensors, with labels inside or beside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from safetensors import safe_open

from kgeval import Vocabulary, evaluate, load_checkpoint, save_checkpoint
from kgeval.base.errors import CheckpointError
from kgeval.models.families.bilinear import DistMult
from tests.conftest import random_dataset
from tests.models.checkpoints.conftest import (
    ENTITIES,
    OPTIONS,
    RELATIONS,
    ROWS,
    arrays_of,
    same_tables,
    write_arrays,
    write_labels,
)

ENDINGS = [".npz", ".safetensors"]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("model", OPTIONS)
def test_every_family_is_read_from_both_formats(tmp_path, model, ending):
    arrays = arrays_of(model)
    checkpoint = load_checkpoint(write_arrays(tmp_path / f"m{ending}", arrays), model=model, **OPTIONS[model])
    assert checkpoint.family.name == model
    assert checkpoint.family.options == OPTIONS[model]
    assert checkpoint.family.arrays.keys() == arrays.keys()
    assert all(np.array_equal(checkpoint.family.arrays[name], array) for name, array in arrays.items())


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_arrays_keep_their_precision(tmp_path, ending, dtype):
    path = write_arrays(tmp_path / f"m{ending}", arrays_of("DistMult", dtype=dtype))
    checkpoint = load_checkpoint(path, model="DistMult")
    assert checkpoint.family.entity.dtype == dtype
    assert load_checkpoint(path, format="native", model="DistMult").format == checkpoint.format == "native"


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_lines_of_the_label_files_may_come_in_any_order(tmp_path, ending):
    path = write_arrays(tmp_path / f"m{ending}", arrays_of("DistMult"))
    write_labels(tmp_path / "entities.tsv", ENTITIES, [3, 0, 6, 2, 5, 1, 4])
    write_labels(tmp_path / "relations.tsv", RELATIONS, [2, 0, 1])
    checkpoint = load_checkpoint(path, model="DistMult")
    assert list(checkpoint.entities) == ENTITIES
    assert list(checkpoint.relations) == RELATIONS


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("model", OPTIONS)
def test_labels_decide_which_row_is_which(tmp_path, graph, model, ending):
    arrays = arrays_of(model)
    plain = write_arrays(tmp_path / f"plain{ending}", arrays)
    rng = np.random.default_rng(1)
    rows, relation_rows = rng.permutation(len(ENTITIES)), rng.permutation(len(RELATIONS))
    orders = {**dict.fromkeys(ROWS["entity"], rows), **dict.fromkeys(ROWS["relation"], relation_rows)}
    shuffled = {name: array[orders.get(name, slice(None))] for name, array in arrays.items()}
    folder = tmp_path / "shuffled"
    folder.mkdir()
    write_arrays(folder / f"m{ending}", shuffled)
    write_labels(folder / "entities.tsv", [ENTITIES[row] for row in rows], rng.permutation(len(ENTITIES)))
    write_labels(folder / "relations.tsv", [RELATIONS[row] for row in relation_rows])
    tables = [evaluate(load_checkpoint(path, model=model, **OPTIONS[model]), graph) for path in (plain, folder)]
    assert same_tables(*tables)


def test_a_folder_and_its_file_are_the_same_checkpoint(model_file):
    write_labels(model_file.with_name("entities.tsv"), ENTITIES)
    for path in (model_file, model_file.parent, str(model_file)):
        checkpoint = load_checkpoint(path, model="DistMult")
        assert checkpoint.files == (model_file, model_file.with_name("entities.tsv"))


def test_labels_inside_go_before_labels_beside(tmp_path):
    inside = np.frombuffer(b'["A", "B", "C", "D", "E", "F", "G"]', np.uint8)
    path = write_arrays(tmp_path / "m.safetensors", {**arrays_of("DistMult"), "entity_labels": inside})
    write_labels(tmp_path / "entities.tsv", ENTITIES)
    assert list(load_checkpoint(path, model="DistMult").entities) == list("ABCDEFG")


def test_a_header_in_a_label_file_is_skipped(model_file):
    lines = ["id\tlabel", *(f"{index}\t{label}" for index, label in enumerate(ENTITIES))]
    model_file.with_name("entities.tsv").write_text("\n".join(lines))
    assert list(load_checkpoint(model_file, model="DistMult").entities) == ENTITIES


@pytest.mark.parametrize("name", ["DistMult", "distmult", "DISTMULT"])
def test_models_are_named_in_any_capitalisation(tmp_path, model_file, name):
    assert load_checkpoint(model_file, model=name).family.name == "DistMult"
    path = write_arrays(tmp_path / "m.safetensors", arrays_of("DistMult"), model="DistMult")
    assert load_checkpoint(path, model=name).family.name == "DistMult"


def test_metadata_name_the_model_and_its_options(tmp_path):
    """An option may add to them, or repeat them; its story is told."""
    path = write_arrays(tmp_path / "m.safetensors", arrays_of("TransE"), model="TransE")
    assert load_checkpoint(path, norm=1).origins == {"model": "m.safetensors", "norm": "option"}
    write_arrays(path, arrays_of("TransE"), model="TransE", options={"norm": 2})
    for options in ({}, {"norm": 2, "model": "TransE"}):
        assert load_checkpoint(path, **options).family.options == {"norm": 2}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"norm": 1}, r"option norm=1 contradicts m.safetensors, which has 2"),
        ({"model": "DistMult"}, r"option model='DistMult' contradicts m.safetensors, which has 'TransE'"),
        ({"reciprocal": True}, r"option reciprocal=True contradicts m.safetensors, which has False"),
    ],
)
def test_an_option_must_not_contradict_the_file(tmp_path, option, message):
    stored = {"model": "TransE", "options": {"norm": 2}, "reciprocal": False}
    path = write_arrays(tmp_path / "m.safetensors", arrays_of("TransE"), **stored)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(path, **option)


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (None, {}, r"does not say which model it is. Give the option model=MODEL, for example model=TransE"),
        ("DistMul", {}, r"unknown model 'DistMul'. Did you mean 'DistMult' or 'DistMA'\?"),
        ("", {}, r"unknown model ''"),
        ("TransE", {}, r"TransE needs the option 'norm' \(norm=1 or norm=2\)"),
        ("RotatE", {}, r"RotatE needs the option 'norm' \(norm=1 or norm=2\)"),
        ("TransE", {"norm": 3}, r"TransE: norm=3: expected 1 or 2"),
        ("TransE", {"norm": "1"}, r"TransE: norm='1': expected 1 or 2"),
        ("TransE", {"norm": [1]}, r"TransE: norm=\[1\]: expected 1 or 2"),
        ("TransE", {"norm": 1, "nrm": 2}, r"unknown option 'nrm' for this checkpoint. Did you mean 'norm'\?"),
        (
            "DistMult",
            {"norm": 1},
            r"unknown option 'norm' for this checkpoint. Choose one of 'entity', 'ids', 'ignored'",
        ),
        ("DistMult", {"entity": 1}, r"the tensor '1' is missing. Choose one of 'entity', 'relation'"),
        ("TuckER", {}, r"TuckER needs the array 'core'"),
    ],
)
def test_what_is_missing_or_unknown_is_named(model_file, model, options, message):
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(model_file, **({} if model is None else {"model": model}), **options)


@pytest.mark.parametrize("value", ["false", "no", 7, 0.5, []])
def test_reciprocal_is_a_truth_value_or_refused(tmp_path, value):
    path = write_arrays(tmp_path / "m.npz", arrays_of("DistMult", relations=4))
    with pytest.raises(CheckpointError, match="reciprocal"):
        load_checkpoint(path, model="DistMult", reciprocal=value)


def test_twice_as_many_relations_may_be_their_inverses(tmp_path):
    """Reciprocal models are saved with the rows of the inverses after those of the relations."""
    data = replace(random_dataset(3), id_source="kgeval")
    arrays = {"entity": np.ones((30, 4)), "relation": np.ones((8, 4))}
    path, hint = write_arrays(tmp_path / "m.npz", arrays), "8 is twice 4: if the second half .*option reciprocal=true"
    (tmp_path / "entities.tsv").write_text("".join(f"{row}\t{label}\n" for row, label in enumerate(data.entities)))
    for source in ("kgeval", None):
        with pytest.raises(CheckpointError, match=hint):
            load_checkpoint(path, dataset=replace(data, id_source=source), model="DistMult")
    (tmp_path / "relations.tsv").write_text("".join(f"{row}\t{label}\n" for row, label in enumerate(data.relations)))
    with pytest.raises(CheckpointError, match=f"8 relation rows, but 4 relation labels.*{hint}"):
        load_checkpoint(path, dataset=data, model="DistMult")
    assert load_checkpoint(path, dataset=data, model="DistMult", reciprocal=True).num_relations == 4


def test_a_reciprocal_model_has_an_even_number_of_relation_rows(model_file):
    with pytest.raises(CheckpointError, match=r"two rows per relation.*relation 3×4"):
        load_checkpoint(model_file, model="DistMult", reciprocal=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"format": name}, f"unknown checkpoint format '{name}'") for name in ("formt", "nativ", "", "json")),
        ({"nan": "wurst"}, "wurst"),
    ],
)
def test_unknown_settings_are_refused(model_file, options, message):
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(model_file, model="DistMult", **options)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"model": "TransE", "options": {"norm": 1, "gamma": 9}}, "gamma"),
        (
            {"format": "kgeval", "version": "2", "model": "TransE"},
            r"version 2 of the native format; kgeval reads version 1",
        ),
    ],
)
def test_stored_settings_that_are_unknown_are_refused(tmp_path, metadata, message):
    path = write_arrays(tmp_path / "m.safetensors", arrays_of("TransE"), **metadata)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(path)


def test_a_folder_with_two_models_is_refused(tmp_path):
    for name in ("a.npz", "b.safetensors"):
        write_arrays(tmp_path / name, arrays_of("DistMult"))
    with pytest.raises(
        CheckpointError, match=r"holds several checkpoints: a.npz, b.safetensors. Give one of the files"
    ):
        load_checkpoint(tmp_path, model="DistMult")


def test_a_missing_file_is_refused_with_its_neighbour(model_file):
    with pytest.raises(CheckpointError, match=r"no such file or folder .*modl.npz.*Nearby: .*model.npz"):
        load_checkpoint(model_file.with_name("modl.npz"))


@pytest.mark.parametrize("name", ["model.bin", "model.npy", "model"])
def test_another_ending_is_no_known_format(model_file, name):
    other = model_file.rename(model_file.with_name(name))
    with pytest.raises(CheckpointError, match="in no known checkpoint format"):
        load_checkpoint(other, model="DistMult")


def test_the_same_model_is_the_same_bytes_which_the_library_of_the_format_reads(tmp_path):
    """The library itself writes metadata in a random order."""
    model = DistMult(entity=np.arange(6, dtype=np.float32).reshape(3, 2), relation=np.ones((1, 2), np.float32))
    for name in "abcd":
        save_checkpoint(model, tmp_path / f"{name}.safetensors", relations=Vocabulary(["é"], "relation"))
    paths = [*tmp_path.iterdir()]
    assert len({path.read_bytes() for path in paths}) == 1
    with safe_open(paths[0], framework="numpy") as stored:
        assert {name: stored.get_tensor(name).tolist() for name in model.arrays} == {
            "entity": [[0, 1], [2, 3], [4, 5]],
            "relation": [[1, 1]],
        }
        assert stored.metadata()["model"] == "DistMult"
