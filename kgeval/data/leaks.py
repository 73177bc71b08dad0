"""Test leakage: triples of valid and test that train has too, as they are or with head and tail swapped."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from kgeval.arrays import BoolArray, IntArray
from kgeval.data.dataset import Dataset
from kgeval.data.queries import starts_of_runs
from kgeval.data.rows import Rows
from kgeval.data.triples import Triples

INVERSE_SHARE = 0.8
"""Two relations are inverse where at least this share of the pairs of either, in all splits, stands swapped in the
other (Akrami et al., 2020, for whom they are reverse duplicates); a relation that is its own inverse is symmetric."""

NOTED_SHARE = 0.01
"""the share of swapped triples from which on there is a note; of triples that train has as they are, one is enough"""

MOST_SWAPPED = 2**24
"""the most pairs of triples, (h, r, t) with (t, r', h), that are counted by their relations r and r'"""

TOO_LARGE = "whether train gives {} triples away is not known: the graph has too many entities and relations to search."
TOO_MANY = "whether train has {} triples with head and tail swapped is not known: too many pairs stand both ways."


@dataclass(frozen=True, eq=False)
class Leaks:
    """What train gives away of one split."""

    repeated: BoolArray
    """bool[triple], whether train has it too"""
    swapped: BoolArray
    """bool[triple], whether train has it with head and tail swapped, under an inverse or the same symmetric relation"""
    skipped: str = ""
    """a note on what was not searched for, with a place for the name of the split"""


def find_leaks(dataset: Dataset) -> dict[str, Leaks]:
    """Find the triples of valid and test that train gives away, by sorting the whole graph; once for each dataset.

    Examples
    --------
    >>> from kgeval.data.vocabulary import Vocabulary
    >>> data = Dataset.build(
    ...     "family",
    ...     {"train": Triples.of([(0, 0, 1), (1, 1, 0), (2, 0, 1)]), "test": Triples.of([(1, 1, 2), (0, 0, 1)])},
    ...     entities=Vocabulary(["Eve", "Abel", "Adam"]),
    ...     relations=Vocabulary(["parent_of", "child_of"], "relation"),
    ... )
    >>> leaks = find_leaks(data)["test"]
    >>> leaks.repeated, leaks.swapped
    (array([False,  True]), array([ True,  True]))
    """
    if dataset not in _FOUND:
        _FOUND[dataset] = _search(dataset)
    return _FOUND[dataset]


def _search(dataset: Dataset) -> dict[str, Leaks]:
    evaluated = {split: triples for split, triples in dataset.splits.items() if split != "train"}
    nothing = {split: np.zeros(len(triples), np.bool_) for split, triples in evaluated.items()}
    if 4 * len(dataset.entities) ** 2 * len(dataset.relations) > np.iinfo(np.int64).max:
        return {split: Leaks(nothing[split], nothing[split], TOO_LARGE) for split in evaluated}
    facts = _Facts.of(dataset)
    repeated = {split: facts.in_train(triples) for split, triples in evaluated.items()}
    here, there = facts.opposite()
    if int(here.lengths @ there.lengths) > MOST_SWAPPED:
        return {split: Leaks(repeated[split], nothing[split], TOO_MANY) for split in evaluated}
    inverses = facts.inverses(here, there)
    return {split: Leaks(repeated[split], facts.swapped(evaluated[split], *inverses)) for split in evaluated}


def notes_on_leaks(dataset: Dataset, split: str, *, name: str | None = None) -> list[str]:
    """Write notes on the triples of a split that train gives away, where they matter.

    Where neither the split nor the labels are known, ``name`` is what its triples are called, and no label is shown.
    """
    if split == "train" or not len(dataset.train):
        return []
    triples, leaks, kind = dataset.split(split), find_leaks(dataset)[split], name or split
    notes = [leaks.skipped.format(kind)] if leaks.skipped else []
    if repeated := int(leaks.repeated.sum()):
        example = "" if name else f", such as {dataset.triple(*triples.ids[np.argmax(leaks.repeated)])}"
        share = f"{repeated} of {len(triples)} {kind} triples ({repeated / len(triples):.1%})"
        notes.append(f"{share} are in train too{example}.")
    if (swapped := int(leaks.swapped.sum())) >= NOTED_SHARE * len(triples):
        relations = "" if name else f": {_most_frequent(dataset, triples.relations[leaks.swapped])}"
        share = f"{swapped} of {len(triples)} {kind} triples ({swapped / len(triples):.1%})"
        notes.append(
            f"{share} are in train with head and tail swapped, under an inverse or symmetric relation{relations}. "
            "To read train backwards is enough for them."
        )
    return notes


def _most_frequent(dataset: Dataset, relations: IntArray) -> str:
    """List the three most frequent of some relations, with their counts."""
    counts = np.bincount(relations, minlength=len(dataset.relations))
    most = np.argsort(-counts, kind="stable")[: min(3, np.count_nonzero(counts))]
    listed = ", ".join(f"{counts[row]} of {dataset.display_label(dataset.relations[row])}" for row in most)
    return f"{listed}{', …' if np.count_nonzero(counts) > len(most) else ''}"


@dataclass(frozen=True, eq=False)
class _Facts:
    """The triples of all splits, each once, those between two entities side by side: one way, then the other."""

    entities: int
    relations: int
    codes: IntArray
    """int64[fact], ascending: the lower entity, the higher one, the direction and the relation as one number"""
    trained: BoolArray
    """bool[fact], whether train has it"""

    @classmethod
    def of(cls, dataset: Dataset) -> _Facts:
        entities, relations = len(dataset.entities), len(dataset.relations)
        parts = [2 * _code(part, entities, relations) + (split != "train") for split, part in dataset.splits.items()]
        codes = np.sort(np.concatenate([_NOTHING, *parts]))
        first = starts_of_runs(codes >> 1)
        return cls(entities, relations, codes[first] >> 1, codes[first] % 2 == 0)

    def in_train(self, triples: Triples) -> BoolArray:
        """Whether train has each triple; bool[triple]."""
        codes = _code(triples, self.entities, self.relations)
        places = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        return np.asarray((self.codes[places] == codes) & self.trained[places])

    def opposite(self) -> tuple[Rows, Rows]:
        """Collect the relations of every pair (h, t) that has facts both ways, and those of (t, h), row by row."""
        ways, relations = np.divmod(self.codes, self.relations)
        starts = starts_of_runs(ways)
        stops = np.append(starts[1:], len(ways))
        pairs, back = np.divmod(ways[starts], 2)
        loops = np.flatnonzero(pairs // self.entities == pairs % self.entities)
        both = np.flatnonzero((pairs[1:] == pairs[:-1]) & (back[1:] > back[:-1]))
        here, there = np.concatenate([both, both + 1, loops]), np.concatenate([both + 1, both, loops])
        return Rows.spans(starts[here], stops[here], relations), Rows.spans(starts[there], stops[there], relations)

    def inverses(self, here: Rows, there: Rows) -> tuple[IntArray, IntArray]:
        """Find the pairs of inverse relations, both ways round; int64[pair] both, the first ascending."""
        owners = here.owners
        swapped = Rows.spans(there.offsets[owners], there.offsets[owners + 1], there.ids)
        pairs, counts = np.unique(here.ids[swapped.owners] * self.relations + swapped.ids, return_counts=True)
        first, second = np.divmod(pairs, self.relations)
        sizes = np.bincount(self.codes % self.relations, minlength=self.relations)
        alike = counts >= INVERSE_SHARE * np.maximum(sizes[first], sizes[second])
        return first[alike], second[alike]

    def swapped(self, triples: Triples, relations: IntArray, inverses: IntArray) -> BoolArray:
        """Whether train has each triple with head and tail swapped, under an inverse relation; bool[triple]."""
        starts, stops = (np.searchsorted(relations, triples.relations, side) for side in ("left", "right"))
        choices = Rows.spans(starts, stops, inverses)
        heads, _, tails = triples.ids[choices.owners].T
        found = self.in_train(Triples(np.stack([tails, choices.ids, heads], axis=1)))
        return np.asarray(np.bincount(choices.owners[found], minlength=len(triples)) > 0)


def _code(triples: Triples, entities: int, relations: int) -> IntArray:
    """Number triples; int64[triple]."""
    low, high = np.minimum(triples.heads, triples.tails), np.maximum(triples.heads, triples.tails)
    ways = (low * entities + high) * 2 + (triples.heads > triples.tails)
    return np.asarray(ways * relations + triples.relations)


_NOTHING = np.empty(0, np.int64)

_FOUND: WeakKeyDictionary[Dataset, dict[str, Leaks]] = WeakKeyDictionary()
"""what was found, for as long as the dataset is in use"""
