"""Text without what depends on a training, whose last digits each processor rounds otherwise.

What stays: words, sizes of the graph, the metrics and rows of tables, and all about a baseline, which was not trained.
"""

from __future__ import annotations

import re
from functools import cache

NUMBER = r"(?<![\d.,])(?!(?:135|661|1,?322)\b)[-+]?\d[\d,]*(?:\.\d+)?"
"""a number that is no size of the graph"""

BASELINE = r"(?m)^popularity(?: +[\d.]+(?: ± [\d.]+)?)+$"
"""the row of a baseline in a table"""

MASKS = [
    (r"(?ms)^Note: .*?(?=^Note: |^\S.* test triples|^Written|^$|\Z)", ""),  # notes depend on what was seen
    (r"(?s)\\footnotesize .*?(?=\\end)", ""),  # and so do those of LaTeX
    (r"\\phantom\{[^}]*\}|\\bfseries\s|\\underline\{([^}]*)\}", r"\1"),  # which numbers are the best
    (r"\b(better|worse|none|head|tail|train|valid|test|new|yes|no)\b", "WORD"),
    (r"\(but [^)]*\)", ""),  # which models differ significantly, beyond their order
    (r"[>≈]", "~"),
    (rf"{NUMBER} *\({NUMBER}–{NUMBER}\)|{NUMBER} *(?:±|\$\\pm\$) *{NUMBER}|[<≤] *{NUMBER}|{NUMBER}", "#"),
    (r"─+", "─"),
    (r"\s+", " "),
]


@cache
def _labels() -> re.Pattern[str]:
    from kgeval import load_dataset

    data = load_dataset("umls")
    models = ["ComplEx", "DistMult", "TransE", "popularity"]
    names = sorted([*data.entities, *data.relations, *models], key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w])")


def structure(text: str) -> str:
    """Mask what depends on the last digits of a training."""
    if text.startswith("baseline "):
        return text
    kept = re.findall(BASELINE, text)
    text = _labels().sub("NAME", text)
    for pattern, mask in MASKS:
        text = re.sub(pattern, mask, text)
    return "\n".join([text.strip(), *(" ".join(row.split()) for row in kept)])
