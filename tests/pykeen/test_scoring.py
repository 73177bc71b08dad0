"""How live models are scored: vectors only where they give the model's own scores, on whatever it computes with."""

from __future__ import annotations

from functools import partial

import numpy as np
import pykeen.models
import pytest
import torch
from pykeen.nn import Embedding
from pykeen.nn.modules import DistMultInteraction
from pykeen.triples import TriplesFactory

import kgeval.pykeen
from kgeval import ScoreTable
from kgeval.data.layouts.pykeen import from_factories
from kgeval.data.queries import Queries
from kgeval.models.adapters.live_models import PyKEENScorer
from kgeval.models.families.bilinear import DistMult
from kgeval.models.scorer import PartitionedScorer, VectorScorer
from kgeval.pykeen import KGEvalEvaluator, scorer_of
from kgeval.pykeen.scoring import PerSideScorer, Squared
from tests.pykeen import test_interactions
from tests.pykeen.conftest import assert_same_ranks, run, theirs


def build(graph, interaction, **entity):
    model = pykeen.models.ERModel(
        triples_factory=graph.training,
        interaction=interaction,
        entity_representations=Embedding,
        entity_representations_kwargs={"shape": (8,), **entity},
        relation_representations_kwargs={"shape": (8,)},
        random_seed=0,
    )
    return model.double().eval()


def assert_ranked_as_by_pykeen(model, graph, known):
    _, ranks = theirs(model, graph.testing.mapped_triples, additional_filter_triples=known)
    table = kgeval.pykeen.evaluate(model, graph)
    assert_same_ranks(table, ranks)
    return table, ranks


@pytest.mark.parametrize(
    "entity",
    [
        {"normalizer": partial(torch.nn.functional.normalize, dim=-1)},
        {"normalizer": lambda x: torch.tanh(3 * x)},
        {"dropout": 0.5},
        {"constrainer": torch.nn.functional.normalize},
    ],
    ids=["normalised", "squashed", "dropout", "constrained"],
)
def test_vectors_are_those_that_the_model_computes_with(graph, known, entity):
    model = build(graph, "distmult", **entity).train()
    assert isinstance(scorer_of(model), VectorScorer)
    assert_ranked_as_by_pykeen(model, graph, known)


class Skewed(DistMultInteraction):
    """Affine, and no DistMult."""

    def forward(self, h, r, t):
        return (h * r * t).sum(dim=-1) + 0.01 * t.sum(dim=-1) + 2


class Gate(DistMultInteraction):
    """A DistMult, but for entities that few probes would meet."""

    def forward(self, h, r, t):
        return (h * r * t).sum(dim=-1) + 50 * torch.relu(t[..., 0] - 2)


@pytest.mark.parametrize("interaction", [Skewed, Gate])
def test_an_interaction_that_is_not_pykeens_scores_itself(graph, known, interaction):
    interaction = type("DistMultInteraction", (interaction,), {})
    model = build(graph, interaction())
    assert isinstance(scorer_of(model), PyKEENScorer)
    assert_ranked_as_by_pykeen(model, graph, known)


def typed(model):
    """One relation has no tails among the later entities."""

    class Typed(pykeen.models.DistMult):
        def score_t(self, hr_batch, **kwargs):
            scores = super().score_t(hr_batch, **kwargs)
            late = torch.arange(scores.shape[-1]) > 8
            return scores.masked_fill((hr_batch[:, 1:2] == 7) & late, -1e3)

    model.__class__ = Typed


def hooked(model):
    model.interaction.register_forward_hook(lambda module, given, scores: scores.clamp(max=0.1))


def replaced(model):
    own = model.score_h
    model.score_h = lambda *args, **kwargs: torch.tanh(own(*args, **kwargs))


@pytest.mark.parametrize("change", [hooked, replaced, typed])
def test_functions_that_were_overridden_score_themselves(model, graph, known, change):
    change(model)
    assert isinstance(scorer_of(model), PyKEENScorer)
    assert_ranked_as_by_pykeen(model, graph, known)


@pytest.mark.parametrize(("side", "part", "other"), [("head", "head", "predict_t"), ("tail", "scorer", "predict_h")])
def test_only_predicted_sides_are_probed(model, monkeypatch, side, part, other):
    monkeypatch.setattr(pykeen.models.DistMult, other, property(pytest.fail))
    scorer = scorer_of(model, sides=(side,))
    assert isinstance(scorer, PerSideScorer)
    assert isinstance(getattr(scorer, part), DistMult)


def test_equal_entities_of_a_network_tie_wherever_the_work_is_cut(two_threads):
    """The last bits of a convolution's numbers depend on the place in a batch."""
    rng = np.random.default_rng(0)
    half, count = 150, 60
    triples = torch.from_numpy(
        np.stack([rng.integers(half, size=count), rng.integers(2, size=count), rng.integers(2 * half, size=count)], 1)
    )
    graph = TriplesFactory(triples, {str(i): i for i in range(2 * half)}, {str(i): i for i in range(2)})
    model = pykeen.models.ConvE(triples_factory=graph, random_seed=0).double().eval()
    with torch.no_grad():
        for representation in model.entity_representations:
            weight = representation._embeddings.weight
            weight[half:] = weight[:half]
    evaluators = [KGEvalEvaluator(**settings) for settings in ({}, {"memory_limit": "2MB"}, {"threads": 1})]
    tables = [run(model, triples, evaluator, targets=["head"])[1].data for evaluator in evaluators]
    assert (tables[0]["tied"].to_numpy() >= 1).all()
    assert all(table.equals(tables[0]) for table in tables)


def test_saturating_sigmoids_are_the_models_own(make, graph, known):
    model = make("DistMult", embedding_dim=8, predict_with_sigmoid=True)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(20)
    assert isinstance(scorer_of(model), PyKEENScorer)
    _, ranks = assert_ranked_as_by_pykeen(model, graph, known)
    assert any((ranks[side][0] != ranks[side][1]).any() for side in ranks)


def test_scores_that_hardly_differ_prove_nothing(make):
    model = make("TransE", embedding_dim=8)
    with torch.no_grad():
        model.entity_representations[0]._embeddings.weight.fill_(0.5)
    assert isinstance(scorer_of(model), PyKEENScorer)


@pytest.mark.parametrize(("p", "power"), [(2, True), (2, False), (1, True), (3, True)])
@pytest.mark.parametrize("name", ["TransE", "TransR"])
def test_squares_of_distances_are_quick_and_other_powers_are_the_models_own(make, graph, known, name, p, power):
    model = make(name, embedding_dim=8, scoring_fct_norm=p)
    model.interaction.power_norm = power
    kind = PyKEENScorer if p == 3 else Squared if p == 2 and power else VectorScorer | PartitionedScorer
    assert isinstance(scorer_of(model), kind)
    table, _ = assert_ranked_as_by_pykeen(model, graph, known)
    triple = [int(table.column(column)[0]) for column in ("head", "relation", "tail")]
    assert table.column("score")[0] == pytest.approx(model.predict_hrt(torch.tensor([triple])).item(), rel=1e-12)


@pytest.mark.parametrize("inverse", [False, True], ids=["plain", "inverse"])
@pytest.mark.parametrize("name", ["conve", "crosse", "ermlpe", "transformer"])
def test_networks_give_a_pair_the_same_score_however_the_work_is_cut(graphs, make, two_threads, name, inverse):
    graph = graphs[inverse]
    model = test_interactions.build(name, graph.training, make)
    whole = kgeval.pykeen.evaluate(model, graph).data
    for settings in ({"memory_limit": "100kB"}, {"threads": 1}):
        assert kgeval.pykeen.evaluate(model, graph, **settings).data.equals(whole)


@pytest.mark.parametrize("name", ["MarginalDistributionBaseline", "SoftInverseTripleBaseline"])
def test_models_without_parameters(graph, known, name):
    """They are on no device, so PyKEEN's own evaluator cannot evaluate them; their scores can be."""
    model = getattr(pykeen.models, name)(triples_factory=graph.training)
    triples = graph.testing.mapped_triples
    scores = ScoreTable(
        triples.numpy(), head=model.score_h(triples[:, 1:]).numpy(), tail=model.score_t(triples[:, :2]).numpy()
    )
    dataset = from_factories(graph.factory_dict)
    expected = kgeval.evaluate(scores, dataset).data
    assert kgeval.evaluate(model, dataset).data.equals(expected)
    assert kgeval.pykeen.evaluate(model, graph).data.equals(expected)
    _, table = run(model, triples, additional_filter_triples=known)
    np.testing.assert_array_equal(table.column("greater"), expected.column("greater").to_numpy())


def test_a_device_that_runs_out_of_memory_gets_smaller_batches(make, graph):
    model, sizes = make("TransD", embedding_dim=8), []
    whole, own = PyKEENScorer(model), model.predict_t

    def predict(batch):
        sizes.append(len(batch))
        if len(batch) > 3:
            raise torch.cuda.OutOfMemoryError("out of memory")
        return own(batch)

    queries = Queries.of(kgeval.Triples.of(graph.testing.mapped_triples.numpy()), "tail")
    every = np.arange(14)
    expected = whole.scores(queries, every)
    model.predict_t = predict
    np.testing.assert_allclose(whole.scores(queries, every), expected, rtol=1e-12)
    assert max(sizes[-20:]) <= 3


@pytest.mark.parametrize("given", ["object", "name", "kgeval"])
def test_a_dataset_in_every_form(make, graph, given):
    model = make("ComplEx", embedding_dim=4)
    dataset = {"object": graph, "name": "nations", "kgeval": kgeval.load_dataset("nations")}[given]
    table = kgeval.pykeen.evaluate(model, dataset, sides="head", split="valid")
    assert (len(table), table.split) == (199, "valid")
    assert table.column("head_label")[0] in graph.training.entity_to_id
