"""Labels for the ids of anything that scores: a scorer, a checkpoint, a model of a framework, or a function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pyarrow as pa

from kgeval.base.errors import CheckpointError, InputError, UsageError
from kgeval.data.dataset import Dataset
from kgeval.data.vocabulary import Labels, Vocabulary
from kgeval.models.adapters.array_scorers import TripleArrays
from kgeval.models.adapters.functions import CallableScorer
from kgeval.models.adapters.live_models import (
    PyKEENScorer,
    is_pykeen_model,
    labels_of_pykeen,
    mode_of_pykeen,
    vectors_of_pyg,
)
from kgeval.models.adapters.query_scorer import QueryScorer
from kgeval.models.aligned import Aligned
from kgeval.models.scorer import LabelledModel, Numbering, Scorer, VectorScorer


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


def labelled_model(
    model: Any, dataset: Dataset, *, entities: Labels | None, relations: Labels | None, times: Labels | None
) -> LabelledModel:
    """Make a labelled model of anything that scores; the labels are for its ids, if it has none."""
    return _with_times(_with_labels(model, dataset, entities, relations), times)


def _with_labels(model: Any, dataset: Dataset, entities: Labels | None, relations: Labels | None) -> LabelledModel:
    if isinstance(model, Aligned):
        return _labelled(model.source, entities, relations)
    if isinstance(model, PyKEENScorer) or is_pykeen_model(model):
        live = model if isinstance(model, PyKEENScorer) else PyKEENScorer(model)
        live = replace(live, mode=live.mode or mode_of_pykeen(dataset, live.model))
        given = {"entities": entities, "relations": relations}
        own = {kind: labels for kind, labels in given.items() if labels is not None}
        return _labelled(live, **labels_of_pykeen(dataset, live) | own)
    if isinstance(model, QueryScorer):
        entities = None if entities is None else Vocabulary.of(entities)
        relations = None if relations is None else Vocabulary.of(relations, "relation")
        model = model.of_size(len(entities or dataset.entities), len(relations or dataset.relations))
    if isinstance(model, Scorer):
        return _labelled(model, entities, relations)
    if (vectors := vectors_of_pyg(model)) is not None:
        return _labelled(vectors, entities, relations)
    if callable(model):
        # A module may tell how many entities it has, as those of PyTorch Geometric do.
        sizes = [getattr(model, name, None) for name in ("num_entities", "num_nodes")]
        default = len(dataset.entities) if entities is None else None
        num_entities = next((size for size in sizes if isinstance(size, int)), default)
        num_relations = len(dataset.relations) if relations is None else None
        return _labelled(CallableScorer(model, num_entities, num_relations, entities=entities, relations=relations))
    raise InputError(
        f"cannot score with a {type(model).__name__}: give a checkpoint (kgeval.load_checkpoint), a PyKEEN model, "
        f"a callable f(heads, relations, tails) -> scores, or a score table."
    )


def _labelled(
    scorer: Scorer | VectorScorer | LabelledModel, entities: Labels | None = None, relations: Labels | None = None
) -> LabelledModel:
    """Put labels to the ids of a scorer: those that are given, or its own attributes ``entities`` and ``relations``."""
    model = scorer.model if isinstance(scorer, LabelledModel) else scorer
    # Without labels, arrays of triples have the relations that these name.
    num_relations = None if isinstance(model, TripleArrays) else model.num_relations
    own_entities = _checked_labels(scorer, "entity", entities, model.num_entities)
    own_relations = _checked_labels(scorer, "relation", relations, num_relations)
    if not isinstance(scorer, LabelledModel):
        kept: Any = getattr(scorer, "times", None)
        times = Vocabulary.of(kept, "time") if _are_labels(kept) else None
        return LabelledScorer(model, own_entities, own_relations, times=times)
    if (scorer.entities, scorer.relations) == (own_entities, own_relations):
        return scorer
    return cast("LabelledModel", replace(cast("Any", scorer), entities=own_entities, relations=own_relations))


def _with_times(source: LabelledModel, times: Labels | None) -> LabelledModel:
    if times is None:
        return source
    model, found, own = source.model, Vocabulary.of(times, "time"), getattr(source, "times", None)
    if getattr(model, "takes_times", getattr(model, "num_times", None) is not None) is False:
        raise UsageError("time_labels: the model has no times. A function gets them as its fourth argument, times.")
    if own is not None and own != found:
        raise UsageError("the model has its own time labels, and time_labels= has others. Leave time_labels out.")
    return cast("LabelledModel", replace(cast("Any", source), times=found))


def _checked_labels(scorer: Any, kind: str, labels: Labels | None, size: int | None) -> Vocabulary | None:
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
            f"the model has its own {kind} labels, and {attribute}= has others. Leave {attribute} out."
        )
    return found


def _are_labels(kept: Any) -> bool:
    if isinstance(kept, np.ndarray):
        return kept.dtype.kind in "OTU"
    return isinstance(kept, Vocabulary | list | tuple | Mapping | pa.Array)
