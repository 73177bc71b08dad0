"""Small checkpoints in every framework's layout, written by hand: each function fills a folder, and tells a formula."""

from __future__ import annotations

import argparse
import json
import pickle
import struct
import sys
import types
from collections import defaultdict
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import pytest
from scipy.integrate import trapezoid

from kgeval import Dataset, Triples, Vocabulary

torch = pytest.importorskip("torch")

ENTITIES = ["Fox", "ant", "gnu", "bee", "eel", "cat", "dog"]
RELATIONS = ["likes", "eats", "fears"]


def table(rows, columns, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32)


E, R, INVERSE = (rows.astype(float) for rows in (table(7, 4), table(3, 4, 1), table(6, 4, 1)))
"""the vectors of entities, of relations, of relations and their inverses in most layouts; files have them as float32"""


def single(array):
    return array.astype(np.float32) if array.dtype == np.float64 else array


def tensors(**arrays):
    return {name.replace("__", "."): torch.from_numpy(single(np.array(array))) for name, array in arrays.items()}


def small_graph(name="own", *, backwards=False):
    """A graph of these labels, numbered in their order or in another one."""
    rows = np.array([(h, r, (2 * h + r) % 7) for h in range(7) for r in range(3)])
    step = -1 if backwards else 1
    splits = {"train": Triples.of(rows[:15]), "test": Triples.of(rows[15:])}
    if backwards:
        splits = {split: Triples.of((6, 2, 6) - part.ids) for split, part in splits.items()}
    labels = {"entities": Vocabulary(ENTITIES[::step]), "relations": Vocabulary(RELATIONS[::step], "relation")}
    return Dataset.build(name, splits, **labels)


# Formulas


def complexes(vector):
    real, imaginary = np.split(vector.astype(float), 2)
    return real + 1j * imaginary


def product(h, r, t):
    return (h * r * t).sum()


def trilinear(h, r, t):
    return (complexes(h) * complexes(r) * complexes(t).conj()).sum().real


def l1(h, r, t):
    return -abs(h + r - t).sum()


def l2(h, r, t):
    return -np.linalg.norm(h + r - t)


def rotation(h, phases, t):
    return -abs(complexes(h) * np.exp(1j * phases) - complexes(t)).sum()


def units(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def plain(formula, e=E, r=R):
    """A formula of a triple's three rows."""
    return lambda h, k, t, _: formula(e[h], r[k], e[t])


def two_ways(formula, row, e=E, r=INVERSE):
    """A formula that is asked for heads as for tails of the inverse relation, which has a row of its own."""

    def score(h, k, t, side):
        anchor, other = (h, t) if side == "tail" else (t, h)
        return formula(e[anchor], r[row(k, side == "head")], e[other])

    return score


def behind(k, inverse):
    return k + 3 * inverse


def in_turn(k, inverse):
    return 2 * k + inverse


# Labels


def labelled(folder, entities, relations, line, *, first=""):
    """Write label files, their ids in an order of their own."""
    for name, labels in ((entities, ENTITIES), (relations, RELATIONS)):
        lines = [line.format(id=index, label=label) + "\n" for index, label in enumerate(labels)]
        count = f"{len(labels)}\n" if first == "count" else ""
        (folder / name).write_text(count + "".join(reversed(lines)), encoding="utf-8")


def as_json(folder):
    for name, labels in (("entity", ENTITIES), ("relation", RELATIONS)):
        ids = json.dumps({label: row for row, label in enumerate(labels)})
        (folder / f"{name}_to_id.json").write_text(ids, encoding="utf-8")


def with_reverse(ending):
    return [name for label in RELATIONS for name in (label, f"{label}_{ending}")]


# Each returns (score(h, r, t, side) over ids, ids of labels or None for sorted ones, options)


def torchkge_transe(folder):
    (folder / "m.pkl").write_bytes(pickle.dumps(tensors(ent_emb__weight=E, rel_emb__weight=R)))
    return plain(l1), "sorted", {"model": "TransE", "dissimilarity_type": "L1"}


def torchkge_transr(folder):
    state = tensors(ent_emb__weight=E, rel_emb__weight=table(3, 2, 1), proj_mat__weight=table(3, 8, 2))
    torch.save(state, folder / "m.pt", _use_new_zipfile_serialization=False)
    r, p = table(3, 2, 1), table(3, 8, 2).reshape(3, 2, 4).astype(float)
    return lambda h, k, t, _: l2(p[k] @ E[h], r[k], p[k] @ E[t]), "sorted", {}


def torchkge_analogy(folder):
    parts = {
        f"{part}_{kind}_emb__weight": table(n, 2, i)
        for i, part in enumerate(("sc", "re", "im"))
        for kind, n in (("ent", 7), ("rel", 3))
    }
    torch.save(tensors(**parts), folder / "m.pt")
    e, r = (np.hstack([table(n, 2, i) for i in range(3)]).astype(float) for n in (7, 3))
    return plain(lambda h, r, t: product(h[:2], r[:2], t[:2]) + trilinear(h[2:], r[2:], t[2:]), e, r), "sorted", {}


Config = type("Config", (), {"__module__": "kge.config"})


@contextmanager
def libkges_own_class():
    """Let pickles find the class of LibKGE's configurations."""
    module = types.ModuleType("kge.config")
    module.Config = Config
    sys.modules.update({"kge": types.ModuleType("kge"), "kge.config": module})
    try:
        yield
    finally:
        del sys.modules["kge"], sys.modules["kge.config"]


def saved_by_libkge(file, settings, state, **further):
    """A configuration is an object of LibKGE's own class."""
    with libkges_own_class():
        config = Config()
        config.options = settings
        torch.save({"model": (state, None), "config": config, **further}, file)


def libkge_package(folder):
    """A reciprocal DistMult with its labels inside."""
    settings = {
        "model": "reciprocal_relations_model",
        "reciprocal_relations_model": {"base_model": {"type": "distmult"}},
        "distmult": {},
    }
    state = tensors(
        _base_model___entity_embedder___embeddings__weight=E,
        _base_model___relation_embedder___embeddings__weight=INVERSE,
    )
    meta = {"entity_ids": ENTITIES, "relation_ids": RELATIONS}
    saved_by_libkge(folder / "model_best.pt", settings, state, type="package", dataset={"meta": meta})
    return two_ways(product, behind), "given", {}


def libkge_transh(folder):
    """Labels of the dataset, the older names of tensors, normal vectors of any length."""
    state = tensors(_entity_embedder__embeddings__weight=E, _relation_embedder__embeddings__weight=table(3, 8, 1))
    settings = {"model": "transh", "transh": {"l_norm": 2.0}}
    saved_by_libkge(folder / "checkpoint_00007.pt", settings, state)
    labelled(folder, "entity_ids.del", "relation_ids.del", "{id}\t{label}")

    def score(h, r, t):
        translation, normal = np.split(r, 2)
        normal = normal / np.linalg.norm(normal)
        head, tail = (vector - (vector @ normal) * normal for vector in (h, t))
        return l2(head, translation, tail)

    return plain(score, r=table(3, 8, 1).astype(float)), "given", {}


def libkge_conve(folder):
    """Reciprocal, 2 × 2 images; column 0 of an entity is the bias of a tail."""
    torch.manual_seed(0)
    layers = {
        "convolution": torch.nn.Conv2d(1, 2, 2),
        "bn1": torch.nn.BatchNorm2d(2, affine=False),
        "projection": torch.nn.Linear(6, 4),
        "bn2": torch.nn.BatchNorm1d(4, affine=False),
    }
    for name in ("bn1", "bn2"):
        layers[name].running_mean.uniform_(0.5, 1.5)
        layers[name].running_var.uniform_(0.5, 1.5)
    prefix = "_base_model._scorer."
    state = {f"{prefix}{name}.{key}": v for name, layer in layers.items() for key, v in layer.state_dict().items()}
    for kind, rows in (("entity", table(7, 5)), ("relation", table(6, 5, 1))):
        state[f"_base_model._{kind}_embedder._embeddings.weight"] = torch.from_numpy(rows)
    settings = {
        "model": "reciprocal_relations_model",
        "reciprocal_relations_model": {"base_model": {"type": "conve"}},
        "conve": {"2D_aspect_ratio": 1, "convolution_bias": True, "stride": 1, "padding": 0},
    }
    meta = {"entity_ids": ENTITIES, "relation_ids": RELATIONS}
    saved_by_libkge(folder / "model_best.pt", settings, state, type="package", dataset={"meta": meta})
    of_images = torch.nn.Sequential(layers["convolution"], layers["bn1"], torch.nn.ReLU(), torch.nn.Flatten())
    network = torch.nn.Sequential(of_images, layers["projection"], layers["bn2"], torch.nn.ReLU()).double().eval()

    def score(h, r, t):
        image = torch.from_numpy(np.concatenate([h[1:], r[1:]]).reshape(1, 1, 4, 2))
        with torch.no_grad():
            return network(image).numpy()[0] @ t[1:] + t[0]

    return two_ways(score, behind, table(7, 5).astype(float), table(6, 5, 1).astype(float)), "given", {}


def openke_json(folder):
    """A normalised TransE in JSON."""
    content = {"ent_embeddings.weight": E.tolist(), "rel_embeddings.weight": R.tolist()}
    (folder / "transe.json").write_text(json.dumps(content), encoding="utf-8")
    labelled(folder, "entity2id.txt", "relation2id.txt", "{label}\t{id}", first="count")
    return plain(l2, units(E), units(R)), "given", {"model": "TransE", "p_norm": 2, "norm_flag": True}


def openke_transr(folder):
    """A trainer's save, whose names have a prefix; normalised after the projection."""
    state = tensors(
        model__ent_embeddings__weight=E,
        model__rel_embeddings__weight=table(3, 2, 1),
        model__transfer_matrix__weight=table(3, 8, 2),
    )
    torch.save(state, folder / "transr-9.ckpt")
    labelled(folder, "entity2id.txt", "relation2id.txt", "{label}\t{id}", first="count")
    r, p = table(3, 2, 1).astype(float), table(3, 8, 2).reshape(3, 4, 2).astype(float)
    options = {"p_norm": 1, "norm_flag": True}
    return lambda h, k, t, _: l1(*units(np.stack([E[h] @ p[k], r[k], E[t] @ p[k]]))), "given", options


def rotate_code(folder):
    state = tensors(
        entity_embedding=E,
        relation_embedding=table(3, 2, 1),
        gamma=np.float32([6]),
        embedding_range=np.float32([0.5]),
    )
    torch.save({"step": 1, "model_state_dict": state}, folder / "checkpoint")
    (folder / "config.json").write_text('{"model": "RotatE"}', encoding="utf-8")
    labelled(folder, "entities.dict", "relations.dict", "{id}\t{label}")
    return plain(rotation, r=table(3, 2, 1).astype(float) / (0.5 / np.pi)), "given", {}


def rotate_arrays(folder):
    """Without its checkpoint: the range of the embeddings is (γ + 2) / hidden_dim = 0.5, as wide as the relations."""
    told = rotate_code(folder)
    (folder / "checkpoint").unlink()
    for name, array in (("entity", E), ("relation", table(3, 2, 1))):
        np.save(folder / f"{name}_embedding.npy", single(array))
    (folder / "config.json").write_text('{"model": "RotatE", "gamma": -1.0, "hidden_dim": 2}', encoding="utf-8")
    return told


def dglke_rotate_arrays(folder):
    """Without its configuration: (γ + 2) / the width of the relations = 0.5."""
    score, ids, _ = rotate_arrays(folder)
    for name in ("entity", "relation"):
        (folder / f"{name}_embedding.npy").rename(folder / f"d_RotatE_{name}.npy")
    (folder / "config.json").unlink()
    return score, ids, {"gamma": -1.0}


def dglke_unnamed(folder):
    """Without its configuration, and files whose names do not say the model."""
    score, ids, _ = dglke_simple(folder)
    (folder / "config.json").unlink()
    for name in ("entity", "relation"):
        (folder / f"d_SimplE_{name}.npy").rename(folder / f"mine_{name}.npy")
    return score, ids, {"model": "SimplE"}


def dglke_simple(folder):
    """Labels in the other order of columns, as some published files have them."""
    np.save(folder / "d_SimplE_entity.npy", single(E))
    np.save(folder / "d_SimplE_relation.npy", single(R))
    config = {"model_name": "SimplE", "dataset": "d", "hidden_dim": 4, "gamma": 12.0}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    labelled(folder, "entities.tsv", "relations.tsv", "{label}\t{id}")
    return plain(lambda h, r, t: (product(h[:2], r[:2], t[2:]) + product(t[:2], r[2:], h[2:])) / 2), "given", {}


def kbc_cp(folder):
    torch.save(tensors(lhs__weight=E, rel__weight=INVERSE, rhs__weight=table(7, 4, 2)), folder / "m.pt")
    labelled(folder, "ent_id", "rel_id", "{label}\t{id}")
    e = np.hstack([E, table(7, 4, 2)])
    return two_ways(lambda h, r, t: product(h[:4], r, t[4:]), behind, e), "given", {}


def tucker_code(folder):
    """Its rows are those of the sorted names: eats, eats_reverse, fears, fears_reverse, likes, likes_reverse."""
    weight, bias, mean, variance = (np.abs(table(1, 4, 5 + i)[0]).astype(float) for i in range(4))
    core = table(3, 16, 2).reshape(3, 4, 4)
    statistics = {
        f"{name}__{part}": values
        for name in ("bn0", "bn1")
        for part, values in {"weight": weight, "bias": bias, "running_mean": mean, "running_var": variance}.items()
    }
    torch.save(tensors(E__weight=E, R__weight=table(6, 3, 1), W=core, **statistics), folder / "model.pt")

    def norm(x):
        return weight * (x - mean) / np.sqrt(variance + 1e-5) + bias

    def score(h, r, t):
        return norm(norm(h) @ np.einsum("k,kij->ij", r, core)) @ t

    return two_ways(score, in_turn, r=table(6, 3, 1).astype(float)), "sorted", {}


def conve_distmult(folder):
    """Two tokens come first, labels are lower-cased, a relation's inverse has a name and a row of its own."""
    torch.save(tensors(emb_e__weight=table(9, 4), emb_rel__weight=table(8, 4, 1)), folder / "d_distmult_0.2.model")
    for name, labels in (("vocab_e1", ENTITIES), ("vocab_rel", with_reverse("reverse"))):
        tokens = ["OOV", "", *(label.lower() for label in labels)]
        forward = {token: index for index, token in enumerate(tokens)}
        (folder / name).write_bytes(pickle.dumps([forward, dict(enumerate(tokens)), {}, {}], 2))
    e, r = (rows[2:].astype(float) for rows in (table(9, 4), table(8, 4, 1)))
    return two_ways(product, in_turn, e, r), "given", {}


def dicee_folder(folder, model, state, relations=RELATIONS, *, weights="model.pt", pickled=False, **config):
    """The weights, the configuration and the ids of a model."""
    torch.save(state, folder / weights)
    settings = {"model": model, "normalization": None, **config}
    (folder / "configuration.json").write_text(json.dumps(settings), encoding="utf-8")
    for kind, labels in (("entity", ENTITIES), ("relation", relations)):
        if pickled:
            (folder / f"{kind}_to_idx.p").write_bytes(pickle.dumps({label: row for row, label in enumerate(labels)}))
        else:
            rows = "".join(f"{row},{label}\n" for row, label in enumerate(labels))
            (folder / f"{kind}_to_idx.csv").write_text(f",{kind}\n{rows}", encoding="utf-8")


def dicee_keci(folder):
    """In Cl_{1,2}, with inverse relations; multivectors of two dimensions, the parts of each dimension in turn."""
    state = tensors(
        entity_embeddings__weight=table(7, 8),
        relation_embeddings__weight=table(6, 8, 1),
        p_coefficients__weight=np.float32([[0.5]]),
        q_coefficients__weight=np.float32([[2.0, -1.5]]),
    )
    dicee_folder(folder, "Keci", state, with_reverse("inverse"), pickled=True, normalization="None", p=1, q=2)

    def parts(x):
        return x[:2], x[2:4, None], x[4:].reshape(2, 2)

    def score(h, r, t):
        (h0, hp, hq), (r0, rp, rq), (t0, tp, tq) = map(parts, (h, r, t))
        hp, rp, hq, rq = 0.5 * hp, 0.5 * rp, hq * [2.0, -1.5], rq * [2.0, -1.5]
        total = (h0 * r0 + (hp * rp).sum(1) - (hq * rq).sum(1)) @ t0
        total += ((h0 * rp.T + r0 * hp.T).T * tp).sum() + ((h0 * rq.T + r0 * hq.T).T * tq).sum()
        return total + (hq[:, 0] * rq[:, 1] - hq[:, 1] * rq[:, 0]).sum()

    return two_ways(score, in_turn, table(7, 8).astype(float), table(6, 8, 1).astype(float)), "given", {}


def dicee_qmult(folder):
    """Quaternions as quarters; a relation multiplies from the right, and is not normalised. Ids in CSV files."""
    state = tensors(entity_embeddings__weight=table(7, 8), relation_embeddings__weight=table(3, 8, 1))
    dicee_folder(folder, "QMult", state)

    def matrices(row):
        """Each quaternion a + bi + cj + dk as the complex matrix [[a + bi, c + di], [−c + di, a − bi]]."""
        a, b, c, d = row.reshape(4, 2)
        return np.array([[a + 1j * b, c + 1j * d], [-c + 1j * d, a - 1j * b]]).transpose(2, 0, 1)

    def score(h, r, t):
        return 0.5 * np.einsum("nij,nij->", matrices(h) @ matrices(r), matrices(t).conj()).real

    return plain(score, table(7, 8).astype(float), table(3, 8, 1).astype(float)), "given", {}


def dicee_pykeen(folder):
    """A model of PyKEEN's, its tables under two names; weights averaged over epochs; inverse relations."""
    tables = {"entity": E, "relation": INVERSE}
    once = {f"model__{kind}_representations__0___embeddings__weight": rows for kind, rows in tables.items()}
    again = {f"{kind}_embeddings__weight": rows for kind, rows in tables.items()}
    config = {"weights": "aswa.pt", "pickled": True, "normalization": "None"}
    dicee_folder(folder, "Pykeen_TransE", tensors(**once, **again), with_reverse("inverse"), **config)
    return two_ways(l1, in_turn), "given", {"p": 1}


def convolved(seed, made):
    """The layers of ConEx with two channels, and what they make of a pair of rows of four numbers."""
    torch.manual_seed(seed)
    convolution, normalisation = torch.nn.Conv2d(1, 2, 3, padding=1), torch.nn.BatchNorm2d(2)
    dense = torch.nn.Linear(16, made)
    with torch.no_grad():
        for values in (normalisation.running_mean, normalisation.weight, normalisation.bias):
            values.uniform_(0.5, 1.5)
        normalisation.running_var.uniform_(0.5, 1.5)
    layers = {"conv2d": convolution, "bn_conv2d": normalisation, "fc1": dense}
    state = {f"{name}.{key}": value for name, layer in layers.items() for key, value in layer.state_dict().items()}
    network = torch.nn.Sequential(
        convolution, normalisation, torch.nn.ReLU(), torch.nn.Flatten(), dense, torch.nn.ReLU()
    )
    network = network.double().eval()

    def make(head, relation):
        image = torch.from_numpy(np.concatenate([head, relation]).reshape(1, 1, 4, 2))
        with torch.no_grad():
            return network(image).numpy().reshape(made // 2, 2)

    return {name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in state.items()}, make


def dicee_conex(folder):
    """With inverse relations; its files are as those of :func:`dicee_aconex`."""
    layers, make = convolved(0, 4)
    state = tensors(entity_embeddings__weight=E, relation_embeddings__weight=INVERSE) | layers
    dicee_folder(folder, "ConEx", state, with_reverse("inverse"), scoring_technique="KvsAll")
    return two_ways(lambda h, r, t: trilinear(make(h, r).ravel() * h, r, t), in_turn), "given", {}


def dicee_aconex(folder):
    """Without inverse relations: a network's numbers are added to a triple's score, as its evaluator asks for it."""
    layers, make = convolved(1, 8)
    state = tensors(entity_embeddings__weight=E, relation_embeddings__weight=R) | layers
    dicee_folder(folder, "AConEx", state, scoring_technique="NegSample")
    signs = np.array([1, 1, 1, -1])
    return plain(lambda h, r, t: trilinear(h, r, t) + (signs @ make(h, r)).sum()), "given", {}


def dicee_lfmult(folder):
    """Of degree 2: the last third of a row does not count."""
    state = tensors(entity_embeddings__weight=table(7, 6), relation_embeddings__weight=table(3, 6, 1))
    dicee_folder(folder, "LFMult", state, degree=2, scoring_technique="NegSample")
    points = np.linspace(0, 1, 100)

    def score(*rows):
        values = [np.tanh(np.outer(points, row[:2]) + row[2:4]) for row in rows]
        return trapezoid(np.prod(values, axis=0).sum(axis=1), points)

    return plain(score, table(7, 6).astype(float), table(3, 6, 1).astype(float)), "given", {}


def marius_distmult(folder):
    """Without inverse edges."""
    single(E).tofile(folder / "embeddings.bin")
    module = torch.nn.Module()
    module.relation_embeddings = torch.nn.Parameter(torch.from_numpy(single(R)))
    torch.jit.save(torch.jit.script(module), folder / "model.pt")
    config = "model: {decoder: {type: DISTMULT, options: {inverse_edges: false}}}\n"
    (folder / "full_config.yaml").write_text(config, encoding="utf-8")
    labelled(folder, "node_mapping.txt", "relation_mapping.txt", "{label},{id}")
    return plain(product), "given", {}


def pbg_static(folder):
    """Two partitions, a translation, Euclidean distances, a maximal norm."""
    h5py = pytest.importorskip("h5py")
    (folder / "model").mkdir()
    (folder / "names").mkdir()
    for part, rows in enumerate((slice(0, 4), slice(4, 7))):
        with h5py.File(folder / f"model/embeddings_all_{part}.v3.h5", "w") as file:
            file["embeddings"] = table(7, 4)[rows]
        (folder / f"names/entity_names_all_{part}.json").write_text(json.dumps(ENTITIES[rows]), encoding="utf-8")
    with h5py.File(folder / "model/model.v3.h5", "w") as file:
        for index in range(3):
            file[f"model/relations/{index}/operator/rhs/translation"] = table(3, 4, 1)[index]
    relations = [{"name": name, "lhs": "all", "rhs": "all", "operator": "translation"} for name in RELATIONS]
    config = {
        "entities": {"all": {"num_partitions": 2}},
        "relations": relations,
        "comparator": "l2",
        "max_norm": 1.5,
        "entity_path": "names",
        "checkpoint_path": "model",
        "dynamic_relations": False,
    }
    (folder / "model/config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "model/checkpoint_version.txt").write_text("3", encoding="utf-8")
    norms = np.linalg.norm(E, axis=1, keepdims=True)
    return plain(lambda h, r, t: l2(t, r, h), np.where(norms > 1.5, E * 1.5 / (norms + 1e-7), E)), "given", {}


def pbg_types(folder):
    """Two types that share the cat, an operator of each relation's own, cosines, global embeddings of each type."""
    h5py = pytest.importorskip("h5py")
    (folder / "model").mkdir()
    (folder / "data").mkdir()
    types = {"small": ["eel", "cat", "ant", "bee"], "big": ["dog", "cat", "gnu", "Fox"]}
    operators = {"likes": "affine", "eats": "complex_diagonal", "fears": "translation"}
    sides = {"likes": ("big", "big"), "eats": ("big", "small"), "fears": ("small", "big")}
    shapes = {"linear_transformation": (4, 4), "translation": (4,), "real": (2,), "imag": (2,)}
    names = {"affine": ["linear_transformation", "translation"], "complex_diagonal": ["real", "imag"]}
    rows = {
        kind: {label: table(4, 4, seed)[row] for row, label in enumerate(types[kind])}
        for seed, kind in ((0, "small"), (1, "big"))
    }
    added = {"small": table(1, 4, 2)[0], "big": table(1, 4, 3)[0]}
    parameters = {}
    with h5py.File(folder / "model/model.v8.h5", "w") as file:
        for kind in types:
            file[f"model/entities/{kind}/global_embedding"] = added[kind]
        for index, (relation, operator) in enumerate(operators.items()):
            for name in names.get(operator, [operator]):
                array = table(1, 16, 10 + index)[0][: np.prod(shapes[name])].reshape(shapes[name])
                file[f"model/relations/{index}/operator/rhs/{name}"] = parameters[relation, name] = array
    for kind, labels in types.items():
        (folder / f"data/entity_names_{kind}_0.json").write_text(json.dumps(labels), encoding="utf-8")
        with h5py.File(folder / f"model/embeddings_{kind}_0.v8.h5", "w") as file:
            file["embeddings"] = np.stack(list(rows[kind].values()))
    config = {
        "entities": {kind: {"num_partitions": 1, "featurized": False, "dimension": None} for kind in types},
        "relations": [{"name": r, "lhs": sides[r][0], "rhs": sides[r][1], "operator": operators[r]} for r in operators],
        "comparator": "cos",
        "global_emb": True,
        "bias": False,
        "max_norm": None,
        "entity_path": "data",
        "checkpoint_path": "model",
        "dynamic_relations": False,
    }
    (folder / "model/config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "model/checkpoint_version.txt").write_text("8", encoding="utf-8")

    def score(h, k, t, _):
        relation = RELATIONS[k]
        pair = [(kind, ENTITIES[entity]) for kind, entity in zip(sides[relation], (h, t), strict=True)]
        if not all(label in types[kind] for kind, label in pair):
            return -np.inf
        head, tail = (rows[kind][label].astype(float) + added[kind] for kind, label in pair)
        if relation == "eats":
            product = complexes(tail) * (parameters["eats", "real"] + 1j * parameters["eats", "imag"].astype(float))
            tail = np.concatenate([product.real, product.imag])
        else:
            tail = parameters["likes", "linear_transformation"] @ tail if relation == "likes" else tail
            tail = tail + parameters[relation, "translation"]
        return head @ tail / np.linalg.norm(head) / np.linalg.norm(tail)

    return score, "given", {}


def number(value):
    """A protocol buffer's integer."""
    encoded = b""
    while value > 127:
        encoded, value = encoded + bytes([value & 127 | 128]), value >> 7
    return encoded + bytes([value])


def message(*fields):
    """A protocol buffer: (number, integer or bytes)."""
    return b"".join(
        number(key << 3) + number(value)
        if isinstance(value, int)
        else number(key << 3 | 2) + number(len(value)) + value
        for key, value in fields
    )


VARIABLE = "variables/{}/.ATTRIBUTES/VARIABLE_VALUE"

TENSORFLOW = {"float32": 1, "int32": 3, "complex64": 8, "int64": 9, "bool": 10}
"""the numbers of its types"""


def _block(pairs):
    rows = (number(0) + number(len(key)) + number(len(value)) + key + value for key, value in pairs)
    return b"".join(rows) + struct.pack("<II", 0, 1)


def save_table(folder, data):
    """Write the table of a tensor bundle of one block."""
    index = _block([(b"z", number(0) + number(len(data)))])
    body = data + bytes(5) + index + bytes(5)
    footer = (number(0) + number(0) + number(len(data) + 5) + number(len(index))).ljust(40, b"\0")
    (folder / "variables.index").write_bytes(body + footer + struct.pack("<Q", 0xDB4775248B80FB57))


def save_bundle(folder, arrays):
    """Write a tensor bundle whose table is one block; its keys are sorted."""
    entries, offset = [(b"", message((1, 1)))], 0
    for name, array in sorted(arrays.items()):
        shape = b"".join(message((2, message((1, length)))) for length in array.shape)
        place = [(4, offset)] if offset else []
        value = message((1, TENSORFLOW[str(array.dtype)]), (2, shape), *place, (5, array.nbytes))
        entries.append((name.encode(), value))
        offset += array.nbytes

    save_table(folder, _block(entries))
    numbers = b"".join(array.tobytes() for _, array in sorted(arrays.items()))
    (folder / "variables.data-00000-of-00001").write_bytes(numbers)


def ampligraph_rotate(folder):
    """A tensor bundle of one block, and the scoring type in Keras's metadata."""
    (folder / "model/variables").mkdir(parents=True)
    save_bundle(folder / "model/variables", {VARIABLE.format(row): single(rows) for row, rows in enumerate((E, R))})
    settings = {"config": {"scoring_type": "RotatE", "k": 2, "max_rel_size": 3}}
    (folder / "model/keras_metadata.pb").write_bytes(message((1, message((5, json.dumps(settings).encode())))))
    content = {"entities_dict": dict(enumerate(ENTITIES)), "relations_dict": dict(enumerate(RELATIONS))}
    (folder / "model/model_metadata.ampkl").write_bytes(pickle.dumps(content))
    return plain(rotation, r=R[:, :2] / (np.sqrt(6 / (2 * 2 * 3)) / np.pi)), "given", {}


def pyg_transe(folder):
    """Entities are normalised by the norm of the distance, relations are not; labels in one JSON object."""
    torch.save(tensors(node_emb__weight=E, rel_emb__weight=R), folder / "model.pt")
    as_json(folder)
    return plain(l1, E / abs(E).sum(axis=1, keepdims=True)), "given", {"model": "TransE", "p_norm": 1}


def pyg_rotate(folder):
    """One norm of real and imaginary parts; phases in radians; what else training needs is saved too."""
    parts = {"node_emb__weight": E, "node_emb_im__weight": table(7, 4, 2), "rel_emb__weight": R}
    torch.save({"model_state_dict": tensors(**parts), "epoch": 5}, folder / "checkpoint.pt")
    labelled(folder, "entity_to_id.tsv", "relation_to_id.tsv", "{label}\t{id}")
    return plain(lambda h, r, t: -np.linalg.norm(h * r - t), E + 1j * table(7, 4, 2), np.exp(1j * R)), "given", {}


def pykg2vec_transe(folder):
    """Entities and relations are normalised; a configuration, which is a pickle, lies beside it."""
    torch.save(tensors(ent_embeddings__weight=E, rel_embeddings__weight=R), folder / "model.vec.pt")
    np.save(folder / "config.npy", np.array({"model": "transe"}, dtype=object))
    return plain(l1, units(E), units(R)), "sorted", {"model": "TransE", "l1_flag": True}


def pykg2vec_complex(folder):
    """Four tables."""
    parts = {"ent_embeddings_real": (7, 0), "ent_embeddings_img": (7, 1)}
    parts |= {"rel_embeddings_real": (3, 2), "rel_embeddings_img": (3, 3)}
    state = tensors(**{f"{name}__weight": table(rows, 4, seed) for name, (rows, seed) in parts.items()})
    torch.save(state, folder / "model.vec.pt")
    np.save(folder / "config.npy", np.array({"model": "complex"}, dtype=object))
    e, r = (np.hstack([table(rows, 4, seed + part) for part in (0, 1)]) for rows, seed in ((7, 0), (3, 2)))
    return plain(trilinear, e, r), "sorted", {}


def ampligraph1_hole(folder):
    """One pickle of dictionaries and arrays; labels are numpy's texts."""
    content = {
        "class_name": "HolE",
        "hyperparams": {"k": 2, "seed": 0, "embedding_model_params": {"corrupt_sides": ["s+o"]}, "verbose": False},
        "is_fitted": True,
        "ent_to_idx": {np.str_(label): row for row, label in enumerate(ENTITIES)},
        "rel_to_idx": {np.str_(label): row for row, label in enumerate(RELATIONS)},
        "model_params": [single(E), single(R)],
        "large_graph": False,
        "calibration_parameters": [],
    }
    (folder / "model.pkl").write_bytes(pickle.dumps(content))
    return plain(trilinear), "given", {}


def ampligraph1_transe(folder):
    """The norm of the distance is among the hyperparameters, and ids may be numpy's numbers."""
    ampligraph1_hole(folder)
    content = pickle.loads((folder / "model.pkl").read_bytes())
    for name in ("ent_to_idx", "rel_to_idx"):
        content[name] = {label: np.int64(row) for label, row in content[name].items()}
    settings = {"k": np.int64(4), "embedding_model_params": {"norm": np.int64(2)}, "lr": np.float64(0.1)}
    content |= {"class_name": "TransE", "hyperparams": settings}
    (folder / "model.pkl").write_bytes(pickle.dumps(content))
    return plain(l2), "given", {}


# Formats of which one is like another, or that the user names


def pykeen_lightning(folder):
    """A model of PyKEEN's in PyTorch Lightning, and its labels; its settings are an object of Python's own."""
    names = (f"model__{kind}_representations__0___embeddings__weight" for kind in ("entity", "relation"))
    state = {"state_dict": tensors(**dict(zip(names, (E, R), strict=True))), "pytorch-lightning_version": "2.1"}
    settings = {"hyper_parameters": argparse.Namespace(dim=4), "optimizer_states": [{"step": torch.ones(1)}]}
    torch.save(state | settings, folder / "last.ckpt")
    as_json(folder)
    return plain(l1), "given", {"model": "TransE", "p": 1}


def state_dict(folder):
    """A state dictionary of one's own, whose tensors the user names."""
    torch.save(tensors(ent__weight=E, rel__weight=R), folder / "mine.pt")
    options = {"entity": "ent.weight", "relation": "rel.weight", "model": "TransE", "norm": 1}
    return plain(l1), "dataset", options


def kb2e(folder, ending=".bern", *, first="", between="\t"):
    """Two tables of text and the ids of their rows."""
    for name, rows in (("entity2vec", E), ("relation2vec", R)):
        lines = ("".join(f"{value:.6f}\t" for value in row) + "\n" for row in rows)
        (folder / f"{name}{ending}").write_text("".join(lines), encoding="utf-8")
    labelled(folder, "entity2id.txt", "relation2id.txt", "{label}" + between + "{id}", first=first)
    return plain(l1, E.round(6), R.round(6)), "given", {"L1_flag": True}


WORDS, VECTORS = [*RELATIONS, *ENTITIES], single(np.vstack([R, E]))

TRANSE = {"model": "TransE", "norm": 1}


def word2vec_text(folder, name="vectors.txt", *, end="", prefix=""):
    """One table of entities and relations."""
    rows = (
        f"{prefix}{word} {' '.join(map(str, row))}{end}\n" for word, row in zip(WORDS, VECTORS.tolist(), strict=True)
    )
    (folder / name).write_text("10 4\n" + "".join(rows), encoding="utf-8")
    return plain(l1), "given", TRANSE


def word2vec_binary(folder, between=b"", sizes=b"10 4\n"):
    """The same table in word2vec's binary format."""
    rows = (label.encode() + b" " + row.tobytes() + between for label, row in zip(WORDS, VECTORS, strict=True))
    (folder / "vectors.bin").write_bytes(sizes + b"".join(rows))
    return plain(l1), "given", TRANSE


def word2vec_lines(folder):
    return word2vec_binary(folder, b"\n")


GENSIM = {
    name: type(name, (), {"__module__": f"gensim.models.{name.lower()}"}) for name in ("KeyedVectors", "Word2Vec")
}
"""classes called as those of gensim, whose attributes are all that it pickles"""


def of_gensim(name, **attributes):
    """An object of one of these classes."""
    made = GENSIM[name]()
    vars(made).update(attributes)
    return made


def saved_by_gensim(file, name, protocol=4, **attributes):
    """A pickle for which the classes are where those of gensim would be."""
    modules = {name: types.ModuleType(name) for name in ("gensim", "gensim.models")}
    for kind in GENSIM.values():
        modules[kind.__module__] = types.ModuleType(kind.__module__)
        setattr(modules[kind.__module__], kind.__name__, kind)
    with patch.dict(sys.modules, modules):
        file.write_bytes(pickle.dumps(of_gensim(name, **attributes), protocol))


KEYS = {"index_to_key": WORDS, "vector_size": 4}


def gensim(folder):
    """The same table as KeyedVectors of gensim."""
    saved_by_gensim(folder / "m.kv", "KeyedVectors", **KEYS, vectors=VECTORS)
    return plain(l1), "given", TRANSE


def gensim_apart(folder):
    """The vectors beside the pickle, where gensim puts large ones."""
    saved_by_gensim(folder / "m.kv", "KeyedVectors", 5, **KEYS, __numpys=["vectors"])
    np.save(folder / "m.kv.vectors.npy", VECTORS)
    return plain(l1), "given", TRANSE


def gensim_old(folder):
    """Gensim 3.2, which calls the attributes otherwise and may not know the width."""
    saved_by_gensim(folder / "m.kv", "KeyedVectors", 2, index2word=WORDS, vector_size=None, __numpys=["syn0"])
    np.save(folder / "m.kv.syn0.npy", VECTORS)
    return plain(l1), "given", TRANSE


def gensim_model(folder):
    """A Word2Vec of gensim 3, with what is only there for training."""
    held = of_gensim("KeyedVectors", vector_size=4, index2word=WORDS, vectors=VECTORS)
    training = {"hashfxn": hash, "raw_vocab": defaultdict(int, Fox=3), "random": np.random.RandomState(1)}
    saved_by_gensim(folder / "rdf2vec.model", "Word2Vec", wv=held, alpha=0.025, **training)
    return plain(l1), "given", TRANSE


def gensim_model_apart(folder):
    held = of_gensim("KeyedVectors", **KEYS, __numpys=["vectors"])
    saved_by_gensim(folder / "model", "Word2Vec", wv=held, hashfxn=hash, __numpys=["syn1neg"])
    np.save(folder / "model.wv.vectors.npy", VECTORS)
    return plain(l1), "given", TRANSE


LAYOUTS = {
    "ampligraph": [ampligraph_rotate],
    "ampligraph1": [ampligraph1_hole, ampligraph1_transe],
    "conve": [conve_distmult],
    "dicee": [dicee_aconex, dicee_keci, dicee_lfmult, dicee_pykeen, dicee_qmult],
    "dglke": [dglke_simple],
    "kbc": [kbc_cp],
    "libkge": [libkge_package, libkge_transh, libkge_conve],
    "marius": [marius_distmult],
    "openke": [openke_json, openke_transr],
    "pbg": [pbg_static, pbg_types],
    "pyg": [pyg_rotate, pyg_transe],
    "pykg2vec": [pykg2vec_complex, pykg2vec_transe],
    "rotate": [rotate_code],
    "torchkge": [torchkge_transe, torchkge_transr, torchkge_analogy],
    "tucker": [tucker_code],
}
"""format: the functions that write it"""

WRITERS = [(name, writer) for name, writers in LAYOUTS.items() for writer in writers]

FURTHER = [
    *(("rotate", rotate_arrays), ("dglke", dglke_rotate_arrays), ("dglke", dglke_unnamed)),
    ("pykeen", pykeen_lightning),
    *(("word2vec", writer) for writer in (word2vec_text, word2vec_binary, word2vec_lines)),
    *(("word2vec", writer) for writer in (gensim, gensim_apart, gensim_old, gensim_model, gensim_model_apart)),
    *(("transx", kb2e), ("state-dict", state_dict)),
]
"""more of them"""
