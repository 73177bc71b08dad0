"""Leaks: relations that share their pairs of entities, and triples of valid and test that train gives away by them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.errors import first_few
from kgeval.base.provenance import LeakCounts, percent
from kgeval.data.dataset import Dataset
from kgeval.data.queries import Rows, starts_of_runs
from kgeval.data.split_names import parts_of
from kgeval.data.triples import TARGETS, Side, TripleIndex, Triples, find_sorted

MOST_COMPARED = 2**30
"""the most pairs of facts between the same two entities that are counted by their relations: some seconds"""

MOST_FOUND = 2**22
"""the most pairs of relations that overlap, which bounds memory"""

DENSE = 2**24
"""how many products of numbers take less time in a full matrix than the import of scipy's sparse ones"""

AT_ONCE = 2**23
"""how many pairs of relations, or of triples and related relations, are held at once: below a gigabyte"""


@dataclass(frozen=True, eq=False)
class Overlaps:
    """Pairs of relations, and how many pairs (head, tail) both have."""

    first: IntArray
    """int64[overlap], ascending"""
    second: IntArray
    """int64[overlap], ascending for each first"""
    shared: IntArray
    """int64[overlap], how many pairs of the first are in the second too: as they are, or with head and tail swapped"""
    sizes: IntArray
    """int64[relation], how many pairs each relation has"""

    def of_both(self, least: float) -> Overlaps:
        """Keep those that are at least this share of both relations (Akrami et al., 2020)."""
        shares = self.shared / self.sizes[[self.first, self.second]]
        return self.where(shares.min(axis=0) >= least)

    def where(self, keep: BoolArray) -> Overlaps:
        """Keep the overlaps for which ``keep`` (bool[overlap]) holds."""
        return Overlaps(self.first[keep], self.second[keep], self.shared[keep], self.sizes)

    def partners(self, relations: IntArray) -> Rows:
        """Collect the relations that overlap each of some, in ascending order."""
        starts, stops = (np.searchsorted(self.first, relations, side) for side in ("left", "right"))
        return Rows.spans(starts, stops, self.second)


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
        """Count the pairs (h, t) that each two different relations share, both ways round.

        Kept are those with at least the share ``least`` of the pairs of either relation; None if too many to count.
        """
        _, rows = self._by_way()
        several = rows[rows @ np.ones(self.relations) > 1]
        pairs = self._count(several, several, least)
        return None if pairs is None else pairs.where(pairs.first != pairs.second)

    def turned(self, *, least: float) -> Overlaps | None:
        """Count the pairs (h, t) of each relation that are (t, h) in each other relation, and in itself.

        Kept are those with at least the share ``least`` of either relation (Dettmers et al., 2018).
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
        """Number the ways from entity to entity, ascending, and mark their relations: [way, relation], or sparse."""
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
        """Count each relation of a row ``here`` with each relation of the same row ``there``, some at a time."""
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


INVERSE_SHARE = 0.8
"""Relations r1 and r2 are inverse if at least this share of r1's pairs (h, t) are (t, h) in r2, and at least this
share of r2's in r1, over all splits (Akrami et al., 2020: reverse duplicates). A relation that is its own inverse is
symmetric."""

LARGE_SHARE = 0.1
"""Results on a split with this share of leaked triples have a note. Such triples alone can move the MRR by 0.1, several
times more than published models differ by; a smaller share is a line above the results."""

TOO_LARGE = "leaks were not searched for: the graph has too many entities and relations."
TOO_MANY = "triples with head and tail swapped in train were not searched for: too many pairs of entities are swapped."


@dataclass(frozen=True, eq=False)
class Leaks:
    """Which triples of one split train repeats or has swapped; the slice ``leak`` searches near-duplicate relations."""

    repeated: BoolArray
    """bool[triple], whether train has it too"""
    swapped: BoolArray
    """bool[triple], whether train has it with head and tail swapped, under an inverse or the same symmetric relation"""
    skipped: str = ""
    """a note on what was not searched for"""


def find_leaks(dataset: Dataset) -> dict[str, Leaks]:
    """Find the triples of valid and test that train gives away, by sorting the whole graph; once for each dataset."""
    if not dataset._leaks:
        evaluated = {split: triples for split, triples in dataset.splits.items() if split != "train"}
        dataset._leaks.update(_search(dataset, evaluated))
    return dataset._leaks


def _leaks_of(dataset: Dataset, name: str) -> Leaks | None:
    """Find the triples that train gives away of a split, of several or of a file; ``None`` if train is ranked."""
    if "train" in parts_of(name) or not len(dataset.train):
        return None
    if name in dataset.splits:
        return find_leaks(dataset)[name]
    return _search(dataset, {name: dataset.split(name)})[name]


def _search(dataset: Dataset, evaluated: Mapping[Any, Triples]) -> dict[str, Leaks]:
    nothing = {split: np.zeros(len(triples), np.bool_) for split, triples in evaluated.items()}
    sizes = len(dataset.entities), len(dataset.relations)
    facts, train = PairedFacts.of(dataset.splits.values(), *sizes), PairedFacts.of([dataset.train], *sizes)
    if facts is None or train is None:
        return {split: Leaks(nothing[split], nothing[split], TOO_LARGE) for split in evaluated}
    repeated = {split: train.holds(triples) for split, triples in evaluated.items()}
    reversed_overlaps = facts.turned(least=INVERSE_SHARE)
    if reversed_overlaps is None:
        return {split: Leaks(repeated[split], nothing[split], TOO_MANY) for split in evaluated}
    inverses = reversed_overlaps.of_both(INVERSE_SHARE)
    return {
        split: Leaks(repeated[split], train.partnered(triples, inverses, turned=True))
        for split, triples in evaluated.items()
    }


def count_leaks(
    dataset: Dataset, split: str, ranked: IntArray, sides: Collection[Side] = TARGETS
) -> tuple[LeakCounts | None, list[str]]:
    """Count the triples that train gives away, of those ``ranked`` of a split, of several or of a file; or ``None``.

    ``ranked`` are rows of the split, any number of times. Notes on what needs action follow. A swapped triple gives its
    head and tail away, and not its relation.
    """
    notes, leaks = _notes_on_overlap(dataset, split), _leaks_of(dataset, split)
    if leaks is None:
        return None, notes
    ranked = np.unique(ranked)
    swapped = leaks.swapped & ~leaks.repeated & any(side != "relation" for side in sides)
    counts = LeakCounts(len(ranked), int(leaks.repeated[ranked].sum()), int(swapped[ranked].sum()))
    notes += [leaks.skipped] if leaks.skipped else []
    share = (counts.repeated + counts.swapped) / max(len(ranked), 1)
    if share >= LARGE_SHARE and dataset.times is None:
        leaked = f"{percent(share)} of the ranked triples are in train, unchanged or with head and tail swapped"
        parts = "has them as repeated and reverse; its group none leaves out the groups duplicate and inverse too"
        notes.append(f"{leaked}. The slice leak (kgeval summarize RUN --by leak) {parts}.")
    return (counts if share else None), notes


def notes_on_leaks(dataset: Dataset, split: str, *, swapped: bool = True) -> list[str]:
    """Describe the triples of a split that train gives away, and name examples."""
    notes, leaks = _notes_on_overlap(dataset, split), _leaks_of(dataset, split)
    if leaks is None:
        return notes
    triples, any_time = dataset.split(split), dataset.times is not None
    notes += [leaks.skipped] if leaks.skipped else []
    if repeated := int(leaks.repeated.sum()):
        example = dataset.triple(*triples.ids[np.argmax(leaks.repeated)])
        counts = LeakCounts(len(triples), repeated)
        notes.append(f"{counts.in_words(split, any_time=any_time)}: for example {example}.")
    if swapped and (count := int(leaks.swapped.sum())):
        relations = _most_frequent(dataset, triples.relations[leaks.swapped])
        counts = LeakCounts(len(triples), swapped=count)
        notes.append(f"{counts.in_words(split, any_time=any_time)}: {relations}.")
    return notes


def _notes_on_overlap(dataset: Dataset, name: str) -> list[str]:
    """Count the triples of a file, or of several splits as one, that are in other splits than train."""
    if name in dataset.splits:
        return []
    triples, without = dataset.split(name), ("train", *parts_of(name))
    parts = {split: part for split, part in dataset.splits.items() if split not in without}
    shared = {split: int(TripleIndex.of(part).contains(triples).sum()) for split, part in parts.items()}
    counts = [f"{count:,} in {split}" for split, count in shared.items() if count]
    return [f"of the {len(triples):,} triples of {name}, {' and '.join(counts)}."] if counts else []


def _most_frequent(dataset: Dataset, relations: IntArray) -> str:
    counts = np.bincount(relations, minlength=len(dataset.relations))
    most = np.argsort(-counts, kind="stable")[: min(4, np.count_nonzero(counts))]
    named = [f"{counts[row]} of relation {dataset.display_label(dataset.relations[row])!r}" for row in most]
    return first_few(named, 3)
