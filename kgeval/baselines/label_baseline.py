"""Baselines of labelled triples: rules that score triples, beside every model of a classification or of confidences."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

from kgeval.arrays import Float64Array
from kgeval.baselines.baseline import Baseline, Task, baselines
from kgeval.data.dataset import Dataset
from kgeval.data.labelled_triples import LabelledTriples
from kgeval.data.triples import Triples

TripleRule = Callable[[Triples], Float64Array]
"""triples -> their scores, float64[triple]"""


class LabelBaseline(Baseline):
    """A baseline that scores triples, not the answers of queries."""

    threshold: ClassVar[float | None] = None
    """the score from which on it calls a triple true; by default each relation's best of validation"""

    @abstractmethod
    def triple_rule(self, dataset: Dataset, valid: LabelledTriples) -> TripleRule:
        """Return the rule, which may look at train and at the labelled triples of validation."""


def label_baselines(task: Task) -> tuple[LabelBaseline, ...]:
    """List the baselines of a task on labelled triples.

    >>> [it.baseline for it in label_baselines("classification")]
    ['relation majority', 'tail frequency']
    """
    found = [kind() for kind in baselines().values() if issubclass(kind, LabelBaseline) and task in kind.tasks]
    return tuple(found)
