"""Test leakage: triples of valid and test that train has too, as they are or with head and tail swapped."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from kgeval.arrays import BoolArray, IntArray
from kgeval.data.dataset import Dataset
from kgeval.data.relation_overlaps import PairedFacts
from kgeval.errors import first_few

INVERSE_SHARE = 0.8
"""Relations r1 and r2 are inverse if at least this share of r1's pairs (h, t) stand as (t, h) in r2, and at least this
share of r2's in r1, over all splits (Akrami et al., 2020: reverse duplicates). A relation that is its own inverse is
symmetric."""

NOTED_SHARE = 0.02
"""the share of swapped triples from which on there is a note: they can move the MRR by this
much, about as much as published models differ by; of triples that train has as they are, one is enough"""

TOO_LARGE = "whether train gives {} triples away is not known: the graph has too many entities and relations to search."
TOO_MANY = "whether train has {} triples with head and tail swapped is not known: too many pairs stand both ways."


@dataclass(frozen=True, eq=False)
class Leaks:
    """Which triples of one split train repeats or has swapped; the slice ``leak`` searches near-duplicate relations."""

    repeated: BoolArray
    """bool[triple], whether train has it too"""
    swapped: BoolArray
    """bool[triple], whether train has it with head and tail swapped, under an inverse or the same symmetric relation"""
    skipped: str = ""
    """a note on what was not searched for, with a place for the name of the split"""


def find_leaks(dataset: Dataset) -> dict[str, Leaks]:
    """Find the triples of valid and test that train gives away, by sorting the whole graph; once for each dataset."""
    if dataset not in _FOUND:
        _FOUND[dataset] = _search(dataset)
    return _FOUND[dataset]


def _search(dataset: Dataset) -> dict[str, Leaks]:
    evaluated = {split: triples for split, triples in dataset.splits.items() if split != "train"}
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


def notes_on_leaks(dataset: Dataset, split: str, *, name: str | None = None, swapped: bool = True) -> list[str]:
    """Write notes on the triples of a split that train gives away, where they matter.

    ``name`` is for PyKEEN's evaluator, which sees neither split names nor labels: the notes then say ``name`` in place
    of the split, and show no labels. Where relations alone are predicted, ``swapped`` triples give none away.
    """
    if split == "train" or not len(dataset.train):
        return []
    triples, leaks, split_name = dataset.split(split), find_leaks(dataset)[split], name or split
    notes = [leaks.skipped.format(split_name)] if leaks.skipped else []
    if repeated := int(leaks.repeated.sum()):
        example = "" if name else f", such as {dataset.triple(*triples.ids[np.argmax(leaks.repeated)])}"
        share = f"{repeated} of {len(triples)} {split_name} triples ({repeated / len(triples):.1%})"
        when = "" if dataset.times is None else ", at some time"
        notes.append(f"{share} are in train too{when}{example}.")
    if swapped and (count := int(leaks.swapped.sum())) >= max(1, NOTED_SHARE * len(triples)):
        relations = "" if name else f": {_most_frequent(dataset, triples.relations[leaks.swapped])}"
        share = f"{count} of {len(triples)} {split_name} triples ({count / len(triples):.1%})"
        notes.append(
            f"{share} are in train with head and tail swapped, under an inverse or symmetric relation{relations}. "
            "A model can answer them by swapping head and tail of train triples."
        )
    return notes


def _most_frequent(dataset: Dataset, relations: IntArray) -> str:
    counts = np.bincount(relations, minlength=len(dataset.relations))
    most = np.argsort(-counts, kind="stable")[: min(4, np.count_nonzero(counts))]
    return first_few([f"{counts[row]} of {dataset.display_label(dataset.relations[row])}" for row in most], 3)


_FOUND: WeakKeyDictionary[Dataset, dict[str, Leaks]] = WeakKeyDictionary()
"""what was found, for as long as the dataset is in use"""
