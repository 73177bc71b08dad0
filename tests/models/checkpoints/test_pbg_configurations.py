"""PyTorch-BigGraph's config.json: a model of others neither chooses files of this machine nor passes nonsense."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kgeval import Triples, load_checkpoint, save_checkpoint
from kgeval.base.errors import CheckpointError
from kgeval.data.queries import Queries
from tests.models.checkpoints import layouts

RELATION = {"name": "r", "operator": "translation"}


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


def of_other_width(folder):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "model/embeddings_small_0.v8.h5", "w") as file:
        file["embeddings"] = np.ones((4, 2), np.float32)
    with h5py.File(folder / "model/model.v8.h5", "r+") as file:
        del file["model/entities/small/global_embedding"]
        file["model/entities/small/global_embedding"] = np.ones(2, np.float32)


def of_one_label(folder):
    (folder / "data/entity_names_small_0.json").write_text('["ant"]')


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda config: config["entities"]["small"].update(featurized=True),
            "featurized entities, such as 'small', are not read",
        ),
        (
            lambda config: config["relations"][1].update(operator="mine"),
            "the operators none, diagonal.*found 'affine, mine, translation'",
        ),
        (lambda config: config.update(dynamic_relations=True), "one operator if relations are dynamic"),
        (lambda config: config["relations"][1].update(lhs="huge"), "'huge'"),
        (of_other_width, "must have one length; found big 4, small 2"),
        (of_one_label, "the entities of type 'small' have 4 rows, but 1 labels"),
    ],
)
def test_a_model_of_types_that_do_not_fit_is_refused(tmp_path, change, message):
    layouts.pbg_types(tmp_path)
    path = tmp_path / "model/config.json"
    config = json.loads(path.read_text())
    change(tmp_path if change in (of_other_width, of_one_label) else config)
    path.write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(tmp_path / "model")


def test_types_without_labels_are_rows(tmp_path):
    layouts.pbg_types(tmp_path)
    for file in (tmp_path / "data").iterdir():
        file.unlink()
    checkpoint = load_checkpoint(tmp_path / "model")
    assert (checkpoint.entities, checkpoint.num_entities, checkpoint.describe()["types"]) == (None, 8, 2)


def test_types_are_in_no_native_file(tmp_path):
    layouts.pbg_types(tmp_path)
    with pytest.raises(CheckpointError, match="its entities have several types, which a native file cannot hold"):
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


NUMBERS = [10**400, float("nan"), float("inf"), -1, 0, "1", [1], True, -0.5]
COUNTS = [float("inf"), float("nan"), 10**30, -1, 0, "x", None]
TRUTHS = ["bias", "dynamic_relations", "global_emb"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(({"max_norm": norm}, "found max_norm") for norm in NUMBERS),
        *(
            (
                {"entities": {"all": {"num_partitions": count}}},
                r"config\.json: (not a readable|expected a positive max_norm)",
            )
            for count in COUNTS
        ),
        *(
            ({name: value}, f"its {name} is .*, which is neither true nor false")
            for name in TRUTHS
            for value in ("no", "false", 1, 0, [], "true")
        ),
        *(
            (
                {"entities": {kind: {"num_partitions": 2}}, "relations": [{**RELATION, "lhs": kind, "rhs": kind}]},
                "cannot be part of a file name",
            )
            for kind in ("a\0", "/../../x", "../x", "a/b", "", "a" * 400)
        ),
    ],
)
def test_what_a_configuration_cannot_say_is_refused(changed, changes, message):
    with pytest.raises(CheckpointError, match=message):
        changed(**changes)
    assert changed(max_norm=2).num_entities == changed(max_norm=None).num_entities == 7


@pytest.mark.parametrize("entity_path", ["/etc", "../../names", "names/../../names"])
def test_the_names_lie_near_the_model(changed, tmp_path, entity_path):
    with pytest.raises(CheckpointError, match=r"leads to another place.*option labels"):
        changed(entity_path=entity_path)
    assert changed({"labels": tmp_path / "names"}, entity_path=entity_path).entities is not None


@pytest.mark.parametrize("entity_path", ["a" * 5000, "a\0b", "nowhere"])
def test_names_that_are_nowhere_are_none(changed, entity_path):
    assert changed(entity_path=entity_path).entities is None


def test_the_folder_may_be_called_by_its_whole_path(changed, tmp_path):
    for place in (tmp_path / "model", "/", "..", ""):
        assert changed(checkpoint_path=str(place)).entities is not None
