"""The machine: what it is, and how fast it multiplies matrices."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info


def describe() -> str:
    """Name the processor, the number of cores, and whose kernels BLAS takes: OPENBLAS_CORETYPE may say others."""
    info = Path("/proc/cpuinfo")
    names = (
        [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        if info.is_file()
        else []
    )
    blas = next((found["architecture"] for found in threadpool_info() if "architecture" in found), "unknown")
    name = names[0] if names else platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores, BLAS for {blas}"


def rates() -> dict[str, float]:
    """Measure matrix products of 1024 × 200 with 200 × 14541 numbers; GFLOP/s by precision, the best of several."""
    import torch

    left, right = torch.randn(1024, 200), torch.randn(14_541, 200)
    gflop = 2 * 1024 * 14_541 * 200 / 1e9
    found = {"float32": gflop / _best(lambda: np.matmul(left.numpy(), right.numpy().T))}
    halves = left.bfloat16(), right.bfloat16()
    with torch.inference_mode():
        found["bfloat16"] = gflop / _best(lambda: torch.mm(halves[0], halves[1].T))
    return found


def _best(work) -> float:  # type: ignore[no-untyped-def]
    times = []
    for _ in range(20):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
