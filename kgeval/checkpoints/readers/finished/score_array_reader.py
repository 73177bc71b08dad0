"""Finished scores: the score of every entity for the query of each triple, mapped from disk."""

from __future__ import annotations

from pathlib import Path

from kgeval.checkpoints.options import Options
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.readers.finished.array_model import ArrayModel
from kgeval.checkpoints.readers.finished.encoded_triples import encoded_triples
from kgeval.checkpoints.shared.mapped_array import folder_of_tables, is_table, mapped_array, table_file
from kgeval.errors import CheckpointError, InputError
from kgeval.scorers.adapters.array_scorers import ScoreTable

SCORES = {"tail": "tail_scores", "head": "head_scores"}


def read(path: Path, options: Options) -> ArrayModel:
    """Read ``tail_scores.npy`` and ``head_scores.npy``, float[triple, entity] each; one is enough.

    Each may be a ``.safetensors`` with one tensor.

    Raises
    ------
    CheckpointError
        if the dataset is not known, or an array is damaged or has another shape
    """
    path = folder_of_tables(path, *SCORES.values())
    found = encoded_triples(path, options)
    files = {side: file for side, name in SCORES.items() if (file := table_file(path, name))}
    scores = {side: mapped_array(file) for side, file in files.items()}
    for side, file in files.items():
        found.refuse_other_rows(file, len(scores[side]))
    try:
        model = ScoreTable(found.triples, relations=found.relations, **scores)
    except InputError as error:
        raise CheckpointError(f"{path}: {error}") from error
    read_files = (*files.values(), *found.files)
    return ArrayModel(model, "scores", read_files, found.entities, found.relations, options.origins)


READER = Reader(
    name="scores",
    summary="a folder of finished scores (tail_scores, head_scores: .npy or .safetensors; a row a triple)",
    recognises=lambda path: is_table(path, *SCORES.values()),
    read=read,
)
