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
from kgeval.base.notes import Example, Note, NoteKind
from kgeval.data.columns import UNSAID, Columns
from kgeval.data.dataset import Dataset
from kgeval.data.layouts import Layout
from kgeval.data.layouts.labelled import ENDINGS, candidates, find_needed, read_files
from kgeval.data.layouts.labelled import STEMS as OF_LABELS
from kgeval.data.layouts.labelled import read as read_labelled
from kgeval.data.other_graphs import in_training_graph, learned_triples
from kgeval.data.provenance import of_split


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
    learned = "inductive dataset: models learn from the training graph", Example(f" {training.name}")
    sizes = f" ({len(training.train):,} triples, {len(training.entities):,} entities). The candidates are the "
    answers = f"{len(dataset.entities):,} entities of the inference graph, whose triples are train."
    occur = np.unique(np.concatenate([triples.relations for triples in dataset.splits.values()]))
    num_new = int((~known[occur]).sum())
    new = f" New to the training graph: {num_new:,} of {counted(len(occur), 'relation')}." if num_new else ""
    notes: list[str] = [Note("files", *learned, sizes, answers, new)]
    if not dataset.entities.is_numbered:
        notes += _shared(dataset, training.entities.ids(dataset.entities.labels) >= 0)
    notes += _unknown(dataset, known)
    return replace(dataset, notes=(*dataset.notes, *notes))


def _shared(dataset: Dataset, shared: BoolArray) -> Iterator[str]:
    """Note entities (bool[entity]) and triples that are in both graphs."""
    if not shared.any():
        return
    example = dataset.display_label(dataset.entities[int(np.argmax(shared))])
    count = f"{int(shared.sum()):,} of the {len(shared):,} entities are in the training graph too"
    yield Note("leaks", count, Example(f", such as {example}"), ". A model may have learnt them.")
    for split in dataset.present(["valid", "test"]):
        learned = in_training_graph(dataset, dataset.split(split))
        yield from _of_split(dataset, "leaks", split, learned, "are in the training graph too")


def _unknown(dataset: Dataset, known: BoolArray) -> Iterator[str]:
    """Note triples with a relation (bool[relation]) or entity that a model cannot have learnt."""
    linked = np.zeros(len(dataset.entities), np.bool_)
    linked[dataset.train.heads] = linked[dataset.train.tails] = True
    for split, triples in dataset.splits.items():
        new = ~known[triples.relations]
        yield from _of_split(dataset, "unseen", split, new, "have a relation that the training graph lacks")
        alone = ~(linked[triples.heads] & linked[triples.tails])
        fault = "have an entity that is in no triple of the inference graph"
        yield from _of_split(dataset, "unseen", split, alone, fault)


def _of_split(dataset: Dataset, kind: NoteKind, split: str, flagged: BoolArray, what: str) -> Iterator[str]:
    if flagged.any():
        examples = Example(f": {dataset.examples(dataset.split(split).ids[flagged])}")
        yield Note(kind, f"{int(flagged.sum()):,} of {len(flagged):,} {of_split(split)} {what}", examples, ".")


STEMS: dict[str, Mapping[str, Sequence[str]]] = {
    "ilpc": {
        "train": ("inference",),
        "valid": ("inference_validation", "inference_valid"),
        "test": ("inference_test",),
    },
    "ingram": {**OF_LABELS, "train": ("msg",)},
    "grail": OF_LABELS,
    "mtdea": {"train": ("observe",), "test": ("test",)},
    "hm": {"train": ("test-graph",), "test": ("test-fact",)},
}
"""a layout -> file names without endings: of the inference graph (train), valid and test; in MTDEA and HM, the file of
valid belongs to the training graph"""


def _layout(
    name: str, summary: str, *, suffixes: Sequence[tuple[str, str]] = (), new_relations: bool = False
) -> Layout:
    """Declare a layout: the inference graph and its splits are called as ``STEMS`` says, the training graph ``train``.

    All lie in one folder, or each graph in its own: the names of the two end in one of the pairs of ``suffixes``.
    """
    stems = STEMS[name]

    def read(folder: Path, columns: Columns = UNSAID) -> Dataset:
        learned, evaluated = _pair(folder, suffixes)
        title = evaluated.name
        if not suffixes:
            evaluated, files = folder, candidates(folder).get("train")
            training = read_files(f"{title}/{files[0].name}", {"train": files[0]}, columns=columns) if files else None
        else:
            if not folder.is_absolute():  # files are recorded by relative paths then, as those of other layouts
                learned, evaluated = (Path(os.path.relpath(place)) for place in (learned, evaluated))
            _refuse_half(name, folder, learned, evaluated)
            training = read_labelled(learned, needs=("train",), columns=columns)
        return _evaluated(title, evaluated, name, training, columns, new_relations=new_relations)

    def recognises(folder: Path) -> bool:
        learned, evaluated = _pair(folder, suffixes)
        return (
            evaluated.resolve() == folder.resolve()
            and ((new_relations and not suffixes) or "train" in candidates(learned))
            and "train" in candidates(evaluated, stems)
        )

    needs = _needs(*([] if suffixes or new_relations else ["train"]), stems["train"][0], stems["test"][0])
    if suffixes and suffixes[0][0]:  # without the training folder, GraIL's looks like an ordinary graph
        learned, evaluated = suffixes[0]
        needs = (*needs, (f"the folder of the same name with {learned} in place of {evaluated} beside it",))
    return Layout(name, summary, recognises, read, needs, has_columns=True)


def _evaluated(
    title: str, folder: Path, layout: str, training: Dataset | None, columns: Columns, *, new_relations: bool = False
) -> Dataset:
    """Read the inference graph and its splits; relations have the ids of the training graph."""
    files = find_needed(folder, stems=STEMS[layout])
    dataset = read_files(title, files, training.relations if training else None, columns=columns)
    if training is not None:
        return with_training_graph(dataset, training, new_relations=new_relations)
    fault, file = "there is no train file, the graph that models learn from; ", Example.path(files["train"].name)
    return replace(dataset, notes=(*dataset.notes, Note("files", fault, file, " is the graph of test.")))


def _needs(*stems: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(f"{stem}{ending}" for ending in ENDINGS) for stem in stems)


def _pair(folder: Path, suffixes: Sequence[tuple[str, str]]) -> tuple[Path, Path]:
    """Return the folders of training and inference graph from either of them: X and X_ind, or X-trans and X-ind.

    A link is followed, unless only the names of the links have these endings.
    """
    pairs = []
    for place in (folder.resolve(), Path(os.path.abspath(folder))):  # noqa: PTH100  (it keeps links)
        for learned, evaluated in suffixes or [("", "")]:
            ending = next((ending for ending in (evaluated, learned) if place.name.endswith(ending)), "")
            stem = place.name.removesuffix(ending)
            pairs.append((place.parent / f"{stem}{learned}", place.parent / f"{stem}{evaluated}"))
    return max(pairs, key=lambda pair: (pair[0].is_dir() and pair[1].is_dir(), pair[1].is_dir()))


def _refuse_half(name: str, folder: Path, learned: Path, evaluated: Path) -> None:
    """Refuse a folder if the folder of a graph is missing, or has no file of the graph."""
    for place, stem, role in (
        (learned, "train", "the graph that models learn from"),
        (evaluated, STEMS[name]["train"][0], "the graph that is evaluated"),
    ):
        if not candidates(place, {"train": (stem,)}):
            missing = f"has no {stem} file" if place.is_dir() else "is not there"
            needs = f"the layout {name} needs two folders, {learned.name} and {evaluated.name}"
            cure = "Put it there, or use the layout labels (--layout labels) for one graph alone."
            raise DatasetError(f"folder {str(folder)!r}: {needs}, but {str(place)!r} ({role}) {missing}. {cure}")


ILPC = _layout(
    "ilpc", "inductive: train, which models learn from; inference, inference_validation (optional), inference_test"
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


def read_hm(folder: Path, columns: Columns = UNSAID) -> Dataset:
    """Read the graph in the folder ``test``, and the graph in ``train`` as its training graph."""
    title, learned, evaluated = folder.resolve().name, folder / "train", folder / "test"
    _refuse_half("hm", folder, learned, evaluated)
    training = read_labelled(learned, needs=("train",), columns=columns)
    return _evaluated(title, evaluated, "hm", replace(training, name=f"{title}/train"), columns)


HM = Layout(
    "hm",
    "inductive, of Hamaguchi et al. and INDIGO: train/train, which models learn from; test/test-graph, the inference "
    "graph, and test/test-fact",
    lambda folder: "train" in candidates(folder / "train") and "train" in candidates(folder / "test", STEMS["hm"]),
    read_hm,
    _needs("train/train", "test/test-graph", "test/test-fact"),
    has_columns=True,
)
