"""Models of facebookresearch/kbc and tkbc: a ``state_dict``, trained with reciprocal relations.

The scripts save nothing; a ``state_dict`` is what their users save. The labels are in ``ent_id``, ``rel_id`` and
``ts_id``; without them, ids are those of the sorted labels of all splits, as the code gives them. The static ComplEx
of tkbc has the tensors of kbc's, and is read as such.
"""

from __future__ import annotations

from pathlib import Path

from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import PICKLED, Reader
from kgeval.checkpoints.shared.locate import contains_file, find_checkpoint_file, find_labels, folder_of
from kgeval.checkpoints.shared.tensors import Tensors, names_in, side_by_side
from kgeval.scorers.families.bilinear import CP
from kgeval.scorers.families.complex import ComplEx, TComplEx, TNTComplEx
from kgeval.scorers.reciprocal import Reciprocal

NAMES = {
    "CP": {"lhs.weight", "rel.weight", "rhs.weight"},
    "ComplEx": {"embeddings.0.weight", "embeddings.1.weight"},
}

TEMPORAL = "embeddings.2.weight"
"""what makes it a model of tkbc: the vectors of times"""


def read_kbc(path: Path, options: Options) -> Checkpoint:
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
    return find_labels(folder_of(path), options).checkpoint(model, "kbc", [file], options, numbering="sorted")


def _fits(file: Path) -> bool:
    found = names_in(file) if file.suffix in {".pt", ".pth", ".pkl", ".model"} else frozenset()
    return any(names <= found for names in NAMES.values()) and TEMPORAL not in found


KBC = Reader(
    name="kbc",
    summary="a state_dict of a CP or ComplEx of facebookresearch/kbc (.pt), ent_id and rel_id beside it",
    recognises=lambda path: contains_file(path, _fits),
    read=read_kbc,
    known_by=tuple(frozenset(names) for names in NAMES.values()),
)


TIMELESS = "embeddings.3.weight"
"""what TComplEx has not: the parts of relations that no time changes"""

TKBC_NAMES = ("embeddings.0.weight", "embeddings.1.weight", TEMPORAL)


def read_tkbc(path: Path, options: Options) -> Checkpoint:
    file = find_checkpoint_file(path, [_fits_tkbc], "state_dict of a tkbc model")
    tensors = Tensors.read(file)
    entity, relation, time = (tensors.matrix(name) for name in TKBC_NAMES)
    timed = TComplEx(entity, relation, time)
    family = TNTComplEx(entity, relation, time, tensors.matrix(TIMELESS)) if TIMELESS in tensors else timed
    options.resolve("model", family.name, file.name)
    tensors.refuse_unused(family.name)
    found = find_labels(folder_of(path), options)
    return found.checkpoint(Reciprocal(family), "tkbc", [file], options, numbering="sorted", times=found.times)


def _fits_tkbc(file: Path) -> bool:
    return file.suffix in PICKLED and set(TKBC_NAMES) <= names_in(file)


TKBC = Reader(
    name="tkbc",
    summary="a state_dict of a TComplEx or TNTComplEx of facebookresearch/tkbc (.pt); ent_id, rel_id, ts_id beside it",
    recognises=lambda path: contains_file(path, _fits_tkbc),
    read=read_tkbc,
    known_by=(frozenset(TKBC_NAMES),),
)
