"""The other way in: PyKEEN scores and filters batch by batch, and the evaluator only counts."""

from __future__ import annotations

import pytest
import torch
from pykeen.evaluation import Evaluator, LCWAEvaluationLoop, RankBasedEvaluator

from kgeval.base.errors import InputError, ScoreError
from kgeval.data.provenance import Provenance
from kgeval.pykeen import KGEvalEvaluator
from tests.pykeen.conftest import assert_same_ranks, assert_same_values, run, theirs


@pytest.mark.parametrize("name", ["DistMult", "TransH"])
def test_the_evaluation_loop(graph, make, known, name):
    model, ours = make(name, embedding_dim=8), KGEvalEvaluator()
    found = {}
    for evaluator in (RankBasedEvaluator(), ours):
        loop = LCWAEvaluationLoop(
            triples_factory=graph.testing, model=model, evaluator=evaluator, additional_filter_triples=known
        )
        found[evaluator] = loop.evaluate(batch_size=37, use_tqdm=False, num_workers=0, pin_memory=False)
    expected, counted = found.values()
    assert_same_values(counted, expected)
    _, ranks = theirs(model, graph.testing.mapped_triples, additional_filter_triples=known)
    assert_same_ranks(ours.table, ranks)
    assert any("raw counts" in note for note in ours.table.notes)
    triples = len(graph.testing.mapped_triples)
    expected = Provenance("unknown", "unknown", "evaluated", triples, "standard", filter=None, candidates="unknown")
    assert ours.table.provenance == expected


@pytest.mark.parametrize("masked", [False, True])
def test_both_ways_in_give_the_same_ranks(graph, make, known, masked):
    model, triples = make("ComplEx", embedding_dim=4), graph.testing.mapped_triples
    evaluator = KGEvalEvaluator()
    _, whole = run(model, triples, evaluator, additional_filter_triples=known)
    evaluator.requires_positive_mask = masked
    Evaluator.evaluate(evaluator, model, triples, batch_size=50, additional_filter_triples=known, use_tqdm=False)
    columns = ["triple", "head", "relation", "tail", "side", "greater", "tied", "candidates"]
    frames = [table.to_pandas()[columns].astype({"side": str}) for table in (whole, evaluator.table)]
    one, other = (frame.sort_values(["side", "triple"]).reset_index(drop=True) for frame in frames)
    assert one.equals(other)


BATCH = torch.tensor([[0, 0, 1], [2, 0, 3]])


def test_the_raw_setting_looks_the_answers_up():
    evaluator = KGEvalEvaluator(filtered=False, add_defaults=False, metrics=["mrr"])
    evaluator.process_scores_(BATCH, "tail", torch.tensor([[0.1, 0.5, 0.5, 0.9], [0.4, 0.3, 0.2, 0.1]]))
    results = evaluator.finalize()
    assert evaluator.table.column("greater").tolist() == [1, 3]
    assert evaluator.table.column("tied").tolist() == [1, 0]
    assert results.get_metric("optimistic.mrr") == (1 / 2 + 1 / 4) / 2
    assert results.get_metric("both.expected.mrr") == pytest.approx(((1 / 2 + 1 / 3) / 2 + 1 / 4) / 2)


@pytest.mark.parametrize(
    ("scores", "true", "mask", "what"),
    [
        ([[0.1, float("nan")]], [[float("nan")]], None, "the answer"),
        ([[float("nan"), 0.5]], [[0.5]], [[False, False]], "a candidate"),
        ([[float("nan"), 0.5]], None, None, "a candidate"),
    ],
)
def test_scores_that_no_filter_made_undefined_are_refused(scores, true, mask, what):
    evaluator = KGEvalEvaluator(filtered=true is not None)
    tensors = [None if given is None else torch.tensor(given) for given in (true, mask)]
    with pytest.raises(ScoreError, match=rf"{what} is NaN for triple \(0, 0, 1\), tail side"):
        evaluator.process_scores_(BATCH[:1], "tail", torch.tensor(scores), *tensors)


def test_what_the_filter_took_out_is_no_candidate():
    evaluator = KGEvalEvaluator(add_defaults=False, metrics=["mrr"])
    evaluator.process_scores_(
        BATCH[:1], "tail", torch.tensor([[float("nan"), 0.5, 0.9]]), torch.tensor([[0.5]]), torch.tensor([[1, 0, 0]])
    )
    evaluator.finalize()
    assert (evaluator.table.column("candidates"), evaluator.table.column("greater")) == ([2], [1])


def test_nothing_is_no_result():
    with pytest.raises(InputError, match="no batch"):
        KGEvalEvaluator().finalize()
