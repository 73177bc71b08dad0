"""TransH: a relation translates on its own hyperplane (Wang et al., 2014)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.scorers.family import rows64
from kgeval.scorers.numerics.ordered import dot_rows
from kgeval.scorers.translation import ProjectedTranslation


@dataclass(frozen=True, eq=False)
class TransH(ProjectedTranslation):
    """score(h, r, t) = −‖P_r(h) + r − P_r(t)‖_p, P_r(e) = e − (w_r · e) w_r.

    Wang et al.: Knowledge Graph Embedding by Translating on Hyperplanes, AAAI 2014.
    """

    name: ClassVar[str] = "TransH"
    formula: ClassVar[str] = "−‖(h − (w·h)w) + r − (t − (w·t)w)‖_p"
    equal_widths: ClassVar[bool] = True

    normal: FloatArray
    """float[relation, width], the normal vector of each hyperplane, of length 1"""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.normal.shape == self.relation.shape, "normal must have the shape of relation")

    def project(self, ids: IntArray, relation: int) -> Float64Array:
        """Project entities onto the relation's hyperplane: e − (w · e) w."""
        entities, normal = rows64(self.entity, ids), rows64(self.normal, relation)
        return entities - dot_rows(entities, normal[None, :])[:, None] * normal
