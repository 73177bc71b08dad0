"""Small graphs, models and evaluations that the tests of the plug-in share."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pykeen.training import SLCWATrainingLoop

from kgeval.runs.training import frozen_gc


@pytest.fixture(autouse=True)
def quick_epochs():
    with frozen_gc():
        yield


@pytest.fixture(scope="session")
def graphs():
    """Nations as PyKEEN has it, without and with inverse triples."""
    from pykeen.datasets import get_dataset

    return {
        inverse: get_dataset(dataset="nations", dataset_kwargs={"create_inverse_triples": inverse})
        for inverse in (False, True)
    }


@pytest.fixture
def graph(graphs):
    return graphs[False]


@pytest.fixture
def make(graph):
    """Make an untrained model in float64."""
    from pykeen.models import model_resolver

    def make(name, triples=None, **kwargs):
        model = model_resolver.make(name, triples_factory=triples or graph.training, random_seed=0, **kwargs)
        model = model.double().eval()
        model.post_parameter_update()  # constraints hold in float64 then, too
        return model

    return make


def trained(model, triples, epochs=2):
    """Train a model for some epochs in float32, which PyKEEN's training insists on, and take it to float64 then."""
    model.float()
    loop = SLCWATrainingLoop(
        model=model, triples_factory=triples, optimizer=torch.optim.Adam(params=model.get_grad_params(), lr=0.01)
    )
    loop.train(triples, num_epochs=epochs, batch_size=512, use_tqdm=False)
    return model.double().eval()


@pytest.fixture
def theirs():
    """Evaluate with PyKEEN's own evaluator: the results, and optimistic and pessimistic ranks by side."""
    from pykeen.evaluation import RankBasedEvaluator

    def evaluate(model, triples, **kwargs):
        evaluator = RankBasedEvaluator(clear_on_finalize=False)
        results = evaluator.evaluate(model, triples, batch_size=64, use_tqdm=False, **kwargs)
        kinds = ("optimistic", "pessimistic")
        ranks = {
            side: [np.concatenate(evaluator.ranks[side, kind]) for kind in kinds] for side in evaluator.num_candidates
        }
        return results, ranks

    return evaluate


@pytest.fixture
def known(graph):
    """What the pipeline filters a test evaluation by."""
    return [graph.training.mapped_triples, graph.validation.mapped_triples]


def ranks_of(table):
    """Optimistic and pessimistic ranks by side, in the order of the triples."""
    frame = table.to_pandas().sort_values("triple")
    found = {}
    for side in frame["side"].unique():
        rows = frame[frame["side"] == side]
        found[side] = [1 + rows["greater"].to_numpy(), 1 + (rows["greater"] + rows["tied"]).to_numpy()]
    return found


def assert_same_ranks(table, expected):
    found = ranks_of(table)
    assert sorted(found) == sorted(expected)
    for side, ranks in expected.items():
        np.testing.assert_array_equal(found[side], ranks)


def assert_same_values(ours, expected, tolerance=1e-5):
    """Every value of PyKEEN is there; its realistic ranks are float32, which z-scores divide by small deviations."""
    ours, expected = ours.to_flat_dict(), expected.to_flat_dict()
    for name, value in expected.items():
        assert ours[name] == pytest.approx(value, rel=tolerance, abs=tolerance), name
