"""Text without what differs between machines and moments: folders, versions, times, hashes of files."""

from __future__ import annotations

import re
from pathlib import Path

MOVING = [
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?", "<moment>"),
    (r"\b[0-9a-f]{64}\b", "<sha256>"),
    (r"\b\d+(\.\d+)? (ms|s|min|seconds?|minutes?)\b", "<time>"),
    (r"(?m)^(python +)\d\S*$", r"\1<version>"),
    (r"(?m)^ *\"?commit\"?:? +\S+\n", ""),  # known only in a checkout
    (r"(?m)^[^\n:]*: [^\n]*<time>[^\n]*\n", ""),  # progress of what takes seconds
    (r"\bkgeval,? (version )?\d+\.\d+\S*", "kgeval <version>"),
]


def normal(text: str, folder: Path) -> str:
    """Replace what moves; of folders, the one that the text was made in."""
    for place in (str(folder.resolve()), str(folder)):
        text = text.replace(place, "<folder>")
    for pattern, name in MOVING:
        text = re.sub(pattern, name, text)
    # The last digits of sums and of fitted numbers are the libraries'.
    return re.sub(r"\d+\.\d{10,}(e[-+]?\d+)?", lambda number: f"{float(number[0]):.9g}", text)
