"""State dictionaries of users' own models: the user names the tensors and the model family.

An option named after an array of the family is the name of its tensor, or several with commas between them, which are
put side by side: ``entity=ent.weight``, ``entity=ent_re.weight,ent_im.weight``. What no score depends on is named too
(``ignored=gamma,loss.*``): no tensor is passed over in silence.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import NAMED_BY_USER, Reader
from kgeval.checkpoints.shared.locate import find_checkpoint_file, find_labels, folder_of
from kgeval.checkpoints.shared.tensors import COUNTERS, Tensors, flat, model_of_arrays, unwrap_state_dict
from kgeval.errors import CheckpointError
from kgeval.pickles.pickled import PICKLED, read_any
from kgeval.scorers.family import families


def read(path: Path, options: Options) -> Checkpoint:
    """Read the tensors that the options name, as the family that the option ``model`` names."""
    file = find_checkpoint_file(path, [lambda file: file.suffix in PICKLED], "state dictionary")
    tensors = Tensors(file, dict(flat(unwrap_state_dict(read_any(file)))))
    arrays = sorted({name for family in families().values() for name in family.array_names()})
    named = {name: str(tensor) for name in arrays if (tensor := options.resolve(name, None, file.name)) is not None}
    ignored = str(options.resolve("ignored", None, file.name) or "")
    found = {name: _array(tensors, names.split(",")) for name, names in named.items()}
    model = model_of_arrays(file, found, options)
    try:
        tensors.refuse_unused(str(options.resolved["model"]), COUNTERS, *ignored.split(","))
    except CheckpointError as error:
        raise CheckpointError(f"{error} If no score depends on it, name it: the option ignored=NAME,NAME.") from error
    return find_labels(folder_of(path), options).checkpoint(model, NAMED_BY_USER, [file], options)


def _array(tensors: Tensors, names: list[str]) -> Any:
    if len(names) > 1:
        return tensors.side_by_side(*names)
    return tensors.take(names[0], *(None,) * np.ndim(tensors.get(names[0])))


READER = Reader(
    name=NAMED_BY_USER,
    summary="any other state_dict, whose tensors are named: options entity=NAME, relation=NAME, model=FAMILY",
    recognises=lambda _: False,  # only the user can tell; see kgeval.checkpoints.reader
    read=read,
)
