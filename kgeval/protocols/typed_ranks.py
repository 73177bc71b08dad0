"""Typed ranks: the first phase of a sample, ranked among the entities of the right type, which costs little."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kgeval.arrays import IntArray
from kgeval.corruption import AllEntities
from kgeval.corruption.typed import TypeConstrained
from kgeval.metrics.estimates.auxiliary_values import auxiliary_values
from kgeval.metrics.estimates.sampling import TYPED, Sampling
from kgeval.metrics.estimates.strata import Strata
from kgeval.metrics.numerics.numbered import numbered
from kgeval.progress import unreported
from kgeval.protocols.growing_ranks import GrowingRanks, row_keys
from kgeval.ranking.model_ranking import ModelRanking
from kgeval.ranking.rank_table import RankTable

GATHERED = 8
"""about how many candidates of a full rank take the time of one that is gathered by its type"""


@dataclass(frozen=True, eq=False)
class TypedRanks:
    """The ranks of the first triples of an order among the entities that their relations take in train."""

    ranks: GrowingRanks
    cost: float
    """the work of a rank, where one among all entities is 1; counted, not timed, so that every machine has the same"""

    @classmethod
    def of(cls, ranking: ModelRanking, order: IntArray) -> TypedRanks | None:
        """Prepare them; ``None`` where candidates are not all entities, or no triples show the types."""
        types, dataset, evaluation = TypeConstrained(), ranking.dataset, ranking.evaluation
        if not isinstance(evaluation.corruption, AllEntities) or not set(types.learns_from) & set(dataset.splits):
            return None
        prepared = types.prepare(dataset)
        content, relations = prepared.content(dataset), dataset.split(evaluation.split).ids[order, 1]
        size = np.mean([content[side].lengths[relations].mean() for side in ranking.sides])
        among_typed = replace(
            ranking,
            evaluation=evaluation.model_copy(update={"corruption": prepared}),
            engine=replace(ranking.engine, progress=unreported),
        )
        return cls(GrowingRanks(among_typed, order), float(GATHERED * size / len(dataset.entities)))

    def columns(self, table: RankTable) -> dict[str, IntArray]:
        """Return the counts of the rows of a sample; int64[row] each."""
        keys, greater, tied = self.ranks.counts()
        places = np.searchsorted(keys, row_keys(table.column("triple"), table.column("side") == "tail"))
        return dict(zip(TYPED, (greater[places], tied[places]), strict=True))

    def add_first_phase(self, sampling: Sampling, rows: IntArray, strata: Strata) -> Sampling:
        """Add the counts and means of the first phase to what is known of a sample.

        Parameters
        ----------
        sampling
            of the sample
        rows
            the rows of the split that have strata, ascending; int64[triple]
        strata
            those of these rows
        """
        keys, greater, tied = self.ranks.counts()
        triples, units = numbered(keys // 2)
        values = auxiliary_values(units, greater, tied)
        ids = strata.ids[np.searchsorted(rows, triples)]
        counts = np.bincount(ids, minlength=len(strata.sizes))
        sums = np.stack([np.bincount(ids, value, minlength=len(counts)) for value in values.T], axis=1)
        means = tuple(map(tuple, (sums / counts[:, None]).tolist()))
        return replace(sampling, typed_counts=tuple(counts.tolist()), typed_means=means)
