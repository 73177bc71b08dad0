"""PyKEEN's modules as they lie in a pickle or a state dictionary: a tree of classes, attributes and arrays.

The reader of PyKEEN's files makes a ``PyKEENModel`` of the tree, and so does ``kgeval.pykeen`` of a live model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.base.arrays import Float64Array, FloatArray
from kgeval.base.errors import CheckpointError
from kgeval.base.unpickle import StubObject
from kgeval.models.checkpoints.tensors import Tensors, check_shape
from kgeval.models.ordered import normalized


@dataclass(frozen=True)
class PyKEENModel:
    """A model of PyKEEN, with the tables of its entities and relations as the interaction takes them."""

    model: Module
    interaction: Module
    """the module that computes scores; in layouts that had no interaction module, the model itself"""
    inverse: bool
    """whether relations 2r and 2r + 1 are a relation and its inverse"""

    @classmethod
    def of(cls, model: Module, *, inverse: bool) -> PyKEENModel:
        return cls(model, model.child("interaction") or model, inverse)

    def entity(self, index: int = 0) -> FloatArray:
        """Return an entity representation; PyKEEN stores complex vectors as re, im, re, im and so on."""
        return self._table("entity", index, ("entity_embeddings", "tail_entity_embeddings"))

    def relation(self, index: int = 0) -> FloatArray:
        table = self._table("relation", index, ("relation_embeddings", "inverse_relation_embeddings"))
        return np.concatenate([table[0::2], table[1::2]]) if self.inverse else table

    def relations(self, *names: str) -> dict[str, FloatArray]:
        """Return the relation representations by the names of a family's arrays, in their order."""
        return {name: self.relation(index) for index, name in enumerate(names)}

    def bias(self, index: int) -> FloatArray:
        """Return an entity representation that has one number for each entity; float[entity]."""
        table = self.entity(index)
        return check_shape(f"entity_representations.{index}", table, len(table), 1)[:, 0]

    @property
    def num_relations(self) -> int:
        """How many relations the model knows, inverses counted; for models that store no vectors of relations."""
        count = self.model.state.get("num_relations")
        if type(count) is not int:
            raise NoFormula("it does not store its number of relations.")
        return count

    def _table(self, kind: str, index: int, old: tuple[str, str]) -> FloatArray:
        """Return stored vectors as the model computes with them: normalised if it normalises them on every use."""
        module = self.model.child(f"{kind}_representations.{index}", *old[index : index + 1])
        table = module and module.child("_embeddings")
        if module is None or table is None or table.array("weight") is None:
            raise NoFormula(f"its {kind} representation is not a plain embedding.")
        weight = table.take("weight", None, None)
        if table.state.get("max_norm") is not None:
            raise NoFormula(f"its {kind} vectors are cut to a max_norm when used, which kgeval does not compute.")
        normalizer = module.state.get("normalizer")
        return weight if normalizer is None else _normalised(weight, normalizer, kind, module.state.get("shape"))


@dataclass(frozen=True)
class Module:
    """A module of the tree: its class, attributes, arrays and children."""

    class_name: str
    state: dict[str, Any]
    place: str = ""
    """the beginning of the names of its tensors in a state dictionary"""

    @classmethod
    def of(cls, pickled: Any, name: str = "") -> Module:
        """Take a pickled module; the model itself has no name."""
        if isinstance(pickled, Module):
            return pickled
        if not isinstance(pickled, StubObject) or "_modules" not in pickled.state:
            raise CheckpointError(f"{name or 'the model'} is not a PyTorch module.")
        return cls(pickled.class_name, pickled.state, f"{name}." if name else "")

    @classmethod
    def from_state_dict(cls, tensors: Tensors) -> Module:
        """Grow a tree from names such as ``entity_representations.0._embeddings.weight``; its classes have no names."""
        root = cls("", _bare(tensors))
        for name in tensors:
            module = root
            for step in name.split(".")[:-1]:
                place = f"{module.place}{step}."
                module = module.state["_modules"].setdefault(step, cls("", _bare(tensors.under(place)), place))
        return root

    def child(self, *names: str) -> Module | None:
        """Return the child of the first name that has one (dots lead further down); None if no name has a child."""
        for name in names:
            first, _, rest = name.partition(".")
            pickled = self.state["_modules"].get(first)
            if pickled is not None:
                module = Module.of(pickled, f"{self.place}{first}")
                return module.child(rest) if rest else module
        return None

    def array(self, name: str) -> Any:
        """Return a parameter or buffer of any shape and type, ``None`` if it is missing."""
        stored = next((arrays.get(name) for arrays in self._arrays if name in arrays), None)
        return stored if isinstance(stored, np.ndarray) else None

    def is_without(self, name: str) -> bool:
        """Whether the module was made without a parameter or buffer: PyTorch stores ``None`` under its name."""
        return any(name in arrays and arrays.get(name) is None for arrays in self._arrays)

    def take(self, name: str, *shape: int | None, least: float | None = None) -> FloatArray:
        array = self.array(name)
        if array is None:
            raise CheckpointError(f"the tensor {self.place + name!r} is missing.")
        return check_shape(self.place + name, array, *shape, least=least)

    def find(self, name: str, *shape: int | None) -> FloatArray | None:
        return None if self.is_without(name) else self.take(name, *shape)

    @property
    def _arrays(self) -> tuple[Any, Any]:
        return self.state["_parameters"], self.state["_buffers"]


class NoFormula(CheckpointError):
    """The file is a sound PyKEEN model, but kgeval cannot compute its scores from the file alone."""


def _bare(tensors: Tensors) -> dict[str, Any]:
    """Make the state of a module of which a state dictionary has only the arrays; eps is PyTorch's default."""
    return {"_modules": {}, "_parameters": tensors, "_buffers": {}, "eps": 1e-5}


def _normalised(weight: FloatArray, normalizer: Any, kind: str, shape: Any) -> Float64Array:
    """Apply the normaliser, if it is one of PyKEEN's defaults: unit vectors, or unit quaternions."""
    function, settings = _function(normalizer)
    vectors = np.asarray(weight, np.float64)
    if function == "pykeen.nn.quaternion.normalize" and not settings and vectors.shape[-1] % 4 == 0:
        return normalized(vectors.reshape(len(vectors), -1, 4)).reshape(vectors.shape)
    usual = all(settings.get(name, default) == default for name, default in (("p", 2), ("dim", -1)))
    flat = shape is None or len(shape) == 1
    if function == "torch.nn.functional.normalize" and usual and settings.keys() <= {"p", "dim"} and flat:
        return normalized(vectors)
    raise NoFormula(f"its {kind} vectors are changed by a normalizer that kgeval does not know.")


def _function(normalizer: Any) -> tuple[str, dict[str, Any]]:
    """Return the name and the fixed arguments of a function: given as itself, by name or as a ``functools.partial``."""
    if isinstance(normalizer, str):
        return normalizer, {}
    settings: Any = {}
    if isinstance(normalizer, StubObject) and normalizer.origin == "functools.partial":
        state = normalizer.state.get("state")
        settings = state[2] if isinstance(state, tuple) and len(state) == 4 and not state[1] else None
        normalizer = normalizer.args[0] if normalizer.args else None
    known = isinstance(normalizer, type) and issubclass(normalizer, StubObject) and isinstance(settings, dict)
    return (normalizer.origin, settings) if known else ("", {})
