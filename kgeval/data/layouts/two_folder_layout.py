"""Inductive datasets in two folders, of GraIL and MTDEA: one that models learn from, and one that is evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kgeval.data.dataset import Dataset
from kgeval.data.layout import Layout
from kgeval.data.layouts import label_layout
from kgeval.data.layouts.inductive_graphs import with_training_graph
from kgeval.errors import DatasetError

Suffixes = tuple[str, str]
"""the ends of the names of the two folders"""

GRAIL_SUFFIXES, MTDEA_SUFFIXES = ("", "_ind"), ("-trans", "-ind")

MTDEA_STEMS = {"train": ("observe",), "test": ("test",)}
"""MTDEA's inference graph and its only split: its valid file lies in the other folder, and is of the training graph"""


def _layout(
    name: str, summary: str, suffixes: Suffixes, stems: Mapping[str, Sequence[str]], *, new_relations: bool = False
) -> Layout:
    """Declare a layout: the second folder's files are the inference graph and its splits, by ``stems``."""

    def read(folder: Path) -> Dataset:
        """Read both folders, either of which may be named. Relations have the ids of the training graph."""
        learned, evaluated = _pair(folder, suffixes)
        for place, of, role in (
            (learned, label_layout.STEMS, "the graph that models learn from"),
            (evaluated, stems, "the graph that is evaluated"),
        ):
            if "train" not in label_layout.candidates(place, of):
                missing = f"has no {of['train'][0]} file" if place.is_dir() else "is not there"
                raise DatasetError(
                    f"folder {str(folder)!r}: the layout {name} takes two folders, {learned.name} and "
                    f"{evaluated.name}, and {str(place)!r}, {role}, {missing}. Put it there, or name the layout labels "
                    "for one graph alone."
                )
        training = label_layout.read(learned, needs=("train",))
        files = label_layout.find_needed(evaluated, stems=stems)
        dataset = label_layout.read_files(evaluated.resolve().name, files, training.relations)
        return with_training_graph(dataset, training, new_relations=new_relations)

    def recognises(folder: Path) -> bool:
        learned, evaluated = _pair(folder, suffixes)
        return (
            evaluated.name == folder.resolve().name
            and "train" in label_layout.candidates(learned)
            and "train" in label_layout.candidates(evaluated, stems)
        )

    needed = (*stems["train"], *stems["test"])
    files = tuple(tuple(f"{stem}{ending}" for ending in label_layout.ENDINGS) for stem in needed)
    beside = f"the folder of the same name with {suffixes[0] or 'nothing'} in place of {suffixes[1]} beside it"
    return Layout(name, summary, recognises, read, (*files, (beside,)))


def _pair(folder: Path, suffixes: Suffixes) -> tuple[Path, Path]:
    """Name both folders: X and X_ind, or X-trans and X-ind."""
    place = folder if folder.name not in {"", ".."} else folder.resolve()
    stem = place.name.removesuffix(suffixes[1]) if place.name.endswith(suffixes[1]) else place.name
    stem = stem.removesuffix(suffixes[0])
    return place.parent / f"{stem}{suffixes[0]}", place.parent / f"{stem}{suffixes[1]}"


GRAIL = _layout(
    "grail",
    "inductive: X_ind with train (the inference graph), valid (optional), test; beside it X with train, which "
    "models learn from",
    GRAIL_SUFFIXES,
    label_layout.STEMS,
)

MTDEA = _layout(
    "mtdea",
    "inductive, with new relations: X-ind with observe (the inference graph) and test; beside it X-trans with train, "
    "which models learn from",
    MTDEA_SUFFIXES,
    MTDEA_STEMS,
    new_relations=True,
)
