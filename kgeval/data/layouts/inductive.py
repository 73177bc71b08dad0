"""Layouts of inductive datasets: beside the evaluated graph, a graph of other entities that models learn from.

The registry of layouts finds ``ILPC``, ``INGRAM``, ``GRAIL``, ``MTDEA`` and ``HM``. PyKEEN's inductive datasets, too,
are made by :func:`with_training_graph`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from kgeval.base.arrays import BoolArray
from kgeval.base.errors import DatasetError, counted
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
    sizes = f"{len(training.train):,} triples, {len(training.entities):,} entities"
    learned = f"training graph {training.name} ({sizes})"
    candidates = f"the {len(dataset.entities):,} entities of the inference graph, whose triples are train"
    occur = np.unique(np.concatenate([triples.relations for triples in dataset.splits.values()]))
    num_new = int((~known[occur]).sum())
    new = f" New to the training graph: {num_new:,} of {counted(len(occur), 'relation')}." if num_new else ""
    notes = [f"inductive dataset: models learn from the {learned}. The candidates are {candidates}.{new}"]
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
    "hm": {"train": ("test-graph",), "test": ("test-fact",)},
}
"""the names of the inference graph and its splits; the valid file of MTDEA and HM is of the training graph"""


def _layout(
    name: str, summary: str, *, suffixes: Sequence[tuple[str, str]] = (), new_relations: bool = False
) -> Layout:
    """Declare a layout: the inference graph and its splits are called as ``STEMS`` says, the training graph ``train``.

    They lie in one folder, or in two whose names end in one of the pairs of ``suffixes``, which may be folders in
    one: ``/train``.
    Relations have the ids of the training graph.
    """
    stems = STEMS[name]
    suffix = suffixes[0] if suffixes else ("", "")
    inside = suffix[1].startswith("/")

    def read(folder: Path, columns: Columns = UNSAID) -> Dataset:
        learned, evaluated = _pair(folder, suffixes)
        title = (evaluated.parent if inside else evaluated).name
        if not suffixes:
            learned = evaluated = folder
        elif not folder.is_absolute():  # files are recorded by relative paths then, as those of other layouts
            learned, evaluated = (Path(os.path.relpath(place)) for place in (learned, evaluated))
        training = None
        if suffixes:
            _refuse_half(name, folder, learned, evaluated)
            training = label_layout.read(learned, needs=("train",), columns=columns)
            training = replace(training, name=f"{title}{suffix[0]}") if inside else training
        elif file := label_layout.candidates(folder).get("train", [])[:1]:
            training = label_layout.read_files(f"{title}/{file[0].name}", {"train": file[0]}, columns=columns)
        files = label_layout.find_needed(evaluated, stems=stems)
        known = None if training is None else training.relations
        dataset = label_layout.read_files(title, files, known, columns=columns)
        if training is None:
            missing = "there is no train file, the graph that models learn from"
            note = f"{missing}; {files['train'].name} is the graph of test."
            return replace(dataset, notes=(*dataset.notes, note))
        return with_training_graph(dataset, training, new_relations=new_relations)

    def recognises(folder: Path) -> bool:
        learned, evaluated = _pair(folder, suffixes)
        return (
            (evaluated.parent if inside else evaluated).resolve() == folder.resolve()
            and ((new_relations and not suffixes) or "train" in label_layout.candidates(learned))
            and "train" in label_layout.candidates(evaluated, stems)
        )

    needed = [] if (suffixes and not inside) or new_relations else ["train"]
    needed += [stems["train"][0], stems["test"][0]]
    if inside:
        needed = [f"{place[1:]}/{stem}" for place, stem in zip((*suffix, suffix[1]), needed, strict=True)]
    needs = [tuple(f"{stem}{ending}" for ending in label_layout.ENDINGS) for stem in needed]
    if suffix[0] and not inside:  # without the other folder, one of GraIL is an ordinary graph
        needs.append((f"the folder of the same name with {suffix[0]} in place of {suffix[1]} beside it",))
    return Layout(name, summary, recognises, read, tuple(needs), has_columns=True)


def _pair(folder: Path, suffixes: Sequence[tuple[str, str]]) -> tuple[Path, Path]:
    """Name the folders of both graphs, either of which may be given: X and X_ind, or X-trans and X-ind.

    A link is followed, unless only the links themselves are called so.
    """
    pairs = []
    for place in (folder.resolve(), Path(os.path.abspath(folder))):  # noqa: PTH100  (it keeps links)
        for learned, evaluated in suffixes or [("", "")]:
            ending = next((ending for ending in (evaluated, learned) if place.name.endswith(ending)), "")
            stem = place.name.removesuffix(ending)
            pairs.append((place.parent / f"{stem}{learned}", place.parent / f"{stem}{evaluated}"))
    return max(pairs, key=lambda pair: (pair[0].is_dir() and pair[1].is_dir(), pair[1].is_dir()))


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
    "inductive: X_ind or X-ind with train (the inference graph), valid (optional), test; beside it X with train, which "
    "models learn from",
    suffixes=[("", "_ind"), ("", "-ind")],
)

MTDEA = _layout(
    "mtdea",
    "inductive, with new relations: X-ind with observe (the inference graph) and test; beside it X-trans with train, "
    "which models learn from",
    suffixes=[("-trans", "-ind")],
    new_relations=True,
)

HM = _layout(
    "hm",
    "inductive, of Hamaguchi et al. and INDIGO: train/train, which models learn from; test/test-graph, the inference "
    "graph, and test/test-fact",
    suffixes=[("/train", "/test")],
)
