"""The choice of columns: names give candidates for each part of a triple, and cells leave one, or the user is asked.

``numbering.number`` calls :func:`settled` for the tables of a graph. The words for names are in ``columns.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.arrays import IntArray
from kgeval.base.assumptions import Assumption, Basis, choose
from kgeval.base.errors import DatasetError
from kgeval.data.columns import IN_PYTHON, MAX_WEAK, ROLES, TRIPLE, Meaning, meaning, pairs_of
from kgeval.data.tables import FALSE, NUMBER, TRUE, NamedTable

FEWEST_ROWS = 20
"""with fewer rows, a column whose cells all differ may be anything"""

ENDS = ("head", "tail")


def settled(tables: Mapping[str, NamedTable]) -> tuple[dict[str, NamedTable], list[Assumption]]:
    """Choose the columns of each header by the cells of all splits that have it."""
    settled, assumptions = {**tables}, list[Assumption]()
    for header in dict.fromkeys(table.header for table in tables.values() if table.header):
        of_header = {split: table for split, table in tables.items() if table.header == header}
        choice = Choice([*of_header.values()])
        assumptions += choice.times()
        roles = choice.roles() if choice.is_open else choice.by_name
        assumptions.append(choice.assumption(roles))
        settled |= {split: table.with_roles(roles) for split, table in of_header.items()} if choice.is_open else {}
    return settled, assumptions


class Choice:
    """The columns of one header, with the cells of all tables that have it. Columns are named by their places."""

    def __init__(self, tables: Sequence[NamedTable]) -> None:
        self.tables, self.first, self.header = tables, tables[0], tables[0].header
        columns = self.first.said
        self.said = {self.first.roles.index(role): role for role in columns.names if role in self.first.roles}
        self.open = [role for role in TRIPLE if role not in {*columns.names, *columns.constants}]
        self.further = {it: role for it, role in enumerate(self.first.roles) if role in ROLES and role not in TRIPLE}
        self._encoded: dict[tuple[int, ...], tuple[IntArray, pa.Array]] = {}

    @cached_property
    def candidates(self) -> dict[str, dict[int, Meaning]]:
        """The columns whose names fit each part of a triple that the user did not name, the usual one first."""
        named = {
            place: of for place, name in enumerate(self.header) if place not in self.said and (of := meaning(name))
        }
        ranked = sorted(named.items(), key=lambda item: (item[1].rank, item[0]))
        return {role: {place: of for place, of in ranked if of.role == role} for role in self.open}

    @property
    def is_open(self) -> bool:
        """Whether names leave something to choose: a column is left over, or a name is weak."""
        weak = (of.rank >= MAX_WEAK for columns in self.candidates.values() for of in columns.values())
        return bool(self.open) and (bool(self._left_over(self.by_name)) or any(weak))

    @property
    def by_name(self) -> dict[int, str]:
        """The columns of triples, as their names alone say it."""
        return {place: role for place, role in enumerate(self.first.roles) if role in TRIPLE}

    def roles(self) -> dict[int, str]:
        """Choose the column of each part of a triple; refuse the header if several could be."""
        roles = {place: role for place, role in self.said.items() if role in TRIPLE}
        roles |= {place: role for role, place in zip(ENDS, self._ends(), strict=True) if place is not None}
        relation = self._relation(roles)
        return roles if relation is None else roles | {relation: "relation"}

    def _ends(self) -> tuple[int | None, int | None]:
        heads, tails = (self.candidates.get(role, {}) for role in ENDS)
        if not heads or not tails or len(heads) == len(tails) == 1:
            return next(iter(heads), None), next(iter(tails), None)
        pairs = pairs_of(heads, tails) or [*product(heads, tails)]
        head, tail = self._finest({pair: dict(zip(pair, ENDS, strict=True)) for pair in pairs})
        return head, tail

    def _relation(self, ends: Mapping[int, str]) -> int | None:
        named = self.candidates.get("relation", {})
        if not named:
            return None
        weak = {place for place, of in named.items() if of.rank >= MAX_WEAK}
        kept = [place for place in named if not (self.is_key(place) or (place in weak and self._is_truth(place)))]
        if not kept:
            self._refuse_relations([*named], ends)
        strong = [place for place in kept if place not in weak]
        return self._finest({(place,): {place: "relation"} for place in strong})[0] if len(strong) > 1 else kept[0]

    def _finest(self, candidates: Mapping[tuple[int, ...], Mapping[int, str]]) -> tuple[int, ...]:
        """Take the columns that tell apart what the others do: names and types make several things one."""
        codes = {places: self.codes(*places) for places in candidates}
        finest = [one for one in codes if all(_determines(codes[one], codes[other]) for other in codes)]
        fitting = {self._shown(candidates[places]): places for places in finest or codes}
        usual = next(iter(fitting)) if finest else None  # columns that determine each other give one graph
        option = f"--columns ROLE=COLUMN,… or ROLE=COLUMN+COLUMN,… {IN_PYTHON}"
        return choose("columns", fitting, option, usual=usual, where=self.first.source, error=DatasetError)[0]

    def _refuse_relations(self, named: Sequence[int], ends: Mapping[int, str]) -> NoReturn:
        first, is_key = self.header[named[0]], self.is_key(named[0])
        ways = [f"relation={self.header[place]}" for place in self._left_over({*ends, *named})]
        ways = ways or [f"{'' if is_key else f'label={first},'}relation='NAME'"]
        why = "has another cell in each row" if is_key else "holds 1 and 0"
        fault = f"{self.first.source}: no column is surely the relation: {first!r} {why}"
        raise DatasetError(f"{fault}. Say which: --columns head=…,tail=…,{' or …,'.join(ways)} {IN_PYTHON}.")

    def assumption(self, roles: Mapping[int, str]) -> Assumption:
        """Say what the columns were taken for; refuse names of several meanings if a column left over could be meant.

        If that is the relation, it is refused where its cells are numbers, as keys of edges are; else the line says it.
        """
        named = {place: meaning(self.header[place]) for place in roles if place not in self.said}
        doubtful = {roles[place]: place for place, of in named.items() if of and of.is_ambiguous}
        left = [place for place in self._left_over(roles) if not self._explained(place, roles)] if doubtful else []
        ends = [place for place, role in roles.items() if role in ENDS]
        relation = doubtful.pop("relation", None)
        if doubtful and (others := self._could_be_ends(ends, left)):
            self._refuse(roles, others)
        if relation is not None and left and self.is_number(relation):
            self._refuse(roles, left)
        is_usual = relation is not None and bool(left)
        basis: Basis = "usual" if is_usual else "only" if self.open else "said"
        otherwise = " or ".join(f"--columns …,relation={self.header[place]}" for place in left) if is_usual else ""
        return Assumption("columns", self._shown({**roles, **self.further}), basis, "", otherwise)

    def _could_be_ends(self, ends: Sequence[int], left: Sequence[int]) -> list[int]:
        """Of the columns left over, those that could be heads or tails in place of the ``ends``."""
        of_numbers = any(map(self.is_number, ends))
        could = [place for place in left if of_numbers or not self.is_number(place)]  # beside words, numbers are none
        if len(ends) < 2 or of_numbers or not self._share(*ends):
            return could
        # Entities stand on both sides: so must those of other ends.
        return [place for place in left if any(self._share(place, it) for it in (*ends, *left) if it != place)]

    def _refuse(self, roles: Mapping[int, str], left: Sequence[int]) -> NoReturn:
        names, ways = (joint.join(repr(self.header[place]) for place in left) for joint in (", ", " or "))
        found = f"by their names, the columns are {self._shown(roles)}, but {names} could be meant as well"
        said = f"--columns {self._shown(roles).replace(', ', ',')}, or with {ways}"
        raise DatasetError(f"{self.first.source}: {found}. Say which: {said} {IN_PYTHON}.")

    def times(self) -> Iterator[Assumption]:
        """Say that a date was taken for the time of the fact, which it may not be."""
        for name, role in zip(self.header, self.first.roles, strict=True):
            of = meaning(name)
            if role == "time" and "time" not in self.first.said.names and of and of.is_ambiguous:
                yield Assumption("time", name, "usual", "by its name", "--columns head=…,relation=…,tail=…")

    def _left_over(self, taken: Mapping[int, str] | set[int]) -> list[int]:
        """Which columns hold nothing that is known, if these are taken."""
        return [place for place in range(len(self.header)) if place not in {*self.further, *taken}]

    def _explained(self, place: int, taken: Mapping[int, str]) -> bool:
        """Whether a column is no part of a triple: constant, a key, decimals, or told by a column that is taken."""
        if len(self.labels(place)) < 2 or self.is_key(place):
            return True
        if any(_determines(self.codes(other), self.codes(place)) for other in taken):
            return True
        return self.is_number(place) and pc.any(pc.match_substring(self.labels(place), ".")).as_py()

    def _shown(self, roles: Mapping[int, str]) -> str:
        ordered = sorted(roles.items(), key=lambda item: [*ROLES].index(item[1]))
        return ", ".join(f"{role}={self.header[place]}" for place, role in ordered)

    # Cells

    def codes(self, *places: int) -> IntArray:
        """Number the cells of columns, one below the other, of all tables; int64[row]."""
        return self._encode(*places)[0]

    def labels(self, place: int) -> pa.Array:
        """List the different cells of a column."""
        return self._encode(place)[1]

    def _encode(self, *places: int) -> tuple[IntArray, pa.Array]:
        if places not in self._encoded:
            columns = [table.data.column(table.roles[place]) for place in places for table in self.tables]
            chunks = [chunk for column in columns for chunk in column.cast(pa.string()).fill_null("").chunks]
            encoded = pa.chunked_array(chunks, pa.string()).dictionary_encode().combine_chunks()
            self._encoded[places] = np.asarray(encoded.indices, np.int64), encoded.dictionary
        return self._encoded[places]

    def is_key(self, place: int) -> bool:
        """Whether a column has another cell in each row of a table, as numbers of rows have."""
        rows = (table.data.column(table.roles[place]) for table in self.tables)
        return len(self.codes(place)) >= FEWEST_ROWS and all(pc.count_distinct(it).as_py() == len(it) for it in rows)

    def is_number(self, place: int) -> bool:
        """Whether all cells of a column are numbers."""
        pattern = f"^{NUMBER.pattern}$"
        return bool(pc.all(pc.match_substring_regex(self.labels(place), pattern, ignore_case=True)).as_py())

    def _is_truth(self, place: int) -> bool:
        return {cell.strip().lower() for cell in self.labels(place)[:9].to_pylist()} <= {*TRUE, *FALSE}

    def _share(self, one: int, other: int) -> bool:
        """Whether two columns have labels in common: one in ten of the fewer ones."""
        labels, others = self.labels(one), self.labels(other)
        return 10 * (pc.sum(pc.is_in(labels, value_set=others)).as_py() or 0) >= min(len(labels), len(others)) > 0


def _determines(one: IntArray, other: IntArray) -> bool:
    """Whether all rows with the same code in one column have the same in another."""
    first = np.full(int(one.max(initial=-1)) + 1, -1)
    first[one] = other  # of the rows with one code, the last
    return bool((first[one] == other).all())
