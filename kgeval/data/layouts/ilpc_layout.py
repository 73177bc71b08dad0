"""Folders of the ILPC challenge: train, which models learn from, and an inference graph with its own splits."""

from __future__ import annotations

from pathlib import Path

from kgeval.data.dataset import Dataset
from kgeval.data.layout import Layout
from kgeval.data.layouts import label_layout
from kgeval.data.layouts.inductive_graphs import with_training_graph

STEMS = {
    "train": ("inference",),
    "valid": ("inference_validation", "inference_valid"),
    "test": ("inference_test",),
}


def read(folder: Path) -> Dataset:
    """Read ``inference``, ``inference_validation`` and ``inference_test``, and ``train`` as the training graph.

    Relations have the ids of the training graph.

    Raises
    ------
    DatasetError
        if a file other than ``inference_validation`` is missing
    """
    name = folder.resolve().name
    learned = label_layout.find_needed(folder, ("train",))["train"]
    training = label_layout.read_files(f"{name}/{learned.name}", {"train": learned})
    files = label_layout.find_needed(folder, stems=STEMS)
    return with_training_graph(label_layout.read_files(name, files, training.relations), training)


LAYOUT = Layout(
    name="ilpc",
    summary="inductive: train, which models learn from; inference, inference_validation (optional), inference_test",
    recognises=lambda folder: (
        "train" in label_layout.candidates(folder) and "train" in label_layout.candidates(folder, STEMS)
    ),
    read=read,
    needs=tuple(
        tuple(f"{stem}{ending}" for ending in label_layout.ENDINGS) for stem in ("train", "inference", "inference_test")
    ),
)
