"""Memory: what is drawn fits into the limit with all that is made of it, and the limit changes no result."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kgeval import Dataset, Triples, Vocabulary, evaluate
from kgeval.checkpoints import Checkpoint
from kgeval.corruption import DegreeWeighted, PopularityWeighted, Uniform
from kgeval.errors import InputError
from kgeval.scorers.families.products.distmult import DistMult
from tests.checkpoints.memory import at_most
from tests.conftest import random_dataset

DRAWS = [
    Uniform(count=1000),
    Uniform(count=1000, allow_known=True),
    PopularityWeighted(count=500),
    DegreeWeighted(count=500),
]


@pytest.fixture(scope="module")
def wide():
    """Many queries, and entities enough that their candidates take some 30 MB at once."""
    rng = np.random.default_rng(0)
    ids = rng.permutation(np.unique(rng.integers(0, [5000, 3, 5000], (4000, 3)), axis=0))
    vocabularies = {"entities": Vocabulary.numbered(5000, "entity"), "relations": Vocabulary.numbered(3, "relation")}
    return Dataset.build("wide", {"train": Triples(ids[:2000]), "test": Triples(ids[2000:])}, **vocabularies)


def model_of(graph, dim=4):
    rng = np.random.default_rng(1)
    shapes = {"entity": (len(graph.entities), dim), "relation": (len(graph.relations), dim)}
    return DistMult(**{name: rng.integers(-2, 3, shape) * 0.5 for name, shape in shapes.items()})


@pytest.mark.parametrize("corruption", DRAWS, ids=repr)
def test_what_is_drawn_fits_into_the_limit(wide, corruption):
    settings = {"corruption": corruption, "filter": ("train", "test"), "sides": ("tail",), "threads": 1}
    free = evaluate(model_of(wide), wide, **settings, memory_limit="4GB")
    with at_most(1.2 * 8e6 / 2**20):
        bound = evaluate(model_of(wide), wide, **settings, memory_limit="8MB")
    assert bound.data.equals(free.data)
    assert bound.notes == free.notes


@pytest.mark.parametrize("unseen", ["drop", "worst"])
@pytest.mark.parametrize(
    "corruption", [Uniform(count=20, seed=3), PopularityWeighted(count=22), DegreeWeighted(count=25)], ids=repr
)
def test_blocks_of_one_query_give_the_same_table_and_notes(corruption, unseen):
    """Some queries have too few entities left, and some triples are not known to the model."""
    graph = random_dataset(triples=300, entities=25)
    whole = model_of(graph)
    labels = {"entities": Vocabulary([*graph.entities][:-2]), "relations": graph.relations}
    fewer = Checkpoint(DistMult(whole.entity[:-2], whole.relation), "test", (Path("model"),), **labels)
    free, bound = (
        evaluate(fewer, graph, corruption=corruption, unseen=unseen, memory_limit=limit) for limit in ("4GB", 4096)
    )
    assert bound.data.equals(free.data)
    assert bound.notes == free.notes
    assert any("that the model does not know" in note for note in free.notes)
    assert any("entities left to draw" in note for note in free.notes)


@pytest.mark.parametrize("limit", [2, 4095, "2kB"])
def test_a_limit_that_holds_nothing_is_refused(limit):
    graph = random_dataset()
    with pytest.raises(InputError, match=r"memory_limit: .* bytes hold no block of work; it takes at least 4096"):
        evaluate(model_of(graph), graph, memory_limit=limit)
