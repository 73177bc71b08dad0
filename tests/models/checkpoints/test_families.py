"""The formulas of the model families, against complex numbers and loops."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import pytest
from scipy.integrate import trapezoid
from typing_extensions import TypeAliasType

from kgeval.base.errors import CheckpointError
from kgeval.data.queries import Queries
from kgeval.data.triples import Triples
from kgeval.models.families.bilinear import RESCAL
from kgeval.models.family import families, family
from kgeval.models.mapped import Reciprocal
from tests.models.checkpoints.conftest import ENTITIES, OPTIONS, arrays_of

EVERYONE = np.arange(len(ENTITIES))

BIGGRAPH = {"operator": "diagonal", "comparator": "dot", "operand": "head", "bias": False}

TEMPORAL: dict[str, dict] = {"TComplEx": {}, "TNTComplEx": {}}
"""those that score facts at a time, which a static graph has not"""

CASES = {
    **{name: (name, options) for name, options in TEMPORAL.items()},
    **{name: (name, OPTIONS[name]) for name in OPTIONS if name not in {"RotatE", "BigGraph"}},
    "RotatE-1": ("RotatE", {"norm": 1}),
    "RotatE-2": ("RotatE", {"norm": 2}),
    "RotatE-phases": ("RotatE", {"norm": 1}),
    "TransE-1": ("TransE", {"norm": 1}),
    "Keci-across": ("Keci", {"p": 2}),
    **{f"Keci-{p}": ("Keci", {"p": p}) for p in (0, 2, 3)},
    "ConvE-channels": ("ConvE", {"height": 1}),
    "ERMLP-tanh": ("ERMLP", {"activation": "tanh"}),
    "KG2E-el": ("KG2E", {"measure": "el"}),
    "NTN-sigmoid": ("NTN", {"activation": "sigmoid"}),
    "TorusE-1": ("TorusE", {"norm": 1}),
    "AConEx-triple": ("AConEx", {"by_triple": True}),
    "BoxE-plain": ("BoxE", {"norm": 1, "tanh": False}),
    "LineaRE-2": ("LineaRE", {"norm": 2}),
    "PairRE-2": ("PairRE", {"norm": 2}),
    "SE-1": ("SE", {"norm": 1}),
    "TransD-free": ("TransD", {"norm": 2, "normalization": "none"}),
    "TransR-1": ("TransR", {"norm": 1, "normalization": "max_norm"}),
    "TransH-unit": ("TransH", {"norm": 1, "normalization": "unit"}),
    **{
        f"BigGraph-{operator}-{comparator}-{operand}{'-bias' if bias else ''}": (
            "BigGraph",
            {"operator": operator, "comparator": comparator, "operand": operand, "bias": bias},
        )
        for operator in ("none", "diagonal", "translation", "complex_diagonal", "linear", "affine")
        for comparator in ("dot", "cos", "l2", "squared_l2")
        for operand, bias in (("head", False), ("tail", True))
    },
    **{
        f"BigGraph-each-{operand}": ("BigGraph", {**BIGGRAPH, "operator": operators, "operand": operand})
        for operand in ("head", "tail")
        for operators in [("affine", "none", "complex_diagonal") * 2]
    },
}


def case(name, *, relations=3):
    """A model in float64."""
    model, options = CASES[name]
    arrays = arrays_of(model, relations=relations, dtype=np.float64)
    if name == "Keci-across":
        rng = np.random.default_rng(2)
        shapes = {"entity": (len(ENTITIES), 5), "relation": (relations, 5), "coefficients": (4,)}
        arrays = {key: rng.normal(size=shape) for key, shape in shapes.items()}
    if name == "ConvE-channels":
        arrays["kernel"], arrays["dense"] = (
            np.random.default_rng(3).normal(size=(*shape,)) for shape in ((3, 2, 2, 1), (6, 4))
        )
    if model == "BoxE":
        lows = arrays["relation"].reshape(-1, 2, 2, 2)
        lows[:, :, 1] = lows[:, :, 0] + np.abs(lows[:, :, 1])  # boxes have widths that are no less than zero
    if model == "BigGraph":
        operator, width = options["operator"], {"linear": 16, "affine": 20}
        widest = 20 if isinstance(operator, tuple) else width.get(operator, 4)
        arrays["relation"] = np.random.default_rng(1).normal(size=(relations, widest))
        options = options if isinstance(operator, str) else {**options, "operator": operator[:relations]}
    if "phases" in name:
        arrays["relation"] = np.arctan2(arrays["relation"][:, 2:], arrays["relation"][:, :2])
    return family(model).build(arrays, options)


def complexes(vector):
    return vector[: len(vector) // 2] + 1j * vector[len(vector) // 2 :]


def operated(operator, vector, parameters):
    """PyTorch-BigGraph's operators, as its paper lists them."""
    width = len(vector)
    if operator == "diagonal":
        return np.diag(parameters[:width]) @ vector
    if operator == "translation":
        return vector + parameters[:width]
    if operator == "complex_diagonal":
        product = complexes(vector) * complexes(parameters[:width])
        return np.concatenate([product.real, product.imag])
    if operator in {"linear", "affine"}:
        matrix = parameters[: width**2].reshape(width, width)
        return matrix @ vector + (parameters[width**2 :] if operator == "affine" else 0)
    return vector


def biggraph(model, h, r, t, ids):
    operator = model.operator if isinstance(model.operator, str) else model.operator[ids[1]]
    h, t = (operated(operator, h, r), t) if model.operand == "head" else (h, operated(operator, t, r))
    bias = 0
    if model.bias:
        bias, h, t = h[0] + t[0], h[1:], t[1:]
    compared = {
        "dot": h @ t,
        "cos": h @ t / np.linalg.norm(h) / np.linalg.norm(t),
        "l2": -np.linalg.norm(h - t),
        "squared_l2": -(np.linalg.norm(h - t) ** 2),
    }
    return compared[model.comparator] + bias


def translated(model, project, r):
    """TransH, TransR and TransD: a distance between projections."""

    def shortened(vector):
        if model.normalization == "unit":
            return vector / np.linalg.norm(vector)
        return vector / max(np.linalg.norm(vector, model.norm), 1) if model.normalization == "max_norm" else vector

    return -np.linalg.norm(shortened(project("head")) + r - shortened(project("tail")), model.norm)


def conve(model, head, relation, tail):
    """With PyTorch's own convolution."""
    import torch

    kernel = torch.from_numpy(model.kernel if model.kernel.ndim == 4 else model.kernel[:, None])
    shape = (kernel.shape[1], model.height, -1)
    image = np.concatenate([model.entity[head].reshape(shape), model.relation[relation].reshape(shape)], axis=1)
    convolved = torch.nn.functional.conv2d(torch.from_numpy(image)[None], kernel, torch.from_numpy(model.kernel_bias))
    hidden = np.maximum(np.maximum(convolved.numpy().ravel(), 0) @ model.dense + model.dense_bias, 0)
    return hidden @ model.entity[tail] + model.tail_bias[tail]


def conex(model, h, r):
    """With PyTorch's own convolution, which puts zeros around the image; as many rows as vectors are made."""
    import torch

    image = torch.from_numpy(np.concatenate([h, r]).reshape(1, 1, 4, 2))
    kernel, bias = torch.from_numpy(model.kernel)[:, None], torch.from_numpy(model.kernel_bias)
    features = torch.nn.functional.conv2d(image, kernel, bias, padding=1).relu().numpy().ravel()
    return np.maximum(features @ model.dense + model.dense_bias, 0).reshape(-1, 2)


def aconex(model, h, r, t, _):
    a, b, c, d = conex(model, h, r)
    if model.by_triple:
        return sum(complexes(h) * complexes(r) * complexes(t).conj()).real + sum(a + b + c - d)
    return sum((complexes(h) * complexes(r) + a - d + 1j * (b + c)) * complexes(t).conj()).real


def lfmult(model, h, r, t, _):
    points = np.linspace(0, 1, 100)
    values = [np.tanh(np.outer(points, row[:2]) + row[2:]) for row in (h, r, t)]
    return trapezoid(np.prod(values, axis=0).sum(axis=1), points)


def keci(model, h, r, t, _):
    """The product of multivectors, basis by basis; parts in two different directions meet ones."""
    c, p = model.coefficients, model.p
    head, relation = (np.concatenate([x[:1], c * x[1:]]) for x in (h, r))
    total = head[0] * relation[0] * t[0]
    count = len(c) + 1
    for i in range(1, count):
        total += head[0] * relation[i] * t[i] + head[i] * relation[0] * t[i]
        total += head[i] * relation[i] * t[0] * (1 if i <= p else -1)
    mixed = p >= 2 and len(c) - p >= 2
    for i, k in itertools.combinations(range(1, count), 2):
        if mixed or (i <= p) == (k <= p):
            total += head[i] * relation[k] - head[k] * relation[i]
    return total


def boxe(model, h, r, t, _):
    """The distances of its paper, one dimension after the other."""
    mapped = np.tanh if model.tanh else float
    scores = []
    for place, bump, lows, highs in ((h[:2], t[2:], r[:2], r[2:4]), (t[:2], h[2:], r[4:6], r[6:])):
        terms = []
        for k in (0, 1):
            point, width, centre = mapped(place[k] + bump[k]), highs[k] - lows[k], (lows[k] + highs[k]) / 2
            kappa = width / 2 * (width + 1 - 1 / (width + 1))
            inside = lows[k] <= point <= highs[k]
            terms.append(abs(point - centre) / (width + 1) if inside else abs(point - centre) * (width + 1) - kappa)
        scores.append(-np.linalg.norm(terms, model.norm))
    return sum(scores)


def quaternion(vector, k):
    """The matrix of the multiplication by a quaternion from the left."""
    a, b, c, d = vector.reshape(4, -1)[:, k]
    return np.array([[a, -b, -c, -d], [b, a, -d, c], [c, d, a, -b], [d, -c, b, a]])


def by_definition(model, head, relation, tail):
    """The score of one triple, the way its paper writes it."""
    h, r, t = model.entity[head], model.relation[relation], model.entity[tail]
    return DEFINITIONS[model.name](model, h, r, t, (head, relation, tail))


def tucker(model, h, r, t, _):
    product = np.einsum("i,ijk,j->k", model.head_scale * h, model.core, r) + model.product_shift
    return sum(product * t)


def mure(model, h, r, t, ids):
    distance = np.linalg.norm(model.diagonal[ids[1]] * h + r - t)
    return -(distance**2) + model.head_bias[ids[0]] + model.tail_bias[ids[2]]


def lineare(model, h, r, t, _):
    stretched, added, other = r.reshape(3, 4)
    return -np.linalg.norm(np.diag(stretched) @ h + added - np.diag(other) @ t, model.norm)


def se(model, h, r, t, ids):
    return -np.linalg.norm(r.reshape(3, 4) @ h - model.tail_relation[ids[1]].reshape(3, 4) @ t, model.norm)


def transd(model, h, r, t, ids):
    matrices = {
        side: np.outer(model.relation_transfer[ids[1]], model.entity_transfer[entity]) + np.eye(3, 4)
        for side, entity in (("head", ids[0]), ("tail", ids[2]))
    }
    return translated(model, lambda side: matrices[side] @ (h if side == "head" else t), r)


def transh(model, h, r, t, ids):
    normal = model.normal[ids[1]]
    return translated(model, lambda side: (np.eye(4) - np.outer(normal, normal)) @ (h if side == "head" else t), r)


def transr(model, h, r, t, ids):
    matrix = model.projection[ids[1]].reshape(4, 3)
    return translated(model, lambda side: (h if side == "head" else t) @ matrix, r)


ACTS = {"relu": lambda x: np.maximum(x, 0), "tanh": np.tanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x))}


def autosf(model, h, r, t, _):
    h, r, t = (vector.reshape(-1, model.width) for vector in (h, r, t))
    return sum(sign * sum(h[i] * r[j] * t[k]) for i, j, k, sign in model.coefficients)


def convkb(model, h, r, t, _):
    """Filter by filter over the columns [h | r | t], as its paper draws it."""
    features = [
        np.maximum(np.stack([h, r, t], axis=1) @ weights + bias, 0)
        for weights, bias in zip(model.kernel, model.kernel_bias, strict=True)
    ]
    return np.concatenate(features) @ model.output.ravel() + model.output_bias[0]


def crosse(model, h, r, t, ids):
    crossed = model.interaction[ids[1]] * h
    return ACTS[model.activation](crossed + crossed * r + model.bias) @ t


def ermlp(model, h, r, t, _):
    hidden = ACTS[model.activation](np.concatenate([h, r, t]) @ model.hidden + model.hidden_bias)
    return hidden @ model.output + model.output_bias[0]


def ermlpe(model, h, r, t, _):
    hidden = np.maximum(np.concatenate([h, r]) @ model.hidden + model.hidden_bias, 0)
    return np.maximum(hidden @ model.dense + model.dense_bias, 0) @ t


def kg2e(model, h, r, t, _):
    """With the formulas of multivariate Gaussians."""
    (h, s_h), (r, s_r), (t, s_t) = (np.split(vector, 2) for vector in (h, r, t))
    apart, between = h - t - r, np.diag(s_h + s_t)
    if model.measure == "el":
        joint = between + np.diag(s_r)
        return apart @ np.linalg.inv(joint) @ apart + np.linalg.slogdet(joint)[1]
    inverse = np.linalg.inv(np.diag(s_r))
    logarithms = np.linalg.slogdet(np.diag(s_r))[1] - np.linalg.slogdet(between)[1]
    return -(np.trace(inverse @ between) + apart @ inverse @ apart - len(h) + logarithms) / 2


def ntn(model, h, r, t, ids):
    matrices = r.reshape(2, 4, 4)
    v, w = (weight[ids[1]].reshape(2, 4) for weight in (model.head_weight, model.tail_weight))
    hidden = np.array([h @ matrix @ t for matrix in matrices]) + v @ h + w @ t + model.slice_bias[ids[1]]
    return model.slice_output[ids[1]] @ ACTS[model.activation](hidden)


def proje(model, h, r, t, _):
    combined = np.diag(model.head_scale) @ h + np.diag(model.relation_scale) @ r + model.bias
    return ACTS[model.activation](combined) @ t + model.score_bias[0]


def toruse(model, h, r, t, _):
    """The distance to the nearest of the points that whole turns lead to."""
    turns = np.arange(-20, 21)[:, None]
    return -np.linalg.norm(np.abs(h + r - t + turns).min(axis=0), model.norm)


def transformer(model, h, r, t, _):
    """One layer, head by head."""

    def normed(x, which):
        centred = x - x.mean(axis=1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
        return scaled * model.norm_scale[0, which] + model.norm_shift[0, which]

    x = np.stack([h, r]) + model.position
    queries, keys, values = np.split(x @ model.attention[0] + model.attention_bias[0], 3, axis=1)
    attended = []
    for part in np.split(np.arange(4), model.heads):
        weights = np.exp(queries[:, part] @ keys[:, part].T / np.sqrt(len(part)))
        attended.append(weights / weights.sum(axis=1, keepdims=True) @ values[:, part])
    x = normed(x + np.concatenate(attended, axis=1) @ model.joined[0] + model.joined_bias[0], 0)
    hidden = np.maximum(x @ model.hidden[0] + model.hidden_bias[0], 0)
    x = normed(x + hidden @ model.dense[0] + model.dense_bias[0], 1)
    return (x.sum(axis=0) @ model.final + model.final_bias) @ t


def time_of(relation):
    """The time at which each relation is asked for here, and its inverse too."""
    return relation % 3 % 2


def tcomplex(model, h, r, t, ids, timeless=0):
    product = complexes(r) * complexes(model.time[time_of(ids[1])]) + timeless
    return sum(complexes(h) * product * complexes(t).conj()).real


def rotate(model, h, r, t, _):
    rotation = np.exp(1j * r) if len(r) == 2 else complexes(r)
    return -np.linalg.norm(complexes(h) * rotation - complexes(t), model.norm)


DEFINITIONS = {
    "AutoSF": autosf,
    "AConEx": aconex,
    "BigGraph": biggraph,
    "BoxE": boxe,
    "CP": lambda _, h, r, t, __: sum(h[:2] * r * t[2:]),
    "ClampedDistMult": lambda model, h, r, t, _: min(max(sum(h * r * t), model.low), model.high),
    "ComplEx": lambda _, h, r, t, __: sum(complexes(h) * complexes(r) * complexes(t).conj()).real,
    "ConEx": lambda model, h, r, t, _: (
        sum(complexes(conex(model, h, r).ravel() * h) * complexes(r) * complexes(t).conj()).real
    ),
    "ConvE": lambda model, _, __, ___, ids: conve(model, *ids),
    "ConvKB": convkb,
    "CrossE": crosse,
    "DistMA": lambda _, h, r, t, __: h @ r + r @ t + h @ t,
    "DistMult": lambda _, h, r, t, __: sum(h * r * t),
    "MariusTransE": lambda _, h, r, t, __: np.linalg.norm(h + r - t) ** 2,
    "ERMLP": ermlp,
    "ERMLPE": ermlpe,
    "HolE": lambda _, h, r, t, __: np.fft.ifft(np.fft.fft(h).conj() * np.fft.fft(t)).real @ r,
    "KG2E": kg2e,
    "Keci": keci,
    "LFMult": lfmult,
    "LineaRE": lineare,
    "MuRE": mure,
    "MultiLinearTucker": lambda model, h, r, t, _: np.einsum("ijk,i,j,k", model.core, h[:1], r, t[1:]),
    "NTN": ntn,
    "PairRE": lambda model, h, r, t, _: -np.linalg.norm(h * r[:4] - t * r[4:], model.norm),
    "ProjE": proje,
    "QuatE": lambda _, h, r, t, __: sum((quaternion(h, 0) @ r.reshape(4, -1)[:, 0]) * t.reshape(4, -1)[:, 0]),
    "RESCAL": lambda _, h, r, t, __: h @ r.reshape(4, 4) @ t,
    "RotatE": rotate,
    "SE": se,
    "SimplE": lambda _, h, r, t, __: (sum(h[:2] * r[:2] * t[2:]) + sum(t[:2] * r[2:] * h[2:])) / 2,
    "TComplEx": tcomplex,
    "TNTComplEx": lambda model, h, r, t, ids: tcomplex(model, h, r, t, ids, complexes(model.timeless[ids[1]])),
    "TorusE": toruse,
    "TransD": transd,
    "TransE": lambda model, h, r, t, _: -np.linalg.norm(h + r - t, model.norm),
    "TransF": lambda _, h, r, t, __: (h + r) @ t + h @ (t - r),
    "TransH": transh,
    "TransR": transr,
    "Transformer": transformer,
    "TuckER": tucker,
    "pRotatE": lambda _, h, r, t, __: -sum(abs(np.sin(h + r - t))),
}


def queries_of(rows, side):
    """The queries of triples; those that know no times leave theirs aside."""
    triples = Triples.of(rows)
    return Queries.of(Triples(triples.ids, time_of(triples.relations)), side)


def all_scores(model, side, relations=3):
    """What the model says about every entity in the place of one side of every pair."""
    anchors = [(entity, relation) for relation in range(relations) for entity in EVERYONE]
    rows = [(a, r, 0) if side == "tail" else (0, r, a) for a, r in anchors]
    queries = queries_of(rows, side)
    scores = model.scores(queries, EVERYONE)
    return {(a, r): row for a, r, row in zip(queries.anchors, queries.relations, scores, strict=True)}


@pytest.mark.parametrize("side", ["head", "tail"])
@pytest.mark.parametrize("name", CASES)
def test_scores_are_those_of_the_definition(name, side):
    model = case(name)
    for (anchor, relation), scores in all_scores(model, side).items():
        ends = [(anchor, other) if side == "tail" else (other, anchor) for other in EVERYONE]
        expected = [by_definition(model, head, relation, tail) for head, tail in ends]
        assert scores == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_a_reciprocal_model_asks_for_heads_as_tails_of_the_inverse(name):
    model = case(name, relations=6)
    for (anchor, relation), scores in all_scores(Reciprocal(model), "head").items():
        expected = [by_definition(model, anchor, relation + 3, other) for other in EVERYONE]
        assert scores == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_the_matrices_of_a_rescal_may_be_a_cube():
    model = case("RESCAL")
    cube = RESCAL(model.entity, model.relation.reshape(-1, 4, 4))
    expected = np.einsum("hi,rij,tj->rht", model.entity, model.relation.reshape(-1, 4, 4), model.entity)
    for (anchor, relation), scores in all_scores(cube, "tail").items():
        assert scores == pytest.approx(expected[relation, anchor], rel=1e-12)
    with pytest.raises(CheckpointError, match=r"\(3, 2, 4\), .* expected \[relation, 4, 4\] or \[relation, 16\]"):
        RESCAL(model.entity, model.relation.reshape(-1, 2, 8)[:, :, :4])


def test_a_reciprocal_model_has_half_as_many_relations():
    assert Reciprocal(case("DistMult", relations=6)).num_relations == 3


def test_a_head_query_of_a_reciprocal_model_knows_no_forward_relation():
    model = case("DistMult", relations=6)
    model.relation[:3] = np.nan
    assert not any(np.isnan(scores).any() for scores in all_scores(Reciprocal(model), "head").values())


@pytest.mark.parametrize("name", CASES)
def test_stored_precision_is_exact_in_the_scores(name):
    """float32 parameters give what the same numbers in float64 give."""
    model = case(name)
    arrays = {key: array.astype(np.float32) for key, array in model.arrays.items()}
    narrow = model.build(arrays, model.options)
    wide = model.build({key: array.astype(np.float64) for key, array in arrays.items()}, model.options)
    mine, theirs = (np.stack(list(all_scores(built, "tail").values())) for built in (narrow, wide))
    assert np.array_equal(mine, theirs)


def test_every_family_is_tested_here():
    assert (
        families().keys() == (OPTIONS | TEMPORAL).keys() == {model for model, _ in CASES.values()} == DEFINITIONS.keys()
    )


@pytest.mark.parametrize("side", ["head", "tail"])
@pytest.mark.parametrize("name", CASES)
def test_a_score_is_a_function_of_its_pair_alone(name, side):
    """Alone, in company, in another order: to the last bit."""
    model = case(name)
    together = all_scores(model, side)
    for (anchor, relation), scores in together.items():
        row = (anchor, relation, 0) if side == "tail" else (0, relation, anchor)
        query = queries_of([row], side)
        assert np.array_equal(model.scores(query, EVERYONE[::-1])[0], scores[::-1])
        assert model.scores(query, np.array([[3]]))[0, 0] == scores[3]


# Squares far from the origin: 10⁴ away, and 10⁻³ apart


def squared_far_away(name, options):
    rng = np.random.default_rng(5)
    entity, none = 1e4 + 1e-3 * rng.normal(size=(50, 4)), np.zeros(50)
    arrays = {"entity": entity, "relation": 1e-3 * rng.normal(size=(2, 4))}
    if name == "MuRE":
        arrays |= {"diagonal": np.ones((2, 4)), "head_bias": none, "tail_bias": none}
    return family(name).build(arrays, options)


@pytest.mark.parametrize("side", ["head", "tail"])
@pytest.mark.parametrize(
    ("name", "options"),
    [("MuRE", {}), ("BigGraph", {**BIGGRAPH, "operator": "translation", "comparator": "squared_l2"})],
)
def test_squares_of_small_distances_between_large_vectors_keep_their_order(name, options, side):
    model = squared_far_away(name, options)
    entity, relation = (
        [[Fraction(value) for value in row] for row in array.tolist()] for array in (model.entity, model.relation)
    )

    def squared(h, r, t):
        return -sum((a + b - c) ** 2 for a, b, c in zip(entity[h], relation[r], entity[t], strict=True))

    rows = [(anchor, r, 0) if side == "tail" else (0, r, anchor) for anchor in range(50) for r in range(2)]
    queries, everyone = Queries.of(Triples.of(rows), side), range(50)
    scores = model.scores(queries, np.arange(50))
    for anchor, r, row in zip(queries.anchors, queries.relations, scores, strict=True):
        exact = [squared(anchor, r, e) if side == "tail" else squared(e, r, anchor) for e in everyone]
        assert np.argsort(row).tolist() == sorted(everyone, key=exact.__getitem__)
        np.testing.assert_allclose(row, np.array(exact, float), rtol=1e-6)


def test_arrays_are_told_from_options_where_their_type_is_an_alias():
    """As ``numpy.typing.NDArray`` is from numpy 2.5 on."""
    number = TypeVar("number")
    alias = TypeAliasType("alias", np.ndarray[Any, np.dtype[number]], type_params=(number,))

    class Aliased(family("DistMult")):
        __annotations__ = {"extra": alias[np.float64], "maybe": alias[np.float32] | None, "norm": int}

    found = dataclasses.dataclass(frozen=True, eq=False)(Aliased)
    assert found.array_names() == ["entity", "relation", "extra", "maybe"]
    assert found.option_names() == ["norm"]
