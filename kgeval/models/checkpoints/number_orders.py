"""Orders of numbers that no shape shows: complex numbers and inverse relations in halves, or in turns.

A model of arrays that the user names has halves, unless the options ``complex`` or ``inverses`` say that they take
turns (``building.py``); ``read_checkpoint`` refuses halves if facts of train rank clearly better in turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kgeval.base.arrays import FloatArray
from kgeval.base.errors import UsageError
from kgeval.data.dataset import Dataset
from kgeval.models.alignment import align
from kgeval.models.checkpoints.checkpoint import Checkpoint
from kgeval.models.checkpoints.options import Options
from kgeval.models.family import Family
from kgeval.models.mapped import Reciprocal
from kgeval.models.order_check import better_reading

IN_TURNS: Mapping[str, str] = {"complex": "interleaved", "inverses": "alternate"}
"""an option -> its value for numbers in turns: re, im, re, im, …; or a relation, its inverse, the next relation, …"""

FEW = 50
"""how many candidates a check has: a contradiction is clear among few"""

LARGEST = 10**8
"""how many numbers of entities are put in order to check them"""


def in_order(model: Family | Reciprocal, options: Options, file: str) -> Family | Reciprocal:
    """Put the numbers of a model in halves, if an option says that they take turns."""
    for option in _options_of(model):
        if options.require(option, None, file, ["halves", IN_TURNS[option]], optional=True) != "halves":
            model = _in_halves(model, option)
    return model


def refuse_other_order(checkpoint: Checkpoint, dataset: Dataset, said: Mapping[str, Any]) -> None:
    """Refuse halves that no option says, if facts of train rank clearly better with the numbers in turns."""
    model: Any = checkpoint.model
    for option in _options_of(model):
        if option in said or checkpoint.family.entity.size > LARGEST:
            continue
        readings = {"halves": model, IN_TURNS[option]: _in_halves(model, option)}
        aligned = {name: align(replace(checkpoint, model=it), dataset) for name, it in readings.items()}
        best, told = better_reading(aligned, dataset, candidates=FEW)  # it is asked at each load
        if best == IN_TURNS[option]:
            fault = f"its numbers seem to take turns ({option}): {told}"
            cure = f"Say which: the option {option}={best} or {option}=halves"
            raise UsageError(f"{checkpoint.files[0]}: {fault}. {cure}.")


def _options_of(model: Family | Reciprocal) -> list[str]:
    family = model.family if isinstance(model, Reciprocal) else model
    return ["complex"] * getattr(family, "is_complex", False) + ["inverses"] * isinstance(model, Reciprocal)


def _in_halves(model: Family | Reciprocal, option: str) -> Family | Reciprocal:
    family: Any = model.family if isinstance(model, Reciprocal) else model
    turned = {
        name: _halves(array, -1 if option == "complex" else 0)
        for name, array in family.arrays.items()
        if (option == "complex" and array.shape[-1] == family.entity.shape[-1])
        or (option == "inverses" and name != "entity" and len(array) == family.num_relations)
    }
    family = replace(family, **turned)
    return Reciprocal(family) if isinstance(model, Reciprocal) else family


def _halves(array: FloatArray, axis: int) -> FloatArray:
    places = np.arange(array.shape[axis])
    return np.asarray(np.take(array, np.r_[places[::2], places[1::2]], axis))
