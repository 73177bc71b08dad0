"""One model on one dataset: the base of ``ModelRanking`` and ``ModelPredictions``.

It refuses NaN scores by their labels, and says in words which entities compete.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.errors import ScoreError
from kgeval.data import History
from kgeval.data.dataset import Dataset
from kgeval.data.triples import triple_of
from kgeval.models.aligned import Aligned
from kgeval.models.baselines import FittedBaseline
from kgeval.ranking.corruption.generator import CorruptionGenerator
from kgeval.ranking.engine import UndefinedScore
from kgeval.ranking.evaluation import Evaluation


@dataclass(frozen=True, eq=False)
class ModelOnDataset:
    """One model on one dataset, and how its scores are computed: what rankings and predictions share."""

    scorer: Aligned
    dataset: Dataset
    evaluation: Evaluation
    """the settings; their ``sides`` are those that the model answers"""

    @property
    def history(self) -> History | None:
        """The facts before a query's time that the model had in view: a baseline's own, or what the user says."""
        source = self.scorer.source
        return source.history if isinstance(source, FittedBaseline) else self.evaluation.history

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
        """Say which entities compete; ``sizes``, int64[query], count candidates; ``allowed`` is bool[entity]."""
        few = "" if allowed.all() else f", of which those among {int(allowed.sum()):,} entities compete"
        few += "" if self.scorer.types is None else ", of which those of the answer's type compete"
        return corruption.describe(self.dataset, sizes) + few
