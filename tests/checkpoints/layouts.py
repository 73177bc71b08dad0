"""Small checkpoints in every framework's layout, written by hand: each function fills a folder, and tells a formula."""

from __future__ import annotations

import json
import pickle
import struct
import sys
import types
from contextlib import contextmanager

import numpy as np
import pytest
from scipy.integrate import trapezoid

torch = pytest.importorskip("torch")

ENTITIES = ["Fox", "ant", "gnu", "bee", "eel", "cat", "dog"]
RELATIONS = ["likes", "eats", "fears"]
SIZES = (len(ENTITIES), len(RELATIONS))


def table(rows, columns, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32)


def tensors(**arrays):
    return {name.replace("__", "."): torch.from_numpy(np.array(array)) for name, array in arrays.items()}


def complexes(vector):
    real, imaginary = np.split(vector.astype(float), 2)
    return real + 1j * imaginary


def trilinear(h, r, t):
    return (complexes(h) * complexes(r) * complexes(t).conj()).sum().real


def labelled(folder, entities, relations, line, *, first=""):
    """Write label files, their ids in an order of their own."""
    for name, labels in ((entities, ENTITIES), (relations, RELATIONS)):
        lines = [line.format(id=index, label=label) + "\n" for index, label in enumerate(labels)]
        count = f"{len(labels)}\n" if first == "count" else ""
        (folder / name).write_text(count + "".join(reversed(lines)), encoding="utf-8")


# Each returns (score(h, r, t, side) over ids, ids of labels or None for sorted ones, options)


def torchkge_transe(folder):
    state = tensors(ent_emb__weight=table(7, 4), rel_emb__weight=table(3, 4, 1))
    (folder / "m.pkl").write_bytes(pickle.dumps(state))
    e, r = table(7, 4).astype(float), table(3, 4, 1)
    options = {"model": "TransE", "dissimilarity_type": "L1"}
    return lambda h, k, t, _: -abs(e[h] + r[k] - e[t]).sum(), "sorted", options


def torchkge_transr(folder):
    state = tensors(ent_emb__weight=table(7, 4), rel_emb__weight=table(3, 2, 1), proj_mat__weight=table(3, 8, 2))
    torch.save(state, folder / "m.pt", _use_new_zipfile_serialization=False)
    e, r, p = table(7, 4), table(3, 2, 1), table(3, 8, 2).reshape(3, 2, 4).astype(float)
    return lambda h, k, t, _: -np.linalg.norm(p[k] @ e[h] + r[k] - p[k] @ e[t]), "sorted", {}


def torchkge_analogy(folder):
    parts = {
        f"{part}_{kind}_emb__weight": table(n, 2, i)
        for i, part in enumerate(("sc", "re", "im"))
        for kind, n in (("ent", 7), ("rel", 3))
    }
    torch.save(tensors(**parts), folder / "m.pt")
    (se, re, ie), (sr, rr, ir) = ([table(n, 2, i).astype(float) for i in range(3)] for n in (7, 3))

    def score(h, k, t, _):
        form = (re[h] + 1j * ie[h]) * (rr[k] + 1j * ir[k]) * (re[t] - 1j * ie[t])
        return (se[h] * sr[k] * se[t]).sum() + form.sum().real

    return score, "sorted", {}


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
    state = {
        "_base_model._entity_embedder._embeddings.weight": torch.from_numpy(table(7, 4)),
        "_base_model._relation_embedder._embeddings.weight": torch.from_numpy(table(6, 4, 1)),
    }
    meta = {"entity_ids": ENTITIES, "relation_ids": RELATIONS}
    saved_by_libkge(folder / "model_best.pt", settings, state, type="package", dataset={"meta": meta})
    e, r = table(7, 4).astype(float), table(6, 4, 1)
    return lambda h, k, t, side: (e[h] * r[k + 3 * (side == "head")] * e[t]).sum(), "given", {}


def libkge_transh(folder):
    """Labels of the dataset, the older names of tensors, normal vectors of any length."""
    state = tensors(
        _entity_embedder__embeddings__weight=table(7, 4), _relation_embedder__embeddings__weight=table(3, 8, 1)
    )
    settings = {"model": "transh", "transh": {"l_norm": 2.0}}
    saved_by_libkge(folder / "checkpoint_00007.pt", settings, state)
    labelled(folder, "entity_ids.del", "relation_ids.del", "{id}\t{label}")
    e, (r, w) = table(7, 4).astype(float), np.split(table(3, 8, 1).astype(float), 2, axis=1)

    def score(h, k, t, _):
        normal = w[k] / np.linalg.norm(w[k])
        head, tail = (e[x] - (e[x] @ normal) * normal for x in (h, t))
        return -np.linalg.norm(head + r[k] - tail)

    return score, "given", {}


def openke_json(folder):
    """A normalised TransE in JSON."""
    content = {"ent_embeddings.weight": table(7, 4).tolist(), "rel_embeddings.weight": table(3, 4, 1).tolist()}
    (folder / "transe.json").write_text(json.dumps(content), encoding="utf-8")
    labelled(folder, "entity2id.txt", "relation2id.txt", "{label}\t{id}", first="count")
    e, r = (
        x / np.linalg.norm(x, axis=1, keepdims=True) for x in (table(7, 4).astype(float), table(3, 4, 1).astype(float))
    )
    options = {"model": "TransE", "p_norm": 2, "norm_flag": True}
    return lambda h, k, t, _: -np.linalg.norm(e[h] + r[k] - e[t]), "given", options


def openke_transr(folder):
    """A trainer's save, whose names have a prefix; normalised after the projection."""
    state = tensors(
        model__ent_embeddings__weight=table(7, 4),
        model__rel_embeddings__weight=table(3, 2, 1),
        model__transfer_matrix__weight=table(3, 8, 2),
    )
    torch.save(state, folder / "transr-9.ckpt")
    labelled(folder, "entity2id.txt", "relation2id.txt", "{label}\t{id}", first="count")
    e, r, p = table(7, 4).astype(float), table(3, 2, 1).astype(float), table(3, 8, 2).reshape(3, 4, 2).astype(float)

    def score(h, k, t, _):
        head, relation, tail = (x / np.linalg.norm(x) for x in (e[h] @ p[k], r[k], e[t] @ p[k]))
        return -abs(head + relation - tail).sum()

    return score, "given", {"p_norm": 1, "norm_flag": True}


def rotate_code(folder):
    state = tensors(
        entity_embedding=table(7, 4),
        relation_embedding=table(3, 2, 1),
        gamma=np.float32([6]),
        embedding_range=np.float32([0.5]),
    )
    torch.save({"step": 1, "model_state_dict": state}, folder / "checkpoint")
    (folder / "config.json").write_text('{"model": "RotatE"}', encoding="utf-8")
    labelled(folder, "entities.dict", "relations.dict", "{id}\t{label}")
    e, r = table(7, 4), table(3, 2, 1).astype(float)

    def score(h, k, t, _):
        return 6 - abs(complexes(e[h]) * np.exp(1j * r[k] / (0.5 / np.pi)) - complexes(e[t])).sum()

    return score, "given", {}


def dglke_simple(folder):
    """Labels in the other order of columns, as some published files have them."""
    np.save(folder / "d_SimplE_entity.npy", table(7, 4))
    np.save(folder / "d_SimplE_relation.npy", table(3, 4, 1))
    config = {"model_name": "SimplE", "dataset": "d", "hidden_dim": 4, "gamma": 12.0}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    labelled(folder, "entities.tsv", "relations.tsv", "{label}\t{id}")
    e, r = table(7, 4).astype(float), table(3, 4, 1)

    def score(h, k, t, _):
        return ((e[h][:2] * r[k][:2] * e[t][2:]).sum() + (e[t][:2] * r[k][2:] * e[h][2:]).sum()) / 2

    return score, "given", {}


def kbc_cp(folder):
    torch.save(
        tensors(lhs__weight=table(7, 4), rel__weight=table(6, 4, 1), rhs__weight=table(7, 4, 2)), folder / "m.pt"
    )
    labelled(folder, "ent_id", "rel_id", "{label}\t{id}")
    a, r, b = table(7, 4).astype(float), table(6, 4, 1), table(7, 4, 2)

    def score(h, k, t, side):
        return (a[h] * r[k] * b[t]).sum() if side == "tail" else (a[t] * r[k + 3] * b[h]).sum()

    return score, "given", {}


def tucker_code(folder):
    """Its rows are those of the sorted names: eats, eats_reverse, fears, fears_reverse, likes, likes_reverse."""
    statistics = {
        f"{name}__{part}": np.abs(table(1, 4, 5 + i)[0])
        for name in ("bn0", "bn1")
        for i, part in enumerate(("weight", "bias", "running_mean", "running_var"))
    }
    state = tensors(E__weight=table(7, 4), R__weight=table(6, 3, 1), W=table(3, 16, 2).reshape(3, 4, 4), **statistics)
    torch.save(state, folder / "model.pt")
    e, r, core = table(7, 4).astype(float), table(6, 3, 1).astype(float), table(3, 16, 2).reshape(3, 4, 4)
    weight, bias, mean, variance = (np.abs(table(1, 4, 5 + i)[0]).astype(float) for i in range(4))

    def norm(x):
        return weight * (x - mean) / np.sqrt(variance + 1e-5) + bias

    def score(h, k, t, side):
        anchor, other, row = (h, t, 2 * k) if side == "tail" else (t, h, 2 * k + 1)
        return norm(norm(e[anchor]) @ np.einsum("k,kij->ij", r[row], core)) @ e[other]

    return score, "sorted", {}


def conve_distmult(folder):
    """Two tokens come first, labels are lower-cased, a relation's inverse has a name and a row of its own."""
    torch.save(tensors(emb_e__weight=table(9, 4), emb_rel__weight=table(8, 4, 1)), folder / "d_distmult_0.2.model")
    for name, labels in (
        ("vocab_e1", ENTITIES),
        ("vocab_rel", [r for label in RELATIONS for r in (label, f"{label}_reverse")]),
    ):
        tokens = ["OOV", "", *(label.lower() for label in labels)]
        forward = {token: index for index, token in enumerate(tokens)}
        (folder / name).write_bytes(pickle.dumps([forward, dict(enumerate(tokens)), {}, {}], 2))
    e, r = table(9, 4).astype(float), table(8, 4, 1)
    return lambda h, k, t, side: (e[h + 2] * r[2 + 2 * k + (side == "head")] * e[t + 2]).sum(), "given", {}


def dicee_keci(folder):
    """In Cl_{1,2}, with inverse relations; multivectors of two dimensions, the parts of each dimension in turn."""
    state = tensors(
        entity_embeddings__weight=table(7, 8),
        relation_embeddings__weight=table(6, 8, 1),
        p_coefficients__weight=np.float32([[0.5]]),
        q_coefficients__weight=np.float32([[2.0, -1.5]]),
    )
    torch.save(state, folder / "model.pt")
    config = {"model": "Keci", "p": 1, "q": 2, "normalization": "None"}
    (folder / "configuration.json").write_text(json.dumps(config), encoding="utf-8")
    names = [name for label in RELATIONS for name in (label, f"{label}_inverse")]
    for kind, labels in (("entity", ENTITIES), ("relation", names)):
        (folder / f"{kind}_to_idx.p").write_bytes(pickle.dumps({label: row for row, label in enumerate(labels)}))
    e, r = table(7, 8).astype(float), table(6, 8, 1).astype(float)

    def parts(x):
        return x[:2], x[2:4, None], x[4:].reshape(2, 2)

    def score(h, k, t, side):
        anchor, other = (h, t) if side == "tail" else (t, h)
        (h0, hp, hq), (r0, rp, rq), (t0, tp, tq) = map(parts, (e[anchor], r[2 * k + (side == "head")], e[other]))
        hp, rp, hq, rq = 0.5 * hp, 0.5 * rp, hq * [2.0, -1.5], rq * [2.0, -1.5]
        total = (h0 * r0 + (hp * rp).sum(1) - (hq * rq).sum(1)) @ t0
        total += ((h0 * rp.T + r0 * hp.T).T * tp).sum() + ((h0 * rq.T + r0 * hq.T).T * tq).sum()
        return total + (hq[:, 0] * rq[:, 1] - hq[:, 1] * rq[:, 0]).sum()

    return score, "given", {}


def dicee_qmult(folder):
    """Quaternions as quarters; a relation multiplies from the right, and is not normalised. Ids in CSV files."""
    state = tensors(entity_embeddings__weight=table(7, 8), relation_embeddings__weight=table(3, 8, 1))
    torch.save(state, folder / "model.pt")
    (folder / "configuration.json").write_text(json.dumps({"model": "QMult", "normalization": None}), encoding="utf-8")
    for kind, labels in (("entity", ENTITIES), ("relation", RELATIONS)):
        rows = "".join(f"{row},{label}\n" for row, label in enumerate(labels))
        (folder / f"{kind}_to_idx.csv").write_text(f",{kind}\n{rows}", encoding="utf-8")
    e, r = table(7, 8).astype(float).reshape(7, 4, 2), table(3, 8, 1).astype(float).reshape(3, 4, 2)

    def matrices(quaternions):
        """Each quaternion a + bi + cj + dk as the complex matrix [[a + bi, c + di], [−c + di, a − bi]]."""
        a, b, c, d = quaternions
        return np.array([[a + 1j * b, c + 1j * d], [-c + 1j * d, a - 1j * b]]).transpose(2, 0, 1)

    def score(h, k, t, _):
        products = matrices(e[h]) @ matrices(r[k])
        return 0.5 * np.einsum("nij,nij->", products, matrices(e[t]).conj()).real

    return score, "given", {}


def dicee_pykeen(folder):
    """A model of PyKEEN's, its tables under two names; weights averaged over epochs; inverse relations."""
    tables = {"entity": table(7, 4), "relation": table(6, 4, 1)}
    once = {f"model.{kind}_representations.0._embeddings.weight": rows for kind, rows in tables.items()}
    again = {f"{kind}_embeddings.weight": rows for kind, rows in tables.items()}
    torch.save({name: torch.from_numpy(rows) for name, rows in (once | again).items()}, folder / "aswa.pt")
    config = {"model": "Pykeen_TransE", "normalization": "None"}
    (folder / "configuration.json").write_text(json.dumps(config), encoding="utf-8")
    names = [name for label in RELATIONS for name in (label, f"{label}_inverse")]
    for kind, labels in (("entity", ENTITIES), ("relation", names)):
        (folder / f"{kind}_to_idx.p").write_bytes(pickle.dumps({label: row for row, label in enumerate(labels)}))
    e, r = (rows.astype(float) for rows in tables.values())

    def score(h, k, t, side):
        anchor, other = (h, t) if side == "tail" else (t, h)
        return -abs(e[anchor] + r[2 * k + (side == "head")] - e[other]).sum()

    return score, "given", {"p": 1}


def dicee_folder(folder, model, state, relations=RELATIONS, **config):
    """The weights, the configuration and the ids of a model."""
    torch.save(state, folder / "model.pt")
    settings = {"model": model, "normalization": None, **config}
    (folder / "configuration.json").write_text(json.dumps(settings), encoding="utf-8")
    for kind, labels in (("entity", ENTITIES), ("relation", relations)):
        rows = "".join(f"{row},{label}\n" for row, label in enumerate(labels))
        (folder / f"{kind}_to_idx.csv").write_text(f",{kind}\n{rows}", encoding="utf-8")


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
    state = tensors(entity_embeddings__weight=table(7, 4), relation_embeddings__weight=table(6, 4, 1)) | layers
    names = [name for label in RELATIONS for name in (label, f"{label}_inverse")]
    dicee_folder(folder, "ConEx", state, names, scoring_technique="KvsAll")
    e, r = table(7, 4).astype(float), table(6, 4, 1).astype(float)

    def score(h, k, t, side):
        anchor, other = (e[h], e[t]) if side == "tail" else (e[t], e[h])
        relation = r[2 * k + (side == "head")]
        a, b = make(anchor, relation)
        return trilinear(np.concatenate([a * anchor[:2], b * anchor[2:]]), relation, other)

    return score, "given", {}


def dicee_aconex(folder):
    """Without inverse relations: a network's numbers are added to a triple's score, as its evaluator asks for it."""
    layers, make = convolved(1, 8)
    state = tensors(entity_embeddings__weight=table(7, 4), relation_embeddings__weight=table(3, 4, 1)) | layers
    dicee_folder(folder, "AConEx", state, scoring_technique="NegSample")
    e, r = table(7, 4).astype(float), table(3, 4, 1).astype(float)

    def score(h, k, t, _):
        a, b, c, d = make(e[h], r[k])
        return trilinear(e[h], r[k], e[t]) + sum(a + b + c - d)

    return score, "given", {}


def dicee_lfmult(folder):
    """Of degree 2: the last third of a row does not count."""
    state = tensors(entity_embeddings__weight=table(7, 6), relation_embeddings__weight=table(3, 6, 1))
    dicee_folder(folder, "LFMult", state, degree=2, scoring_technique="NegSample")
    e, r, points = table(7, 6).astype(float), table(3, 6, 1).astype(float), np.linspace(0, 1, 100)

    def score(h, k, t, _):
        values = [np.tanh(np.outer(points, row[:2]) + row[2:4]) for row in (e[h], r[k], e[t])]
        return trapezoid(np.prod(values, axis=0).sum(axis=1), points)

    return score, "given", {}


def marius_distmult(folder):
    """Without inverse edges."""
    table(7, 4).tofile(folder / "embeddings.bin")
    module = torch.nn.Module()
    module.relation_embeddings = torch.nn.Parameter(torch.from_numpy(table(3, 4, 1)))
    torch.jit.save(torch.jit.script(module), folder / "model.pt")
    config = "model: {decoder: {type: DISTMULT, options: {inverse_edges: false}}}\n"
    (folder / "full_config.yaml").write_text(config, encoding="utf-8")
    labelled(folder, "node_mapping.txt", "relation_mapping.txt", "{label},{id}")
    e, r = table(7, 4).astype(float), table(3, 4, 1)
    return lambda h, k, t, _: (e[h] * r[k] * e[t]).sum(), "given", {}


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
    e, r = table(7, 4).astype(float), table(3, 4, 1)
    norms = np.linalg.norm(e, axis=1, keepdims=True)
    e = np.where(norms > 1.5, e * 1.5 / (norms + 1e-7), e)
    return lambda h, k, t, _: -np.linalg.norm(e[h] - (e[t] + r[k])), "given", {}


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
    e, r = table(7, 4), table(3, 4, 1)
    (folder / "model/variables").mkdir(parents=True)
    save_bundle(folder / "model/variables", {VARIABLE.format(row): array for row, array in enumerate((e, r))})
    settings = {"config": {"scoring_type": "RotatE", "k": 2, "max_rel_size": 3}}
    (folder / "model/keras_metadata.pb").write_bytes(message((1, message((5, json.dumps(settings).encode())))))
    content = {"entities_dict": dict(enumerate(ENTITIES)), "relations_dict": dict(enumerate(RELATIONS))}
    (folder / "model/model_metadata.ampkl").write_bytes(pickle.dumps(content))
    phases = r[:, :2].astype(float) / (np.sqrt(6 / (2 * 2 * 3)) / np.pi)
    return lambda h, k, t, _: -abs(complexes(e[h]) * np.exp(1j * phases[k]) - complexes(e[t])).sum(), "given", {}


def pyg_transe(folder):
    """Entities are normalised by the norm of the distance, relations are not; labels in one JSON object."""
    state = tensors(node_emb__weight=table(7, 4), rel_emb__weight=table(3, 4, 1))
    torch.save(state, folder / "model.pt")
    for name, labels in (("entity", ENTITIES), ("relation", RELATIONS)):
        ids = json.dumps({label: row for row, label in enumerate(labels)})
        (folder / f"{name}_to_id.json").write_text(ids, encoding="utf-8")
    e, r = table(7, 4).astype(float), table(3, 4, 1)
    e /= abs(e).sum(axis=1, keepdims=True)
    return lambda h, k, t, _: -abs(e[h] + r[k] - e[t]).sum(), "given", {"model": "TransE", "p_norm": 1}


def pyg_rotate(folder):
    """One norm of real and imaginary parts; phases in radians; what else training needs is saved too."""
    parts = {"node_emb__weight": table(7, 4), "node_emb_im__weight": table(7, 4, 2), "rel_emb__weight": table(3, 4, 1)}
    torch.save({"model_state_dict": tensors(**parts), "epoch": 5}, folder / "checkpoint.pt")
    labelled(folder, "entity_to_id.tsv", "relation_to_id.tsv", "{label}\t{id}")
    e, r = table(7, 4) + 1j * table(7, 4, 2).astype(float), np.exp(1j * table(3, 4, 1).astype(float))
    return lambda h, k, t, _: -np.linalg.norm(e[h] * r[k] - e[t]), "given", {}


def pykg2vec_transe(folder):
    """Entities and relations are normalised; a configuration, which is a pickle, lies beside it."""
    state = tensors(ent_embeddings__weight=table(7, 4), rel_embeddings__weight=table(3, 4, 1))
    torch.save(state, folder / "model.vec.pt")
    np.save(folder / "config.npy", np.array({"model": "transe"}, dtype=object))
    e, r = (
        rows / np.linalg.norm(rows, axis=1, keepdims=True)
        for rows in (table(7, 4).astype(float), table(3, 4, 1).astype(float))
    )
    return lambda h, k, t, _: -abs(e[h] + r[k] - e[t]).sum(), "sorted", {"model": "TransE", "l1_flag": True}


def pykg2vec_complex(folder):
    """Four tables."""
    rows = {"ent": (7, 0), "rel": (3, 2)}
    parts = [(kind, part, *rows[kind], shift) for kind in rows for shift, part in enumerate(("real", "img"))]
    state = {
        f"{kind}_embeddings_{part}__weight": table(count, 4, seed + shift) for kind, part, count, seed, shift in parts
    }
    torch.save(tensors(**state), folder / "model.vec.pt")
    np.save(folder / "config.npy", np.array({"model": "complex"}, dtype=object))
    e, r = (np.hstack([table(count, 4, seed + shift) for shift in (0, 1)]) for count, seed in rows.values())
    return lambda h, k, t, _: trilinear(e[h], r[k], e[t]), "sorted", {}


def ampligraph1_hole(folder):
    """One pickle of dictionaries and arrays; labels are numpy's texts."""
    e, r = table(7, 4), table(3, 4, 1)
    content = {
        "class_name": "HolE",
        "hyperparams": {"k": 2, "seed": 0, "embedding_model_params": {"corrupt_sides": ["s+o"]}, "verbose": False},
        "is_fitted": True,
        "ent_to_idx": {np.str_(label): row for row, label in enumerate(ENTITIES)},
        "rel_to_idx": {np.str_(label): row for row, label in enumerate(RELATIONS)},
        "model_params": [e, r],
        "large_graph": False,
        "calibration_parameters": [],
    }
    (folder / "model.pkl").write_bytes(pickle.dumps(content))
    return lambda h, k, t, _: 2 / 2 * trilinear(e[h], r[k], e[t]), "given", {}


def ampligraph1_transe(folder):
    """The norm of the distance is among the hyperparameters, and ids may be numpy's numbers."""
    ampligraph1_hole(folder)
    content = pickle.loads((folder / "model.pkl").read_bytes())
    for name in ("ent_to_idx", "rel_to_idx"):
        content[name] = {label: np.int64(row) for label, row in content[name].items()}
    settings = {"k": np.int64(4), "embedding_model_params": {"norm": np.int64(2)}, "lr": np.float64(0.1)}
    content |= {"class_name": "TransE", "hyperparams": settings}
    (folder / "model.pkl").write_bytes(pickle.dumps(content))
    e, r = table(7, 4).astype(float), table(3, 4, 1)
    return lambda h, k, t, _: -np.linalg.norm(e[h] + r[k] - e[t]), "given", {}


LAYOUTS = {
    "ampligraph": [ampligraph_rotate],
    "ampligraph-1": [ampligraph1_hole, ampligraph1_transe],
    "conve": [conve_distmult],
    "dicee": [dicee_aconex, dicee_keci, dicee_lfmult, dicee_pykeen, dicee_qmult],
    "dgl-ke": [dglke_simple],
    "kbc": [kbc_cp],
    "libkge": [libkge_package, libkge_transh],
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
