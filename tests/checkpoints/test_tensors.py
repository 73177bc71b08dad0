"""State dictionaries: every tensor is used, known to be no matter to a score, or refused by its name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from kgeval import load_checkpoint
from kgeval.checkpoints.tensors import Tensors
from kgeval.errors import CheckpointError
from kgeval.pickles.pickled import read_torch
from tests.checkpoints.layouts import (
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
    with pytest.raises(CheckpointError, match=rf"has no use for the tensor '{name}': this is another model"):
        load_checkpoint(tmp_path, **options)


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
    with pytest.raises(
        CheckpointError, match=r"a distmult has no use for the tensor '.*_relation_embedder\.projection"
    ):
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
    "TComplEx": (
        "model.pt",
        {"embeddings.0.weight": (7, 4), "embeddings.1.weight": (6, 4), "embeddings.2.weight": (9, 4)},
        {},
        "'embeddings.2.weight'",
    ),
}


@pytest.mark.parametrize("name", MODELS_OF_OTHERS)
def test_another_model_is_not_taken_for_a_simpler_one(tmp_path, name):
    file, shapes, options, named = MODELS_OF_OTHERS[name]
    torch.save({key: torch.ones(shape) for key, shape in shapes.items()}, tmp_path / file)
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(tmp_path / file, **options)
    assert f"has no use for the tensor{'s' * (',' in named)} {named}: this is another model" in str(caught.value)


def test_many_names_are_cut_short():
    many = Tensors(Path("m.pt"), {f"t{index}": np.ones(1) for index in range(9)})
    with pytest.raises(CheckpointError, match=r"tensors 't0', 't1', 't2', 't3', 't4' and 4 more: this"):
        many.refuse_unused("TransE")


def test_what_a_view_takes_is_used_in_the_whole():
    whole = Tensors(Path("m.pt"), {"model.a": np.ones((1, 1)), "model.b.c": np.ones(1), "a": np.ones(1)})
    inner = whole.without("model.")
    inner.matrix("a")
    inner.without("b.").take("c", 1)
    with pytest.raises(CheckpointError, match="no use for the tensor 'a': this"):
        whole.refuse_unused("TransE")
    whole.refuse_unused("TransE", "a")


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


# Training checkpoints of PyKEEN, which hold tensors and labels

TRAINED = {
    "BoxE": ({"embedding_dim": 4}, {"p": 2, "power_norm": False, "tanh_map": True}),
    "BoxE-l1": ({"embedding_dim": 4, "p": 1, "tanh_map": False}, {"p": 1, "power_norm": True, "tanh_map": False}),
    "ComplEx": ({"embedding_dim": 4}, {}),
    "DistMult": ({"embedding_dim": 4}, {}),
    "MuRE": ({"embedding_dim": 4}, {"p": 2, "power_norm": True}),
    "PairRE": ({"embedding_dim": 4, "p": 2}, {"p": 2, "entity_normalizer": "normalize"}),
    "PairRE-free": ({"embedding_dim": 4, "entity_normalizer": None}, {"p": 1, "entity_normalizer": "none"}),
    "QuatE": ({"embedding_dim": 2}, {"relation_normalizer": "normalize"}),
    "QuatE-free": ({"embedding_dim": 2, "relation_normalizer": None}, {"relation_normalizer": "none"}),
    "RESCAL": ({"embedding_dim": 3}, {}),
    "TuckER": ({"embedding_dim": 4, "relation_dim": 3}, {}),
}


def saved_loop(path, name, kwargs, factory, **further):
    """Write what a training loop saves of a model, as far as it is read; return the live model."""
    from pykeen.models import model_resolver

    model = model_resolver.make(name, triples_factory=factory, random_seed=0, **kwargs).double().eval()
    for parameter in model.parameters():
        parameter.data += torch.from_numpy(np.random.default_rng(1).normal(size=tuple(parameter.shape)) / 4)
    ids = {f"{kind}_to_id_dict": getattr(factory, f"{kind}_to_id") for kind in ("entity", "relation")}
    torch.save({"model_state_dict": {**model.state_dict(), **further}, **ids}, path)
    return model


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("case", TRAINED)
def test_a_training_checkpoint_scores_as_its_model(tmp_path, factories, case, inverse):
    from pykeen.triples import TriplesFactory

    from kgeval.graph.queries import Queries
    from kgeval.graph.triples import Triples

    kwargs, options = TRAINED[case]
    name, given = case.split("-")[0], factories["training"]
    factory = TriplesFactory(
        given.mapped_triples, given.entity_to_id, given.relation_to_id, create_inverse_triples=inverse
    )
    model = saved_loop(tmp_path / "loop.pt", name, kwargs, factory)
    checkpoint = load_checkpoint(tmp_path / "loop.pt", model=name, **options)
    assert checkpoint.origins["reciprocal"] == "loop.pt"
    triples = factory.mapped_triples[:20]
    everyone = np.arange(factory.num_entities)
    for side, predict in (("tail", model.predict_t), ("head", model.predict_h)):
        queries = Queries.of(Triples.of(triples.numpy()), side)
        found = checkpoint.scores(queries, everyone)
        rows = [(a, r) if side == "tail" else (r, a) for a, r in zip(queries.anchors, queries.relations, strict=True)]
        expected = predict(torch.tensor(rows)).detach().numpy()
        # A constant of a model or a power of its distance is no matter to a rank.
        assert np.array_equal(np.argsort(found), np.argsort(expected))
    for missing in options:
        with pytest.raises(CheckpointError, match=f"does not say {missing}, .*: give the option {missing}="):
            load_checkpoint(
                tmp_path / "loop.pt", model=name, **{key: value for key, value in options.items() if key != missing}
            )


def test_a_training_checkpoint_of_another_model_is_refused(tmp_path, factories):
    saved_loop(tmp_path / "loop.pt", "SimplE", {"embedding_dim": 3}, factories["training"])
    assert "relation_representations.1._embeddings.weight" in read_torch(tmp_path / "loop.pt")["model_state_dict"]
    with pytest.raises(CheckpointError, match=r"a DistMult has no use for the tensors 'entity_representations\.1\."):
        load_checkpoint(tmp_path / "loop.pt", model="DistMult")


def test_distances_that_are_squared_before_they_are_added_have_no_formula(tmp_path, factories):
    saved_loop(tmp_path / "loop.pt", "BoxE", {"embedding_dim": 3}, factories["training"])
    with pytest.raises(CheckpointError, match="its two distances are squared before they are added"):
        load_checkpoint(tmp_path / "loop.pt", model="BoxE", p=2, power_norm=True, tanh_map=True)
