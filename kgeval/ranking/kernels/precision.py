"""The low precisions in which a screen may compare scores."""

from __future__ import annotations

from typing import Literal

Precision = Literal["bfloat16", "float32"]
