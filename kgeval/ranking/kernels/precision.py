"""The low precisions in which a screen may compare scores."""

from __future__ import annotations

from typing import Literal

FloatPrecision = Literal["bfloat16", "float32"]

Precision = Literal["bfloat16", "float32", "int8"]
"""int8 stands for two planes of eight bits"""
