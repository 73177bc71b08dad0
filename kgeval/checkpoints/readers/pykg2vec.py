"""pykg2vec's models: ``model.vec.pt``, a ``state_dict``, and ``config.npy`` beside it, a pickle that is not opened.

Older code of OpenKE calls its files and tensors the same, and numbers other labels: without ``config.npy``, the format
has to be named. Ids are those of the sorted labels of all splits. A TransE normalises entities and relations.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from kgeval.checkpoints.shared.locate import contains_file
from kgeval.checkpoints.shared.state_dict_format import Model, Option, StateDictFormat, halves, holds, named, unit_rows
from kgeval.scorers.families.bilinear import DistMult
from kgeval.scorers.families.complex import ComplEx
from kgeval.scorers.families.translations import TransE

FILE, CONFIG, LABELS = "model.vec.pt", "config.npy", "ent_labels.tsv"

NAMES = {"entity": "ent_embeddings", "relation": "rel_embeddings"}
TABLES: dict[str, Any] = {kind: named(f"{name}.weight") for kind, name in NAMES.items()}
UNIT_TABLES = {kind: unit_rows(table) for kind, table in TABLES.items()}
HALVES = {kind: halves(f"{name}_real.weight", f"{name}_img.weight") for kind, name in NAMES.items()}
REAL = "ent_embeddings_real.weight"

FORMAT = StateDictFormat(
    name="pykg2vec",
    framework="pykg2vec",
    summary="a TransE, DistMult or ComplEx of pykg2vec (model.vec.pt, config.npy)",
    what=f"{FILE} of pykg2vec",
    files=(lambda file: file.name == FILE,),
    models={
        "TransE": Model(TransE, UNIT_TABLES | {"norm": Option("l1_flag", {True: 1, False: 2})}),
        "DistMult": Model(DistMult, TABLES),
        "ComplEx": Model(ComplEx, HALVES, REAL),
    },
    numbering="sorted",
    known_by=(frozenset({*(f"{name}.weight" for name in NAMES.values()), CONFIG, LABELS}),),
)


def _fits(file: Path) -> bool:
    beside = file.name == FILE and file.with_name(CONFIG).is_file()
    return beside and holds({".pt"}, {"ent_embeddings.weight"}, {REAL})(file)


READER = replace(FORMAT.reader(), recognises=lambda path: contains_file(path, _fits))
