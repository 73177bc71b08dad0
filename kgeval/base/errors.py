"""The exceptions, and helpers for the words of messages: counts, first few names, the nearest valid choice.

All packages raise the exceptions, ``kgeval.errors`` makes them public, and the command line prints the message and
exits.

KgevalError
├── InputError         an argument, a file or a setting is wrong; nothing was computed (exit code 2)
│   ├── DatasetError      a graph: files, columns, labels, splits
│   ├── CheckpointError   a model: files, arrays, options, vocabularies
│   │   ├── PickleError       a pickled file, of a model or of a graph: it is a DatasetError as well
│   │   └── UsageError        a path, format, option or dataset does not fit a model; its files may be right
│   ├── ConfigError       a configuration file or command line
│   ├── MetricError       a metric name, or a table that a metric cannot use
│   ├── TableError        a table of ranks
│   └── FileError         no regular file, or it asks for too much: it is of each kind above but MetricError
│       └── MissingLibrary    a library is not installed; the message names the extra that brings it
└── RunError           the work began and could not be finished                        (exit code 1)
    └── ScoreError        a model gave a score that cannot be ranked

UserWarning
└── BrokenPackage      an installed package brings a metric, a format, …, and cannot be loaded: it is left out

KeyboardInterrupt
└── Interrupted        a run was stopped, and says what is kept                      (exit code 130 or 143)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

MAX_CHOICES = 30
"""the most valid names that a message lists"""

FEW_CHOICES = 6
"""the most valid names that a message lists if ``kgeval list`` shows them too"""

MAX_CHARACTERS = 300
"""the most characters of a library's message"""

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufffe\uffff]")
"""control characters of terminals, and two that are no characters, which XML refuses"""

NEAR, NEAR_WITHOUT_FIRST = 0.61, 0.74
"""the least similarity (0 to 1) of a misspelt name and a valid one, with the same or another first letter"""


class KgevalError(Exception):
    """Any error of kgeval; its message says what is wrong, where, and what to do."""

    exit_code = 1
    """the exit status of a command that ends with the error"""

    def __str__(self) -> str:
        return visible(super().__str__())


class InputError(KgevalError):
    """An argument, a file or a setting is wrong; nothing was computed."""

    exit_code = 2


class DatasetError(InputError):
    """A graph cannot be used."""


class CheckpointError(InputError):
    """A model checkpoint cannot be used."""


class PickleError(CheckpointError, DatasetError):
    """A pickled file of a model or a graph cannot be used."""


class UsageError(CheckpointError):
    """A model checkpoint cannot be used in this way: its path, format, options or dataset, not its files, are wrong."""


class ConfigError(InputError):
    """A configuration file or a command line is wrong."""


class NoPathError(ValueError):
    """A setting names a file or folder that is not there."""


class MetricError(InputError):
    """A metric is unknown, or cannot be computed from its input."""


class TableError(InputError):
    """A table of ranks cannot be used."""


class FileError(CheckpointError, DatasetError, ConfigError, TableError):
    """A file is not a regular file, or needs too much memory or time for its size."""


class MissingLibrary(FileError, ImportError):
    """A library is not installed that a part of kgeval needs."""


class RunError(KgevalError):
    """The work began and could not be finished."""


class ScoreError(RunError):
    """A model gave a score that cannot be ranked."""


class BrokenPackage(UserWarning):
    """An installed package with plug-ins cannot be used, and was left out."""


class Interrupted(KeyboardInterrupt):
    """A run was stopped by a signal; the message says what is kept and how to continue."""


__all__ = [name for name, it in vars().items() if isinstance(it, type) and issubclass(it, BaseException)]


def visible(text: str) -> str:
    r"""Write the characters that control a terminal, or reverse the direction of text, as escapes.

    Labels and file names may come from untrusted files; a tab and a new line stay.

    >>> visible("a\x1b[2Jb"), visible("\u202eevil"), visible("Zoë\n")
    ('a\\x1b[2Jb', '\\u202eevil', 'Zoë\n')
    """
    return CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


@contextmanager
def naming(where: object, error: type[InputError] = DatasetError) -> Iterator[None]:
    """Put ``where`` before the message of an InputError in the block, and make it an ``error`` if it is none."""
    try:
        yield
    except InputError as refusal:
        kind = type(refusal) if isinstance(refusal, error) else error
        raise kind(f"{where}: {refusal}") from refusal


@contextmanager
def refusing(where: object, what: str, *errors: type[Exception], cure: str = "") -> Iterator[None]:
    """Turn ``errors`` of a library in the ``with`` block into a DatasetError, which says ``what`` is wrong and why."""
    try:
        yield
    except errors as error:
        raise DatasetError(f"{where}: {what} ({reason(error)}). {cure}".rstrip()) from error


def reason(error: BaseException) -> str:
    """Return the first line of a library's error message, cut at ``MAX_CHARACTERS``.

    >>> reason(ValueError("bad magic.")), reason(EOFError())
    ('bad magic', 'EOFError')
    """
    line = str(error).strip().partition("\n")[0].rstrip(" .") or type(error).__name__
    return line if len(line) <= MAX_CHARACTERS else f"{line[:MAX_CHARACTERS]} …"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Write a count with its noun, in the plural unless the count is 1.

    >>> counted(1, "test triple"), counted(2000, "test triple"), counted(0, "query")
    ('1 test triple', '2,000 test triples', '0 queries')
    """
    return f"{count:,} {noun if count == 1 else plural or re.sub('y$', 'ie', noun) + 's'}"


def first_few(items: Sequence[object], most: int = 5) -> str:
    """List the first of many items, for a message.

    >>> first_few([3, 5, 8], 2), first_few([3, 5], 2)
    ('3, 5, …', '3, 5')
    """
    return ", ".join(map(str, items[:most])) + (", …" if len(items) > most else "")


def nearest(word: str, choices: Iterable[str]) -> list[str]:
    """Find at most two valid names that are similar to a misspelt one; very similar if the first letter differs.

    >>> nearest("hits", ["mrr", "hits@k"])
    ['hits@k']
    >>> nearest("linear", ["raw", "bounded-linear"])
    ['bounded-linear']
    >>> nearest("mmr", ["mrr", "mr"]), nearest("drpo", ["error", "drop"]), nearest("nopee", ["openke", "native"])
    (['mr', 'mrr'], ['drop'], [])
    """
    import difflib  # only when a name is wrong, as ``import kgeval`` imports this file

    if not word:
        return []
    folded, word = {name.lower(): name for name in choices if name}, word.lower()
    close = difflib.get_close_matches(word, folded, n=len(folded) or 1, cutoff=NEAR)
    near = [
        name
        for name in close
        if name[0] == word[0] or difflib.SequenceMatcher(None, name, word).ratio() >= NEAR_WITHOUT_FIRST
    ]
    return [folded[name] for name in (near or [name for name in folded if len(word) > 3 and word in name])[:2]]


def refuse_unknown(
    what: str, value: object, known: Iterable[str], error: type[InputError] = InputError, *, listed: str = ""
) -> None:
    """Refuse a value that is no ``known`` name: ``what`` (such as "unknown side"), the value and the nearest names."""
    names = [*known]
    if not isinstance(value, str) or value not in names:
        raise error(f"{what} {value!r:.60}. {did_you_mean(str(value), names, listed=listed)}".strip())


def did_you_mean(word: str, choices: Iterable[str], *, listed: str = "") -> str:
    """Suggest the nearest valid choices; if none is near, list all, or name the ``kgeval list`` command that does.

    >>> did_you_mean("hits", ["mrr", "hits@k"])
    "Did you mean 'hits@k'?"
    >>> did_you_mean("xyz", ["head", "tail"])
    "Choose one of 'head', 'tail'."
    >>> did_you_mean("xyz", map(str, range(40)), listed="metrics")
    "'kgeval list metrics' shows all."
    """
    names = sorted(set(choices))
    if near := nearest(word, names):
        return f"Did you mean {' or '.join(map(repr, near))}?"
    if listed and len(names) > FEW_CHOICES:
        return f"'kgeval list {listed}' shows all."
    shown = ", ".join(repr(name) for name in names[:MAX_CHOICES])
    return f"Choose one of {shown}{', …' if len(names) > MAX_CHOICES else ''}." if names else ""
