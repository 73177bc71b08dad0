"""Models of the TuckER code, a ``state_dict``. No table can say which row is which relation: only the dataset tells.

Entities have the ids of their sorted labels. So have relations and their reverses (``<r>_reverse``), those of train
first. The scripts save nothing: the ``state_dict`` is what their users save.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import numpy as np

from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.shared.layers import fold_batch_norm
from kgeval.checkpoints.shared.locate import contains_file, find_checkpoint_file
from kgeval.checkpoints.shared.tensors import COUNTERS, Tensors, names_in
from kgeval.data.dataset import Dataset
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import CheckpointError
from kgeval.scorers.families.bilinear import TuckER
from kgeval.scorers.mapped import Reciprocal

REVERSE = "_reverse"
"""what the code adds to the name of a relation for that of its inverse"""


def read(path: Path, options: Options) -> Checkpoint:
    """Read a model; with the dataset, its relations are told from their reverses."""
    file = find_checkpoint_file(path, [_fits], "state_dict of a TuckER")
    tensors = Tensors.read(file)
    options.resolve("model", "TuckER", file.name)
    entity, relation = tensors.matrix("E.weight"), tensors.matrix("R.weight")
    width = entity.shape[1]
    core = tensors.take("W", relation.shape[1], width, width)
    names = None if options.dataset is None else _relations(options.dataset)
    if names is not None:
        relation = relation[_rows(names, len(relation), file)]
    before, after = (fold_batch_norm(tensors.under(name), width) for name in ("bn0.", "bn1."))
    family = TuckER(entity, relation, core.transpose(1, 0, 2), *before, *after)
    tensors.refuse_unused("TuckER", COUNTERS)
    return Checkpoint(
        family if names is None else Reciprocal(family),
        "tucker",
        (file,),
        None,
        None if names is None else Vocabulary([name for name in names if name + REVERSE in names], "relation"),
        options.origins,
        numbering="sorted",
        missing_without_dataset="which of its rows are relations, and which their reverses" if names is None else "",
    )


def _relations(dataset: Dataset) -> list[str]:
    """Name the rows of the relations: sorted names and their reverses of train, then those that come later."""
    known: dict[str, None] = {}
    for triples in dataset.splits.values():
        forward = [dataset.relations[int(relation)] for relation in np.unique(triples.relations)]
        known.update(dict.fromkeys(sorted(chain(forward, (name + REVERSE for name in forward)))))
    return list(known)


def _rows(names: list[str], count: int, file: Path) -> list[int]:
    """Order the rows as relations, then their inverses."""
    forward = [name for name in names if name + REVERSE in names]
    if count != len(names) or len(names) != 2 * len(forward):
        raise CheckpointError(
            f"{file}: it has {count} rows for relations and their reverses; the dataset has {len(forward)} relations."
        )
    places = {name: row for row, name in enumerate(names)}
    return [places[name] for name in forward] + [places[name + REVERSE] for name in forward]


def _fits(file: Path) -> bool:
    return file.suffix in {".pt", ".pth", ".pkl", ".model"} and {"E.weight", "R.weight", "W"} <= names_in(file)


READER = Reader(
    name="tucker",
    summary="a state_dict of the TuckER code (.pt); which row is which relation, the dataset tells",
    recognises=lambda path: contains_file(path, _fits),
    read=read,
    known_by=(frozenset({"E.weight", "R.weight", "W"}),),
)
