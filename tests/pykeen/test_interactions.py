"""Every interaction of PyKEEN, trained: the same ranks as RankBasedEvaluator, triple by triple; with inverses, too.

In float64: in float32, PyKEEN's scores depend on its own batches. There are no exceptions.
"""

from __future__ import annotations

import pytest
import torch
from pykeen.models import make_model_cls, model_resolver
from pykeen.nn.modules import interaction_resolver

from kgeval.data.queries import Queries
from kgeval.data.triples import Triples
from kgeval.models.adapters.live_models import PyKEENScorer
from kgeval.models.family import ScoredFamily
from kgeval.models.mapped import Reciprocal
from kgeval.models.scorer import VectorScorer, views_of
from kgeval.pykeen import scorer_of
from tests.pykeen.conftest import assert_same_as_pykeen, trained

SMALL = {
    **{name: {"embedding_dim": 8} for name in ("boxe", "crosse", "ermlpe", "ntn", "rescal", "se")},
    "autosf": {"embedding_dim": 16, "num_components": 4},
    "cp": {"embedding_dim": 8, "rank": 8},
    "conve": {"embedding_dim": 16, "embedding_height": 4, "embedding_width": 4, "output_channels": 4},
    "convkb": {"embedding_dim": 8, "num_filters": 4},
    "tucker": {"embedding_dim": 8, "relation_dim": 4},
    "quate": {"embedding_dim": 16},
}
"""the size of models that are slow at their default size"""

BARE = {
    "lineare": ({"d": 8}, {"p": 2}),
    "multilineartucker": ({"d": 4, "e": 5, "f": 6}, {"head_dim": 4, "relation_dim": 5, "tail_dim": 6}),
    "transformer": ({"d": 8}, {"input_dim": 8, "num_heads": 2, "num_layers": 1, "dim_feedforward": 16}),
    "triplere": ({"d": 8}, {"p": 1}),
}
"""dimensions and arguments of the interactions that PyKEEN has no model for"""

FINISHED = {**dict.fromkeys(("boxe", "convkb", "ermlp", "kg2e", "toruse"), ScoredFamily), "ntn": PyKEENScorer}
"""the interactions that are ranked on finished scores, of kgeval's formula or the model's own; others by the kernels"""


def build(name, triples, make):
    if name in BARE:
        dimensions, kwargs = BARE[name]
        built = make_model_cls(dimensions, interaction_resolver.lookup(name), interaction_kwargs=kwargs)
        model = built(triples_factory=triples, random_seed=0).double().eval()
        if name == "multilineartucker":  # PyKEEN draws its core tensor with a deviation of 0
            torch.nn.init.normal_(model.interaction.core_tensor, generator=torch.Generator().manual_seed(0))
        return model
    return make(name, triples, **SMALL.get(name, {}))


@pytest.mark.parametrize("inverse", [False, True], ids=["plain", "inverse"])
@pytest.mark.parametrize("name", sorted(interaction_resolver.lookup_dict))
def test_ranks_and_metrics_are_those_of_pykeen(graphs, known, make, name, inverse):
    assert name in BARE or name in model_resolver.lookup_dict
    graph = graphs[inverse]
    model = trained(build(name, graph.training, make), graph.training)
    assert_same_as_pykeen(model, graph.testing.mapped_triples, additional_filter_triples=known)
    scorer = scorer_of(model)
    for side in ("head", "tail"):
        queries = Queries.of(Triples.of(graph.testing.mapped_triples.numpy()), side)
        views = {view.family if isinstance(view, Reciprocal) else view for _, view in views_of(scorer, queries)}
        assert all(isinstance(view, FINISHED.get(name, VectorScorer)) for view in views)
