"""The activation functions of networks, elementwise on float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from kgeval.arrays import Float64Array

Activation = Literal["identity", "relu", "sigmoid", "tanh"]

ACTIVATIONS: dict[Activation, Callable[[Float64Array], Float64Array]] = {
    "identity": lambda values: values,
    "relu": lambda values: np.maximum(values, 0.0),
    "sigmoid": lambda values: 0.5 * np.tanh(0.5 * values) + 0.5,
    "tanh": np.tanh,
}
"""each by its name, in any spelling of PyTorch's without capitals"""
