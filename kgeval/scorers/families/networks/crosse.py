"""CrossE: a relation has a vector of its own for what it makes of heads (Zhang et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.scorers.family import rows64
from kgeval.scorers.numerics.activations import ACTIVATIONS, Activation
from kgeval.scorers.tail_network import TailNetwork


@dataclass(frozen=True, eq=False)
class CrossE(TailNetwork):
    """score(h, r, t) = f(c_r∘h + c_r∘h∘r + b) · t.

    The sigmoid around the paper's score orders nothing, and is left out.
    Zhang, Paudel, Zhang, Bernstein and Chen: Interaction Embeddings for Prediction and Explanation in Knowledge Graphs,
    WSDM 2019.
    """

    name: ClassVar[str] = "CrossE"
    formula: ClassVar[str] = "f(c∘h + c∘h∘r + b) · t"
    equal_widths: ClassVar[bool] = True

    interaction: FloatArray
    """float[relation, width], c"""
    bias: FloatArray
    """float[width], b"""
    activation: Activation
    """the function f"""

    def __post_init__(self) -> None:
        super().__post_init__()
        fits = self.interaction.shape == self.relation.shape and self.bias.shape == (self.entity.shape[1],)
        self.require(fits, "interaction must have the shape of relation, and bias the entity width")

    def network(self, heads: IntArray, relations: IntArray) -> Float64Array:
        """Let the head interact with the relation."""
        crossed = rows64(self.interaction, relations) * rows64(self.entity, heads)
        moved = np.asarray(self.bias, np.float64) + crossed + crossed * rows64(self.relation, relations)
        return ACTIVATIONS[self.activation](moved)
