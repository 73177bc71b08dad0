"""pytrec_eval and ranx on random lists: the same numbers, once their conventions of ties and grades are followed."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval.metrics import average_precision, f1_at_k, ndcg, precision_at_k, recall_at_k
from kgeval.metrics.lists import ranked
from kgeval.metrics.metric import Undefined
from tests.metrics.example_ranks import METRICS

K = 4
SERVED = {
    "map": average_precision,
    "map@4": lambda grades: average_precision(grades, k=K),
    "p@4": lambda grades: precision_at_k(grades, k=K),
    "r@4": lambda grades: recall_at_k(grades, k=K),
    "f1@4": lambda grades: f1_at_k(grades, k=K),
    "r-precision": lambda grades: METRICS["r-precision"](ranked(grades)),
    "first-rr": lambda grades: METRICS["first-rr"](ranked(grades)),
    "ndcg": ndcg,
    "ndcg@4": lambda grades: ndcg(grades, k=K),
    "ndcg-exp@4": lambda grades: ndcg(grades, k=K, gain="exponential"),
}
PYTREC_EVAL = {
    "map": "map", "map_cut_4": "map@4", "P_4": "p@4", "recall_4": "r@4", "Rprec": "r-precision",
    "recip_rank": "first-rr", "ndcg": "ndcg", "ndcg_cut_4": "ndcg@4",
}  # fmt: skip
RANX = {
    "map": "map", "map@4": "map@4", "precision@4": "p@4", "recall@4": "r@4", "f1@4": "f1@4",
    "r-precision": "r-precision", "mrr": "first-rr", "ndcg@4": "ndcg@4", "ndcg_burges@4": "ndcg-exp@4",
}  # fmt: skip


def random_lists(highest):
    """Lists of 1 to 14 items with graded relevance and many ties, each with something relevant."""
    rng = np.random.default_rng(7)
    lists = []
    for size in rng.integers(1, 15, 300):
        grades = rng.integers(0, highest + 1, size) * (rng.random(size) < 0.6)
        grades[rng.integers(size)] = 1
        lists.append((grades.astype(int).tolist(), rng.integers(0, 5, size).astype(float).tolist()))
    return lists


def by_name(values):
    return {f"d{index:02}": value for index, value in enumerate(values)}


def test_pytrec_eval_breaks_ties_by_name_from_the_last():
    pytrec_eval = pytest.importorskip("pytrec_eval")
    lists = random_lists(highest=3)
    wanted = {"map", "map_cut.4", "P.4", "recall.4", "Rprec", "recip_rank", "ndcg", "ndcg_cut.4"}
    evaluator = pytrec_eval.RelevanceEvaluator({str(q): by_name(grades) for q, (grades, _) in enumerate(lists)}, wanted)
    found = evaluator.evaluate({str(q): by_name(scores) for q, (_, scores) in enumerate(lists)})
    for query, (grades, scores) in enumerate(lists):
        order = sorted(range(len(grades)), key=lambda item: (scores[item], item), reverse=True)
        for theirs, ours in PYTREC_EVAL.items():
            value = SERVED[ours]([grades[item] for item in order])
            assert value == pytest.approx(found[str(query)][theirs], rel=1e-12, abs=1e-15), (query, ours)


def test_ranx_takes_lists_as_they_are_served():
    ranx = pytest.importorskip("ranx")
    lists = random_lists(highest=3)
    qrels = {f"{q:03}": {d: g for d, g in by_name(grades).items() if g} for q, (grades, _) in enumerate(lists)}
    run = {f"{q:03}": by_name([-float(place) for place in range(len(grades))]) for q, (grades, _) in enumerate(lists)}
    found = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), list(RANX), return_mean=False)
    for theirs, ours in RANX.items():
        values = [SERVED[ours](grades) for grades, _ in lists]
        assert values == pytest.approx(list(found[theirs]), rel=1e-9, abs=1e-12), ours


def test_ranx_drops_grades_below_one_and_kgeval_does_not():
    ranx = pytest.importorskip("ranx")
    qrels, run = {"q": {"a": 0.5, "b": 1.0}}, {"q": {"a": 2.0, "b": 1.0}}
    assert ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), "mrr") == 0.5
    assert METRICS["first-rr"](ranked([0.5, 1.0])) == 1


def test_scikit_learn_takes_a_tied_block_as_one_threshold():
    from sklearn.metrics import average_precision_score

    relevance, scores = [1, 0, 0, 1], [2, 2, 1, 0]
    assert average_precision_score(relevance, scores) == 0.5
    assert average_precision(relevance, scores) == pytest.approx(((1 + 2 / 4) / 2 + (1 / 2 + 2 / 4) / 2) / 2)


def test_what_others_call_zero_is_undefined():
    pytrec_eval = pytest.importorskip("pytrec_eval")
    nothing = pytrec_eval.RelevanceEvaluator({"q": {"a": 0}}, {"map"}).evaluate({"q": {"a": 1.0}})
    assert nothing["q"]["map"] == 0
    with pytest.raises(Undefined, match="nothing in the list is relevant"):
        average_precision([0], [1.0])
