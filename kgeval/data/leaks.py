"""Leaks: triples of valid and test that train gives away, because it has them, perhaps with head and tail swapped.

Rankings count them (:func:`count_leaks`), ``kgeval inspect`` describes them (:func:`notes_on_leaks`). Near-duplicate
relations, which leak too, are searched for by the slice ``leak`` and by audits (``kgeval.analysis``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.errors import first_few
from kgeval.base.notes import Example, Note
from kgeval.data.dataset import Dataset
from kgeval.data.other_graphs import in_training_graph
from kgeval.data.provenance import LeakCounts, percent
from kgeval.data.relation_overlaps import PairedFacts
from kgeval.data.split_names import parts_of
from kgeval.data.triples import TARGETS, Side, TripleIndex, Triples

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
    """The triples of one split that train has too, and those that it has with head and tail swapped."""

    repeated: BoolArray
    """bool[triple], whether train has it too"""
    swapped: BoolArray
    """bool[triple], whether train has it with head and tail swapped, under an inverse or the same symmetric relation"""
    skipped: str = ""
    """a note on the searches that were left out, empty if none was"""


def find_leaks(dataset: Dataset) -> dict[str, Leaks]:
    """Find the triples of valid and test that train gives away, by split; a dataset keeps what was found."""
    if not dataset._leaks:
        evaluated = {split: triples for split, triples in dataset.splits.items() if split != "train"}
        dataset._leaks.update(_search(dataset, evaluated))
    return dataset._leaks


def count_leaks(
    dataset: Dataset, split: str, ranked: IntArray, sides: Collection[Side] = TARGETS
) -> tuple[LeakCounts | None, list[str]]:
    """Count the leaks among the ranked triples of a split, several splits or a file; return the counts and notes.

    The counts are None if there are no leaks, or train itself is ranked; the notes are on leaks that need action.
    ``ranked`` are rows of the split; repeated ones count once. Triples that the training graph of an inductive dataset
    has are counted too, whether train has them or not. A swapped triple gives away its head and tail, not its relation:
    it is not counted if relations alone are ranked.
    """
    notes, leaks = _notes_on_overlap(dataset, split), _leaks_of(dataset, split)
    if leaks is None:
        return None, notes
    ranked = np.unique(ranked)
    swapped = leaks.swapped & ~leaks.repeated & any(side != "relation" for side in sides)
    learned, none = in_training_graph(dataset, dataset.split(split)), np.zeros_like(swapped)
    later = is_later(dataset.split(split), dataset.train)
    flags = (none, none, learned, leaks.repeated) if later else (leaks.repeated, swapped, learned, none)
    counts = LeakCounts(len(ranked), *(int(flagged[ranked].sum()) for flagged in flags))
    notes += [Note("leaks", leaks.skipped)] if leaks.skipped else []
    share = (counts.repeated + counts.swapped) / max(len(ranked), 1)
    if share >= LARGE_SHARE and dataset.times is None:
        leaked = f"{percent(share)} of the ranked triples are in train, unchanged or with head and tail swapped"
        parts = "has them as repeated and reverse; its group none leaves out the groups duplicate and inverse too"
        notes.append(Note("leaks", f"{leaked}. The slice leak (kgeval summarize RUN --by leak) {parts}."))
    return (counts if share or counts.in_training_graph or counts.returning else None), notes


def notes_on_leaks(dataset: Dataset, split: str, *, swapped: bool = True) -> list[str]:
    """Make notes on the triples of a split that train gives away, with examples."""
    notes, leaks = _notes_on_overlap(dataset, split), _leaks_of(dataset, split)
    if leaks is None:
        return notes
    triples, any_time = dataset.split(split), dataset.times is not None
    later = is_later(triples, dataset.train)
    notes += [Note("leaks", leaks.skipped)] if leaks.skipped else []
    if repeated := int(leaks.repeated.sum()):
        example = Example(f": for example {dataset.triple(*triples.ids[np.argmax(leaks.repeated)])}")
        counts = LeakCounts(len(triples), returning=repeated) if later else LeakCounts(len(triples), repeated)
        said = counts.in_words(split, any_time=any_time)
        notes.append(Note(said.kind, *said.parts, example, "."))
    if swapped and not later and (count := int(leaks.swapped.sum())):
        relations = Example(f": {_most_frequent(dataset, triples.relations[leaks.swapped])}")
        counts = LeakCounts(len(triples), swapped=count)
        notes.append(Note("leaks", *counts.in_words(split, any_time=any_time).parts, relations, "."))
    return notes


def is_later(triples: Triples, train: Triples) -> bool:
    """Whether all triples are later than train: a triple that train has too is then a returning fact, not a leak."""
    times, before = triples.contexts, train.contexts
    return times is not None and before is not None and len(times) > 0 and bool(times.min() > before.max(initial=-1))


def _notes_on_overlap(dataset: Dataset, name: str) -> list[str]:
    """Note how many triples of a file, or of joined splits, are in other splits than these and train."""
    if name in dataset.splits:
        return []
    triples, without = dataset.split(name), ("train", *parts_of(name))
    parts = {split: part for split, part in dataset.splits.items() if split not in without}
    shared = {split: int(TripleIndex.of(part).contains(triples).sum()) for split, part in parts.items()}
    counts = [f"{count:,} in {split}" for split, count in shared.items() if count]
    whole = f"of the {len(triples):,} triples of ", Example.path(name)
    return [Note("leaks", *whole, f", {' and '.join(counts)}.")] if counts else []


def _most_frequent(dataset: Dataset, relations: IntArray) -> str:
    counts = np.bincount(relations, minlength=len(dataset.relations))
    most = np.argsort(-counts, kind="stable")[: min(4, np.count_nonzero(counts))]
    named = [f"{counts[row]:,} of relation {dataset.display_label(dataset.relations[row])!r}" for row in most]
    return first_few(named, 3)


def _leaks_of(dataset: Dataset, name: str) -> Leaks | None:
    """Find the leaks of a split, several splits or a file; ``None`` if train is ranked, or empty."""
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
    if (overlaps := facts.turned(least=INVERSE_SHARE)) is None:
        return {split: Leaks(train.holds(triples), nothing[split], TOO_MANY) for split, triples in evaluated.items()}
    swapped = partial(train.partnered, partners=overlaps.of_both(INVERSE_SHARE), turned=True)
    return {split: Leaks(train.holds(triples), swapped(triples)) for split, triples in evaluated.items()}
