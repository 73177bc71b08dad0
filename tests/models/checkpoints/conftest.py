"""Small models that the tests make themselves, one file or folder each."""

from __future__ import annotations

import json
import struct
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from kgeval import load_dataset
from kgeval.data.dataset import Dataset
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.runs.training import frozen_gc

ENTITIES = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu"]
RELATIONS = ["eats", "fears", "likes"]

OPTIONS = {
    "AutoSF": {"coefficients": ((0, 0, 1, 1), (1, 1, 1, -1), (1, 0, 0, 1)), "width": 2},
    "AConEx": {"by_triple": False},
    "BigGraph": {"operator": "diagonal", "comparator": "dot", "operand": "head", "bias": False},
    "BoxE": {"norm": 2, "tanh": True},
    "CP": {},
    "ClampedDistMult": {"low": -0.5, "high": 0.5},
    "ComplEx": {},
    "ConEx": {},
    "ConvE": {"height": 2},
    "ConvKB": {},
    "CrossE": {"activation": "tanh"},
    "DistMA": {},
    "DistMult": {},
    "MariusTransE": {},
    "ERMLP": {"activation": "relu"},
    "ERMLPE": {},
    "HolE": {},
    "KG2E": {"measure": "kl"},
    "Keci": {"p": 1},
    "LFMult": {"degree": 1},
    "LineaRE": {"norm": 1},
    "MuRE": {},
    "MultiLinearTucker": {},
    "NTN": {"activation": "tanh"},
    "PairRE": {"norm": 1},
    "ProjE": {"activation": "tanh"},
    "QuatE": {},
    "RESCAL": {},
    "RotatE": {"norm": 1},
    "SE": {"norm": 2},
    "SimplE": {},
    "TorusE": {"norm": 2},
    "TransD": {"norm": 1, "normalization": "unit"},
    "TransE": {"norm": 2},
    "TransF": {},
    "TransH": {"norm": 2, "normalization": "none"},
    "TransR": {"norm": 2, "normalization": "max_norm"},
    "Transformer": {"heads": 2},
    "TuckER": {},
    "pRotatE": {},
}

WIDTHS = {
    "BoxE": 8,
    "CP": 2,
    "ERMLP": 3,
    "ERMLPE": 3,
    "LineaRE": 12,
    "MultiLinearTucker": 3,
    "NTN": 32,
    "PairRE": 8,
    "RESCAL": 16,
    "SE": 12,
    "TransD": 3,
    "TransR": 3,
    "TuckER": 3,
}
"""of relations, where it is not that of entities, 4"""

ROWS = {
    "entity": {"entity", "entity_transfer", "head_bias", "tail_bias"},
    "relation": {
        "relation",
        "diagonal",
        "head_weight",
        "interaction",
        "normal",
        "projection",
        "relation_transfer",
        "slice_bias",
        "slice_output",
        "tail_relation",
        "tail_weight",
    },
}
"""the arrays that have a row for each"""


def arrays_of(model, *, relations=3, dtype=np.float32):
    """Random arrays of a family's shapes; RotatE's relations are rotations."""
    rng = np.random.default_rng(0)
    convolution = {"kernel": (2, 3, 3), "kernel_bias": (2,)}
    further = {
        "AConEx": {**convolution, "dense": (16, 8), "dense_bias": (8,)},
        "ConEx": {**convolution, "dense": (16, 4), "dense_bias": (4,)},
        "ConvE": {
            "kernel": (3, 2, 2),
            "kernel_bias": (3,),
            "dense": (9, 4),
            "dense_bias": (4,),
            "tail_bias": (len(ENTITIES),),
        },
        "ConvKB": {"kernel": (5, 3), "kernel_bias": (5,), "output": (5, 4), "output_bias": (1,)},
        "CrossE": {"interaction": (relations, 4), "bias": (4,)},
        "ERMLP": {"hidden": (11, 5), "hidden_bias": (5,), "output": (5,), "output_bias": (1,)},
        "ERMLPE": {"hidden": (7, 5), "hidden_bias": (5,), "dense": (5, 4), "dense_bias": (4,)},
        "Keci": {"coefficients": (3,)},
        "MuRE": {"diagonal": (relations, 4), "head_bias": (len(ENTITIES),), "tail_bias": (len(ENTITIES),)},
        "MultiLinearTucker": {"core": (1, 3, 3)},
        "NTN": {
            "head_weight": (relations, 8),
            "tail_weight": (relations, 8),
            "slice_bias": (relations, 2),
            "slice_output": (relations, 2),
        },
        "ProjE": {"head_scale": (4,), "relation_scale": (4,), "bias": (4,), "score_bias": (1,)},
        "TComplEx": {"time": (2, 4)},
        "TNTComplEx": {"time": (2, 4), "timeless": (relations, 4)},
        "SE": {"tail_relation": (relations, 12)},
        "TransD": {"entity_transfer": (len(ENTITIES), 4), "relation_transfer": (relations, 3)},
        "TransH": {"normal": (relations, 4)},
        "TransR": {"projection": (relations, 12)},
        "Transformer": {
            "position": (2, 4),
            "attention": (1, 4, 12),
            "attention_bias": (1, 12),
            "joined": (1, 4, 4),
            "joined_bias": (1, 4),
            "hidden": (1, 4, 5),
            "hidden_bias": (1, 5),
            "dense": (1, 5, 4),
            "dense_bias": (1, 4),
            "norm_scale": (1, 2, 4),
            "norm_shift": (1, 2, 4),
            "final": (4, 4),
            "final_bias": (4,),
        },
        "TuckER": {"core": (4, 3, 4), "head_scale": (4,), "product_shift": (4,)},
    }
    shapes = {"entity": (len(ENTITIES), 4), "relation": (relations, WIDTHS.get(model, 4)), **further.get(model, {})}
    arrays = {name: rng.normal(size=shape).astype(dtype) for name, shape in shapes.items()}
    if model == "KG2E":  # variances are positive
        for array in arrays.values():
            array[:, 2:] = np.abs(array[:, 2:]) + 0.1
    if model == "RotatE":
        phases = arrays["relation"][:, :2]
        arrays["relation"] = np.concatenate([np.cos(phases), np.sin(phases)], axis=1)
    return arrays


def write_arrays(path, arrays, **metadata):
    """Write a .npz or .safetensors file; metadata other than strings are written as JSON."""
    if path.suffix == ".npz":
        np.savez(path, **arrays)
        return path
    from safetensors.numpy import save_file

    save_file(
        arrays, path, {key: value if isinstance(value, str) else json.dumps(value) for key, value in metadata.items()}
    )
    return path


def write_labels(path, labels, order=None):
    """Write ``id<TAB>label`` lines, the ids in a given order."""
    lines = (f"{index}\t{labels[index]}\n" for index in (range(len(labels)) if order is None else order))
    path.write_text("".join(lines), encoding="utf-8")


def safetensors_file(folder, header, numbers=b"", length=None):
    """A file of this header and these bytes, the length of the header perhaps a lie."""
    encoded = json.dumps(header).encode()
    path = folder / "m.safetensors"
    path.write_bytes(struct.pack("<Q", len(encoded) if length is None else length) + encoded + numbers)
    return path


def same_tables(one, other):
    """Whether two rank tables have the same rows, to the last bit."""
    return one.data.combine_chunks().equals(other.data.combine_chunks())


def train(name, factories, folder, kwargs):
    """Train a PyKEEN model for one epoch and save it; return the model."""
    from pykeen.pipeline import pipeline

    testing = factories["testing"]
    with frozen_gc(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = pipeline(
            training=factories["training"],
            testing=testing.clone_and_exchange_triples(testing.mapped_triples[:1]),
            model=name,
            model_kwargs=kwargs,
            training_kwargs={"num_epochs": 1, "use_tqdm": False},
            evaluation_kwargs={"use_tqdm": False},
            random_seed=0,
            device="cpu",
        )
    # In float64, PyKEEN's scores are as good as exact, and ranks must agree.
    result.model.double()
    result.model.post_parameter_update()
    result.save_to_directory(folder)
    return result.model


@pytest.fixture(scope="session")
def factories():
    """PyKEEN's triples factories of Nations."""
    from pykeen.datasets import get_dataset

    graph = get_dataset(dataset="nations")
    return {"training": graph.training, "testing": graph.testing, "validation": graph.validation}


@pytest.fixture(scope="session")
def transe_folder(factories, tmp_path_factory):
    """What PyKEEN saves of a small TransE with norm 2."""
    folder = tmp_path_factory.mktemp("transe")
    train("TransE", factories, folder, {"embedding_dim": 3, "scoring_fct_norm": 2})
    return folder


@pytest.fixture(scope="session")
def umls(shared) -> Dataset:
    """The graph that the real checkpoints were trained on."""
    return load_dataset(shared / "checkpoints/pykeen/_data/umls")


@pytest.fixture
def graph() -> Dataset:
    rows = [(h, r, (3 * h + 2 * r + 1) % 7) for h in range(7) for r in range(3)]
    return Dataset.build(
        "animals",
        {"train": Triples.of(rows[:12]), "valid": Triples.of(rows[12:15]), "test": Triples.of(rows[15:])},
        entities=Vocabulary(ENTITIES),
        relations=Vocabulary(RELATIONS, "relation"),
    )


@pytest.fixture
def model_file(tmp_path) -> Path:
    """A DistMult without a word about what it is."""
    return write_arrays(tmp_path / "model.npz", arrays_of("DistMult"))


@pytest.fixture
def little_space():
    """Make writing fail beyond so many bytes a file, as on a full disk: in the middle of the write."""
    resource = pytest.importorskip("resource", reason="only Unix limits the size of files")

    @contextmanager
    def limited(size):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return limited


@pytest.fixture
def file(tmp_path):
    """Where a pickle that is written by hand is read from."""
    return tmp_path / "model.pkl"
