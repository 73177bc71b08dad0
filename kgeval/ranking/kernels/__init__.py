"""The kernels: how scores are computed and counted. Whichever is chosen, the integers are the same."""

from __future__ import annotations

from typing import Literal

from kgeval.ranking.kernels.base import Kernel

KernelName = Literal["auto", "compiled", "reference"]


def kernel(name: KernelName = "auto") -> Kernel:
    """Choose a kernel; ``"auto"`` is the fastest that this machine runs.

    >>> kernel("auto").name
    'compiled'
    """
    if name == "reference":
        from kgeval.ranking.kernels.reference import ReferenceKernel

        return ReferenceKernel()
    from kgeval.ranking.kernels.compiled import CompiledKernel

    return CompiledKernel()
