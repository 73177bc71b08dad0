"""A table: its numbers stay numbers until they are written, as text, HTML, Markdown, LaTeX or CSV.

Summaries, comparisons and commands make ``Table`` of rows of numbers and ``Figure``; ``shown.py`` writes it. The
layout as text is in ``text_layout.py``. The second half of the file is LaTeX.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape as escape_html
from itertools import groupby
from typing import NamedTuple, Protocol

from kgeval.base.errors import visible
from kgeval.base.tables import text_layout

DIGITS = 6
"""decimals of numbers without an interval"""


@dataclass(frozen=True)
class Table:
    """Rows of cells: key columns, which name a row, then columns of numbers; or, as prose, columns of text."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    keys: int = 1
    """the number of key columns, which are the first ones"""
    parts: Sequence[str] = ()
    """the group of each column of numbers, such as its side; wide tables are split between groups first"""
    prose: bool = False
    """whether all columns are text, which may be wrapped at words"""
    title: str = ""
    notes: Sequence[str] = ()
    heads: Sequence[str] = ()
    """a heading above each column of numbers, such as its dataset; equal neighbours share it"""
    item: str = ""
    """what a row shows, if rows may be sorted and cut: ``model`` or ``group`` (which may have a row for each model)"""

    @property
    def titles(self) -> list[str]:
        """The columns, each after the heading above it."""
        heads = [""] * self.keys + [f"{head} " for head in self.heads] if self.heads else [""] * len(self.columns)
        return [f"{head}{column}" for head, column in zip(heads, self.columns, strict=True)]

    def texts(self, digits: int | None = None) -> list[list[str]]:
        return [[written(cell, digits) for cell in row] for row in self.rows]

    def lines(
        self, width: int | None, digits: int | None = None, *, spell: Callable[[str], str] = str, ruled: bool = True
    ) -> Iterator[str]:
        """Yield the lines of the table as text that fits the columns of a terminal.

        ``spell`` writes each cell in the characters of a stream, before it is known how much room the cells need.
        """
        if self.title:
            yield from (*text_layout.wrap_lines(self.title, width), "")
        columns, *rows = ([spell(text) for text in row] for row in (self.titles, *self.texts(digits)))
        if self.prose:
            yield from text_layout.prose(columns, rows, width, ruled=ruled)
        else:
            yield from text_layout.numbers(columns, rows, self.keys, self.parts or self.heads, width, ruled=ruled)
        for note in self.notes:
            yield from text_layout.wrap_lines(note, width)

    def html(self) -> str:
        """Write the table as HTML, text at the left and numbers at the right; labels are escaped.

        >>> Table(["", "n"], [["<b>", 5]]).html().rpartition("<tbody>")[2]
        '<tr><th style="text-align:left">&lt;b&gt;</th><td style="text-align:right">5</td></tr></tbody></table>'
        """
        title = f'<caption style="text-align:left">{escape_html(self.title)}</caption>' if self.title else ""
        head, rows = self._html_row(self.titles, len(self.columns)), "".join(map(self._html_row, self.texts()))
        notes = "".join(f"<p>{escape_html(note)}</p>" for note in self.notes)
        return f'<table style="margin-bottom:1em">{title}<thead>{head}</thead><tbody>{rows}</tbody></table>{notes}'

    def _html_row(self, cells: Sequence[str], heads: int | None = None) -> str:
        row = ""
        for place, cell in enumerate(cells):
            tag, side = "th" if place < (heads or self.keys) else "td", "left" if place < self.text_columns else "right"
            row += f'<{tag} style="text-align:{side}">{escape_html(cell)}</{tag}>'
        return f"<tr>{row}</tr>"

    def markdown(self, digits: int | None = None) -> str:
        """Write the table in Markdown, its title above and its notes below it."""
        rule = [":--" if place < self.text_columns else "--:" for place in range(len(self.columns))]
        rows = [
            [_markdown_cell(*cell, of_text=place < self.text_columns) for place, cell in enumerate(row)]
            for row in self._marked(digits)
        ]
        lines = [f"| {' | '.join(row)} |" for row in (map(escape_markdown, self.titles), rule, *rows)]
        above = [escape_markdown(self.title), ""] if self.title else []
        below = ["", escape_markdown(" ".join(self.notes))] if self.notes else []
        return "\n".join([*above, *lines, *below]) + "\n"

    def latex(self, digits: int | None = None) -> str:
        """Write the table for a document with the packages ``booktabs`` and ``siunitx``."""
        return latex(self, digits)

    @property
    def text_columns(self) -> int:
        """How many columns, the first ones, are text."""
        return len(self.columns) if self.prose else self.keys

    def _marked(self, digits: int | None) -> list[list[Marked]]:
        return [[_marked(cell, digits) for cell in row] for row in self.rows]

    def csv(self) -> str:
        """Write the table as CSV, with all digits; an undefined number is an empty cell."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.titles)
        writer.writerows([cell.value if isinstance(cell, Figure) else cell for cell in row] for row in self.rows)
        return text.getvalue()


class Ends(Protocol):
    """An interval, and the number of decimals that it justifies."""

    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def decimals(self) -> int: ...


class Figure(NamedTuple):
    """A number, and how it is written."""

    value: float | None
    interval: Ends | None = None
    digits: int | None = None
    """the number of decimals; by default as many as the interval justifies"""
    text: str = ""
    """the text in place of the digits, if any"""
    best: bool = False
    near: bool = False
    """whether its difference to the best is not significant"""


Cell = str | float | Figure | None
"""``None`` is an undefined number"""

Marked = tuple[str, Figure]
"""a text, empty for an undefined number, and the figure, which says whether it is the best or near it"""


def number(value: float | None, digits: int = DIGITS) -> str:
    """Format a number: counts as integers, other values with some decimals, from 10¹² on in scientific notation.

    >>> number(20466), number(1), number(1.0), number(0.3126566306), number(0.3126566306, 4), number(None)
    ('20466', '1', '1.000000', '0.312657', '0.3127', 'undefined')
    >>> number(2e200), number(-1e-9)
    ('2.000000e+200', '0.000000')
    """
    if value is None:
        return "undefined"
    if isinstance(value, int):
        return str(value)
    # Adding 0.0 turns a negative zero into 0.0.
    return f"{round(value, digits) + 0.0:.{digits}f}" if abs(value) < 1e12 else f"{value:.{digits}e}"


def written(cell: Cell, digits: int | None = None) -> str:
    """Write a cell; a number with its interval: ± half of it where it is symmetric, else with both ends.

    >>> class Symmetric(NamedTuple):
    ...     low: float
    ...     high: float
    ...     decimals: int = 3
    >>> around = Symmetric(0.3, 0.34)
    >>> written(Figure(0.32, around)), written(Figure(0.31, around), digits=2), written(0.32)
    ('0.320 ± 0.020', '0.31 (0.30–0.34)', '0.320000')
    """
    if isinstance(cell, str):
        return cell
    value, interval, own, text, *_ = cell if isinstance(cell, Figure) else Figure(cell)
    if text:
        return text
    places = own if digits is None else digits
    if value is None or interval is None:
        return number(value, DIGITS if places is None else places)
    places = interval.decimals if places is None else places
    below, above = value - interval.low, interval.high - value
    if abs(above - below) <= 1e-9 * (interval.high - interval.low):
        return f"{number(value, places)} ± {number(above, places)}"
    return f"{number(value, places)} ({number(interval.low, places)}–{number(interval.high, places)})"


def p_text(p: float, *, is_bound: bool = False) -> str:
    """Format a p-value; an upper bound, because no draw was as extreme, has ``≤``.

    >>> p_text(0.00914), p_text(0.0045, is_bound=True), p_text(0.00031, is_bound=True), p_text(1e-9)
    ('0.0091', '≤ 0.0045', '≤ 0.0004', '< 0.0001')
    """
    if is_bound:  # rounded up, or it would claim more
        return f"≤ {math.ceil(p * 10_000 - 1e-6) / 10_000:.4f}"
    return f"{p:.4f}" if p >= 0.0001 else "< 0.0001"


def _marked(cell: Cell, digits: int | None) -> Marked:
    figure = cell if isinstance(cell, Figure) else Figure(0.0 if isinstance(cell, str) else cell)
    is_undefined = figure.value is None and not figure.text
    return "" if is_undefined else written(cell, digits), figure


def escape_markdown(text: str) -> str:
    r"""Write text so that Markdown shows it.

    >>> print(escape_markdown("a|b *c* <script> $d$"))  # many readers set text between dollars as a formula
    a\|b \*c\* &lt;script&gt; \$d\$
    """
    plain = visible(" ".join(text.split())).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]#|~!$])", r"\\\1", plain)


def _markdown_cell(text: str, figure: Figure, *, of_text: bool) -> str:
    plain = escape_markdown(text) if text or of_text else "–"
    plain = f"<u>{plain}</u>" if figure.near else plain
    return f"**{plain}**" if figure.best else plain


def _named(characters: str, names: str) -> dict[str, str]:
    return dict(zip(characters, names.split(), strict=True))


NAMES = _named('"\\^~<>|', "quotedbl backslash asciicircum asciitilde less greater bar")
SIGNS = _named("↑↓→±≤≥≈×∈", "uparrow downarrow rightarrow pm leq geq approx times in")
SYMBOLS = _named("√Σχ‖⟨⟩∘∞", "surd Sigma chi Vert langle rangle circ infty")

ESCAPES = str.maketrans(
    {character: f"\\{character}" for character in "{}$&#%_"}
    | {character: rf"\text{name}{{}}" for character, name in NAMES.items()}
    | {character: rf"$\{name}$" for character, name in (SIGNS | SYMBOLS).items()}
    | {"−": "$-$", "“": "``", "”": "''", "‘": "`", "’": "'", "\n": " ", "\r": " ", "\t": " "}
)

LONGEST = 40
"""the most letters of a label in a column that LaTeX does not wrap"""

WRAPPED = r">{\raggedright\arraybackslash}p{.35\linewidth}"
"""LaTeX's type of a column of longer labels; it needs the package array, which siunitx loads"""

PREAMBLE = r"% \usepackage[T1]{fontenc} \usepackage{booktabs} \usepackage{siunitx}"

WIDEST = 70
"""letters that a line of a page holds; a wider table is made smaller"""

LONGEST_PAGE = 45
"""rows that a page holds; a longer table goes on over pages (longtable), with its head on each"""

NUMBER = re.compile(r"(-?)(\d+)(?:\.(\d+))?")


def latex(table: Table, digits: int | None) -> str:
    """Write a table whose first columns are text; plain numbers in the other columns are aligned.

    Headings stand above the columns, one above equal neighbours; a table of many such columns is as wide as the page.
    A table of many rows goes on over several pages.
    """
    title, columns, keys, rows = table.title, table.columns, table.text_columns, table._marked(digits)
    heads = [*[""] * table.keys, *table.heads] if table.heads else []
    own = [[row[place] for row in rows] for place in range(len(columns))]
    formats = [_siunitx_format([text for text, _ in column]) for column in own]
    specs = [
        _text_column(column) if place < keys else f"S[{siunitx},detect-weight]" if siunitx else "r"
        for place, (column, siunitx) in enumerate(zip(own, formats, strict=True))
    ]
    cells = [
        [
            escape_latex(text) if place < keys else _cell(text, figure, formats[place]) + _room(text, own[place])
            for place, (text, figure) in enumerate(row)
        ]
        for row in rows
    ]
    kind = "table*" if heads and len(columns) - keys > 3 else "table"
    is_wide = bool(heads) and sum(max((len(text) for text, _ in column), default=0) + 2 for column in own) > WIDEST
    caption = rf"\caption{{{escape_latex(title)}.}}"
    head = [r"\toprule", *_spans(heads), _row([f"{{{escape_latex(name)}}}" for name in columns]), r"\midrule"]
    below = [rf"\par\smallskip\footnotesize {escape_latex(' '.join(table.notes))}"] if table.notes else []
    if len(rows) > LONGEST_PAGE:
        lines = [
            PREAMBLE + r" \usepackage{longtable}",
            rf"\begin{{longtable}}{{{' '.join(specs)}}}",
            *([rf"{caption} \label{{tab:{_slug(title)}}} \\"] if title else []),
            *(*head, r"\endfirsthead", *head, r"\endhead", r"\bottomrule", r"\endfoot"),
            *map(_row, cells),
            r"\end{longtable}",
            *below,
        ]
        return "\n".join(lines) + "\n"
    lines = [
        PREAMBLE + (r" \usepackage{graphicx}" if is_wide else ""),
        rf"\begin{{{kind}}}",
        r"\centering",
        *([caption, rf"\label{{tab:{_slug(title)}}}", r"\smallskip"] if title else []),
        *([r"\resizebox{\linewidth}{!}{%"] if is_wide else []),
        rf"\begin{{tabular}}{{{' '.join(specs)}}}",
        *head,
        *map(_row, cells),
        r"\bottomrule",
        r"\end{tabular}" + ("}" if is_wide else ""),
        *below,
        rf"\end{{{kind}}}",
    ]
    return "\n".join(lines) + "\n"


def _spans(heads: Sequence[str]) -> list[str]:
    """Write a row of heads, each above its columns, and the rules below them."""
    if not heads:
        return []
    cells, rules, start = [], [], 1
    for head, group in groupby(heads):
        width = len(list(group))
        cells.append(rf"\multicolumn{{{width}}}{{c}}{{{escape_latex(head)}}}" if head else " & " * (width - 1))
        rules += [rf"\cmidrule(lr){{{start}-{start + width - 1}}}"] if head else []
        start += width
    return [_row(cells), " ".join(rules)]


def _slug(title: str) -> str:
    """Make a label for references to a table, from the first words of its caption.

    >>> _slug("3 models on umls, nations; mean")
    '3-models-on-umls-nations'
    """
    return "-".join(re.findall(r"[a-z0-9]+", title.partition(";")[0].lower())[:6]) or "results"


def escape_latex(text: str) -> str:
    r"""Write text so that LaTeX prints it.

    >>> print(escape_latex("50% of R&D_{x}"))
    50\% of R\&D\_\{x\}
    >>> print(escape_latex("Gödel 🚀 a--b"))
    Gödel [U+1F680] a-{}-b
    """
    # Two hyphens would be printed as a dash.
    return re.sub("-(?=-)", "-{}", "".join(map(_settable, visible(text))).translate(ESCAPES))


def _settable(character: str) -> str:
    """Write a character that LaTeX's usual fonts lack by its name."""
    known = character.isascii() or ord(character) in ESCAPES or character in "–…" or "\u00a1" <= character <= "\u017f"
    return character if known else f"[U+{ord(character):04X}]"


def _text_column(cells: Sequence[Marked]) -> str:
    return "l" if max((len(text) for text, _ in cells), default=0) <= LONGEST else WRAPPED


def _cell(text: str, figure: Figure, siunitx: str) -> str:
    if not text:
        return "{--}"
    text, bold = text if siunitx else escape_latex(text), r"\bfseries " if figure.best else ""
    if not figure.near:
        return bold + text
    weight = ",detect-weight" if bold else ""
    underlined = rf"{{\underline{{\tablenum[{siunitx}{weight}]{{{text}}}}}}}" if siunitx else rf"\underline{{{text}}}"
    return rf"{{{bold}{underlined}}}" if bold else underlined


def _room(text: str, column: Sequence[Marked]) -> str:
    """Return invisible text as wide as the ± of the column, for a number without one, so that numbers are aligned."""
    spreads = [other[other.index(" ±") :] for other, _ in column if " ±" in other]
    return rf"\phantom{{{escape_latex(spreads[0])}}}" if text and spreads and " ±" not in text else ""


def _siunitx_format(texts: Sequence[str]) -> str:
    """Tell siunitx how many digits the numbers of a column have before and after the point; empty for other cells."""
    found = [NUMBER.fullmatch(text) for text in texts if text]
    numbers = [match for match in found if match]
    if len(numbers) < len(found):
        return ""
    whole, after = (max((len(match[part] or "") for match in numbers), default=1) for part in (2, 3))
    sign = "-" if any(match[1] for match in numbers) else ""
    return f"table-format={sign}{whole}.{after}" if after else f"table-format={sign}{whole}"


def _row(cells: list[str]) -> str:
    # The end of the row above, or the rule, would take a star or brackets as its argument.
    return re.sub(r"^(?=\s*[*\[])", "{}", " & ".join(cells)) + r" \\"
