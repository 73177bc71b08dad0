"""PyKEEN's networks and other interactions without vectors, read from files: their ranks are PyKEEN's own."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pykeen.models import ERModel, model_resolver
from pykeen.nn.modules import MultiLinearTuckerInteraction, TransformerInteraction
from pykeen.triples import TriplesFactory

from kgeval import evaluate, load_checkpoint
from kgeval.checkpoints.readers.pykeen.modules import NoFormula
from kgeval.data.layouts.pykeen import from_factories
from kgeval.data.queries import Queries
from kgeval.data.triples import Triples
from kgeval.errors import CheckpointError
from kgeval.scorers.adapters.live_models import PyKEENScorer

CASES = {
    "AutoSF": ("AutoSF", {"embedding_dim": 4}, None),
    "ConvKB": ("ConvKB", {"embedding_dim": 5, "num_filters": 3}, {}),
    "CrossE": ("CrossE", {"embedding_dim": 5}, {"activation": "tanh"}),
    "ERMLP": ("ERMLP", {"embedding_dim": 5, "hidden_dim": 7}, {"activation": "relu"}),
    "ERMLP-tanh": ("ERMLP", {"embedding_dim": 5, "activation": "tanh"}, {"activation": "tanh"}),
    "ERMLPE": ("ERMLPE", {"embedding_dim": 5, "hidden_dim": 7}, {}),
    "KG2E": ("KG2E", {"embedding_dim": 37}, {"similarity": "kl"}),
    "KG2E-el": ("KG2E", {"embedding_dim": 5, "dist_similarity": "el"}, {"similarity": "el"}),
    "NTN": ("NTN", {"embedding_dim": 5, "num_slices": 3}, {"activation": "tanh"}),
    "NTN-relu": ("NTN", {"embedding_dim": 5, "non_linearity": "relu"}, {"activation": "relu"}),
    "ProjE": ("ProjE", {"embedding_dim": 5}, {"inner_activation": "tanh", "outer_activation": "identity"}),
    "TorusE": ("TorusE", {"embedding_dim": 5}, {"p": 2}),
    "TorusE-1": ("TorusE", {"embedding_dim": 5, "p": 1}, {"p": 1}),
}
"""the model, its arguments, and what must be said of a state dictionary; None where none can be read"""


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "inverse"])
def graph(request, factories):
    """Nations, and its training triples with inverse relations or without."""
    training = factories["training"]
    training = TriplesFactory(
        training.mapped_triples, training.entity_to_id, training.relation_to_id, create_inverse_triples=request.param
    )
    return training, from_factories({**factories, "training": training})


def moved(model):
    """Move every number, the statistics of normalisations too, so that none is what it began as."""
    rng = np.random.default_rng(1)
    with torch.no_grad():
        for numbers in (*model.parameters(), *model.buffers()):
            if numbers.is_floating_point():
                numbers.add_(torch.from_numpy(np.asarray(rng.uniform(-0.5, 1, size=tuple(numbers.shape)))))
        for name, numbers in model.named_buffers():
            if name.endswith("running_var"):
                numbers.abs_()
    model.post_parameter_update()
    return model.eval()


def live(name, kwargs, factory):
    return moved(model_resolver.make(name, triples_factory=factory, random_seed=0, **kwargs).double())


def assert_same_ranks(checkpoint, model, dataset):
    """Every count is that of PyKEEN's own scores, and so is every score but for a constant."""
    ours, theirs = (evaluate(scorer, dataset).to_pandas() for scorer in (checkpoint, PyKEENScorer(model)))
    counts = ["side", "triple", "greater", "tied", "candidates", "raw_greater", "raw_tied", "raw_candidates"]
    assert ours[counts].equals(theirs[counts])
    assert (ours["score"] - theirs["score"]).std() < 1e-9 < ours["score"].std()


@pytest.mark.parametrize("case", CASES)
def test_a_file_ranks_as_pykeen_does(graph, tmp_path, case):
    name, kwargs, _ = CASES[case]
    factory, dataset = graph
    model = live(name, kwargs, factory)
    torch.save(model, tmp_path / "trained_model.pkl")
    checkpoint = load_checkpoint(tmp_path)
    assert checkpoint.family.name == name
    assert_same_ranks(checkpoint, model, dataset)


@pytest.mark.parametrize("case", [case for case, (_, _, said) in CASES.items() if said is not None])
def test_a_state_dictionary_ranks_as_its_model(factories, tmp_path, case):
    name, kwargs, said = CASES[case]
    model = live(name, kwargs, factories["training"])
    torch.save(model.state_dict(), tmp_path / "m.pt")
    checkpoint = load_checkpoint(tmp_path, model=name, reciprocal=False, **said)
    assert_same_ranks(checkpoint, model, from_factories(factories))


BARE = {
    "MultiLinearTucker": (
        MultiLinearTuckerInteraction,
        {"head_dim": 3, "relation_dim": 4, "tail_dim": 5},
        [{"shape": 3}, {"shape": 5}],
    ),
    "Transformer": (
        TransformerInteraction,
        {"input_dim": 4, "num_heads": 2, "num_layers": 2, "dim_feedforward": 6},
        {"shape": 4},
    ),
}
"""interactions that PyKEEN has no model for: their arguments, and the shapes of entities; relations have 4 numbers"""


@pytest.mark.parametrize("name", BARE)
def test_an_interaction_without_a_model_of_its_own(graph, tmp_path, name):
    interaction, kwargs, entities = BARE[name]
    factory, dataset = graph
    model = ERModel(
        triples_factory=factory,
        interaction=interaction,
        interaction_kwargs=kwargs,
        entity_representations_kwargs=entities,
        relation_representations_kwargs={"shape": 4},
        random_seed=0,
    )
    model = moved(model.double())
    torch.save(model, tmp_path / "trained_model.pkl")
    assert_same_ranks(load_checkpoint(tmp_path), model, dataset)


def test_hidden_layers_without_life_tie(factories, tmp_path):
    """Below zero, relu leaves nothing of entities: scores that are equal in PyKEEN are equal here."""
    model = live("ERMLP", {"embedding_dim": 3}, factories["training"])
    with torch.no_grad():
        model.interaction.hidden.bias -= 3
    torch.save(model, tmp_path / "trained_model.pkl")
    dataset = from_factories(factories)
    checkpoint = load_checkpoint(tmp_path)
    assert_same_ranks(checkpoint, model, dataset)
    assert evaluate(checkpoint, dataset).to_pandas()["tied"].max() > 3


@pytest.mark.parametrize(
    ("name", "kwargs", "reason"),
    [
        ("ERMLP", {"activation": "selu"}, "its activation is selu; kgeval has identity, relu, sigmoid, tanh"),
        ("NTN", {"non_linearity": "hardtanh"}, "its activation is hardtanh"),
        ("TorusE", {"p": 3}, "its distance is the norm of p = 3"),
    ],
)
def test_what_has_no_formula_is_left_to_the_live_model(factories, tmp_path, name, kwargs, reason):
    torch.save(live(name, {"embedding_dim": 3, **kwargs}, factories["training"]), tmp_path / "trained_model.pkl")
    with pytest.raises(NoFormula, match=reason + ".*Evaluate the live model instead"):
        load_checkpoint(tmp_path)


def test_a_function_of_finished_scores_is_left_to_the_live_model(factories, tmp_path):
    model = live("ProjE", {"embedding_dim": 3}, factories["training"])
    model.interaction.outer_activation = torch.nn.Sigmoid()
    torch.save(model, tmp_path / "trained_model.pkl")
    with pytest.raises(NoFormula, match="its scores pass a function, whose saturation makes ties"):
        load_checkpoint(tmp_path)


def test_variances_that_are_none_are_refused(factories, tmp_path):
    model = live("KG2E", {"embedding_dim": 3}, factories["training"])
    with torch.no_grad():
        model.relation_representations[1]._embeddings.weight[2, 1] = -1
    torch.save(model, tmp_path / "trained_model.pkl")
    with pytest.raises(CheckpointError, match=r"a variance of 'relation' is not between 1e-06 and 1e\+09"):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize(("kind", "rows", "width"), [("entity", 28, 4), ("relation", 55, 8)])
def test_tables_side_by_side_have_one_shape(factories, tmp_path, kind, rows, width):
    """Of other rows they cannot be joined, and of other widths the halves would not be what they are called."""
    state = live("KG2E", {"embedding_dim": 4}, factories["training"]).state_dict()
    name = f"{kind}_representations.1._embeddings.weight"
    torch.save({**state, name: torch.ones(rows, width)}, tmp_path / "m.pt")
    with pytest.raises(
        CheckpointError, match=rf"representations of the same rows have the shapes .*\({rows}, {width}\)"
    ):
        load_checkpoint(tmp_path, model="KG2E", similarity="kl", reciprocal=False)


@pytest.mark.parametrize("case", ["ConvKB", "ERMLP", "KG2E", "NTN", "TorusE"])
def test_candidates_of_their_own_score_as_those_of_all(factories, tmp_path, case):
    """To the last bit, many queries at a time and few."""
    name, kwargs, _ = CASES[case]
    torch.save(live(name, kwargs, factories["training"]), tmp_path / "trained_model.pkl")
    model = load_checkpoint(tmp_path).model
    queries = Queries.of(Triples.of(factories["training"].mapped_triples[:200].numpy()), "head")
    everyone = model.scores(queries, np.arange(14))
    own = np.random.default_rng(0).integers(14, size=(len(queries), 5))
    assert np.array_equal(model.scores(queries, own), np.take_along_axis(everyone, own, axis=1))
    assert np.array_equal(model.scores(queries[3:4], np.arange(14)), everyone[3:4])
