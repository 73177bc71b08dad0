"""Batches of scores that PyKEEN has computed and filtered, counted into a rank table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from kgeval.data.triples import Triples
from kgeval.errors import InputError, ScoreError
from kgeval.ranking.rank_table import SCHEMA, RankTable

COLUMN = {"head": 0, "tail": 2}

NOTE = "PyKEEN passed scores that it had filtered itself: the raw counts are those of the filtered scores."


@dataclass
class Batches:
    """The counts of the batches so far."""

    parts: list[pa.Table] = field(default_factory=list)
    num_triples: dict[str, int] = field(default_factory=dict)
    """the number of triples so far, by side"""

    def add(  # PyKEEN's batch
        self, triples: Any, target: str, scores: Any, true_scores: Any, mask: Any, *, filtered: bool
    ) -> None:
        """Count one batch of triples (long[triple, 3]) and scores (float[triple, entity], NaN where filtered).

        ``true_scores`` (float[triple, 1]) are None if they are among the scores; ``mask`` ([triple, entity]) is true
        where a candidate is filtered, or None. Only with ``filtered`` may NaN mark a candidate without a mask.
        """
        import torch

        rows, column = torch.arange(len(triples), device=scores.device), COLUMN[target]
        if true_scores is None:
            true_scores = scores[rows, triples[:, column].to(scores.device), None]
        nan = torch.isnan(scores)
        self._refuse_nan(triples, target, torch.isnan(true_scores[:, 0]), "the answer")
        unfiltered = nan & ~mask.bool().to(nan.device) if mask is not None else nan
        if mask is not None or not filtered:
            self._refuse_nan(triples, target, unfiltered.any(dim=1), "a candidate")
        greater, tied = (scores > true_scores).sum(dim=1), (scores == true_scores).sum(dim=1)
        counts = [greater, tied - 1, (~nan).sum(dim=1)]
        self.parts.append(self._table(triples, target, true_scores[:, 0], [count.cpu().numpy() for count in counts]))

    def table(self) -> RankTable:
        if not self.parts:
            raise InputError("there is nothing to finalize: no batch was processed since the last evaluation.")
        data = pa.concat_tables(self.parts).unify_dictionaries().combine_chunks()
        return RankTable(data, notes=(NOTE,))

    def _table(self, triples: Any, target: str, scores: Any, counts: list[Any]) -> pa.Table:
        ids = Triples.of(triples.cpu().numpy()).ids
        first = self.num_triples.get(target, 0)
        self.num_triples[target] = first + len(ids)
        names = ("greater", "tied", "candidates", "raw_greater", "raw_tied", "raw_candidates")
        columns = {
            "triple": np.arange(first, first + len(ids)),
            "head": ids[:, 0],
            "relation": ids[:, 1],
            "tail": ids[:, 2],
            "side": pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(ids), np.int32)), [target]),
            "score": scores.cpu().double().numpy(),
            **dict(zip(names, 2 * counts, strict=True)),
            **{f"{name}_label": _labels(ids[:, place]) for place, name in enumerate(("head", "relation", "tail"))},
        }
        return pa.table([columns[name] for name in SCHEMA.names], SCHEMA)

    def _refuse_nan(self, triples: Any, target: str, undefined: Any, what: str) -> None:
        if undefined.any():
            row = triples[int(undefined.nonzero()[0, 0])].tolist()
            raise ScoreError(
                f"the model's score of {what} is NaN for triple {tuple(row)}, {target} side: a rank is undefined."
            )


def _labels(ids: Any) -> pa.DictionaryArray:
    distinct, codes = np.unique(ids, return_inverse=True)
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), [str(index) for index in distinct])
