"""A leaderboard for a paper, whatever it is written in: which cells are best, and which are not seen to be worse."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from kgeval.analysis.comparison.comparison_notes import adjustment
from kgeval.analysis.comparison.leaderboard_rows import Leaderboard, ModelRow, interval_of, value_of
from kgeval.analysis.comparison.paired_difference import DifferenceOptions, PairedDifference
from kgeval.metrics.names import ARROWS, MetricName, short_title
from kgeval.metrics.rank_summary import RankSummary
from kgeval.metrics.rendering import DIGITS, cell


@dataclass(frozen=True)
class PaperCell:
    """A number of the table."""

    text: str
    """as it is printed; empty where the metric is undefined"""
    best: bool = False
    near: bool = False
    """whether no difference to the best is seen"""


@dataclass(frozen=True)
class PaperColumn:
    """A metric of the table."""

    title: str
    arrow: str
    """``"↑"``, ``"↓"``, or empty where the metric says nothing about quality"""
    cells: tuple[PaperCell, ...]
    """one for each row"""


@dataclass(frozen=True)
class PaperTable:
    """Models by metrics, group by group."""

    caption: str
    """what the numbers are of"""
    keys: tuple[str, ...]
    """the titles of what names a row: the columns of the groups, and the model"""
    rows: tuple[tuple[str, ...], ...]
    """what names each row, likewise"""
    columns: tuple[PaperColumn, ...]
    notes: tuple[str, ...]
    """what bold and underlined numbers are, and how the models' ranks differ"""


def paper_table(
    board: Leaderboard,
    pairs: Sequence[PairedDifference],
    *,
    options: DifferenceOptions,
    remarks: Sequence[str] = (),
    digits: int | None = None,
) -> PaperTable:
    """Lay the leaderboard of a comparison out.

    Parameters
    ----------
    board, pairs, options, remarks
        the rows of the comparison, and what it has else
    digits
        after the point; by default as many as the intervals of differences justify
    """
    columns = tuple(_column(name, board, pairs, digits) for name in board.names)
    cells = [one for column in columns for one in column.cells]
    of_group = " of its group" if board.by else ""
    notes = [f"Bold: the best in the column{of_group}."] if any(one.best for one in cells) else []
    if any(one.near for one in cells):
        notes.append(_note_on_near(options, [pair for pair in pairs if pair.p is not None]))
    rows = tuple(tuple(board.key_of(row)) for row in board.rows)
    keys = (*(name.capitalize() for name in board.by), "Model")
    return PaperTable(_caption(board.summaries), keys, rows, columns, (*notes, *remarks))


def _column(name: MetricName, board: Leaderboard, pairs: Sequence[PairedDifference], digits: int | None) -> PaperColumn:
    # Groups by side have metrics without a side, the pairs those of the sides that were ranked.
    of_all = name.of_part(next(iter(board.summaries.values())).pooled)
    of_metric = [pair for pair in pairs if pair.metric == of_all]
    places = _justified(of_metric) if digits is None else digits
    cells: list[PaperCell] = []
    for key, rows in groupby(board.rows, lambda row: row.group.key):
        cells += _cells(name, list(rows), [pair for pair in of_metric if pair.group == key], places)
    return PaperColumn(short_title(name), ARROWS[name.metric.increasing], tuple(cells))


def _cells(
    name: MetricName, rows: Sequence[ModelRow], pairs: Sequence[PairedDifference], places: int
) -> Iterator[PaperCell]:
    """Lay a metric of the models in one group out, and mark the best and what is not seen to be worse."""
    values = {row.model: value_of(row.group, name) for row in rows}
    increasing, known = name.metric.increasing, [value for value in values.values() if value is not None]
    best = None if increasing is None or len(known) < 2 else (max if increasing else min)(known)
    leaders = [model for model, value in values.items() if value is not None and value == best]
    unseen = [{pair.model, pair.other} for pair in pairs if pair.seen == "none"]
    for model, group in rows:
        value = values[model]
        yield PaperCell(
            "" if value is None else cell(value, interval_of(group, name), places),
            best=model in leaders,
            near=bool(leaders) and model not in leaders and {model, leaders[0]} in unseen,
        )


def _justified(pairs: Sequence[PairedDifference]) -> int:
    """The digits that differences justify, the least of all pairs."""
    return min((pair.decimals for pair in pairs if pair.interval is not None), default=DIGITS)


def _note_on_near(options: DifferenceOptions, tested: Sequence[PairedDifference]) -> str:
    """Say by which test, of which unit and for how many pairs of models, a difference was not seen."""
    return (
        f"Underlined: no difference to the best is seen ({options.draws:,} sign flips per {options.unit}, two-sided, "
        f"p > {options.alpha:.2g}; {adjustment(tested)})."
    )


def _caption(summaries: Mapping[str, RankSummary]) -> str:
    """Say what the models were evaluated on."""
    return "; ".join(dict.fromkeys(summary.heads[0].partition(" on ")[2] for summary in summaries.values()))


def as_csv(board: Leaderboard) -> str:
    """Write a row for each model, in each group; an undefined metric is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = [name.base if name.side == "both" else str(name) for name in board.names]
    writer.writerow([*board.by, "model", *columns])
    for row in board.rows:
        values = (value_of(row.group, name) for name in board.names)
        writer.writerow([*board.key_of(row), *("" if value is None else repr(value) for value in values)])
    return text.getvalue()


def as_markdown(table: PaperTable) -> str:
    """Write a table, its caption above and its notes below it."""
    head = [*map(escape_markdown, table.keys), *(f"{column.title} {column.arrow}".rstrip() for column in table.columns)]
    rule = [*(":--" for _ in table.keys), *("--:" for _ in table.columns)]
    rows = [
        [*map(escape_markdown, row), *(_cell(column.cells[place]) for column in table.columns)]
        for place, row in enumerate(table.rows)
    ]
    lines = [f"{escape_markdown(table.caption)}", "", *map(_row, [head, rule, *rows])]
    return "\n".join([*lines, *(["", escape_markdown(" ".join(table.notes))] if table.notes else [])]) + "\n"


def escape_markdown(text: str) -> str:
    r"""Write text so that Markdown shows it.

    >>> print(escape_markdown("a|b *c* <script>"))
    a\|b \*c\* &lt;script&gt;
    """
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]#|~!])", r"\\\1", plain)


def _cell(cell: PaperCell) -> str:
    if cell.best:
        return f"**{cell.text}**"
    return f"<u>{cell.text}</u>" if cell.near else cell.text or "–"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


SIGNS = "↑↓±≤−–…“”‘’"
"""characters that are written with commands, or that LaTeX knows"""

ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "%": r"\%",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "↑": r"$\uparrow$",
        "↓": r"$\downarrow$",
        "±": r"$\pm$",
        "≤": r"$\leq$",
        "−": r"$-$",
        "“": "``",
        "”": "''",
        "‘": "`",
        "’": "'",
        "\n": " ",
        "\r": " ",
        "\t": " ",
    }
)

LONGEST = 40
"""letters of a label that stay on one line"""

WRAPPED = r">{\raggedright\arraybackslash}p{.35\linewidth}"
"""a column of longer ones, by the package array, which siunitx loads"""

PREAMBLE = r"% \usepackage[T1]{fontenc} \usepackage{booktabs} \usepackage{siunitx}"


def as_latex(table: PaperTable) -> str:
    """Write a table for a document with the packages ``booktabs`` and ``siunitx``."""
    labels = ["l" if max(map(len, own), default=0) <= LONGEST else WRAPPED for own in zip(*table.rows, strict=True)]
    columns = " ".join([*labels, *(f"S[{_digits(column)},detect-weight]" for column in table.columns)])
    head = [
        *(f"{{{escape(key)}}}" for key in table.keys),
        *(f"{{{escape(f'{column.title} {column.arrow}'.rstrip())}}}" for column in table.columns),
    ]
    rows = [
        [*map(escape, row), *(_latex_cell(column.cells[place], column) for column in table.columns)]
        for place, row in enumerate(table.rows)
    ]
    lines = [
        PREAMBLE,
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape(table.caption)}.}}",
        r"\smallskip",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _latex_row(head),
        r"\midrule",
        *map(_latex_row, rows),
        r"\bottomrule",
        r"\end{tabular}",
        *([rf"\par\smallskip\footnotesize {escape(' '.join(table.notes))}"] if table.notes else []),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    r"""Write text so that LaTeX prints it.

    >>> print(escape("50% of R&D_{x}"))
    50\% of R\&D\_\{x\}
    >>> print(escape("Gödel 🚀 a--b"))
    Gödel [U+1F680] a-{}-b
    """
    # Two hyphens would be printed as a dash.
    return re.sub("-(?=-)", "-{}", "".join(map(_settable, text)).translate(ESCAPES))


def _settable(character: str) -> str:
    """Spell a character out that LaTeX's usual fonts do not have."""
    known = character.isascii() or character in SIGNS or "\u00a1" <= character <= "\u017f"
    return character if known else f"[U+{ord(character):04X}]"


def _latex_cell(cell: PaperCell, column: PaperColumn) -> str:
    if not cell.text:
        return "{--}"
    if cell.best:
        return rf"\bfseries {cell.text}"
    return rf"{{\underline{{\tablenum[{_digits(column)}]{{{cell.text}}}}}}}" if cell.near else cell.text


def _digits(column: PaperColumn) -> str:
    """Tell siunitx how many digits the numbers of a column have before and after the point."""
    numbers = [cell.text.lstrip("-").partition(".") for cell in column.cells if cell.text]
    whole, after = (max((len(number[place]) for number in numbers), default=1) for place in (0, 2))
    sign = "-" if any(cell.text.startswith("-") for cell in column.cells) else ""
    return f"table-format={sign}{whole}.{after}" if after else f"table-format={sign}{whole}"


def _latex_row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"
