"""Layouts of inductive datasets: beside the evaluated graph, a graph of other entities that models learn from.

The registry of layouts finds ``ILPC``, ``INGRAM``, ``GRAIL`` and ``MTDEA``. PyKEEN's inductive datasets, too, are made
by :func:`with_training_graph`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from kgeval.base.arrays import BoolArray
from kgeval.base.errors import DatasetError
from kgeval.base.provenance import of_split
from kgeval.data.columns import UNSAID, Columns
from kgeval.data.dataset import SPLITS, Dataset, Split
from kgeval.data.layouts import Layout
from kgeval.data.layouts import labelled as label_layout
from kgeval.data.other_graphs import in_training_graph, learned_triples

EVALUATED: tuple[Split, ...] = ("valid", "test")


def with_training_graph(dataset: Dataset, training: Dataset, *, new_relations: bool = False) -> Dataset:
    """Put the graph that models learn from beside the graph that they are evaluated on, and note what they share.

    The train triples of ``dataset`` are the inference graph. If entities have ids in place of labels, shared ones
    cannot be found. With ``new_relations`` all relations may be new to the training graph.
    """
    dataset = replace(dataset, training_graph=training, files=(*dataset.files, *training.files))
    known = np.isin(np.arange(len(dataset.relations)), learned_triples(dataset).relations)
    if not new_relations and not known[dataset.train.relations].any():
        fault = f"the inference graph shares no relation with the training graph {training.name}"
        raise DatasetError(f"dataset {dataset.name}: {fault}. Nothing that a model learns there applies here.")
    learned = f"{len(training.train):,} triples and {len(training.entities):,} entities of {training.name}"
    candidates = f"the {len(dataset.entities):,} entities of the inference graph, whose triples are train"
    notes = [f"inductive dataset: models learn from the {learned}. The candidates are {candidates}."]
    if not dataset.entities.is_numbered:
        notes += _shared(dataset, training.entities.ids(dataset.entities.labels) >= 0)
    notes += _unknown(dataset, known)
    return replace(dataset, notes=(*dataset.notes, *notes))


def _shared(dataset: Dataset, shared: BoolArray) -> Iterator[str]:
    """Note entities (bool[entity]) and triples that are in both graphs."""
    if not shared.any():
        return
    example = dataset.display_label(dataset.entities[int(np.argmax(shared))])
    count = f"{int(shared.sum()):,} of the {len(shared):,} entities"
    yield f"{count} are in the training graph too, such as {example}. A model may have learnt them."
    for split in EVALUATED:
        if (triples := dataset.splits.get(split)) is not None:
            learned = in_training_graph(dataset, triples)
            yield from _of_split(dataset, split, learned, "are in the training graph too")


def _unknown(dataset: Dataset, known: BoolArray) -> Iterator[str]:
    """Note triples with a relation (bool[relation]) or entity that a model cannot have learnt."""
    linked = np.zeros(len(dataset.entities), np.bool_)
    linked[dataset.train.heads] = linked[dataset.train.tails] = True
    for split in SPLITS:
        if (triples := dataset.splits.get(split)) is not None:
            lack = "have a relation that the training graph lacks"
            yield from _of_split(dataset, split, ~known[triples.relations], lack)
            alone = ~(linked[triples.heads] & linked[triples.tails])
            yield from _of_split(dataset, split, alone, "have an entity that is in no triple of the inference graph")


def _of_split(dataset: Dataset, split: str, flagged: BoolArray, what: str) -> Iterator[str]:
    if flagged.any():
        examples = dataset.examples(dataset.split(split).ids[flagged])
        yield f"{int(flagged.sum()):,} of {len(flagged):,} {of_split(split)} {what}: {examples}."


STEMS: dict[str, Mapping[str, Sequence[str]]] = {
    "ilpc": {
        "train": ("inference",),
        "valid": ("inference_validation", "inference_valid"),
        "test": ("inference_test",),
    },
    "ingram": {**label_layout.STEMS, "train": ("msg",)},
    "grail": label_layout.STEMS,
    "mtdea": {"train": ("observe",), "test": ("test",)},
}
"""the names of the inference graph and its splits; MTDEA's valid file is of the training graph, in the other folder"""


def _layout(name: str, summary: str, *, suffixes: tuple[str, str] | None = None, new_relations: bool = False) -> Layout:
    """Declare a layout: the inference graph and its splits are called as ``STEMS`` says, the training graph ``train``.

    They lie in one folder, or in two whose names end in the ``suffixes``. Relations have the ids of the training graph.
    """
    stems = STEMS[name]

    def read(folder: Path, columns: Columns = UNSAID) -> Dataset:
        learned, evaluated = _pair(folder, suffixes)
        training = None
        if suffixes is not None:
            _refuse_half(name, folder, learned, evaluated)
            training = label_layout.read(learned, needs=("train",), columns=columns)
        elif file := label_layout.candidates(folder).get("train", [])[:1]:
            training = label_layout.read_files(f"{learned.name}/{file[0].name}", {"train": file[0]}, columns=columns)
        files = label_layout.find_needed(evaluated, stems=stems)
        known = None if training is None else training.relations
        dataset = label_layout.read_files(evaluated.name, files, known, columns=columns)
        if training is None:
            missing = f"{evaluated.name} has no train file, the graph that models learn from"
            note = f"{missing}; {files['train'].name} is the graph of test."
            return replace(dataset, notes=(*dataset.notes, note))
        return with_training_graph(dataset, training, new_relations=new_relations)

    def recognises(folder: Path) -> bool:
        learned, evaluated = _pair(folder, suffixes)
        return (
            evaluated == folder.resolve()
            and ((new_relations and not suffixes) or "train" in label_layout.candidates(learned))
            and "train" in label_layout.candidates(evaluated, stems)
        )

    needed = [] if suffixes or new_relations else ["train"]
    needed += [stems["train"][0], stems["test"][0]]
    needs = [tuple(f"{stem}{ending}" for ending in label_layout.ENDINGS) for stem in needed]
    if suffixes:
        beside = f"the folder of the same name with {suffixes[0] or 'nothing'} in place of {suffixes[1]} beside it"
        needs.append((beside,))
    return Layout(name, summary, recognises, read, tuple(needs), has_columns=True)


def _pair(folder: Path, suffixes: tuple[str, str] | None) -> tuple[Path, Path]:
    """Name the folders of both graphs, either of which may be given: X and X_ind, or X-trans and X-ind."""
    place = folder.resolve()
    if suffixes is None:
        return place, place
    stem = place.name.removesuffix(suffixes[1]).removesuffix(suffixes[0])
    return place.parent / f"{stem}{suffixes[0]}", place.parent / f"{stem}{suffixes[1]}"


def _refuse_half(name: str, folder: Path, learned: Path, evaluated: Path) -> None:
    """Refuse a folder whose other one is missing or lacks its graph."""
    for place, stem, role in (
        (learned, "train", "the graph that models learn from"),
        (evaluated, STEMS[name]["train"][0], "the graph that is evaluated"),
    ):
        if not label_layout.candidates(place, {"train": (stem,)}):
            missing = f"has no {stem} file" if place.is_dir() else "is not there"
            needs = f"the layout {name} needs two folders, {learned.name} and {evaluated.name}"
            cure = "Put it there, or use the layout labels (--layout labels) for one graph alone."
            raise DatasetError(f"folder {str(folder)!r}: {needs}, but {str(place)!r} ({role}) {missing}. {cure}")


ILPC = _layout(
    "ilpc",
    "inductive: train, which models learn from; inference, inference_validation (optional), inference_test",
)

INGRAM = _layout(
    "ingram",
    "inductive, with new relations: train, which models learn from; msg, the inference graph; valid (optional), test",
    new_relations=True,
)

GRAIL = _layout(
    "grail",
    "inductive: X_ind with train (the inference graph), valid (optional), test; beside it X with train, which "
    "models learn from",
    suffixes=("", "_ind"),
)

MTDEA = _layout(
    "mtdea",
    "inductive, with new relations: X-ind with observe (the inference graph) and test; beside it X-trans with train, "
    "which models learn from",
    suffixes=("-trans", "-ind"),
    new_relations=True,
)
