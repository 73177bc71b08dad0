"""Text vectors of KB2E and Fast-TransX: ``entity2vec.bern``, ``relation2vec.bern`` (``.unif``, ``.vec``), rows by id.

Two such files are a TransE, whose distance is L1 or L2 (``L1_flag``): no file says which. The programs for TransH,
TransR and TransD write matrices beside them (``A.bern``, ``A.vec``), which are not read.
"""

from __future__ import annotations

from pathlib import Path

from kgeval.checkpoints.checkpoint import Checkpoint
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.readers.plain.text_vectors import read_vectors
from kgeval.checkpoints.shared.locate import contains_file, find_checkpoint_file, find_labels, folder_of
from kgeval.errors import CheckpointError
from kgeval.scorers.families.distances.transe import TransE

ENTITY, RELATION, MATRICES = "entity2vec", "relation2vec", "A"
"""what the names of its files begin with"""

SUFFIXES = {".bern", ".unif", ".vec", ".txt"}


def read(path: Path, options: Options) -> Checkpoint:
    """Read a TransE; the option L1_flag says whether its distance is L1, as in the programs.

    Raises
    ------
    CheckpointError
        if a file is missing or malformed, or if there are matrices of another model beside it
    """
    found = find_checkpoint_file(path, [lambda file: _fits(file) and file.name.startswith(ENTITY)], f"file {ENTITY}.…")
    files = [_sibling(found, name) for name in (ENTITY, RELATION)]
    if (matrices := _sibling(found, MATRICES)).is_file():
        raise CheckpointError(
            f"{matrices}: it holds the matrices of a TransH, TransR or TransD, which kgeval does not read as text. In "
            "Python, kgeval.evaluate(function, dataset) takes any function of ids."
        )
    options.resolve("model", "TransE", files[0].name)
    norm = 1 if options.require("L1_flag", None, files[0].name, [True, False]) else 2
    family = TransE(read_vectors(files[0]), read_vectors(files[1]), norm)  # type: ignore[arg-type]
    options.record_origins(family, "KB2E", norm="L1_flag")
    labels = find_labels(folder_of(path), options)
    labelled = (labels.entities, labels.relations, options.origins)
    return Checkpoint(family, "transx", (*files, *labels.files), *labelled, numbering="files", layouts=("openke",))


def _sibling(file: Path, name: str) -> Path:
    """Return the file of another name that was written with this one: ``entity2vec.bern`` has ``relation2vec.bern``."""
    own = next(prefix for prefix in (ENTITY, RELATION) if file.name.startswith(prefix))
    return file.with_name(name + file.name.removeprefix(own))


def _fits(file: Path) -> bool:
    """Whether a file holds one of the two tables, and the other lies beside it."""
    named = file.suffix in SUFFIXES and file.name.startswith((ENTITY, RELATION))
    return named and all(_sibling(file, name).is_file() for name in (ENTITY, RELATION))


READER = Reader(
    name="transx",
    summary="text vectors of KB2E or Fast-TransX: entity2vec and relation2vec (.bern, .unif, .vec), and their id files",
    recognises=lambda path: contains_file(path, _fits),
    read=read,
    known_by=(frozenset({"entity2vec.bern", "relation2vec.bern"}), frozenset({"entity2vec.vec", "relation2vec.vec"})),
)
