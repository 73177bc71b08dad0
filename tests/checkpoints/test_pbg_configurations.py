"""PyTorch-BigGraph's config.json: a model of others neither chooses files of this machine nor passes nonsense."""

from __future__ import annotations

import json

import pytest

from kgeval import load_checkpoint
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


@pytest.mark.parametrize("norm", [10**400, float("nan"), float("inf"), -1, 0, "1", [1], True, -0.5])
def test_a_maximal_norm_is_a_number_above_zero(changed, norm):
    with pytest.raises(CheckpointError, match="max_norm is"):
        changed(max_norm=norm)
    assert changed(max_norm=2).num_entities == changed(max_norm=None).num_entities == 7


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
