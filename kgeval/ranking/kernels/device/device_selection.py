"""Selection on a device: the best of a chunk of entities for a block of queries, down to a few canonical scores.

The screen's highest scores are taken in float64; the last of their lower bounds is a threshold that as many candidates
reach for certain. Whoever cannot reach it, by the screen or in float64, is discarded. What is left, a few for each
place and whoever may tie with the last, is scored canonically on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from kgeval.arrays import Float64Array, IntArray
from kgeval.ranking.kernels.best_selection import best_arrays, merge_rows
from kgeval.ranking.kernels.collectors import BestAnswers
from kgeval.ranking.kernels.device.band import CandidateSide, answer_side, candidate_side, unscaling
from kgeval.ranking.kernels.device.device_counting import CANONICAL_NUMBERS
from kgeval.ranking.kernels.device.device_pairs import Bounds, score_pairs
from kgeval.ranking.kernels.device.device_vectors import DeviceVectors, to_device
from kgeval.ranking.kernels.device.plain_comparison import BYTES_PER_PAIR, half_widths, screen_scores
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.threads import parallel_for, slices

MERGED = 256
"""queries whose candidates a thread merges at a time"""


@dataclass(eq=False)
class BlockSelection:
    """The selection for one block of queries from one chunk of entities."""

    host: tuple[QueryVectors, EntityVectors]
    """the block and the chunk, for canonical scores"""
    queries: DeviceVectors
    entities: DeviceVectors
    first: int
    """the position of the chunk's first entity"""
    best: BestAnswers
    """the best of the block's queries, into which the chunk is merged"""
    canonical: Callable[[QueryVectors, EntityVectors, IntArray], Float64Array]
    """canonical scores of entities that are laid out query by query; int64[query + 1] are the offsets"""
    memory: int
    """bytes that its arrays may take"""
    effort: IntArray = field(default_factory=lambda: np.zeros(2, np.int64))
    """int64[2], how many pairs were scored in float64, and canonically"""

    def select(self) -> None:
        """Merge the best of the chunk, some queries at a time."""
        candidates = candidate_side(self.host[0].similarity, self.entities)
        width, total = len(self.host[1].biases), len(self.host[0].vectors)
        for part in slices(total, max(1, self.memory // (BYTES_PER_PAIR * max(width, 1)))):
            self._select_rows(part, candidates)

    def _select_rows(self, part: slice, candidates: CandidateSide) -> None:
        similarity, owners = (
            self.host[0].similarity,
            torch.arange(part.start, part.stop, device=candidates.added.device),
        )
        scale = unscaling(similarity, self.queries.scales[part], self.entities)
        rounded = self.queries.rounded[part], self.entities.rounded
        scores = screen_scores(similarity, *rounded, scale, candidates.added)
        left_out = self._known(part)
        scores[left_out] = -torch.inf
        thresholds = self._thresholds(owners, scores, to_device(self.best.scores[part], scores.device))
        side = answer_side(similarity, self.queries, self.entities, thresholds, owners)
        # NaN may reach it: so is what stands against a threshold of minus infinity.
        reaching = ~(scores.sub_(side.middle[:, None]) < half_widths(side, candidates).neg_())
        reaching[left_out] = False
        rows, places = reaching.nonzero(as_tuple=True)
        kept = ~(self._bounds(owners[rows], places).highs < thresholds[rows])
        self._merge(owners[rows[kept]].cpu().numpy(), places[kept].cpu().numpy())

    def _known(self, part: slice) -> tuple[Any, Any]:
        """Find the known answers in the chunk that are to be left out: their rows within the part, and columns."""
        known, width = self.best.known[part], len(self.host[1].biases)
        columns = known.ids - self.first
        inside = (columns >= 0) & (columns < width) & self.best.drops_known
        device = self.entities.added.device
        return to_device(known.owners[inside], device), to_device(columns[inside], device)

    def _thresholds(self, owners: Any, scores: Any, held: Any) -> Any:
        """For each query, find a score that as many candidates as there are places reach; −∞ where there are too few.

        The candidates with the highest screened scores (float32[query, entity]) vouch for it, and the best so far
        (``held``, float64[query, place]).
        """
        places = held.shape[1]
        highest = scores.topk(min(places, scores.shape[1]), dim=1)
        shape = highest.indices.shape
        lows = self._bounds(owners[:, None].expand(shape).ravel(), highest.indices.ravel()).lows.view(shape)
        lows = torch.where(highest.values == -torch.inf, -torch.inf, lows)
        return torch.cat([lows, held], dim=1).topk(places, dim=1).values[:, -1]

    def _bounds(self, owners: Any, places: Any) -> Bounds:
        self.effort[0] += len(owners)
        similarity = self.host[0].similarity
        return score_pairs(similarity, self.queries, self.entities, owners, places, memory=self.memory)

    def _merge(self, owners: IntArray, places: IntArray) -> None:
        """Score candidates canonically, and merge them; int64[pair] each, by query and place."""
        queries, chunk = self.host
        self.effort[1] += len(owners)
        arrays, everyone = best_arrays(self.best), np.arange(len(queries.vectors) + 1)
        for part in slices(len(owners), max(1, CANONICAL_NUMBERS // max(queries.vectors.shape[1], 1))):
            mine = places[part]
            offsets = np.searchsorted(owners[part], everyone)
            scores = self.canonical(queries, chunk[mine], offsets)
            positions = mine + self.first
            parallel_for(
                lambda some: merge_rows(some.start, some.stop, offsets, scores, positions, arrays),  # noqa: B023
                len(queries.vectors),
                MERGED,
            )
