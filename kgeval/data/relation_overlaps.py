"""Overlaps of relations: how many pairs (head, tail) each two of them share, and how many one has turned round."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from kgeval.arrays import BoolArray, Float64Array, IntArray
from kgeval.data.queries import starts_of_runs
from kgeval.data.rows import Rows
from kgeval.data.triples import Triples

MOST_COMPARED = 2**30
"""the most pairs of facts between the same two entities that are counted by their relations: some seconds"""

MOST_FOUND = 2**22
"""the most pairs of relations that overlap; more are no list that anybody reads, but memory"""

AT_ONCE = 2**23
"""how many pairs of relations, or triples and partners of theirs, are worked on at once: below a gigabyte"""


@dataclass(frozen=True, eq=False)
class Overlaps:
    """Pairs of relations, and how many pairs (head, tail) both have."""

    first: IntArray
    """int64[overlap], ascending"""
    second: IntArray
    """int64[overlap], ascending for each first"""
    shared: IntArray
    """int64[overlap], how many pairs of the first the second has too: as they are, or turned round"""
    sizes: IntArray
    """int64[relation], how many pairs each relation has"""

    @property
    def shares(self) -> Float64Array:
        """The part of the first and of the second relation's pairs that both have; float64[2, overlap]."""
        return np.asarray(self.shared / self.sizes[[self.first, self.second]])

    def of_both(self, least: float) -> Overlaps:
        """Keep those that are at least this share of both relations (Akrami et al., 2020)."""
        return self.where(self.shares.min(axis=0) >= least)

    def of_either(self, least: float) -> Overlaps:
        """Keep those that are at least this share of one of the two relations (Dettmers et al., 2018)."""
        return self.where(self.shares.max(axis=0) >= least)

    def where(self, keep: BoolArray) -> Overlaps:
        """Keep the overlaps for which ``keep`` (bool[overlap]) holds."""
        return Overlaps(self.first[keep], self.second[keep], self.shared[keep], self.sizes)

    def partners(self, relations: IntArray) -> Rows:
        """Collect the relations that overlap each of some, in ascending order."""
        starts, stops = (np.searchsorted(self.first, relations, side) for side in ("left", "right"))
        return Rows.spans(starts, stops, self.second)


@dataclass(frozen=True, eq=False)
class PairedFacts:
    """Distinct triples, those between two entities side by side: one way, then the other."""

    entities: int
    relations: int
    codes: IntArray
    """int64[fact], ascending: the lower entity, the higher one, the direction and the relation as one number"""

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
        if not len(self.codes):
            return np.zeros(len(triples), np.bool_)
        codes = _code(triples, self.entities, self.relations)
        places = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        return np.asarray(self.codes[places] == codes)

    @property
    def sizes(self) -> IntArray:
        """How many pairs (head, tail) each relation has; int64[relation]."""
        return np.bincount(self.codes % self.relations, minlength=self.relations)

    def shared(self, *, least: float) -> Overlaps | None:
        """Count the pairs (h, t) that each two different relations share, both ways round.

        Kept are those with at least the share ``least`` of the pairs of either relation; None if too many to count.
        """
        _, rows = self._by_way()
        several = rows[np.diff(rows.indptr) > 1]
        found = self._count(several, several, least)
        return None if found is None else found.where(found.first != found.second)

    def turned(self, *, least: float) -> Overlaps | None:
        """Count the pairs (h, t) of each relation that stand as (t, h) in each other one, and in itself."""
        ways, rows = self._by_way()
        is_loop = ways // 2 // self.entities == ways // 2 % self.entities
        back = np.where(is_loop, ways, ways ^ 1)
        places = np.minimum(np.searchsorted(ways, back), len(ways) - 1)
        both = np.flatnonzero(ways[places] == back)
        return self._count(rows[both], rows[places[both]], least)

    def partnered(self, triples: Triples, partners: Overlaps, *, turned: bool) -> BoolArray:
        """Whether each triple, ``turned`` or not, is a fact under one of its relation's ``partners``; bool[triple]."""
        lengths = np.bincount(partners.first, minlength=self.relations)[triples.relations]
        bounds = [*starts_of_runs(np.cumsum(lengths) // AT_ONCE).tolist(), len(triples)]
        found = np.zeros(len(triples), np.bool_)
        for low, high in pairwise(bounds):
            rows = partners.partners(triples.relations[low:high])
            heads, _, tails = triples.ids[low + rows.owners].T
            columns = [tails, rows.ids, heads] if turned else [heads, rows.ids, tails]
            found[low + rows.owners[self.holds(Triples(np.stack(columns, axis=1)))]] = True
        return found

    def _by_way(self) -> tuple[IntArray, Any]:
        """Number the ways from entity to entity, ascending, and mark their relations: sparse int64[way, relation]."""
        from scipy.sparse import csr_matrix

        ways, relations = np.divmod(self.codes, self.relations)
        starts = starts_of_runs(ways)
        ones, offsets = np.ones(len(ways), np.int64), np.append(starts, len(ways))
        return ways[starts], csr_matrix((ones, relations, offsets), shape=(len(starts), self.relations))

    def _count(self, here: Any, there: Any, least: float) -> Overlaps | None:
        """Count each relation of a row ``here`` with each relation of the same row ``there``, some at a time."""
        sizes, left, lengths = self.sizes, here.T.tocsr(), np.diff(there.indptr).astype(np.int64)
        work = left @ lengths
        if int(work.sum()) > MOST_COMPARED:
            return None
        found = [np.empty((3, 0), np.int64)]
        bounds = starts_of_runs(np.cumsum(np.minimum(work, self.relations)) // AT_ONCE).tolist()
        for low, high in pairwise([*bounds, self.relations]):
            product = left[low:high] @ there
            product.sort_indices()
            counted = product.tocoo()
            first, second = counted.row.astype(np.int64) + low, counted.col.astype(np.int64)
            enough = counted.data / np.minimum(sizes[first], sizes[second]) >= least
            found.append(np.stack([first, second, counted.data])[:, enough])
            if sum(part.shape[1] for part in found) > MOST_FOUND:
                return None
        first, second, shared = np.concatenate(found, axis=1)
        return Overlaps(first, second, shared, sizes)


def _code(triples: Triples, entities: int, relations: int) -> IntArray:
    """Number triples; int64[triple]."""
    codes = np.minimum(triples.heads, triples.tails)
    codes *= entities
    codes += np.maximum(triples.heads, triples.tails)
    codes *= 2
    codes += triples.heads > triples.tails
    codes *= relations
    codes += triples.relations
    return codes
