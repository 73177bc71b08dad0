"""What is asked of a model's scores: a task or ranks, metrics, and the policies that those rest on."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, ValidationInfo, field_validator

from kgeval.metrics.policies import Chance
from kgeval.metrics.ties import Ties
from kgeval.runs.values import Exponents, Metrics
from kgeval.scoring.classification import Classification
from kgeval.scoring.confidences import Confidences
from kgeval.settings import Settings

UNFIT = {
    "classification": frozenset({"ties", "seed", "chance", "popularity"}),
    "confidences": frozenset({"chance", "popularity"}),
}
"""the policies that no metric of a task depends on"""


class Asked(Settings):
    """What is asked of a model's scores; a run keeps it, so that ``kgeval metrics`` can answer again."""

    task: Annotated[Classification | Confidences, Field(discriminator="kind")] | None = None
    """what is asked of the models instead of a ranking: to classify triples, or to predict confidences"""
    metrics: Metrics = ()
    """``[side.][ties.][average.]name[@k]``, of a task ``[macro.]name[@k]``; by default those of the task or protocol"""
    ties: Ties | None = None
    """the rank of an answer that ties with others; by default as the protocol says"""
    seed: int = 0
    """of random ties"""
    chance: Chance = "exact"
    """what adjusted metrics compare with: random ranking among N candidates, or N − 1 (``pykeen``)"""
    popularity: Exponents = (1.0, 1.0)
    """the exponents of the frequencies of answer and relation, which ``strat`` metrics weigh against"""

    @field_validator("ties", "seed", "chance", "popularity")
    @classmethod
    def _fits_the_task(cls, value: Any, block: ValidationInfo) -> Any:
        task = block.data.get("task")
        if value is not None and task is not None and block.field_name in UNFIT[task.kind]:
            raise ValueError(f"no metric of this task ({task.kind}) depends on {block.field_name}. Leave it out")
        return value

    @property
    def policies(self) -> dict[str, Any]:
        """The policies, as ``summarize`` takes them."""
        ties = {} if self.ties is None else {"ties": self.ties}
        return {**ties, "seed": self.seed, "chance": self.chance, "popularity": self.popularity}
