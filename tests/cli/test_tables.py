"""Tables: at every width, every cell whole."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgeval.base.tables.table import Figure, Table
from kgeval.base.tables.text_layout import RULE, cells, wrap_lines
from tests.cli.conftest import invoke

LABELS = st.text(st.characters(codec="utf-8", categories=("L", "N")), min_size=1, max_size=60)
NUMBERS = st.one_of(st.integers(-(10**9), 10**9).map(str), st.floats(-1e6, 1e6).map("{:.6f}".format))


@st.composite
def tables(draw):
    keys, numbers, rows = (draw(st.integers(1, top)) for top in (2, 9, 5))
    columns = draw(st.lists(LABELS, min_size=keys + numbers, max_size=keys + numbers, unique=True))
    row = st.tuples(*[LABELS] * keys, *[NUMBERS] * numbers)
    parts = draw(
        st.one_of(st.just(()), st.lists(st.sampled_from("abc"), min_size=numbers, max_size=numbers).map(tuple))
    )
    return Table(tuple(columns), tuple(draw(st.lists(row, min_size=1, max_size=rows))), keys, parts)


def blocks(lines):
    """The lines of each block: header, rule and rows."""
    found = [[]]
    for line in lines:
        found.append([]) if not line else found[-1].append(line)
    return found


@settings(max_examples=25)
@given(tables(), st.sampled_from([10, 40, 80, 120, 200, None]))
def test_every_number_stands_in_its_row_under_its_name(table, width):
    """What is read back from the screen, word by word, is the table."""
    read = {key: [] for key in range(len(table.rows))}
    names = []
    for block in blocks(table.lines(width)):
        words = [line.split() for line in block]
        ruled = next(index for index, line in enumerate(block) if set(line) == {RULE})
        header = [word for line in words[:ruled] for word in line]
        count = len(header) - table.keys
        assert header[: table.keys] == list(table.columns[: table.keys])
        names += header[table.keys :]
        said = [word for line in words[ruled + 1 :] for word in line]
        assert len(said) == len(table.rows) * len(header)
        for row, keys in enumerate(table.rows):
            mine = said[row * len(header) : (row + 1) * len(header)]
            assert tuple(mine[: table.keys]) == keys[: table.keys]
            read[row] += mine[table.keys :]
        assert count > 0
    assert names == list(table.columns[table.keys :])
    assert [tuple(numbers) for numbers in read.values()] == [row[table.keys :] for row in table.rows]


@settings(max_examples=25)
@given(tables(), st.sampled_from([40, 80, 120, 200]))
def test_only_what_is_wider_than_the_terminal_is_left_to_it(table, width):
    """A line is too long only where a key, a name or a number of its own is, or a line of keys."""
    for line in table.lines(width):
        words = line.split()
        if cells(line) > width and set(line) != {RULE}:
            keys = {key for row in (table.columns, *table.rows) for key in row[: table.keys]}
            assert set(words) <= keys or (len(words) == 1 and cells(words[0]) > width)


def test_two_long_keys_leave_their_numbers_room():
    table = Table(("head", "relation", "mrr"), (("e" * 30, "r" * 30, "0.123456789012345"),), keys=2)
    assert list(table.lines(40)) == [
        *("head  relation", " " * 37 + "mrr", RULE * 40),
        *("e" * 30 + "  " + "r" * 30, " " * 23 + "0.123456789012345"),
    ]


@settings(max_examples=25)
@given(tables())
def test_a_part_begins_a_block(table):
    if not table.parts:
        return
    for block in blocks(table.lines(40)):
        if len(blocks(table.lines(40))) > 1:
            ruled = next(index for index, line in enumerate(block) if set(line) == {RULE})
            names = [word for line in block[:ruled] for word in line.split()][table.keys :]
            assert len({table.parts[table.columns.index(name) - table.keys] for name in names}) == 1


@settings(max_examples=25)
@given(st.lists(st.tuples(LABELS, *[st.text("ab ,;", max_size=200)] * 3), min_size=1, max_size=4), st.integers(1, 200))
def test_no_word_of_a_text_is_cut(rows, width):
    table = Table(("name", "title", "formula", "source"), tuple(rows), prose=True)
    said = re.sub(r"\b(title|formula|source):", "", " ".join(table.lines(width)))
    # A label that is the name of a column, such as source, cannot be told from it.
    expected = [word for row in rows for cell in row for word in cell.split() if word not in table.columns]
    words = [word for word in said.split() if word not in table.columns and set(word) != {RULE}]
    assert sorted(words) == sorted(expected)


@pytest.mark.parametrize("width", [1, 10, 1000, None])
def test_lines_keep_how_far_they_are_to_the_right(width):
    lines = wrap_lines("both:\n  mrr: 0.25 of all", width)
    assert lines[0] == "both:"
    assert all(line.startswith("  ") for line in lines[1:])


def test_chinese_characters_take_two_columns():
    first, _, row, other = Table(("name", "mrr"), (("秩", "1"), ("rank", "2"))).lines(None)
    assert (first, row, other) == ("name  mrr", "秩      1", "rank    2")


FORMATTED = [("summarize", "run"), ("summarize", "run", "--by", "side"), ("audit", "graph"), ("list", "slices")]


@pytest.mark.parametrize("command", FORMATTED, ids=" ".join)
def test_a_table_is_written_in_every_format(place, command):
    plain = json.loads(invoke(*command, "--json").stdout)
    assert json.loads(invoke(*command, "--format", "json").stdout) == plain
    for form, row in (("markdown", "| :--"), ("latex", r"\toprule")):
        assert any(line.startswith(row) for line in invoke(*command, "--format", form).stdout.splitlines())
    rows = list(csv.DictReader(io.StringIO(invoke(*command, "--format", "csv").stdout)))
    if command[0] == "list":
        assert rows == plain
    elif command[0] == "audit":
        assert len(rows) == sum(map(len, plain["findings"].values()))
    elif "--by" in command:
        assert [float(row["mrr"]) for row in rows] == [
            group["metrics"][group["key"]["side"]]["mrr"] for group in plain["groups"]
        ]
    else:
        assert {row[""]: float(row["head"]) for row in rows} == plain["metrics"]["head"]


def test_cells_that_are_no_plain_numbers_are_text_in_papers():
    """An interval, a share and an undefined number do not stand in a column that siunitx aligns."""
    table = Table(("model", "mrr", "share", "count"), (("a_b", None, Figure(0.5, text="50.0%"), 3),), title="of x")
    assert r"\begin{tabular}{l S[table-format=1.1,detect-weight] r S[table-format=1,detect-weight]}" in table.latex()
    assert r"a\_b & {--} & 50.0\% & 3 \\" in table.latex()
    assert table.markdown().splitlines()[-1] == r"| a\_b | – | 50.0% | 3 |"
    assert table.csv() == "model,mrr,share,count\na_b,,0.5,3\n"
    assert next(table.lines(None)) == "of x"
