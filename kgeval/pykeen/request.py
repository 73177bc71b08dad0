"""What PyKEEN passes to an evaluator: triples to rank as ids, or batches of scores, without the names of either.

``evaluator.py`` calls these classes. ``Request`` checks the arguments of ``Evaluator.evaluate`` and makes a dataset of
them; ``KnownGraph`` finds the dataset and the splits that the triples are from, and labels the table of ranks;
``Batches`` counts the scores of PyKEEN's own evaluation loop, and makes a table of ranks.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pykeen import constants
from pykeen.datasets import dataset_resolver
from pykeen.datasets.base import PathDataset

from kgeval.base.arrays import IntArray, detached
from kgeval.base.errors import DatasetError, InputError, ScoreError
from kgeval.base.notes import Note
from kgeval.base.parquet_tables import with_columns
from kgeval.data.dataset import SPLITS, Dataset, check_ids
from kgeval.data.fingerprint import fingerprint
from kgeval.data.layouts.pykeen import read_named
from kgeval.data.provenance import UNKNOWN
from kgeval.data.triples import Side, TripleIndex, Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.models.scorer import checked_sides
from kgeval.ranking.rank_table import SCHEMA, RankTable, stack


@dataclass(frozen=True, eq=False)
class Request:
    """Triples to rank, and further triples of the filter."""

    triples: Triples
    """the triples to rank, with repetitions: PyKEEN ranks a repeated triple each time"""
    known: tuple[Triples, ...]
    """the other triples of the filter; in PyKEEN's pipeline, the first of them are the train triples"""
    sides: tuple[Side, ...]
    entities: IntArray | None
    """the ids of the candidates, ascending; ``None`` for all entities"""

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
        inference: Any = None,
    ) -> Request:
        """Make a request of the arguments of PyKEEN's ``Evaluator.evaluate``.

        ``triples`` is long[triple, 3]; ``known`` is one such array or several, the first of which has train triples.
        The triples of a triples factory ``inference`` replace the train triples. With ``cut``, triples with other ids
        than ``entities`` and ``relations`` are left out; otherwise they are refused.
        """
        test, sides = Triples.of(detached(triples)), checked_sides(targets, "targets")
        within, competing = np.ones(len(test), np.bool_), None
        if entities is not None:
            competing = np.unique(_ids(entities))
            if not len(competing):
                raise InputError("restrict_entities_to is empty, so there are no candidates.")
            within &= np.isin(test.ids[:, [0, 2]], competing).all(axis=1)
        if relations is not None:
            within &= np.isin(test.relations, _ids(relations))
        if cut:
            test = Triples(test.ids[within])
        elif not within.all():
            row = int(np.argmin(within))
            raise InputError(
                f"triple {row}, {tuple(test.ids[row].tolist())}, has an entity or relation to which the evaluation "
                "is not restricted. Leave such triples out, or set pre_filtered_triples=False."
            )
        parts = [known] if hasattr(known, "shape") else list(known or ())
        if inference is not None:
            parts[:1] = [inference.mapped_triples]
        return cls(test, tuple(Triples.of(detached(part)) for part in parts), sides, competing)

    def dataset(self, num_entities: int, num_relations: int, *, mode: str | None = None) -> Dataset:
        """Make a dataset with the first known triples as train, the others as valid, and those to rank as test.

        ``mode`` is PyKEEN's mode of an inductive model.
        """
        if not len(self.triples):
            raise InputError("there are no triples to evaluate.")
        entities = Vocabulary.numbered(num_entities, "entity")
        relations = Vocabulary.numbered(num_relations, "relation")
        check_ids(self.triples, entities, relations, "triple {}".format)
        hint = (
            " (in PyKEEN's pipeline the training graph's triples, which are no known answers here: give the evaluator "
            "inference=dataset.inductive_inference)"
        )
        for number, part in enumerate(self.known):
            whose = hint if mode and not number else ""
            check_ids(part, entities, relations, f"filter {number}{whose}, triple {{}}".format)
        if self.entities is not None and not 0 <= self.entities[0] <= self.entities[-1] < num_entities:
            raise InputError(
                f"restrict_entities_to has ids from {self.entities[0]} to {self.entities[-1]}, and the model's are "
                f"0 to {num_entities - 1}."
            )
        train, valid = (Triples.concatenated(parts) for parts in (self.known[:1], self.known[1:]))
        return Dataset("the evaluated triples", entities, relations, train=train, valid=valid, test=self.triples)


def _ids(collection: Any) -> IntArray:
    ids = np.asarray(detached(collection) if hasattr(collection, "shape") else list(collection))
    if ids.dtype.kind not in "iu" and len(ids):
        raise InputError(f"entities and relations are restricted to ids, not to {str(ids[0])!r}.")
    return ids.astype(np.int64)


EVALUATED = "evaluated"
"""the name of the evaluated split, if it is not a split of a known dataset"""


@dataclass(frozen=True)
class KnownGraph:
    """The dataset and the splits that the triples of an evaluation are from."""

    dataset: Dataset | None
    """None if no dataset with these triples was given or found"""
    split: str
    filter: tuple[str, ...]
    """the splits of the filter; a split is named if exactly its triples were passed, other triples are only counted"""

    @classmethod
    def of(cls, request: Request, given: Dataset | None, ranked: Dataset, *, filtered: bool) -> KnownGraph:
        """Find the splits of the ``given`` dataset, or else of one of PyKEEN's own, that have the triples.

        ``ranked`` is the dataset that :meth:`Request.dataset` made; only its numbers of entities and relations count.
        """
        parts, sizes = (*request.known, request.triples), _sizes(ranked)
        first_of = ("training",) if request.known else ("validation", "testing")
        fitting = [given] if given is not None else _candidates(sizes, len(parts[0]), first_of)
        dataset = next((graph for graph in fitting if _sizes(graph) == sizes and _split_of(parts[0], graph)), None)
        if given is not None and dataset is None:
            first = "the first triples of the filter are" if request.known else "the evaluated triples are"
            raise InputError(
                f"dataset {given.name}: {first} no split of it, under PyKEEN's ids. Give the dataset object that the "
                "pipeline is given, or its factories: {'train': training, 'valid': validation, 'test': testing}."
            )
        named = [dataset and _split_of(part, dataset) for part in parts]
        others = sum(len(part) for part, name in zip(request.known, named, strict=False) if not name)
        further = (f"{others} additional triples",) if others else ()
        evaluated = () if named[-1] else ("the evaluated triples",)
        splits = tuple(split for split in SPLITS if split in named)
        return cls(dataset, named[-1] or EVALUATED, (*splits, *further, *evaluated) if filtered else ())

    def label(self, table: RankTable) -> RankTable:
        name, data, graph = UNKNOWN, table.data, ""  # the triples that PyKEEN passes may not be all of them
        if self.dataset is not None:
            name, graph = self.dataset.name, fingerprint(self.dataset)
            data = with_labels(data, self.dataset.entities, self.dataset.relations)
        return replace(table, data=data, dataset=name, fingerprint=graph, split=self.split, filter=self.filter)


def _candidates(sizes: tuple[int, int], first: int, splits: Collection[str]) -> Iterator[Dataset]:
    """Yield PyKEEN's own datasets whose files are on this machine, and whose sizes fit; nothing is downloaded.

    ``first`` is the size of one of the ``splits``. Of datasets with the same triples, such as ``nations`` and
    ``nationsliteral``, the one of the shorter name is first.
    """
    for kind in sorted(dataset_resolver, key=lambda kind: (len(kind.__name__), kind.__name__)):
        known = (getattr(kind, "__docdata__", None) or {}).get("statistics", {})
        alike = sizes == (known.get("entities"), known.get("relations")) and first in map(known.get, splits)
        if alike and _is_here(kind) and (dataset := _read(dataset_resolver.normalize_cls(kind))):
            yield dataset


def _is_here(kind: Any) -> bool:
    """Whether the files of a dataset come with PyKEEN, or were all downloaded before: an archive or one a split."""
    bundled = Path(str(sys.modules[kind.__module__].__file__)).with_name("train.txt").is_file()
    downloaded = sum(path.is_file() for path in (constants.PYKEEN_DATASETS / kind.__name__.lower()).rglob("*"))
    return bundled or downloaded >= (len(SPLITS) if issubclass(kind, PathDataset) else 1)


@lru_cache(maxsize=1)  # early stopping evaluates the same dataset at every epoch
def _read(name: str) -> Dataset | None:
    with suppress(DatasetError):  # its files are damaged, or its class wants arguments
        return read_named(name)
    return None


def _sizes(dataset: Dataset) -> tuple[int, int]:
    return len(dataset.entities), len(dataset.relations)


def _split_of(triples: Triples, dataset: Dataset) -> str | None:
    """Return the split that has exactly these triples, in any order and each any number of times; None without one."""
    for split, known in dataset.splits.items():
        if np.array_equal(triples.ids, known.ids):
            return split
        if len(triples) >= len(known):  # the splits of a dataset have each triple once
            index = TripleIndex.of(triples)
            if len(index) == len(known) and index.contains(known).all():
                return split
    return None


@dataclass
class Batches:
    """The counts of the batches of scores that PyKEEN has passed since the last evaluation."""

    parts: list[pa.Table] = field(default_factory=list)
    """rank tables without labels"""
    num_triples: Counter[str] = field(default_factory=Counter)
    """the number of triples so far, by side"""

    def add(  # PyKEEN's batch
        self, triples: Any, target: str, scores: Any, true_scores: Any, mask: Any, *, filtered: bool
    ) -> None:
        """Count one batch of triples (long[triple, 3]) and scores (float[triple, entity], NaN where filtered).

        ``true_scores`` (float[triple, 1]) are None if they are among the scores; ``mask`` ([triple, entity]) is true
        where a candidate is filtered, or None. Only with ``filtered`` may NaN mark a candidate without a mask.
        """
        import torch

        ids, first = Triples.of(triples.cpu().numpy()).ids, self.num_triples[target]
        if true_scores is None:
            answers = triples[:, {"head": 0, "tail": 2}[target]].to(scores.device)
            true_scores = scores[torch.arange(len(ids), device=scores.device), answers, None]
        nan = torch.isnan(scores)
        _refuse_nan(ids, target, torch.isnan(true_scores[:, 0]), "the answer")
        if mask is not None or not filtered:
            unfiltered = nan if mask is None else nan & ~mask.bool().to(nan.device)
            _refuse_nan(ids, target, unfiltered.any(dim=1), "a candidate")
        greater, tied = (scores > true_scores).sum(dim=1), (scores == true_scores).sum(dim=1) - 1
        counts = [count.cpu().numpy() for count in (greater, tied, (~nan).sum(dim=1))]
        self.num_triples[target] += len(ids)
        columns = [
            np.arange(first, self.num_triples[target]),
            *ids.T,
            pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(ids), np.int32)), [target]),
            true_scores[:, 0].cpu().double().numpy(),
            *counts,
            *counts,  # raw
        ]
        self.parts.append(pa.table(columns, pa.schema(list(SCHEMA)[: len(columns)])))

    def table(self) -> RankTable:
        if not self.parts:
            raise InputError("nothing to finalize: no batch was processed since the last evaluation.")
        data = stack(self.parts)
        sizes = [1 + max(np.max(data[name]) for name in names) for names in (("head", "tail"), ("relation",))]
        fact = (
            "PyKEEN passed scores that it had filtered itself: the raw counts are counted from the filtered scores too."
        )
        return RankTable(with_labels(data, *map(Vocabulary.numbered, sizes)), notes=(Note("scores", fact),))


def with_labels(data: pa.Table, entities: Vocabulary, relations: Vocabulary) -> pa.Table:
    """Label the ids of a rank table, in place of any labels that it has."""
    vocabularies = {"head": entities, "relation": relations, "tail": entities}
    labels = {f"{name}_label": vocabulary.column(data[name]) for name, vocabulary in vocabularies.items()}
    return with_columns(data, labels)


def _refuse_nan(ids: Any, target: str, undefined: Any, owner: str) -> None:
    if undefined.any():
        row = tuple(ids[int(undefined.nonzero()[0, 0])].tolist())
        raise ScoreError(f"the model's score of {owner} is NaN for triple {row}, {target} side: a rank is undefined.")
