"""State dictionaries and modules of users' own models: the user names the tensors and the model family.

``entity=ent.weight``, or halves, ``entity=ent_re.weight,ent_im.weight``; and ``ignored=gamma,loss.*``.
"""

from __future__ import annotations

from pathlib import Path

from kgeval.base.pickled import PICKLED, read_any
from kgeval.models.checkpoints.checkpoint import Checkpoint
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.reader import NAMED_BY_USER, Reader
from kgeval.models.checkpoints.shared.locate import find_checkpoint_file, find_labels, folder_of
from kgeval.models.checkpoints.shared.tensors import Tensors, flat, model_of_named, unwrap_state_dict


def read(path: Path, options: Options) -> Checkpoint:
    """Read the tensors that the options name, as the family that the option ``model`` names."""
    file = find_checkpoint_file(path, [lambda file: file.suffix in PICKLED], "state dictionary")
    model = model_of_named(Tensors(file, dict(flat(unwrap_state_dict(read_any(file))))), options)
    return find_labels(folder_of(path), options).checkpoint(model, NAMED_BY_USER, [file], options)


READER = Reader(
    name=NAMED_BY_USER,
    summary="any other state_dict, whose tensors are named: options entity=NAME, relation=NAME, model=FAMILY",
    recognises=lambda _: False,  # only the user can tell; see kgeval.models.checkpoints.reader
    read=read,
)
