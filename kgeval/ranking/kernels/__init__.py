"""The kernels: ways to compute scores and count them. All of them give the same integers.

``engine_choice`` and others call ``kernel`` with a name. To add a kernel, write a ``collectors.Kernel`` and a case in
``kernel``.
"""

from __future__ import annotations

import sys
import timeit
from functools import cache
from typing import TYPE_CHECKING

from kgeval.base.compiling import tell_if_cold
from kgeval.ranking.evaluation import KernelName
from kgeval.ranking.kernels.collectors import Kernel
from kgeval.ranking.memory_plan import BLOCK

if TYPE_CHECKING:  # numba is loaded when something is ranked, not before
    from kgeval.ranking.kernels.rounding import Precision


def kernel(name: KernelName = "auto", *, block: int = BLOCK) -> Kernel:
    """Make a kernel; ``"auto"`` screens in the precision that is fastest on this machine.

    To screen is to decide most comparisons by cheap scores with a known error, and only the others by exact scores. If
    there are many queries, some of them are counted in each precision in question, and timed.

    Screening keeps the scores of ``block`` queries in memory at a time.

    >>> kernel("compiled").stats()
    {'kernel': 'compiled'}
    """
    if name == "reference":
        from kgeval.ranking.kernels.reference import ReferenceKernel

        return ReferenceKernel()
    from kgeval.ranking.kernels.compiled import CompiledKernel
    from kgeval.ranking.kernels.screening.screened_kernel import ScreenedKernel

    tell_if_cold()
    if name == "compiled":
        return CompiledKernel()
    if name != "auto":
        return ScreenedKernel(name, block=block)
    precisions: tuple[Precision, ...] = ("bfloat16", "float32") if fast_bfloat16() else ("float32",)
    return ScreenedKernel(*precisions, block=block)


@cache
def fast_bfloat16() -> bool:
    """Whether matrix products in bfloat16 are exact enough and clearly faster here; measured once per process.

    If torch is not imported yet, the answer is no: its import takes longer than small products save.
    """
    if "torch" not in sys.modules:
        return False
    import torch

    generator = torch.Generator().manual_seed(0)
    left, right = (torch.randn(512, 512, generator=generator).to(torch.bfloat16) for _ in range(2))
    seconds = {}
    with torch.inference_mode():
        for precision in (torch.float32, torch.bfloat16):
            pair = left.to(precision), right.to(precision)
            seconds[precision] = min(timeit.repeat(lambda: torch.mm(*pair), number=1, repeat=9))  # noqa: B023
        exact = left.double() @ right.double()
        loss = (torch.mm(left, right).double() - exact).abs() - exact.abs() * 2.0**-8
    # The largest error of a sum that is accumulated in float32 and rounded once; one in bfloat16 has a larger error.
    bound = torch.outer(left.double().norm(dim=1), right.double().norm(dim=0)) * 2048 * 2.0**-24
    return bool((loss <= bound).all()) and seconds[torch.bfloat16] * 1.5 < seconds[torch.float32]
