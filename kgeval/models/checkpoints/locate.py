"""Find the files of a checkpoint: the model in a folder, and the labels beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from json import JSONDecoder
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.arrays import IntArray
from kgeval.base.errors import CheckpointError, InputError, UsageError, reason
from kgeval.base.errors import naming as naming_place
from kgeval.base.files import read_json, suggest_paths
from kgeval.data.id_files import (
    LABEL_FILES,
    PYKEEN,
    PYKEEN_SAVED,
    TSV,
    LabelFiles,
    vocabulary_by_id,
)
from kgeval.data.text import first_line, open_text
from kgeval.data.vocabulary import Vocabulary
from kgeval.models.checkpoints.checkpoint import Checkpoint
from kgeval.models.checkpoints.options import Options
from kgeval.models.mapped import Reciprocal

naming = partial(naming_place, error=CheckpointError)
"""names the file in the refusal of what it holds"""


@contextmanager
def readable(file: Path, what: str) -> Iterator[None]:
    """Refuse a file whose reading fails in any way: libraries have many ways of refusing what is damaged."""
    try:
        yield
    except CheckpointError:
        raise
    except Exception as error:
        why = f"no {error}" if isinstance(error, KeyError) else reason(error)
        raise CheckpointError(f"{file}: not a readable {what}, or cut short ({why}).") from error


NATIVE = LabelFiles("entities.tsv", "relations.tsv")
"""the files beside a native one, in which ids are always first"""


def vocabulary_of_ids(path: Path, ids: Any, kind: str) -> Vocabulary:
    """Make the vocabulary of a dictionary {label: id}, whose labels may be numbers; refuse any other."""
    if not isinstance(ids, dict) or any(type(row) is not int for row in ids.values()):
        raise CheckpointError(f"{path}: its {kind} ids are not 0, 1, 2 and so on, one for each label.")
    with naming(path):
        return Vocabulary.of({str(label): row for label, row in ids.items()}, kind)


def first_lines(path: Path, count: int, longest: int = 2**20) -> list[str]:
    """Read the first lines of a text, none longer than so many characters; empty ones of what is no text."""
    with suppress(InputError, OSError), open_text(path) as text:
        return [text.readline(longest).strip() for _ in range(count)]
    return [""] * count


JSON_ENDINGS = {".jsonl", ".ndjson", ".json"}
"""the endings of files of JSON, which may be compressed"""

LONGEST = 2**26
"""characters that a line may have"""


def first_object(file: Path) -> Mapping[str, Any]:
    """Read the first object of a file of JSON, alone on a line or in an array or over lines; empty without one."""
    if JSON_ENDINGS.isdisjoint(map(str.lower, file.suffixes)):
        return {}
    with suppress(Exception), open_text(file) as text:
        line = next(filter(str.strip, iter(lambda: text.readline(LONGEST), "")))
        start = line if line.rstrip().endswith("}") else line + text.read(LONGEST)
        content = JSONDecoder().raw_decode(start.lstrip("[ \t\r\n"))[0]
        return content if isinstance(content, dict) else {}
    return {}


def json_in(path: Path) -> Any:
    """Read a JSON file; refuse any other."""
    with readable(path, "JSON file"):
        return read_json(path)


def settings_in(path: Path) -> dict[str, Any]:
    """Read a JSON object."""
    settings = json_in(path)
    if not isinstance(settings, dict):
        raise CheckpointError(f"{path}: expected the settings of a model, as names and values.")
    return settings


@dataclass(frozen=True)
class CheckpointLabels:
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

        If it is ``reciprocal``, its relations are followed by their inverses, which predict heads.
        """
        with naming(files[0]):
            model = Reciprocal(model) if reciprocal else model
        labelled = ((*files, *self.files), self.entities, self.relations, options.origins)
        times = None if getattr(model, "num_times", None) is None else self.times
        return Checkpoint(model, format, *labelled, times=times, **details)


def find_labels(folder: Path, options: Options, kinds: Sequence[LabelFiles] = LABEL_FILES) -> CheckpointLabels:
    """Read the labels in a checkpoint's folder, or those of any kind in the folder that the option ``labels`` names.

    Both vocabularies come from one framework's files where it has both; else each from the file that there is.
    """
    named = named_folder(options)
    place, kinds = named or folder, list(dict.fromkeys((*kinds, *LABEL_FILES))) if named else kinds
    chosen: dict[str, tuple[Path, LabelFiles]] = {}
    for kind in sorted(kinds, key=lambda kind: -len(kind.in_folder(place))):
        chosen = {role: (file, kind) for role, file in kind.in_folder(place).items()} | chosen
    if named and not chosen:
        known = "; ".join(f"{kind.entities} and {kind.relations}" for kind in kinds)
        raise UsageError(f"labels={str(place)!r}: expected a folder with label files: {known}.")
    read = {role: _read(file, kind, role) for role, (file, kind) in chosen.items()}
    files = tuple(file for file, _ in chosen.values())
    return CheckpointLabels(read.get("entity"), read.get("relation"), files, read.get("time"))


def labelled_checkpoint(model: Any, format: str, files: Sequence[Path], options: Options, **details: Any) -> Checkpoint:
    """Make a checkpoint with the labels beside its first file, or in the folder of the option ``labels``."""
    return find_labels(files[0].parent, options).checkpoint(model, format, files, options, **details)


def named_folder(options: Options) -> Path | None:
    """Return the folder that the option ``labels`` names, if it does."""
    named = options.resolve("labels", None, "")
    if named is not None and not Path(str(named)).is_dir():
        raise UsageError(f"labels={str(named)!r}: no such folder. {suggest_paths(Path(str(named)))}".strip())
    return None if named is None else Path(str(named))


def _read(path: Path, kind: LabelFiles, what: str) -> Vocabulary:
    """Read one of the files; a header of ``id`` and ``label`` names its columns."""
    if path.suffix == ".json":
        return vocabulary_of_ids(path, json_in(path), what)
    if kind.counted:
        return kind.read(path, what)
    header = first_line(path).lower().split("\t")
    headed = sorted(header) == ["id", "label"]
    quoted = kind in (PYKEEN_SAVED, PYKEEN, TSV)[: 3 if headed else 2]  # as pandas writes a quote, a tab or a line end
    kind = replace(kind, columns=(header[0], header[1])) if headed else kind
    table = kind.table(path, skip=int(headed), delimiter="\t", quoted=quoted)
    ids, swapped = _numbers(table["id"]), None if headed else _numbers(table["label"])
    # Labels may be numbers, so that either column may be the ids; frameworks write ids as 0, 1, 2 and so on.
    is_usual = not kind.columns_may_be_swapped or np.array_equal(np.arange(len(table)), () if ids is None else ids)
    if not is_usual and ids is not None and swapped is not None and (ids != swapped).any():
        what = f"both of its columns could be the ids, since the labels are the numbers 0 to {len(table) - 1} too"
        raise CheckpointError(f"{path}: {what}. Begin it with a header, id<TAB>label or label<TAB>id.")
    if ids is None and swapped is not None and kind != NATIVE:
        table = replace(table, data=table.data.rename_columns(table.data.column_names[::-1]))
    return vocabulary_by_id(table, what)


def _numbers(column: pa.ChunkedArray) -> IntArray | None:
    with suppress(pa.ArrowInvalid):
        ids = np.asarray(pc.cast(pc.utf8_trim_whitespace(column), pa.int64()))
        return ids if np.array_equal(np.sort(ids), np.arange(len(ids))) else None
    return None


def with_inverses(labels: Iterable[str], ending: str) -> tuple[list[str], list[int]]:
    """Return the relations that have inverses, called so with an ending; and their rows, those of the inverses last."""
    rows = {label: row for row, label in enumerate(labels)}
    forward = [label for label in rows if label + ending in rows]
    return forward, [rows[label + end] for end in ("", ending) for label in forward]


def folder_of(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def find_checkpoint_file(path: Path, groups: Sequence[Callable[[Path], bool]], what: str) -> Path:
    """Return the path itself if it is a file, else the only file in the folder that passes the first possible test."""
    if path.is_file():
        return path
    files = sorted(entry for entry in path.iterdir() if entry.is_file())
    for group in groups:
        fitting = [file for file in files if group(file)]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            names = ", ".join(file.name for file in fitting)
            raise UsageError(f"{str(path)!r} holds several checkpoints: {names}. Give one of the files.")
    raise CheckpointError(f"{str(path)!r} holds no {what}.")


def find_checkpoint_folder(path: Path, *names: str) -> Path | None:
    """Return the path itself or the only folder in it that holds some files or folders; ``None`` without one."""
    folders = [path, *sorted(path.iterdir())] if path.is_dir() else []
    fitting = [folder for folder in folders if all((folder / name).exists() for name in names)]
    return fitting[0] if len(fitting) == 1 else None


def contains_file(path: Path, fits: Callable[[Path], bool]) -> bool:
    if path.is_file():
        return fits(path)
    return path.is_dir() and any(fits(entry) for entry in path.iterdir() if entry.is_file())
