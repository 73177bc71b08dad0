"""The restriction of an evaluation: which entities compete and which triples are ranked.

``model_ranking`` and ``predictions/predict`` call it before anything is scored. The settings are
``restrict_entities_to`` and ``restrict_relations_to``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.errors import InputError, did_you_mean, first_few
from kgeval.base.notes import Example, Note, amount
from kgeval.base.settings import is_file
from kgeval.data.dataset import Dataset
from kgeval.data.labelled_triples import read_listed
from kgeval.data.vocabulary import Vocabulary
from kgeval.ranking.evaluation import Evaluation


def restriction(
    dataset: Dataset, evaluation: Evaluation, entities: IntArray | None = None
) -> tuple[BoolArray, BoolArray, list[str]]:
    """Return which entities may compete (bool[entity]), which triples are ranked (bool[triple]), and notes.

    As in PyKEEN, a triple of another head or tail is left out, and other relations still filter. ``entities`` are the
    ids of the entities that compete, if the settings do not name them by label.

    Raises
    ------
    InputError
        if a setting names neither a file nor a label, or no triple is left; if triples are left out and ``unseen`` is
        worst
    """
    notes: list[str] = []

    def chosen(name: str, labels: Vocabulary, ids: IntArray | None = None) -> BoolArray:
        if (named := getattr(evaluation, name)) is not None:
            source = _source(name, named, labels, notes) if isinstance(named, str) else named
            ids, unknown = read_listed(source, labels)
            if unknown:
                count, few = amount(len(unknown), "label"), Example(f" ({first_few(unknown)})")
                notes.append(Note("left-out", f"{name}: ", count, " not in the dataset: left out", few, "."))
        return np.ones(len(labels), np.bool_) if ids is None else np.isin(np.arange(len(labels)), ids)

    allowed = chosen("restrict_entities_to", dataset.entities, entities)
    relations = chosen("restrict_relations_to", dataset.relations)
    triples = dataset.split(evaluation.split)
    kept = allowed[triples.heads] & allowed[triples.tails] & relations[triples.relations]
    if kept.all():
        return allowed, kept, notes
    triples_out = amount(int((~kept).sum()), f"{evaluation.split} triple")
    what = Note("left-out", triples_out, " with other entities or relations")
    if evaluation.unseen == "worst" or not kept.any():
        worst = "unseen: worst would rank them last. Set unseen: drop or error."
        end = "Nothing is left to rank." if not kept.any() else worst
        raise InputError(f"the evaluation is restricted, which leaves out {what}. {end}")
    return allowed, kept, [*notes, Note(what.kind, "left out (restricted evaluation): ", *what.parts, ".")]


def _source(name: str, text: str, labels: Vocabulary, notes: list[str]) -> Path | list[str]:
    """Read a setting's text as the name of a file or, if there is no such file, as a label."""
    if is_file(text):
        if text in labels:
            file, label = Example.path(repr(text)), Example.path(f"[{text}]")
            cure = f" for the {labels.kind} of this name."
            notes.append(Note("files", f"{name}: the file ", file, " was read. Give ", label, cure))
        return Path(text)
    if text not in labels:
        hint = did_you_mean(text, labels) if len(labels) <= 100_000 else ""
        raise InputError(f"{name}: no such file {text!r}, and no {labels.kind} of the dataset. {hint}".strip())
    return [text]
