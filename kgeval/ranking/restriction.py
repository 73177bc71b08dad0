"""Restricted evaluations: only triples of some entities or relations are ranked, and only those entities compete."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kgeval.arrays import BoolArray, IntArray
from kgeval.data.dataset import Dataset
from kgeval.data.entity_types import read_listed
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import InputError, counted
from kgeval.ranking.evaluation import Evaluation


def restriction(
    dataset: Dataset, evaluation: Evaluation, entities: IntArray | None = None
) -> tuple[BoolArray, BoolArray, list[str]]:
    """Return which entities may compete (bool[entity]), which triples are ranked (bool[triple]), and notes.

    As in PyKEEN, a triple of another head or tail is left out, and other relations still filter. ``entities`` are the
    ids of those that compete, where they are not named by their labels.

    Raises
    ------
    InputError
        if no triple is left; if triples that are left out were to be ranked last
    """
    notes: list[str] = []

    def chosen(name: str, labels: Vocabulary, ids: IntArray | None = None) -> BoolArray:
        if (named := getattr(evaluation, name)) is not None:
            ids, unknown = read_listed(Path(named) if isinstance(named, str) else named, labels)
            what = f"{name}: {counted(unknown, 'label')} of the list are not in the dataset, and were left out."
            notes.extend([what] if unknown else [])
        return np.ones(len(labels), np.bool_) if ids is None else np.isin(np.arange(len(labels)), ids)

    allowed = chosen("restrict_entities_to", dataset.entities, entities)
    relations = chosen("restrict_relations_to", dataset.relations)
    triples = dataset.split(evaluation.split)
    kept = allowed[triples.heads] & allowed[triples.tails] & relations[triples.relations]
    if kept.all():
        return allowed, kept, notes
    what = f"{counted(int((~kept).sum()), f'{evaluation.split} triple')} with other entities or relations"
    if evaluation.unseen == "worst" or not kept.any():
        worst = "unseen: worst would rank them last. Set unseen: drop or error."
        end = "Nothing is left to rank." if not kept.any() else worst
        raise InputError(f"the evaluation is restricted, which leaves out {what}. {end}")
    return allowed, kept, [*notes, f"left out (restricted evaluation): {what}."]
