"""Saving: what is read back is the same model, whatever its labels look like, and a failed write leaves nothing."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kgeval import Dataset, Triples, Vocabulary, evaluate, load_checkpoint, save_checkpoint
from kgeval.base.errors import InputError, RunError
from kgeval.models.family import family
from kgeval.models.mapped import Reciprocal
from tests.models.checkpoints.conftest import ENTITIES, OPTIONS, RELATIONS, arrays_of, same_tables, write_arrays

AWKWARD = ["tab\there", 'quo"te', "new\nline", "ünïcødé 🐜", " spaces ", "", "\\u0041,;'"]


def built(model, *, reciprocal=False, dtype=np.float32):
    arrays = arrays_of(model, relations=6 if reciprocal else 3, dtype=dtype)
    made = family(model).build(arrays, OPTIONS[model])
    return Reciprocal(made) if reciprocal else made


def graph_of(entities):
    rows = [(h, r, (3 * h + 2 * r + 1) % 7) for h in range(7) for r in range(3)]
    relations = Vocabulary([f"{label}\t'\"" for label in RELATIONS], "relation")
    splits = {"train": Triples.of(rows[:14]), "test": Triples.of(rows[14:])}
    return Dataset.build("awkward", splits, entities=Vocabulary(entities), relations=relations)


@pytest.mark.parametrize("reciprocal", [False, True], ids=["plain", "reciprocal"])
@pytest.mark.parametrize("model", OPTIONS)
def test_what_is_read_back_ranks_the_same(tmp_path, model, reciprocal):
    graph, original = graph_of(AWKWARD), built(model, reciprocal=reciprocal)
    path = tmp_path / "m.safetensors"
    save_checkpoint(original, path, entities=graph.entities, relations=graph.relations)
    again = load_checkpoint(path, dataset=graph)
    assert again.family.options == OPTIONS[model]
    assert isinstance(again.model, Reciprocal) == reciprocal
    assert same_tables(evaluate(again, graph), evaluate(original, graph))


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("saved") / "m.safetensors"


@settings(max_examples=50, deadline=None, derandomize=True)
@example(labels=AWKWARD)
@given(labels=st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=7, max_size=7, unique=True))
def test_any_labels_survive_to_the_letter(scratch, labels):
    save_checkpoint(built("DistMult"), scratch, entities=Vocabulary(labels))
    assert list(load_checkpoint(scratch).entities) == labels


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_arrays_survive_to_the_bit(tmp_path, dtype):
    path = tmp_path / "m.safetensors"
    save_checkpoint(built("TuckER", dtype=dtype), path)
    again = load_checkpoint(path).family.arrays
    expected = arrays_of("TuckER", dtype=dtype)
    assert {name: (array.dtype, array.tobytes()) for name, array in again.items()} == {
        name: (array.dtype, array.tobytes()) for name, array in expected.items()
    }


def test_views_of_arrays_are_saved_as_they_look(tmp_path):
    wide = np.arange(7 * 8, dtype=np.float32).reshape(8, 7)
    path = tmp_path / "m.safetensors"
    save_checkpoint(family("DistMult").build({"entity": wide.T[:, ::2], "relation": wide[::-1, :4][:3]}, {}), path)
    again = load_checkpoint(path).family
    assert np.array_equal(again.entity, wide.T[:, ::2])
    assert np.array_equal(again.relation, wide[::-1, :4][:3])


def test_a_checkpoint_takes_its_labels_along(tmp_path):
    path, again = tmp_path / "m.safetensors", tmp_path / "again.safetensors"
    save_checkpoint(built("DistMult"), path, entities=Vocabulary(ENTITIES), relations=Vocabulary(RELATIONS, "relation"))
    save_checkpoint(load_checkpoint(path), again)
    assert list(load_checkpoint(again).entities) == ENTITIES
    assert list(load_checkpoint(again).relations) == RELATIONS


def test_a_saved_model_without_labels_has_none(tmp_path):
    save_checkpoint(built("DistMult"), tmp_path / "m.safetensors")
    assert load_checkpoint(tmp_path / "m.safetensors").entities is None


def test_an_npz_becomes_a_file_with_everything_inside(tmp_path):
    checkpoint = load_checkpoint(write_arrays(tmp_path / "m.npz", arrays_of("RotatE")), model="RotatE", norm=2)
    save_checkpoint(checkpoint, tmp_path / "whole.safetensors", entities=Vocabulary(ENTITIES))
    described = load_checkpoint(tmp_path / "whole.safetensors").describe()
    assert (described["model"], described["options"]) == ("RotatE", {"norm": 2})
    assert described["labels"] == {"entities": True, "relations": False}


def test_the_metadata_are_those_of_the_format(tmp_path):
    from safetensors import safe_open

    save_checkpoint(built("TransE", reciprocal=True), tmp_path / "m.safetensors", entities=Vocabulary(ENTITIES))
    with safe_open(tmp_path / "m.safetensors", framework="np") as file:
        metadata, labels = file.metadata(), file.get_tensor("entity_labels")
    assert {**metadata, "options": json.loads(metadata["options"])} == {
        "format": "kgeval",
        "version": "1",
        "model": "TransE",
        "options": {"norm": 2},
        "reciprocal": "true",
        "numbering": "unknown",
        "lower_is_better": "false",
    }
    assert json.loads(labels.tobytes()) == ENTITIES


@pytest.mark.parametrize("name", ["m.npz", "m", "m.safetensors.bak", "m.SAFETENSORS"])
def test_another_ending_is_refused(tmp_path, name):
    with pytest.raises(InputError, match=r"the native format is a \.safetensors file"):
        save_checkpoint(built("DistMult"), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("count", [6, 8])
def test_labels_of_another_number_are_refused_before_anything_is_written(tmp_path, count):
    labels = Vocabulary([f"e{index}" for index in range(count)])
    with pytest.raises(InputError, match=f"{count} entity labels"):
        save_checkpoint(built("DistMult"), tmp_path / "m.safetensors", entities=labels)
    assert list(tmp_path.iterdir()) == []


def test_a_path_inside_a_file_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="cannot write"):
        save_checkpoint(built("DistMult"), tmp_path / "file" / "m.safetensors")


def test_a_folder_in_the_way_cannot_be_written(tmp_path):
    (tmp_path / "m.safetensors").mkdir()
    with pytest.raises(RunError, match="cannot write"):
        save_checkpoint(built("DistMult"), tmp_path / "m.safetensors")
    assert [path.name for path in tmp_path.iterdir()] == ["m.safetensors"]


def test_missing_folders_are_made(tmp_path):
    save_checkpoint(built("DistMult"), tmp_path / "new" / "folder" / "m.safetensors")
    assert load_checkpoint(tmp_path / "new" / "folder").family.name == "DistMult"


def test_a_full_disk_leaves_the_earlier_file_alone(tmp_path, little_space):
    path = tmp_path / "m.safetensors"
    save_checkpoint(built("DistMult"), path)
    before = path.read_bytes()
    large = family("DistMult").build({"entity": np.ones((5000, 64)), "relation": np.ones((1, 64))}, {})
    with little_space(100_000), pytest.raises(RunError, match="cannot write"):
        save_checkpoint(large, path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.safetensors"]
