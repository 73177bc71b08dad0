"""A device that is pretended: its tensors stand apart from the host's, as those of a GPU do.

Torch's own CPU device takes tensors that a step forgot to copy to the device or back, where a GPU refuses them. Here
numbers are on the host, and each operation of torch checks that all its tensors are on one device.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

APART = torch.device("meta")
"""a device of torch that needs no hardware; it would hold no numbers"""


class Apart(torch.Tensor):
    """A tensor on the pretended device; ``host`` has its numbers."""

    @staticmethod
    def __new__(cls, host: torch.Tensor) -> Apart:
        about = {"strides": host.stride(), "storage_offset": host.storage_offset(), "dtype": host.dtype}
        made = torch.Tensor._make_wrapper_subclass(cls, host.shape, **about, device=APART)
        made.host = host
        return made

    def __getitem__(self, index: Any) -> Any:
        """Of numpy's indices, torch makes tensors of the device without an operation that is seen here."""
        return super().__getitem__(
            tree_map(lambda it: torch.from_numpy(it) if isinstance(it, np.ndarray) else it, index)
        )

    @classmethod
    def __torch_dispatch__(cls, operation, types, args=(), options=None):
        return _computed(operation, args, options or {})


class PretendedDevice(TorchDispatchMode):
    """The context in which tensors can be made on the device, or copied to it; of one thread."""

    def __torch_dispatch__(self, operation, types, args=(), options=None):
        return _computed(operation, args, options or {})


def _computed(operation: Any, args: Any, options: dict[str, Any]) -> Any:
    """Run an operation on the host, if a GPU would; what it makes stands where a GPU's would."""
    tensors = [leaf for leaf in tree_leaves((args, options)) if isinstance(leaf, torch.Tensor)]
    apart, here = ([it for it in tensors if isinstance(it, Apart) == is_apart] for is_apart in (True, False))
    copies, name = operation.name().startswith(("aten::_to_copy", "aten::copy_")), operation.name()
    # A GPU takes single numbers of the host, and its rows by the host's numbers.
    allowed = copies or (name == "aten::index.Tensor" and isinstance(args[0], Apart))
    if apart and not allowed and any(tensor.ndim for tensor in here):
        raise RuntimeError(f"{name} of tensors on two devices")
    device = options.get("device") or (APART if apart else "cpu")
    options = {**options, "device": "cpu"} if options.get("device") else options
    made = operation(*tree_map(_on_host, args), **tree_map(_on_host, options))
    if operation._schema.is_mutable:
        return args[0]
    return tree_map(_set_apart, made) if torch.device(device) == APART else made


def _on_host(value: Any) -> Any:
    return value.host if isinstance(value, Apart) else value


def _set_apart(value: Any) -> Any:
    return Apart(value) if isinstance(value, torch.Tensor) else value
