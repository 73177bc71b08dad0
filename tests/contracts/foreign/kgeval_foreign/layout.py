"""A dataset layout: a folder with ``graph.json``, the labelled triples of each split."""

import json
from pathlib import Path

from kgeval.data.dataset import Dataset
from kgeval.data.layouts import Layout
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary


def read(folder: Path) -> Dataset:
    """Read the splits; ids are those of the sorted labels."""
    file = folder / "graph.json"
    splits = json.loads(file.read_text(encoding="utf-8"))
    rows = [row for split in splits.values() for row in split]
    entities = sorted({label for head, _, tail in rows for label in (head, tail)})
    relations = sorted({relation for _, relation, _ in rows})
    ids = {
        split: [(entities.index(h), relations.index(r), entities.index(t)) for h, r, t in labelled]
        for split, labelled in splits.items()
    }
    return Dataset.build(
        folder.name,
        {split: Triples.of(triples) for split, triples in ids.items()},
        entities=Vocabulary(entities),
        relations=Vocabulary(relations, "relation"),
        files=(file,),
    )


LAYOUT = Layout(
    name="graph-json",
    summary="graph.json: the labelled triples of each split",
    recognises=lambda folder: (folder / "graph.json").is_file(),
    read=read,
    needs=(("graph.json",),),
)
