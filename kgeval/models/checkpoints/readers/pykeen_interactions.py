"""PyKEEN's interactions as model families: one function for each makes the family of its representations and layers.

Readers and ``kgeval.pykeen`` call ``family_of`` with a ``PyKEENModel`` and the name of its interaction; it returns a
``Family``. The table ``FAMILIES``, at the end, has the function of each interaction; to add one, write the function, in
alphabetical order, and its line in the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from kgeval.base.arrays import Float64Array, FloatArray
from kgeval.base.errors import CheckpointError
from kgeval.models.checkpoints.options import truth_value
from kgeval.models.checkpoints.readers.pykeen_modules import Module, NoFormula, PyKEENModel
from kgeval.models.checkpoints.tensors import check_shape, fold_batch_norm, joined
from kgeval.models.families.bilinear import (
    CP,
    RESCAL,
    AutoSF,
    ClampedDistMult,
    DistMA,
    DistMult,
    HolE,
    MultiLinearTucker,
    SimplE,
    TuckER,
)
from kgeval.models.families.complex import ComplEx, RotatE
from kgeval.models.families.convolutions import Affine, ConvE, ConvKB, folded_layers
from kgeval.models.families.hypercomplex import QuatE
from kgeval.models.families.networks import ERMLP, ERMLPE, NTN, CrossE, ProjE, Transformer
from kgeval.models.families.projections import TransD, TransH, TransR
from kgeval.models.families.regions import KG2E, BoxE
from kgeval.models.families.translations import SE, LineaRE, MuRE, PairRE, TorusE, TransE, TransF
from kgeval.models.family import Family
from kgeval.models.ordered import ACTIVATIONS, Activation


def family_of(parts: PyKEENModel, name: str) -> Family:
    """Make the family of a model whose interaction has this name."""
    if name not in FAMILIES:
        model = parts.model.class_name
        described = model if model == name else f"{model} ({name})"
        raise NoFormula(f"kgeval has no formula for PyKEEN's {described} yet; it has {', '.join(sorted(FAMILIES))}.")
    return FAMILIES[name](parts)


def _autosf(parts: PyKEENModel) -> Family:
    """Each block is a representation; coefficients are whole numbers."""
    stored = parts.interaction.state["coefficients"]
    coefficients = tuple((int(head), int(relation), int(tail), int(sign)) for head, relation, tail, sign in stored)
    entities = 1 + max(max(head, tail) for head, _, tail, _ in coefficients)
    relations = 1 + max(relation for _, relation, _, _ in coefficients)
    entity, relation = side_by_side(parts.entity, entities), side_by_side(parts.relation, relations)
    return AutoSF(entity, relation, coefficients=coefficients, width=entity.shape[1] // entities)


def _boxe(parts: PyKEENModel) -> Family:
    """Boxes are stored as a base, a shape and a size, for heads and for tails."""
    mapped = truth_value("interaction", "tanh_map", parts.interaction.state.get("tanh_map", True))
    norm = norm_of(parts, 2)
    if norm == 2 and parts.interaction.state.get("power_norm"):
        raise NoFormula("its two distances are squared before they are added (power_norm).")
    tables = [_finite(parts, index) for index in range(6)]
    bounds = [bound for first in (0, 3) for bound in _box(*tables[first : first + 3])]
    relation = np.concatenate([np.tanh(bound) if mapped else bound for bound in bounds], axis=1)
    return BoxE(side_by_side(parts.entity), relation, norm=norm, tanh=mapped)


def _finite(parts: PyKEENModel, index: int) -> FloatArray:
    """Take a relation representation, and refuse infinite numbers here: a tanh would hide them."""
    table = parts.relation(index)
    return check_shape(f"relation_representations.{index}", table, *table.shape, least=-np.inf)


def _box(base: FloatArray, shape: FloatArray, size: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Find the bounds of boxes whose shapes are scaled to a geometric mean of 1, and then by elu(size) + 1."""
    epsilon = np.finfo(shape.dtype).eps
    widths, sizes = np.asarray(shape, np.float64), np.asarray(size, np.float64)
    means = np.exp(np.log(np.maximum(np.abs(widths), epsilon)).mean(axis=1, keepdims=True))
    halves = 0.5 * np.where(sizes > 0, sizes + 1, np.exp(sizes)) * widths / np.maximum(means, epsilon)
    return np.minimum(base - halves, base + halves), np.maximum(base - halves, base + halves)


def _clamped(parts: PyKEENModel) -> Family:
    base = parts.interaction.child("base")
    limits = parts.interaction.state.get("clamp_score")
    if base is None or base.class_name != "SimplEInteraction":
        raise NoFormula("it clamps the scores of another interaction than SimplE.")
    if limits is None:
        return _simple(parts)
    low, high = (end if limit is None else float(limit) for end, limit in zip((-np.inf, np.inf), limits, strict=True))
    return ClampedDistMult(side_by_side(parts.entity), _halved(parts), low=low, high=high)


def _complex(parts: PyKEENModel) -> Family:
    if parts.interaction.class_name == "ComplEx":
        raise NoFormula("it is a ComplEx from before PyKEEN's interaction modules, whose layout kgeval does not read.")
    return ComplEx(from_interleaved(parts.entity()), from_interleaved(parts.relation()))


def _conve(parts: PyKEENModel) -> Family:
    shape = getattr(parts.interaction.state.get("shape_info"), "state", {})
    layers, after = ({layer.class_name: layer for layer in _layers(parts.interaction, at)} for at in ("hr2d", "hr1d"))
    norms = [layer for layer in _layers(parts.interaction, "hr2d") if layer.class_name == "BatchNorm2d"]
    convolution, linear = layers.get("Conv2d"), after.get("Linear")
    if convolution is None or linear is None or len(norms) not in (0, 2):
        raise CheckpointError("its convolution or its linear layer is missing.")
    entity = parts.entity()
    kernel = convolution.take("weight", None, None, None, None)
    channels, width = len(kernel), entity.shape[1]
    network = folded_layers(
        kernel,
        linear.take("weight", width, None),
        kernel_bias=convolution.find("bias", channels),
        dense_bias=linear.find("bias", width),
        before=_folded(norms[0], kernel.shape[1]) if norms else None,
        within=_folded(norms[1], channels) if norms else None,
        after=_folded(after["BatchNorm1d"], width) if "BatchNorm1d" in after else None,
    )
    return ConvE(entity, parts.relation(), **network, tail_bias=parts.bias(1), height=int(shape["image_height"]))


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
    return ERMLPE(parts.entity(), parts.relation(), hidden, hidden_bias, dense, dense_bias)


def _normalised(parts: PyKEENModel, first: int) -> tuple[Float64Array, Float64Array]:
    """Fold the batch normalisation after a linear layer into its weights, float64[in, out], and its bias."""
    linear = _part(parts, f"mlp.{first}")
    bias = np.asarray(linear.take("bias", None), np.float64)
    scale, shift = _folded(_part(parts, f"mlp.{first + 2}"), len(bias))
    weight = np.asarray(linear.take("weight", len(bias), None), np.float64)
    return np.ascontiguousarray((weight * scale[:, None]).T), bias * scale + shift


def _kg2e(parts: PyKEENModel) -> Family:
    """Its measure is a module without parameters or, for a state dictionary, an option of the user."""
    module = parts.interaction.child("similarity")
    kind: Any = parts.interaction.state.get("similarity") if module is None else module.class_name
    measure = MEASURES.get(kind, kind)
    if measure not in ("kl", "el"):
        raise NoFormula(f"it compares distributions by {kind}, which kgeval does not compute.")
    return KG2E(side_by_side(parts.entity), side_by_side(parts.relation), measure=measure)


MEASURES = {"NegativeKullbackLeiblerDivergence": "kl", "ExpectedLikelihood": "el"}
"""PyKEEN's classes that compare distributions, and PyKEEN's short name of each"""


def _multilinear_tucker(parts: PyKEENModel) -> Family:
    heads, tails = parts.entity(0), parts.entity(1)
    core = parts.interaction.take("core_tensor", heads.shape[1], None, tails.shape[1])
    return MultiLinearTucker(np.concatenate([heads, tails], axis=1), parts.relation(), core=core)


def _mure(parts: PyKEENModel) -> Family:
    if parts.interaction.state.get("p") != 2 or parts.interaction.state.get("power_norm") is not True:
        raise NoFormula("its distance is not the squared Euclidean one.")
    relations = parts.relations("relation", "diagonal")
    return MuRE(parts.entity(), **relations, head_bias=parts.bias(1), tail_bias=parts.bias(2))


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


def _simple(parts: PyKEENModel) -> Family:
    """Since version 1.8, PyKEEN's SimplE is the mean of two DistMults; before, it followed the paper."""
    if parts.model.child("tail_entity_embeddings") is not None:
        if parts.interaction.state.get("clamp_score") is not None:
            raise NoFormula("its scores are clamped, in a layout from before PyKEEN's interaction modules.")
        return SimplE(side_by_side(parts.entity), side_by_side(parts.relation))
    return DistMult(side_by_side(parts.entity), _halved(parts))


def _halved(parts: PyKEENModel) -> Float64Array:
    return np.asarray(side_by_side(parts.relation), np.float64) / 2


def _transd(parts: PyKEENModel) -> Family:
    """Projected entities longer than 1 are shortened to 1, by the Euclidean norm."""
    if norm_of(parts, 2) != 2:
        raise NoFormula("its distance is the norm of p = 1, and its projections are shortened by that of p = 2.")
    relations = parts.relations("relation", "relation_transfer")
    return TransD(parts.entity(), **relations, entity_transfer=parts.entity(1), norm=2, normalization="max_norm")


def _transformer(parts: PyKEENModel) -> Family:
    """The layers of the encoder have arrays of the same names and shapes, which are stacked."""
    layers = _layers(_part(parts, "transformer"), "layers")
    if not layers or any(layer.state.get("norm_first") for layer in layers):
        raise NoFormula("its encoder has no layers, or normalises before them (norm_first).")

    def stacked(name: str) -> Float64Array:
        return np.stack([_transposed(layer, name) for layer in layers])

    stored = {"attention": "self_attn.in_proj_", "joined": "self_attn.out_proj."}
    stored |= {"hidden": "linear1.", "dense": "linear2."}
    weights = {f"{name}{end}": stacked(f"{at}{kind}") for name, at in stored.items() for end, kind in KINDS.items()}
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
"""the arrays of a linear layer: the ending of kgeval's name, and the ending of PyTorch's name"""


def _transposed(module: Module, name: str) -> FloatArray:
    """Take an array of a module or of a child: a bias, or a weight as [in, out]."""
    path, _, last = name.rpartition(".")
    holder = module.child(path) if path else module
    array = None if holder is None else holder.array(last)
    if array is None or array.dtype.kind != "f":
        raise CheckpointError(f"its layer {name} is missing.")
    return np.ascontiguousarray(array.T)


def _transh(parts: PyKEENModel) -> Family:
    return TransH(parts.entity(), **parts.relations("normal", "relation"), norm=norm_of(parts, 2), normalization="none")


def _transr(parts: PyKEENModel) -> Family:
    """Projected entities whose norm is above 1 are shortened to 1, by the norm of the distance."""
    if parts.interaction.state.get("max_projection_norm") != 1.0:
        raise NoFormula("its projections are shortened to another norm than 1.")
    relations = parts.relations("relation", "projection")
    return TransR(parts.entity(), **relations, norm=norm_of(parts, 2), normalization="max_norm")


def _triplere(parts: PyKEENModel) -> Family:
    """A number u is added to the vectors that stretch heads and tails."""
    added = parts.interaction.state.get("u")
    forward, between, backward = (np.asarray(parts.relation(index), np.float64) for index in range(3))
    stretch = 0.0 if added is None else float(added)
    thirds = np.concatenate([forward + stretch, between, backward + stretch], axis=1)
    return LineaRE(parts.entity(), thirds, norm=norm_of(parts, 1))


def _tucker(parts: PyKEENModel) -> Family:
    entity, relation = parts.entity(), parts.relation()
    width = entity.shape[1]
    core = parts.interaction.take("core_tensor", width, relation.shape[1], width)
    before = parts.interaction.child("head_batch_norm", "bn_0")
    after = parts.interaction.child("head_relation_batch_norm", "bn_1")
    if before is None and after is None:
        return TuckER(entity, relation, core)
    if before is None or after is None:
        raise CheckpointError("one of its two batch normalisations is missing.")
    return TuckER(entity, relation, core, *_folded(before, width), *_folded(after, width))


def _um(parts: PyKEENModel) -> Family:
    """A TransE whose relations are zero."""
    entity = parts.entity()
    return TransE(entity, np.zeros((parts.num_relations, entity.shape[1]), entity.dtype), norm=norm_of(parts, 2))


def side_by_side(table: Callable[[int], FloatArray], count: int = 2) -> FloatArray:
    """Put the first ``count`` representations side by side; ``table`` returns one of entities or relations by index."""
    return joined({f"representation {index}": table(index) for index in range(count)})


def norm_of(parts: PyKEENModel, default: Any) -> Literal[1, 2]:
    """Return the p of a distance's norm; the power of the distance (``power_norm``) ranks as the distance does."""
    truth_value("interaction", "power_norm", parts.interaction.state.get("power_norm"))
    norm = parts.interaction.state.get("p", default)
    if norm not in (1, 2) or isinstance(norm, bool):
        raise NoFormula(f"its distance is the norm of p = {norm}; kgeval has 1 and 2.")
    return 1 if norm == 1 else 2


def from_interleaved(array: FloatArray, parts: int = 2) -> FloatArray:
    """Turn rows [re, im, re, im, …] into halves [re | im]; numbers of more ``parts`` become as many blocks.

    >>> from_interleaved(np.array([[1, 10, 2, 20]]))
    array([[ 1,  2, 10, 20]])
    """
    return np.concatenate([array[:, part::parts] for part in range(parts)], axis=1)


def _part(parts: PyKEENModel, name: str) -> Module:
    layer = parts.interaction.child(name)
    if layer is None:
        raise CheckpointError(f"its layer {name} is missing.")
    return layer


def _layers(module: Module, name: str) -> list[Module]:
    sequence = module.child(name)
    names = [] if sequence is None else list(sequence.state["_modules"])
    return [layer for index in names if (layer := module.child(f"{name}.{index}"))]


def _activation(parts: PyKEENModel, name: str) -> Activation:
    """Return the activation function, from its class or, for a state dictionary, from the user's option."""
    layer: Any = parts.interaction.child(name)
    kind = parts.interaction.state.get(name) if layer is None else layer.class_name.lower()
    for known in ACTIVATIONS:
        if kind == known:
            return known
    raise NoFormula(f"its {name} is {kind}; kgeval has {', '.join(ACTIVATIONS)}.")


def _folded(module: Module, width: int) -> Affine:
    """Fold a batch normalisation into a scale and a shift."""
    if module.is_without("running_mean"):
        raise NoFormula("its batch normalisation keeps no running statistics, so its scores depend on the batch.")
    return fold_batch_norm(module, width, affine=not module.is_without("weight"), epsilon=module.state["eps"])


FAMILIES: dict[str, Callable[[PyKEENModel], Family]] = {
    "AutoSF": _autosf,
    "BoxE": _boxe,
    "CP": lambda parts: CP(side_by_side(parts.entity), parts.relation()),
    "Clamped": _clamped,
    "ComplEx": _complex,
    "ConvE": _conve,
    "ConvKB": _convkb,
    "CrossE": _crosse,
    "DistMA": lambda parts: DistMA(parts.entity(), parts.relation()),
    "DistMult": lambda parts: DistMult(parts.entity(), parts.relation()),
    "ERMLP": _ermlp,
    "ERMLPE": _ermlpe,
    "HolE": lambda parts: HolE(parts.entity(), parts.relation()),
    "KG2E": _kg2e,
    "LineaRE": lambda parts: LineaRE(parts.entity(), side_by_side(parts.relation, 3), norm=norm_of(parts, 1)),
    "MuRE": _mure,
    "MultiLinearTucker": _multilinear_tucker,
    "NTN": _ntn,
    "PairRE": lambda parts: PairRE(parts.entity(), side_by_side(parts.relation), norm=norm_of(parts, 1)),
    "ProjE": _proje,
    # Quaternions lie one after the other, and PyKEEN's score is negative.
    "QuatE": lambda parts: QuatE(from_interleaved(parts.entity(), 4), -from_interleaved(parts.relation(), 4)),
    "RESCAL": lambda parts: RESCAL(parts.entity(), parts.relation()),
    # Relations that are no rotations are read too: PyKEEN turns back by conj(r) as well.
    # PyKEEN's interaction takes a p and a power_norm, and computes with neither.
    "RotatE": lambda parts: RotatE(from_interleaved(parts.entity()), from_interleaved(parts.relation()), norm=2),
    "SE": lambda parts: SE(parts.entity(), parts.relation(0), norm_of(parts, 2), parts.relation(1)),
    "SimplE": _simple,
    "TorusE": lambda parts: TorusE(parts.entity(), parts.relation(), norm=norm_of(parts, 2)),
    "TransD": _transd,
    "TransE": lambda parts: TransE(
        parts.entity(), parts.relation(), norm_of(parts, parts.interaction.state.get("scoring_fct_norm"))
    ),
    "TransF": lambda parts: TransF(parts.entity(), parts.relation()),
    "TransH": _transh,
    "TransR": _transr,
    "Transformer": _transformer,
    "TripleRE": _triplere,
    "TuckER": _tucker,
    "UM": _um,
}
