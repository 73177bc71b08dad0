"""One model on one dataset: what its ranking and its predictions share, such as the restriction of an evaluation.

``ModelRanking`` and ``ModelPredictions`` are a ``ModelOnDataset``. A restricted evaluation ranks only triples of some
entities or relations, and only those entities compete.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.errors import InputError, ScoreError, counted, did_you_mean, first_few
from kgeval.base.settings import is_file
from kgeval.data.dataset import Dataset
from kgeval.data.entity_types import read_listed
from kgeval.data.triples import triple_of
from kgeval.data.vocabulary import Vocabulary
from kgeval.models.aligned import Aligned
from kgeval.ranking.corruption.generator import CorruptionGenerator
from kgeval.ranking.corruption.unsampled import unknown_labels
from kgeval.ranking.engine import UndefinedScore
from kgeval.ranking.evaluation import Evaluation


@dataclass(frozen=True, eq=False)
class ModelOnDataset:
    """One model on one dataset, and how its scores are computed: what rankings and predictions share."""

    scorer: Aligned
    dataset: Dataset
    evaluation: Evaluation
    """with the sides that the model answers"""

    @contextmanager
    def refusing_nan(self) -> Iterator[None]:
        """Refuse a score that is NaN, with its query and candidate by their labels."""
        try:
            yield
        except UndefinedScore as error:
            query = self.dataset.triple(*triple_of(error.side, error.anchor, error.relation, -1))
            candidate = self.dataset.display_label(self.dataset.answers_of(error.side)[error.candidate])
            raise ScoreError(
                f"the model's score is NaN for {query}, candidate {candidate}: a rank is undefined. "
                "Fix the model, or rank such scores last: nan='worst' (--nan worst)."
            ) from error

    def candidates_in_words(self, corruption: CorruptionGenerator, sizes: IntArray, allowed: BoolArray) -> str:
        """Say which entities compete, of as many candidates as each query has, before any that the model lacks."""
        few = "" if allowed.all() else f", of which those among {int(allowed.sum()):,} entities compete"
        few += "" if self.scorer.types is None else ", of which those of the answer's type compete"
        return corruption.describe(self.dataset, sizes) + few


def restriction(
    dataset: Dataset, evaluation: Evaluation, entities: IntArray | None = None
) -> tuple[BoolArray, BoolArray, list[str]]:
    """Return which entities may compete (bool[entity]), which triples are ranked (bool[triple]), and notes.

    As in PyKEEN, a triple of another head or tail is left out, and other relations still filter. ``entities`` are the
    ids of those that compete, where they are not named by their labels.

    Raises
    ------
    InputError
        if a text is no file and no label, or no triple is left; if triples that are left out were to be ranked last
    """
    notes: list[str] = []

    def chosen(name: str, labels: Vocabulary, ids: IntArray | None = None) -> BoolArray:
        if (named := getattr(evaluation, name)) is not None:
            source = _source(name, named, labels, notes) if isinstance(named, str) else named
            ids, unknown = read_listed(source, labels)
            if unknown:
                left_out = first_few(unknown_labels(source, labels))
                notes.append(f"{name}: {counted(unknown, 'label')} not in the dataset: left out ({left_out}).")
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


def _source(name: str, text: str, labels: Vocabulary, notes: list[str]) -> Path | list[str]:
    """Take a text for a file or, where there is none of that name, for a label."""
    if is_file(text):
        if text in labels:
            notes.append(f"{name}: the file {text!r} was read. Give [{text}] for the {labels.kind} of this name.")
        return Path(text)
    if text not in labels:
        hint = did_you_mean(text, labels) if len(labels) <= 100_000 else ""
        raise InputError(f"{name}: no such file {text!r}, and no {labels.kind} of the dataset. {hint}".strip())
    return [text]
