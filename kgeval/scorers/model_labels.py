"""The labels of a model's own ids: those of the caller, those that it has, or none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pyarrow as pa

from kgeval.data.dataset import Dataset
from kgeval.data.vocabulary import Labels, Vocabulary
from kgeval.errors import CheckpointError, UsageError
from kgeval.scorers.adapters.triple_arrays import TripleArrays
from kgeval.scorers.scorer import LabelledModel, Numbering, Scorer, VectorScorer

PYKEEN = "PyKEEN"
"""who makes up the ids of its datasets, and so of its live models"""


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
    """Put labels to the ids of a scorer: those that are given, or its own attributes ``entities`` and ``relations``.

    Raises
    ------
    CheckpointError
        if it has another number of ids, or if it has other labels of its own
    """
    model = scorer.model if isinstance(scorer, LabelledModel) else scorer
    # Without labels, arrays of triples have the relations that these name.
    num_relations = None if isinstance(model, TripleArrays) else model.num_relations
    found = (
        _labels(scorer, "entity", entities, model.num_entities),
        _labels(scorer, "relation", relations, num_relations),
    )
    if not isinstance(scorer, LabelledModel):
        times = getattr(scorer, "times", None)
        return LabelledScorer(
            model, *found, times=Vocabulary.of(times, "time") if times is not None and _are_labels(times) else None
        )
    if (scorer.entities, scorer.relations) == found:
        return scorer
    return cast("LabelledModel", replace(cast("Any", scorer), entities=found[0], relations=found[1]))


def with_times(source: LabelledModel, times: Labels | None) -> LabelledModel:
    """Put labels to the ids of a model's times.

    Raises
    ------
    UsageError
        if it has no times, or other labels of its own
    """
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
    labels = {"entities": dataset.entities, "relations": dataset.relations}
    sizes = (model.num_entities, model.num_relations)
    fit = sizes == tuple(map(len, labels.values()))
    return labels if fit and dataset.id_source == PYKEEN else {}


def mode_of_pykeen(dataset: Dataset, model: Any, split: str = "test") -> str | None:
    """Choose the mode in which an inductive PyKEEN model scores the inference graph's entities; None for other models.

    Raises
    ------
    UsageError
        if the dataset is inductive, and the model is not
    """
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
    kept = getattr(scorer, attribute, None)
    # Of that name, a scorer of one's own may have its vectors.
    own = Vocabulary.of(kept, kind) if kept is not None and _are_labels(kept) else None
    found = own if labels is None else Vocabulary.of(labels, kind)
    if found is None:
        return None
    if size is not None and len(found) != size:
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
