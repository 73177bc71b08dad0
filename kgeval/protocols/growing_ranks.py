"""Growing ranks: those of the first triples of an order, of which more are ranked as more are needed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.arrays import BoolArray, IntArray
from kgeval.data.triples import Side
from kgeval.metrics.estimates.sampling import STRATUM, TYPED
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
        """Take ranks of some triples on one side, as far as the earlier table has them."""
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
    """Number the rows of a rank table by triple and side; int64[row].

    >>> row_keys(np.array([0, 0, 7]), np.array([False, True, True]))
    array([ 0,  1, 15])
    """
    return np.asarray(2 * triples + tails, np.int64)
