"""PyTorch-BigGraph's config.json: a model of others neither chooses files of this machine nor passes nonsense."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kgeval import Triples, load_checkpoint, save_checkpoint
from kgeval.data.queries import Queries
from kgeval.errors import CheckpointError
from tests.checkpoints import layouts


@pytest.fixture
def changed(tmp_path):
    """Read a sound model whose configuration says something else."""
    layouts.pbg_static(tmp_path)

    def read(options=(), **changes):
        path = tmp_path / "model" / "config.json"
        before = path.read_text()
        path.write_text(json.dumps(json.loads(before) | changes))
        try:
            return load_checkpoint(tmp_path / "model", **dict(options))
        finally:
            path.write_text(before)

    return read


def of_types(folder, change):
    """A model of several types, the configuration of which something was done to; what it is refused with."""
    layouts.pbg_types(folder)
    path = folder / "model" / "config.json"
    config = json.loads(path.read_text())
    change(config)
    path.write_text(json.dumps(config))
    with pytest.raises(CheckpointError) as refused:
        load_checkpoint(folder / "model")
    return str(refused.value)


def test_entities_that_are_sets_of_features_are_refused(tmp_path):
    refused = of_types(tmp_path, lambda config: config["entities"]["small"].update(featurized=True))
    assert "entities of type 'small' are sets of features" in refused


def test_an_operator_of_a_plugin_is_refused(tmp_path):
    refused = of_types(tmp_path, lambda config: config["relations"][1].update(operator="mine"))
    assert "the operators none, diagonal" in refused
    assert "found 'affine, mine, translation'" in refused


def test_dynamic_relations_have_one_operator(tmp_path):
    refused = of_types(tmp_path, lambda config: config.update(dynamic_relations=True))
    assert "dynamic relations with one of them" in refused


def test_a_type_that_there_is_not_is_refused(tmp_path):
    assert "'huge'" in of_types(tmp_path, lambda config: config["relations"][1].update(lhs="huge"))


def test_types_of_other_widths_are_refused(tmp_path):
    h5py = pytest.importorskip("h5py")

    def narrow(_):
        with h5py.File(tmp_path / "model/embeddings_small_0.v8.h5", "w") as file:
            file["embeddings"] = np.ones((4, 2), np.float32)
        with h5py.File(tmp_path / "model/model.v8.h5", "r+") as file:
            del file["model/entities/small/global_embedding"]
            file["model/entities/small/global_embedding"] = np.ones(2, np.float32)

    assert "types of entities of one width; found big 4, small 2" in of_types(tmp_path, narrow)


def test_a_type_has_as_many_labels_as_rows(tmp_path):
    names = tmp_path / "data/entity_names_small_0.json"
    refused = of_types(tmp_path, lambda _: names.write_text('["ant"]'))
    assert "the entities of type 'small' have 4 rows, but 1 labels" in refused


def test_types_without_labels_are_rows(tmp_path):
    layouts.pbg_types(tmp_path)
    for file in (tmp_path / "data").iterdir():
        file.unlink()
    checkpoint = load_checkpoint(tmp_path / "model")
    assert (checkpoint.entities, checkpoint.num_entities, checkpoint.describe()["types"]) == (None, 8, 2)


def test_types_are_in_no_native_file(tmp_path):
    layouts.pbg_types(tmp_path)
    with pytest.raises(CheckpointError, match="its entities are of several types, which a native file does not hold"):
        save_checkpoint(load_checkpoint(tmp_path / "model"), tmp_path / "m.safetensors")


def test_an_operator_for_each_relation_is_kept(tmp_path):
    layouts.pbg_static(tmp_path)
    path = tmp_path / "model/config.json"
    config = json.loads(path.read_text())
    config["relations"][1]["operator"] = "none"
    path.write_text(json.dumps(config))
    before = load_checkpoint(tmp_path / "model")
    save_checkpoint(before, tmp_path / "m.safetensors")
    after = load_checkpoint(tmp_path / "m.safetensors")
    assert before.family.options == after.family.options
    assert after.family.options["operator"] == ("translation", "none", "translation")
    queries = Queries.of(Triples.of([(h, r, 0) for h in range(7) for r in range(3)]), "tail")
    assert np.array_equal(*(checkpoint.scores(queries, np.arange(7)) for checkpoint in (before, after)))


@pytest.mark.parametrize("norm", [10**400, float("nan"), float("inf"), -1, 0, "1", [1], True, -0.5])
def test_a_maximal_norm_is_a_number_above_zero(changed, norm):
    with pytest.raises(CheckpointError, match="max_norm is"):
        changed(max_norm=norm)
    assert changed(max_norm=2).num_entities == changed(max_norm=None).num_entities == 7


@pytest.mark.parametrize("count", [float("inf"), float("nan"), 10**30, -1, 0, "x", None])
def test_partitions_are_as_many_as_files(changed, count):
    with pytest.raises(CheckpointError, match=r"config\.json: (cannot be read|max_norm is)"):
        changed(entities={"all": {"num_partitions": count}})


@pytest.mark.parametrize("name", ["bias", "dynamic_relations", "global_emb"])
@pytest.mark.parametrize("value", ["no", "false", 1, 0, [], "true"])
def test_a_truth_value_is_one(changed, name, value):
    with pytest.raises(CheckpointError, match=f"its {name} is .*, which is neither true nor false"):
        changed(**{name: value})


@pytest.mark.parametrize("entity_path", ["/etc", "../../names", "names/../../names"])
def test_the_names_lie_near_the_model(changed, tmp_path, entity_path):
    with pytest.raises(CheckpointError, match=r"leads out of the folders around it.*option labels"):
        changed(entity_path=entity_path)
    assert changed({"labels": tmp_path / "names"}, entity_path=entity_path).entities is not None


@pytest.mark.parametrize("entity_path", ["a" * 5000, "a\0b", "nowhere"])
def test_names_that_are_nowhere_are_none(changed, entity_path):
    assert changed(entity_path=entity_path).entities is None


def test_the_folder_may_be_called_by_its_whole_path(changed, tmp_path):
    for place in (tmp_path / "model", "/", "..", ""):
        assert changed(checkpoint_path=str(place)).entities is not None


@pytest.mark.parametrize("kind", ["a\0", "/../../x", "../x", "a/b", "", "a" * 400])
def test_a_type_of_entities_is_part_of_a_name(changed, kind):
    relation = {"name": "r", "lhs": kind, "rhs": kind, "operator": "translation"}
    with pytest.raises(CheckpointError, match="is no part of a file's name"):
        changed(entities={kind: {"num_partitions": 2}}, relations=[relation])
