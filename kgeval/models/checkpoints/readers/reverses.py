"""Models of the ConvE code and the TuckER code, in which a relation and its reverse (``<r>_reverse``) have a row each.

``load_checkpoint`` calls the readers: a path and the user's options become a ``Checkpoint``.

The files
---------
A model of the ConvE code is ``saved_models/<data>_<model>….model``. Its vocabularies (``vocab_e1``, ``vocab_rel``) are
plain pickles of lower-cased labels. Rows 0 and 1 are the code's own tokens, which are no candidates here.

A model of the TuckER code is a ``state_dict`` that its users save. Only the dataset shows which row is which relation:
entities have the ids of their sorted labels, and so have relations and their reverses, those of train first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.arrays import FloatArray
from kgeval.base.errors import CheckpointError
from kgeval.base.pickled import read_pickled
from kgeval.data.dataset import Dataset
from kgeval.data.vocabulary import Vocabulary
from kgeval.models.checkpoints.checkpoint import Checkpoint
from kgeval.models.checkpoints.labels import CheckpointLabels, named_folder, vocabulary_of_ids, with_inverses
from kgeval.models.checkpoints.locate import contains_file, find_checkpoint_file, folder_of
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.readers import Reader
from kgeval.models.checkpoints.state_dict_format import holds
from kgeval.models.checkpoints.tensors import COUNTERS, Tensors, fold_batch_norm
from kgeval.models.families.bilinear import DistMult, TuckER
from kgeval.models.families.complex import ComplEx
from kgeval.models.families.convolutions import ConvE, folded_layers
from kgeval.models.family import Family

REVERSE = "_reverse"
"""the ending that makes the name of a relation the name of its reverse"""

CONVE_TABLES = (frozenset({"emb_e.weight", "emb_rel.weight"}), frozenset({"emb_e_real.weight", "emb_rel_real.weight"}))
"""the tables of entities and relations: of a ConvE or DistMult, and of a ComplEx"""

_is_conve = holds({".model", ".pt", ".pth"}, *CONVE_TABLES)


def read_conve(path: Path, options: Options) -> Checkpoint:
    """Read a model and its vocabularies, which lie beside it or in the folder of the option ``labels``."""
    file = find_checkpoint_file(path, [_is_conve], "model of the ConvE code")
    tensors = Tensors.read(file, options)
    place = named_folder(options) or folder_of(path)
    entity_file, relation_file = place / "vocab_e1", place / "vocab_rel"
    entities, relations = _tokens(entity_file, "entity"), _tokens(relation_file, "relation")
    forward, rows = with_inverses(relations, REVERSE)
    stored = next((name for name, tensor in DISTINGUISHING_TENSOR.items() if tensor in tensors), None)
    name = options.require("model", stored, file.name, list(DISTINGUISHING_TENSOR))
    parts = ("_real", "_img") if name == "ComplEx" else ("",)
    entity, relation = (
        tensors.side_by_side(*(f"emb_{kind}{part}.weight" for part in parts), rows=len(vocabulary))
        for kind, vocabulary in (("e", entities), ("rel", relations))
    )
    relation = relation[rows]
    family = _conve(tensors, entity, relation, options) if name == "ConvE" else BILINEAR[name](entity, relation)
    options.record_origins(family, "ConvE", height="embedding_shape1")
    tensors.refuse_unused(name, COUNTERS)
    known = (None, None) if (dataset := options.dataset) is None else (dataset.entities, dataset.relations)
    labels = CheckpointLabels(
        _with_dataset_spelling(entities, known[0], "entity"),
        _with_dataset_spelling(forward, known[1], "relation"),
        (entity_file, relation_file),
    )
    return labels.checkpoint(family, "conve", [file], options, reciprocal=True)


CONVE = Reader(
    name="conve",
    summary="a model of the ConvE code (.model) with vocab_e1 and vocab_rel beside it",
    recognises=lambda path: contains_file(path, _is_conve),
    read=read_conve,
    known_by=CONVE_TABLES,
)


def _tokens(file: Path, kind: str) -> Vocabulary:
    if not file.is_file():
        cure = "Copy it beside the model, or give its folder with the option labels=FOLDER."
        raise CheckpointError(f"{file}: missing. The ConvE code writes it to $HOME/.data/<data>/. {cure}")
    content = read_pickled(file)
    tokens = content[0] if isinstance(content, list) and content else None
    return vocabulary_of_ids(file, tokens, kind)


def _with_dataset_spelling(lowered: Iterable[str], labels: Vocabulary | None, kind: str) -> Vocabulary:
    spellings: dict[str, set[str]] = {}
    for label in labels or ():
        spellings.setdefault(label.lower(), set()).add(label)
    known = {name: next(iter(forms)) for name, forms in spellings.items() if len(forms) == 1}
    return Vocabulary([known.get(name, name) for name in lowered], kind)


DISTINGUISHING_TENSOR = {"ConvE": "conv1.weight", "ComplEx": "emb_e_real.weight", "DistMult": "emb_e.weight"}
"""a tensor of each model that the models after it do not have"""

BILINEAR: dict[str, Callable[[FloatArray, FloatArray], Family]] = {"ComplEx": ComplEx, "DistMult": DistMult}
"""the models that consist of two tables alone"""

KERNELS = (32, 1, 3, 3)
"""the code's convolution: channels, input channels, height and width"""


def _conve(tensors: Tensors, entity: FloatArray, relation: FloatArray, options: Options) -> Family:
    width, channels = entity.shape[1], KERNELS[0]
    dense = tensors.take("fc.weight", width, None)
    layers = folded_layers(
        kernel=tensors.take("conv1.weight", *KERNELS),
        kernel_bias=tensors.find("conv1.bias", channels),  # there only if the user asked for it
        dense=dense,
        dense_bias=tensors.take("fc.bias", width),
        before=fold_batch_norm(tensors.under("bn0."), 1),
        within=fold_batch_norm(tensors.under("bn1."), channels),
        after=fold_batch_norm(tensors.under("bn2."), width),
    )
    height = _height(tensors, width, dense.shape[1], options)
    return ConvE(entity, relation, **layers, tail_bias=tensors.take("b", len(entity)), height=height)


def _height(tensors: Tensors, width: int, features: int, options: Options) -> int:
    """Find the height of the image, which the code does not save, from the features that the convolution leaves."""
    fitting = [
        height
        for height in range(1, width + 1)
        if width % height == 0 and KERNELS[0] * (2 * height - 2) * (width // height - 2) == features
    ]
    if not fitting:
        raise CheckpointError(f"{tensors.path}: an image of {width} numbers cannot give {features} features.")
    only = fitting[0] if len(fitting) == 1 else None
    return int(options.require("embedding_shape1", only, tensors.path.name, fitting))


TUCKER_TENSORS = frozenset({"E.weight", "R.weight", "W"})

_is_tucker = holds({".pt", ".pth", ".pkl", ".model"}, TUCKER_TENSORS)


def read_tucker(path: Path, options: Options) -> Checkpoint:
    """Read a model; the dataset says which rows are relations and which are their reverses."""
    file = find_checkpoint_file(path, [_is_tucker], "state_dict of a TuckER")
    tensors = Tensors.read(file, options)
    options.resolve("model", "TuckER", file.name)
    entity, relation = tensors.matrix("E.weight"), tensors.matrix("R.weight")
    width = entity.shape[1]
    core = tensors.take("W", relation.shape[1], width, width)
    dataset, count = options.dataset, len(relation)
    forward, rows = (None, [*range(count)]) if dataset is None else _tucker_rows(dataset, count, file)
    before, after = (fold_batch_norm(tensors.under(name), width) for name in ("bn0.", "bn1."))
    family = TuckER(entity, relation[rows], core.transpose(1, 0, 2), *before, *after)
    tensors.refuse_unused("TuckER", COUNTERS)
    missing = "which of its rows are relations, and which their reverses" if forward is None else ""
    labels = CheckpointLabels(relations=None if forward is None else Vocabulary(forward, "relation"))
    details: dict[str, Any] = {"reciprocal": forward is not None, "numbering": "sorted"}
    return labels.checkpoint(family, "tucker", [file], options, missing_without_dataset=missing, **details)


TUCKER = Reader(
    name="tucker",
    summary="a state_dict of the TuckER code (.pt); the dataset says which row is which relation",
    recognises=lambda path: contains_file(path, _is_tucker),
    read=read_tucker,
    known_by=(TUCKER_TENSORS,),
)


def _tucker_rows(dataset: Dataset, count: int, file: Path) -> tuple[list[str], list[int]]:
    """Return the relations, and their rows followed by the rows of their reverses.

    The code numbers the sorted relations and reverses of train first, then further ones of the next splits.
    """
    known: dict[str, None] = {}
    for triples in dataset.splits.values():
        names = [dataset.relations[int(relation)] for relation in np.unique(triples.relations)]
        known.update(dict.fromkeys(sorted(chain(names, (name + REVERSE for name in names)))))
    forward, rows = with_inverses(known, REVERSE)
    if count != len(known) or len(known) != len(rows):
        raise CheckpointError(f"{file}: {count} relations and reverses, but the dataset has {len(forward)} relations.")
    return forward, rows
