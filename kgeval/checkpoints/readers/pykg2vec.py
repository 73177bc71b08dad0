"""pykg2vec's models: ``model.vec.pt``, a ``state_dict``, and ``config.npy`` beside it, a pickle that is not opened.

Older code of OpenKE calls its files and tensors the same, and numbers other labels: without ``config.npy``, the format
has to be named. Ids are those of the sorted labels of all splits. A TransE normalises entities and relations.
"""

from __future__ import annotations

from pathlib import Path

from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.shared.locate import contains_file, find_checkpoint_file, find_labels, folder_of
from kgeval.checkpoints.shared.tensors import Tensors, names_in, normalize_rows, side_by_side
from kgeval.scorers.families.bilinear import DistMult
from kgeval.scorers.families.complex import ComplEx
from kgeval.scorers.families.translations import TransE
from kgeval.scorers.family import Family

FILE, CONFIG, LABELS = "model.vec.pt", "config.npy", "ent_labels.tsv"

TABLES = ("ent_embeddings", "rel_embeddings")

HALVES = tuple((f"{table}_real", f"{table}_img") for table in TABLES)


def read(path: Path, options: Options) -> Checkpoint:
    """Read a ComplEx, or what the options say: a TransE (and l1_flag) or a DistMult."""
    file = find_checkpoint_file(path, [lambda file: file.name == FILE], f"{FILE} of pykg2vec")
    tensors = Tensors.read(file)
    is_complex = f"{HALVES[0][0]}.weight" in tensors
    models = ["ComplEx"] if is_complex else ["TransE", "DistMult"]
    name = options.require("model", models[0] if is_complex else None, file.name, models)
    family = _family(name, tensors, options)
    options.record_origins(family, "pykg2vec", norm="l1_flag")
    tensors.refuse_unused(name)
    return find_labels(folder_of(path), options).checkpoint(family, "pykg2vec", [file], options, numbering="sorted")


def _family(name: str, tensors: Tensors, options: Options) -> Family:
    if name == "ComplEx":
        return ComplEx(
            *(side_by_side(tensors.path, *(tensors.matrix(f"{n}.weight") for n in names)) for names in HALVES)
        )
    entity, relation = (tensors.matrix(f"{table}.weight") for table in TABLES)
    if name == "DistMult":
        return DistMult(entity, relation)
    flag = options.require("l1_flag", None, tensors.path.name, [True, False])
    return TransE(normalize_rows(entity), normalize_rows(relation), 1 if flag else 2)


def _fits(file: Path) -> bool:
    beside = file.name == FILE and file.with_name(CONFIG).is_file()
    return beside and not {f"{TABLES[0]}.weight", f"{HALVES[0][0]}.weight"}.isdisjoint(names_in(file))


READER = Reader(
    name="pykg2vec",
    summary="a TransE, DistMult or ComplEx of pykg2vec (model.vec.pt, config.npy)",
    recognises=lambda path: contains_file(path, _fits),
    read=read,
    known_by=(frozenset({*(f"{table}.weight" for table in TABLES), CONFIG, LABELS}),),
)
