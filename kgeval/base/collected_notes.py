"""The notes of several models and datasets, merged: each once, with the names of its models and datasets.

Commands, comparisons and reports call :func:`collected_notes`. A place is a pair (dataset, model).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from kgeval.base.errors import first_few
from kgeval.base.notes import Note, in_ranges

MOST_DATASETS = 3
"""the most datasets that the line above a table names, and that keep notes of their own if numbers differ"""

MOST_NAMED = 10
"""the most datasets that a note lists"""


def collected_notes(
    notes: Mapping[tuple[str, str], Sequence[str]], *, named: bool = False, exact: bool = False, joined: bool = False
) -> list[Note]:
    """Merge notes by (dataset, model): those that differ in numbers alone become one, with the range and the names.

    If numbers differ between up to three datasets, each dataset keeps a note; with more datasets, or ``joined``, there
    is one note without examples. A note of all models has no names before it, unless it is ``named`` or numbers differ.
    With ``exact``, notes with different numbers are not merged.

    >>> tie, more, gone = (Note("ties", words) for words in ("3 ranks tie.", "4 ranks tie.", "9 are gone."))
    >>> notes = {("umls", "a"): [tie], ("umls", "b"): [more, gone], ("umls", "c"): []}
    >>> collected_notes(notes)
    ['a, b: 3–4 ranks tie.', 'b: 9 are gone.']
    >>> few = {("nations", "a"): [], ("nations", "b"): [Note("ties", "5 ranks tie.")], ("nations", "c"): []}
    >>> collected_notes({**notes, **few})
    ['a, b on umls: 3–4 ranks tie.', 'b on nations: 5 ranks tie.', 'b on umls: 9 are gone.']
    >>> collected_notes({("umls", "a"): [tie], ("umls", "b"): [more]})
    ['a, b: 3–4 ranks tie.']
    >>> both = {("umls", "a"): [tie], ("umls", "b"): [more], ("nations", "a"): [tie], ("nations", "b"): [tie]}
    >>> collected_notes(both)
    ['a, b on umls: 3–4 ranks tie.', 'nations: 3 ranks tie.']

    Beside a model stands in how many of its seeds the note occurs.

    >>> some = Note("ties", "3 ranks tie.", seeds="in 2 of 3 seeds")
    >>> collected_notes({("umls", "a"): [some], ("umls", "b"): [more]})
    ['a (in 2 of 3 seeds), b: 3–4 ranks tie.']
    """
    kinds: dict[Any, dict[tuple[str, str], list[Note]]] = {}
    joined = joined or len({dataset for dataset, _ in notes}) > MOST_DATASETS
    for (dataset, model), of_place in notes.items():
        for note in map(Note.of, dict.fromkeys(of_place)):
            place = dataset, f"{model} ({note.seeds})" if model and note.seeds else model or note.seeds
            words = Note(note.kind, *note.parts)
            kind = words.general if joined else words
            kinds.setdefault(kind if exact else kind.shape, {}).setdefault(place, []).append(words)
    collected = []
    for kept in kinds.values():
        general = {place: [note.general for note in of_place] for place, of_place in kept.items()}
        of_kind = general if joined and len(_distinct(kept.values())) > 1 else kept
        texts, parts = _distinct(of_kind.values()), dict[Note, list[tuple[str, str]]]()
        for dataset in [""] if joined else dict.fromkeys(dataset for dataset, _ in of_kind):
            here = [place for place in of_kind if joined or place[0] == dataset]
            parts.setdefault(in_ranges(_distinct(of_kind[place] for place in here)), []).extend(here)
        for note, of_part in parts.items():
            several = note not in texts  # a range of several models
            names = _places_in_words(of_part, list(notes), named=named or len(texts) > 1, models_too=several)
            collected.append(note.after(f"{names}: ") if names else note)
    return collected


def _many(names: Sequence[str]) -> str:
    """List the names of datasets; of more than ``MOST_NAMED``, give the number and the first ones."""
    return ", ".join(names) if len(names) <= MOST_NAMED else f"{len(names)} datasets ({first_few(names)})"


def _distinct(several: Iterable[Sequence[Note]]) -> list[Note]:
    return [*dict.fromkeys(chain.from_iterable(several))]


def _places_in_words(
    places: Sequence[tuple[str, str]], every: Sequence[tuple[str, str]], *, named: bool, models_too: bool
) -> str:
    """Write places as datasets, models, or models on datasets; empty if they are ``every`` place, unless ``named``."""
    several = len({dataset for dataset, _ in every}) > 1
    if set(places) == set(every) and not named and (len(every) > 1 or not every[0][1]):
        return ""
    if not several:
        return ", ".join(model for _, model in places)
    datasets_of: dict[tuple[str, ...], list[str]] = {}
    for dataset in dict.fromkeys(dataset for dataset, _ in places):
        models, of_all = (tuple(model for other, model in some if other == dataset) for some in (places, every))
        of_dataset = models == of_all and not (models_too and any(models))
        datasets_of.setdefault(() if of_dataset else models, []).append(dataset)
    listed = {models: _many(datasets) for models, datasets in datasets_of.items()}
    return "; ".join(f"{', '.join(models)} on {names}" if models else names for models, names in listed.items())
