"""The engine for an evaluation: its kernel and memory, and whether torch is worth importing for them."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from kgeval.corruption import AllEntities
from kgeval.data.queries import Queries
from kgeval.data.triples import Side, Triples
from kgeval.files.budget import free_memory
from kgeval.ranking.engine import Engine
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.kernels import kernel
from kgeval.ranking.plan import BLOCK, MEMORY_DIVISOR
from kgeval.scorers.alignment import Aligned
from kgeval.scorers.scorer import VectorScorer

PRODUCTS = ("dot", "l2", "squared_l2", "cosine")
"""the similarities that are computed by matrix products"""

TORCH_PAYS = 10**12
"""floating-point operations from which on the import of torch, for products in bfloat16, costs less than it saves"""


def engine_for(scorer: Aligned, triples: Triples, evaluation: Evaluation) -> Engine:
    """Make the engine that ranks some triples; where torch pays, it is imported before its threads are bound."""
    name = evaluation.kernel
    if name in {"bfloat16", "int8"} or (name == "auto" and _torch_pays(scorer, triples, evaluation)):
        import torch  # noqa: F401
    return Engine(
        kernel(name, block=evaluation.batch_size or BLOCK),
        evaluation.nan,
        evaluation.memory_limit or free_memory() // MEMORY_DIVISOR,
        evaluation.batch_size,
    )


def _torch_pays(scorer: Aligned, triples: Triples, evaluation: Evaluation) -> bool:
    """Whether products in bfloat16 would save more time than the import of torch takes."""
    if not isinstance(evaluation.corruption, AllEntities):
        return False
    dims = sum(vector_dims(scorer, triples, side, PRODUCTS) for side in evaluation.sides)
    return 2 * len(triples) * scorer.num_entities * dims > TORCH_PAYS


def vector_dims(scorer: Aligned, triples: Triples, side: Side, similarities: Container[str]) -> int:
    """Count the numbers in an entity's vector, by the first triple; 0 if it has none, or is compared in another way."""
    dims = 0
    example = Queries.of(Triples(triples.ids[:1]), side)
    for _, view in scorer.views(example):
        if isinstance(view, VectorScorer) and view.similarity in similarities:
            # Vectors of another shape are refused when they are ranked.
            dims += int(np.prod(np.shape(view.entity_vectors(side, example.answers))[1:]))
    return dims
