"""The label table: labelled triples with their scores, from which metrics of labels and confidences are computed.

``kgeval.classify`` makes one, ``kgeval.summarize`` reads it, ``labels.parquet`` stores it. The baselines of the task
are columns beside the score of the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from kgeval.base.arrays import Float64Array
from kgeval.base.assumptions import Assumption
from kgeval.base.errors import counted
from kgeval.base.parquet_tables import LABELS, StoredTable
from kgeval.data.columns import TRIPLE
from kgeval.data.dataset import Dataset
from kgeval.data.fingerprint import fingerprint
from kgeval.data.provenance import UNKNOWN, LabelProvenance, subject_of
from kgeval.metrics.labels.scored_labels import ScoredLabels
from kgeval.ranking.tasks.labelled_split import LabelledSplit

SCHEMA = pa.schema(
    [
        ("split", LABELS),
        *((name, pa.int64()) for name in TRIPLE),
        ("label", pa.float64()),
        ("is_positive", pa.bool_()),
        ("known", pa.bool_()),
        ("score", pa.float64()),
        *((f"{name}_label", LABELS) for name in TRIPLE),
    ]
)
"""``label``: 1, 0 or a confidence; ``is_positive``: whether the triple is one of the split, not a negative;
``known``: whether any split contains it; ``score``: the model's. Each baseline adds a column of its scores, under its
name."""


@dataclass(frozen=True, eq=False, repr=False)
class LabelTable(StoredTable):
    """Labelled triples with the scores of a model, and of each baseline in a further column."""

    _SCHEMA = SCHEMA
    _FILE = "labels.parquet"
    _KIND = "label table"
    _NOUN = ("labelled triple", "labelled triples")
    _SHOWN = (*(f"{name}_label" for name in TRIPLE), "split", "label", "score")
    _KEY = "kgeval_labels"

    notes: tuple[str, ...] = ()
    """what a reader of the results should know"""
    thresholds: Mapping[str, float] = field(default_factory=dict)
    """the constant thresholds of baselines, by name; all other thresholds are fitted on validation"""
    model: str = UNKNOWN
    """the name of the model"""
    dataset: str = UNKNOWN
    """the name of the dataset"""
    negatives: str = UNKNOWN
    """the origin of the false test triples, as in ``of file test_negatives.txt``"""
    assumptions: tuple[Assumption, ...] = ()
    """how the dataset was read where another reading is possible"""
    fingerprint: str = ""
    """which graph it is, as ``kgeval.data.fingerprint`` tells graphs apart; empty if that is not known"""

    def _brief(self) -> str:
        return f"{counted(len(self), 'labelled triple')} of {subject_of(self.model, self.dataset)}"

    @property
    def baselines(self) -> Mapping[str, float | None]:
        """The baselines of the table, each with the least score of a triple that it classifies as true, if any."""
        return {field.name: self.thresholds.get(field.name) for field in self.further if field.type == pa.float64()}

    @property
    def provenance(self) -> LabelProvenance:
        """The model, dataset, number of test triples and origin of the negatives."""
        test = self.column("split") == "test"
        false = int((test & ~self.column("is_positive")).sum())
        origin = "of unknown origin" if self.negatives == UNKNOWN else self.negatives
        return LabelProvenance(
            model=self.model,
            dataset=self.dataset,
            split="test",
            triples=int(test.sum()),
            negatives=f"{false:,} {origin}" if false else "none",
            assumptions=self.assumptions,
        )

    def scored(self, split: str, scores: str = "score") -> ScoredLabels:
        """Return the triples of one split with the scores of the model or of a baseline."""
        rows = ScoredLabels(self.column(scores), self.column("label"), self.column("relation_label").astype(str))
        return rows[self.column("split") == split]

    @classmethod
    def build(
        cls, dataset: Dataset, parts: Mapping[str, LabelledSplit], scores: Mapping[str, Float64Array], **about: Any
    ) -> LabelTable:
        """Make a table of the labelled triples of all splits, one after the other; ``scores`` are float64[triple]."""
        ids = np.concatenate([part.rows.triples.ids for part in parts.values()])
        codes = np.repeat(np.arange(len(parts), dtype=np.int32), [len(part.rows) for part in parts.values()])
        labels = dataset.entities, dataset.relations, dataset.entities
        columns = {
            "split": pa.DictionaryArray.from_arrays(codes, list(parts)),
            **dict(zip(TRIPLE, np.ascontiguousarray(ids.T), strict=True)),
            "label": np.concatenate([part.rows.labels for part in parts.values()]),
            "is_positive": np.concatenate([part.is_positive for part in parts.values()]),
            "known": np.concatenate([part.known for part in parts.values()]),
            **scores,
            **{f"{name}_label": labels[place].column(ids[:, place]) for place, name in enumerate(TRIPLE)},
        }
        return cls(
            pa.table(columns),
            dataset=dataset.name,
            fingerprint=fingerprint(dataset),
            assumptions=dataset.assumptions,
            **about,
        )
