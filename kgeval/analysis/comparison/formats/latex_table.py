"""LaTeX: a table with booktabs, numbers in columns of siunitx, all labels escaped."""

from __future__ import annotations

import re

from kgeval.analysis.comparison.formats.paper_table import PaperCell, PaperColumn, PaperTable

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
        [*map(escape, row), *(_cell(column.cells[place], column) for column in table.columns)]
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
        _row(head),
        r"\midrule",
        *map(_row, rows),
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


def _cell(cell: PaperCell, column: PaperColumn) -> str:
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


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"
