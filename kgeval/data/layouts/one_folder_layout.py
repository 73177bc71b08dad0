"""Inductive datasets in one folder, of ILPC and InGram: train, which models learn from, beside an inference graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
"""what ILPC calls the inference graph and its splits"""

INGRAM_STEMS = {**label_layout.STEMS, "train": ("msg",)}
"""what InGram calls them: valid and test are of the inference graph"""


def _layout(name: str, summary: str, stems: Mapping[str, Sequence[str]], *, new_relations: bool = False) -> Layout:
    """Declare a layout: ``train`` is the training graph, and the inference graph has the relation ids of it."""

    def read(folder: Path) -> Dataset:
        place = folder.resolve().name
        learned = label_layout.find_needed(folder, ("train",))["train"]
        training = label_layout.read_files(f"{place}/{learned.name}", {"train": learned})
        dataset = label_layout.read_files(place, label_layout.find_needed(folder, stems=stems), training.relations)
        return with_training_graph(dataset, training, new_relations=new_relations)

    def recognises(folder: Path) -> bool:
        return all("train" in label_layout.candidates(folder, of) for of in (label_layout.STEMS, stems))

    needed = ("train", stems["train"][0], stems["test"][0])
    needs = tuple(tuple(f"{stem}{ending}" for ending in label_layout.ENDINGS) for stem in needed)
    return Layout(name, summary, recognises, read, needs)


ILPC = _layout(
    "ilpc",
    "inductive: train, which models learn from; inference, inference_validation (optional), inference_test",
    STEMS,
)

INGRAM = _layout(
    "ingram",
    "inductive, with new relations: train, which models learn from; msg, the inference graph; valid (optional), test",
    INGRAM_STEMS,
    new_relations=True,
)
