"""Baselines that look back, against loops over the past and against published ranks; and the history in every head."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgeval import Baseline, Dataset, Triples, Vocabulary, compare, evaluate, summarize
from kgeval.base.errors import DatasetError, InputError
from kgeval.data.queries import Queries
from kgeval.models.baselines.combined import ALPHAS, DECAYS
from tests.ranking.test_times import random_graph

HISTORIES = ("train", "train+valid", "observed")
SEEDS = st.integers(0, 2**16)


def forecast_graph(seed: int, *, times: int = 9, rows: int = 120) -> Dataset:
    """A random graph whose splits follow each other in time."""
    rng = np.random.default_rng(seed)
    facts = np.stack([rng.integers(0, size, rows) for size in (6, 3, 6, times)], 1)
    limits = pairwise((0, times - 4, times - 2, times))
    parts = [facts[(facts[:, 3] >= low) & (facts[:, 3] < high)] for low, high in limits]
    return Dataset.build(
        "ahead",
        {name: Triples(part[:, :3], part[:, 3]) for name, part in zip(("train", "valid", "test"), parts, strict=True)},
        entities=Vocabulary.numbered(6),
        relations=Vocabulary.numbered(3, "relation"),
        times=Vocabulary.numbered(times, "time"),
    )


def past_of(data: Dataset, history: str) -> list[tuple[int, int, int, int]]:
    """The distinct facts of a history."""
    names = data.splits if history == "observed" else history.split("+")
    return sorted({tuple(fact) for name in names for fact in data.split(name)})


def turned(facts, side):
    """The facts as (anchor, relation, answer, time)."""
    return [(h, r, t, k) if side == "tail" else (t, r, h, k) for h, r, t, k in facts]


def by_recurrency(past, a, r, o, now):
    return max((1 + k for b, q, p, k in past if (b, q, p) == (a, r, o)), default=0)


def by_frequency(past, a, r, o, now):
    return sum((b, q, p) == (a, r, o) for b, q, p, _ in past)


def by_pair(past, a, r, o, now):
    return any({b, p} == {a, o} and (b, p) in ((a, o), (o, a)) for b, _, p, _ in past)


def by_both(alpha, decay):
    """As the formulas are written, with times counted from that of the query."""

    def score(past, a, r, o, now):
        of_relation = [(b, p, k) for b, q, p, k in past if q == r]
        if not of_relation:
            return 0
        first, last = (limit(k for *_, k in of_relation) for limit in (min, max))
        whole = sum(2.0 ** (decay * (k - now)) for k in range(first, last)) or 2.0 ** (decay * (last - now))
        recent = sum(2.0 ** (decay * (k - now)) for b, p, k in of_relation if (b, p) == (a, o))
        share = sum(p == o for _, p, _ in of_relation) / len(of_relation)
        return alpha * recent / whole + (1 - alpha) * share

    return score


RULES = {
    "recurrency": (Baseline("recurrency"), by_recurrency),
    "frequency": (Baseline("frequency"), by_frequency),
    "edgebank": (Baseline("edgebank"), by_pair),
    "combined": (Baseline("combined-recurrency", alpha=0.75, decay=0.5), by_both(0.75, 0.5)),
    "combined, without decay": (Baseline("combined-recurrency", alpha=0.5, decay=0), by_both(0.5, 0)),
    "share of the relation alone": (Baseline("combined-recurrency", alpha=0, decay=1), by_both(0, 1)),
}


@pytest.mark.parametrize(("baseline", "rule"), RULES.values(), ids=RULES)
@pytest.mark.parametrize("history", HISTORIES)
@settings(max_examples=5)
@given(seed=SEEDS, make=st.sampled_from([random_graph, forecast_graph]), side=st.sampled_from(["head", "tail"]))
def test_scores_are_those_of_loops_over_the_past(baseline, rule, history, seed, make, side):
    data = make(seed)
    fitted, size = baseline.fit(data, history=history), len(data.entities)
    queries = Queries.of(data.test, side)
    scores = fitted.scores(queries, np.arange(size))
    facts = past_of(data, history)
    for row, (a, r, now) in enumerate(zip(queries.anchors, queries.relations, queries.contexts, strict=True)):
        past = turned([fact for fact in facts if fact[3] < now], side)
        expected = [rule(past, a, r, o, now) for o in range(size)]
        np.testing.assert_allclose(scores[row], expected, rtol=1e-12, atol=1e-300)
    drawn = np.random.default_rng(seed).integers(0, size, (len(queries), 3))
    assert np.array_equal(fitted.scores(queries, drawn), np.take_along_axis(scores, drawn, 1))


@pytest.mark.parametrize("history", HISTORIES)
@settings(max_examples=3)
@given(seed=SEEDS)
def test_weights_are_those_with_the_best_mrr_in_valid(history, seed):
    """Chosen by ranking valid with each λ, then each α, by the ordinary evaluation; the first of equally good ones."""
    data = forecast_graph(seed)
    early = Dataset.build(
        "early",
        {"train": data.train, "test": data.valid},
        entities=data.entities,
        relations=data.relations,
        times=data.times,
    )
    seen = "observed" if history == "observed" else "train"

    def mrr(alpha, decay, side):
        baseline = Baseline("combined-recurrency", alpha=alpha, decay=decay)
        table = evaluate(baseline, early, sides=side, history=seen)
        return np.bincount(table.column("relation"), 1 / table.ranks, minlength=3)

    chosen = Baseline("combined-recurrency").fit(data, history=history)
    for side in ("head", "tail"):
        queries = Queries.of(data.test, side)
        decays = np.argmax(np.round([mrr(1, decay, side) for decay in DECAYS], 9), axis=0)
        asked = np.bincount(data.valid.relations, minlength=3) > 0
        scores = chosen.scores(queries, np.arange(6))
        for relation in range(3):
            decay = DECAYS[decays[relation]] if asked[relation] else 1.0001
            of_alphas = np.round([mrr(alpha, decay, side)[relation] for alpha in ALPHAS], 9)
            alpha = min(ALPHAS[int(np.argmax(of_alphas))], 0.99999) if asked[relation] else 0.99999
            given = Baseline("combined-recurrency", alpha=alpha, decay=decay).fit(data, history=history)
            rows = queries.relations == relation
            assert np.array_equal(scores[rows], given.scores(queries, np.arange(6))[rows])


def icews14(folder) -> Dataset:
    """ICEWS14 as it is split for forecasting, by its ids."""
    columns = {name: np.loadtxt(folder / f"{name}.txt", np.int64)[:, :4] for name in ("train", "valid", "test")}
    times, places = np.unique(np.concatenate([rows[:, 3] for rows in columns.values()]), return_inverse=True)
    ends = np.cumsum([len(rows) for rows in columns.values()])[:-1]
    parts = zip(columns.items(), np.split(places, ends), strict=True)
    return Dataset.build(
        "icews14",
        {name: Triples(np.ascontiguousarray(rows[:, :3]), place) for (name, rows), place in parts},
        entities=Vocabulary([f"e{it}" for it in range(7128)]),
        relations=Vocabulary([f"r{it}" for it in range(230)], "relation"),
        times=Vocabulary([f"{it:05}" for it in times], "time"),
    )


def test_icews14_has_the_ranks_of_plain_numpy_and_the_published_ones(shared):
    """Strict: ``cases/recurrency``. Combined: 37.4 and 51.5 (Gastinger et al., 2024, corrected in their repository)."""
    case = json.loads((shared / "cases/recurrency/icews14/expected.json").read_text())
    data = icews14(shared / "data/renet-icews14")
    multi, single = case["longer histories, same rule"].values()
    for history, expected in (("train", case["results"]), ("train+valid", multi), ("observed", single)):
        for times in ("time-aware", "static"):
            table = evaluate(Baseline("recurrency"), data, history=history, times=times)
            for policy in ("optimistic", "realistic", "pessimistic"):
                values = summarize(table, ["mrr", "hits@1", "hits@10"], ties=policy)
                for name in ("mrr", "hits@1", "hits@10"):
                    assert values[name] == pytest.approx(expected[times][policy][name], abs=1e-12)
    combined = summarize(evaluate(Baseline("combined-recurrency"), data, history="observed"), ["mrr", "hits@10"])
    assert combined["mrr"] == pytest.approx(0.374, abs=5e-4)
    assert combined["hits@10"] == pytest.approx(0.515, abs=2e-3)


def test_heads_and_comparisons_say_the_history():
    data = forecast_graph(0)

    def model(heads, relations, tails):
        return heads * 3 + tails

    tables = {
        "said": evaluate(model, data, history="observed"),
        "unsaid": evaluate(model, data),
        "strict": evaluate(Baseline("recurrency"), data),
        "popular": evaluate(Baseline("popularity"), data, history="observed"),
    }
    assert [table.provenance.history for table in tables.values()] == ["observed", None, "train", "train"]
    assert "(time-aware), history: observed, candidates" in str(tables["said"].provenance)
    assert "history" not in str(tables["unsaid"].provenance)
    assert tables["said"].data.equals(tables["unsaid"].data)  # it is no rule of ranks
    said = "history observed in said; history not said in unsaid; history train in strict and popular"
    notes = compare(tables, ["mrr"]).below
    assert any(f"the models had different facts before a query in view: {said}." in note for note in notes)
    alike = compare({"a": tables["said"], "b": tables["said"]}, ["mrr"])
    assert "history: observed" in "".join(alike.heads)


def test_what_has_no_past_is_refused(nations):
    with pytest.raises(InputError, match=r"history \(--history\): the triples of dataset nations have no times"):
        evaluate(Baseline("popularity"), nations, history="train")
    with pytest.raises(DatasetError, match="dataset nations has no times, which baseline edgebank needs"):
        Baseline("edgebank").fit(nations)
    with pytest.raises(InputError, match="history"):
        evaluate(Baseline("recurrency"), forecast_graph(0), history="all")
    with pytest.raises(InputError, match="history: the evaluation has it: --history"):
        Baseline("recurrency", history="observed")
    with pytest.raises(InputError, match=r"unknown value 'seen'. .*'observed'"):
        Baseline("recurrency").fit(forecast_graph(0), history="seen")
    facts = {"train": [("a", "r", "b", "2020")], "test": [("a", "r", "b", "2021")]}
    with pytest.raises(DatasetError, match=r"has no valid triples; .* chooses alpha and decay by them. Give both"):
        Baseline("combined-recurrency", alpha=0.5).fit(Dataset.from_labels(**facts))
    given = evaluate(Baseline("combined-recurrency", alpha=0.5, decay=0), Dataset.from_labels(**facts))
    assert given.column("greater").tolist() == [0, 0]
