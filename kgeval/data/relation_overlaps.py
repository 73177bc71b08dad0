"""Overlaps of relations: which relations share pairs (head, tail), as they are or with head and tail swapped.

The searches for leaks, audits of datasets and the baseline of rules call ``PairedFacts.of(…).shared(…)`` and
``.turned(…)``, which return ``Overlaps``: pairs of relations and their counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.data.queries import Rows, starts_of_runs
from kgeval.data.triples import Triples, find_sorted

MOST_COMPARED = 2**30
"""the most pairs of facts between the same two entities that are counted by their relations: some seconds"""

MOST_FOUND = 2**22
"""the most pairs of relations that overlap, which bounds memory"""

DENSE = 2**24
"""the most multiplications for which full matrices are used: to import scipy's sparse matrices takes longer"""

AT_ONCE = 2**23
"""how many pairs of relations, or of triples and related relations, are held at once: below a gigabyte"""


@dataclass(frozen=True, eq=False)
class PairedFacts:
    """Distinct triples, sorted by their two entities, then by direction and relation."""

    entities: int
    relations: int
    codes: IntArray
    """int64[fact], ascending: the lower entity, the higher one, the direction and the relation as one number"""
    at_once: int = AT_ONCE
    dense: int = DENSE

    @classmethod
    def of(cls, parts: Iterable[Triples], entities: int, relations: int) -> PairedFacts | None:
        """Sort the triples of some sets; None if there are too many entities and relations for facts below 2^63."""
        if 2 * entities**2 * relations > np.iinfo(np.int64).max:
            return None
        codes = np.concatenate([np.empty(0, np.int64), *(_code(part, entities, relations) for part in parts)])
        codes.sort()
        return cls(entities, relations, codes[starts_of_runs(codes)])

    def holds(self, triples: Triples) -> BoolArray:
        """Whether each triple is among the facts; bool[triple]."""
        return np.asarray(find_sorted(self.codes, _code(triples, self.entities, self.relations)) >= 0)

    @property
    def sizes(self) -> IntArray:
        """How many pairs (head, tail) each relation has; int64[relation]."""
        return np.bincount(self.codes % self.relations, minlength=self.relations)

    def shared(self, *, least: float) -> Overlaps | None:
        """Count the pairs (h, t) that each two different relations share; both orders of the two are listed.

        Kept are overlaps of at least the share ``least`` of the smaller relation's pairs; None if too many to count.
        """
        _, rows = self._by_way()
        several = rows[rows @ np.ones(self.relations) > 1]
        pairs = self._count(several, several, least)
        return None if pairs is None else pairs.where(pairs.first != pairs.second)

    def turned(self, *, least: float) -> Overlaps | None:
        """Count the pairs (h, t) of each relation that are (t, h) in each other relation, and in itself.

        Kept are overlaps of at least the share ``least`` of the smaller relation (Dettmers et al., 2018).
        """
        ways, rows = self._by_way()
        is_loop = ways // 2 // self.entities == ways // 2 % self.entities
        back = np.where(is_loop, ways, ways ^ 1)
        places = find_sorted(ways, back)
        return self._count(rows[places >= 0], rows[places[places >= 0]], least)

    def partnered(self, triples: Triples, partners: Overlaps, *, turned: bool) -> BoolArray:
        """Whether each triple, ``turned`` or not, is a fact under one of its relation's ``partners``; bool[triple]."""
        lengths = np.bincount(partners.first, minlength=self.relations)[triples.relations]
        bounds = [*starts_of_runs(np.cumsum(lengths) // self.at_once).tolist(), len(triples)]
        holds = np.zeros(len(triples), np.bool_)
        for low, high in pairwise(bounds):
            rows = partners.partners(triples.relations[low:high])
            heads, _, tails = triples.ids[low + rows.owners].T
            columns = [tails, rows.ids, heads] if turned else [heads, rows.ids, tails]
            holds[low + rows.owners[self.holds(Triples(np.stack(columns, axis=1)))]] = True
        return holds

    def _by_way(self) -> tuple[IntArray, Any]:
        """Number the ways (ordered entity pairs), ascending; mark their relations: [way, relation], full or sparse."""
        ways, relations = np.divmod(self.codes, self.relations)
        starts = starts_of_runs(ways)
        shape, offsets = (len(starts), self.relations), np.append(starts, len(ways))
        if len(starts) * self.relations**2 <= self.dense:
            marked = np.zeros(shape)
            marked[np.repeat(np.arange(len(starts)), np.diff(offsets)), relations] = 1
            return ways[starts], marked
        from scipy.sparse import csr_matrix

        return ways[starts], csr_matrix((np.ones(len(ways), np.int64), relations, offsets), shape=shape)

    def _count(self, here: Any, there: Any, least: float) -> Overlaps | None:
        """Count, for each two relations, the rows with the first in ``here`` and the second in ``there``, in blocks.

        Both are matrices [way, relation] of 0 and 1. Overlaps below the share ``least`` of the smaller relation are
        left out; the result is None if there is too much to count.
        """
        is_dense = isinstance(here, np.ndarray)
        sizes, left = self.sizes, here.T if is_dense else here.T.tocsr()
        work = left @ (there @ np.ones(self.relations, np.int64))
        if int(work.sum()) > MOST_COMPARED:
            return None
        parts = [np.empty((3, 0), np.int64)]
        bounds = starts_of_runs(np.cumsum(np.minimum(work, self.relations)) // self.at_once).tolist()
        for low, high in pairwise([*bounds, self.relations]):
            product = left[low:high] @ there
            if not is_dense:
                product.sort_indices()
            counts = product[product > 0] if is_dense else product.data
            counted = np.stack([*product.nonzero(), counts]).astype(np.int64)
            counted[0] += low
            enough = counted[2] / sizes[counted[:2]].min(axis=0) >= least
            parts.append(counted[:, enough])
            if sum(part.shape[1] for part in parts) > MOST_FOUND:
                return None
        first, second, shared = np.concatenate(parts, axis=1)
        return Overlaps(first, second, shared, sizes)


@dataclass(frozen=True, eq=False)
class Overlaps:
    """Pairs of relations, and how many pairs (head, tail) both have."""

    first: IntArray
    """the id of the first relation; int64[overlap], ascending"""
    second: IntArray
    """the id of the second relation; int64[overlap], ascending for each first"""
    shared: IntArray
    """the number of pairs of the first that are in the second too, as they are or swapped; int64[overlap]"""
    sizes: IntArray
    """the number of pairs of each relation; int64[relation]"""

    def of_both(self, least: float) -> Overlaps:
        """Keep the overlaps of at least this share of both relations (Akrami et al., 2020)."""
        shares = self.shared / self.sizes[[self.first, self.second]]
        return self.where(shares.min(axis=0) >= least)

    def where(self, keep: BoolArray) -> Overlaps:
        """Keep the overlaps for which ``keep`` (bool[overlap]) holds."""
        return Overlaps(self.first[keep], self.second[keep], self.shared[keep], self.sizes)

    def partners(self, relations: IntArray) -> Rows:
        """Collect, for each of these relations, the relations that overlap it, in ascending order."""
        starts, stops = (np.searchsorted(self.first, relations, side) for side in ("left", "right"))
        return Rows.spans(starts, stops, self.second)


def _code(triples: Triples, entities: int, relations: int) -> IntArray:
    """Make one number of each triple, as in ``PairedFacts.codes``; int64[triple]."""
    codes = np.minimum(triples.heads, triples.tails)
    codes *= entities
    codes += np.maximum(triples.heads, triples.tails)
    codes *= 2
    codes += triples.heads > triples.tails
    codes *= relations
    codes += triples.relations
    return codes
