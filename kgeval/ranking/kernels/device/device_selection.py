"""Selection on a device: the best of a chunk of entities for a block of queries, down to a few canonical scores.

The screen's highest scores are taken in float64; the last of their lower bounds is a threshold that as many candidates
reach for certain. Whoever cannot reach it, by the screen or in float64, is discarded. What is left, a few for each
place and whoever may tie with the last, is scored canonically on the host.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from kgeval.arrays import IntArray
from kgeval.data.rows import Rows
from kgeval.ranking.kernels.best_selection import best_arrays, merge_rows
from kgeval.ranking.kernels.collectors import BestAnswers, within
from kgeval.ranking.kernels.device.comparison import (
    BYTES_PER_PAIR,
    CandidateSide,
    answer_side,
    candidate_side,
    half_widths,
    screen_scores,
    unscaling,
)
from kgeval.ranking.kernels.device.device_pairs import Block
from kgeval.ranking.kernels.device.device_vectors import to_device
from kgeval.threads import parallel_for, slices

MERGED = 256
"""queries whose candidates a thread merges at a time"""


@dataclass(frozen=True, eq=False)
class BlockSelection:
    """The selection for one block of queries from one chunk of entities."""

    block: Block
    first: int
    """the position of the chunk's first entity"""
    best: BestAnswers
    """the best of the block's queries, into which the chunk is merged"""

    def select(self) -> None:
        """Merge the best of the chunk, some queries at a time."""
        queries, chunk = self.block.host
        candidates, width = candidate_side(queries.similarity, self.block.entities), len(chunk.biases)
        for part in slices(len(queries.vectors), max(1, self.block.memory // (BYTES_PER_PAIR * max(width, 1)))):
            self._select_rows(part, candidates)

    def _select_rows(self, part: slice, candidates: CandidateSide) -> None:
        queries, entities, similarity = self.block.queries, self.block.entities, self.block.host[0].similarity
        device = candidates.added.device
        owners = torch.arange(part.start, part.stop, device=device)
        scale = unscaling(similarity, queries.scales[part], entities)
        scores = screen_scores(similarity, queries.rounded[part], entities.rounded, scale, candidates.added)
        known = within(self.best.known[part], self.first, len(self.block.host[1].biases))
        left_out = to_device(known.owners, device), to_device(known.ids, device)
        if self.best.drops_known:
            scores[left_out] = -torch.inf
        thresholds = self._thresholds(owners, scores, to_device(self.best.scores[part], device))
        side = answer_side(similarity, queries, entities, (thresholds, thresholds), owners)
        # NaN may reach it: so is what stands against a threshold of minus infinity.
        reaching = ~(scores.sub_(side.middle[:, None]) < half_widths(side, candidates).neg_())
        if self.best.drops_known:
            reaching[left_out] = False
        rows, places = reaching.nonzero(as_tuple=True)
        kept = ~(self.block.bounds(owners[rows], places).highs < thresholds[rows])
        self._merge(owners[rows[kept]].cpu().numpy(), places[kept].cpu().numpy())

    def _thresholds(self, owners: Any, scores: Any, held: Any) -> Any:
        """For each query, find a score that as many candidates as there are places reach; −∞ where there are too few.

        The candidates with the highest screened scores (float32[query, entity]) vouch for it, and the best so far
        (``held``, float64[query, place]).
        """
        places = held.shape[1]
        highest = scores.topk(min(places, scores.shape[1]), dim=1)
        shape = highest.indices.shape
        lows = self.block.bounds(owners[:, None].expand(shape).ravel(), highest.indices.ravel()).lows.view(shape)
        lows = torch.where(highest.values == -torch.inf, -torch.inf, lows)
        return torch.cat([lows, held], dim=1).topk(places, dim=1).values[:, -1]

    def _merge(self, owners: IntArray, places: IntArray) -> None:
        """Score candidates canonically, and merge them; int64[pair] each, by query and place."""
        queries, chunk = self.block.host
        self.block.effort[1] += len(owners)
        own = Rows.sized(np.bincount(owners, minlength=len(queries.vectors)), places)
        scores, arrays = self.block.canonical(queries, chunk, own), best_arrays(self.best)
        parallel_for(
            lambda part: merge_rows(part.start, part.stop, own.offsets, scores, own.ids + self.first, arrays),
            len(queries.vectors),
            MERGED,
        )
