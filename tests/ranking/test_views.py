"""Views: where relations see the entities differently, ranks are those of the definition, relation by relation."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kgeval import CallableScorer, ScoreTable, VectorScorer, evaluate
from kgeval.base.errors import ScoreError
from kgeval.data.queries import Queries
from kgeval.data.triples import Triples
from kgeval.models.family import family
from kgeval.models.mapped import Reciprocal
from kgeval.models.ordered import matmul_ordered, weighted_sum
from kgeval.models.scorer import PartitionedScorer, QueryPartition, views_of
from kgeval.pykeen.scoring import PerSideScorer, Squared
from kgeval.ranking.corruption import AllEntities, Uniform
from tests.brute_force import as_counts, brute_force
from tests.conftest import random_dataset
from tests.models.checkpoints.test_families import by_definition

WIDTH = 4
SHAPES = {
    "BigGraph": {"relation": 16},
    "ConvE": {"relation": 4, "kernel": (2, 2, 2), "kernel_bias": (2,), "dense": (6, 4), "dense_bias": (4,)}
    | {"tail_bias": "entity"},
    "LineaRE": {"relation": 12},
    "PairRE": {"relation": 8},
    "SE": {"relation": 12, "tail_relation": 12},
    "TransD": {"relation": 3, "entity_transfer": 4, "relation_transfer": 3},
    "TransH": {"relation": 4, "normal": 4},
    "TransR": {"relation": 3, "projection": 12},
}
"""how wide each family's arrays are, or their shapes"""

OPTIONS = {
    "BigGraph": [{"operator": "linear", "comparator": c, "operand": "tail", "bias": False} for c in ("dot", "l2")],
    "ConvE": [{"height": 2}],
    **{name: [{"norm": norm} for norm in (1, 2)] for name in ("LineaRE", "PairRE", "SE")},
    **{name: [{"norm": norm, "normalization": "none"} for norm in (1, 2)] for name in ("TransD", "TransH", "TransR")},
}
CASES = [pytest.param(name, options, id=f"{name}-{i}") for name in OPTIONS for i, options in enumerate(OPTIONS[name])]


def built(name, options, draw, *, entities, relations):
    """A family whose arrays ``draw`` makes of their shapes."""
    shapes = {"entity": (entities, WIDTH)}
    for key, shape in SHAPES[name].items():
        rows = entities if key.startswith("entity") else relations
        shapes[key] = shape if isinstance(shape, tuple) else (entities,) if shape == "entity" else (rows, shape)
    return family(name).build({key: draw(shape) for key, shape in shapes.items()}, options)


def of_whole_numbers(name, options, data):
    """A family of seven entities and three relations, drawn so that most scores tie."""
    numbers = st.sampled_from([-1.0, 0.0, 1.0, 2.0])
    draw = lambda shape: data.draw(arrays(np.float64, shape, elements=numbers))  # noqa: E731
    return built(name, options, draw, entities=7, relations=3)


def random_family(name, options, *, entities=150, relations=4):
    """A family of random numbers, each entity with a double."""
    rng = np.random.default_rng(0)
    model = built(name, options, lambda shape: rng.normal(size=shape), entities=entities, relations=relations)
    for array in (model.entity, *(getattr(model, key, None) for key in ("entity_transfer", "tail_bias"))):
        if array is not None:
            array[entities // 2 :] = array[: entities - entities // 2]
    return model


def finished(model, entities):
    """The same scores without vectors."""
    scorer = CallableScorer(None, entities, 4)
    object.__setattr__(scorer, "scores", model.scores)
    return scorer


@pytest.mark.filterwarnings("ignore:invalid value")  # of cosines with zero vectors, which nobody asks for
@settings(max_examples=5, deadline=None)
@given(st.data())
@pytest.mark.parametrize(("name", "options"), CASES)
def test_counts_are_those_of_the_definition(name, options, data):
    """Whole numbers, so that every sum is exact in any order and most scores tie."""
    dataset = random_dataset(data.draw(st.integers(0, 99)), entities=7, relations=3, triples=40)
    model = of_whole_numbers(name, options, data)
    expected = brute_force(lambda h, r, t: by_definition(model, h, r, t), dataset)
    for kernel in ("reference", "compiled", "float32", "bfloat16"):
        limit = data.draw(st.sampled_from([4096, 10**4, 10**9]))
        assert as_counts(evaluate(model, dataset, kernel=kernel, memory_limit=limit)) == expected


@pytest.mark.parametrize(("number", "name", "options"), [(n, *case.values) for n, case in enumerate(CASES)])
def test_every_way_of_cutting_the_work_gives_the_table_of_the_finished_scores(number, name, options):
    """The families take turns at candidates: all entities, or drawn ones."""
    corruption = Uniform(count=20) if number % 2 else AllEntities()
    dataset, model = random_dataset(6, entities=110, triples=250), random_family(name, options, entities=110)
    whole = evaluate(finished(model, 110), dataset, corruption=corruption).to_pandas()
    assert (whole["raw_tied"] > 0).any()
    assert (whole["greater"] > 0).any()
    for settings_ in (
        *({"kernel": kernel, "memory_limit": "150kB"} for kernel in ("reference", "compiled", "float32", "bfloat16")),
        {"batch_size": 1},
        {"threads": 2, "batch_size": 33},
        {"memory_limit": "32kB"},
        {"nan": "worst"},
    ):
        assert evaluate(model, dataset, corruption=corruption, **settings_).to_pandas()[list(whole)].equals(whole)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_a_score_is_a_function_of_its_pair_alone(name, options):
    model, every = random_family(name, options), np.arange(150)
    for side in ("head", "tail"):
        queries = Queries.of(Triples.of([(a, r, a) for a in range(0, 150, 9) for r in range(4)]), side)
        scores = model.scores(queries, every)
        own = np.stack([np.roll(every, query) for query in range(len(queries))])
        np.testing.assert_array_equal(model.scores(queries, own), np.take_along_axis(scores, own, axis=1))
        for query in (0, 17, 30):
            np.testing.assert_array_equal(
                model.scores(queries[query : query + 1], every[40:41])[0, 0], scores[query, 40]
            )


@pytest.mark.parametrize(("name", "options"), CASES)
def test_every_relation_is_one_view_where_it_sees_the_entities_in_its_own_way(name, options):
    model = random_family(name, options, relations=5)
    queries = Queries.of(Triples.of([(a, r, a) for a in range(3) for r in range(5)]), "tail")
    views = list(model.views(queries))
    assert all(isinstance(view, VectorScorer) for _, view in views)
    assert [part.start for part, _ in views] == ([0] if name == "ConvE" else list(range(0, 15, 3)))
    assert views[-1].queries.stop == 15


def test_inverse_relations_see_the_entities_for_heads():
    dataset = random_dataset(3, entities=60, triples=300)
    model = Reciprocal(random_family("TransR", {"norm": 2, "normalization": "max_norm"}, entities=60, relations=8))
    expected = evaluate(finished(model, 60), dataset).to_pandas()
    assert evaluate(model, dataset).to_pandas().equals(expected)
    assert evaluate(model, dataset, kernel="compiled", memory_limit=4096).to_pandas().equals(expected)


@pytest.mark.parametrize("name", ["TransE", "TransR"])
def test_squares_of_distances(name):
    rng, dataset = np.random.default_rng(1), random_dataset(4, entities=60, triples=300)
    arrays = {"entity": rng.normal(size=(60, 5)), "relation": rng.normal(size=(4, 5))}
    by_relation = random_family("TransR", {"norm": 2, "normalization": "max_norm"}, entities=60)
    model = family("TransE").build(arrays, {"norm": 2}) if name == "TransE" else by_relation
    squared, queries = Squared(model), Queries.of(dataset.test, "head")
    scores = squared.scores(queries, np.arange(60))
    np.testing.assert_allclose(scores, -(model.scores(queries, np.arange(60)) ** 2), rtol=1e-12, atol=1e-12)
    ours, plain = evaluate(squared, dataset), evaluate(model, dataset)
    for column in ("greater", "tied", "candidates", "raw_greater", "raw_tied"):
        assert ours.column(column).tolist() == plain.column(column).tolist()


def test_only_euclidean_distances_are_squared():
    model = random_family("TransR", {"norm": 1, "normalization": "none"})
    with pytest.raises(TypeError, match="only Euclidean distances"):
        list(Squared(model).views(Queries.of(Triples.of([(0, 0, 1)]), "tail")))


def test_each_side_is_ranked_by_its_own_scorer():
    dataset = random_dataset(5, entities=40, triples=300)
    vectors = random_family("TransH", {"norm": 2, "normalization": "none"}, entities=40)
    scores = np.random.default_rng(0).integers(0, 9, (4, 40, 40)).astype(float)  # a row a query, however it is asked
    table = ScoreTable(dataset.test, head=scores[dataset.test.relations, dataset.test.tails])
    both = evaluate(PerSideScorer(vectors, table), dataset)
    for side, scorer in (("tail", vectors), ("head", table)):
        alone, mine = evaluate(scorer, dataset, sides=(side,)), both.where(both.column("side") == side)
        assert mine.column("greater").tolist() == alone.column("greater").tolist()


def test_a_scorer_of_ones_own_may_have_views():
    """Two kinds of relations: vectors for one, finished scores for the other."""
    dataset, model = random_dataset(8, entities=40, triples=300), random_family("PairRE", {"norm": 1}, entities=40)

    class Mixed(PartitionedScorer):
        num_entities, num_relations = 40, 4

        def views(self, queries):
            for part, view in views_of(model, queries):
                yield QueryPartition(part, view if queries.relations[part.start] % 2 else finished(model, 40))

    assert evaluate(Mixed(), dataset).to_pandas().equals(evaluate(model, dataset).to_pandas())


def test_nan_is_found_under_the_relation_that_makes_it():
    dataset, model = random_dataset(8, entities=40, triples=300), random_family("PairRE", {"norm": 1}, entities=40)
    model.relation[2, 0] = np.nan
    with pytest.raises(ScoreError, match="r02"):
        evaluate(model, dataset)


def test_one_relations_entities_are_in_memory_at_a_time():
    """Those of all relations would take 12 × 10 MB."""
    dataset = random_dataset(9, entities=20_000, relations=12, triples=120)
    rng = np.random.default_rng(0)
    entity = rng.normal(size=(20_000, 64)).astype(np.float32)
    relation, normal = rng.normal(size=(2, 12, 64)).astype(np.float32)
    model = family("TransH").build(
        {"entity": entity, "relation": relation, "normal": normal}, {"norm": 2, "normalization": "none"}
    )
    tracemalloc.start()
    evaluate(model, dataset, memory_limit="8MB", kernel="compiled")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6


def test_multiplied_rows_have_the_bits_of_the_ordered_sum():
    rng = np.random.default_rng(0)
    for rows, width, columns in ((1, 1, 1), (3, 7, 5), (1100, 33, 20)):
        vectors = rng.normal(size=(rows, width)) * 10.0 ** rng.integers(-20, 20, (rows, width))
        matrix = rng.normal(size=(width, columns))
        for factor in (matrix, np.asfortranarray(matrix)):
            expected = weighted_sum(vectors.T[..., None], factor[:, None, :])
            assert matmul_ordered(vectors, factor).tobytes() == np.ascontiguousarray(expected).tobytes()


def test_queries_of_their_own_come_relation_by_relation():
    triples = Triples.of([(0, 1, 2), (3, 0, 1), (0, 1, 2), (2, 0, 0)])
    queries = Queries.per_triple(triples, "tail")
    assert queries.relations.tolist() == [0, 0, 1, 1]
    assert queries.triples.tolist() == [1, 3, 0, 2]
    assert queries.answers.tolist() == [1, 0, 2, 2]
