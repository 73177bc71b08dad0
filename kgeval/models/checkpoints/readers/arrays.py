"""Folders of stored arrays with a row for the query of each triple: finished scores, or the vectors of dual encoders.

``queries.tsv`` names the triples of the rows, ``entities.txt`` the entities. ``load_checkpoint`` calls the readers: a
path and the user's options become an ``ArrayModel``, with a scorer of ``adapters/array_scorers.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

from kgeval.base.arrays import FloatArray
from kgeval.base.assumptions import Assumption
from kgeval.base.errors import CheckpointError, UsageError
from kgeval.data.dataset import Dataset
from kgeval.data.labelled_triples import read_triple_ids
from kgeval.data.tables import read_triples
from kgeval.data.text import read_columns
from kgeval.data.triples import SIDES, Side, Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.models.adapters.array_scorers import DualEncoder, ScoreTable, TripleArrays
from kgeval.models.checkpoints.checkpoint import ModelWithoutFormula
from kgeval.models.checkpoints.labels import find_labels, named_folder
from kgeval.models.checkpoints.locate import folder_of, naming
from kgeval.models.checkpoints.mapped_arrays import NUMPY, SAFE, mapped_array
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.readers import Reader
from kgeval.models.similarity import Similarity


@dataclass(frozen=True, eq=False, repr=False)
class ArrayModel(ModelWithoutFormula):
    """A scorer that was read from arrays with a row for the query of each of some triples."""

    model: TripleArrays  # type: ignore[assignment]

    @property
    def arrays(self) -> Mapping[str, FloatArray]:
        if not isinstance(self.model, DualEncoder):
            return {}
        return {"entity": self.model.vectors} | {side: self.model.array_of(side) for side in self.model.sides}

    def describe(self) -> dict[str, Any]:
        shapes = {side: list(self.model.array_of(side).shape) for side in self.model.sides}
        return {**super().describe(), "rows": shapes}


SCORES: dict[Side, str] = {"tail": "tail_scores", "head": "head_scores"}

SCORE_FILES = [f"{name}.npy" for name in SCORES.values()]


def read_score_array(path: Path, options: Options) -> ArrayModel:
    """Read ``tail_scores.npy`` and ``head_scores.npy``, float[triple, entity] each; one is enough.

    Each may be a ``.safetensors`` with one tensor.
    """
    return _array_model(_folder_of_tables(path, *SCORES.values()), "scores", SCORES, ScoreTable, options)


SCORE_ARRAYS = Reader(
    name="scores",
    summary="a folder of finished scores (tail_scores, head_scores: .npy or .safetensors; a row a triple)",
    recognises=lambda path: _has_table(path, *SCORES.values()) if path.is_dir() else path.name in SCORE_FILES,
    read=read_score_array,
)

ENTITY = "entity"

QUERY: dict[Side, str] = {"tail": "query", "head": "head_query"}


def read_dual_encoder(path: Path, options: Options) -> ArrayModel:
    """Read ``entity.npy`` (float[entity, dim]), ``query.npy`` (float[triple, dim], of tails) and ``head_query.npy``.

    Each may be a ``.safetensors`` with one tensor.
    """
    path = _folder_of_tables(path, ENTITY, *QUERY.values())
    similarity = options.require("similarity", None, str(path), get_args(Similarity))
    entity = _table_file(path, ENTITY)
    if entity is None:
        raise CheckpointError(f"{path}: found no {ENTITY}.npy or {ENTITY}.safetensors, the vectors of the entities.")
    make = partial(DualEncoder, vectors=mapped_array(entity), similarity=similarity)
    return _array_model(path, "dual-encoder", QUERY, make, options, entity)


DUAL_ENCODERS = Reader(
    name="dual-encoder",
    summary="a folder of a text encoder's vectors (entity, query, head_query: .npy or .safetensors; entities.txt)",
    recognises=lambda path: path.is_dir() and _has_table(path, ENTITY) and _has_table(path, *QUERY.values()),
    read=read_dual_encoder,
)


def has_rows_of_queries(folder: Path) -> bool:
    """Whether a folder has a table whose rows are queries, not entities or relations."""
    return _has_table(folder, *SCORES.values(), *QUERY.values())


def _has_table(folder: Path, *names: str) -> bool:
    return any((folder / f"{name}{suffix}").is_file() for name in names for suffix in (NUMPY, SAFE))


def _folder_of_tables(path: Path, *names: str) -> Path:
    """Return the folder of some tables: the path, or the folder around it if it is one of the tables."""
    if path.is_file() and not (path.stem in names and path.suffix in (NUMPY, SAFE)):
        known = " or ".join(f"{name}{NUMPY}" for name in names)
        raise UsageError(f"{path}: its name does not say what it holds. Rename it to {known}, or give the folder.")
    return folder_of(path)


ENTITIES, QUERIES = "entities.txt", "queries.tsv"


def _array_model(
    folder: Path,
    format: str,
    names: Mapping[Side, str],
    make: Callable[..., TripleArrays],
    options: Options,
    *first: Path,
) -> ArrayModel:
    """Make the model of a folder's tables: ``names`` has the name of each side's; the ``first`` files are read already.

    Entities without labels have the ids of the dataset.
    """
    dataset = options.needed_dataset(folder, "its arrays do not name the queries")
    entities, label_files = _entities(folder, options)
    triples, source, query_files = _triples_of_rows(folder, dataset, options)
    files = {side: file for side, name in names.items() if (file := _table_file(folder, name))}
    arrays = {side: mapped_array(file) for side, file in files.items()}
    for side, file in files.items():
        if (rows := len(arrays[side])) != len(triples):
            fault = f"{rows} rows, but {source} has {len(triples)} triples"
            time = "" if dataset.times is None else "<TAB>time"
            columns = f"head<TAB>relation<TAB>tail{time}"
            cure = f"Name it with the option split=NAME, or write {QUERIES} beside it ({columns})."
            raise CheckpointError(f"{file}: {fault}. {cure}")
    with naming(folder):
        asked = triples if entities is None else _in_ids_of(entities, triples, dataset)
        model = make(asked, relations=dataset.relations, **arrays)
    read_files = (*first, *files.values(), *label_files, *query_files)
    return ArrayModel(model, format, read_files, entities, dataset.relations, options.origins)


def _table_file(folder: Path, name: str) -> Path | None:
    files = [file for file in (folder / f"{name}{suffix}" for suffix in (NUMPY, SAFE)) if file.is_file()]
    if len(files) > 1:
        raise CheckpointError(f"{folder}: found both {files[0].name} and {files[1].name}. Keep one of them.")
    return files[0] if files else None


def _entities(folder: Path, options: Options) -> tuple[Vocabulary | None, tuple[Path, ...]]:
    """Read the entity labels, from ``entities.txt`` (one a line) or label files as of a checkpoint; list the files."""
    file = (named_folder(options) or folder) / ENTITIES
    if not file.is_file():
        beside = find_labels(folder, options)
        return beside.entities, beside.files
    labels = read_columns(file, ["label"], delimiter="\t")["label"].combine_chunks()
    with naming(file):
        return Vocabulary(labels), (file,)


def _triples_of_rows(folder: Path, dataset: Dataset, options: Options) -> tuple[Triples, str, tuple[Path, ...]]:
    """Find the triples of the rows, where they come from, and the files that were read.

    The triples are in ``queries.tsv``. Without this file, they are the triples of the split that the option ``split``
    names (by default test), in the order of the split.
    """
    split = options.resolve("split", None, "")
    queries = folder / QUERIES
    if queries.is_file() and split is not None:
        raise UsageError(f"{folder}: {QUERIES} already names the triples of the rows. Leave the option split out.")
    if queries.is_file():
        return _triples_of_file(queries, dataset), QUERIES, (queries,)
    split = str(split or "test")
    of = " as PyKEEN sorts them" if dataset.id_source == "PyKEEN" else ", in their order"
    taken = f"the {split} triples of {dataset.name}{of}"
    options.assumptions.append(Assumption("rows", taken, "usual", "", f"put {QUERIES} beside them"))
    return dataset.split(split), f"split {split} of {dataset.name}", ()


def _triples_of_file(file: Path, dataset: Dataset) -> Triples:
    """Read the triple of each row, and in a temporal graph its time."""
    table = read_triples(file, fourth="time")
    triples = read_triple_ids(table, dataset.entities, dataset.relations)
    if dataset.times is None:
        return triples
    if (times := table.times()) is not None:
        contexts = dataset.times.ids(times)
        table.refuse(contexts < 0, "time", "is none of the dataset. Is it the right one?")
        return Triples(triples.ids, contexts)
    evaluated = Triples.concatenated([dataset.splits[split] for split in ("valid", "test") if split in dataset.splits])
    for side in SIDES:
        queries = np.stack(evaluated.queries_of_side(side)[:2], axis=1)
        pairs = np.unique(np.column_stack([queries, evaluated.contexts]), axis=0)[:, :2]  # type: ignore[list-item]
        if len(np.unique(pairs, axis=0)) < len(pairs):
            fault = f"dataset {dataset.name} is temporal, and asks one {side} query at several times"
            raise CheckpointError(f"{file}: no column 'time', but {fault}. Add the column.")
    return triples


def _in_ids_of(entities: Vocabulary, triples: Triples, dataset: Dataset) -> Triples:
    """Give heads and tails the ids of the model; entities that it does not know get new ids, which no query uses."""
    ids = triples.ids.copy()
    rows = entities.ids(dataset.entities.labels)[ids[:, 0::2]]
    ids[:, 0::2] = np.where(rows < 0, len(entities) + ids[:, 0::2], rows)
    return Triples(ids, triples.contexts)
