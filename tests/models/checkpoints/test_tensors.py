"""State dictionaries: every tensor is used, known to be no matter to a score, or refused by its name."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kgeval import load_checkpoint
from kgeval.base.errors import CheckpointError
from kgeval.models.checkpoints.readers import formats
from tests.models.checkpoints.layouts import (
    WRITERS,
    openke_json,
    openke_transr,
    saved_by_libkge,
    table,
    tensors,
    torchkge_transe,
)

NAMES = ("conve", "dicee", "kbc", "openke", "rotate", "torchkge", "tucker")

STATES = [writer for name, writer in WRITERS if name in NAMES and writer not in (openke_json, torchkge_transe)]
"""the layouts of state dictionaries that torch saved"""


def model_of(folder):
    """Find the file of a model, and what ``torch.load`` gives of it."""
    files = [
        path for path in folder.iterdir() if path.suffix in {".pt", ".ckpt", ".model"} or path.name == "checkpoint"
    ]
    assert len(files) == 1
    return files[0], torch.load(files[0], weights_only=True)


@pytest.mark.parametrize("writer", STATES, ids=lambda writer: writer.__name__)
@pytest.mark.parametrize("name", ["gate.weight", "bn9.bias", "entity_embedding_2"])
def test_a_tensor_that_no_formula_uses_is_refused_by_name(tmp_path, writer, name):
    _, _, options = writer(tmp_path)
    path, content = model_of(tmp_path)
    load_checkpoint(tmp_path, **options)
    content.get("model_state_dict", content)[name] = torch.ones(3, 2)
    torch.save(content, path)
    with pytest.raises(CheckpointError, match=rf"does not use the tensor '{name}'. It is a different model"):
        load_checkpoint(tmp_path, **options)


AROUND = {
    "bookkeeping": lambda state: {**state, "epoch": 5, "optimizer": {"lr": 0.1}, "name": "m", "best": None},
    "parallel": lambda state: {f"module.{name}": tensor for name, tensor in state.items()},
    "state_dict": lambda state: {"state_dict": state, "epoch": 5},
    "model_state_dict": lambda state: {"epoch": 5, "model_state_dict": state, "optimizer_state_dict": {"state": {}}},
    "model": lambda state: {"model": state, "optimizer": {"state": {0: {"exp_avg": torch.ones(2)}}}},
    "model, parallel": lambda state: {"model": {f"module.{name}": tensor for name, tensor in state.items()}},
}
"""what training scripts make of a state dictionary"""


@pytest.mark.parametrize("writer", STATES, ids=lambda writer: writer.__name__)
@pytest.mark.parametrize("around", AROUND)
def test_what_is_around_a_state_is_no_matter(tmp_path, writer, around):
    _, _, options = writer(tmp_path)
    path, content = model_of(tmp_path)
    expected = load_checkpoint(tmp_path, **options)
    own = "model_state_dict" in content  # a layout that is wrapped by itself stays so
    if own and around not in {"bookkeeping", "parallel"}:
        pytest.skip("the framework's own code wraps it already")
    torch.save(
        {**content, "model_state_dict": AROUND[around](content["model_state_dict"])}
        if own
        else AROUND[around](content),
        path,
    )
    assert [name for name, reader in formats().items() if reader.recognises(tmp_path)] == [expected.format]
    found = load_checkpoint(tmp_path, **options)
    assert found.describe() == expected.describe()
    assert all(np.array_equal(array, expected.family.arrays[name]) for name, array in found.family.arrays.items())


@pytest.mark.parametrize("around", sorted(AROUND.keys() - {"bookkeeping"}))
def test_a_tensor_that_no_formula_uses_is_refused_whatever_is_around(tmp_path, around):
    state = tensors(ent_emb__weight=table(7, 4), rel_emb__weight=table(3, 4, 1), gate=table(3, 4))
    torch.save(AROUND[around](state), tmp_path / "m.pt")
    with pytest.raises(CheckpointError, match=r"a DistMult does not use the tensor 'gate'\. It is"):
        load_checkpoint(tmp_path, model="DistMult")


@pytest.mark.parametrize(
    ("file", "state", "missing"),
    [
        ("m.pt", {"net.re_ent_emb.weight": torch.ones(7, 2), "ent_emb.weight": "elsewhere"}, "ent_emb.weight"),
        (
            "m.ckpt",
            {"net.ent_re_embeddings.weight": torch.ones(7, 2), "ent_embeddings.weight": 0},
            "ent_embeddings.weight",
        ),
        ("m.pt", {"weights": {"ent_emb.weight": torch.ones(7, 2)}}, "ent_emb.weight"),
    ],
)
def test_models_whose_tensors_are_not_there_are_not_offered(tmp_path, file, state, missing):
    torch.save(state, tmp_path / file)
    with pytest.raises(CheckpointError, match=rf"the tensor '{missing}' is missing\. (Did|Choose|The file holds no) "):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize("modulus", [0.25, 0.0, -0.25, float("nan"), None])
def test_a_modulus_that_turns_the_ranking_round_is_refused(tmp_path, modulus):
    state = tensors(entity_embedding=table(7, 2), relation_embedding=table(3, 2, 1), embedding_range=np.float32([0.5]))
    state |= {} if modulus is None else {"modulus": torch.tensor([[modulus]])}
    torch.save({"step": 1, "model_state_dict": state}, tmp_path / "checkpoint")
    if modulus == 0.25:
        assert load_checkpoint(tmp_path, model="pRotatE").family.name == "pRotatE"
    else:
        said = f"(its modulus is {modulus}; expected a positive|'modulus' holds {modulus}; expected finite) number"
        with pytest.raises(CheckpointError, match=said):
            load_checkpoint(tmp_path, model="pRotatE")


@pytest.mark.parametrize("reciprocal", [False, True])
def test_a_tensor_of_libkge_that_no_formula_uses_is_refused_by_name(tmp_path, reciprocal):
    """A reciprocal model holds the tensors of its base model twice; the copies are no matter."""
    settings = {"model": "distmult", "distmult": {}, "reciprocal_relations_model": {"base_model": {"type": "distmult"}}}
    settings["model"] = "reciprocal_relations_model" if reciprocal else "distmult"
    state = tensors(
        _entity_embedder___embeddings__weight=table(7, 4), _relation_embedder___embeddings__weight=table(6, 4, 1)
    )
    extra = {"_relation_embedder.projection.weight": torch.ones(4, 4)}

    def load(state):
        whole = {**state, **{f"_base_model.{name}": value for name, value in state.items()}} if reciprocal else state
        saved_by_libkge(tmp_path / "checkpoint_best.pt", settings, whole)
        return load_checkpoint(tmp_path)

    assert load(state).family.name == "DistMult"
    with pytest.raises(CheckpointError, match=r"a distmult does not use the tensor '.*_relation_embedder\.projection"):
        load({**state, **extra})


MODELS_OF_OTHERS = {
    "OpenKE Analogy": (
        "analogy.ckpt",
        {
            f"{kind}_{part}embeddings.weight": (n, 4)
            for kind, n in (("ent", 7), ("rel", 3))
            for part in ("re_", "im_", "")
        },
        {},
        "'ent_embeddings.weight', 'rel_embeddings.weight'",
    ),
    "TorchKGE ConvKB": (
        "convkb.pt",
        {
            "ent_emb.weight": (7, 4),
            "rel_emb.weight": (3, 4),
            "convlayer.0.weight": (3, 3, 1),
            "output.0.weight": (2, 12),
        },
        {"model": "HolE"},
        "'convlayer.0.weight', 'output.0.weight'",
    ),
    "TNTComplEx with more": (
        "model.pt",
        {f"embeddings.{place}.weight": (rows, 4) for place, rows in enumerate([7, 6, 9, 6, 9])},
        {},
        "'embeddings.4.weight'",
    ),
}


@pytest.mark.parametrize("name", MODELS_OF_OTHERS)
def test_another_model_is_not_taken_for_a_simpler_one(tmp_path, name):
    file, shapes, options, named = MODELS_OF_OTHERS[name]
    torch.save({key: torch.ones(shape) for key, shape in shapes.items()}, tmp_path / file)
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(tmp_path / file, **options)
    assert f"does not use the tensor{'s' * (',' in named)} {named}. It is a different model" in str(caught.value)


@pytest.mark.parametrize(
    ("extra", "named"),
    [
        ([f"t{index}" for index in range(9)], "tensors 't0', 't1', 't2', 't3', 't4', …. It"),
        (["module.gate"], r"tensor 'module\.gate'. It"),
    ],
)
def test_names_are_told_whole_and_not_all_of_many(tmp_path, extra, named):
    """A prefix of some tensors only is part of their names."""
    state = tensors(ent_emb__weight=table(7, 4), rel_emb__weight=table(3, 4))
    torch.save(state | {name: torch.ones(3, 4) for name in extra}, tmp_path / "m.pt")
    with pytest.raises(CheckpointError, match=f"a DistMult does not use the {named}"):
        load_checkpoint(tmp_path, model="DistMult")


# Options that are spelt in several ways


@pytest.mark.parametrize("norm", [1, 1.0, "1"])
def test_a_whole_number_may_be_written_with_a_point(tmp_path, norm):
    openke_transr(tmp_path)
    checkpoint = load_checkpoint(tmp_path, p_norm=norm, norm_flag=True)
    assert checkpoint.family.options["norm"] == 1


@pytest.mark.parametrize("norm", [1.5, True, "one"])
def test_what_is_no_choice_stays_none(tmp_path, norm):
    openke_transr(tmp_path)
    with pytest.raises(CheckpointError, match="expected p_norm=1 or p_norm=2"):
        load_checkpoint(tmp_path, p_norm=norm, norm_flag=True)
