"""AmpliGraph's models: version 2 saves TensorFlow's numbered variables and a pickle of labels, version 1 one pickle.

``load_checkpoint`` calls the readers: a path and the user's options become a ``Checkpoint``. AmpliGraph compares scores
in thousandths; here they are compared as they are. Version 1 evaluates otherwise than version 2: the protocol
``ampligraph1`` has its rules.

The files of TensorFlow
-----------------------
TensorFlow's tensor bundles and Keras's metadata are read without TensorFlow. ``variables.index`` is a LevelDB table:
blocks of sorted keys, a block of handles to them, and a footer. Its values are protocol buffers that say where in
``variables.data-…`` a tensor lies.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.arrays import FloatArray
from kgeval.base.errors import CheckpointError
from kgeval.base.files import Budget, checked, read_bytes
from kgeval.base.pickled import read_pickled
from kgeval.data.vocabulary import Vocabulary
from kgeval.models.checkpoints.checkpoint import Checkpoint
from kgeval.models.checkpoints.labels import CheckpointLabels, find_labels, vocabulary_of_ids
from kgeval.models.checkpoints.locate import (
    contains_file,
    find_checkpoint_file,
    find_checkpoint_folder,
    naming,
    readable,
)
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.readers import Reader
from kgeval.models.checkpoints.state_dict_format import holds
from kgeval.models.checkpoints.tensors import check_shape
from kgeval.models.families.bilinear import DistMult
from kgeval.models.families.complex import ComplEx, RotatE
from kgeval.models.families.translations import TransE
from kgeval.models.family import Family

KERAS = "keras_metadata.pb"

NORM = 1
"""the p of TransE's distance if its hyperparameters do not say it"""

VARIABLE = "variables/{}/.ATTRIBUTES/VARIABLE_VALUE"


def read_ampligraph2(path: Path, options: Options) -> Checkpoint:
    """Read a model, its name from Keras's metadata and its labels from the ``.ampkl``, or else from label files."""
    folder = find_checkpoint_folder(path, KERAS, "variables") or path
    settings, tensors = keras_settings(folder / KERAS), read_bundle(folder / "variables")
    name = options.require("scoring_type", settings.get("scoring_type"), KERAS, list(MODELS))
    with readable(folder / "variables", "model of AmpliGraph 2"):
        entity, relation = _tables(folder / "variables", *(tensors[VARIABLE.format(index)] for index in range(2)))
    family = MODELS[name](entity, relation, settings | {"norm": NORM})
    options.record_origins(family, "AmpliGraph")
    pickles = sorted(folder.glob("*_metadata.ampkl"))
    labels = find_labels(folder, options)
    if labels.entities is None and pickles:
        labels = _pickled_labels(pickles[0])
    files = (folder / KERAS, *sorted((folder / "variables").iterdir()))
    return labels.checkpoint(family, "ampligraph", files, options, name=name, numbering="files")


AMPLIGRAPH2 = Reader(
    name="ampligraph",
    summary="a folder that AmpliGraph 2 saved (saved_model.pb, keras_metadata.pb, variables, *_metadata.ampkl)",
    recognises=lambda path: find_checkpoint_folder(path, KERAS, "variables") is not None,
    read=read_ampligraph2,
    known_by=(frozenset({KERAS, "variables"}),),
)

NAMES = frozenset({"class_name", "hyperparams", "ent_to_idx", "rel_to_idx", "model_params"})

_fits = holds({".pkl", ".pickle"}, NAMES)


def read_ampligraph1(path: Path, options: Options) -> Checkpoint:
    """Read a model; its name, the norm of a TransE and the labels are in the file."""
    file = find_checkpoint_file(path, [_fits], "model of AmpliGraph 1")
    content = read_pickled(file)
    with readable(file, "model of AmpliGraph 1"):
        stored, further = content["class_name"], content["hyperparams"].get("embedding_model_params", {})
        norm = further.get("norm", NORM)
        entity_ids, relation_ids = content["ent_to_idx"], content["rel_to_idx"]
        entity, relation = content["model_params"]
        entity, relation = _tables(file, entity, relation)
    name = options.require("model", stored, file.name, [name for name in MODELS if name != "RotatE"])
    norm = options.require("norm", norm, file.name, [1, 2]) if name == "TransE" else None
    family = MODELS[name](entity, relation, {"norm": norm, "k": relation.shape[1] // 2})
    entities = vocabulary_of_ids(file, entity_ids, "entity")
    relations = vocabulary_of_ids(file, relation_ids, "relation")
    return CheckpointLabels(entities, relations).checkpoint(family, "ampligraph1", [file], options, name=name)


AMPLIGRAPH1 = Reader(
    name="ampligraph1",
    summary="a model that AmpliGraph 1 saved (.pkl); its own evaluation is the protocol of the same name",
    recognises=lambda path: contains_file(path, _fits),
    read=read_ampligraph1,
)


def _pickled_labels(file: Path) -> CheckpointLabels:
    content = read_pickled(file)
    if not isinstance(content, dict):
        raise CheckpointError(f"{file}: holds no labels of AmpliGraph.")
    entities = _vocabulary(content.get("entities_dict"), "entity", file)
    return CheckpointLabels(entities, _vocabulary(content.get("relations_dict"), "relation", file), (file,))


def _vocabulary(named: Any, kind: str, file: Path) -> Vocabulary:
    if not isinstance(named, dict):
        cure = "Write them to entities.tsv and relations.tsv (id<TAB>label), and give the option labels=FOLDER."
        raise CheckpointError(f"{file}: its {kind} labels are in a database of AmpliGraph. {cure}")
    return vocabulary_of_ids(file, {label: row for row, label in named.items() if isinstance(label, str)}, kind)


def _tables(where: Path, entity: Any, relation: Any) -> tuple[FloatArray, FloatArray]:
    with naming(where):
        entities = check_shape("entities", entity, None, None)
        return entities, check_shape("relations", relation, None, entities.shape[1])


def _number(settings: dict[str, Any], name: str) -> int:
    value = settings.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise CheckpointError(f"{KERAS}: {name} is {value!r}; expected a positive number.")
    return value


def _rotate(entity: FloatArray, relation: FloatArray, settings: dict[str, Any]) -> Family:
    """Phases are stored in units of (the range of Glorot's initialisation / π); half of the columns are not used."""
    size, width = _number(settings, "max_rel_size"), _number(settings, "k")  # width: the number of complex dimensions
    extent = np.sqrt(6 / (2 * width * size))
    return RotatE(entity, np.asarray(relation[:, :width], np.float64) / (extent / np.pi), 1)


MODELS: dict[str, Callable[[FloatArray, FloatArray, dict[str, Any]], Family]] = {
    "TransE": lambda entity, relation, settings: TransE(entity, relation, settings["norm"]),
    "DistMult": lambda entity, relation, _: DistMult(entity, relation),
    "ComplEx": lambda entity, relation, _: ComplEx(entity, relation),
    # HolE in the frequency domain: 2 over the number of its dimensions times ComplEx.
    "HolE": lambda entity, relation, settings: ComplEx(
        entity, np.asarray(relation, np.float64) * (2 / _number(settings, "k"))
    ),
    "RotatE": _rotate,
}

MAGIC = 0xDB4775248B80FB57

FOOTER = 48

BLOCKS = 2
"""how many times the size of a table its blocks may have together"""

KEY = 2**12
"""the most bytes of a key: a key may begin with the whole key before it, so a short table could hold very long ones"""

FLOAT = 1
"""TensorFlow's number for float32"""

Message = dict[int, list[Any]]
"""the fields of a protocol buffer: the number of a field -> its values, which are whole numbers or bytes"""


def read_bundle(folder: Path) -> dict[str, FloatArray]:
    """Read the float32 tensors of a ``variables`` folder, by name."""
    index, data = folder / "variables.index", folder / "variables.data-00000-of-00001"
    with readable(data, "tensors of TensorFlow"):
        checked(data)
        numbers = np.memmap(data, np.uint8, "r")
    with readable(index, "table of TensorFlow"):
        entries = dict(_table(read_bytes(index), Budget(index, times=BLOCKS)))
        floats = {name: value for name, value in entries.items() if name and message(value).get(1) == [FLOAT]}
        return {name.decode(): _tensor(value, numbers) for name, value in floats.items()}


def _table(data: bytes, budget: Budget) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and values of a LevelDB table; ``budget`` limits their size, as handles may repeat a block."""
    if len(data) < FOOTER or int.from_bytes(data[-8:], "little") != MAGIC:
        raise ValueError("no table")
    _, at = _handle(data, len(data) - FOOTER)
    index, _ = _handle(data, at)
    for _, value in _block(data, *index):
        handle, _ = _handle(value, 0)
        budget.take(handle[1])
        yield from _block(data, *handle)


def _block(data: bytes, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    block = data[offset : offset + size]
    if len(block) != size or size < 4 or data[offset + size] != 0:
        raise ValueError("a block of the table is cut short or compressed")
    end = size - 4 * (1 + int.from_bytes(block[-4:], "little"))
    at, key = 0, b""
    while at < end:
        shared, at = _varint(block, at)
        tail, at = _varint(block, at)
        length, at = _varint(block, at)
        if shared > len(key) or at + tail + length > end or shared + tail > KEY:
            raise ValueError("an entry of the table reaches beyond it")
        key = key[:shared] + block[at : at + tail]
        yield key, block[at + tail : at + tail + length]
        at += tail + length


def _handle(data: bytes, at: int) -> tuple[tuple[int, int], int]:
    offset, at = _varint(data, at)
    size, at = _varint(data, at)
    return (offset, size), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value, at
    raise ValueError("a number has no end")


def _tensor(value: bytes, numbers: Any) -> FloatArray:
    """Take a tensor from the data file, by its entry ``value``: fields 2 shape, 3 file, 4 offset, 5 size."""
    fields = message(value)
    dimensions = [part for shape in fields.get(2, []) for part in message(shape).get(2, [])]
    shape = [int(message(dimension).get(1, [0])[0]) for dimension in dimensions]
    offset, size = (int(fields.get(number, [0])[0]) for number in (4, 5))
    if fields.get(3, [0]) != [0] or size != 4 * int(np.prod(shape, dtype=object)) or offset + size > len(numbers):
        raise ValueError(f"a tensor of shape {shape} is not where the table says")
    array: FloatArray = numbers[offset : offset + size].view("<f4").reshape(shape)
    return array


def message(data: bytes) -> Message:
    """Read the fields of a protocol buffer by their numbers: integers, and everything else as bytes.

    >>> message(bytes([0x08, 0x96, 0x01, 0x12, 0x02, 0x68, 0x69]))
    {1: [150], 2: [b'hi']}
    """
    fields: Message = {}
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        value: int | bytes
        if kind == 0:
            value, at = _varint(data, at)
        else:
            size, at = (8, at) if kind == 1 else (4, at) if kind == 5 else _varint(data, at)
            if kind not in (1, 2, 5) or at + size > len(data):
                raise ValueError("a protocol buffer is cut short")
            value, at = data[at : at + size], at + size
        fields.setdefault(key >> 3, []).append(value)
    return fields


def keras_settings(path: Path) -> dict[str, Any]:
    """Read the configuration of the model, the first one in ``keras_metadata.pb``."""
    with readable(path, "metadata of Keras"):
        for node in message(read_bytes(path)).get(1, []):
            for text in message(node).get(5, []):
                config = json.loads(text).get("config")
                if isinstance(config, dict):
                    return config
        raise ValueError("it holds no configuration of a model")
