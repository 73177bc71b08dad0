"""PyKEEN's interactions that are neural networks, as model families."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kgeval.base.arrays import Float64Array, FloatArray
from kgeval.base.errors import CheckpointError
from kgeval.models.checkpoints.readers.pykeen_modules import Module, NoFormula, PyKEENModel
from kgeval.models.checkpoints.shared.layers import Affine, Network, fold_batch_norm
from kgeval.models.families.convolutions import ConvE, ConvKB
from kgeval.models.families.networks import ERMLP, ERMLPE, NTN, CrossE, ProjE, Transformer
from kgeval.models.family import Family
from kgeval.models.ordered import ACTIVATIONS, Activation


def _conve(parts: PyKEENModel) -> Family:
    shape = getattr(parts.interaction.state.get("shape_info"), "state", {})
    layers, after = (
        {layer.class_name: layer for layer in _layers(parts.interaction, name)} for name in ("hr2d", "hr1d")
    )
    norms = [layer for layer in _layers(parts.interaction, "hr2d") if layer.class_name == "BatchNorm2d"]
    convolution, linear = layers.get("Conv2d"), after.get("Linear")
    if convolution is None or linear is None or len(norms) not in (0, 2):
        raise CheckpointError("its convolution or its linear layer is missing.")
    entity = parts.entity()
    kernel = convolution.take("weight", None, None, None, None)
    channels, width = len(kernel), entity.shape[1]
    network = Network(
        kernel,
        linear.take("weight", width, None),
        convolution.find("bias", channels),
        linear.find("bias", width),
        affine(norms[0], kernel.shape[1]) if norms else None,
        affine(norms[1], channels) if norms else None,
        affine(after["BatchNorm1d"], width) if "BatchNorm1d" in after else None,
    )
    height = int(shape["image_height"])
    return ConvE(entity, parts.relation(), **network.arrays(), tail_bias=parts.bias(1), height=height)


def _layers(module: Module, name: str) -> list[Module]:
    sequence = module.child(name)
    names = [] if sequence is None else list(sequence.state["_modules"])
    return [layer for index in names if (layer := module.child(f"{name}.{index}"))]


def affine(module: Module, width: int) -> Affine:
    if module.is_without("running_mean"):
        raise NoFormula("its batch normalisation keeps no running statistics, so its scores depend on the batch.")
    return fold_batch_norm(module, width, affine=not module.is_without("weight"), epsilon=module.state["eps"])


def _convkb(parts: PyKEENModel) -> Family:
    """Filters of height 1 and width 3 over the image [h | r | t]; the dense layer has one filter after another."""
    entity, convolution, linear = parts.entity(), _part(parts, "conv"), _part(parts, "linear")
    kernel = convolution.take("weight", None, 1, 1, 3)[:, 0, 0]
    return ConvKB(
        entity,
        parts.relation(),
        kernel=kernel,
        kernel_bias=convolution.take("bias", len(kernel)),
        output=linear.take("weight", 1, len(kernel) * entity.shape[1]).reshape(len(kernel), -1),
        output_bias=linear.take("bias", 1),
    )


def _crosse(parts: PyKEENModel) -> Family:
    vectors, bias = parts.relations("relation", "interaction"), parts.interaction.take("bias", None)
    return CrossE(parts.entity(), **vectors, bias=bias, activation=_activation(parts, "activation"))


def _ermlp(parts: PyKEENModel) -> Family:
    hidden, output = _part(parts, "hidden"), _part(parts, "hidden_to_score")
    return ERMLP(
        parts.entity(),
        parts.relation(),
        hidden=np.ascontiguousarray(hidden.take("weight", None, None).T),
        hidden_bias=hidden.take("bias", None),
        output=output.take("weight", 1, None)[0],
        output_bias=output.take("bias", 1),
        activation=_activation(parts, "activation"),
    )


def _ermlpe(parts: PyKEENModel) -> Family:
    """Its layers are: dropout, linear, dropout, batch normalisation, relu; and the same again from the second on."""
    (hidden, hidden_bias), (dense, dense_bias) = (_normalised(parts, first) for first in (1, 5))
    return ERMLPE(
        parts.entity(), parts.relation(), hidden=hidden, hidden_bias=hidden_bias, dense=dense, dense_bias=dense_bias
    )


def _normalised(parts: PyKEENModel, first: int) -> tuple[Float64Array, Float64Array]:
    """Fold the batch normalisation after a linear layer into its weights, float64[in, out], and its bias."""
    linear = _part(parts, f"mlp.{first}")
    bias = np.asarray(linear.take("bias", None), np.float64)
    scale, shift = affine(_part(parts, f"mlp.{first + 2}"), len(bias))
    weight = np.asarray(linear.take("weight", len(bias), None), np.float64)
    return np.ascontiguousarray((weight * scale[:, None]).T), bias * scale + shift


def _ntn(parts: PyKEENModel) -> Family:
    layers = parts.relations("relation", "head_weight", "tail_weight", "slice_bias", "slice_output")
    return NTN(parts.entity(), **layers, activation=_activation(parts, "activation"))


def _proje(parts: PyKEENModel) -> Family:
    if _activation(parts, "outer_activation") != "identity":
        raise NoFormula("its scores pass an outer activation, which rounds high scores to ties.")
    vectors = {"head_scale": "d_e", "relation_scale": "d_r", "bias": "b_c"}
    return ProjE(
        parts.entity(),
        parts.relation(),
        **{name: parts.interaction.take(stored, None) for name, stored in vectors.items()},
        score_bias=parts.interaction.take("b_p").reshape(1),
        activation=_activation(parts, "inner_activation"),
    )


def _transformer(parts: PyKEENModel) -> Family:
    """The layers of the encoder, which are alike: arrays of each name are stacked."""
    layers = _layers(_part(parts, "transformer"), "layers")
    if not layers or any(layer.state.get("norm_first") for layer in layers):
        raise NoFormula("its encoder has no layers, or normalises before them (norm_first).")

    def stacked(name: str) -> Float64Array:
        return np.stack([_transposed(layer, name) for layer in layers])

    named = {
        "attention": "self_attn.in_proj_",
        "joined": "self_attn.out_proj.",
        "hidden": "linear1.",
        "dense": "linear2.",
    }
    weights = {
        f"{ours}{end}": stacked(f"{theirs}{kind}") for ours, theirs in named.items() for end, kind in KINDS.items()
    }
    scale, shift = (np.stack([stacked(f"norm{which}.{kind}") for which in (1, 2)], axis=1) for kind in KINDS.values())
    attention = layers[0].child("self_attn")
    return Transformer(
        parts.entity(),
        parts.relation(),
        position=parts.interaction.take("position_embeddings", 2, None),
        **weights,
        norm_scale=scale,
        norm_shift=shift,
        final=_transposed(parts.interaction, "final.weight"),
        final_bias=_transposed(parts.interaction, "final.bias"),
        heads=int(attention.state["num_heads"]) if attention else 0,
    )


KINDS = {"": "weight", "_bias": "bias"}
"""the arrays of a linear layer: how kgeval's names end, and PyTorch's"""


def _transposed(module: Module, name: str) -> FloatArray:
    """Take an array of a module or of a child: a bias, or a weight as [in, out]."""
    path, _, last = name.rpartition(".")
    holder = module.child(path) if path else module
    array = None if holder is None else holder.array(last)
    if array is None or array.dtype.kind != "f":
        raise CheckpointError(f"its layer {name} is missing.")
    return np.ascontiguousarray(array.T)


def _part(parts: PyKEENModel, name: str) -> Module:
    layer = parts.interaction.child(name)
    if layer is None:
        raise CheckpointError(f"its layer {name} is missing.")
    return layer


def _activation(parts: PyKEENModel, name: str) -> Activation:
    """Return the activation function, from its class or, for a state dictionary, from the user's option."""
    layer: Any = parts.interaction.child(name)
    kind = parts.interaction.state.get(name) if layer is None else layer.class_name.lower()
    for known in ACTIVATIONS:
        if kind == known:
            return known
    raise NoFormula(f"its {name} is {kind}; kgeval has {', '.join(ACTIVATIONS)}.")


NETWORKS: dict[str, Callable[[PyKEENModel], Family]] = {
    "ConvE": _conve,
    "ConvKB": _convkb,
    "CrossE": _crosse,
    "ERMLP": _ermlp,
    "ERMLPE": _ermlpe,
    "NTN": _ntn,
    "ProjE": _proje,
    "Transformer": _transformer,
}
