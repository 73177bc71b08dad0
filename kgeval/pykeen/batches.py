"""Batches of scores that PyKEEN has computed and filtered, counted into a rank table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from kgeval.base.errors import InputError, ScoreError
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.ranking.rank_table import SCHEMA, RankTable
from kgeval.ranking.table_rows import stack


@dataclass
class Batches:
    """The counts of the batches so far."""

    parts: list[pa.Table] = field(default_factory=list)
    """rank tables without labels"""
    num_triples: Counter[str] = field(default_factory=Counter)
    """the number of triples so far, by side"""

    def add(  # PyKEEN's batch
        self, triples: Any, target: str, scores: Any, true_scores: Any, mask: Any, *, filtered: bool
    ) -> None:
        """Count one batch of triples (long[triple, 3]) and scores (float[triple, entity], NaN where filtered).

        ``true_scores`` (float[triple, 1]) are None if they are among the scores; ``mask`` ([triple, entity]) is true
        where a candidate is filtered, or None. Only with ``filtered`` may NaN mark a candidate without a mask.
        """
        import torch

        ids, first = Triples.of(triples.cpu().numpy()).ids, self.num_triples[target]
        if true_scores is None:
            answers = triples[:, {"head": 0, "tail": 2}[target]].to(scores.device)
            true_scores = scores[torch.arange(len(ids), device=scores.device), answers, None]
        nan = torch.isnan(scores)
        _refuse_nan(ids, target, torch.isnan(true_scores[:, 0]), "the answer")
        if mask is not None or not filtered:
            unfiltered = nan if mask is None else nan & ~mask.bool().to(nan.device)
            _refuse_nan(ids, target, unfiltered.any(dim=1), "a candidate")
        greater, tied = (scores > true_scores).sum(dim=1), (scores == true_scores).sum(dim=1) - 1
        counts = [count.cpu().numpy() for count in (greater, tied, (~nan).sum(dim=1))]
        self.num_triples[target] += len(ids)
        columns = [
            np.arange(first, self.num_triples[target]),
            *np.ascontiguousarray(ids.T),
            pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(ids), np.int32)), [target]),
            true_scores[:, 0].cpu().double().numpy(),
            *counts,
            *counts,  # raw
        ]
        self.parts.append(pa.table(columns, pa.schema(list(SCHEMA)[: len(columns)])))

    def table(self) -> RankTable:
        if not self.parts:
            raise InputError("nothing to finalize: no batch was processed since the last evaluation.")
        data = stack(self.parts)
        sizes = [1 + max(np.max(data[name]) for name in names) for names in (("head", "tail"), ("relation",))]
        note = "PyKEEN passed scores that it had filtered itself: the raw counts are those of the filtered scores."
        return RankTable(with_labels(data, *map(Vocabulary.numbered, sizes)), notes=(note,))


def with_labels(data: pa.Table, entities: Vocabulary, relations: Vocabulary) -> pa.Table:
    """Label the ids of a rank table, in place of any labels that it has."""
    vocabularies = {"head": entities, "relation": relations, "tail": entities}
    labels = {f"{name}_label": vocabulary.column(data[name]) for name, vocabulary in vocabularies.items()}
    return pa.table({**{name: data[name] for name in data.column_names}, **labels})


def _refuse_nan(ids: Any, target: str, undefined: Any, what: str) -> None:
    if undefined.any():
        row = tuple(ids[int(undefined.nonzero()[0, 0])].tolist())
        raise ScoreError(f"the model's score of {what} is NaN for triple {row}, {target} side: a rank is undefined.")
