"""Probabilities of predictions: calibrated by the validation triples of a stored classification of the same model.

``kgeval predict --probabilities RUN`` calls ``read_calibration``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from kgeval.base.errors import InputError, TableError
from kgeval.base.files import exists_safely, suggest_paths
from kgeval.base.notes import Note
from kgeval.data.dataset import Dataset
from kgeval.data.provenance import percent
from kgeval.data.triples import EntitySide
from kgeval.metrics.labels.fitted import calibrator, threshold_of_precision
from kgeval.models.aligned import Aligned
from kgeval.ranking.predictions.prediction_table import PredictionTable, calibrated
from kgeval.ranking.table_triples import triples_in
from kgeval.ranking.tasks.classification import Classification, score_triples
from kgeval.runs.stored import read_request
from kgeval.stored.stored_run import StoredRun

COMPARED = 100
"""the number of validation triples whose stored scores the model has to give again"""


def read_calibration(
    path: Path, scorer: Aligned, dataset: Dataset, precision: float | None
) -> Callable[[PredictionTable], PredictionTable]:
    """Return a function that adds calibrated probabilities to a table of predictions.

    With a ``precision``, it drops the predictions whose score is too low to reach it on the validation triples.

    Raises
    ------
    InputError
        if ``path`` is not a run of a classification, or is one of another model
    """
    if not exists_safely(path):
        raise InputError(f"no such run directory {str(path)!r}. {suggest_paths(path)}".strip())
    run = StoredRun(path)
    run.refuse_unreadable()
    if run.keeps != "classification":
        raise InputError(f"{str(path)!r} is not a run of kgeval classify, whose validation triples give probabilities.")
    labels, task = run.labels(), read_request(run).task
    task = task if isinstance(task, Classification) else Classification()
    some = replace(labels, data=labels.where(labels.column("split") == "valid").data.slice(0, COMPARED))
    try:
        triples = triples_in(dataset, some)
    except TableError as error:
        raise InputError(f"{str(path)!r}: {error}") from error
    opposite: EntitySide = "head" if task.side == "tail" else "tail"
    scores, others = (score_triples(scorer, triples, dataset, side=side) for side in (task.side, opposite))
    if not np.allclose(scores, some.column("score")):
        why = "its scores are of another model or dataset"
        raise InputError(f"{str(path)!r}: {why}. Run kgeval classify for this model.")
    scored = labels.scored("valid")
    true = f"{percent(scored.is_true.mean())} of {len(scored):,} validation triples"
    like = f"probability: of triples as in {str(path)!r}, where {true} are true. Among all candidates fewer are true."
    unlike = f"probability: fitted for the {task.side}s of triples, and this model scores {opposite}s differently."
    calibrate, least = calibrator(scored, task.calibration), -np.inf
    notes = [Note("scores", like), *run.changes]
    if precision is not None:
        least = threshold_of_precision(scored, precision)
        support = f"which {int((scored.scores >= least).sum()):,} validation triples have"
        fact = f"only predictions with a score of at least {least:.6g} are kept, {support}"
        notes.append(Note("left-out", f"precision {precision:g}: {fact}."))

    def with_probabilities(table: PredictionTable) -> PredictionTable:
        others_too = not np.allclose(scores, others) and (table.column("side") == opposite).any()
        found = calibrated(table, calibrate, least)
        return replace(found, notes=(*notes, *([Note("scores", unlike)] if others_too else []), *found.notes))

    return with_probabilities
