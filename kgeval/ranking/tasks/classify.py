"""``kgeval.classify``: score true and false triples, for metrics of classification."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kgeval.data.dataset import Dataset
from kgeval.data.triples import EntitySide
from kgeval.data.vocabulary import Labels
from kgeval.ranking.tasks.classification import Classification, Unseen
from kgeval.ranking.tasks.labelled_split import GeneratedNegatives, LabelTable, NegativesFromFiles


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
    given: dict[str, Any] = {} if negatives is None else {"negatives": negatives}
    classification = Classification(**given, side=side, unseen=unseen)
    return classification(model, dataset, entities=entities, relations=relations)
