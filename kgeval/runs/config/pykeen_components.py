"""PyKEEN's components by name: models, losses, optimizers, trackers, and others."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from kgeval.data.layouts.pykeen import writable_home
from kgeval.errors import ConfigError, did_you_mean


def refuse_unknown(part: str, name: str) -> None:
    """Refuse a name that PyKEEN does not know; a part is a parameter of ``pykeen.pipeline.pipeline`` or a tracker."""
    if part == "device":
        _refuse_unknown_device(name)
        return
    resolver = _resolver(part)
    try:
        resolver.lookup(name)
    except KeyError:
        # Models are known by their class names, all other components by PyKEEN's short names.
        known = [cls.__name__ for cls in resolver.lookup_dict.values()] if part == "model" else resolver.options
        hint = did_you_mean(name, known)
        raise ConfigError(f"PyKEEN has no {part.replace('_', ' ')} called {name!r}. {hint}") from None


def component(part: str, model: str, name: str | None) -> Callable[..., Any] | None:
    """The class or function that PyKEEN calls with the arguments of a part; None where nothing is called.

    The part is a parameter of ``pykeen.pipeline.pipeline`` with arguments of its own, or ``"training"``; without a name
    it is the default one, which for loss and regularizer is the model's.
    """
    found: Callable[..., Any] | None = None
    if part == "training":
        found = _resolver("training_loop").lookup(None).train
    elif name is None and part in {"loss", "regularizer"}:
        found = getattr(_resolver("model").lookup(model), f"{part}_default", None)
    elif name is not None or part in {"optimizer", "negative_sampler"}:
        found = _resolver(part).lookup(name)
    return found


def scores_new_entities(model: str) -> bool:
    """Whether a model, such as InductiveNodePiece, learns from one graph and is evaluated on another."""
    from pykeen.models.inductive import InductiveERModel

    return issubclass(_resolver("model").lookup(model), InductiveERModel)


def _refuse_unknown_device(name: str) -> None:
    import torch

    try:
        torch.device("cuda" if name == "gpu" else name)
    except RuntimeError:
        raise ConfigError(f"unknown device {name!r}. {did_you_mean(name, ['cpu', 'cuda', 'cuda:0', 'mps'])}") from None


def has_device(name: str | None) -> bool:
    """Whether a machine has the GPU that a training asks for; without a name it takes what there is."""
    import torch

    device = torch.device("cuda" if name == "gpu" else name or "cpu")
    return bool(device.type != "cuda" or (device.index or 0) < torch.cuda.device_count())


def _resolver(part: str) -> Any:
    module = {"negative_sampler": "sampling", "training_loop": "training", "loss": "losses"}.get(part, f"{part}s")
    with writable_home():
        return getattr(import_module(f"pykeen.{module}"), f"{part}_resolver")
