"""Parity with PyKEEN's own RankBasedEvaluator, triple by triple, on freshly trained models of every family."""

from __future__ import annotations

import numpy as np
import pytest

import kgeval.pykeen
from kgeval import evaluate, load_checkpoint
from kgeval.data.layouts.pykeen import from_factories
from kgeval.data.triples import TARGETS
from kgeval.runs.training import frozen_gc

pytestmark = pytest.mark.slow

MODELS = {
    "TransE-1": ("TransE", {"embedding_dim": 24, "scoring_fct_norm": 1}),
    "TransE-2": ("TransE", {"embedding_dim": 24, "scoring_fct_norm": 2}),
    "DistMult": ("DistMult", {"embedding_dim": 24}),
    "ComplEx": ("ComplEx", {"embedding_dim": 12}),
    "RotatE": ("RotatE", {"embedding_dim": 12}),
    "TuckER": ("TuckER", {"embedding_dim": 12, "relation_dim": 8}),
}


@pytest.fixture(scope="module")
def graphs():
    from pykeen.datasets import get_dataset

    return {name: get_dataset(dataset=name) for name in ("umls", "kinships")}


def train(graph, name, *, inverse=False):
    """Train briefly, then go to float64: in float32, PyKEEN's scores depend on its own batches."""
    from pykeen.pipeline import pipeline

    model, kwargs = MODELS[name]
    training = type(graph.training)(
        mapped_triples=graph.training.mapped_triples,
        entity_to_id=graph.training.entity_to_id,
        relation_to_id=graph.training.relation_to_id,
        create_inverse_triples=inverse,
    )
    result = pipeline(
        training=training,
        testing=graph.testing.clone_and_exchange_triples(graph.testing.mapped_triples[:1]),
        model=model,
        model_kwargs=kwargs,
        training_loop="lcwa",
        training_kwargs={"num_epochs": 1, "batch_size": 256, "use_tqdm": False},
        evaluation_kwargs={"use_tqdm": False, "batch_size": 1},
        random_seed=0,
        device="cpu",
    )
    result.model.double()
    result.model.post_parameter_update()  # constraints such as |r| = 1 hold in float64 then, too
    return result


def pykeens_ranks(model, graph):
    """Collect optimistic and pessimistic ranks by (side, triple)."""
    from pykeen.evaluation import RankBasedEvaluator

    evaluator = RankBasedEvaluator(clear_on_finalize=False)
    filters = [graph.training.mapped_triples, graph.validation.mapped_triples]
    evaluator.evaluate(
        model, graph.testing.mapped_triples, batch_size=64, additional_filter_triples=filters, use_tqdm=False
    )
    return {
        (side, kind): np.concatenate(parts)
        for (side, kind), parts in evaluator.ranks.items()
        if kind in {"optimistic", "pessimistic"}
    }


def pykeens_ranks_of_relations(model, graph):
    """Rank by ``predict_r``, as PyKEEN's evaluator ranks by ``predict_t``; it refuses to rank relations itself."""
    triples = graph.testing.mapped_triples
    # With inverse triples, PyKEEN's columns are those of a relation and its inverse, one after the other.
    columns = model.predict_r(triples[:, [0, 2]])[:, :: 2 if model.use_inverse_triples else 1]
    scores, triples = columns.detach().numpy().copy(), triples.numpy()
    truths = np.take_along_axis(scores, triples[:, 1:2], axis=1)
    for part in (graph.training, graph.validation, graph.testing):
        for h, r, t in part.mapped_triples.tolist():
            scores[(triples[:, 0] == h) & (triples[:, 2] == t) & (triples[:, 1] != r), r] = -np.inf
    optimistic, pessimistic = 1 + (scores > truths).sum(axis=1), (scores >= truths).sum(axis=1)
    return {("relation", "optimistic"): optimistic, ("relation", "pessimistic"): pessimistic}


def assert_same_ranks(table, theirs):
    frame = table.to_pandas()
    for side in TARGETS:
        rows = frame[frame["side"] == side].sort_values("triple")
        lowest = 1 + rows["greater"].to_numpy()
        assert lowest.tolist() == theirs[side, "optimistic"].tolist()
        assert (lowest + rows["tied"].to_numpy()).tolist() == theirs[side, "pessimistic"].tolist()


@pytest.mark.parametrize(("of", "inverse"), [("umls", False), ("kinships", True)], ids=["plain", "inverse"])
@pytest.mark.parametrize("name", MODELS)
def test_ranks_agree_triple_by_triple(graphs, name, of, inverse, tmp_path):
    graph = graphs[of]
    with frozen_gc():
        result = train(graph, name, inverse=inverse)
    dataset = from_factories(graph.factory_dict)
    theirs = pykeens_ranks(result.model, graph) | pykeens_ranks_of_relations(result.model, graph)

    assert_same_ranks(kgeval.pykeen.evaluate(result.model, dataset, sides=TARGETS), theirs)
    assert_same_ranks(evaluate(result.model, dataset, sides=TARGETS), theirs)
    result.save_to_directory(tmp_path)
    assert_same_ranks(evaluate(load_checkpoint(tmp_path, dataset=dataset), dataset, sides=TARGETS), theirs)
