"""Typed ranks: the first phase of a sample, ranked among the entities of the right type, which costs little."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.arrays import BoolArray, IntArray
from kgeval.corruption import AllEntities
from kgeval.corruption.unsampled import TypeConstrained
from kgeval.data.triples import Side
from kgeval.metrics.averages import numbered
from kgeval.metrics.intervals.estimate import STRATUM, TYPED, Sampling
from kgeval.metrics.intervals.stratified_sample import Strata, auxiliary_values
from kgeval.progress import unreported
from kgeval.ranking.model_ranking import ModelRanking
from kgeval.ranking.rank_table import RankTable
from kgeval.ranking.table_rows import MULTIPLICITY, RankedPart


@dataclass(eq=False)
class GrowingRanks:
    """The ranks of the first ``size`` triples of an order, on all sides."""

    ranking: ModelRanking
    order: IntArray
    """int64[triple], rows of the split"""
    earlier: RankTable | None = None
    """ranks that were computed before, and are taken from there"""
    parts: list[RankedPart] = field(default_factory=list)
    size: int = 0

    def grow(self, size: int) -> None:
        """Rank the triples up to another size, if that is larger."""
        rows = self.order[self.size : size]
        self.size += len(rows)
        for side in self.ranking.sides if len(rows) else ():
            missing = rows
            if self.earlier is not None:
                self.parts.append(self._from_earlier(self.earlier, side, rows))
                missing = np.setdiff1d(rows, self.parts[-1].data["triple"].to_numpy())
            if len(missing):
                self.parts.append(self.ranking.part(side, missing))

    def _from_earlier(self, earlier: RankTable, side: Side, rows: IntArray) -> RankedPart:
        added = {MULTIPLICITY, STRATUM, *TYPED}
        data = earlier.data.select([name for name in earlier.columns if name not in added])
        data = data.filter(
            pc.and_(pc.equal(data["side"].cast(pa.string()), side), pc.is_in(data["triple"], pa.array(rows)))
        )
        return RankedPart(side, data, (), np.full(data.num_rows, len(self.ranking.dataset.entities)))

    def counts(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return the ascending :func:`row_keys`, and the greater and tied of these rows; int64[row] each."""
        data = pa.concat_tables([part.data.select(["triple", "side", "greater", "tied"]) for part in self.parts])
        triples, greater, tied = (data[name].to_numpy() for name in ("triple", "greater", "tied"))
        keys = row_keys(triples, np.asarray(pc.equal(data["side"].cast(pa.string()), "tail"), np.bool_))
        order = np.argsort(keys)
        return keys[order], greater[order], tied[order]


def row_keys(triples: IntArray, tails: BoolArray) -> IntArray:
    """Number the rows of a rank table by triple and side; int64[row]."""
    return np.asarray(2 * triples + tails, np.int64)


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
        """Add the counts and means of the first phase; ``rows`` (ascending; int64[triple]) have ``strata``."""
        keys, greater, tied = self.ranks.counts()
        triples, units = numbered(keys // 2)
        values = auxiliary_values(units, greater, tied)
        ids = strata.ids[np.searchsorted(rows, triples)]
        counts = np.bincount(ids, minlength=len(strata.sizes))
        sums = np.stack([np.bincount(ids, value, minlength=len(counts)) for value in values.T], axis=1)
        means = tuple(map(tuple, (sums / counts[:, None]).tolist()))
        return replace(sampling, typed_counts=tuple(counts.tolist()), typed_means=means)
