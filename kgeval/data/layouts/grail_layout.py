"""GraIL's inductive benchmarks: folder X, which models learn from, and X_ind, which they are evaluated on."""

from __future__ import annotations

from pathlib import Path

from kgeval.data.dataset import Dataset
from kgeval.data.layout import Layout
from kgeval.data.layouts import label_layout
from kgeval.data.layouts.inductive_graphs import with_training_graph
from kgeval.errors import DatasetError

SUFFIX = "_ind"


def read(folder: Path) -> Dataset:
    """Read ``X_ind/{train,valid,test}`` as the inference graph and its splits, and ``X/train`` as the training graph.

    Either of the two folders may be named. Relations have the ids of the training graph.

    Raises
    ------
    DatasetError
        if the other folder is not there, or one has no train file, or ``X_ind`` no test file
    """
    learned, evaluated = _pair(folder)
    for place, role in ((learned, "the graph that models learn from"), (evaluated, "the graph that is evaluated")):
        if "train" not in label_layout.candidates(place):
            missing = "has no train file" if place.is_dir() else "is not there"
            raise DatasetError(
                f"folder {str(folder)!r}: the layout grail takes two folders, {learned.name} and {evaluated.name}, and "
                f"{str(place)!r}, {role}, {missing}. Put it there, or name the layout labels for one graph alone."
            )
    training = label_layout.read(learned, needs=("train",))
    files = label_layout.find_needed(evaluated)
    dataset = label_layout.read_files(evaluated.resolve().name, files, training.relations)
    return with_training_graph(dataset, training)


def _pair(folder: Path) -> tuple[Path, Path]:
    """Name both folders: X and X_ind."""
    place = folder if folder.name not in {"", ".."} else folder.resolve()
    if place.name.endswith(SUFFIX):
        return place.parent / place.name.removesuffix(SUFFIX), place
    return place, place.parent / f"{place.name}{SUFFIX}"


def _recognises(folder: Path) -> bool:
    learned, evaluated = _pair(folder)
    return evaluated.name == folder.resolve().name and all(
        "train" in label_layout.candidates(place) for place in (learned, evaluated)
    )


LAYOUT = Layout(
    name="grail",
    summary="inductive: X_ind with train (the inference graph), valid (optional), test; beside it X with train, which "
    "models learn from",
    recognises=_recognises,
    read=read,
    needs=(*label_layout.LAYOUT.needs, ("the folder of the same name without _ind beside it",)),
)
