"""Truth values in the place of numbers: Python counts ``True`` as 1, a file that says ``true`` means something else."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
import yaml

from kgeval import load_checkpoint, load_dataset, save_checkpoint
from kgeval.base.errors import CheckpointError, KgevalError
from tests.data import stored_layouts
from tests.models.checkpoints import layouts


def test_an_option_that_is_given(tmp_path):
    np.savez(tmp_path / "m.npz", entity=np.ones((3, 2)), relation=np.ones((2, 2)))
    assert load_checkpoint(tmp_path / "m.npz", model="TransE", norm=1).family.options["norm"] == 1
    with pytest.raises(CheckpointError, match="TransE: norm=True: a truth value is no number"):
        load_checkpoint(tmp_path / "m.npz", model="TransE", norm=True)


def test_an_option_that_is_stored(tmp_path):
    np.savez(tmp_path / "m.npz", entity=np.ones((3, 2)), relation=np.ones((2, 2)))
    path = tmp_path / "m.safetensors"
    save_checkpoint(load_checkpoint(tmp_path / "m.npz", model="TransE", norm=1), path)
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    header["__metadata__"]["options"] = json.dumps({"norm": True})
    said = json.dumps(header).encode()
    path.write_bytes(len(said).to_bytes(8, "little") + said + content[8 + length :])
    with pytest.raises(CheckpointError, match="norm=True: a truth value is no number"):
        load_checkpoint(path)


@pytest.mark.parametrize("key", ["hidden_dim", "gamma"])
def test_a_number_of_dglke(tmp_path, key):
    config = {"model_name": "RotatE", "dataset": "d", "hidden_dim": 2, "gamma": 12.0}
    np.save(tmp_path / "d_RotatE_entity.npy", np.ones((3, 4), np.float32))
    np.save(tmp_path / "d_RotatE_relation.npy", np.ones((2, 2), np.float32))
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert load_checkpoint(tmp_path).family.name == "RotatE"
    (tmp_path / "config.json").write_text(json.dumps({**config, key: True}))
    with pytest.raises(CheckpointError, match=f"{key} is True(; expected a number|, but the relations have 2)"):
        load_checkpoint(tmp_path)


def test_ids_of_the_conve_code(tmp_path):
    layouts.conve_distmult(tmp_path)
    (tmp_path / "vocab_e1").write_bytes(pickle.dumps([{"OOV": 0, "": True}], protocol=2))
    with pytest.raises(CheckpointError, match=r"its (entity|relation) ids are not 0, 1, 2"):
        load_checkpoint(tmp_path)


def test_a_number_of_edges(tmp_path):
    stored_layouts.marius(tmp_path)
    content = yaml.safe_load((tmp_path / "dataset.yaml").read_text())
    edges = tmp_path / "edges/test_edges.bin"
    edges.write_bytes(np.array([0, 0, 1], np.int32).tobytes())
    (tmp_path / "dataset.yaml").write_text(yaml.safe_dump({**content, "num_test": 1}))
    assert len(load_dataset(tmp_path).test) == 1
    (tmp_path / "dataset.yaml").write_text(yaml.safe_dump({**content, "num_test": True}))
    with pytest.raises(KgevalError, match="are not the num_test: True edges"):
        load_dataset(tmp_path)


def test_inverse_edges_of_marius(tmp_path):
    layouts.marius_distmult(tmp_path)
    config = tmp_path / "full_config.yaml"
    said = config.read_text()
    for value in ('"false"', "1", "[]"):
        config.write_text(said.replace("false", value))
        with pytest.raises(CheckpointError, match=r"its inverse_edges is .* neither true nor false"):
            load_checkpoint(tmp_path)
