"""Models of facebookresearch/tkbc: a ``state_dict`` of TComplEx or TNTComplEx, with reciprocal relations (r + R).

The scripts save nothing; a ``state_dict`` is what their users save. The labels are in ``ent_id``, ``rel_id`` and
``ts_id``; without them, ids are those of the sorted labels of all splits, as tkbc gives them. Its static ComplEx has
the tensors of kbc's, and is read as such.
"""

from __future__ import annotations

from pathlib import Path

from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import PICKLED, Reader
from kgeval.checkpoints.shared.locate import contains_file, find_checkpoint_file, find_labels, folder_of
from kgeval.checkpoints.shared.tensors import Tensors, names_in
from kgeval.scorers.families.products.tcomplex import TComplEx
from kgeval.scorers.families.products.tntcomplex import TNTComplEx
from kgeval.scorers.wrappers.reciprocal import Reciprocal

TIMES = "embeddings.2.weight"
"""what kbc's models have not: the vectors of times"""

TIMELESS = "embeddings.3.weight"
"""what TComplEx has not: the parts of relations that no time changes"""

NAMES = ("embeddings.0.weight", "embeddings.1.weight", TIMES)


def read(path: Path, options: Options) -> Checkpoint:
    """Read a model.

    Raises
    ------
    CheckpointError
        if the file is damaged, or if a tensor is missing or of another shape
    """
    file = find_checkpoint_file(path, [_fits], "state_dict of a tkbc model")
    tensors = Tensors.read(file)
    entity, relation, time = (tensors.matrix(name) for name in NAMES)
    timed = TComplEx(entity, relation, time)
    family = TNTComplEx(entity, relation, time, tensors.matrix(TIMELESS)) if TIMELESS in tensors else timed
    options.resolve("model", family.name, file.name)
    tensors.refuse_unused(family.name)
    found = find_labels(folder_of(path), options)
    return Checkpoint(
        Reciprocal(family),
        "tkbc",
        (file, *found.files),
        found.entities,
        found.relations,
        options.origins,
        numbering="sorted",
        times=found.times,
    )


def _fits(file: Path) -> bool:
    return file.suffix in PICKLED and set(NAMES) <= names_in(file)


READER = Reader(
    name="tkbc",
    summary="a state_dict of a TComplEx or TNTComplEx of facebookresearch/tkbc (.pt); ent_id, rel_id, ts_id beside it",
    recognises=lambda path: contains_file(path, _fits),
    read=read,
    known_by=(frozenset(NAMES),),
)
