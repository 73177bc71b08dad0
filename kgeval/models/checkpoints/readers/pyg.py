"""PyTorch Geometric's models, a ``state_dict`` or a module. They are no table: live models share their formulas.

The models are those of ``torch_geometric.nn.kge``. The library saves nothing and keeps no labels: ids are the user's. A
``state_dict`` does not tell TransE from DistMult, nor TransE's ``p_norm``, which are asked for; a pickled module has
both. Nothing of a module is executed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kgeval.base.pickled import PICKLED, read_any
from kgeval.base.unpickle import StubObject
from kgeval.models.adapters.live_models import CLASSES, FORMULAS, TABLES
from kgeval.models.checkpoints.checkpoint import Checkpoint
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.reader import Reader
from kgeval.models.checkpoints.shared.locate import contains_file, find_checkpoint_file, find_labels, folder_of
from kgeval.models.checkpoints.shared.state_dict_format import holds
from kgeval.models.checkpoints.shared.tensors import LIGHTNING, WRAPPINGS, Tensors, names_in, unwrap_state_dict

NAMES = frozenset({"node_emb.weight", "rel_emb.weight"})
"""the tensors that all of its models have"""

MODULES = "torch_geometric.nn.kge."
"""what the classes of a pickled module begin with"""


def read(path: Path, options: Options) -> Checkpoint:
    """Read a model; for a state_dict, the user must say whether it is TransE or DistMult, and TransE's p_norm."""
    file = find_checkpoint_file(path, [_fits], "model of PyTorch Geometric")
    content = read_any(file)
    module = _module_in(content)
    tensors = Tensors(file, unwrap_state_dict(content)).of_model("node_emb.")
    labels = find_labels(folder_of(path), options)
    models = [CLASSES[module.origin]] if module else _models_with(tensors)
    name = options.require("model", models[0] if len(models) == 1 else None, file.name, models)
    norm = None
    if name == "TransE":
        norm = options.require("p_norm", module and module.state.get("p_norm"), file.name, [1, 2])
    entity, relation = (tensors.side_by_side(*(f"{part}.weight" for part in parts)) for parts in TABLES[name])
    family = FORMULAS[name](entity, relation, norm)
    options.record_origins(family, "PyTorch Geometric", norm="p_norm")
    tensors.refuse_unused(name)
    return labels.checkpoint(family, "pyg", [file], options, name=name)


def _module_in(content: Any) -> StubObject | None:
    """Find a pickled module, by itself or under one of the usual names."""
    wrapped = [content.get(name) for name in WRAPPINGS] if isinstance(content, dict) else []
    modules = [part for part in (content, *wrapped) if isinstance(part, StubObject) and part.origin in CLASSES]
    return modules[0] if modules else None


def _models_with(tensors: Tensors) -> list[str]:
    imaginary = ("node_emb_im.weight" in tensors, "rel_emb_im.weight" in tensors)
    return {(True, True): ["ComplEx"], (True, False): ["RotatE"]}.get(imaginary, ["TransE", "DistMult"])


_is_state = holds(PICKLED, NAMES, {f"{LIGHTNING}{name}" for name in NAMES})


def _fits(file: Path) -> bool:
    return _is_state(file) or (file.suffix in PICKLED and any(name.startswith(MODULES) for name in names_in(file)))


READER = Reader(
    name="pyg",
    summary="a state_dict or module of PyTorch Geometric's TransE, DistMult, ComplEx or RotatE (.pt)",
    recognises=lambda path: contains_file(path, _fits),
    read=read,
    known_by=(NAMES,),
)
