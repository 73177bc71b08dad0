"""Models of dice-embeddings: tensors that are read as the configuration beside them says, with the ids of the labels.

``load_checkpoint`` calls the reader: a path and the user's options become a ``Checkpoint``. A folder has ``model.pt``,
``configuration.json``, and the ids as pickles or CSV files. If the relations have inverses (``<r>_inverse``), heads are
predicted with these. ``Pykeen_…`` are models of PyKEEN's that dice-embeddings trained: their tensors have PyKEEN's
names, and the user is asked for options that these do not show.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kgeval.base.arrays import Float64Array, FloatArray
from kgeval.base.errors import CheckpointError, UsageError
from kgeval.base.files import no_file
from kgeval.base.pickled import read_pickled
from kgeval.data.id_files import vocabulary_by_id
from kgeval.data.tables import read_text
from kgeval.data.text import first_line
from kgeval.data.vocabulary import Vocabulary
from kgeval.models.checkpoints.checkpoint import Checkpoint
from kgeval.models.checkpoints.labels import CheckpointLabels, vocabulary_of_ids, with_inverses
from kgeval.models.checkpoints.locate import folder_of, naming, settings_in
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.readers import Reader
from kgeval.models.checkpoints.readers.pykeen import IGNORED_TENSORS, REQUIRED_OPTIONS, model_of_state
from kgeval.models.checkpoints.readers.pykeen_interactions import family_of
from kgeval.models.checkpoints.readers.pykeen_modules import PyKEENModel
from kgeval.models.checkpoints.tensors import COUNTERS, LIGHTNING, Tensors, check_same_rows, fold_batch_norm, names_in
from kgeval.models.families.bilinear import DistMult
from kgeval.models.families.complex import ComplEx
from kgeval.models.families.convolutions import AConEx, ConEx, folded_layers
from kgeval.models.families.hypercomplex import Keci, LFMult, QuatE
from kgeval.models.families.translations import TransE
from kgeval.models.family import Family

MODEL, AVERAGED, CONFIG = "model.pt", "aswa.pt", "configuration.json"
"""``aswa.pt`` is written too if weights are averaged over epochs, and may be there without ``model.pt``"""

INVERSE = "_inverse"

ENTITY, RELATION = "entity_embeddings.weight", "relation_embeddings.weight"

PYKEEN = "Pykeen_"
"""the beginning of the names of PyKEEN's models"""

EPSILON = 1e-6
"""the number that PyTorch's pairwise distance adds to every difference"""

BY_TRIPLE, BY_QUERY = ("NegSample", "FixedNegSample"), ("KvsAll", "1vsAll", "AllvsAll", "1vsSample", "KvsSample")
"""the scoring techniques whose models dice-embeddings evaluates triple by triple, and query by query"""


def read(path: Path, options: Options) -> Checkpoint:
    """Read a model as ``configuration.json`` describes it, and the ids of its labels."""
    folder = folder_of(path)
    file, config = _file(folder), settings_in(folder / CONFIG)
    if not file.is_file():
        raise CheckpointError(no_file(file))
    tensors = Tensors.read(file, options)
    name = _model_name(folder / CONFIG, config, options)
    entity, relation = tensors.matrix(ENTITY), tensors.matrix(RELATION)
    entity_file, entities = _labels(folder, "entity", len(entity))
    relation_file, relations = _labels(folder, "relation", len(relation))
    forward, order = with_inverses(relations, INVERSE)
    inverse = bool(order) and len(order) == len(relations)
    order = order if inverse else [*range(len(relations))]
    options.resolve("reciprocal", inverse, relation_file.name)
    if name.startswith(PYKEEN):
        family = _pykeens(name.removeprefix(PYKEEN), tensors, order, options)
    else:
        family = MODELS[name](SavedModel(entity, relation[order], tensors, config))
    for key in ("p", "q") if name == "Keci" else ():
        options.resolve(key, config.get(key), CONFIG)
    options.record_origins(family, "dice-embeddings", by_triple="scoring_technique")
    tensors.refuse_unused(name, COUNTERS)
    relations = Vocabulary(forward, "relation") if inverse else relations
    labels = CheckpointLabels(entities, relations, (entity_file, relation_file))
    return labels.checkpoint(family, "dicee", [file, folder / CONFIG], options, reciprocal=inverse)


def _recognises(path: Path) -> bool:
    folder = folder_of(path)
    inside = path.is_dir() or path == _file(folder)
    return inside and (folder / CONFIG).is_file() and {ENTITY, RELATION} <= names_in(_file(folder))


READER = Reader(
    name="dicee",
    summary="a folder of dice-embeddings (model.pt, configuration.json, entity_to_idx and relation_to_idx)",
    recognises=_recognises,
    read=read,
    known_by=(frozenset({ENTITY, RELATION}), frozenset({MODEL, CONFIG})),
)


def _file(folder: Path) -> Path:
    """Return the file of the weights: ``aswa.pt`` if it is there alone, else ``model.pt``.

    If both are there, ``model.pt`` has the averaged weights too.
    """
    averaged = folder / AVERAGED
    return averaged if averaged.is_file() and not (folder / MODEL).is_file() else folder / MODEL


def _model_name(path: Path, config: dict[str, Any], options: Options) -> str:
    """Return the name of the model, and put the user's options into the configuration."""
    known = [*MODELS, *(PYKEEN + name for name in sorted(REQUIRED_OPTIONS))]
    name = str(options.require("model", config.get("model"), CONFIG, known))
    if str(config.get("normalization")) not in {"None", "none"}:
        raise CheckpointError(f"{path}: kgeval does not read models with normalization layers.")
    if name == "AConEx":
        technique = config.get("scoring_technique")
        config["scoring_technique"] = options.require("scoring_technique", technique, CONFIG, [*BY_TRIPLE, *BY_QUERY])
    if name == "LFMult":
        config["degree"] = options.resolve("degree", config.get("degree"), CONFIG)
    return name


def _labels(folder: Path, kind: str, count: int) -> tuple[Path, Vocabulary]:
    """Read the labels of a kind from a pickled dictionary, or from the column of a table that is called as the kind."""
    file, table_file = (folder / f"{kind}_to_idx{ending}" for ending in (".p", ".csv"))
    if file.is_file():
        labels = vocabulary_of_ids(file, read_pickled(file), kind)
    elif (file := table_file).is_file():
        header = first_line(file).split(",")
        if len(header) != 2 or header.count(kind) != 1:
            raise CheckpointError(f"{file}: its first row is {','.join(header)!r}; expected ',{kind}' as dicee writes.")
        names = ["label" if name == kind else "id" for name in header]
        labels = vocabulary_by_id(read_text(file, names, skip=1), kind)
    else:
        raise CheckpointError(f"{folder}: {kind}_to_idx.p or {kind}_to_idx.csv is missing.")
    if len(labels) != count:
        raise CheckpointError(f"{file}: its {len(labels)} ids are not 0 to {count - 1}, each once.")
    return file, labels


def _pykeens(name: str, tensors: Tensors, order: list[int], options: Options) -> Family:
    """Make a model of PyKEEN's: its tensors lie under ``model.``, and some again under dice-embeddings' names."""
    inside = tensors.under(LIGHTNING)
    arrays = {key: inside.get(key) for key in inside}
    relations = [key for key in arrays if key.startswith("relation_representations.")]
    check_same_rows(tensors.path, [tensors.matrix(RELATION), *(arrays[key] for key in relations)])
    arrays |= {key: arrays[key][order] for key in relations}
    state = Tensors(tensors.path, arrays)
    for alias in (ENTITY, RELATION, *(key for key in tensors if key.startswith("interaction."))):
        tensors.get(alias)
    model = model_of_state(state, name, options, CONFIG)
    with naming(tensors.path):
        family = family_of(PyKEENModel.of(model, inverse=False), name)
    state.refuse_unused(name, *IGNORED_TENSORS)
    return family


class SavedModel(NamedTuple):
    """The tables, all tensors and the configuration of a model of dice-embeddings."""

    entity: FloatArray
    relation: FloatArray
    """the relations, followed by their inverses if they have any"""
    tensors: Tensors
    config: dict[str, Any]


def _keci(parts: SavedModel) -> Family:
    entity, relation, tensors, config = parts
    p, q = (int(config.get(name) or 0) for name in ("p", "q"))
    if p + q == 0:
        return DistMult(entity, relation)
    scales = [tensors.take(f"{name}_coefficients.weight", 1, count)[0] for name, count in (("p", p), ("q", q)) if count]
    return Keci(_blocks(entity, p, q), _blocks(relation, p, q), coefficients=np.concatenate(scales), p=p)


def _blocks(array: FloatArray, p: int, q: int) -> FloatArray:
    """Reorder [x_0 | x_1 x_2 … of each dimension in turn] into blocks [x_0 | x_1 | x_2 | …], those of p before q."""
    width, rest = divmod(array.shape[1], 1 + p + q)
    if rest:
        raise CheckpointError(f"{array.shape[1]} columns cannot be divided into multivectors of Cl_({p},{q}).")
    head, squares, others = np.split(array, [width, width * (1 + p)], axis=1)
    blocks = [part[:, index::count] for part, count in ((squares, p), (others, q)) for index in range(count)]
    return np.concatenate([head, *blocks], axis=1)


def _aconex(parts: SavedModel) -> Family:
    by_triple = parts.config["scoring_technique"] in BY_TRIPLE
    return AConEx(parts.entity, parts.relation, **_layers(parts, AConEx.halves), by_triple=by_triple)


def _layers(parts: SavedModel, halves: int) -> dict[str, Float64Array]:
    """Take the layers of ConEx, whose network makes ``halves`` vectors, each half as long as an entity's."""
    tensors = parts.tensors
    kernel = tensors.take("conv2d.weight", None, 1, 3, 3)
    channels, width = len(kernel), parts.entity.shape[1]
    return folded_layers(
        kernel=kernel,
        kernel_bias=tensors.take("conv2d.bias", channels),
        dense=tensors.take("fc1.weight", halves * width // 2, 2 * width * channels),
        dense_bias=tensors.take("fc1.bias", halves * width // 2),
        within=fold_batch_norm(tensors.under("bn_conv2d."), channels),
    )


def _lfmult(parts: SavedModel) -> Family:
    degree = parts.config.get("degree")
    width = parts.entity.shape[1]
    if type(degree) is not int or not 0 < degree < width:
        fault = f"{CONFIG}: the degree of LFMult is {degree!r:.40}; expected one from 1 to {width - 1}"
        raise UsageError(f"{fault}. If the file does not contain it, give the option, such as degree=1.")
    return LFMult(parts.entity, parts.relation, degree=degree)


MODELS: dict[str, Callable[[SavedModel], Family]] = {
    "AConEx": _aconex,
    "ComplEx": lambda parts: ComplEx(parts.entity, parts.relation),
    "ConEx": lambda parts: ConEx(parts.entity, parts.relation, **_layers(parts, ConEx.halves)),
    "DistMult": lambda parts: DistMult(parts.entity, parts.relation),
    "Keci": _keci,
    "LFMult": _lfmult,
    "QMult": lambda parts: QuatE(parts.entity, parts.relation),
    "TransE": lambda parts: TransE(parts.entity, np.asarray(parts.relation, np.float64) + EPSILON, 2),
}
