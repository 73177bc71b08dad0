"""Labels inside sentences: one that is written from right to left does not turn the words after it."""

from __future__ import annotations

import unicodedata

START, END = "\u2068", "\u2069"
"""first strong isolate, and pop directional isolate (Unicode, UAX 9)"""

TURNING = frozenset({"R", "AL", "AN", "LRE", "LRO", "RLE", "RLO", "LRI", "RLI", "FSI", "PDF", "PDI"})


def isolated(label: str) -> str:
    r"""Keep the direction of a label to itself; most labels stay as they are.

    >>> isolated("ComplEx"), isolated("\u202eevil")
    ('ComplEx', '\u2068\u202eevil\u2069')
    """
    turning = any(unicodedata.bidirectional(character) in TURNING for character in label)
    return f"{START}{label}{END}" if turning else label
