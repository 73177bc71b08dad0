"""Properties of ranking on random small graphs: what must change nothing changes nothing."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kgeval import CallableScorer, Dataset, RankTable, ScoreTable, Triples, Vocabulary, evaluate
from kgeval.data.triples import TARGETS
from kgeval.models.families.bilinear import DistMult, TuckER
from kgeval.models.families.complex import ComplEx, RotatE
from kgeval.models.families.translations import TransE
from kgeval.ranking.ranking_task import RankCounts
from tests.brute_force import COUNTS, as_counts, brute_force

pytestmark = pytest.mark.filterwarnings("ignore:overflow|invalid value")
quick = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])

# Few values and awkward ones: ties, signed zeros, denormals, values a unit in the last place apart, huge ones.
AWKWARD = [0.0, -0.0, 1.0, float(np.nextafter(1.0, 2.0)), -1.0, 5e-324, 1e300, -1e300, float("inf"), float("-inf")]


@st.composite
def graphs(draw):
    entities, relations = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    triple = st.tuples(st.integers(0, entities - 1), st.integers(0, relations - 1), st.integers(0, entities - 1))
    splits = {
        "train": draw(st.lists(triple, max_size=12)),
        "valid": draw(st.lists(triple, max_size=5)),
        "test": draw(st.lists(triple, min_size=1, max_size=8)),
    }
    return Dataset.build(
        "drawn",
        {name: Triples.of(rows) for name, rows in splits.items()},
        entities=Vocabulary([f"e{index}" for index in range(entities)]),
        relations=Vocabulary([f"r{index}" for index in range(relations)], "relation"),
    )


@st.composite
def scored_graphs(draw):
    dataset = draw(graphs())
    shape = (len(dataset.entities), len(dataset.relations), len(dataset.entities))
    return dataset, draw(arrays(np.float64, shape, elements=st.sampled_from(AWKWARD)))


def scorer_of(scores):
    return CallableScorer(lambda h, r, t: scores[h, r, t], scores.shape[0], scores.shape[1])


@quick
@given(scored_graphs(), st.sampled_from([(), ("train",), ("train", "valid"), ("train", "valid", "test")]))
@pytest.mark.parametrize("kernel", ["reference", "compiled"])
def test_counts_equal_brute_force(kernel, drawn, filter):
    dataset, scores = drawn
    table = evaluate(scorer_of(scores), dataset, filter=filter, kernel=kernel, sides=TARGETS)
    assert as_counts(table) == brute_force(lambda h, r, t: scores[h, r, t], dataset, filter=filter, sides=TARGETS)


@quick
@given(scored_graphs(), st.randoms(use_true_random=False))
def test_relabelling_changes_nothing(drawn, random):
    dataset, scores = drawn
    entities, relations = list(range(scores.shape[0])), list(range(scores.shape[1]))
    random.shuffle(entities)
    random.shuffle(relations)
    rename = np.array(entities), np.array(relations), np.array(entities)
    moved = np.empty_like(scores)
    moved[np.ix_(*rename)] = scores
    splits = {
        name: Triples(np.stack([table[part.ids[:, i]] for i, table in enumerate(rename)], 1))
        for name, part in dataset.splits.items()
    }
    renamed = Dataset.build("renamed", splits, entities=dataset.entities, relations=dataset.relations)
    before, after = evaluate(scorer_of(scores), dataset), evaluate(scorer_of(moved), renamed)
    for column in ("triple", "side", "score", *COUNTS):
        assert before.column(column).tolist() == after.column(column).tolist()


@quick
@given(scored_graphs(), st.randoms(use_true_random=False))
def test_the_order_of_the_triples_changes_nothing(drawn, random):
    dataset, scores = drawn
    shuffled = {}
    for name, part in dataset.splits.items():
        rows = part.ids.tolist()
        random.shuffle(rows)
        shuffled[name] = Triples.of(rows)
    again = Dataset.build("shuffled", shuffled, entities=dataset.entities, relations=dataset.relations)
    assert as_counts(evaluate(scorer_of(scores), dataset)) == as_counts(evaluate(scorer_of(scores), again))


@quick
@given(scored_graphs(), st.integers(1, 4), st.integers(1, 4))
def test_shards_of_triples_and_blocks_of_queries_change_nothing(drawn, batch_size, cut):
    dataset, scores = drawn
    whole = evaluate(scorer_of(scores), dataset)
    assert evaluate(scorer_of(scores), dataset, batch_size=batch_size).to_pandas().equals(whole.to_pandas())
    shards = []
    for ids in filter(len, (dataset.test.ids[:cut], dataset.test.ids[cut:])):
        # The known answers stay those of the whole graph: what is not in the shard is kept in train.
        parts = {"train": Triples(np.concatenate([p.ids for p in dataset.splits.values()])), "test": Triples(ids)}
        shard = Dataset.build("shard", parts, entities=dataset.entities, relations=dataset.relations)
        shards.append(evaluate(scorer_of(scores), shard))
    assert as_counts(RankTable.concat(shards)) == as_counts(whole)


@quick
@given(scored_graphs())
def test_a_strictly_increasing_transformation_changes_nothing(drawn):
    dataset, scores = drawn
    # The rank of a value among all values is a strictly increasing function of it, exact even for infinities.
    transformed = np.unique(scores, return_inverse=True)[1].reshape(scores.shape).astype(float) - 2.5
    assert as_counts(evaluate(scorer_of(transformed), dataset)) == as_counts(evaluate(scorer_of(scores), dataset))


@quick
@given(scored_graphs())
def test_optimistic_and_pessimistic_ranks_stay_within_the_candidates(drawn):
    dataset, scores = drawn
    table = evaluate(scorer_of(scores), dataset)
    for prefix in ("", "raw_"):
        greater, tied, candidates = (table.column(prefix + name) for name in ("greater", "tied", "candidates"))
        assert (greater >= 0).all()
        assert (tied >= 0).all()
        assert (1 + greater + tied <= candidates).all()
    assert (table.column("greater") <= table.column("raw_greater")).all()


@quick
@given(scored_graphs())
def test_a_score_table_is_the_scorer_that_filled_it(drawn):
    dataset, scores = drawn
    h, r, t = dataset.test.ids.T
    finished = ScoreTable(dataset.test, head=scores[:, r, t].T, tail=scores[h, r, :])
    assert as_counts(evaluate(finished, dataset)) == as_counts(evaluate(scorer_of(scores), dataset))


@quick
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(1, 9)), min_size=3, max_size=3))
def test_counts_add_associatively(rows):
    first, second, third = (RankCounts(*(np.array([value]) for value in row)) for row in rows)
    left, right = (first + second) + third, first + (second + third)
    assert [left.greater, left.tied, left.candidates] == [right.greater, right.tied, right.candidates]


def triple_score(family, options, arrays, h, r, t):
    """Score one triple with numpy's complex numbers and einsum, in the formula's own words."""
    e, w = arrays["entity"].astype(float), arrays["relation"].astype(float)
    if family is TransE:
        return -np.linalg.norm(e[h] + w[r] - e[t], options["norm"])
    if family is DistMult:
        return np.einsum("k,k,k->", e[h], w[r], e[t])
    if family is TuckER:
        return np.einsum("i,j,k,ijk->", e[h], w[r], e[t], arrays["core"].astype(float))
    half = e.shape[1] // 2
    e = e[:, :half] + 1j * e[:, half:]
    w = np.exp(1j * w) if family is RotatE else w[:, :half] + 1j * w[:, half:]
    if family is ComplEx:
        return np.real(np.sum(e[h] * w[r] * np.conj(e[t])))
    return -np.linalg.norm(np.abs(e[h] * w[r] - e[t]), options["norm"])


@pytest.mark.parametrize(
    ("family", "options"),
    [
        *((kind, {"norm": norm}) for kind in (TransE, RotatE) for norm in (1, 2)),
        (DistMult, {}),
        (ComplEx, {}),
        (TuckER, {}),
    ],
    ids=str,
)
@quick
@given(seed=st.integers(0, 2**31), dataset=graphs())
def test_families_are_their_formulas(family, options, seed, dataset):
    rng = np.random.default_rng(seed)
    widths = {"entity": 6, "relation": 3 if family is RotatE else 4 if family is TuckER else 6}
    arrays = {
        "entity": rng.normal(size=(len(dataset.entities), widths["entity"])).astype(np.float32),
        "relation": rng.normal(size=(len(dataset.relations), widths["relation"])).astype(np.float32),
    }
    if family is TuckER:
        arrays["core"] = rng.normal(size=(6, 4, 6)).astype(np.float32)
    table = evaluate(family.build(arrays, options), dataset)
    score = partial(triple_score, family, options, arrays)
    for row in range(len(table)):
        triple = (int(table.column(name)[row]) for name in ("head", "relation", "tail"))
        assert table.column("score")[row] == pytest.approx(score(*triple), rel=1e-12, abs=1e-12)
    # Random reals do not tie but by being the same candidate, so the ranks are those of any order of summation.
    expected = brute_force(lambda h, r, t: round(float(score(h, r, t)), 9), dataset)
    found, expected = (
        {key: (*row[:1], *row[2:4], *row[5:]) for key, row in counts.items()} for counts in (as_counts(table), expected)
    )
    assert found == expected
