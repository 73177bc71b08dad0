"""Text without its numbers, names and verdicts: what stays if training rounds otherwise on another processor."""

from __future__ import annotations

import re
from functools import cache

NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?"

MASKS = [
    (r"(?ms)^Note: .*?(?=^Note: |^\S.* test triples|^Written|^$|\Z)", ""),  # notes depend on what was seen
    (r"\\phantom\{[^}]*\}|\\bfseries |\\underline\{([^}]*)\}", r"\1"),  # which numbers are the best
    (r"\b(better|worse|none|head|tail|train|valid|test|new|yes|no)\b", "WORD"),
    (r"\(and .*\)|[>≈]", "~"),
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
    text = _labels().sub("NAME", text)
    for pattern, mask in MASKS:
        text = re.sub(pattern, mask, text)
    return text.strip()
