"""RotatE whose relations are no rotations: turning back by the conjugate is not the formula's head query."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import evaluate, load_checkpoint, save_checkpoint
from kgeval.base.errors import CheckpointError
from kgeval.data.layouts.pykeen import from_factories
from kgeval.models.family import family
from tests.models.checkpoints.conftest import arrays_of, write_arrays

NO_ROTATION = r"relation row 1 is no rotation \(its modulus at 0 is 1\.5, not 1\)"


@pytest.fixture
def arrays():
    """One relation stretches by half besides turning."""
    arrays = arrays_of("RotatE")
    arrays["relation"][1, [0, 2]] *= 1.5
    return arrays


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_arrays_whose_heads_would_be_ranked_wrongly_are_refused(tmp_path, arrays, suffix):
    path = write_arrays(tmp_path / f"m{suffix}", arrays)
    with pytest.raises(CheckpointError, match=NO_ROTATION + r".*give inverse relations \(reciprocal=true\)"):
        load_checkpoint(path, model="RotatE", norm=1)


def test_a_model_with_inverse_relations_never_turns_back(tmp_path, arrays):
    arrays["relation"] = np.concatenate([arrays["relation"], arrays["relation"]])
    path = write_arrays(tmp_path / "m.npz", arrays)
    assert load_checkpoint(path, model="RotatE", norm=1, reciprocal=True).num_relations == 3


def test_what_could_not_be_read_is_not_written(tmp_path, arrays):
    with pytest.raises(CheckpointError, match=NO_ROTATION):
        save_checkpoint(family("RotatE").build(arrays, {"norm": 1}), tmp_path / "m.safetensors")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("precision", [np.float16, np.float32, np.float64])
def test_rotations_that_rounding_has_touched_are_rotations(tmp_path, precision):
    path = write_arrays(tmp_path / "m.npz", arrays_of("RotatE", dtype=precision))
    assert load_checkpoint(path, model="RotatE", norm=1).family.relation.dtype == precision


@pytest.mark.parametrize("inverse", [False, True])
def test_pykeens_own_way_back_is_read_as_it_is(tmp_path, inverse):
    from pykeen.datasets import get_dataset
    from pykeen.pipeline import pipeline

    graph = get_dataset(dataset="nations", dataset_kwargs={"create_inverse_triples": inverse})
    result = pipeline(
        dataset=graph,
        model="RotatE",
        model_kwargs={"embedding_dim": 4, "relation_constrainer": None},
        optimizer_kwargs={"lr": 0.5},
        training_kwargs={"num_epochs": 1, "use_tqdm": False},
        evaluation_kwargs={"use_tqdm": False},
        random_seed=0,
        device="cpu",
    )
    result.model.double()
    result.save_to_directory(tmp_path)
    dataset = from_factories(graph.factory_dict)
    checkpoint = load_checkpoint(tmp_path, dataset=dataset)
    moduli = np.hypot(*np.split(checkpoint.family.rotations, 2, axis=1))
    assert np.abs(moduli - 1).max() > 0.01
    read, live = evaluate(checkpoint, dataset), evaluate(result.model, dataset)
    for column in ("greater", "tied", "candidates", "raw_greater"):
        assert (read.column(column) == live.column(column)).all()
