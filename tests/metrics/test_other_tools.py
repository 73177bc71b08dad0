"""scikit-learn and pytrec_eval on random lists, stored values of ranx, LensKit and others: the same numbers.

Their conventions are followed. ``other_tools/`` has the stored values, and the programs that made them.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgeval.metrics import average_precision, dcg, f1_at_k, ndcg, precision_at_k, recall_at_k
from kgeval.metrics.lists.ranked_lists import ranked
from kgeval.metrics.metric import Undefined
from kgeval.metrics.names import parse
from tests.metrics.example_ranks import METRICS

K = 4
RECALLS = [f"iprec@{level / 10:g}" for level in range(11)]
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
    **{name: lambda grades, name=name: parse(name)(ranked(grades)) for name in ("iprec", *RECALLS)},
}
PYTREC_EVAL = {
    "map": "map", "map_cut_4": "map@4", "P_4": "p@4", "recall_4": "r@4", "Rprec": "r-precision",
    "recip_rank": "first-rr", "ndcg": "ndcg", "ndcg_cut_4": "ndcg@4", "11pt_avg": "iprec",
    **{f"iprec_at_recall_{float(name[6:]):.2f}": name for name in RECALLS},
}  # fmt: skip
RANX = {
    "map": "map", "map@4": "map@4", "precision@4": "p@4", "recall@4": "r@4", "f1@4": "f1@4",
    "r-precision": "r-precision", "mrr": "first-rr", "ndcg@4": "ndcg@4", "ndcg_burges@4": "ndcg-exp@4",
}  # fmt: skip


CUT_OFF = {
    "map": lambda served, ideal: average_precision(served, relevant=len(ideal)),
    "map_cut_4": lambda served, ideal: average_precision(served, k=K, relevant=len(ideal)),
    "recall_4": lambda served, ideal: recall_at_k(served, k=K, relevant=len(ideal)),
    "set_recall": lambda served, ideal: recall_at_k(served, relevant=len(ideal)),
    "set_F": lambda served, ideal: f1_at_k(served, relevant=len(ideal)),
    "ndcg": lambda served, ideal: ndcg(served, ideal=ideal),
    "ndcg_cut_4": lambda served, ideal: ndcg(served, k=K, ideal=ideal),
}
"""pytrec_eval's metrics of a list that does not hold all relevant items"""


def items(*grades, least=1):
    """One list of (grade, score), with many ties."""
    return st.lists(st.tuples(st.sampled_from(grades), st.integers(-2, 3)), min_size=least, max_size=14)


def several(*grades):
    """Lists of (grade, score), each with something relevant by every tool's standards."""
    relevant = items(*grades).filter(lambda one: any(grade >= 1 for grade, _ in one))
    return st.lists(relevant, min_size=1, max_size=12)


def by_name(values):
    return {f"d{index:02}": value for index, value in enumerate(values)}


def numbered(lists):
    return {f"{number:03}": by_name(values) for number, values in enumerate(lists)}


@settings(max_examples=30, deadline=None)
@given(lists=several(0, 0, 1, 2, 3))
def test_pytrec_eval_breaks_ties_by_name_from_the_last(lists):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    wanted = {"map", "map_cut.4", "P.4", "recall.4", "Rprec", "recip_rank", "ndcg", "ndcg_cut.4"}
    wanted |= {"11pt_avg", "iprec_at_recall"}
    grades = numbered([[grade for grade, _ in one] for one in lists])
    scores = numbered([[float(score) for _, score in one] for one in lists])
    found = pytrec_eval.RelevanceEvaluator(grades, wanted).evaluate(scores)
    for query, one in zip(grades, lists, strict=True):
        served = [grade for _, _, grade in sorted(((s, row, g) for row, (g, s) in enumerate(one)), reverse=True)]
        for theirs, ours in PYTREC_EVAL.items():
            assert SERVED[ours](served) == pytest.approx(found[query][theirs], rel=1e-12, abs=1e-15), ours


@settings(max_examples=30, deadline=None)
@given(lists=several(0, 0, 1, 2, 3), length=st.integers(1, 14))
def test_lists_that_are_cut_off_are_divided_by_all_relevant_items(lists, length):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    wanted = {"map", "map_cut.4", "recall.4", "set_recall", "set_F", "ndcg", "ndcg_cut.4"}
    grades = [[grade for grade, _ in one] for one in lists]
    run = numbered([[-float(place) for place in range(len(one[:length]))] for one in grades])
    found = pytrec_eval.RelevanceEvaluator(numbered(grades), wanted).evaluate(run)
    for query, one in zip(run, grades, strict=True):
        ideal = [grade for grade in one if grade]
        for theirs, ours in CUT_OFF.items():
            assert ours(one[:length], ideal) == pytest.approx(found[query][theirs], rel=1e-12, abs=1e-15), theirs


def test_kgeval_keeps_grades_below_one():
    assert METRICS["first-rr"](ranked([0.5, 1.0])) == 1


@settings(max_examples=40, deadline=None)
@given(one=items(0, 0, 0.25, 1, 3, least=2), k=st.none() | st.integers(1, 16))
def test_scikit_learn_averages_gains_over_ties_too(one, k):
    """It has no exponential gain of its own: the gains are given to it as grades. It calls an irrelevant list 0."""
    from sklearn.metrics import dcg_score, ndcg_score

    grades, scores = map(list, zip(*one, strict=True))
    for gain, gains in (("linear", grades), ("exponential", [2.0**grade - 1 for grade in grades])):
        assert dcg(grades, scores, k=k, gain=gain) == pytest.approx(dcg_score([gains], [scores], k=k), rel=1e-11)
        if any(grades):
            theirs = ndcg_score([gains], [scores], k=k)
            assert ndcg(grades, scores, k=k, gain=gain) == pytest.approx(theirs, rel=1e-11)


@settings(max_examples=40, deadline=None)
@given(one=items(0, 1), sharp=st.booleans())
def test_scikit_learn_takes_a_tied_block_as_one_threshold(one, sharp):
    """Its average precision is then Σ (recall gained) · (precision at the end of the block), in kgeval's P and R."""
    from sklearn.metrics import average_precision_score

    relevance, scores = map(list, zip(*one, strict=True))
    scores = list(range(len(one), 0, -1)) if sharp else scores
    if not any(relevance):
        with pytest.raises(Undefined, match="nothing in the list is relevant"):
            average_precision(relevance, scores)
        return
    theirs = average_precision_score(relevance, scores)
    if len(set(scores)) == len(scores):
        assert average_precision(relevance, scores) == pytest.approx(theirs, rel=1e-11)
    ends = [0, *(sum(score >= level for score in scores) for level in sorted(set(scores), reverse=True))]
    recalls = [0.0, *(recall_at_k(relevance, scores, k=end) for end in ends[1:])]
    steps = [precision_at_k(relevance, scores, k=end) for end in ends[1:]] * np.diff(recalls)
    assert steps.sum() == pytest.approx(theirs, rel=1e-11)


@settings(max_examples=40, deadline=None)
@given(one=items(0, 1, 2))
def test_scikit_learn_counts_tied_pairs_half_too(one):
    """The area of one list; where all or nothing is relevant, scikit-learn has NaN and kgeval leaves the list out."""
    from sklearn.metrics import roc_auc_score

    grades, scores = map(list, zip(*one, strict=True))
    relevance = [grade > 0 for grade in grades]
    if len(set(relevance)) == 2:
        assert METRICS["auc"](ranked(grades, scores)) == pytest.approx(roc_auc_score(relevance, scores), rel=1e-11)
    else:
        with pytest.raises(Undefined, match="no lists for which it is defined"):
            METRICS["auc"](ranked(grades, scores))


STORED = {path.stem: json.loads(path.read_text()) for path in (Path(__file__).parent / "other_tools").glob("*.json")}


@pytest.mark.parametrize("record", STORED["lenskit"]["records"], ids=lambda record: record["note"])
def test_lenskit_discounts_as_the_original_does(record):
    """What it calls NaN has no relevant item."""
    relevance, ideal, k = record["relevance"], record["ideal"], record["k"]
    if record["ndcg"] is None:
        with pytest.raises(Undefined):
            ndcg(relevance, k=k, discount="original")
        return
    assert ndcg(relevance, k=k, ideal=ideal, discount="original") == pytest.approx(record["ndcg"], rel=1e-12)
    k = k or len(relevance) or 1  # an empty list counts 0 where k is given
    assert dcg(relevance, k=k, discount="original") == pytest.approx(record["dcg"], rel=1e-12)


def test_ranx_takes_lists_as_they_are_served_and_drops_grades_below_one():
    """Lists that are cut off are divided by all relevant items, as in nDCG without a cutoff."""
    for record in STORED["ranx"]["records"]:
        grades = [grade if grade >= 1 else 0 for grade in record["grades"]]
        served = grades[: record["served"]]
        for theirs, gain in (("ndcg", "linear"), ("ndcg_burges", "exponential")):
            assert ndcg(served, ideal=grades, gain=gain) == pytest.approx(record[theirs], rel=1e-9), record
        for theirs, ours in RANX.items() if served == grades else ():
            assert SERVED[ours](grades) == pytest.approx(record[theirs], rel=1e-9, abs=1e-12), (ours, record)


@pytest.mark.parametrize("record", STORED["pyg"]["records"], ids=str)
def test_pyg_divides_average_precision_by_k_or_all_relevant_items(record):
    """Of a query without relevant items it leaves the value out; the stored one is its numerator."""
    relevance, m, k = record["relevance"], record["m"], record["k"]
    if m:
        capped = METRICS["map-capped"](ranked(relevance, relevant=m), k=k)
        assert capped == pytest.approx(record["value"], rel=1e-9)
        assert average_precision(relevance, k=k, relevant=m) * m / min(k, m) == pytest.approx(capped, rel=1e-12)


def test_recbole_divides_average_precision_by_k_or_all_relevant_items():
    """tests/metrics/test_topk_metrics.py of RecBole 1.2.1: hits at the places, relevant items, MAP at 1, 2, 3."""
    hits, m = [[0, 0, 0], [1, 1, 1], [1, 0, 1], [0, 0, 1]], [1, 3, 4, 2]
    theirs = [[0, 0, 0], [1, 1, 1], [1, 1 / 2, 5 / 9], [0, 0, 1 / 6]]
    for served, relevant, expected in zip(hits, m, theirs, strict=True):
        lists = ranked(served, relevant=relevant)
        assert [METRICS["map-capped"](lists, k=k) for k in (1, 2, 3)] == pytest.approx(expected)


def test_spark_divides_average_precision_by_k_or_all_relevant_items():
    """RankingMetricsSuite of Spark 3.4, to its five digits; a query without relevant items counts 0 there."""
    asked = [
        ([1, 6, 2, 7, 8, 3, 9, 10, 4, 5], {1, 2, 3, 4, 5}),
        ([4, 1, 5, 6, 2, 7, 3, 8, 9, 10], {1, 2, 3}),
        ([1, 2, 3, 4, 5], set()),
    ]
    lists = [ranked([item in known for item in items], relevant=len(known)) for items, known in asked if known]
    for k, expected in ((1, 0.333334), (2, 0.25), (3, 0.24074)):
        found = sum(METRICS["map-capped"](one, k=k) for one in lists) / len(asked)
        assert found == pytest.approx(expected, abs=1e-5)
    assert sum(METRICS["map"](one) for one in lists) / len(asked) == pytest.approx(0.355026, abs=1e-5)
