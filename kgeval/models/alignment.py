"""Alignment: the ids of a model are matched with those of a dataset, by label wherever there are labels.

Whatever evaluates a model calls ``align``, which returns an ``Aligned`` scorer (``aligned.py``).

The model may be a scorer, a checkpoint, a live model of a framework, or a function; first, its ids get their labels.
Ids without labels are taken as the ids of the dataset, with a note. They are refused if they come from files and kgeval
or PyKEEN made up the dataset's ids: every rank would be that of another entity. The ids of one framework's files are
also refused on a dataset in the files of another framework.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.arrays import IntArray
from kgeval.base.assumptions import choose
from kgeval.base.errors import CheckpointError, InputError, UsageError
from kgeval.base.notes import Example, Note, amount
from kgeval.data.dataset import Dataset
from kgeval.data.vocabulary import Labels, Vocabulary
from kgeval.models.adapters.array_scorers import TripleArrays
from kgeval.models.adapters.functions import CallableScorer, QueryScorer
from kgeval.models.adapters.live_models import (
    PyKEENScorer,
    is_pykeen_model,
    labels_of_pykeen,
    mode_of_pykeen,
    vectors_of_pyg,
)
from kgeval.models.adapters.prediction_lists import PredictionLists
from kgeval.models.aligned import Aligned
from kgeval.models.order_check import better_reading
from kgeval.models.scorer import LabelledModel, LabelledScorer, Scorer, VectorScorer

Model = TypeVar("Model", bound=LabelledModel)

MatchedIds = tuple[IntArray, tuple[str, ...]]
"""the model's id for each label of the dataset, -1 if the model does not know it, int64[label]; and notes"""


def align(
    model: Scorer | Callable[..., Any] | Any,
    dataset: Dataset,
    *,
    entities: Labels | None = None,
    relations: Labels | None = None,
    times: Labels | None = None,
) -> Aligned:
    """Make a scorer of a model, a scorer or a callable, and align it with a dataset.

    ``entities``, ``relations`` and ``times`` are labels for the ids of a model that has none. Entities that only the
    model knows are left out.
    """
    source = with_sorted_labels(_with_times(_with_labels(model, dataset, entities, relations), times), dataset)
    scorer: Any = source.model
    entity_rows, entity_notes = _match_ids(dataset, dataset.entities, source.entities, scorer.num_entities)
    # Arrays with a row for each triple have no number of relations: their triples may name only some.
    num_relations = len(dataset.relations) if isinstance(scorer, TripleArrays) else scorer.num_relations
    relation_rows, relation_notes = _match_ids(dataset, dataset.relations, source.relations, num_relations)
    _refuse_foreign_ids(source, dataset)
    time_rows, time_notes = _match_times(source, dataset)
    notes = (*entity_notes, *relation_notes, *time_notes)
    unlabelled = ["entity"] if source.entities is None and not entity_notes else []
    unlabelled += ["relation"] if source.relations is None and not relation_notes else []
    both = len(unlabelled) == 2
    unlabelled += ["time"] if _asks_for_times(source, dataset) else []
    if unlabelled:
        kind = "" if both else f"{' and '.join(unlabelled)} "
        order = "" if unlabelled == ["time"] else _order_of_numbers(dataset)
        taken, whose = f"its {kind}ids were taken as those of ", Example(f"dataset {dataset.name}", "the dataset")
        notes += (Note("labels", f"the model has no {kind}labels; {taken}", whose, ".", order),)
    if isinstance(scorer, PredictionLists):
        notes += scorer.notes
        if (base := scorer.base) is not None:  # entities that the base does not know are no candidates
            notes += base.notes
            entity_rows = np.where(base.entity_rows >= 0, entity_rows, -1)
            relation_rows = np.where(base.relation_rows >= 0, relation_rows, -1)
    return Aligned(scorer, entity_rows, relation_rows, notes, source, time_rows)


def _with_labels(model: Any, dataset: Dataset, entities: Labels | None, relations: Labels | None) -> LabelledModel:
    """Make a labelled model of anything that scores; ``entities`` and ``relations`` label its ids, if it has none."""
    if isinstance(model, Aligned):
        return _labelled(model.source, entities, relations)
    if isinstance(model, PyKEENScorer) or is_pykeen_model(model):
        live = model if isinstance(model, PyKEENScorer) else PyKEENScorer(model)
        live = replace(live, mode=live.mode or mode_of_pykeen(dataset, live.model))
        passed = {"entities": entities, "relations": relations}
        named = {kind: labels for kind, labels in passed.items() if labels is not None}
        return _labelled(live, **labels_of_pykeen(dataset, live) | named)
    if isinstance(model, QueryScorer):
        entities = None if entities is None else Vocabulary.of(entities)
        relations = None if relations is None else Vocabulary.of(relations, "relation")
        model = model.of_size(len(entities or dataset.entities), len(relations or dataset.relations))
    scorer = model if isinstance(model, Scorer) else vectors_of_pyg(model)
    if scorer is not None:
        return _labelled(scorer, entities, relations)
    if callable(model):
        # A module may tell how many entities it has, as the modules of PyTorch Geometric do.
        sizes = [getattr(model, name, None) for name in ("num_entities", "num_nodes")]
        default = len(dataset.entities) if entities is None else None
        num_entities = next((size for size in sizes if isinstance(size, int)), default)
        num_relations = len(dataset.relations) if relations is None else None
        return _labelled(CallableScorer(model, num_entities, num_relations, entities=entities, relations=relations))
    kinds = "a checkpoint (kgeval.load_checkpoint), a PyKEEN model, a callable f(heads, relations, tails)"
    raise InputError(f"cannot score with a {type(model).__name__}: give {kinds}, a score table.")


def _labelled(
    scorer: Scorer | VectorScorer | LabelledModel, entities: Labels | None = None, relations: Labels | None = None
) -> LabelledModel:
    """Label the ids of a scorer: with the given labels, or with its own attributes ``entities`` and ``relations``."""
    model = scorer.model if isinstance(scorer, LabelledModel) else scorer
    # Arrays with a row for each triple have no number of relations that the labels could contradict.
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


def _checked_labels(scorer: Any, kind: str, labels: Labels | None, size: int | None) -> Vocabulary | None:
    attribute = "entities" if kind == "entity" else "relations"
    kept: Any = getattr(scorer, attribute, None)
    # A user's scorer may keep its vectors, not labels, in an attribute of this name.
    stored = Vocabulary.of(kept, kind) if _are_labels(kept) else None
    chosen = stored if labels is None else Vocabulary.of(labels, kind)
    if chosen is not None and size is not None and len(chosen) != size:
        raise CheckpointError(f"the model has {size} {kind} ids, but there are {len(chosen)} {kind} labels.")
    if stored is not None and stored != chosen:
        raise CheckpointError(f"the model has its own {kind} labels. Leave {attribute}= out, which has others.")
    return chosen


def _are_labels(kept: Any) -> bool:
    if isinstance(kept, np.ndarray):
        return kept.dtype.kind in "OTU"
    return isinstance(kept, Vocabulary | list | tuple | Mapping | pa.Array)


def _with_times(source: LabelledModel, times: Labels | None) -> LabelledModel:
    if times is None:
        return source
    model, labels, kept = source.model, Vocabulary.of(times, "time"), source.times
    if getattr(model, "takes_times", getattr(model, "num_times", None) is not None) is False:
        raise UsageError("time_labels: the model has no times. A function gets them as its fourth argument, times.")
    if kept is not None and kept != labels:
        raise UsageError("the model has its own time labels, and time_labels= has others. Leave time_labels out.")
    return cast("LabelledModel", replace(cast("Any", source), times=labels))


IDS = ("dataset", "sorted", "by-value")
"""the orders of a model's ids: those of the dataset, or of its labels, sorted as text or as numbers"""


def with_sorted_labels(source: Model, dataset: Dataset) -> Model:
    """Give a model the sorted labels of a dataset, if its framework numbers sorted labels and does not store them.

    Numbers may be sorted by their value too, and code of one's own has the ids of the dataset's files. If these orders
    differ, the user or facts of train tell which one the model has, or the user is asked.
    """
    if source.numbering != "sorted" or None not in (source.entities, source.relations):
        return source
    kinds = (
        (source.entities, dataset.entities, source.num_entities),
        (source.relations, dataset.relations, source.num_relations),
    )
    orders: dict[str, tuple[Vocabulary, ...]] = {
        name: tuple(kept or _sorted_labels(dataset, labels, size, key) for kept, labels, size in kinds)
        for name, key in (("sorted", None), ("by-value", _by_value))
    }
    said, sizes = getattr(source, "said_ids", None), (len(dataset.entities), len(dataset.relations))
    if dataset.id_source not in (None, "kgeval", "PyKEEN") and sizes == (source.num_entities, source.num_relations):
        orders["dataset"] = source.entities or dataset.entities, source.relations or dataset.relations
    fitting: dict[str, Model] = {}
    for name, (entities, relations) in orders.items():
        if said in (None, name) and not any((it.entities, it.relations) == orders[name] for it in fitting.values()):
            labelled = replace(cast("Any", source), entities=entities, relations=relations)
            fitting[name] = cast("Model", labelled)
    best, told = None, ""
    if len(fitting) > 1:
        best, told = better_reading({name: align(model, dataset) for name, model in fitting.items()}, dataset)
    where = getattr(source, "title", "the model")
    option = f"--option ids={' or ids='.join(orders)} (in Python load_checkpoint(…, ids=…))"
    model, taken = choose("ids", fitting, option, said=said, usual=best, why=told, where=where, error=UsageError)
    return cast("Model", replace(cast("Any", model), assumptions=(*source.assumptions, taken)))


def _by_value(label: str) -> tuple[int, str]:
    return (int(label) if label.isdecimal() else 0, label)


def _sorted_labels(dataset: Dataset, labels: Vocabulary, size: int, key: Callable[[str], Any] | None) -> Vocabulary:
    """Sort the labels (of entities or relations) that occur in any split; refuse a model with more or fewer ids."""
    columns = [1] if labels.kind == "relation" else [0, 2]
    used = np.unique(np.concatenate([triples.ids[:, columns].ravel() for triples in dataset.splits.values()]))
    if len(used) != size:
        fault = f"the model has {size} {labels.kind} ids, given to sorted labels"
        raise UsageError(f"{fault}, dataset {dataset.name} has {len(used)} in its triples. Is it the right dataset?")
    return Vocabulary(sorted((labels[int(index)] for index in used), key=key), labels.kind)


def _match_ids(dataset: Dataset, labels: Vocabulary, model_labels: Vocabulary | None, size: int) -> MatchedIds:
    """Match the entities, relations or times of a model that has ``size`` of them with those of a dataset."""
    if model_labels is labels:
        return np.arange(size), ()
    if labels.kind == "entity" and dataset.training_graph is not None:
        _refuse_training_entities(dataset, dataset.training_graph, model_labels, size)
    if model_labels is not None:
        rows = model_labels.ids(labels.labels)
        if not (rows >= 0).any():
            own = repr(model_labels[0]) if len(model_labels) else "none"
            labelled = f"the model has {own}, the dataset {labels[0]!r}"
            fault = f"no {labels.kind} label of the model occurs in dataset {dataset.name}"
            raise UsageError(f"{fault}: {labelled}. Is it the right dataset?")
        unknown, every = int((rows < 0).sum()), amount(len(labels), labels.kind)
        end = ": only the entities that it knows are candidates." if labels.kind == "entity" else "."
        of_dataset = every, " of ", Example(dataset.name, "the dataset"), end
        note = Note("labels", f"the model does not know {unknown:,} of the ", *of_dataset)
        return rows, (note,) if unknown else ()
    if size == len(labels):
        return np.arange(size), ()
    # Readers of labelled triples give the first ids to what is in train.
    in_train = np.unique(dataset.train.ids[:, [1] if labels.kind == "relation" else [0, 2]])
    if size == len(in_train) and np.array_equal(in_train, np.arange(size)):
        rows = np.where(np.arange(len(labels)) < size, np.arange(len(labels)), -1)
        taken = f"its {size} ids were taken as those of train."
        return rows, (Note("labels", f"the model has no {labels.kind} labels; {taken}"),)
    fault = f"the model has {size} {labels.kind} ids and no labels, dataset {dataset.name} has {len(labels)}"
    cure = "Give its labels: entities.tsv and relations.tsv beside it, or in Python entities=[…] and relations=[…]."
    hint = hint_on_inverses(labels.kind, size, len(labels))
    raise UsageError(f"{fault}: they cannot be matched. {cure}{hint}")


def _refuse_training_entities(dataset: Dataset, training: Dataset, model_labels: Vocabulary | None, size: int) -> None:
    """Refuse a model that knows the training graph of an inductive dataset, and no entity of its inference graph."""
    graph = f"the training graph {training.name} ({len(training.entities):,} entities)"
    of_inference = f"those of the inference graph {dataset.name} ({len(dataset.entities):,} entities)"
    fault = "Inductive evaluation needs a model that scores new entities, or the vectors that it computes for them."
    if model_labels is not None:
        learned, inferred = ((model_labels.ids(it.entities.labels) >= 0).mean() for it in (training, dataset))
        if inferred < 0.5 < learned:
            raise UsageError(f"the model has the entities of {graph}, but {of_inference} are ranked. {fault}")
    elif size == len(training.entities):
        ids = f"the model has {size:,} entity ids and no labels. They may be those of {graph}"
        cure = "Give it their labels: beside a file as entities.tsv, in Python as entities=dataset.entities."
        raise UsageError(f"{ids}, but {of_inference} are ranked. {fault} {cure}")


def hint_on_inverses(kind: str, size: int, labels: int) -> str:
    """Return a hint at inverse relations if a model has twice as many relations as there are labels, else nothing."""
    if kind != "relation" or size != 2 * labels:
        return ""
    return f" {size} is twice {labels}: if the second half are inverse relations, set the option reciprocal=true."


def _refuse_foreign_ids(source: LabelledModel, dataset: Dataset) -> None:
    """Refuse a model's ids from files if the dataset numbers its labels otherwise; a single id has no order."""
    # kgeval and PyKEEN make up the ids of datasets whose files have none.
    giver, model, implicit = dataset.id_source, source.model, dataset.id_source in ("kgeval", "PyKEEN")
    of_framework, unknown = (source.numbering == name for name in ("files", "unknown"))
    if giver is None or giver in source.layouts or not (of_framework or (unknown and implicit)):
        return
    whose = f"{giver}'s own" if implicit else f"those of a folder in the layout {giver}"
    ids = "its ids are from the dataset folder of its framework"
    ids = ids if of_framework else "the meaning of its ids is not known"
    for labels, model_labels, size in (
        (dataset.entities, source.entities, model.num_entities),
        (dataset.relations, source.relations, model.num_relations),
    ):
        if model_labels is None and max(size, len(labels)) > 1:
            fault = f"the model has no {labels.kind} labels: {ids}, and the ids of dataset {dataset.name} are {whose}"
            how = "the option ids=dataset (--option ids=dataset, in Python load_checkpoint(…, ids='dataset'))"
            cures = f"{_cure_for_labels(source)} If these ids belong to {dataset.name}, say so: {how}."
            raise UsageError(f"{fault}. {cures}{_order_of_numbers(dataset)}")


def _order_of_numbers(dataset: Dataset) -> str:
    """Return a warning if the dataset's labels are numbers in another order than their ids, else nothing."""
    for labels in (dataset.entities, dataset.relations):
        first = next(iter(labels), "")  # if it is a word, the others, perhaps millions, are not read
        if first.isdecimal() and pc.all(pc.match_substring_regex(labels.labels, "^[0-9]{1,18}$")).as_py():
            numbers = np.asarray(labels.labels.cast(pa.int64()))
            if (falls := numbers[1:] < numbers[:-1]).any():
                row = int(np.argmax(falls)) + 1
                fault = " Its labels are numbers in another order"
                cure = "If that is not its row in the model, give the model labels, a number for each row."
                return Example(f"{fault}: the {labels.kind} {labels[row]!r} has the id {row}. {cure}", f"{fault}.")
    return ""


def _cure_for_labels(source: LabelledModel) -> str:
    or_folder = "or name their folder with the option labels=FOLDER."
    if isinstance(source.model, TripleArrays):
        return f"Put the labels into entities.txt beside the arrays, one in each line, {or_folder}"
    if source.numbering == "unknown" and {it.suffix for it in getattr(source, "files", ())} & {".npz", ".safetensors"}:
        return f"Put the labels into entities.tsv and relations.tsv beside it, {or_folder}"
    return "Name the folder that the model was trained on with the option labels=FOLDER, or evaluate on that folder."


def _match_times(source: LabelledModel, dataset: Dataset) -> MatchedIds | tuple[None, tuple[str, ...]]:
    """Match the times of a temporal model by label, or without labels by their place in the order of time."""
    labels = source.times
    size = source.num_times if labels is None else len(labels)
    if size is None:
        return None, ()
    if dataset.times is None:
        fault = f"the model scores facts with a time, and the triples of dataset {dataset.name} have none"
        raise UsageError(f"{fault}. Evaluate it on a dataset with a fourth column, the time of each fact.")
    if labels is None and size != len(dataset.times):
        fault = f"the model has {size} times and no labels, dataset {dataset.name} has {len(dataset.times)}"
        raise UsageError(f"{fault}. Put the file ts_id (label<TAB>id) beside the model, or in Python time_labels=[…].")
    return _match_ids(dataset, dataset.times, labels, size)


def _asks_for_times(source: LabelledModel, dataset: Dataset) -> bool:
    """Whether a temporal model gets the dataset's time ids as they are: its times have no labels and no sorted ids."""
    if dataset.times is None or source.times is not None or source.numbering == "sorted":
        return False
    return source.num_times is not None or bool(getattr(source.model, "takes_times", False))
