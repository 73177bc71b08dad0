"""``kgeval.classify``: triple classification, the scores of true and false triples by a model and by baselines.

A task reads the labelled triples of valid and test, scores them, and returns a label table. Confidences are another
task (``confidences``), which shares ``score_labelled``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np

from kgeval.base.arrays import Float64Array
from kgeval.base.errors import InputError, ScoreError
from kgeval.data.dataset import Dataset
from kgeval.data.leaks import notes_on_leaks
from kgeval.data.loading import as_dataset
from kgeval.data.provenance import UNKNOWN
from kgeval.data.queries import Queries, Rows
from kgeval.data.triples import EntitySide, Triples, triple_of
from kgeval.data.vocabulary import Labels
from kgeval.metrics.kinds import LabelOptions
from kgeval.models.adapters.calling import ScoreFunction
from kgeval.models.aligned import Aligned
from kgeval.models.alignment import align
from kgeval.models.baselines import label_baselines
from kgeval.models.checkpoints import as_model
from kgeval.models.checks import notes_on_equal_rows, notes_on_repeatability
from kgeval.ranking.corruption.candidates import Candidates
from kgeval.ranking.corruption.generator import ReadOnce
from kgeval.ranking.engine import Engine, UndefinedScore
from kgeval.ranking.kernels import kernel
from kgeval.ranking.ranking_notes import notes_on_unseen
from kgeval.ranking.ranking_task import RankingTask
from kgeval.ranking.tasks.label_table import LabelTable
from kgeval.ranking.tasks.labelled_split import (
    GeneratedNegatives,
    LabelledSplit,
    Negatives,
    NegativesFromFiles,
    labelled_split,
    notes_on_negatives,
)

LABELLED_SPLITS = ("valid", "test")
"""the split that thresholds and calibrations are fitted on, and the one that metrics are computed on"""

Unseen = Literal["error", "drop"]
"""what to do with triples whose entities or relation the model does not know"""


def classify(
    model: ScoreFunction | Any,
    dataset: Dataset | str | Path,
    *,
    entities: Labels | None = None,
    relations: Labels | None = None,
    negatives: NegativesFromFiles | GeneratedNegatives | None = None,
    side: EntitySide = "tail",
    unseen: Unseen = "error",
) -> LabelTable:
    """Score the true and false triples of the validation and the test split.

    Parameters
    ----------
    model
        a model, as ``kgeval.evaluate`` takes it
    dataset
        the graph, with a validation split, or its folder or PyKEEN name
    entities, relations
        the labels of the model's ids, as ``kgeval.evaluate`` takes them
    negatives
        which triples are false: ``NegativesFromFiles`` or ``GeneratedNegatives``; by default those that the labels of
        the dataset call false, or without labels one generated in place of every tail
    side
        the side by which a triple is scored; it changes scores only of models with inverse relations
    unseen
        what to do with triples whose entities or relation the model does not know: ``"error"`` or ``"drop"``

    Raises
    ------
    InputError
        if model, dataset and negatives do not fit together
    ScoreError
        if a score is not finite, with the triple

    Examples
    --------
    >>> from kgeval import summarize
    >>> table = classify(lambda h, r, t: (h * 7 + t) % 5, "nations")
    >>> table
    LabelTable(800 labelled triples of <lambda> on nations)
    >>> summarize(table, ["accuracy"])["accuracy"] > 0.4
    True
    """
    further: dict[str, Any] = {} if negatives is None else {"negatives": negatives}
    classification = Classification(**further, side=side, unseen=unseen)
    return classification(model, dataset, entities=entities, relations=relations)


class Classification(LabelOptions, ReadOnce):
    """Triple classification. It is its own configuration, and a function from model and dataset to a label table."""

    negatives: Negatives = GeneratedNegatives()
    """which triples are false; by default those that the labels of the dataset call false, if it has some"""
    side: EntitySide = "tail"
    """which answer a triple is scored as; it matters to models with inverse relations only"""
    unseen: Unseen = "error"
    """triples with an entity or relation that the model does not know: error, or drop (leave out)"""

    def read(self, dataset: Dataset) -> dict[str, LabelledSplit]:
        if dataset.confidences:
            raise InputError(
                f"dataset {dataset.name} has confidences, not truth values. Predict these instead: kgeval evaluate "
                "--task confidences (in a configuration kind: confidences)."
            )
        parts = {split: labelled_split(dataset, split, self.source(dataset)) for split in LABELLED_SPLITS}
        for split, part in parts.items():
            if part.is_positive.all():
                raise InputError(f"no {split} negatives: classification needs both true and false triples.")
        return parts

    def source(self, dataset: Dataset) -> Negatives | None:
        """Return the source of the negatives; None if they are those that the dataset calls false."""
        return None if dataset.negatives and "negatives" not in self.model_fields_set else self.negatives

    def __call__(
        self, model: Any, dataset: Dataset | str | Path, *, title: str | None = None, **labels: Labels | None
    ) -> LabelTable:
        """Score the true and false triples of validation and test; see :func:`classify`.

        ``title`` is the name of the model in the result, by default the model's own title. ``labels`` are
        ``entities`` and ``relations``, the labels of the model's ids.
        """
        return score_labelled(self, model, as_dataset(dataset), title, **labels)[1]


def score_labelled(
    task: Any, model: Any, dataset: Dataset, title: str | None, **labels: Labels | None
) -> tuple[Aligned, LabelTable]:
    """Score the triples of a Classification or Confidences by a model and baselines; return the aligned model too."""
    parts: dict[str, LabelledSplit] = task.content(dataset)
    scorer, baselines = align(as_model(model, dataset), dataset, **labels), label_baselines(task.kind)
    notes = [*scorer.notes, *dataset.notes]
    for split, part in parts.items():
        notes += notes_on_leaks(dataset, split)
        notes += notes_on_negatives(dataset, split, part)
        keep = scorer.knows(part.rows.triples)
        notes += notes_on_unseen(
            dataset, part.rows.triples, keep, task.unseen, noun=f"labelled {split} triple", ranks=False
        )
        parts = {**parts, split: LabelledSplit(part.rows[keep], part.is_positive[keep], part.known[keep])}
    triples = Triples(np.concatenate([part.rows.triples.ids for part in parts.values()]))
    notes += notes_on_equal_rows(scorer.scorer, [task.side]) + notes_on_repeatability(scorer, triples, [task.side])
    scores: dict[str, Float64Array] = {"score": score_triples(scorer, triples, dataset, side=task.side)}
    scores |= {it.baseline: it.triple_rule(dataset, parts["valid"].rows)(triples) for it in baselines}
    unsaid = "of the dataset's labels" if dataset.negatives else UNKNOWN
    table = LabelTable.build(
        dataset,
        parts,
        scores,
        notes=tuple(notes),
        thresholds={it.baseline: it.threshold for it in baselines if it.threshold is not None},
        model=title or scorer.title,
        negatives=source.describe(dataset) if (source := task.source(dataset)) else unsaid,
    )
    return scorer, table


def score_triples(scorer: Aligned, triples: Triples, dataset: Dataset, *, side: EntitySide = "tail") -> Float64Array:
    """Score triples that the scorer knows; float64[triple].

    Each triple is scored as the answer of a ranking task without candidates. So its score is, bit for bit, the number
    that ranks are computed from: the canonical score of vectors (float64, summed in a fixed order), or the score that
    the model returns. A model with inverse relations scores a triple differently as the answer of a tail query and of a
    head query: ``side`` chooses one.

    >>> from kgeval import load_dataset
    >>> from kgeval.models.alignment import align
    >>> data = load_dataset("nations")
    >>> score_triples(align(lambda h, r, t: h - t, data), Triples.of([(3, 0, 1), (0, 1, 5)]), data)
    array([ 2., -5.])
    """
    queries = Queries.of(triples, side)
    no_rows = Rows.sized(np.zeros(len(queries), np.int64), np.empty(0, np.int64))
    task = RankingTask.of(queries, Candidates(no_rows), no_rows)
    try:
        scores = Engine(kernel("compiled")).rank(scorer, task).scores[np.argsort(queries.triples)]
    except UndefinedScore as error:
        triple = dataset.triple(*triple_of(side, error.anchor, error.relation, error.candidate))
        raise ScoreError(f"the model's score of {triple} is NaN: it cannot be classified. Fix the model.") from error
    if not np.isfinite(scores).all():
        row = int(np.argmax(~np.isfinite(scores)))
        triple = dataset.triple(*triples.ids[row])
        raise ScoreError(f"the model's score of {triple} is {scores[row]}: labelled triples need finite scores.")
    return scores
