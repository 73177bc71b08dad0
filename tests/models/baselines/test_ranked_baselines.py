"""Each baseline on random graphs, row by row, against its rule in dictionaries, sets, and loops over the past."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgeval import Baseline, Dataset, annotate, evaluate, summarize
from kgeval.base.errors import DatasetError
from kgeval.data.queries import Queries
from tests.brute_force import as_counts, brute_force
from tests.conftest import random_dataset
from tests.ranking.test_times import random_graph


def planted(seed: int, entities: int = 7, relations: int = 4, triples: int = 30) -> Dataset:
    """A random graph, to which train turns most triples round: the even relations under the next one, others as is."""
    data = random_dataset(seed, entities=entities, relations=relations, triples=triples)
    rng = np.random.default_rng(seed)
    h, r, t = np.concatenate([data.train.ids, data.test.ids]).T
    turned = np.stack([t, np.where(r % 2, r, np.minimum(r + 1, relations - 1)), h], axis=1)[rng.random(len(h)) < 0.8]
    splits = {"train": np.concatenate([data.train.ids, turned]), "valid": data.valid.ids, "test": data.test.ids}
    return Dataset.build("planted", splits, entities=data.entities, relations=data.relations)


GRAPHS = st.builds(
    planted,
    seed=st.integers(0, 2**16),
    entities=st.integers(4, 9),
    relations=st.integers(1, 4),
    triples=st.integers(25, 50),
)


def train_of(dataset: Dataset) -> list[tuple[int, int, int]]:
    return [tuple(row) for row in dataset.train.ids.tolist()]


def by_popularity(dataset):
    heads, tails = Counter(), Counter()
    for h, r, t in train_of(dataset):
        heads[r, h] += 1
        tails[r, t] += 1
    return {"head": lambda h, r, t: heads[r, h], "tail": lambda h, r, t: tails[r, t]}


def by_types(dataset):
    popularity = by_popularity(dataset)
    return {side: lambda h, r, t, count=count: count(h, r, t) > 0 for side, count in popularity.items()}


def by_symmetry(dataset):
    train = {*train_of(dataset)}
    return dict.fromkeys(("head", "tail"), lambda h, r, t: (t, r, h) in train)


def by_inverse(dataset, threshold=Fraction(8, 10), more=()):
    """Partners are those of train; ``more`` has further triples that are looked up."""
    pairs = {r: set() for r in range(len(dataset.relations))}
    for h, r, t in train_of(dataset):
        pairs[r].add((h, t))
    partners = {r: [] for r in pairs}
    for first, mine in pairs.items():
        for second, others in pairs.items():
            shared = sum((t, h) in others for h, t in mine)
            if shared and max(Fraction(shared, len(mine)), Fraction(shared, len(others))) >= threshold:
                partners[first].append(second)
    known = {*train_of(dataset), *more}
    return dict.fromkeys(("head", "tail"), lambda h, r, t: any((t, other, h) in known for other in partners[r]))


def by_inverse_of_two(dataset):
    return by_inverse(dataset, more=[tuple(row) for row in dataset.valid.ids.tolist()])


def by_nothing(dataset):
    return dict.fromkeys(("head", "tail"), lambda h, r, t: 0)


def by_page_rank(dataset, damping=Fraction(1, 2), iterations=3):
    """In fractions, so that what ties does so exactly."""
    near = {entity: set() for entity in range(len(dataset.entities))}
    for h, _, t in train_of(dataset):
        near[h].add(t)
        near[t].add(h)
    visits = {}
    for anchor in near:
        now = {anchor: Fraction(1)}
        for _ in range(iterations):
            after = Counter({anchor: 1 - damping})
            for entity, share in now.items():
                for other in near[entity]:
                    after[other] += damping * share / len(near[entity])
            now = after
        visits[anchor] = {**now, anchor: Fraction(0)}
    return {
        "head": lambda h, r, t: visits[t].get(h, Fraction(0)),
        "tail": lambda h, r, t: visits[h].get(t, Fraction(0)),
    }


RULES = {
    "popularity": (Baseline("popularity"), by_popularity),
    "types": (Baseline("types"), by_types),
    "symmetric": (Baseline("symmetric"), by_symmetry),
    "inverse": (Baseline("inverse"), by_inverse),
    "inverse from a third on": (Baseline("inverse", threshold=1 / 3), partial(by_inverse, threshold=Fraction(1, 3))),
    "inverse, also in valid": (Baseline("inverse", history="train+valid"), by_inverse_of_two),
    "random": (Baseline("random"), by_nothing),
    "ppr": (Baseline("ppr", damping=0.5, iterations=3), by_page_rank),
}


@pytest.mark.parametrize(("baseline", "rule"), RULES.values(), ids=RULES)
@settings(max_examples=25)
@given(dataset=GRAPHS)
def test_every_row_is_that_of_the_rule(baseline, rule, dataset):
    scores = rule(dataset)
    expected = {}
    for side, score in scores.items():
        expected |= brute_force(score, dataset, sides=[side])
    assert as_counts(evaluate(baseline, dataset)) == expected


def test_the_graphs_have_partners_and_ties_of_walks():
    """What the rules above are compared on is not all nothing."""
    graphs = [planted(seed) for seed in range(20)]
    tables = {name: [evaluate(baseline, graph) for graph in graphs] for name, (baseline, _) in RULES.items()}
    for name in RULES:
        if name != "random":
            assert any((table.column("raw_greater") > 0).any() for table in tables[name]), name
    assert any((table.column("tied") > 0).any() for table in tables["ppr"])


def test_popularity_ranks_as_pykeens_margin_of_relations():
    """PyKEEN's baseline by the marginal distribution of relations alone normalises the same counts."""
    from pykeen.datasets import Nations
    from pykeen.models import MarginalDistributionBaseline

    graph = Nations()
    model = MarginalDistributionBaseline(graph.training, entity_margin=False, relation_margin=True)
    theirs, ours = (evaluate(one, graph) for one in (model, Baseline("popularity")))
    assert theirs.data.drop_columns(["score"]).equals(ours.data.drop_columns(["score"]))


def test_a_relation_that_train_turns_round_is_its_own_partner():
    rows = [("a", "near", "b"), ("b", "near", "a"), ("c", "near", "d")]
    data = Dataset.from_labels(train=rows, test=[("d", "near", "c")])
    # Of three pairs, two are there turned round.
    found = evaluate(Baseline("inverse", threshold=2 / 3), data)
    assert found.column("tied").tolist() == [0, 0]
    assert evaluate(Baseline("inverse", threshold=0.67), data).column("tied").tolist() == [3, 3]
    assert evaluate(Baseline("symmetric"), data).column("tied").tolist() == [0, 0]


def test_an_inverse_in_valid_is_found_where_that_is_history():
    """Two test triples: one is reversed in train, one in valid. The head says what was looked in."""
    train = [pair for n in range(4) for pair in ((f"a{n}", "r", f"b{n}"), (f"b{n}", "s", f"a{n}"))]
    splits = {
        "train": [*train, ("c", "r", "d")],
        "valid": [("e", "r", "f")],
        "test": [("d", "s", "c"), ("f", "s", "e")],
    }
    data = Dataset.from_labels(**splits)
    tables = {history: evaluate(Baseline("inverse", history=history), data) for history in ("train", "train+valid")}
    scores = {history: table.column("score").reshape(2, 2).tolist() for history, table in tables.items()}
    assert scores == {"train": [[1, 0], [1, 0]], "train+valid": [[1, 1], [1, 1]]}
    titles = [table.provenance.model for table in tables.values()]
    assert titles == ["baseline inverse", "baseline inverse (history train+valid)"]
    with pytest.raises(DatasetError, match="it has no valid triples"):
        evaluate(Baseline("inverse", history="train+valid"), Dataset.from_labels(train=train, test=splits["test"]))


@pytest.mark.parametrize("name", ["popularity", "types", "inverse", "symmetric", "ppr", "random"])
def test_an_answer_or_an_anchor_that_train_lacks_ties_with_all_that_is_not_known(name):
    data = Dataset.from_labels(train=[("a", "r", "b"), ("b", "r", "c")], test=[("a", "r", "new"), ("new", "s", "b")])
    table = evaluate(Baseline(name), data)
    assert (table.column("score") == 0).sum() >= 3
    assert (table.column("greater") + table.column("tied") < table.column("candidates")).all()
    unseen = table.where((table.column("head") == data.entities.id("new")) & (table.column("side") == "tail"))
    assert unseen.column("tied") == unseen.column("candidates") - 1


def test_the_dataset_of_the_evaluation_may_be_another_one():
    """A baseline that has counted one graph ranks another by its labels."""
    rows = [("c", "r", "b"), ("a", "r", "b"), ("a", "r", "d"), ("d", "r", "a")]
    fitted = Baseline("popularity").fit(Dataset.from_labels(train=rows, entities=list("dcba")))
    data = Dataset.from_labels(train=[("a", "r", "c")], test=[("c", "r", "d")], entities=list("abcd"))
    table = evaluate(fitted, data)
    # Tails: b twice, a and d once, c never. Heads: a twice (known), c and d once, b never.
    rows = {row["side"]: row for row in table.data.to_pylist()}
    assert (rows["tail"]["greater"], rows["tail"]["tied"], rows["tail"]["score"]) == (1, 1, 1.0)
    assert (rows["head"]["greater"], rows["head"]["tied"], rows["head"]["score"]) == (1, 1, 1.0)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["head", "tail"]))
def test_scores_are_the_latest_earlier_times(seed, side):
    data = random_graph(seed, times=5)
    queries = Queries.of(data.test, side)
    scores = Baseline("recurrency").fit(data).scores(queries, np.arange(len(data.entities)))
    facts = list(zip(*data.train.ids.T.tolist(), data.train.contexts.tolist(), strict=True))
    for a, r, time, row in zip(queries.anchors, queries.relations, queries.contexts, scores, strict=True):
        for entity, score in enumerate(row):
            triple = (a, r, entity) if side == "tail" else (entity, r, a)
            assert score == max((1 + past for *fact, past in facts if tuple(fact) == triple and past < time), default=0)


def test_its_ranks_are_those_of_its_scores():
    data = random_graph(0, times=5)
    fitted = Baseline("recurrency").fit(data)
    table = evaluate(Baseline("recurrency"), data, filter=(), sides="tail")
    queries = Queries.per_triple(data.test, "tail")
    scores = fitted.scores(queries, np.arange(7))[np.argsort(queries.triples)]
    own = scores[np.arange(len(data.test)), data.test.tails][:, None]
    assert table.column("greater").tolist() == (scores > own).sum(axis=1).tolist()
    assert table.provenance.model == "baseline recurrency"


def test_a_graph_without_times_has_no_past(nations):
    with pytest.raises(DatasetError, match="dataset nations has no times, which baseline recurrency needs"):
        evaluate(Baseline("recurrency"), nations)
    table = evaluate(lambda h, r, t: h, nations)
    with pytest.raises(DatasetError, match="slice 'seen-time' needs times, and dataset nations has none"):
        annotate(table, nations, "seen-time")


def test_rows_are_divided_by_whether_train_has_their_time():
    train = [("a", "r", "b", "2014-01-01"), ("b", "r", "c", "2014-01-03")]
    test = [("c", "r", "b", "2014-01-04"), ("c", "r", "a", "2014-01-03"), ("a", "r", "c", "2014-01-02")]
    data = Dataset.from_labels(train=train, test=test)
    table = annotate(evaluate(lambda h, r, t: h + t, data), data, "seen-time")
    seen = dict(zip(table.column("time").tolist(), table.column("seen-time").tolist(), strict=True))
    assert seen == {"2014-01-02": "no", "2014-01-03": "yes", "2014-01-04": "no"}
    counts = summarize(table, ["count"], by="seen-time").to_frame()
    assert dict(zip(counts["seen-time"], counts["both.count"], strict=True)) == {"yes": 2, "no": 4}
    days = summarize(table, ["count"], by="time").to_frame()
    assert days["time"].tolist() == ["2014-01-02", "2014-01-03", "2014-01-04"]
