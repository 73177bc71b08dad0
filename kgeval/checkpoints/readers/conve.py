"""Models of the ConvE code: ``saved_models/<data>_<model>….model``, and its two vocabularies.

The vocabularies (``vocab_e1``, ``vocab_rel``) are plain pickles of lower-cased labels. Rows 0 and 1 are the code's own
tokens, which compete with no answer here; a relation ``r`` and its inverse ``r_reverse`` have a row each.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from kgeval.checkpoints.checkpoint import Checkpoint, Options
from kgeval.checkpoints.convolution import Network
from kgeval.checkpoints.places import folder_of, holds, one_of
from kgeval.checkpoints.reader import Reader
from kgeval.checkpoints.tensors import COUNTERS, Tensors, folded, names_in, side_by_side
from kgeval.errors import CheckpointError
from kgeval.graph.vocabulary import Vocabulary
from kgeval.pickles.pickled import read_pickle
from kgeval.scorers.families.complex import ComplEx
from kgeval.scorers.families.conve import ConvE
from kgeval.scorers.families.distmult import DistMult
from kgeval.scorers.family import Family
from kgeval.scorers.reciprocal import Reciprocal

REVERSE = "_reverse"
CHANNELS = 32
"""of the code's convolution, which has kernels of 3 × 3"""


def read(path: Path, options: Options) -> Checkpoint:
    """Read a model and its vocabularies, which lie beside it or in the folder of the option ``labels``.

    Raises
    ------
    CheckpointError
        if a file is missing or damaged
    """
    file = one_of(path, [_fits], "model of the ConvE code")
    tensors = Tensors.read(file)
    place = Path(str(options.resolve("labels", None, "") or folder_of(path)))
    entity_file, relation_file = place / "vocab_e1", place / "vocab_rel"
    entities, relations = _tokens(entity_file), _tokens(relation_file)
    forward = [name for name in relations if name + REVERSE in relations]
    rows = [relations[name] for name in forward] + [relations[name + REVERSE] for name in forward]
    stored = next((name for name, telltale in TELLTALE.items() if telltale in tensors), None)
    name = options.require("model", stored, file.name, list(MODELS) if stored is None else [stored])
    model = Reciprocal(MODELS[name](tensors, rows, options))
    options.account(model.family, "ConvE", height="embedding_shape1")
    tensors.refuse_unused(name, COUNTERS)
    dataset = options.dataset
    return Checkpoint(
        model,
        "conve",
        (file, entity_file, relation_file),
        _spelt(list(entities), None if dataset is None else dataset.entities, "entity"),
        _spelt(forward, None if dataset is None else dataset.relations, "relation"),
        options.origins,
    )


def _tokens(file: Path) -> dict[str, int]:
    """Read the ids of the tokens; they are 0 … n − 1 in the order of the ids."""
    if not file.is_file():
        raise CheckpointError(
            f"{file}: missing. The ConvE code keeps it in $HOME/.data/<data>/; copy it beside the model, or name its "
            "folder with the option labels."
        )
    content = read_pickle(file)
    tokens = content[0] if isinstance(content, list) and content else None
    if not isinstance(tokens, dict) or not _number_all(list(tokens.values())):
        raise CheckpointError(f"{file}: no vocabulary of the ConvE code.")
    return {str(name): row for name, row in sorted(tokens.items(), key=lambda item: item[1])}


def _number_all(ids: list[Any]) -> bool:
    """Whether ids are 0 … n − 1, each once."""
    return all(type(row) is int for row in ids) and sorted(ids) == list(range(len(ids)))


def _spelt(lowered: list[str], ours: Vocabulary | None, kind: str) -> Vocabulary:
    """Spell lower-cased labels as the dataset does, where that is clear."""
    spellings: dict[str, set[str]] = {}
    for label in ours or ():
        spellings.setdefault(label.lower(), set()).add(label)
    known = {name: next(iter(found)) for name, found in spellings.items() if len(found) == 1}
    return Vocabulary([known.get(name, name) for name in lowered], kind)


def _conve(tensors: Tensors, rows: list[int], options: Options) -> Family:
    entity, relation = tensors.matrix("emb_e.weight"), tensors.matrix("emb_rel.weight")
    dense, kernel = tensors.matrix("fc.weight"), tensors.take("conv1.weight", 4)
    before, within, after = (folded(tensors, name) for name in ("bn0", "bn1", "bn2"))
    network = Network(kernel, dense, tensors.find("conv1.bias", 1), tensors.find("fc.bias", 1), before, within, after)
    height = _height(tensors, entity.shape[1], dense.shape[1], options)
    return ConvE(entity, relation[rows], **network.arrays(), tail_bias=tensors.take("b", 1), height=height)


def _height(tensors: Tensors, width: int, features: int, options: Options) -> int:
    """Find the height of the image, which the code does not save, from the features that the convolution leaves."""
    fitting = [
        height
        for height in range(1, width + 1)
        if width % height == 0 and CHANNELS * (2 * height - 2) * (width // height - 2) == features
    ]
    if not fitting:
        raise CheckpointError(f"{tensors.path}: no image of {width} numbers leaves {features} features.")
    only = fitting[0] if len(fitting) == 1 else None
    return int(options.require("embedding_shape1", only, tensors.path.name, fitting))


def _complex(tensors: Tensors, rows: list[int], _: Options) -> Family:
    entity, relation = (
        side_by_side(tensors.path, *(tensors.matrix(f"emb_{kind}_{part}.weight") for part in ("real", "img")))
        for kind in ("e", "rel")
    )
    return ComplEx(entity, relation[rows])


MODELS: dict[str, Callable[[Tensors, list[int], Options], Family]] = {
    "ConvE": _conve,
    "ComplEx": _complex,
    "DistMult": lambda tensors, rows, _: DistMult(
        tensors.matrix("emb_e.weight"), tensors.matrix("emb_rel.weight")[rows]
    ),
}

TELLTALE = {"ConvE": "conv1.weight", "ComplEx": "emb_e_real.weight", "DistMult": "emb_e.weight"}
"""the tensor that tells a model from those after it"""


def _fits(file: Path) -> bool:
    found = names_in(file) if file.suffix in {".model", ".pt", ".pth"} else frozenset()
    return {"emb_e.weight", "emb_rel.weight"} <= found or {"emb_e_real.weight", "emb_rel_real.weight"} <= found


READER = Reader(
    name="conve",
    summary="a model of the ConvE code (.model) with vocab_e1 and vocab_rel beside it",
    recognises=lambda path: holds(path, _fits),
    read=read,
)
