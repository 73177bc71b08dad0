"""Large arrays of a safetensors file are mapped, not read, and rank as if they had been read."""

from __future__ import annotations

import json
import mmap

import numpy as np
import pytest

from kgeval import evaluate, load_checkpoint, save_checkpoint
from kgeval.base.errors import CheckpointError
from kgeval.models.checkpoints.mapped_arrays import read_safetensors
from kgeval.models.family import family
from tests.models.checkpoints.conftest import OPTIONS, arrays_of, same_tables


def owner_of(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return array


@pytest.mark.parametrize(("number", "model"), enumerate(OPTIONS))
def test_a_mapped_model_ranks_as_one_that_was_read(tmp_path, graph, number, model):
    dtype = (np.float16, np.float32, np.float64)[number % 3]
    path = tmp_path / "m.safetensors"
    save_checkpoint(family(model).build(arrays_of(model, dtype=dtype), OPTIONS[model]), path)
    read, mapped = (
        family(model).build(read_safetensors(path, **how).arrays, OPTIONS[model]) for how in ({}, {"large": 1})
    )
    assert isinstance(owner_of(mapped.entity), mmap.mmap)
    assert not isinstance(owner_of(read.entity), mmap.mmap)
    expected = evaluate(read, graph)
    for settings in ({}, {"memory_limit": 4096}, {"kernel": "reference"}):
        assert same_tables(evaluate(mapped, graph, **settings), expected)


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize("model", sorted(OPTIONS.keys() - {"RotatE"}))  # rounded relations are no rotations
def test_half_precision_is_read_exactly(tmp_path, graph, model, kind):
    import torch
    from safetensors.torch import save_file

    options = {name: str(value) for name, value in {"model": model, "options": json.dumps(OPTIONS[model])}.items()}
    arrays = {name: torch.from_numpy(array).to(getattr(torch, kind)) for name, array in arrays_of(model).items()}
    save_file(arrays, tmp_path / "m.safetensors", options)
    save_file({name: array.float() for name, array in arrays.items()}, tmp_path / "wide.safetensors", options)
    half, wide = (load_checkpoint(tmp_path / f"{name}.safetensors") for name in ("m", "wide"))
    for name, array in half.family.arrays.items():
        assert np.array_equal(array.astype(np.float64), arrays[name].double().numpy()), name
    assert same_tables(evaluate(half, graph), evaluate(wide, graph))


def test_a_precision_that_numpy_does_not_have_is_named(tmp_path):
    import torch
    from safetensors.torch import save_file

    arrays = {name: torch.from_numpy(array).to(torch.float8_e4m3fn) for name, array in arrays_of("DistMult").items()}
    save_file(arrays, tmp_path / "m.safetensors")
    message = r"the array '\w+' is F8_E4M3; expected F16, F32, F64 or BF16"
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(tmp_path / "m.safetensors", model="DistMult")


def test_what_is_not_finite_in_a_large_array_is_found(tmp_path):
    arrays = {"entity": np.ones((2**17, 2)), "relation": np.ones((1, 2))}
    arrays["entity"][2**16 + 5, 1] = arrays["entity"][2**16 + 6, 0] = np.nan
    path = tmp_path / "m.safetensors"
    save_checkpoint(family("DistMult").build(arrays, {}), path)
    with pytest.raises(CheckpointError, match=r"holds nan at row 65541, column 1; 2 of its values are not finite"):
        load_checkpoint(path)


def test_a_mapped_file_that_is_cut_short_is_refused(tmp_path):
    path = tmp_path / "m.safetensors"
    save_checkpoint(family("DistMult").build(arrays_of("DistMult"), {}), path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(CheckpointError, match=r"not a readable \.safetensors file, or cut short"):
        read_safetensors(path, large=1)
