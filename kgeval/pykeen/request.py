"""The arguments of PyKEEN's ``Evaluator.evaluate``, checked, and laid out as a dataset."""

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


@dataclass(frozen=True, eq=False)
class Request:
    """Triples to be ranked, and triples to be left out of their rankings."""

    triples: Triples
    """with their repetitions: PyKEEN ranks a repeated triple each time"""
    known: tuple[Triples, ...]
    """the filter besides these triples; from PyKEEN's pipeline, the first one is what the model was trained on"""
    sides: tuple[Side, ...]
    entities: IntArray | None
    """the entities that compete, ascending; None for all of them"""

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
        """Take what PyKEEN's ``Evaluator.evaluate`` takes.

        Parameters
        ----------
        triples
            long[triple, 3], a tensor
        known
            one such tensor, a list of them, or nothing; the first of several is what the model was trained on
        targets
            ``"head"``, ``"tail"`` or both
        entities, relations
            ids; the triples may have no others
        cut
            whether triples with others are left out, instead of refused

        Raises
        ------
        InputError
            if a target is unknown, or a triple or every entity is restricted away
        """
        ranked = Triples.of(_off_device(triples))
        competing = None if entities is None else np.unique(_ids(entities))
        if competing is not None and not len(competing):
            raise InputError("restrict_entities_to is empty: no entity is left to compete.")
        within = _within(ranked, competing, relations)
        if cut:
            ranked = Triples(ranked.ids[within])
        elif not within.all():
            row = int(np.argmin(within))
            raise InputError(
                f"triple {row}, {tuple(ranked.ids[row].tolist())}, has an entity or relation to which the evaluation "
                "is not restricted. Leave such triples out, or set pre_filtered_triples=False."
            )
        parts = [known] if hasattr(known, "shape") else list(known or ())
        return cls(ranked, tuple(Triples.of(_off_device(part)) for part in parts), _sides(targets), competing)

    def dataset(self, num_entities: int, num_relations: int) -> Dataset:
        """Make a dataset: train of what the model was trained on, valid of other known triples, test of what is ranked.

        Raises
        ------
        InputError
            if there is nothing to rank, or a triple or the restriction has an id that the model does not know
        """
        if not len(self.triples):
            raise InputError("there are no triples to evaluate.")
        entities, relations = (
            Vocabulary.numbered(num_entities, "entity"),
            Vocabulary.numbered(num_relations, "relation"),
        )
        check_ids(self.triples, entities, relations, partial("triple {}".format))
        for number, part in enumerate(self.known):
            check_ids(part, entities, relations, partial(f"filter {number}, triple {{}}".format))
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


def progress_bar(total: int, options: Mapping[str, Any]) -> AbstractContextManager[Any]:
    """Show progress as PyKEEN does."""
    from tqdm.auto import tqdm

    return cast(
        "AbstractContextManager[Any]",
        tqdm(**{"desc": "Ranking", "total": total, "unit": "rank", "unit_scale": True, **options}),
    )


def _within(triples: Triples, entities: IntArray | None, relations: Collection[int] | None) -> BoolArray:
    kept = np.ones(len(triples), np.bool_)
    if entities is not None:
        kept &= np.isin(triples.heads, entities) & np.isin(triples.tails, entities)
    if relations is not None:
        kept &= np.isin(triples.relations, _ids(relations))
    return kept


def _ids(collection: Any) -> IntArray:
    ids = np.asarray(_off_device(collection) if hasattr(collection, "shape") else list(collection))
    if ids.dtype.kind not in "iu" and len(ids):
        raise InputError(f"entities and relations are restricted to ids, not to {str(ids[0])!r}.")
    return ids.astype(np.int64)


def _off_device(array: Any) -> Any:
    """Take a tensor as numpy's; anything else is left as it is."""
    return array.cpu().numpy() if hasattr(array, "cpu") else array


def _sides(targets: str | Collection[str]) -> tuple[Side, ...]:
    targets = [targets] if isinstance(targets, str) else targets
    for target in targets:
        if target not in SIDES:
            raise InputError(f"cannot predict the target {target!r}. {did_you_mean(target, SIDES)}")
    if not targets:
        raise InputError("no targets are given: head, tail or both.")
    return tuple(side for side in SIDES if side in targets)
