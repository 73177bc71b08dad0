"""PyKEEN's components by name: models, losses, optimizers, trackers, and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kgeval.data.layouts.pykeen import writable_home
from kgeval.errors import ConfigError, did_you_mean


def refuse_unknown(part: str, name: str) -> None:
    """Refuse a name that PyKEEN does not know; a part is a parameter of ``pykeen.pipeline.pipeline`` or a tracker."""
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
    if part == "training":
        train: Callable[..., Any] = _resolver("training_loop").lookup(None).train
        return train
    if name is None and part in {"loss", "regularizer"}:
        default: Callable[..., Any] | None = getattr(_resolver("model").lookup(model), f"{part}_default", None)
        return default
    if name is None and part not in {"optimizer", "negative_sampler"}:
        return None
    callee: Callable[..., Any] = _resolver(part).lookup(name)
    return callee


def scores_new_entities(model: str) -> bool:
    """Whether a model, such as InductiveNodePiece, learns from one graph and is evaluated on another."""
    from pykeen.models.inductive import InductiveERModel

    return issubclass(_resolver("model").lookup(model), InductiveERModel)


def refuse_unknown_device(name: str) -> None:
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
    with writable_home():
        from pykeen.losses import loss_resolver
        from pykeen.lr_schedulers import lr_scheduler_resolver
        from pykeen.models import model_resolver
        from pykeen.optimizers import optimizer_resolver
        from pykeen.regularizers import regularizer_resolver
        from pykeen.sampling import negative_sampler_resolver
        from pykeen.stoppers import stopper_resolver
        from pykeen.trackers import tracker_resolver
        from pykeen.training import training_loop_resolver

    return {
        "loss": loss_resolver,
        "lr_scheduler": lr_scheduler_resolver,
        "model": model_resolver,
        "negative_sampler": negative_sampler_resolver,
        "optimizer": optimizer_resolver,
        "regularizer": regularizer_resolver,
        "stopper": stopper_resolver,
        "tracker": tracker_resolver,
        "training_loop": training_loop_resolver,
    }[part]
