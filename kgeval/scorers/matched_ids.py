"""Labels and ids: the labels of a model's ids, and which of them each entity of a dataset has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pyarrow as pa

from kgeval.arrays import IntArray
from kgeval.data.dataset import Dataset
from kgeval.data.vocabulary import Labels, Vocabulary
from kgeval.errors import CheckpointError, UsageError, counted
from kgeval.scorers.adapters.array_scorers import TripleArrays
from kgeval.scorers.scorer import LabelledModel, Numbering, Scorer, VectorScorer

MatchedIds = tuple[IntArray, tuple[str, ...]]
"""int64[label of the dataset], its id in the model, -1 where the model does not know it; and notes"""


def match_ids(dataset: Dataset, labels: Vocabulary, model_labels: Vocabulary | None, size: int) -> MatchedIds:
    """Match the entities, relations or times of a model that has ``size`` of them with those of a dataset."""
    if model_labels is labels:
        return np.arange(size), ()
    if labels.kind == "entity" and dataset.training_graph is not None:
        _refuse_training_entities(dataset, dataset.training_graph, model_labels, size)
    if model_labels is not None:
        rows = model_labels.ids(labels.labels)
        if not (rows >= 0).any():
            raise UsageError(
                f"no {labels.kind} label of the model occurs in dataset {dataset.name}: the model has "
                f"{model_labels[0]!r}, the dataset {labels[0]!r}. Is it the right dataset?"
            )
        unknown, of_entities = int((rows < 0).sum()), labels.kind == "entity"
        all_labels = counted(len(labels), labels.kind, "entities" if of_entities else "")
        end = ": only the entities that it knows are candidates." if of_entities else "."
        note = f"the model does not know {unknown:,} of the {all_labels} of {dataset.name}{end}"
        return rows, (note,) if unknown else ()
    if size == len(labels):
        return np.arange(size), ()
    # Readers of labelled triples give the first ids to what is in train.
    in_train = np.unique(dataset.train.ids[:, [1] if labels.kind == "relation" else [0, 2]])
    if size == len(in_train) and np.array_equal(in_train, np.arange(size)):
        rows = np.where(np.arange(len(labels)) < size, np.arange(len(labels)), -1)
        return rows, (f"the model has no {labels.kind} labels; its {size} ids were taken as those of train.",)
    raise UsageError(
        f"the model has {size} {labels.kind} ids and no labels, dataset {dataset.name} has {len(labels)}: "
        "they cannot be matched. Give the model its labels, for instance as entities.tsv and relations.tsv beside it; "
        f"in Python as entities=[…] and relations=[…].{hint_on_inverses(labels.kind, size, len(labels))}"
    )


def hint_on_inverses(kind: str, size: int, labels: int) -> str:
    if kind != "relation" or size != 2 * labels:
        return ""
    return f" {size} is twice {labels}: if the second half are inverse relations, say so: the option reciprocal=true."


def _refuse_training_entities(dataset: Dataset, training: Dataset, model_labels: Vocabulary | None, size: int) -> None:
    """Refuse a model of the entities that an inductive dataset's models learn from, none of which is asked for."""
    graph = f"the training graph {training.name} ({len(training.entities):,} entities)"
    of_inference = f"those of the inference graph {dataset.name} ({len(dataset.entities):,} entities)"
    what = "Inductive evaluation takes a model that scores new entities: of vectors, those that it makes of them."
    if model_labels is None:
        if size == len(training.entities):
            raise UsageError(
                f"the model has {size:,} entity ids and no labels: they may be those of {graph}, and what is ranked is "
                f"{of_inference}. {what} Give it their labels: in Python as entities=dataset.entities, beside a file "
                "as entities.tsv."
            )
        return
    learned, inferred = ((model_labels.ids(it.entities.labels) >= 0).mean() for it in (training, dataset))
    if inferred < 0.5 < learned:
        raise UsageError(f"the model's entities are those of {graph}, and what is ranked is {of_inference}. {what}")


def match_times(source: LabelledModel, dataset: Dataset) -> MatchedIds | tuple[None, tuple[str, ...]]:
    """Match the times of a temporal model, by label or, since times have an order, by their place in it."""
    labels: Vocabulary | None = getattr(source, "times", None)
    size = getattr(source.model, "num_times", None) if labels is None else len(labels)
    if size is None:
        return None, ()
    if dataset.times is None:
        raise UsageError(
            f"the model scores facts at a time, and the triples of dataset {dataset.name} have none. Give it a graph "
            "with a fourth column, the time of each fact."
        )
    if labels is None and size != len(dataset.times):
        raise UsageError(
            f"the model has {size} times and no labels of them, dataset {dataset.name} has {len(dataset.times)}: they "
            "cannot be matched. Put the file ts_id (label<TAB>id) beside the model, or in Python time_labels=[…]."
        )
    return match_ids(dataset, dataset.times, labels, size)


def asks_for_times(source: LabelledModel, dataset: Dataset) -> bool:
    """Whether a model gets the dataset's own ids of times: nothing labels its times, or says that they are sorted."""
    if dataset.times is None or getattr(source, "times", None) is not None or source.numbering == "sorted":
        return False
    return getattr(source.model, "num_times", None) is not None or bool(getattr(source.model, "takes_times", False))


@dataclass(frozen=True, eq=False)
class LabelledScorer:
    """A scorer with the labels of its ids, where it has any."""

    model: Scorer | VectorScorer
    entities: Vocabulary | None
    relations: Vocabulary | None
    numbering: Numbering = "dataset"
    layouts: tuple[str, ...] = ()
    times: Vocabulary | None = None
    """of a temporal model, the label of each time"""


def labelled(
    scorer: Scorer | VectorScorer | LabelledModel, entities: Labels | None = None, relations: Labels | None = None
) -> LabelledModel:
    """Put labels to the ids of a scorer: those that are given, or its own attributes ``entities`` and ``relations``."""
    model = scorer.model if isinstance(scorer, LabelledModel) else scorer
    # Without labels, arrays of triples have the relations that these name.
    num_relations = None if isinstance(model, TripleArrays) else model.num_relations
    own_entities = _labels(scorer, "entity", entities, model.num_entities)
    own_relations = _labels(scorer, "relation", relations, num_relations)
    if not isinstance(scorer, LabelledModel):
        kept: Any = getattr(scorer, "times", None)
        times = Vocabulary.of(kept, "time") if _are_labels(kept) else None
        return LabelledScorer(model, own_entities, own_relations, times=times)
    if (scorer.entities, scorer.relations) == (own_entities, own_relations):
        return scorer
    return cast("LabelledModel", replace(cast("Any", scorer), entities=own_entities, relations=own_relations))


def with_times(source: LabelledModel, times: Labels | None) -> LabelledModel:
    if times is None:
        return source
    model, found, own = source.model, Vocabulary.of(times, "time"), getattr(source, "times", None)
    if getattr(model, "takes_times", getattr(model, "num_times", None) is not None) is False:
        raise UsageError("time_labels: the model takes no times. A function takes them as its fourth argument, times.")
    if own is not None and own != found:
        raise UsageError("the model has time labels of its own, and time_labels= says others. Leave time_labels out.")
    return cast("LabelledModel", replace(cast("Any", source), times=found))


def labels_of_pykeen(dataset: Dataset, model: Scorer | VectorScorer) -> dict[str, Vocabulary]:
    """Take a dataset's labels for those of a live PyKEEN model, where PyKEEN gave the dataset's ids too."""
    fit = (model.num_entities, model.num_relations) == (len(dataset.entities), len(dataset.relations))
    labels = {"entities": dataset.entities, "relations": dataset.relations}
    return labels if fit and dataset.id_source == "PyKEEN" else {}


def mode_of_pykeen(dataset: Dataset, model: Any, split: str = "test") -> str | None:
    """Choose the mode in which an inductive PyKEEN model scores the entities of inference; None for other models."""
    if hasattr(model, "_mode_to_representations"):
        return "validation" if split == "valid" else "testing"
    if dataset.training_graph is not None:
        raise UsageError(
            f"{type(model).__name__} knows the entities of one graph, and dataset {dataset.name} is inductive: ranked "
            f"are the {len(dataset.entities):,} entities of its inference graph. Give a model that scores new "
            "entities, such as PyKEEN's InductiveNodePiece."
        )
    return None


def _labels(scorer: Any, kind: str, labels: Labels | None, size: int | None) -> Vocabulary | None:
    attribute = "entities" if kind == "entity" else "relations"
    kept: Any = getattr(scorer, attribute, None)
    # Of that name, a scorer of one's own may have its vectors.
    own = Vocabulary.of(kept, kind) if _are_labels(kept) else None
    found = own if labels is None else Vocabulary.of(labels, kind)
    if found is not None and size is not None and len(found) != size:
        raise CheckpointError(
            f"the model has {size} {kind} ids, and there are {len(found)} {kind} labels: one for each id is needed."
        )
    if own is not None and own != found:
        raise CheckpointError(
            f"the model has {kind} labels of its own, and {attribute}= says others. Leave {attribute} out."
        )
    return found


def _are_labels(kept: Any) -> bool:
    if isinstance(kept, np.ndarray):
        return kept.dtype.kind in "OTU"
    return isinstance(kept, Vocabulary | list | tuple | Mapping | pa.Array)
