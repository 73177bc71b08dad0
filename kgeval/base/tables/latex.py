"""Tables in LaTeX: booktabs, numbers aligned by siunitx, the best bold, insignificant differences to it underlined."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from kgeval.base.errors import visible


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
"""letters of a label that stay on one line"""

WRAPPED = r">{\raggedright\arraybackslash}p{.35\linewidth}"
"""a column of longer labels, by the package array, which siunitx loads"""

PREAMBLE = r"% \usepackage[T1]{fontenc} \usepackage{booktabs} \usepackage{siunitx}"

WIDEST = 70
"""letters that a line of a page holds; a wider table is made smaller"""

LONGEST_PAGE = 45
"""rows that a page holds; a longer table goes on over pages (longtable), with its head on each"""

NUMBER = re.compile(r"(-?)(\d+)(?:\.(\d+))?")

Marked = tuple[str, str]
"""a text, empty for an undefined number, and its marks: ``best``, ``near``, both or none"""


def latex(
    title: str,
    columns: Sequence[str],
    keys: int,
    rows: Sequence[Sequence[Marked]],
    notes: str,
    *,
    heads: Sequence[str] = (),
) -> str:
    """Write a table whose first ``keys`` columns are text; plain numbers in the other columns are aligned.

    ``heads`` stand above the columns, one above equal neighbours; a table of many such columns is as wide as the page.
    A table of many rows goes on over several pages.
    """
    own = [[row[place] for row in rows] for place in range(len(columns))]
    formats = [_digits([text for text, _ in column]) for column in own]
    specs = [
        _text_column(column) if place < keys else f"S[{digits},detect-weight]" if digits else "r"
        for place, (column, digits) in enumerate(zip(own, formats, strict=True))
    ]
    cells = [
        [
            escape(text) if place < keys else _cell(text, mark, formats[place]) + _room(text, own[place])
            for place, (text, mark) in enumerate(row)
        ]
        for row in rows
    ]
    kind = "table*" if heads and len(columns) - keys > 3 else "table"
    is_wide = bool(heads) and sum(max(len(text) for text, _ in column) + 2 for column in own) > WIDEST
    caption = rf"\caption{{{escape(title)}.}}"
    head = [r"\toprule", *_spans(heads), _row([f"{{{escape(name)}}}" for name in columns]), r"\midrule"]
    below = [rf"\par\smallskip\footnotesize {escape(notes)}"] if notes else []
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
        cells.append(rf"\multicolumn{{{width}}}{{c}}{{{escape(head)}}}" if head else " & " * (width - 1))
        rules += [rf"\cmidrule(lr){{{start}-{start + width - 1}}}"] if head else []
        start += width
    return [_row(cells), " ".join(rules)]


def _slug(title: str) -> str:
    """Make a label for references to a table, from the first words of its caption.

    >>> _slug("3 models on umls, nations; mean")
    '3-models-on-umls-nations'
    """
    return "-".join(re.findall(r"[a-z0-9]+", title.partition(";")[0].lower())[:6]) or "results"


def escape(text: str) -> str:
    r"""Write text so that LaTeX prints it.

    >>> print(escape("50% of R&D_{x}"))
    50\% of R\&D\_\{x\}
    >>> print(escape("Gödel 🚀 a--b"))
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


def _cell(text: str, mark: str, digits: str) -> str:
    if not text:
        return "{--}"
    text, bold = text if digits else escape(text), r"\bfseries " if "best" in mark else ""
    if "near" not in mark:
        return bold + text
    weight = ",detect-weight" if bold else ""
    number = rf"{{\underline{{\tablenum[{digits}{weight}]{{{text}}}}}}}" if digits else rf"\underline{{{text}}}"
    return rf"{{{bold}{number}}}" if bold else number


def _room(text: str, column: Sequence[Marked]) -> str:
    """Leave the room of ± and what follows, so that numbers are aligned."""
    spreads = [other[other.index(" ±") :] for other, _ in column if " ±" in other]
    return rf"\phantom{{{escape(spreads[0])}}}" if text and spreads and " ±" not in text else ""


def _digits(texts: Sequence[str]) -> str:
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
