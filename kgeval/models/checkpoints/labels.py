"""The labels of a checkpoint's ids: read from files beside the model, or from the folder of the option ``labels``.

Readers call ``labelled_checkpoint`` with the model that they have made. If their own files hold the labels, they make
``CheckpointLabels`` of these, and call its ``checkpoint``. Both return a ``Checkpoint``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.arrays import IntArray
from kgeval.base.assumptions import choose
from kgeval.base.errors import CheckpointError, InputError, UsageError
from kgeval.base.files import suggest_paths
from kgeval.data.id_files import LABEL_FILES, PYKEEN, PYKEEN_SAVED, TSV, LabelFiles, vocabulary_by_id
from kgeval.data.text import first_line
from kgeval.data.vocabulary import Vocabulary
from kgeval.models.checkpoints.checkpoint import Checkpoint
from kgeval.models.checkpoints.locate import json_in, naming
from kgeval.models.checkpoints.options import Options
from kgeval.models.mapped import Reciprocal

NATIVE = LabelFiles("entities.tsv", "relations.tsv")
"""the label files beside a model in kgeval's native format: the id is always in the first column"""


def labelled_checkpoint(model: Any, format: str, files: Sequence[Path], options: Options, **details: Any) -> Checkpoint:
    """Make a checkpoint with the labels beside its first file, or in the folder of the option ``labels``."""
    return find_labels(files[0].parent, options).checkpoint(model, format, files, options, **details)


@dataclass(frozen=True)
class CheckpointLabels:
    """The labels of a model's entities, relations and times, and the files that they were read from."""

    entities: Vocabulary | None = None
    relations: Vocabulary | None = None
    files: tuple[Path, ...] = ()
    times: Vocabulary | None = None

    def checkpoint(
        self,
        model: Any,
        format: str,
        files: Sequence[Path],
        options: Options,
        *,
        reciprocal: bool = False,
        **details: Any,
    ) -> Checkpoint:
        """Make the checkpoint of a model that was read from some files, with these labels.

        ``reciprocal`` says that the rows of the model's relations are followed by their inverses, which predict heads.
        """
        with naming(files[0]):
            model = Reciprocal(model) if reciprocal else model
        labelled = ((*files, *self.files), self.entities, self.relations, options.origins)
        times = None if getattr(model, "num_times", None) is None else self.times
        return Checkpoint(model, format, *labelled, times=times, **details)


def find_labels(folder: Path, options: Options, kinds: Sequence[LabelFiles] = LABEL_FILES) -> CheckpointLabels:
    """Read label files of some kinds in a checkpoint's folder, or of any kind in the folder of the option ``labels``.

    Both vocabularies come from one framework's files if these have both; else each from the file that there is.
    """
    named = named_folder(options)
    place, kinds = named or folder, list(dict.fromkeys((*kinds, *LABEL_FILES))) if named else kinds
    chosen: dict[str, tuple[Path, LabelFiles]] = {}
    for kind in sorted(kinds, key=lambda kind: -len(kind.in_folder(place))):
        chosen = {role: (file, kind) for role, file in kind.in_folder(place).items()} | chosen
    if named and not chosen:
        known = "; ".join(f"{kind.entities} and {kind.relations}" for kind in kinds)
        raise UsageError(f"labels={str(place)!r}: expected a folder with label files: {known}.")
    read = {role: _vocabulary_in(file, kind, role) for role, (file, kind) in chosen.items()}
    for role, (file, _) in chosen.items():
        _refuse_other_labels(place, kinds, role, {file.name: read[role]})
    files = tuple(file for file, _ in chosen.values())
    return CheckpointLabels(read.get("entity"), read.get("relation"), files, read.get("time"))


def _refuse_other_labels(folder: Path, kinds: Sequence[LabelFiles], role: str, fitting: dict[str, Vocabulary]) -> None:
    """Refuse a folder with label files of two frameworks that give as many labels other ids."""
    for kind in kinds:
        file = kind.in_folder(folder).get(role)
        if file is not None and file.name not in fitting:
            with suppress(InputError):  # what cannot be read holds no labels
                labels = _vocabulary_in(file, kind, role)
                if len(labels) == len(next(iter(fitting.values()))) and labels not in fitting.values():
                    fitting[file.name] = labels
    option = "--option labels=FOLDER, a folder with one of them"
    choose("label files", fitting, option, where=f"folder {str(folder)!r}", error=UsageError)


def named_folder(options: Options) -> Path | None:
    """Return the folder that the option ``labels`` names; None without this option."""
    named = options.resolve("labels", None, "")
    if named is not None and not Path(str(named)).is_dir():
        raise UsageError(f"labels={str(named)!r}: no such folder. {suggest_paths(Path(str(named)))}".strip())
    return None if named is None else Path(str(named))


def _vocabulary_in(path: Path, kind: LabelFiles, what: str) -> Vocabulary:
    """Read one label file; if it has a header of ``id`` and ``label``, this names its columns."""
    if path.suffix == ".json":
        return vocabulary_of_ids(path, json_in(path), what)
    if kind.counted:
        return kind.read(path, what)
    header = first_line(path).lower().split("\t")
    header = ["label" if name == what else name for name in header]
    headed = sorted(header) == ["id", "label"]
    quoted = kind in (PYKEEN_SAVED, PYKEEN, TSV)[: 3 if headed else 2]  # pandas quotes a quote, a tab or a line end
    kind = replace(kind, columns=(header[0], header[1])) if headed else kind
    table = kind.table(path, skip=int(headed), delimiter="\t", quoted=quoted)
    ids, swapped = _ids_in(table["id"]), None if headed else _ids_in(table["label"])
    # Labels may be numbers, so that either column may be the ids; frameworks write ids as 0, 1, 2 and so on.
    is_usual = not kind.columns_may_be_swapped or np.array_equal(np.arange(len(table)), () if ids is None else ids)
    if not is_usual and ids is not None and swapped is not None and (ids != swapped).any():
        what = f"both of its columns could be the ids, since the labels are the numbers 0 to {len(table) - 1} too"
        raise CheckpointError(f"{path}: {what}. Begin it with a header, id<TAB>label or label<TAB>id.")
    if ids is None and swapped is not None and kind != NATIVE:
        table = replace(table, data=table.data.rename_columns(table.data.column_names[::-1]))
    return vocabulary_by_id(table, what)


def _ids_in(column: pa.ChunkedArray) -> IntArray | None:
    """Read a column of ids, which are 0, 1, 2 and so on in any order; ``None`` for any other column."""
    with suppress(pa.ArrowInvalid):
        ids = np.asarray(pc.cast(pc.utf8_trim_whitespace(column), pa.int64()))
        return ids if np.array_equal(np.sort(ids), np.arange(len(ids))) else None
    return None


def vocabulary_of_ids(path: Path, ids: Any, kind: str) -> Vocabulary:
    """Make the vocabulary of a dictionary {label: id}, whose labels may be numbers; refuse any other content."""
    if not isinstance(ids, dict) or any(type(row) is not int for row in ids.values()):
        raise CheckpointError(f"{path}: its {kind} ids are not 0, 1, 2 and so on, one for each label.")
    with naming(path):
        return Vocabulary.of({str(label): row for label, row in ids.items()}, kind)


def with_inverses(labels: Iterable[str], ending: str) -> tuple[list[str], list[int]]:
    """Return the relations that have an inverse, and their rows, followed by the rows of the inverses.

    The inverse of a relation has the relation's label with an ending.
    """
    rows = {label: row for row, label in enumerate(labels)}
    forward = [label for label in rows if label + ending in rows]
    return forward, [rows[label + end] for end in ("", ending) for label in forward]
