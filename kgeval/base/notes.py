"""Notes: sentences on a result. Each is a text that knows what it is on, and which of its words are of one data set.

A note is made where its sentence is written, and nobody takes it apart again. Those of several models that differ in
numbers alone are joined into one, which has ranges (:func:`in_ranges`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from pydantic import TypeAdapter, ValidationError

from kgeval.base.errors import counted

if TYPE_CHECKING:
    from typing_extensions import Self

# fmt: off
NoteKind = Literal[
    "candidates", "chance", "device", "differences", "faulty-lists", "files", "intervals", "labels", "leaks",
    "left-out", "lists", "negatives", "repeated", "runs", "scores", "sides", "tests", "ties", "times", "undefined",
    "unseen", "",
]
# fmt: on
"""what a note is on; empty for one that is only a text, of a run of an older version or of another package"""

KINDS: Mapping[NoteKind, str] = {
    "candidates": "entities that compete with an answer: fewer or others than asked for (--corruption)",
    "chance": "ranks as of a model whose ids are mixed up, or whose scores have the wrong sign",
    "device": "what was not computed on the device (--device)",
    "differences": "in what the ranks of several models differ (--allow)",
    "faulty-lists": "lists of predictions that know the split, name no entity, or name one again",
    "files": "how files were read (--columns, --layout)",
    "intervals": "why numbers have no interval, or a wide one (--intervals)",
    "labels": "labels and ids of model and dataset that do not match",
    "leaks": "triples that can be looked up in what models learn from (--by leak)",
    "left-out": "what was asked for and left out",
    "lists": "lists of predictions: queries and answers without one, and what they were made of",
    "negatives": "false triples, and negatives of metrics",
    "repeated": "triples that stand in a file more than once",
    "runs": "runs that are missing, damaged, changed, or made otherwise",
    "scores": "scores that are not numbers, not repeatable, equal or masked (--nan)",
    "sides": "sides that are not ranked, or seem to be exchanged (--side)",
    "tests": "how differences were tested, or why not (--intervals, --draws)",
    "ties": "ties that move a metric (--ties)",
    "times": "times of temporal graphs: their order, and facts that a filter leaves aside (--times, --filter)",
    "undefined": "metrics that are undefined",
    "unseen": "triples with an entity or relation that the model does not know (--unseen)",
}
"""what notes of each kind are on, with the option that decides it"""

NUMBER = re.compile(r"(?<![\w@.:\-])[-−]?\d[\d,]*(?:\.\d+)?(?![\w@\-]|\.\d)")
"""a number in the words of a note, not in a name such as hits@10"""

OF_EXAMPLES = (": (", " such as ")
"""after these, a text that is no more than a text has labels, whose digits are no numbers"""


class NotePart(str):
    """Words of a note, and what stands for them, or goes with them, where notes are joined."""

    other: str

    def __new__(cls, words: object, other: str = "") -> Self:
        made = super().__new__(cls, words)
        made.other = other
        return made


class Example(NotePart):
    """A label, path or name: what is of one data set; ``other`` are the words for it in a note on several."""

    @classmethod
    def path(cls, path: object) -> Example:
        """Take a path, for which a note on several data sets has an ellipsis; a bare name stays."""
        return cls(path, "…" if "/" in str(path) else str(path))


class Amount(NotePart):
    """A count in words; ``other`` is its noun."""


def amount(count: int, noun: str, plural: str = "") -> Amount:
    """Count in words, which are joined with other counts of the noun.

    >>> in_ranges([Note("files", amount(count, "triple"), " repeated.") for count in (1, 2000)])
    '1–2,000 triples repeated.'
    """
    return Amount(counted(count, noun, plural), noun)


class Note(str):
    """A sentence on a result: its text, what it is on, and the parts that it is made of.

    >>> note = Note("unseen", "left out: ", amount(2, "triple"), Example(": (x, r, y)"), ".")
    >>> note, note.kind, note.general
    ('left out: 2 triples: (x, r, y).', 'unseen', 'left out: 2 triples.')
    """

    kind: NoteKind
    parts: tuple[str, ...]
    seeds: str
    """how many runs of a model have it, if not all: ``in 2 of 3 seeds``"""

    def __new__(cls, kind: NoteKind, /, *parts: str, seeds: str = "") -> Note:
        note = super().__new__(cls, "".join([f"{seeds}: " if seeds else "", *parts]))
        note.kind, note.parts, note.seeds = kind, parts, seeds
        return note

    def __getnewargs_ex__(self) -> tuple[Any, dict[str, str]]:
        return (self.kind, *self.parts), {"seeds": self.seeds}

    @classmethod
    def of(cls, text: str) -> Note:
        return text if isinstance(text, Note) else cls("", text)

    @property
    def general(self) -> Note:
        """The same without what is of one data set."""
        return Note(self.kind, *(part.other if isinstance(part, Example) else part for part in self.parts))

    @property
    def shape(self) -> tuple[str, ...]:
        """What notes that differ in numbers alone have in common."""
        return self.kind, *map(self._shape_of, self.parts)

    def _shape_of(self, part: str) -> str:
        if isinstance(part, Amount):
            return f"# {part.other}"
        is_said = isinstance(part, Example) or not (self.kind or all(words not in part for words in OF_EXAMPLES))
        return part if is_said else NUMBER.sub("#", part)

    def after(self, *parts: str) -> Note:
        """The same after other words."""
        return Note(self.kind, *parts, *self.parts)


def in_ranges(notes: Sequence[Note]) -> Note:
    """Join notes of one shape: each number becomes the range of all.

    >>> in_ranges([Note("ties", f"{count} ranks tie", Example(" (1984)"), ".") for count in (3, 12)])
    '3–12 ranks tie (1984).'
    """
    return Note(notes[0].kind, *(_range(column) for column in zip(*(note.parts for note in notes), strict=True)))


def _range(column: Sequence[str]) -> str:
    numbers = [NUMBER.findall(part) for part in column]
    if len({*column}) == 1 or not all(numbers):
        return column[0]
    ranges = iter([_from_to(of_all) for of_all in zip(*numbers, strict=True)])
    most = max(column, key=lambda part: _value(NUMBER.findall(part)[0]))  # in the plural, if one is
    return NUMBER.sub(lambda _: next(ranges), most)


def _from_to(numbers: Iterable[str]) -> str:
    ordered = sorted(numbers, key=_value)
    low, high = ordered[0], ordered[-1]
    return low if low == high else f"{low} to {high}" if low[0] in "-−" else f"{low}–{high}"


def _value(number: str) -> float:
    return float(number.replace(",", "").replace("−", "-"))


def in_json(notes: Iterable[str]) -> dict[str, list[str]]:
    """What JSON says of notes: their texts, and beside each what it is on, empty of one that is only a text."""
    every = [*map(Note.of, notes)]
    return {"notes": [*map(str, every)], "note_kinds": [str(note.kind) for note in every]}


def stored(notes: Iterable[str]) -> dict[str, Any]:
    """What a file keeps of notes, under keys that older versions leave aside: what JSON says, and their parts."""
    every = [*map(Note.of, notes)]
    return {**in_json(every), "note_parts": [[*map(_plain, note.parts)] for note in every]}


def _plain(part: str) -> Any:
    if not isinstance(part, NotePart):
        return part
    return [str(part), part.other] if isinstance(part, Example) else [str(part), part.other, "#"]


PlainPart = str | tuple[str, str] | tuple[str, str, Literal["#"]]
"""a part in a file: words, an example with the words for it, or a count with its noun"""

KEPT = TypeAdapter(tuple[list[NoteKind], list[list[PlainPart]]])
"""of the notes in a file, their kinds and parts"""


def restored(content: Mapping[str, Any]) -> tuple[Note, ...]:
    """Read what ``stored`` gave; a text without parts, or with those of another text, is only a text."""
    by_text = dict[str, Note]()
    with suppress(ValidationError):
        columns = KEPT.validate_python((content.get("note_kinds"), content.get("note_parts")))
        made = (Note(kind, *map(_part, parts)) for kind, parts in zip(*columns, strict=False))
        by_text = {str(note): note for note in made}
    return tuple(by_text.get(text) or Note.of(text) for text in map(str, content.get("notes", ())))


def _part(plain: PlainPart) -> str:
    if isinstance(plain, str):
        return plain
    return (Example if len(plain) == 2 else Amount)(*plain[:2])
