"""What the columns of a table hold: as the user says, as the header says, or head, relation, tail in this order.

``tables.py`` calls :func:`resolve` for each table that it reads: in go the names of its columns, out come their roles.
The role of a column is what it holds, such as ``head`` or ``time``. A new word for a column is added to ``ROLES``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from kgeval.base.errors import DatasetError, did_you_mean, refuse_unknown
from kgeval.data.split_names import parts_of

TRIPLE = ("head", "relation", "tail")

ROLES: Mapping[str, tuple[str, str]] = {
    "head": (
        "head h subject subj sub s source src from x 1 e1 n1 arg1",
        "start left lhs u origin parent entity item node",
    ),
    "relation": (
        "relation rel r relationship predicate pred p property edge etype metaedge link interaction verb",
        "type kind label attribute key",
    ),
    "tail": ("tail t object obj o target tgt dst dest to y 2 e2 n2 arg2", "end right rhs v destination child value"),
    "time": ("time timestamp date datetime", "year day epoch timestep when"),
    "confidence": ("confidence confidencescore weight w probability grade rating", ""),
    "label": ("label", "truth istrue"),
    "split": ("split", "subset fold partition"),
    "side": ("side direction", ""),
}
"""The role of a column -> the words for its name, and weak words, which count if no column is named by the former.

They are the names of PyKEEN, LibKGE, DGL, GraphStorm, Neo4j, KGTK, PrimeKG, Hetionet, NetworkX, pandas and RDF.
"""

IN_PYTHON = "(in Python and in configurations columns)"
"""what follows the option --columns in messages"""

OPTION = f"--columns head=…,relation=…,tail=… {IN_PYTHON}"
"""how a user says what the columns are"""

ColumnNames = str | Mapping[str, str] | Sequence[str]
"""the columns in their order, or which column holds what: ``{"tail": "gene", "relation": "'binds'"}``"""


class Columns(NamedTuple):
    """The columns as the user says them."""

    order: tuple[str, ...] = ()
    """the role of each column of a file without a header, in their order; ``_`` for an unused one"""
    names: Mapping[str, str] = {}
    """a role -> the name of its column, or its place from 1; or several names with ``+`` between them, such as
    ``x_type+x_id``, whose cells are joined by a colon"""
    constants: Mapping[str, str] = {}
    """a role that no column has -> the text that stands for it in every row"""
    further: re.Pattern[str] | None = None
    """the pattern of further roles in this kind of table, such as ranks beside a triple"""
    header: str = ""
    """which files have a header: ``all``, ``none`` or splits such as ``train+test``; else their first rows tell"""
    separator: str = ""
    """the separator of columns; else the first rows tell"""
    best_rank: str = ""
    """in a file of ranks, the best rank: ``1`` or ``0``"""
    side_is: str = ""
    """in a file of ranks, what its sides name: what is ``predicted``, or what is ``known``"""

    @classmethod
    def of(cls, columns: ColumnNames | Columns | None) -> Columns:
        """Make ``Columns`` of the names that a user gives: a text, a mapping or a list.

        >>> Columns.of("head, relation, _, tail, _").order
        ('head', 'relation', '_', 'tail', '_')
        >>> columns = Columns.of("head=subj,relation='is a'")
        >>> columns.names, columns.constants
        ({'head': 'subj'}, {'relation': 'is a'})
        """
        if columns is None or isinstance(columns, Columns):
            return columns or cls()
        order: Sequence[str] = ()
        if isinstance(columns, str):
            pairs = [(match[1], match[2]) for match in PAIR.finditer(columns) if match[0]]
            order = [role for role, column in pairs if column is None]
            columns = {role: column for role, column in pairs if column is not None}
        elif not isinstance(columns, Mapping):
            order, columns = [*map(str, columns)], {}
        texts = {_role(str(role)): str(column) for role, column in columns.items()}
        if empty := [name for name in SETTINGS if texts.get(name) == ""]:
            raise DatasetError(f"columns: {empty[0]} is empty. Give its value, in quotes if it is a comma.")
        settings: Any = {name: read(texts.pop(name)) for name, read in SETTINGS.items() if name in texts}
        quoted = {role: text[1:-1] for role, text in texts.items() if len(text) > 1 and text[0] == text[-1] in "'\""}
        names = {role: text for role, text in texts.items() if role not in quoted}
        if order and names:
            raise DatasetError(f"columns: {order[0]!r} has no name of a column. Expected {order[0]}=COLUMN.")
        if len({*names.values()}) < len(names):
            raise DatasetError(f"columns: one column is named twice: {', '.join(names.values())}. Name each once.")
        return cls(tuple(order), names, quoted, **settings)

    @property
    def are_given(self) -> bool:
        """Whether the user says what columns hold."""
        return any((self.order, self.names, self.constants))

    @property
    def are_places(self) -> bool:
        """Whether the user names columns by their places, from 1; 0 is a name that pandas gives."""
        return bool(self.names) and all(name.isdecimal() and int(name) for name in self.names.values())

    @property
    def say_all(self) -> bool:
        """Whether the user names all parts of the triples of a graph: then no other column is read."""
        return self.further is None and {*TRIPLE} <= {*self.names, *self.constants}

    def of_split(self, split: str) -> Columns:
        """Say for the files of a split whether they have a header."""
        has = "all" if split in parts_of(self.header) else "none"
        return self._replace(header=has) if parts_of(self.header) else self

    def is_further(self, role: str) -> bool:
        return self.further is not None and self.further.fullmatch(role) is not None

    def check(self) -> None:
        """Refuse a role or a setting that this kind of table does not have."""
        if self.further is None and (self.best_rank or self.side_is):
            raise DatasetError("columns: best_rank and side_is are for files of ranks. Leave them out.")
        for role in (*self.names, *self.constants):
            if role not in ROLES and not self.is_further(role):
                raise DatasetError(f"columns: no column holds {role!r}. {did_you_mean(role, ROLES)}")


UNSAID = Columns()
"""the user says nothing"""


def resolve(source: str | Path, names: Sequence[str], columns: Columns = UNSAID) -> list[str]:
    """Return the role of each column; a column without a role keeps its name, in lower case.

    ``names`` is the header. The table must have the columns of a triple.

    Raises
    ------
    DatasetError
        if two columns could hold the same, or none holds what is needed, with the option that decides it
    """
    header = [unquoted(name) for name in names]
    listed = f"found the columns {', '.join(map(repr, header))}" if header else "found no columns"
    by_place = [str(place + 1) for place in range(len(header))] if columns.are_places else header
    joined = [role for role, column in columns.names.items() if "+" in column and column not in by_place]
    roles = {place_of(source, it, column, by_place): it for it, column in columns.names.items() if it not in joined}
    for place, role in _by_meaning(source, header, [*columns.names, *columns.constants], listed).items():
        if role not in roles.values() and (not columns.say_all or role in ("split", "side")):
            roles.setdefault(place, role)
    if missing := [role for role in TRIPLE if role not in (*roles.values(), *columns.constants, *joined)]:
        constant = " One that is the same in all rows: relation='NAME'." if missing == ["relation"] else ""
        fault = f"{source}: no column is the {' or the '.join(missing)}; {listed}."
        raise DatasetError(f"{fault} Say which: {OPTION}.{constant}")
    taken = not any(map(columns.is_further, columns.names))
    for place, name in enumerate(map(str.lower, header)):
        is_further = columns.is_further(name)
        plain = name not in (*ROLES, *header[:place]) and not is_further
        roles.setdefault(place, name if plain or (is_further and taken) else f"{name} (column {place + 1}, not used)")
    return [roles[place] for place in range(len(header))]


def _by_meaning(source: str | Path, header: Sequence[str], decided: Collection[str], found: str) -> dict[int, str]:
    """Find the column of each role that is not decided yet, by its name; column number -> role."""
    candidates: dict[str, dict[int, Meaning]] = {}
    for place, name in enumerate(header):
        if (of := meaning(name)) is not None and of.role not in decided:
            candidates.setdefault(of.role, {})[place] = of
    if pairs := pairs_of(candidates.get("head", {}), candidates.get("tail", {})):
        for role, paired in zip(("head", "tail"), map(set, zip(*pairs, strict=True)), strict=True):
            candidates[role] = {place: of for place, of in candidates[role].items() if place in paired}
    roles = {}
    for role, named in candidates.items():
        (rank, place), *others = sorted((of.rank, place) for place, of in named.items())
        if same := [other for other_rank, other in others if other_rank == rank]:
            several = " and ".join(repr(header[other]) for other in (place, *same))
            raise DatasetError(f"{source}: several columns are the {role} ({several}); {found}. Say which: {OPTION}.")
        roles[place] = role
    for place, name in enumerate(header):
        if place not in roles and name.lower() in ("label", "labels") and "label" not in decided:
            roles[place] = "label"
    return roles


def pairs_of(heads: Mapping[int, Meaning], tails: Mapping[int, Meaning]) -> list[tuple[int, int]]:
    """Return the columns of heads and of tails whose names are pairs: those with strong words, if there are any."""
    pairs = [pair for pair in product(heads, tails) if are_a_pair(heads[pair[0]], tails[pair[1]])]
    strong = [pair for pair in pairs if heads[pair[0]].rank < MAX_WEAK > tails[pair[1]].rank]
    return strong or pairs


def place_of(source: str | Path, role: str, column: str, header: Sequence[str]) -> int:
    """Find the column of a name; refuse one that the header does not have."""
    if column not in header:
        raise DatasetError(f"{source}: no column {column!r} for the {role}. {did_you_mean(column, header)}")
    return header.index(column)


def is_header(cells: Sequence[str]) -> bool:
    """Whether the first row of a file names columns rather than a triple.

    It does if it names all three columns, at least one of them in a word, or two of them in words: then the third is
    missing or misspelt. Letters alone, numbered letters and weak names may well be labels, unless they are usual.

    >>> is_header(["t", "h", "r"]), is_header(["head", "about", "tail"]), is_header(["e1", "type", "e2"])
    (True, True, False)
    """
    by_name = {cell.lower(): of for cell in map(unquoted, cells) if (of := meaning(cell)) and of.role in TRIPLE}
    words = {name: of.role for name, of in by_name.items() if _is_word(name, of)}
    whole = {role for name, role in words.items() if not re.search("[0-9]", name)}
    all_three = len({of.role for of in by_name.values()}) == 3
    return len(whole) == 2 or (all_three and (bool(words) or by_name.keys() in LETTERS))


def _is_word(name: str, of: Meaning) -> bool:
    """Whether a name is a word: no letter, no numbered letter, and a weak word only if it is marked as a name."""
    is_marked = of.is_marked or of.rank % MAX_WEAK > 0
    return len(name) > 1 and (of.rank < MAX_WEAK or is_marked) and (is_marked or not re.search("[0-9]", name))


LETTERS = ({*"hrt"}, {*"spo"}, {*"sro"}, {*"srt"})
"""the letters that name columns"""


def unquoted(cell: str) -> str:
    """Take a name without the white space and quotes around it."""
    return cell.strip().strip('"').strip()


class Meaning(NamedTuple):
    """What the name of a column says."""

    role: str
    rank: int
    """of several columns for one role, the lowest is used"""
    word: str = ""
    """the word that says it"""
    is_marked: bool = False
    """whether a mark such as Neo4j's says that it is the name of a column"""

    @property
    def is_ambiguous(self) -> bool:
        """Whether the word names something else too: a database, a period, a truth value, the key of an edge, a date.

        >>> [meaning(name).is_ambiguous for name in ("source", ":START_ID", "subject", "edgeType")]
        [True, False, False, False]
        """
        return self.word in AMBIGUOUS and not self.is_marked


@cache
def meaning(name: str) -> Meaning | None:
    """Tell what a column holds by its name.

    >>> [meaning(name).role for name in ("subject_id", ":START_ID", "edgeType", "node2", "tail_label")]
    ['head', 'head', 'relation', 'tail', 'tail']
    >>> meaning("x_type"), meaning("display_relation"), meaning("1")
    (None, None, None)
    """
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", TYPED.sub("", name))]
    if not words or name.isdecimal():
        return None
    core = "".join(word for word in words if word not in IDENTIFIERS) or words[0]
    without_kind = MEANINGS.get(KIND.sub("", core), ("", 0))
    role, weak = MEANINGS.get(core) or MEANINGS.get(core.removesuffix("s"), without_kind)
    if not role or (core not in MEANINGS and without_kind[0] == role != "relation"):
        return None
    if core in words:
        words.remove(core)
    beside = [word for word in IDENTIFIERS if word in words]
    identified = [word for word in beside if word not in NOUNS] or beside
    rank = MAX_WEAK * weak + (1 + IDENTIFIERS.index(identified[0]) if identified else 0)
    word = next(word for word in (core, core.removesuffix("s"), KIND.sub("", core)) if word in MEANINGS)
    return Meaning(role, rank, word, name[0] in MARKS)


def are_a_pair(head: Meaning, tail: Meaning) -> bool:
    """Whether the names of a head and of a tail belong together: by their words, and by the same words beside them.

    >>> are_a_pair(meaning("subject_id"), meaning("object_id")), are_a_pair(meaning("source"), meaning("object_id"))
    (True, False)
    """
    together = any(head.word in heads.split() and tail.word in tails.split() for heads, tails in PAIRS)
    return together and head.rank % MAX_WEAK == tail.rank % MAX_WEAK


MEANINGS = {
    word: (role, weak)
    for role, groups in reversed([*ROLES.items()])  # so that "label" is weakly a relation, not a truth value
    for weak, words in enumerate(groups)
    for word in words.split()
}

NOUNS = ("entity", "ent", "node", "vertex", "concept", "term", "item")

PAIRS = (
    ("head h", "tail t"),
    ("subject subj sub s", "object obj o"),
    ("source src s origin", "target tgt dst dest destination t"),
    ("from start left lhs u x parent", "to end right rhs v y child"),
    ("1 e1 n1 arg1", "2 e2 n2 arg2"),
    ("item entity", "value"),
)
"""the words for heads and for tails that belong together"""

AMBIGUOUS = {
    *("source", "from", "to", "start", "end", "left", "right", "origin", "destination", "parent", "child", "item"),
    *("value", "node", "entity", "u", "v", "label", "attribute", "key", "date", "year", "day", "when", "epoch"),
}
"""the words that name something else too"""

MARKS = ":_~"
"""what stands before the names that Neo4j, ArangoDB and Neptune give to columns"""

TYPED = re.compile(r":(token|float)(_seq)?$")
"""the end of RecBole's names of columns"""

IDENTIFIERS = ("index", "idx", "id", "ids", "key", "uri", "iri", "curie", "code", *NOUNS, "label", "name")
"""Words beside the word of a role, as in ``head_id``; of two columns for one role, the earlier word is used."""

KIND = re.compile("(type|kind|class|attr)$")
"""The end of some names of relations, as in ``edge_type``. The type of an entity is no relation."""

MAX_WEAK = 100
"""more than ``IDENTIFIERS`` has: the rank of a weak name is larger than that of any other"""


def chosen(what: str, values: Sequence[str], said: str) -> str:
    """Return what the user says, if it is one of some values; refuse anything else."""
    refuse_unknown(what, said, values, DatasetError)
    return said


SEPARATORS = {"tab": "\t", "space": " ", "comma": ",", "semicolon": ";", "bar": "|"}
"""the name of a separator -> the separator"""


def separator_character(separator: str) -> str:
    r"""Read a separator, given as a character, perhaps in quotes, or by its name.

    >>> separator_character(r"\t") == separator_character("tab") == chr(9), separator_character("','")
    (True, ',')
    """
    text = separator.strip("'\"")
    if len(character := SEPARATORS.get(text, "\t" if text == "\\t" else text)) != 1:
        raise DatasetError(f"separator {separator!r}: expected one character, or {', '.join(SEPARATORS)}.")
    return character


def _files_with_header(said: str) -> str:
    files = said.strip("'\"").replace(",", "+")
    if files not in ("all", "none") and not parts_of(files):
        raise DatasetError(f"columns: header={said}. Expected all, none, or splits such as train or train+valid.")
    return files


SETTINGS: Mapping[str, Callable[[str], str]] = {
    "header": _files_with_header,
    "separator": separator_character,
    "best_rank": partial(chosen, "columns: best_rank", ("1", "0")),
    "side_is": partial(chosen, "columns: side_is", ("predicted", "known")),
}
"""the further settings of ``Columns`` -> what reads the text of each"""


def _role(name: str) -> str:
    """Return the role that a user's word names: ``truth`` is a label, ``weight`` a confidence."""
    named = meaning(name)
    return name if name in ROLES or named is None or named.rank % MAX_WEAK else named.role


PAIR = re.compile(r"""\s*([^=,]*?)\s*(?:=\s*('[^']*'|"[^"]*"|[^,]*?)\s*)?(?:,|$)""")
"""an item of a text such as ``head=gene,tail=drug``: a role, and its column if it is given"""
