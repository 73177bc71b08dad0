"""Match the ids of a model with those of a dataset, by label wherever there are labels.

Ids without labels are taken as those of the dataset, with a note. Where they come from files, and kgeval or PyKEEN made
up the dataset's ids, they are refused: every rank would be that of another entity. So are the ids of one framework's
files on a dataset in the files of another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from kgeval.data.dataset import Dataset
from kgeval.data.vocabulary import Labels, Vocabulary
from kgeval.errors import InputError, UsageError
from kgeval.scorers.adapters.array_scorers import CallableScorer, TripleArrays
from kgeval.scorers.adapters.live_models import PyKEENScorer, is_pykeen_model, vectors_of_pyg
from kgeval.scorers.adapters.prediction_lists import PredictionLists
from kgeval.scorers.adapters.query_scorer import QueryScorer
from kgeval.scorers.aligned import Aligned
from kgeval.scorers.matched_ids import (
    asks_for_times,
    labelled,
    labels_of_pykeen,
    match_ids,
    match_times,
    mode_of_pykeen,
    with_times,
)
from kgeval.scorers.scorer import LabelledModel, Scorer


def align(
    model: Scorer | Callable[..., Any] | Any,
    dataset: Dataset,
    *,
    entities: Labels | None = None,
    relations: Labels | None = None,
    times: Labels | None = None,
) -> Aligned:
    """Make a scorer of a model, a scorer or a callable, and align it with a dataset.

    The labels are those of the model's ids, if it has none of its own. Entities that only the model knows are left out.
    """
    source = with_times(_labelled_source(model, dataset, entities, relations), times)
    labels, scorer = _labels(source, dataset), source.model
    entity_rows, entity_notes = match_ids(dataset, dataset.entities, labels[0], scorer.num_entities)
    # Arrays of triples speak only of the relations that these name.
    num_relations = len(dataset.relations) if isinstance(scorer, TripleArrays) else scorer.num_relations
    relation_rows, relation_notes = match_ids(dataset, dataset.relations, labels[1], num_relations)
    _refuse_foreign_ids(source, dataset)
    time_rows, time_notes = match_times(source, dataset)
    notes = (*entity_notes, *relation_notes, *time_notes)
    unlabelled = ["entity"] if labels[0] is None and not entity_notes else []
    unlabelled += ["relation"] if labels[1] is None and not relation_notes else []
    both = len(unlabelled) == 2
    unlabelled += ["time"] if asks_for_times(source, dataset) else []
    if unlabelled:
        kind = "" if both else f"{' and '.join(unlabelled)} "
        notes += (f"the model has no {kind}labels; its {kind}ids were taken as those of dataset {dataset.name}.",)
    notes += scorer.notes if isinstance(scorer, PredictionLists) else ()
    return Aligned(scorer, entity_rows, relation_rows, notes, source, time_rows)


def _labels(scorer: LabelledModel, dataset: Dataset) -> tuple[Vocabulary | None, Vocabulary | None]:
    """Take a model's own labels, or those of the dataset in the order that the model's framework gives ids in."""
    if scorer.numbering != "sorted":
        return scorer.entities, scorer.relations
    model = scorer.model
    entities = scorer.entities or sorted_labels(dataset, dataset.entities, model.num_entities)
    return entities, scorer.relations or sorted_labels(dataset, dataset.relations, model.num_relations)


def sorted_labels(dataset: Dataset, labels: Vocabulary, size: int) -> Vocabulary:
    """Sort the labels, of entities or of relations, that occur in any split; the model has ``size`` ids."""
    columns = [1] if labels.kind == "relation" else [0, 2]
    used = np.unique(np.concatenate([triples.ids[:, columns].ravel() for triples in dataset.splits.values()]))
    if len(used) != size:
        raise UsageError(
            f"the model has {size} {labels.kind} ids, given to sorted labels, and dataset {dataset.name} has "
            f"{len(used)} in its triples: they cannot be matched. Is it the right dataset?"
        )
    return Vocabulary(sorted(labels[int(index)] for index in used), labels.kind)


def _refuse_foreign_ids(source: LabelledModel, dataset: Dataset) -> None:
    """Refuse ids of files on a dataset that numbers its labels otherwise; a single one has no order."""
    # kgeval and PyKEEN make up the ids of datasets whose files have none.
    giver, model, implicit = dataset.id_source, source.model, dataset.id_source in ("kgeval", "PyKEEN")
    of_framework = source.numbering == "files"
    if giver is None or giver in source.layouts or not (of_framework or (source.numbering == "unknown" and implicit)):
        return
    whose = f"{giver}'s own" if implicit else f"those of a folder in the layout {giver}"
    seen = "its ids are those of its framework's dataset folder" if of_framework else "no file tells what its ids are"
    for labels, model_labels, size in (
        (dataset.entities, source.entities, model.num_entities),
        (dataset.relations, source.relations, model.num_relations),
    ):
        if model_labels is None and max(size, len(labels)) > 1:
            raise UsageError(
                f"the model has no {labels.kind} labels: {seen}, and the "
                f"ids of dataset {dataset.name} are {whose}. Name the folder that the model was "
                "trained on with the option labels=FOLDER (for kgeval convert too), or evaluate on that folder. The "
                "labels of arrays of scores or vectors may lie beside them: entities.txt, a label a line. If the "
                f"model's ids are those of {dataset.name}, say so: the option ids=dataset (--option ids=dataset, "
                "in a configuration options: {ids: dataset}, "
                f"in Python load_checkpoint(…, ids='dataset'))."
            )


def _labelled_source(model: Any, dataset: Dataset, entities: Labels | None, relations: Labels | None) -> LabelledModel:
    if isinstance(model, Aligned):
        return labelled(model.source, entities, relations)
    if isinstance(model, PyKEENScorer) or is_pykeen_model(model):
        live = model if isinstance(model, PyKEENScorer) else PyKEENScorer(model)
        live = replace(live, mode=live.mode or mode_of_pykeen(dataset, live.model))
        given = {"entities": entities, "relations": relations}
        own = {kind: labels for kind, labels in given.items() if labels is not None}
        return labelled(live, **labels_of_pykeen(dataset, live) | own)
    if isinstance(model, QueryScorer):
        entities = None if entities is None else Vocabulary.of(entities)
        relations = None if relations is None else Vocabulary.of(relations, "relation")
        model = model.of_size(len(entities or dataset.entities), len(relations or dataset.relations))
    if isinstance(model, Scorer):
        return labelled(model, entities, relations)
    if (vectors := vectors_of_pyg(model)) is not None:
        return labelled(vectors, entities, relations)
    if callable(model):
        # A module may tell how many entities it has, as those of PyTorch Geometric do.
        sizes = [getattr(model, name, None) for name in ("num_entities", "num_nodes")]
        default = len(dataset.entities) if entities is None else None
        num_entities = next((size for size in sizes if isinstance(size, int)), default)
        num_relations = len(dataset.relations) if relations is None else None
        return labelled(CallableScorer(model, num_entities, num_relations, entities=entities, relations=relations))
    raise InputError(
        f"cannot score with a {type(model).__name__}: give a checkpoint (kgeval.load_checkpoint), a PyKEEN model, "
        f"a callable f(heads, relations, tails) -> scores, or a score table."
    )
