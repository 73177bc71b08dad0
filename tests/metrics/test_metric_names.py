"""Metric names: what they mean, and how a wrong one is explained."""

from __future__ import annotations

from typing import get_args

import pytest

from kgeval.base.errors import MetricError
from kgeval.metrics.averages import AVERAGES, Average
from kgeval.metrics.metric import metrics
from kgeval.metrics.names import parse


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("mrr", "mrr"),
        ("MRR", "mrr"),
        ("head.hits@10", "head.hits@10"),
        ("both.pessimistic.hits@1", "both.pessimistic.hits@1"),
        ("expected.mr", "expected.mr"),
        ("both.realistic.hits_at_10", "both.realistic.hits@10"),
        ("inverse_harmonic_mean_rank", "mrr"),
        ("tail.optimistic.arithmetic_mean_rank", "tail.optimistic.mr"),
        ("adjusted_arithmetic_mean_rank_index", "amri"),
        ("hits@137", "hits@137"),
        ("hits_at_k", "hits@10"),
        ("z_hits_at_5", "z-hits@5"),
        ("strat-mrr", "strat.mrr"),
        ("head.expected.strat-hits@3", "head.expected.strat.hits@3"),
        ("both.random.macro.mrr", "both.random.macro.mrr"),
        ("micro.mrr", "mrr"),
        ("macro.map", "map"),
        ("micro.map@5", "micro.map@5"),
        ("expected.ndcg", "ndcg"),
        ("relation.ndcg@10", "relation.ndcg@10"),
        ("AP@10", "map@10"),
        ("precision_at_5", "p@5"),
        ("median_absolute_deviation", "mad"),
        ("ndcg-original@10", "ndcg-original@10"),
        ("NDCG-ln", "ndcg-ln"),
        ("head.relation.dcg-exp-log1.5@3", "head.relation.dcg-exp-log1.5@3"),
        ("dcg-original10", "dcg-original10"),
        ("iprec@0.35", "iprec@0.35"),
        ("both.macro.iprec_at_recall_0.10", "both.iprec@0.10"),
        ("iprec@1.0", "iprec@1.0"),
        ("iprec@0", "iprec@0"),
        ("11pt_avg", "iprec"),
        ("map-capped@5", "map-capped@5"),
        ("tail.hits@10_50", "tail.hits@10_50"),
    ],
)
def test_names_and_synonyms(text, spelled):
    assert str(parse(text)) == spelled


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hits@x", "a whole number of at least 1, found 'x'"),
        ("mrr@5", "mrr has no cut-off"),
        ("haed.mrr", r"unexpected 'haed'. Did you mean 'head'\?"),
        ("realistic.head.mrr", r"unexpected 'head'. Names are \[side.\]\[ties.\]"),
        ("head.tail.mrr", "unexpected 'tail'. Names are"),
        ("relation_side.head.mrr", "unexpected 'head'. Names are"),
        ("macor.mrr", "Did you mean 'macro'"),
        ("pessimistic.map", "map is averaged over ties exactly; leave 'pessimistic' out"),
        ("strat.map", "strat weighs answers; map has one value for each query"),
        ("macro.count", "count is not a mean; leave 'macro' out"),
        ("precision", "precision needs a cut-off"),
        ("map@0", "needs a cut-off, a whole number of at least 1, found '0'"),
        ("hits@9999999999999999999", "less than 10¹⁸, found '9999999999999999999'"),
        ("nope", "unknown metric 'nope'. 'kgeval list metrics' shows all"),
        ("accuracy", "is computed from labels, not from ranks"),
        ("head.rmse", "is computed from confidences, not from ranks"),
        ("auc@3", "has no cut-off"),
        ("dcg-log1@3", "unknown discount 'log1'. Use log2"),
        ("dcg-log", "unknown discount 'log'"),
        ("ndcg-original1.2.3", "unknown discount 'original1.2.3'"),
        ("ndcg-jarvelin", "unknown metric 'ndcg-jarvelin'"),
        ("ndcg-ln@0", "ndcg-ln needs a cut-off, a whole number of at least 1, found '0'. Write 'ndcg-ln@10'"),
        ("map-capped", "map-capped needs a cut-off"),
        ("iprec@10", r"iprec@R needs a recall from 0 to 1. Write 'iprec@0.1'"),
        ("iprec@-.1", "iprec@R needs a recall from 0 to 1"),
        ("pessimistic.iprec@.5", "iprec@.5 is averaged over ties exactly"),
    ],
)
def test_a_wrong_name_is_explained(text, message):
    """Beside those that ``kgeval summarize`` refuses in tests/contracts/frozen/refusals.json, word by word."""
    with pytest.raises(MetricError, match=message):
        parse(text)


def test_a_name_with_a_discount_or_a_recall_is_one_metric():
    assert parse("iprec@0.10") == parse("iprec_at_recall_0.10")
    assert parse("dcg-ln@3").metric is parse("head.dcg-ln").metric
    assert parse("graded-ndcg-original@3", "confidences").metric.shape == "graded-ndcg-DISCOUNT"
    spelled = "both.dcg-exp-log1.5@3"
    assert parse(str(parse(spelled))) == parse(spelled)


def test_no_spelling_is_given_twice():
    spelled = [name for metric in metrics().values() for name in metric.spellings()]
    assert len(spelled) == len(set(spelled))


@pytest.mark.parametrize("name", metrics())
def test_every_spelling_is_read_back(name):
    for spelled in metrics()[name].spellings():
        assert parse(spelled.replace("{k}", "7")).name == name


def test_the_type_names_the_averages_that_are_declared():
    assert get_args(Average) == AVERAGES
