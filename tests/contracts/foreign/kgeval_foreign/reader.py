"""A checkpoint format: a TransM in a ``.transm`` file of JSON, with its labels."""

import json
from pathlib import Path

import numpy as np

from kgeval.data.vocabulary import Vocabulary
from kgeval.models.checkpoints.checkpoint import Checkpoint
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.readers import Reader
from kgeval_foreign.family import TransM


def read(path: Path, options: Options) -> Checkpoint:
    """Read a model; the norm that the file leaves out is an option."""
    content = json.loads(path.read_text(encoding="utf-8"))
    norm = options.require("norm", content.get("norm"), path.name, [1, 2])
    arrays = [np.array(content[name], float) for name in ("entity", "relation", "weight")]
    return Checkpoint(
        model=TransM(*arrays, norm=norm),
        format="transm-json",
        files=(path,),
        entities=Vocabulary(content["entities"]),
        relations=Vocabulary(content["relations"], "relation"),
        origins=options.origins,
    )


READER = Reader(
    name="transm-json",
    summary="a TransM in a .transm file of JSON",
    recognises=lambda path: path.suffix == ".transm",
    read=read,
)
