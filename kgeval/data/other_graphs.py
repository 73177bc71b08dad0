"""Other graphs beside a dataset: their triples in the dataset's ids, matched by labels, and which triples both have.

Audits and the slice ``overlap`` look up triples in graphs that a model may have learnt from (:func:`first_overlaps`);
the counts of leaks look them up in the training graph of an inductive dataset (:func:`in_training_graph`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import numpy as np
import pyarrow.compute as pc

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.assumptions import read_as
from kgeval.base.errors import DatasetError
from kgeval.base.notes import Example, Note
from kgeval.data.dataset import SPLITS, Dataset
from kgeval.data.triples import TripleIndex, Triples, reverse

OVERLAP_WAYS = ("same triple", "same pair", "swapped pair")
"""how a graph may have (h, r, t): the triple itself; (h, r', t) with any relation; (t, r', h) with any relation"""

OVERLAP_GROUPS = ("in train", "in valid or test", "pair only", "swapped only", "none")
"""the groups of the slice ``overlap``; train, valid and test are of the other graph"""


def in_ids_of(dataset: Dataset, other: Dataset, splits: Iterable[str] = SPLITS) -> dict[str, Triples]:
    """Return splits of another graph in the ids of a dataset, matched by label and without times.

    If the other graph has a training graph, its train triples come first, as ``training graph``. A label that the
    dataset lacks gets the first id beyond the dataset's own.

    >>> data = Dataset.from_labels(train=[("a", "r", "b")], test=[("b", "r", "a")])
    >>> in_ids_of(data, Dataset.from_labels(train=[("b", "r", "x"), ("x", "q", "b")]))["train"].ids
    array([[1, 0, 2],
           [2, 1, 1]])
    """
    vocabularies = (dataset.entities, other.entities), (dataset.relations, other.relations)
    entities, relations = (own.ids(others.labels) % (len(own) + 1) for own, others in vocabularies)  # -1 to the size
    training = other.training_graph
    parts = {} if training is None else {"training graph": in_ids_of(dataset, training, ["train"])["train"]}
    for split in other.present(splits):
        ids = other.split(split).ids
        parts[split] = Triples(np.stack([entities[ids[:, 0]], relations[ids[:, 1]], entities[ids[:, 2]]], axis=1))
    return parts


def first_overlaps(triples: Triples, parts: Collection[Triples]) -> IntArray:
    """Find how a graph has each triple: the first of ``OVERLAP_WAYS`` that holds in any part, and the first such part.

    int64[triple], the position of (way, part) in ``itertools.product(OVERLAP_WAYS, parts)``, or the length of that if
    none holds.
    """
    pairs = _pairs(triples)
    same = [TripleIndex.of(part).contains(triples) for part in parts]
    indices = [TripleIndex.of(_pairs(part)) for part in parts]
    linked = [index.contains(asked) for asked in (pairs, reverse(pairs)) for index in indices]
    return np.asarray(np.argmax([*same, *linked, np.ones(len(triples), np.bool_)], axis=0))


def _pairs(triples: Triples) -> Triples:
    """Set all relations to 0, to compare triples by head and tail alone."""
    return Triples(triples.ids * np.array([1, 0, 1]))


def overlap_groups(triples: Triples, dataset: Dataset, graphs: Iterable[Dataset]) -> IntArray:
    """Find the group of each triple, int64[triple]: the first of ``OVERLAP_GROUPS`` that holds in any graph."""
    parts = [part for graph in graphs for part in in_ids_of(dataset, graph).items()]
    learned = [part for name, part in parts if name not in ("valid", "test")]
    held_out = [part for name, part in parts if name in ("valid", "test")]
    codes = first_overlaps(triples, [Triples.concatenated(learned), Triples.concatenated(held_out)])
    return np.array([0, 1, 2, 2, 3, 3, 4])[codes]


def learned_triples(dataset: Dataset) -> Triples:
    """Return the triples that models learn from, in the dataset's ids: train, of the training graph if there is one."""
    training = dataset.training_graph
    return dataset.train if training is None else in_ids_of(dataset, training, ["train"])["train"]


def in_training_graph(dataset: Dataset, triples: Triples) -> BoolArray:
    """Whether the training graph has each triple; bool[triple]. Without a training graph or labels, it has none."""
    if dataset.training_graph is None or dataset.entities.is_numbered:
        return np.zeros(len(triples), np.bool_)
    return TripleIndex.of(learned_triples(dataset)).contains(triples)


def notes_on_labels(dataset: Dataset, other: Dataset) -> Iterator[str]:
    """Say how many labels of a dataset another graph has, and what this means for triples that are looked up in it."""
    if custom := read_as(other.assumptions):
        yield Note("files", custom)
    entities, relations = count_labels(dataset, other)
    of_entities = f"{entities:,} of the {len(dataset.entities):,} entities"
    note = f" has {of_entities} and {relations:,} of the {len(dataset.relations):,} relations, by label."
    if not entities or not relations:
        lost = "triple" if entities else "triple or pair"
        note += f" So no {lost} can be found: if labels are spelt otherwise, 0 does not mean that nothing overlaps."
    if pc.all(pc.match_substring_regex(dataset.entities.labels, "^[0-9]+$")).as_py():
        note += " The labels are numbers, which match if they are equal, whatever they stand for."
    graph, note = Example(other.name, "the other graph"), f"{note} A triple is counted in the first row of "
    yield Note("labels", graph, note, graph, " that holds; its time is ignored.")


def refuse_foreign(name: str, dataset: Dataset, graphs: Collection[Dataset]) -> None:
    """Refuse graphs without any entity of a dataset, in a slice: nothing overlaps, perhaps due to other spellings."""
    if not any(count_labels(dataset, graph)[0] for graph in graphs):
        names = ", ".join(graph.name for graph in graphs)
        problem = f"no entity of {dataset.name} is in {names}, by label, so that no triple can be found"
        raise DatasetError(f"slice {name!r}: {problem}. Leave the slice out.")


def count_labels(dataset: Dataset, other: Dataset) -> tuple[int, int]:
    """Count the entities and the relations of a dataset that the triples of another graph name."""
    ids = Triples.concatenated([*in_ids_of(dataset, other).values()]).ids
    entities, relations = np.unique(ids[:, ::2]), np.unique(ids[:, 1])
    return int((entities < len(dataset.entities)).sum()), int((relations < len(dataset.relations)).sum())
