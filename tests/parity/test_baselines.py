"""PyKEEN's non-parametric baselines: their published numbers under each tie policy, which alone moves some by half."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import ScoreTable, evaluate, load_dataset, summarize

POLICIES = ("optimistic", "realistic", "pessimistic", "expected")
PUBLISHED = {
    ("marginal", "nations"): (0.707107, 0.690711, 0.683030, 0.693572),
    ("marginal", "kinships"): (0.020824, 0.013482, 0.010626, 0.014096),
    ("marginal", "umls"): (0.790783, 0.469075, 0.459300, 0.482446),
    ("soft inverse", "nations"): (0.512868, 0.512868, 0.512868, 0.512868),
    ("soft inverse", "kinships"): (0.120104, 0.120097, 0.120093, 0.120098),
    ("soft inverse", "umls"): (0.655970, 0.650488, 0.649802, 0.650967),
}


def baseline_scores(kind, name):
    """The baseline's scores of every entity, for each test triple."""
    import torch
    from pykeen.datasets import get_dataset
    from pykeen.models import MarginalDistributionBaseline, SoftInverseTripleBaseline

    graph = get_dataset(dataset=name)
    model = {"marginal": MarginalDistributionBaseline, "soft inverse": SoftInverseTripleBaseline}[kind](
        triples_factory=graph.training
    )
    data = load_dataset(name)
    # Both number entities and relations in the order of their labels.
    assert list(data.entities) == sorted(graph.training.entity_to_id, key=graph.training.entity_to_id.get)
    triples = torch.as_tensor(data.split("test").ids)
    head, tail = model.score_h(triples[:, 1:]), model.score_t(triples[:, :2])
    return data, ScoreTable(data.split("test"), head=head.numpy(), tail=tail.numpy())


@pytest.mark.parametrize(("kind", "name"), PUBLISHED, ids=" of ".join)
def test_the_published_numbers_of_every_tie_policy(kind, name):
    data, scores = baseline_scores(kind, name)
    table = evaluate(scores, data)
    summary = summarize(table, [f"{policy}.mrr" for policy in POLICIES])
    found = [summary[f"{policy}.mrr"] for policy in POLICIES]
    assert np.abs(np.array(found) - PUBLISHED[kind, name]).max() <= 0.6e-6
    ties = summary.groups[0].ties
    assert ties.gap == pytest.approx(found[0] - found[2], rel=1e-12)
    assert len(summary.notes) - len(table.notes) == ties.serious == (found[0] - found[2] > 0.01)
