"""Memory: what is drawn fits into the limit with all that is made of it, and the limit changes no result."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgeval import CallableScorer, Dataset, Triples, Vocabulary, evaluate
from kgeval.base.errors import InputError
from kgeval.data.queries import Queries
from kgeval.models.checkpoints import Checkpoint
from kgeval.models.families.bilinear import DistMult
from kgeval.ranking.corruption import AllEntities, DegreeWeighted, PopularityWeighted, TypeConstrained, Uniform
from tests.brute_force import as_counts, brute_force
from tests.conftest import random_dataset
from tests.models.checkpoints.memory import at_most

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


def knows_fewer(model, graph):
    """The model without the last two entities of a graph, by labels."""
    labels = {"entities": Vocabulary([*graph.entities][:-2]), "relations": graph.relations}
    return Checkpoint(DistMult(model.entity[:-2], model.relation), "test", (Path("model"),), **labels)


def model_of(graph, dim=4):
    rng = np.random.default_rng(1)
    shapes = {"entity": (len(graph.entities), dim), "relation": (len(graph.relations), dim)}
    return DistMult(**{name: rng.integers(-2, 3, shape) * 0.5 for name, shape in shapes.items()})


@pytest.mark.parametrize("corruption", DRAWS, ids=repr)
def test_what_is_drawn_fits_into_the_limit(wide, corruption):
    options = {"corruption": corruption, "filter": ("train", "test"), "sides": ("tail",), "threads": 1}
    free = evaluate(model_of(wide), wide, **options, memory_limit="4GB")
    with at_most(1.2 * 8e6 / 2**20):
        bound = evaluate(model_of(wide), wide, **options, memory_limit="8MB")
    assert bound.data.equals(free.data)
    assert bound.notes == free.notes


@pytest.mark.parametrize("unseen", ["drop", "worst"])
@pytest.mark.parametrize(
    "corruption", [Uniform(count=20, seed=3), PopularityWeighted(count=22), DegreeWeighted(count=25)], ids=repr
)
def test_blocks_of_one_query_give_the_same_table_and_notes(corruption, unseen):
    """Some queries have too few entities left, and some triples are not known to the model."""
    graph = random_dataset(triples=300, entities=25)
    fewer = knows_fewer(model_of(graph), graph)
    free, bound = (
        evaluate(fewer, graph, corruption=corruption, unseen=unseen, memory_limit=limit) for limit in ("4GB", 4096)
    )
    assert bound.data.equals(free.data)
    assert bound.notes == free.notes
    assert any("that the model does not know" in note for note in free.notes)
    assert any("possible negatives" in note for note in free.notes)


@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="the peak of a process is known from Linux alone"
)
def test_resident_memory_stays_within_the_limit():
    """Under a limit ten times as large, every case takes more: the graph is large enough to show it."""
    command = [sys.executable, "-m", "tests.ranking.peak_memory", "20MB", "200MB"]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
    bound, free = map(json.loads, done.stdout.splitlines())
    assert {case: size for case, size in bound.items() if size > 1.2 * 20e6} == {}
    assert {case: size for case, size in free.items() if size < 1.2 * 20e6} == {}


CORRUPTIONS = [
    AllEntities(),
    TypeConstrained(),
    TypeConstrained(splits=("train", "valid", "test")),
    Uniform(count=7),
    PopularityWeighted(count=9, allow_known=True),
]


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_no_limit_changes_an_integer_or_a_note(data):
    """Scores that often tie or are no number, by vectors and by a function, in the protocols of several frameworks."""
    graph = random_dataset(data.draw(st.integers(0, 99)), entities=12, relations=3, triples=90)
    model = model_of(graph)
    model.entity[data.draw(st.lists(st.integers(0, 11), max_size=3))] = np.nan
    function = CallableScorer(lambda h, r, t: model.entity[h, 0] * model.relation[r, 0] * model.entity[t, 0], 12, 3)
    options = {
        "corruption": data.draw(st.sampled_from(CORRUPTIONS)),
        "protocol": data.draw(st.sampled_from(["standard", "libkge", "ampligraph", "conve", "openke"])),
        "filter": data.draw(st.sampled_from([None, (), ("train", "test")])),
        "kernel": data.draw(st.sampled_from(["float32", "compiled", "reference"])),
        "nan": "worst",
        "unseen": "worst",
    }
    scorer = data.draw(st.sampled_from([model, knows_fewer(model, graph), function]))
    free = evaluate(scorer, graph, **options, memory_limit="4GB")
    for limit in (4096, 20_000):
        bound = evaluate(scorer, graph, **options, memory_limit=limit)
        assert bound.data.equals(free.data)
        assert bound.notes == free.notes


@pytest.mark.filterwarnings("ignore:invalid value")  # of infinite vectors, which the reference kernel multiplies
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_nan_of_vectors_is_the_worst_as_that_of_finished_scores(data):
    """Plain loops say what is right; some vectors and some biases are no numbers, or infinite."""
    graph = random_dataset(data.draw(st.integers(0, 99)), entities=12, relations=3, triples=60)
    model = model_of(graph, dim=2)
    holes = st.lists(st.sampled_from([math.nan, math.inf, -math.inf]), min_size=3, max_size=3)
    model.entity[data.draw(st.permutations(range(12)))[:3], 0] = data.draw(holes)
    every = Queries.of(Triples.of([(h, r, 0) for h in range(12) for r in range(3)]), "tail")
    with np.errstate(invalid="ignore"):
        scores = model.scores(every, np.arange(12)).reshape(3, 12, 12)
    scores = np.where(np.isnan(scores), -np.inf, scores)
    kernel = data.draw(st.sampled_from(["float32", "compiled", "reference"]))
    table = evaluate(model, graph, nan="worst", kernel=kernel, sides="tail")
    assert as_counts(table) == brute_force(lambda h, r, t: scores[r, h, t], graph, sides=("tail",))


@pytest.mark.parametrize("limit", [2, 4095, "2kB"])
def test_a_limit_that_holds_nothing_is_refused(limit):
    graph = random_dataset()
    with pytest.raises(InputError, match=r"memory_limit: .* bytes are too few: ranking needs at least 4096 bytes"):
        evaluate(model_of(graph), graph, memory_limit=limit)


@pytest.mark.parametrize("limit", ["999999999999999999999PB", 2**63 - 1, 2**63, 10**30])
def test_a_limit_that_no_machine_has_is_none(limit):
    graph = random_dataset()
    free, bound = evaluate(model_of(graph), graph), evaluate(model_of(graph), graph, memory_limit=limit)
    assert as_counts(bound) == as_counts(free)
