"""Models of facebookresearch/kbc: a ``state_dict`` of CP or ComplEx, trained with reciprocal relations (r + R).

The scripts save nothing; a ``state_dict`` is what their users save. The labels are in ``ent_id`` and ``rel_id``;
without them, ids are those of the sorted labels of all splits, as kbc gives them.
"""

from __future__ import annotations

from pathlib import Path

from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.shared.locate import contains_file, find_checkpoint_file, find_labels, folder_of
from kgeval.checkpoints.shared.tensors import Tensors, names_in, side_by_side
from kgeval.scorers.families.products.complex import ComplEx
from kgeval.scorers.families.products.cp import CP
from kgeval.scorers.wrappers.reciprocal import Reciprocal

NAMES = {
    "CP": {"lhs.weight", "rel.weight", "rhs.weight"},
    "ComplEx": {"embeddings.0.weight", "embeddings.1.weight"},
}


TEMPORAL = "embeddings.2.weight"
"""what makes it a model of tkbc: the vectors of times"""


def read(path: Path, options: Options) -> Checkpoint:
    """Read a model.

    Raises
    ------
    CheckpointError
        if the file is damaged, or if a tensor is missing
    """
    file = find_checkpoint_file(path, [_fits], "state_dict of a kbc model")
    tensors = Tensors.read(file)
    name = "CP" if "lhs.weight" in tensors else "ComplEx"
    options.resolve("model", name, file.name)
    if name == "CP":
        entity = side_by_side(file, tensors.matrix("lhs.weight"), tensors.matrix("rhs.weight"))
        model = Reciprocal(CP(entity, tensors.matrix("rel.weight")))
    else:
        model = Reciprocal(ComplEx(tensors.matrix("embeddings.0.weight"), tensors.matrix("embeddings.1.weight")))
    tensors.refuse_unused(name)
    found = find_labels(folder_of(path), options)
    return Checkpoint(
        model,
        "kbc",
        (file, *found.files),
        found.entities,
        found.relations,
        options.origins,
        numbering="sorted",
    )


def _fits(file: Path) -> bool:
    found = names_in(file) if file.suffix in {".pt", ".pth", ".pkl", ".model"} else frozenset()
    return any(names <= found for names in NAMES.values()) and TEMPORAL not in found


READER = Reader(
    name="kbc",
    summary="a state_dict of a CP or ComplEx of facebookresearch/kbc (.pt), ent_id and rel_id beside it",
    recognises=lambda path: contains_file(path, _fits),
    read=read,
    known_by=tuple(frozenset(names) for names in NAMES.values()),
)
