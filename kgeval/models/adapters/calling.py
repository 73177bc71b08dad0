"""How a user's function or module is called: with arrays or tensors, in evaluation mode, in batches that fit in memory.

The scorers of ``functions.py`` call a user's function through ``FunctionCaller``; live models (``live_models.py``) use
``evaluating`` and ``ShrinkingBatches`` alone.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from kgeval.base.arrays import detached
from kgeval.base.errors import InputError, ScoreError, reason
from kgeval.data.columns import TRIPLE, meaning

ScoreFunction = Callable[[Any, Any, Any], Any] | Callable[[Any, Any, Any, Any], Any]
"""``f(heads, relations, tails) -> scores`` or ``f(anchors, relations, side) -> scores``, of equally long arrays or
tensors of ids; the function of a temporal model takes ``times`` as the fourth argument"""


class FunctionCaller:
    """Calls a scoring function with arrays or tensors, whichever it accepts.

    A ``torch.nn.Module`` and its methods get LongTensors on the module's device, and the module is in evaluation mode
    while it scores. Any other function gets int64 arrays, and tensors on the CPU once it has failed on arrays; modules
    that it calls are not changed. After the first call, a function gets what worked in that call. No gradient is kept,
    and torch is not imported here.
    """

    def __init__(self, function: ScoreFunction, parameters: Sequence[str]) -> None:
        _refuse_other_parameters(function, parameters)
        self._function, self._signature = function, f"f({', '.join(parameters)})"
        torch, owner = sys.modules.get("torch"), getattr(function, "__self__", function)
        self._modules = [owner] if torch is not None and isinstance(owner, torch.nn.Module) else []
        tensors = (tensor for module in self._modules for tensor in chain(module.parameters(), module.buffers()))
        device = next((tensor.device for tensor in tensors), "cpu")
        self._converters: list[Callable[[Any], Any]] = [lambda ids: ids]
        if torch is not None:
            self._converters.append(lambda it: torch.tensor(it, device=device) if isinstance(it, np.ndarray) else it)
        if self._modules:
            self._converters.reverse()

    def __call__(self, *arguments: Any) -> Any:
        """Call the function with arrays of ids (words stay as they are); return its result, tensors on the host."""
        failures: list[Exception] = []
        # Not inference_mode: tensors that a module keeps of its forward pass could not be used in training afterwards.
        grad = sys.modules["torch"].no_grad() if "torch" in sys.modules else nullcontext()
        with grad, evaluating(*self._modules):
            for convert in self._converters:
                try:
                    scores = detached(self._function(*map(convert, arguments)))
                except Exception as failure:
                    if is_out_of_memory(failure):
                        raise
                    failures.append(failure)
                else:
                    self._converters = [convert]
                    return scores
        messages = dict.fromkeys(f"{type(failure).__name__}: {reason(failure)}" for failure in failures)
        if len(messages) == 1 and not isinstance(failures[0], TypeError | IndexError):
            raise failures[0]
        fault = f"the scoring function fails as {self._signature}, with ids as arrays and, with torch, as tensors"
        labels = "If its ids are not the dataset's, give their labels as entities=[…] and relations=[…]."
        raise ScoreError(f"{fault}. Its errors: {'; '.join(messages)}. {labels}") from failures[0]


def _refuse_other_parameters(function: ScoreFunction, parameters: Sequence[str]) -> None:
    signature = _signature(function)
    named = [of.role for it in positional_parameters(function)[:3] if (of := meaning(it.name))]
    if parameters[0] == "heads" and sorted(named) == sorted(TRIPLE) and named != [*TRIPLE]:
        fault = f"the parameters of the scoring function are {', '.join(named)}, and it is called by their places"
        raise InputError(f"{fault}, with heads, relations, tails. Give a function with its parameters in this order.")
    try:
        if signature is not None:
            signature.bind(*parameters)
    except TypeError as error:
        name, taken = getattr(function, "__name__", type(function).__name__), len(positional_parameters(function))
        fault = f"the scoring function {name}{signature} cannot be called as f({', '.join(parameters)})"
        raise InputError(f"{fault}: {reason(error)}.{HINTS.get(taken, '')}") from error


HINTS = {
    1: " If it takes rows (head, relation, tail): lambda h, r, t: f(np.stack([h, r, t], axis=1)).",
    2: " If it scores all tails of a head and a relation: kgeval.QueryScorer(lambda anchors, relations, side: "
    "f(anchors, relations), sides='tail').",
}
"""the advice in a message, by the number of parameters of the function"""


def positional_parameters(function: ScoreFunction) -> list[inspect.Parameter]:
    """List the parameters of a function that can be given by position; none if Python cannot find them out."""
    signature = _signature(function)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [it for it in signature.parameters.values() if it.kind in kinds] if signature else []


def _signature(function: ScoreFunction) -> inspect.Signature | None:
    with suppress(TypeError, ValueError):  # compiled functions need not tell
        return inspect.signature(getattr(function, "forward", function))  # a module's own call takes anything
    return None


@contextmanager
def evaluating(*modules: Any) -> Iterator[None]:
    """Put modules into evaluation mode, and each of their parts back into its own mode afterwards."""
    modes = {part: part.training for module in modules for part in module.modules()}
    for module in modules:
        module.eval()
    try:
        yield
    finally:
        for part, training in modes.items():
            part.training = training


T = TypeVar("T")


class ShrinkingBatches:
    """Computes in batches; if a batch does not fit in memory, it is tried again at half its size, as are later batches.

    >>> def square(part):
    ...     if part.stop - part.start > 2:
    ...         raise MemoryError
    ...     return [number**2 for number in range(part.start, part.stop)]
    >>> batches = ShrinkingBatches(4)
    >>> list(batches.compute(square, 5)), batches.size
    ([[0, 1], [4, 9], [16]], 2)
    """

    def __init__(self, size: int) -> None:
        self.size = size

    def compute(self, function: Callable[[slice], T], count: int) -> Iterator[T]:
        """Yield what a function returns for consecutive slices of ``count`` rows, in order."""
        start = 0
        while start < count:
            size = min(self.size, count - start)
            try:
                result = function(slice(start, start + size))
            except Exception as error:
                if size == 1 or not is_out_of_memory(error):
                    raise
                self.size = size // 2
            else:
                start += size
                yield result


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error says that memory is short, on the host or on a device."""
    # Torch raises a RuntimeError; for the memory of a GPU, it is of a class that only torch has.
    words = ("out of memory", "can't allocate memory", "OutOfMemoryError")
    said = f"{type(error).__name__}: {error}"
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and any(it in said for it in words))
