"""The dataset of triples that PyKEEN passes without a name: found, or checked, by the triples themselves."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pykeen.constants import PYKEEN_DATASETS
from pykeen.datasets import dataset_resolver
from pykeen.datasets.base import PathDataset

from kgeval.data.dataset import SPLITS, Dataset
from kgeval.data.layouts.pykeen_layout import read_named
from kgeval.data.leaks import notes_on_leaks
from kgeval.data.triples import Triples
from kgeval.errors import DatasetError, InputError
from kgeval.provenance import UNKNOWN
from kgeval.pykeen.request import Request
from kgeval.ranking.rank_table import RankTable

EVALUATED = "evaluated"
"""the name of the evaluated split, where it is no split of a known dataset"""


@dataclass(frozen=True)
class KnownGraph:
    """What is known of the triples of an evaluation."""

    dataset: Dataset | None
    """None where no dataset with these triples was given or found"""
    split: str
    """the split that was ranked"""
    filter: tuple[str, ...]
    """the splits of the filter, each only where its very triples were passed; other triples by their number"""

    @classmethod
    def of(cls, request: Request, given: Dataset | None, ranked: Dataset, *, filtered: bool) -> KnownGraph:
        """Name the triples of an evaluation.

        Parameters
        ----------
        request
            the triples, and those of the filter, the train triples first
        given
            the dataset that they are said to be of; None to look among PyKEEN's own
        ranked
            the triples as a dataset of the model's ids
        filtered
            whether known answers are filtered

        Raises
        ------
        InputError
            if they are not of the given dataset
        """
        parts, sizes = (*request.known, request.triples), (len(ranked.entities), len(ranked.relations))
        fitting = [given] if given is not None else _candidates(*sizes, len(parts[0]), trains=bool(request.known))
        dataset = next((graph for graph in fitting if _split_of(parts[0], graph, sizes)), None)
        if given is not None and dataset is None:
            first = "the first triples of the filter are" if request.known else "the evaluated triples are"
            raise InputError(
                f"dataset {given.name}: {first} no split of it, under PyKEEN's ids. Give the dataset object that the "
                "pipeline is given, or its factories: {'train': training, 'valid': validation, 'test': testing}."
            )
        named = [dataset and _split_of(part, dataset, sizes) for part in parts]
        others = sum(len(part) for part, name in zip(request.known, named, strict=False) if not name)
        further = (f"{others} additional triples",) if others else ()
        evaluated = () if named[-1] else ("the evaluated triples",)
        splits = tuple(split for split in SPLITS if split in named)
        return cls(dataset, named[-1] or EVALUATED, (*splits, *further, *evaluated) if filtered else ())

    def label(self, table: RankTable, ranked: Dataset) -> RankTable:
        """Give a rank table of ids its dataset, split, filter, notes that name it and, where they are known, labels."""
        unnamed, named = notes_on_leaks(ranked, "test"), notes_on_leaks(ranked, "test", name=self.split)
        spelled = dict(zip(unnamed, named, strict=True))
        notes = tuple(spelled.get(note, note) for note in table.notes)
        table = replace(table, dataset=UNKNOWN, split=self.split, filter=self.filter, notes=notes)
        if self.dataset is None:
            return table
        vocabularies = {
            "head": self.dataset.entities,
            "relation": self.dataset.relations,
            "tail": self.dataset.entities,
        }
        data = table.data
        for name, vocabulary in vocabularies.items():
            ids, codes = np.unique(table.column(name), return_inverse=True)
            labels = pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), vocabulary.labels.take(ids))
            field = data.schema.field(column := f"{name}_label")
            data = data.set_column(data.schema.get_field_index(column), field, labels.cast(field.type))
        return replace(table, dataset=self.dataset.name, data=data)


def _candidates(entities: int, relations: int, first: int, *, trains: bool) -> Iterator[Dataset]:
    """Yield PyKEEN's own datasets of some sizes whose files are on this machine; nothing is downloaded.

    Of datasets with the same triples, such as ``nations`` and ``nationsliteral``, the one of the shorter name is first.
    """
    splits = ("training",) if trains else ("validation", "testing")
    for kind in sorted(dataset_resolver, key=lambda kind: (len(kind.__name__), kind.__name__)):
        sizes = (getattr(kind, "__docdata__", None) or {}).get("statistics", {})
        alike = sizes.get("entities") == entities and sizes.get("relations") == relations
        if alike and first in {sizes.get(split) for split in splits} and _is_here(kind):
            dataset = _read(dataset_resolver.normalize_cls(kind))
            if dataset is not None:
                yield dataset


def _is_here(kind: Any) -> bool:
    """Whether the files of a dataset come with PyKEEN, or were all downloaded before: an archive or one a split."""
    bundled = Path(str(sys.modules[kind.__module__].__file__)).with_name("train.txt").is_file()
    downloaded = sum(path.is_file() for path in (PYKEEN_DATASETS / kind.__name__.lower()).rglob("*"))
    return bundled or downloaded >= (len(SPLITS) if issubclass(kind, PathDataset) else 1)


@lru_cache(maxsize=1)  # early stopping evaluates the same dataset at every epoch
def _read(name: str) -> Dataset | None:
    try:
        return read_named(name)
    except DatasetError:  # its files are damaged, or its class wants arguments
        return None


def _split_of(triples: Triples, dataset: Dataset, sizes: tuple[int, int]) -> str | None:
    """Return the split of a dataset that has exactly these triples, in any order and number; None without one."""
    if (len(dataset.entities), len(dataset.relations)) != sizes:
        return None
    return next((split for split, known in dataset.splits.items() if _same(triples, known, sizes)), None)


def _same(one: Triples, other: Triples, sizes: tuple[int, int]) -> bool:
    if np.array_equal(one.ids, other.ids):
        return True
    if len(one) < len(other):  # the splits of a dataset have each triple once
        return False
    return np.array_equal(_distinct(one, sizes), _distinct(other, sizes))


def _distinct(triples: Triples, sizes: tuple[int, int]) -> Any:
    entities, relations = sizes
    return np.unique((triples.heads * relations + triples.relations) * entities + triples.tails)
