"""Predictions: the best answers of queries are those of a sort of all canonical scores, however the work is cut."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import kgeval
from kgeval import CallableScorer, Dataset, ScoreTable, Vocabulary, predict
from kgeval.base.errors import InputError, ScoreError
from kgeval.data.queries import Queries
from kgeval.data.triples import Triples
from kgeval.models.adapters.prediction_lists import OneList, PredictionLists, SideLists
from kgeval.models.alignment import align
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.model_ranking import ranking_of
from kgeval.ranking.predictions.predict import ModelPredictions
from kgeval.ranking.protocols.protocol import find_protocol
from tests.brute_force import COUNTS
from tests.conftest import random_dataset
from tests.ranking.test_kernels import KERNELS, SIMILARITIES, Vectors
from tests.ranking.test_views import CASES, of_whole_numbers

SPLITS = ("train", "valid", "test")


def best_of(scores, k, known, *, drops_known=False):
    """The best of one query by a plain sort: (entity, score, six counts) at each place; scores by entity."""
    inside = {entity: score for entity, score in scores.items() if not (drops_known and entity in known)}
    order = sorted((-score, entity) for entity, score in inside.items() if score > -math.inf)[:k]
    rows = []
    for _, entity in order:
        mine = scores[entity]
        others = [(other, score) for other, score in inside.items() if other != entity]
        unknown = [(other, score) for other, score in others if other not in known]
        counts = []
        for group in (unknown, others):
            counts += [sum(s > mine for _, s in group), sum(s == mine for _, s in group), len(group) + 1]
        rows.append((entity, mine, *(counts[:3] + [None] * 3 if drops_known else counts)))
    return rows


def expected_of(scorer, dataset, k, *, filter=SPLITS, drops_known=False, split="test", among=None):
    """By (side, anchor, relation): the best, of the canonical scores of all entities, or of those of ``among``."""
    expected, every = {}, np.arange(len(dataset.entities))
    for side in ("head", "tail"):
        queries = Queries.of(dataset.split(split), side)
        facts = defaultdict(set)
        for name in filter:
            for anchor, relation, answer in zip(*dataset.split(name).queries_of_side(side), strict=True):
                facts[int(anchor), int(relation)].add(int(answer))
        matrix = np.asarray(scorer.scores(queries, every), np.float64).tolist()
        for row, *key in zip(matrix, queries.anchors.tolist(), queries.relations.tolist(), strict=True):
            candidates = every.tolist() if among is None else among(side, key[1])
            scores, known = {entity: row[entity] for entity in candidates}, facts[tuple(key)] & {*candidates}
            expected[(side, *key)] = best_of(scores, k, known, drops_known=drops_known)
    return expected


def found_in(table):
    """The same of a table; places must count from 1."""
    found = defaultdict(list)
    names = ["side", "anchor", "relation", "place", "entity", "score", *COUNTS]
    for side, anchor, relation, place, *row in zip(*(table.data[name].to_pylist() for name in names), strict=True):
        assert place == len(found[side, anchor, relation]) + 1
        found[side, anchor, relation].append(tuple(row))
    return dict(found)


def pools(dataset, folder):
    """Corruptions, each with the entities that it means: of a side and a relation."""
    chosen, train = [2, 3, 5, 8, 13, 21, 34], dataset.train.ids.tolist()
    place = {"head": 0, "tail": 2}
    (folder / "pool.txt").write_text("".join(f"{dataset.entities[entity]}\n" for entity in chosen))
    listed = kgeval.corruption.EntityList(path=str(folder / "pool.txt"))
    typed = kgeval.corruption.TypeConstrained()

    def seen(side, relation):
        return sorted({triple[place[side]] for triple in train if triple[1] == relation})

    yield listed, lambda side, relation: chosen
    yield typed, seen
    both = kgeval.corruption.CandidateUnion(of=(listed, typed))
    yield both, lambda side, relation: sorted({*chosen, *seen(side, relation)})


@pytest.mark.parametrize("known", ["keep", "drop"])
@pytest.mark.parametrize("k", [2, 50])
def test_predictions_are_among_the_candidates_of_a_corruption(tmp_path, k, known):
    """As a sort of their scores alone; of a relation without any, there is no prediction."""
    dataset, scorer = random_dataset(18, entities=40, triples=20), Vectors("dot", entities=40, values=2)
    finished = CallableScorer(lambda heads, relations, tails: (heads * 5 + relations * 3 + tails * 7) % 11, 40, 4)
    for corruption, among in pools(dataset, tmp_path):
        for model in (scorer, finished):
            expected = expected_of(model, dataset, k, drops_known=known == "drop", among=among)
            assert all(expected.values()) == (corruption.kind != "typed")
            expected = {query: rows for query, rows in expected.items() if rows}
            for options in ({}, {"memory_limit": "32kB"}, {"kernel": "reference"}):
                table = predict(model, dataset, k=k, known=known, corruption=corruption, **options)
                assert found_in(table) == expected, (corruption, options)
            assert "ranked nevertheless" not in " ".join(table.notes)
        asked = [(dataset.entities[4], dataset.relations[0], "?")]
        (rows,) = found_in(predict(finished, dataset, queries=asked, k=k, corruption=corruption, filter=())).values()
        scores = {entity: float((4 * 5 + entity * 7) % 11) for entity in among("tail", 0)}
        assert [row[:2] for row in rows] == [row[:2] for row in best_of(scores, k, set())]
    ranked = kgeval.evaluate(scorer, dataset, corruption=corruption)
    assert predict(scorer, dataset, corruption=corruption).provenance.candidates == ranked.provenance.candidates


def test_a_restriction_chooses_queries_and_candidates():
    dataset, scorer = random_dataset(6, entities=20, triples=300), Vectors("dot", entities=20, values=2)
    inside, chosen = [*range(12)], {0, 2}
    table = predict(
        scorer,
        dataset,
        k=5,
        restrict_entities_to=[dataset.entities[entity] for entity in inside],
        restrict_relations_to=[dataset.relations[relation] for relation in sorted(chosen)],
    )
    expected = expected_of(scorer, dataset, 5, among=lambda side, relation: inside)
    kept = [(h, r, t) for h, r, t in dataset.test.ids.tolist() if {h, t} <= {*inside} and r in chosen]
    asked = {query for h, r, t in kept for query in (("tail", h, r), ("head", t, r))}
    assert found_in(table) == {query: expected[query] for query in asked}
    assert 0 < len(asked) < len(expected)
    with pytest.raises(InputError, match=r"restrict_entities_to: .* queries were given.* entities:path=FILE"):
        predict(scorer, dataset, queries=[(0, 0, -1)], restrict_entities_to=[dataset.entities[0]])


def test_drawn_negatives_are_no_candidates_of_predictions():
    dataset, scorer = random_dataset(6, entities=20, triples=60), Vectors("dot", entities=20, values=2)
    drawn, typed = kgeval.corruption.Uniform(count=3), kgeval.corruption.TypeConstrained()
    for corruption in (drawn, kgeval.corruption.CandidateUnion(of=(typed, drawn))):
        with pytest.raises(InputError, match="leave the answers of queries out"):
            predict(scorer, dataset, corruption=corruption)
    with pytest.raises(InputError, match="have no times"):
        predict(scorer, dataset, times="static")


@pytest.mark.parametrize(("k", "known"), [(1, "keep"), (10, "drop"), (200, "keep")])
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_predictions_are_a_sort_of_all_scores(similarity, k, known):
    dataset, scorer = random_dataset(6, entities=110, triples=300), Vectors(similarity, entities=110, values=2)
    expected = expected_of(scorer, dataset, k, drops_known=known == "drop")
    assert any(row[3] for rows in expected.values() for row in rows)
    whole = predict(scorer, dataset, k=k, known=known, kernel="reference")
    assert found_in(whole) == expected
    for options in (
        *({"kernel": kernel, "memory_limit": "150kB"} for kernel in KERNELS),
        {"batch_size": 1},
        {"threads": 2, "batch_size": 33},
        {"threads": 1},
        {"memory_limit": "32kB"},
        {"nan": "worst"},
    ):
        assert predict(scorer, dataset, k=k, known=known, **options).data.equals(whole.data), options


@pytest.mark.parametrize("known", ["keep", "drop"])
@pytest.mark.parametrize("similarity", ["dot", "l2", "l1"])
def test_whole_chunks_of_columns_are_discarded_only_where_no_score_of_them_can_be_among_the_best(similarity, known):
    """Large enough for classes of columns and several groups of bounds; real numbers beside exact doubles."""
    rng, dataset = np.random.default_rng(0), random_dataset(2, entities=3000, triples=60)
    scorer = Vectors(similarity, entities=3000)
    scorer.entity = rng.normal(size=(3000, 6)).astype(np.float32) * rng.lognormal(size=(3000, 1)).astype(np.float32)
    scorer.entity[1500:] = scorer.entity[:1500]
    scorer.bias = np.zeros(3000)
    expected = expected_of(scorer, dataset, 5, drops_known=known == "drop")
    for kernel in KERNELS:
        assert found_in(predict(scorer, dataset, k=5, known=known, kernel=kernel)) == expected, kernel


@pytest.mark.filterwarnings("ignore:invalid value")  # of cosines with zero vectors, which nobody asks for
@settings(max_examples=10)
@given(st.data())
@pytest.mark.parametrize(("name", "options"), CASES)
def test_relational_families_predict_their_own_sort(name, options, data):
    """Whole numbers, so that most scores tie."""
    dataset = random_dataset(data.draw(st.integers(0, 99)), entities=7, relations=3, triples=40)
    model = of_whole_numbers(name, options, data)
    k, facts = data.draw(st.integers(1, 9)), data.draw(st.sampled_from([SPLITS, ("train",), ()]))
    known, kernel = data.draw(st.sampled_from(["keep", "drop"])), data.draw(st.sampled_from(KERNELS))
    limit = data.draw(st.sampled_from([4096, 10**4, 10**9]))
    table = predict(model, dataset, k=k, known=known, filter=facts, kernel=kernel, memory_limit=limit)
    expected = expected_of(model, dataset, k, filter=facts, drops_known=known == "drop")
    assert found_in(table) == {key: rows for key, rows in expected.items() if rows}


@settings(max_examples=25)
@given(st.data())
def test_any_scores_of_a_function_are_sorted(data):
    dataset = random_dataset(data.draw(st.integers(0, 99)), entities=9, relations=3, triples=40)
    values = st.sampled_from([-math.inf, -1.0, 0.0, -0.0, 0.5, 1e300, math.inf])
    scores = data.draw(arrays(np.float64, (9, 3, 9), elements=values))
    scorer = CallableScorer(lambda h, r, t: scores[h, r, t], 9, 3)
    k, kernel = data.draw(st.integers(1, 11)), data.draw(st.sampled_from(KERNELS))
    known = data.draw(st.sampled_from(["keep", "drop"]))
    expected = expected_of(scorer, dataset, k, drops_known=known == "drop")
    table = predict(scorer, dataset, k=k, known=known, kernel=kernel, batch_size=data.draw(st.integers(1, 9)))
    assert found_in(table) == {key: rows for key, rows in expected.items() if rows}


def test_entities_that_the_model_does_not_know_are_never_predicted():
    dataset, scorer = random_dataset(4), Vectors("dot", entities=20)
    labels = [f"e{index:04}" for index in range(20)]
    few = CallableScorer(None, entities=labels, relations=[f"r{index:02}" for index in range(4)])
    object.__setattr__(few, "scores", scorer.scores)
    with pytest.raises(InputError, match=r"with an entity or relation that the model does not know: \(.*drop"):
        predict(few, dataset)
    table = predict(few, dataset, unseen="drop", k=50)
    assert table.column("entity").max() < 20
    assert table.column("anchor").max() < 20
    assert table.column("raw_candidates").max() == 20
    assert any(note.startswith("left out (unseen: drop): ") for note in table.notes)
    assert predict(few, dataset, unseen="worst", k=50).data.equals(table.data)


def test_prediction_lists_predict_what_they_list():
    labels = Vocabulary(["ant", "bee", "cat", "dog"]), Vocabulary(["eats"], "relation")
    lists = PredictionLists({"tail": SideLists.of({(0, 0, 2): OneList.of({2: 0.5, 1: 0.5})})}, *labels)
    dataset = Dataset.build("d", {"test": Triples.of([(0, 0, 2)])}, entities=labels[0], relations=labels[1])
    for of in ({"sides": "tail"}, {"queries": [("ant", "eats", "?")]}):
        table = predict(lists, dataset, **of)
        assert table.column("entity_label").tolist() == ["bee", "cat"]
        assert table.column("raw_tied").tolist() == [1, 1]
        assert table.column("raw_candidates").tolist() == [4, 4]
    with pytest.raises(InputError, match=r"1 of 1 queries have no list of predictions, such as \(bee, eats, \?\)"):
        predict(lists, dataset, queries=[("bee", "eats", "?")])


def test_the_model_of_a_ranking_predicts_by_its_scores():
    """By the scores of lists, too, where a protocol ranks by places in them."""
    dataset = random_dataset(5)
    ranking = ranking_of(align(Vectors("dot"), dataset), dataset, Evaluation(split="valid"))
    predictions = ModelPredictions(ranking.scorer, dataset, ranking.evaluation)
    assert predictions.predict(3).data.equals(predict(Vectors("dot"), dataset, k=3, split="valid").data)
    labels = Vocabulary(["ant", "bee", "cat"]), Vocabulary(["eats"], "relation")
    lists = PredictionLists({"tail": SideLists.of({(0, 0, 2): OneList.of({2: 0.9, 1: 0.5})})}, *labels)
    dataset = Dataset.build("d", {"test": Triples.of([(0, 0, 2)])}, entities=labels[0], relations=labels[1])
    listed = ranking_of(
        align(lists, dataset), dataset, Evaluation(sides=("tail",)), rules=find_protocol("anyburl").rules
    )
    assert listed.rank().column("score").tolist() == [-1]
    predictions = ModelPredictions(listed.scorer, dataset, listed.evaluation)
    assert predictions.predict(2).column("score").tolist() == [0.9, 0.5]


def test_a_score_table_is_left_as_it_was():
    dataset = random_dataset(5, entities=8, triples=60)
    scores = np.random.default_rng(0).integers(0, 4, (len(dataset.test), 8)).astype(float)
    before = scores.copy()
    predict(ScoreTable(dataset.test, tail=scores), dataset, sides="tail", known="drop", k=3)
    assert (scores == before).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_nan_is_an_error_or_the_worst(kernel):
    dataset, scorer = random_dataset(7), Vectors("dot")
    scorer.entity[3, 0] = np.nan
    queries = [("e0001", "r00", "?")]
    with pytest.raises(ScoreError, match=r"NaN for \(e0001, r00, \?\), candidate e0003"):
        predict(scorer, dataset, queries=queries, kernel=kernel)
    table = predict(scorer, dataset, queries=queries, k=40, nan="worst", kernel=kernel)
    assert sorted(table.column("entity").tolist()) == [entity for entity in range(30) if entity != 3]
    assert not any("no prediction" in note for note in table.notes)
    both = predict(scorer, dataset, queries=[*queries, ("e0003", "r00", "?")], k=40, nan="worst", kernel=kernel)
    assert len(both) == len(table)
    assert any(note.startswith("some queries have no prediction") for note in both.notes)


def test_a_trained_model_predicts_what_numpy_sorts(shared):
    data = kgeval.load_dataset(shared / "data/fb15k-237")
    model = kgeval.load_checkpoint(shared / "checkpoints/fb15k-237-complex", dataset=data, model="ComplEx")
    rng = np.random.default_rng(0)
    ids = np.stack([rng.integers(0, 14_000, 40), rng.integers(0, 200, 40), np.full(40, -1)], axis=1)
    ids[20:] = ids[20:, ::-1]
    aligned = kgeval.models.alignment.align(model, data)
    kernels = ("compiled", "float32", "bfloat16")
    tables = [predict(model, data, queries=ids, k=10, kernel=kernel) for kernel in kernels]
    for number, (head, relation, tail) in enumerate(ids.tolist()):
        side = "head" if head < 0 else "tail"
        one = Queries.of(Triples.of([(max(head, 0), relation, max(tail, 0))]), side)
        scores = np.asarray(aligned.scores(one, np.arange(len(data.entities)))[0], np.float64)
        order = np.lexsort((np.arange(len(scores)), -scores))[:10]
        for table in tables:
            mine = table.where(table.column("query") == number)
            assert mine.column("entity").tolist() == order.tolist()
            assert mine.column("score").tolist() == scores[order].tolist()
