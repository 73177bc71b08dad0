"""How often simulations draw, and how near a share of their draws must be: three standard errors.

``KGEVAL_DRAWS=4 scripts/test metrics`` draws four times as often as the suite does.
"""

from __future__ import annotations

import os

import numpy as np


def draws(count: int) -> int:
    return round(count * float(os.environ.get("KGEVAL_DRAWS", "1")))


def error(share: float, count: int) -> float:
    """Three standard errors of a share of so many independent draws."""
    return 3 * float(np.sqrt(share * (1 - share) / count))
