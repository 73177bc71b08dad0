"""The files of a checkpoint: found in a folder, and read with a refusal that names the file if they are damaged.

Called by the readers of all formats; labels beside a model are found in ``labels.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from json import JSONDecoder
from pathlib import Path
from typing import Any

from kgeval.base.errors import CheckpointError, InputError, UsageError, reason
from kgeval.base.errors import naming as naming_place
from kgeval.base.files import read_json
from kgeval.data.text import open_text


def find_checkpoint_file(path: Path, groups: Sequence[Callable[[Path], bool]], what: str) -> Path:
    """Return the path itself if it is a file, else the only file in the folder that passes a test.

    If no file passes the first test of ``groups``, the next test is tried. ``what`` names such files in messages.
    """
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
    """Return the only folder, the path or one in it, that holds all ``names``; ``None`` if there is none or several."""
    folders = [path, *sorted(path.iterdir())] if path.is_dir() else []
    fitting = [folder for folder in folders if all((folder / name).exists() for name in names)]
    return fitting[0] if len(fitting) == 1 else None


def contains_file(path: Path, fits: Callable[[Path], bool]) -> bool:
    """Whether a file passes a test, or any file in a folder does."""
    if path.is_file():
        return fits(path)
    return path.is_dir() and any(fits(entry) for entry in path.iterdir() if entry.is_file())


def folder_of(path: Path) -> Path:
    """Return the path itself if it is a folder, else the folder around it."""
    return path if path.is_dir() else path.parent


naming = partial(naming_place, error=CheckpointError)
"""a context manager that puts the name of a file before the message of a refusal, which becomes a CheckpointError"""


@contextmanager
def readable(file: Path, what: str) -> Iterator[None]:
    """Turn any exception in the block into a CheckpointError: libraries raise many kinds for damaged files."""
    try:
        yield
    except CheckpointError:
        raise
    except Exception as error:
        why = f"no {error}" if isinstance(error, KeyError) else reason(error)
        raise CheckpointError(f"{file}: not a readable {what}, or cut short ({why}).") from error


BEGINNING = 2**20
"""the most characters of a line that are looked at to recognise a file"""


def first_lines(path: Path, count: int) -> list[str]:
    """Read the first lines of a text, at most ``BEGINNING`` characters of each; if it is no text, they are empty."""
    with suppress(InputError, OSError), open_text(path) as text:
        return [text.readline(BEGINNING).strip() for _ in range(count)]
    return [""] * count


JSON_ENDINGS = {".jsonl", ".ndjson", ".json"}
"""the endings of files of JSON, which may be compressed"""

LONGEST = 2**26
"""the most characters that are read as one line"""


def first_object(file: Path) -> Mapping[str, Any]:
    """Read the first object of a JSON file, alone on a line, in an array or over several lines; empty without one."""
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
    """Read a JSON file with the settings of a model; refuse a file that holds no object."""
    settings = json_in(path)
    if not isinstance(settings, dict):
        raise CheckpointError(f"{path}: expected the settings of a model, as names and values.")
    return settings
