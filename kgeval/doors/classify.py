"""``kgeval.classify``: score true and false triples, which metrics of classification are computed from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kgeval.data.dataset import Dataset
from kgeval.data.triples import EntitySide
from kgeval.data.vocabulary import Labels
from kgeval.tasks.classification import Classification, Unseen
from kgeval.tasks.labelled_split import GeneratedNegatives, LabelTable, NegativesFromFiles


def classify(
    model: Any,
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
        whatever ``kgeval.evaluate`` takes
    dataset
        the graph, with a validation split, or its folder or PyKEEN name
    entities, relations
        the labels of the model's ids, as ``kgeval.evaluate`` takes them
    negatives
        which triples are false: ``NegativesFromFiles``, or ``GeneratedNegatives`` (the default: one in place of every
        tail)
    side
        which answer a triple is scored as, which matters to models with inverse relations only
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
    classification = Classification(negatives=negatives or GeneratedNegatives(), side=side, unseen=unseen)
    return classification(model, dataset, entities=entities, relations=relations)
