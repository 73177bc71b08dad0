"""Folders of RED-GNN and AdaProp: facts beside train, both of which are the graph that test triples are asked of.

Their training messages run over ``facts``, and their training queries are ``train``: for evaluation both are known.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kgeval.data.dataset import Dataset
from kgeval.data.layout import Layout
from kgeval.data.layouts import label_layout

FACTS = {"facts": ("facts",)}

NOTE = "{0} and {1} together are train, as in RED-GNN's code; the layout labels (--layout labels) reads {1} alone."


def read(folder: Path) -> Dataset:
    """Read ``facts`` and ``train`` as train, beside ``valid`` (optional) and ``test``.

    Raises
    ------
    DatasetError
        if a file is missing or malformed
    """
    facts = label_layout.find_needed(folder, ("facts",), FACTS)["facts"]
    files = label_layout.find_needed(folder)
    dataset = label_layout.read_files(folder.resolve().name, files, further_train=(facts,))
    return replace(dataset, notes=(*dataset.notes, NOTE.format(facts.name, files["train"].name)))


LAYOUT = Layout(
    name="red-gnn",
    summary="facts and train, which together are train; valid (optional), test",
    recognises=lambda folder: (
        "facts" in label_layout.candidates(folder, FACTS) and label_layout.LAYOUT.recognises(folder)
    ),
    read=read,
    needs=(tuple(f"facts{ending}" for ending in label_layout.ENDINGS), *label_layout.LAYOUT.needs),
)
