"""Live PyKEEN models: any interaction, evaluation mode for the time of scoring, inverse triples included."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from kgeval import evaluate
from kgeval.data.layouts.pykeen import from_factories
from kgeval.data.queries import Queries
from kgeval.models.adapters.live_models import PyKEENScorer


@pytest.fixture(scope="module")
def made():
    """A dataset, and a function that makes a model of it."""
    from pykeen.datasets import get_dataset
    from pykeen.models import model_resolver

    graph = get_dataset(dataset="nations", dataset_kwargs={"create_inverse_triples": True})
    make = partial(model_resolver.make, triples_factory=graph.training, random_seed=0)
    return from_factories(graph.factory_dict), make


CONVE = {"embedding_dim": 16, "embedding_height": 4, "embedding_width": 4}


@pytest.mark.parametrize(
    ("name", "kwargs"),
    [
        ("ConvE", CONVE),
        ("MuRE", {"embedding_dim": 8}),
        ("BoxE", {"embedding_dim": 8}),
        ("QuatE", {"embedding_dim": 4}),
        ("TransH", {"embedding_dim": 8}),
    ],
)
def test_scores_are_the_models_own(made, name, kwargs):
    import torch

    dataset, model = made[0], made[1](name, **kwargs).eval()
    tails, heads = (Queries.of(dataset.test, side)[:5] for side in ("tail", "head"))
    every = np.arange(len(dataset.entities))
    with torch.no_grad():
        hr = torch.from_numpy(np.stack([tails.anchors, tails.relations], 1))
        rt = torch.from_numpy(np.stack([heads.relations, heads.anchors], 1))
        expected = model.predict_t(hr).numpy(), model.predict_h(rt).numpy()
    scorer = PyKEENScorer(model)
    np.testing.assert_allclose(scorer.scores(tails, every), expected[0], rtol=1e-6)
    np.testing.assert_allclose(scorer.scores(heads, every), expected[1], rtol=1e-6)
    picked = np.array([[3, 1]] * 5)
    np.testing.assert_array_equal(scorer.scores(tails, picked), scorer.scores(tails, every)[:, [3, 1]])


def test_the_mode_of_every_module_is_restored(made):
    dataset, model = made[0], made[1]("ConvE", **CONVE).train()
    next(iter(model.interaction.children())).eval()
    before = [module.training for module in model.modules()]
    first = evaluate(model, dataset)
    assert [module.training for module in model.modules()] == before
    # Dropout would make two evaluations differ.
    assert evaluate(model, dataset).to_pandas().equals(first.to_pandas())
