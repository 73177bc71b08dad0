"""Tail frequency: a triple's score is how many train triples have its relation and tail."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.baselines.baseline import Task
from kgeval.baselines.label_baseline import LabelBaseline, TripleRule
from kgeval.data.dataset import Dataset
from kgeval.data.labelled_triples import LabelledTriples
from kgeval.data.queries import Queries
from kgeval.data.triples import Triples


class TailFrequency(LabelBaseline):
    """The count of ``popularity`` for the tail, whichever side a triple is scored on."""

    title: ClassVar[str] = "how often train has relation and tail"
    rule: ClassVar[str] = "count of train triples with this relation and tail"
    source: ClassVar[str] = "Safavi and Koutra, 2020"
    tasks: ClassVar[tuple[Task, ...]] = ("classification",)

    baseline: Literal["tail frequency"] = "tail frequency"
    """counts of tails by relation"""

    def triple_rule(self, dataset: Dataset, valid: LabelledTriples) -> TripleRule:
        """Count the heads of each relation and tail."""
        seen = Queries.of(dataset.split("train"), "head")
        size = len(dataset.entities)
        keys = seen.relations * size + seen.anchors  # ascending: queries come in (relation, anchor) order
        counts = np.diff(seen.offsets)

        def count(triples: Triples) -> Float64Array:
            wanted = triples.relations * size + triples.tails
            place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            return np.where(keys[place] == wanted, counts[place], 0).astype(np.float64)

        return count
