"""Whole-graph scorers: ranks by brute force, few queries a call, modules left as they were, memory that is lacking."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from kgeval import QueryScorer, evaluate
from kgeval.base.errors import CheckpointError, InputError, ScoreError
from kgeval.models.adapters.calling import ShrinkingBatches
from kgeval.ranking.corruption import Uniform
from tests.brute_force import as_counts, brute_force
from tests.conftest import random_dataset

DATA = random_dataset(10)
SCORES = {side: np.random.default_rng(place).integers(0, 9, (30, 4, 30)) for place, side in enumerate(("head", "tail"))}
"""of each anchor, relation and entity; so few values that many tie"""


def on_arrays(anchors, relations, side):
    return SCORES[side][anchors, relations]


def truth(side):
    def score(h, r, t):
        anchor, answer = (h, t) if side == "tail" else (t, h)
        return SCORES[side][anchor, r, answer]

    return score


EXPECTED = {side: brute_force(truth(side), DATA, sides=(side,)) for side in ("head", "tail")}
BOTH = EXPECTED["head"] | EXPECTED["tail"]


class Network(nn.Module):
    """Scores as a network of messages does: all entities at once, of the few queries that are in hand."""

    def __init__(self):
        super().__init__()
        self.register_buffer("head", torch.from_numpy(SCORES["head"]).float())
        self.register_buffer("tail", torch.from_numpy(SCORES["tail"]).float())
        self.dropout = nn.Dropout(0.5)

    def forward(self, anchors, relations, side):
        assert anchors.dtype == relations.dtype == torch.long
        return self.dropout(getattr(self, side)[anchors, relations])


def test_ranks_are_those_of_brute_force_and_a_module_is_left_as_it_was():
    model = Network()
    for function in (on_arrays, model):
        assert as_counts(evaluate(QueryScorer(function), DATA)) == BOTH
    assert all(part.training for part in model.modules())


@pytest.mark.parametrize("side", ["head", "tail"])
def test_a_side_may_be_all_that_it_answers(side):
    table = evaluate(QueryScorer(on_arrays, sides=side), DATA)
    assert as_counts(table) == EXPECTED[side]
    assert f"the model predicts {side}s only." in table.notes
    with pytest.raises(InputError, match=f"the model predicts {side}s only. Evaluate sides="):
        evaluate(QueryScorer(on_arrays, sides=side), DATA, sides=("head", "tail"))


def test_each_query_is_asked_once_in_batches_of_at_most_that_many():
    calls = []

    def watched(anchors, relations, side):
        calls.append([(side, *pair) for pair in zip(anchors.tolist(), relations.tolist(), strict=True)])
        return on_arrays(anchors, relations, side)

    scorer = QueryScorer(watched, 30, 4, batch_size=5)
    evaluate(scorer, DATA, kernel="reference")
    assert max(map(len, calls)) == 5
    looked_twice = {query for call in calls for query in call}
    assert looked_twice == {q for h, r, t in DATA.test.ids.tolist() for q in (("head", t, r), ("tail", h, r))}


def test_sampled_candidates_are_taken_from_all():
    few = evaluate(QueryScorer(on_arrays), DATA, corruption=Uniform(count=7, seed=1))
    plain = evaluate(lambda h, r, t: SCORES["tail"][h, r, t], DATA, corruption=Uniform(count=7, seed=1), sides="tail")
    assert as_counts(few.where(few.column("side") == "tail")) == as_counts(plain)


def test_ids_of_its_own_are_matched_by_label():
    order = np.random.default_rng(3).permutation(30)
    own = {side: scores[order][:, :, order] for side, scores in SCORES.items()}
    labels = [DATA.entities[int(index)] for index in order]
    scorer = QueryScorer(lambda a, r, side: own[side][a, r], entities=labels, relations=DATA.relations)
    assert as_counts(evaluate(scorer, DATA)) == BOTH
    bare = QueryScorer(lambda a, r, side: own[side][a, r])
    assert as_counts(evaluate(bare, DATA, entities=labels, relations=DATA.relations)) == BOTH


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda pairs: pairs, InputError, r"<lambda>\(pairs\) cannot be called as f\(anchors, relations, side\)"),
        (
            lambda a, r, side: on_arrays(a, r, side)[:, :7],
            ScoreError,
            r"shape \(\d, 7\) for \d queries; expected \(\d, 30\)",
        ),
        (lambda a, r, side: a + {}, ScoreError, r"fails as f\(anchors, relations, side\), with ids"),
    ],
    ids=["arguments", "shape", "failure"],
)
def test_other_functions_are_refused(function, error, message):
    with pytest.raises(error, match=message):
        evaluate(QueryScorer(function), DATA)


def test_other_settings_are_refused():
    with pytest.raises(InputError, match=r"unknown side 'tails'. Did you mean 'tail'"):
        QueryScorer(on_arrays, sides="tails")
    with pytest.raises(InputError, match="batch_size: expected how many queries"):
        QueryScorer(on_arrays, batch_size=0)
    with pytest.raises(CheckpointError, match="the model has 31 entity ids and no labels, dataset random has 30"):
        evaluate(QueryScorer(on_arrays, 31), DATA)


LACKS = [
    MemoryError("Unable to allocate 9 GiB"),
    torch.cuda.OutOfMemoryError("CUDA out of memory"),
    RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."),
]


@pytest.mark.parametrize("lack", LACKS, ids=lambda error: type(error).__name__)
def test_batches_of_queries_and_of_triples_shrink_until_they_fit(lack):
    sizes = []

    class Greedy(Network):
        def forward(self, anchors, relations, side):
            sizes.append(len(anchors))
            if len(anchors) > 4:
                raise lack
            return super().forward(anchors, relations, side)

    table = evaluate(QueryScorer(Greedy(), batch_size=19), DATA)
    assert as_counts(table) == BOTH
    assert [size for size in sizes if size > 4][-1] < 19

    def few_triples(h, r, t):
        if len(h) > 100:
            raise lack
        return SCORES["tail"][h, r, t]

    assert as_counts(evaluate(few_triples, DATA, sides="tail")) == EXPECTED["tail"]


def test_what_fits_in_no_batch_fails_as_it_does():
    def hopeless(anchors, relations, side):
        raise MemoryError("never")

    with pytest.raises(MemoryError, match="never"):
        evaluate(QueryScorer(hopeless), DATA)


def test_every_row_is_computed_once_and_in_order():
    def rows(part):
        if part.stop - part.start > 3:
            raise MemoryError
        return list(range(part.start, part.stop))

    for size in range(1, 12):
        assert [row for part in ShrinkingBatches(size).compute(rows, 11) for row in part] == list(range(11))
