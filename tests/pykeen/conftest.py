"""Small graphs, models and evaluations that the tests of the plug-in share."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pykeen.datasets import get_dataset
from pykeen.evaluation import RankBasedEvaluator
from pykeen.models import model_resolver
from pykeen.training import SLCWATrainingLoop

from kgeval.pykeen import KGEvalEvaluator
from kgeval.runs.training import frozen_gc


@pytest.fixture(autouse=True)
def quick_epochs():
    with frozen_gc():
        yield


@pytest.fixture(scope="session")
def graphs():
    """Nations as PyKEEN has it, without and with inverse triples."""
    return {
        inverse: get_dataset(dataset="nations", dataset_kwargs={"create_inverse_triples": inverse})
        for inverse in (False, True)
    }


@pytest.fixture
def graph(graphs):
    return graphs[False]


@pytest.fixture
def test(graph):
    return graph.testing.mapped_triples


@pytest.fixture
def known(graph):
    """What the pipeline filters a test evaluation by."""
    return [graph.training.mapped_triples, graph.validation.mapped_triples]


@pytest.fixture
def make(graph):
    """Make an untrained model in float64."""

    def make(name, triples=None, **kwargs):
        model = model_resolver.make(name, triples_factory=triples or graph.training, random_seed=0, **kwargs)
        model = model.double().eval()
        model.post_parameter_update()  # constraints hold in float64 then, too
        return model

    return make


@pytest.fixture
def model(make):
    return make("DistMult", embedding_dim=8)


def trained(model, triples, epochs=2, **loop):
    """Train a model for some epochs in float32, which PyKEEN's training insists on, and take it to float64 then."""
    model.float()
    optimizer = torch.optim.Adam(params=model.get_grad_params(), lr=0.01)
    loop = SLCWATrainingLoop(model=model, triples_factory=triples, optimizer=optimizer, **loop)
    loop.train(triples, num_epochs=epochs, batch_size=512, use_tqdm=False)
    return model.double().eval()


def theirs(model, triples, mode=None, **request):
    """Evaluate with PyKEEN's own evaluator: the results, and optimistic and pessimistic ranks by side."""
    evaluator = RankBasedEvaluator(clear_on_finalize=False, mode=mode)
    results = evaluator.evaluate(model, triples, batch_size=64, use_tqdm=False, **request)
    kinds = ("optimistic", "pessimistic")
    ranks = {side: [np.concatenate(evaluator.ranks[side, kind]) for kind in kinds] for side in evaluator.num_candidates}
    return results, ranks


def run(model, triples, evaluator=None, **request):
    """Evaluate with kgeval's evaluator: the results, and the table of ranks."""
    evaluator = evaluator or KGEvalEvaluator()
    results = evaluator.evaluate(model, triples, use_tqdm=False, **request)
    return results, evaluator.table


ROUNDING = 1e-12
"""how far apart scores may be in float64 that are equal but for the order of sums, relatively to the largest"""

FEW = 0.01
"""the part of the ranks that such scores may move, as PyKEEN rounds otherwise on each processor"""


def near_ties(model, triples, side, mode=None):
    """Count the candidates whose score by PyKEEN is the answer's, but for rounding; int[triple]."""
    batch, predict = (triples[:, 1:], model.predict_h) if side == "head" else (triples[:, :2], model.predict_t)
    scores = predict(batch, mode=mode)
    own = scores.gather(1, triples[:, [0 if side == "head" else 2]])
    return ((scores - own).abs() <= ROUNDING * scores.abs().max()).sum(dim=1).numpy() - 1


def assert_same_as_pykeen(model, triples, mode=None, **request):
    """All ranks are those of PyKEEN, but for a few that near-ties move; then the metrics are, too."""
    expected, ranks = theirs(model, triples, mode=mode, **request)
    ours, table = run(model, triples, KGEvalEvaluator(mode=mode), **request)
    moved = 0
    for side, (found, wanted) in ranks_by_side(table, ranks).items():
        if (apart := np.abs(found - wanted).max(axis=0)).any():
            assert (apart <= near_ties(model, triples, side, mode)).all(), side
            moved += np.count_nonzero(apart)
    assert moved <= FEW * len(table)
    if not moved:
        assert_same_values(ours, expected)
    return ours, table


def ranks_by_side(table, expected):
    """Optimistic and pessimistic ranks by side, in the order of the triples: int[2, triple] of kgeval, and PyKEEN's."""
    frame = table.to_pandas().sort_values("triple")
    assert sorted(frame["side"].unique()) == sorted(expected)
    rows = {side: frame[frame["side"] == side] for side in expected}
    return {
        side: (np.stack([1 + rows[side]["greater"], 1 + rows[side]["greater"] + rows[side]["tied"]]), np.stack(ranks))
        for side, ranks in expected.items()
    }


def assert_same_ranks(table, expected):
    for found, wanted in ranks_by_side(table, expected).values():
        np.testing.assert_array_equal(found, wanted)


def assert_same_values(ours, expected, tolerance=1e-5):
    """Every value of PyKEEN is there; its realistic ranks are float32, which z-scores divide by small deviations."""
    ours, expected = ours.to_flat_dict(), expected.to_flat_dict()
    for name, value in expected.items():
        assert ours[name] == pytest.approx(value, rel=tolerance, abs=tolerance), name
