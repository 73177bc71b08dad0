"""The arguments of PyKEEN's ``Evaluator.evaluate``, checked, and as a dataset."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np

from kgeval.arrays import BoolArray, IntArray
from kgeval.data.dataset import Dataset, check_ids
from kgeval.data.triples import SIDES, Side, Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import InputError, did_you_mean

OF_TRAINING_GRAPH = (
    " (in PyKEEN's pipeline the training graph's triples, which are no known answers here: give the evaluator "
    "inference=dataset.inductive_inference)"
)
"""what the first triples of an inductive model's filter are, if they have ids of other entities"""


@dataclass(frozen=True, eq=False)
class Request:
    """Triples to rank, and further triples of the filter."""

    triples: Triples
    """with repetitions: PyKEEN ranks a repeated triple each time"""
    known: tuple[Triples, ...]
    """the filter besides these triples; in PyKEEN's pipeline, the first ones are the train triples"""
    sides: tuple[Side, ...]
    entities: IntArray | None
    """the ids of the entities that compete, ascending; None for all"""

    @classmethod
    def of(
        cls,
        triples: Any,
        known: Any,
        *,
        targets: Collection[str],
        entities: Collection[int] | None = None,
        relations: Collection[int] | None = None,
        cut: bool = False,
    ) -> Request:
        """Make a request of the arguments of PyKEEN's ``Evaluator.evaluate``.

        Parameters
        ----------
        triples
            long[triple, 3], a tensor
        known
            one such tensor, a list of them, or none; the first of several are the train triples
        targets
            ``"head"``, ``"tail"`` or both
        entities, relations
            ids; the triples may have no others
        cut
            whether triples with others are left out instead of refused

        Raises
        ------
        InputError
            if a target is unknown, if ``entities`` is empty, or if a triple has an id outside the restriction
        """
        test = Triples.of(_to_cpu(triples))
        competing = None if entities is None else np.unique(_ids(entities))
        if competing is not None and not len(competing):
            raise InputError("restrict_entities_to is empty: no entity is left to compete.")
        within = _within(test, competing, relations)
        if cut:
            test = Triples(test.ids[within])
        elif not within.all():
            row = int(np.argmin(within))
            raise InputError(
                f"triple {row}, {tuple(test.ids[row].tolist())}, has an entity or relation to which the evaluation "
                "is not restricted. Leave such triples out, or set pre_filtered_triples=False."
            )
        parts = [known] if hasattr(known, "shape") else list(known or ())
        return cls(test, tuple(Triples.of(_to_cpu(part)) for part in parts), _sides(targets), competing)

    def dataset(self, num_entities: int, num_relations: int, *, mode: str | None = None) -> Dataset:
        """Make a dataset with the first known triples as train, the others as valid, and those to rank as test.

        ``mode`` is that of an inductive model.

        Raises
        ------
        InputError
            if there is no triple to rank, or a triple or the restriction has an id that the model does not know
        """
        if not len(self.triples):
            raise InputError("there are no triples to evaluate.")
        entities = Vocabulary.numbered(num_entities, "entity")
        relations = Vocabulary.numbered(num_relations, "relation")
        check_ids(self.triples, entities, relations, partial("triple {}".format))
        for number, part in enumerate(self.known):
            whose = OF_TRAINING_GRAPH if mode and not number else ""
            check_ids(part, entities, relations, partial(f"filter {number}{whose}, triple {{}}".format))
        if self.entities is not None and not 0 <= self.entities[0] <= self.entities[-1] < num_entities:
            raise InputError(
                f"restrict_entities_to has ids from {self.entities[0]} to {self.entities[-1]}, and the model's are "
                f"0 to {num_entities - 1}."
            )
        train, rest = self.known[:1], self.known[1:]
        return Dataset(
            "the evaluated triples",
            entities,
            relations,
            train=train[0] if train else Triples.of([]),
            valid=Triples(np.concatenate([part.ids for part in rest])) if rest else Triples.of([]),
            test=self.triples,
        )


def progress_bar(total: int | None, options: Mapping[str, Any]) -> AbstractContextManager[Any]:
    """Show progress as PyKEEN does."""
    from tqdm.auto import tqdm

    return cast(
        "AbstractContextManager[Any]",
        tqdm(**{"desc": "Ranking", "total": total, "unit": "rank", "unit_scale": True, **options}),
    )


def _within(triples: Triples, entities: IntArray | None, relations: Collection[int] | None) -> BoolArray:
    within = np.ones(len(triples), np.bool_)
    if entities is not None:
        within &= np.isin(triples.heads, entities) & np.isin(triples.tails, entities)
    if relations is not None:
        within &= np.isin(triples.relations, _ids(relations))
    return within


def _ids(collection: Any) -> IntArray:
    ids = np.asarray(_to_cpu(collection) if hasattr(collection, "shape") else list(collection))
    if ids.dtype.kind not in "iu" and len(ids):
        raise InputError(f"entities and relations are restricted to ids, not to {str(ids[0])!r}.")
    return ids.astype(np.int64)


def _to_cpu(array: Any) -> Any:
    """Convert a tensor to a numpy array; anything else is returned unchanged."""
    return array.cpu().numpy() if hasattr(array, "cpu") else array


def _sides(targets: str | Collection[str]) -> tuple[Side, ...]:
    targets = [targets] if isinstance(targets, str) else targets
    for target in targets:
        if target not in SIDES:
            raise InputError(f"cannot predict the target {target!r}. {did_you_mean(target, SIDES)}")
    if not targets:
        raise InputError("no targets are given: head, tail or both.")
    return tuple(side for side in SIDES if side in targets)
