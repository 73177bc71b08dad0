"""The engine for an evaluation: its kernel, device and memory, and whether torch is worth importing for them.

``ModelRanking`` and ``ModelPredictions`` call ``engine_for``. The limits here are measured: from so much work on, a
kernel or a device saves more time than its start takes.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.base.errors import InputError
from kgeval.base.extras import is_installed, refuse_missing
from kgeval.base.files import free_memory
from kgeval.data.queries import Queries
from kgeval.data.triples import Side, Triples
from kgeval.models.aligned import Aligned
from kgeval.models.scorer import VectorScorer, views_of
from kgeval.models.similarity import PRODUCTS
from kgeval.ranking.corruption import AllEntities
from kgeval.ranking.engine import Engine
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.kernels import fast_bfloat16, kernel
from kgeval.ranking.memory_plan import BLOCK

if TYPE_CHECKING:  # numba is loaded when something is ranked, not before
    from kgeval.ranking.kernels.rounding import Precision

MEMORY_DIVISOR = 4
"""without a memory limit, an evaluation takes the free memory divided by this number"""

TORCH_PAYS = 10**12
"""the number of floating-point operations above which importing torch, for products in bfloat16, costs less time than
it saves"""

LOOPS_PAY = 10**8
"""the number of floating-point operations above which loading numba's compiled loops costs less time than they save; on
a new machine, they are compiled first"""

_uncompiled: list[int] = []
"""the operations of each evaluation in this process so far; their sum decides, so that many small evaluations load the
loops as a large one does"""

GPU_PAYS = 10**10
"""the number of floating-point operations above which a GPU is taken, if torch is imported: less work takes a CPU
milliseconds"""


def engine_for(scorer: Aligned, triples: Triples, evaluation: Evaluation) -> Engine:
    """Make the engine that ranks some triples; if torch pays, it is imported here, before its threads are limited."""
    device = _device_for(scorer, triples, evaluation)
    name, block = evaluation.kernel, evaluation.batch_size or BLOCK
    memory = evaluation.memory_limit or free_memory() // MEMORY_DIVISOR
    if device is None:
        screens = name == "auto" and _operations(scorer, triples, evaluation, PRODUCTS) > TORCH_PAYS
        if (screens and is_installed("torch")) or name == "bfloat16":
            import torch  # noqa: F401
        if name == "auto" and not _loops_pay(scorer, triples, evaluation):
            name = "reference"
        return Engine(kernel(name, block=block), evaluation.nan, memory, evaluation.batch_size)
    from kgeval.ranking.kernels.device.device_kernel import DeviceKernel

    on_device = free_bytes(device, memory, evaluation.memory_limit)
    on_host: Precision = "bfloat16" if fast_bfloat16() else "float32"
    counting = DeviceKernel(device, on_device, on_host=on_host, block=block)
    return Engine(counting, evaluation.nan, memory, evaluation.batch_size, device_memory=on_device)


def named_device(evaluation: Evaluation) -> Any:
    """Return the ``torch.device`` that an evaluation names; None for the CPU, or if the device is not chosen yet."""
    if evaluation.kernel == "bfloat16":
        refuse_missing("kernel: bfloat16 needs", "torch")
    if evaluation.device in ("auto", "cpu"):
        return None
    if evaluation.kernel != "auto":
        raise InputError(
            f"kernel: {evaluation.kernel!r} runs on the CPU, and device: {evaluation.device} has its own kernel. "
            "Leave the kernel out, or say device: cpu."
        )
    refuse_missing(f"device: {evaluation.device} needs", "torch")
    return find_device(evaluation.device)


def _device_for(scorer: Aligned, triples: Triples, evaluation: Evaluation) -> Any:
    """Choose the ``torch.device`` that counts candidates; None for the CPU."""
    if evaluation.device != "auto" or evaluation.kernel != "auto":
        return named_device(evaluation)
    operations = _operations(scorer, triples, evaluation)
    if operations <= (GPU_PAYS if "torch" in sys.modules else TORCH_PAYS) or not is_installed("torch"):
        return None
    import torch

    return find_device("cuda") if torch.version.cuda is not None and torch.cuda.is_available() else None


def _loops_pay(scorer: Aligned, triples: Triples, evaluation: Evaluation) -> bool:
    """Whether the compiled loops are loaded, or worth loading: assumes that every entity is scored for every query."""
    scores = len(triples) * scorer.num_entities * len(evaluation.sides)
    _uncompiled.append(max(scores, _operations(scorer, triples, evaluation)))
    return "kgeval.ranking.kernels.compiled" in sys.modules or sum(_uncompiled) > LOOPS_PAY


def _operations(
    scorer: Aligned, triples: Triples, evaluation: Evaluation, similarities: Collection[str] | None = None
) -> int:
    """Count the operations on vectors with one of ``similarities``, by default any; 0 unless all entities compete."""
    if not isinstance(evaluation.corruption, AllEntities):
        return 0
    dims = sum(vector_dims(scorer, triples, side, similarities) for side in evaluation.sides)
    return 2 * len(triples) * scorer.num_entities * dims


def vector_dims(scorer: Aligned, triples: Triples, side: Side, similarities: Collection[str] | None = None) -> int:
    """Return the dimension of an entity's vector, by the first triple; 0 without vectors or with another similarity."""
    dims = 0
    example = Queries.of(triples[:1], side)
    for _, view in views_of(scorer.scorer_of(side), example):
        if isinstance(view, VectorScorer) and (similarities is None or view.similarity in similarities):
            # Vectors of another shape are refused when they are ranked.
            dims += int(np.prod(np.shape(view.entity_vectors(side, example.answers))[1:]))
    return dims


def find_device(name: str) -> Any:
    """Return the ``torch.device`` of a name other than ``auto`` and ``cpu``."""
    import torch

    if name == "torch:cpu":
        return torch.device("cpu")
    if torch.version.cuda is None:
        raise InputError(
            f"device: {name}, and torch {torch.__version__} is built without CUDA. Install a build of torch with CUDA "
            "(https://pytorch.org/get-started), or use device: cpu."
        )
    if not torch.cuda.is_available():
        raise InputError(
            f"device: {name}, and torch finds no GPU. Check whether nvidia-smi lists one and whether "
            "CUDA_VISIBLE_DEVICES hides it, or use device: cpu."
        )
    count, index = torch.cuda.device_count(), int(name.partition(":")[2] or torch.cuda.current_device())
    if index >= count:
        there = ", ".join(f"cuda:{number}" for number in range(count))
        raise InputError(
            f"device: {name}, this machine has {count} GPU{'s' * (count > 1)} ({there}). Choose one of these."
        )
    return torch.device("cuda", index)


def free_bytes(device: Any, host_memory: int, limit: int | None = None) -> int:
    """Return the bytes that blocks may take on a device: four fifths of what a GPU has free, and no more than a limit.

    Torch's CPU device takes the memory of the host.
    """
    import torch

    if device.type != "cuda":
        return host_memory
    # What torch holds and does not use is free for it as well.
    idle = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    free = int((torch.cuda.mem_get_info(device)[0] + idle) * 0.8)
    return free if limit is None else min(free, limit)
