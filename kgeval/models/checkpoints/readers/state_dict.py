"""A user's own state_dict or pickled module: the options say which tensor is which array, and which family it is.

The option ``model`` names the family. ``entity=ent.weight`` names the tensor of an array, ``entity=ent_re,ent_im``
several tensors that are put side by side, and ``ignored=gamma,loss.*`` tensors that no score depends on.

No file is recognised as this format: ``recognise`` (in ``__init__.py``) chooses it if no other reader fits and the
options name tensors. ``load_checkpoint`` calls the reader, which returns a ``Checkpoint``.
"""

from __future__ import annotations

from pathlib import Path

from kgeval.base.pickled import PICKLED, read_pickled
from kgeval.base.settings_text import flat
from kgeval.models.checkpoints.building import model_of_named
from kgeval.models.checkpoints.checkpoint import Checkpoint
from kgeval.models.checkpoints.labels import labelled_checkpoint
from kgeval.models.checkpoints.locate import find_checkpoint_file
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.readers import NAMED_BY_USER, Reader
from kgeval.models.checkpoints.tensors import Tensors, unwrap_state_dict


def read_state_dict(path: Path, options: Options) -> Checkpoint:
    """Read the tensors that the options name, as the family that the option ``model`` names."""
    file = find_checkpoint_file(path, [lambda file: file.suffix in PICKLED], "state dictionary")
    model = model_of_named(Tensors(file, dict(flat(unwrap_state_dict(read_pickled(file), options, file)))), options)
    return labelled_checkpoint(model, NAMED_BY_USER, [file], options)


READER = Reader(
    name=NAMED_BY_USER,
    summary="any other state_dict, whose tensors are named: options entity=NAME, relation=NAME, model=FAMILY",
    recognises=lambda _: False,
    read=read_state_dict,
)
