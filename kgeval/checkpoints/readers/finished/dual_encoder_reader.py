"""Dual encoders, such as SimKGC: a vector of each entity, and one of the query of each triple."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.readers.finished.array_model import ArrayModel
from kgeval.checkpoints.readers.finished.encoded_triples import encoded_triples
from kgeval.checkpoints.shared.mapped_array import folder_of_tables, has_table, mapped_array, table_file
from kgeval.errors import CheckpointError, InputError
from kgeval.scorers.adapters.dual_encoder import DualEncoder
from kgeval.scorers.numerics.similarity import Similarity

ENTITY = "entity"

QUERY = {"tail": "query", "head": "head_query"}


def read(path: Path, options: Options) -> ArrayModel:
    """Read ``entity.npy`` (float[entity, dim]), ``query.npy`` (float[triple, dim], of tails) and ``head_query.npy``.

    Each may be a ``.safetensors`` with one tensor.

    Raises
    ------
    CheckpointError
        if the dataset or the similarity is not known, or an array is damaged or has another shape
    """
    path = folder_of_tables(path, ENTITY, *QUERY.values())
    similarity = options.require("similarity", None, str(path), get_args(Similarity))
    found = encoded_triples(path, options)
    entity = table_file(path, ENTITY)
    if entity is None:
        raise CheckpointError(f"{path}: found no {ENTITY}.npy or {ENTITY}.safetensors, the vectors of the entities.")
    files = {side: file for side, name in QUERY.items() if (file := table_file(path, name))}
    vectors, queries = mapped_array(entity), {side: mapped_array(file) for side, file in files.items()}
    for side, file in files.items():
        found.refuse_other_rows(file, len(queries[side]))
    try:
        model = DualEncoder(found.triples, vectors, similarity=similarity, relations=found.relations, **queries)
    except InputError as error:
        raise CheckpointError(f"{path}: {error}") from error
    read_files = (entity, *files.values(), *found.files)
    return ArrayModel(model, "dual-encoder", read_files, found.entities, found.relations, options.origins)


READER = Reader(
    name="dual-encoder",
    summary="a folder of a text encoder's vectors (entity, query, head_query: .npy or .safetensors; entities.txt)",
    recognises=lambda path: path.is_dir() and has_table(path, ENTITY) and has_table(path, *QUERY.values()),
    read=read,
)
