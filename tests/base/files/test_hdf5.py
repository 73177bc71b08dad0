"""HDF5 files: arrays that lie in the file, and nothing that it points to elsewhere."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kgeval import load_checkpoint, load_dataset
from kgeval.base.containers import open_hdf5
from kgeval.base.errors import CheckpointError, FileError
from tests.data import stored_layouts
from tests.models.checkpoints.layouts import pbg_static
from tests.models.checkpoints.memory import at_most

h5py = pytest.importorskip("h5py")


@pytest.fixture
def secret(tmp_path):
    """Another file of this machine, as HDF5 and as plain bytes."""
    path = tmp_path / "secret.h5"
    with h5py.File(path, "w") as file:
        file["embeddings"] = np.full((5, 4), 7, np.float32)
        file["lhs"] = np.zeros(2, np.int64)
    return path


def external_storage(file, name, shape, dtype, secret):
    file.create_dataset(name, shape, dtype, external=[(str(secret), 0, h5py.h5f.UNLIMITED)])


def external_link(file, name, shape, dtype, secret):
    file[name] = h5py.ExternalLink(str(secret), name.rpartition("/")[2])


def soft_link(file, name, shape, dtype, secret):
    file["other"] = h5py.ExternalLink(str(secret), name.rpartition("/")[2])
    file[name] = h5py.SoftLink("/other")


def virtual(file, name, shape, dtype, secret):
    layout = h5py.VirtualLayout(shape, dtype)
    layout[...] = h5py.VirtualSource(str(secret), name.rpartition("/")[2], shape, dtype)
    file.create_virtual_dataset(name, layout)


WAYS = [external_storage, external_link, soft_link, virtual]

WHY = "are in other files|is a link, perhaps to another file"


@pytest.mark.parametrize("way", WAYS)
def test_nothing_outside_of_the_file_is_read(tmp_path, secret, way):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["own"] = np.ones((2, 2), np.float32)
        way(file, "embeddings", (5, 4), np.float32, secret)
    with open_hdf5(tmp_path / "a.h5") as file:
        assert file.read("own").tolist() == [[1, 1], [1, 1]]
        with pytest.raises(FileError, match=WHY):
            file.read("embeddings")


def test_no_group_on_the_way_is_a_link(tmp_path, secret):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["model"] = h5py.ExternalLink(str(secret), "/")
    with open_hdf5(tmp_path / "a.h5") as file, pytest.raises(FileError, match=WHY):
        file.read("model/embeddings")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("write", "load", "files", "name"),
    [
        (pbg_static, load_checkpoint, "model/embeddings_all_0.*.h5", "embeddings"),
        (stored_layouts.pbg, load_dataset, "*train*/edges_0_0.h5", "lhs"),
    ],
)
def test_checkpoints_and_graphs_read_no_other_file(tmp_path, secret, way, write, load, files, name):
    folder = tmp_path / "folder"
    folder.mkdir()
    write(folder)
    load(folder)
    for path in folder.glob(files):
        with h5py.File(path, "r+") as file:
            shape, dtype = file[name].shape, file[name].dtype
            del file[name]
            way(file, name, shape, dtype, secret)
    with pytest.raises(FileError, match=WHY):
        load(folder)


def test_a_relation_of_a_checkpoint_has_a_name(tmp_path):
    pbg_static(tmp_path)
    config = json.loads((tmp_path / "model/config.json").read_text())
    del config["relations"][1]["name"]
    (tmp_path / "model/config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match=r"config\.json: not a readable configuration .*\(no 'name'\)"):
        load_checkpoint(tmp_path)


def test_arrays_are_as_large_as_their_file(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("hollow", (10**7,), np.float32)
        file.create_dataset("blocks", (10,), np.float32, chunks=(10,), maxshape=(None,))
        file.create_dataset("block", (10,), np.float32, chunks=(2**26,), maxshape=(None,))
        file["whole"] = np.arange(1000, dtype=np.float32)
        for name in range(20):
            file[f"whole {name}"] = file["whole"]  # a hard link: the same numbers under another name
        file["text"] = "x"
        file.create_group("group")
    with at_most(8), open_hdf5(tmp_path / "a.h5") as file:
        assert file.read("blocks").tolist() == [0] * 10
        for name in ("hollow", "block"):
            with pytest.raises(FileError, match="it unpacks to"):
                file.read(name)
        for name in ("text", "group", "none", "whole/none"):
            with pytest.raises(FileError, match=rf"a\.h5: '{name}' (holds object; expected|is missing or)"):
                file.read(name)
    with open_hdf5(tmp_path / "a.h5") as file:
        file.read("whole 0")
        with pytest.raises(FileError, match="it unpacks to"):
            _ = [file.read(f"whole {name}") for name in range(1, 20)]
