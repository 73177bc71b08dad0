"""The device that counts: its name, and whether it is there."""

from __future__ import annotations

import importlib.util
import os
from typing import Any

from kgeval.base.errors import InputError


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


def triton_runs(device: Any) -> bool:
    """Whether Triton's programs run on a device: on a GPU, if it is installed.

    Triton's interpreter (``TRITON_INTERPRET=1``) takes the place of a GPU.
    """
    there = device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1"
    return there and importlib.util.find_spec("triton") is not None


def describe(device: Any) -> str:
    """Name a device for the manifest of a run."""
    import torch

    return f"{device} ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else f"torch:{device}"


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
