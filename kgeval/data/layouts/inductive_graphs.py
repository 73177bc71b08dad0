"""Inductive datasets: beside the graph that is evaluated, the graph of other entities that models learn from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from kgeval.arrays import BoolArray, IntArray
from kgeval.data.dataset import SPLITS, Dataset, Split
from kgeval.data.lookup import TripleIndex
from kgeval.data.triples import Triples
from kgeval.errors import DatasetError

EVALUATED: tuple[Split, ...] = ("valid", "test")


def with_training_graph(
    dataset: Dataset, training: Dataset, *, same_ids: bool = False, new_relations: bool = False
) -> Dataset:
    """Put the graph that models learn from beside the graph that they are evaluated on, and note what they share.

    Parameters
    ----------
    dataset
        the graph that is evaluated; its train triples are the inference graph
    training
        the graph that models learn from
    same_ids
        whether entities have ids in place of labels, which say nothing of what the graphs share
    new_relations
        whether the benchmark is about relations that the training graph lacks, so that all of them may be new

    Raises
    ------
    DatasetError
        if no relation of the inference graph is in the train triples of the training graph, and none may be new
    """
    relations = training.relations.ids(dataset.relations.labels)
    relations = np.where(np.isin(relations, training.train.relations), relations, -1)  # valid and test teach nothing
    if not new_relations and not (relations[dataset.train.relations] >= 0).any():
        raise DatasetError(
            f"dataset {dataset.name}: no relation of the inference graph is in the training graph {training.name}, "
            f"which has {training.relations[0]!r}: nothing that a model learns there says anything here."
        )
    notes = [_introduction(dataset, training)]
    if not same_ids:
        notes += _shared(dataset, training, training.entities.ids(dataset.entities.labels), relations)
    notes += _unknown(dataset, relations)
    files = (*dataset.files, *training.files)
    return replace(dataset, training_graph=training, files=files, notes=(*dataset.notes, *notes))


def _introduction(dataset: Dataset, training: Dataset) -> str:
    return (
        f"inductive: train is the inference graph, whose {len(dataset.entities):,} entities compete; models learn from "
        f"the {len(training.train):,} triples of {training.name}, of {len(training.entities):,} entities."
    )


def _shared(dataset: Dataset, training: Dataset, entities: IntArray, relations: IntArray) -> Iterator[str]:
    """Note entities and triples that are in both graphs; int64[entity] and int64[relation] are the ids in training."""
    if not (entities >= 0).any():
        return
    example = dataset.display_label(dataset.entities[int(np.argmax(entities >= 0))])
    count = f"{int((entities >= 0).sum()):,} of the {len(entities):,} entities"
    yield f"{count} are in the training graph too, such as {example}: a model may know them."
    for split in EVALUATED:
        triples = dataset.splits.get(split)
        if triples is not None:
            mapped = np.stack([entities[triples.heads], relations[triples.relations], entities[triples.tails]], axis=1)
            known = np.asarray((mapped >= 0).all(axis=1))
            known[known] = TripleIndex.of(training.train).contains(Triples(mapped[known]))
            yield from _of_split(dataset, split, known, "are in the training graph too")


def _unknown(dataset: Dataset, relations: IntArray) -> Iterator[str]:
    """Note triples of which neither graph can tell a model enough."""
    linked = np.zeros(len(dataset.entities), np.bool_)
    linked[dataset.train.heads] = linked[dataset.train.tails] = True
    for split in SPLITS:
        if (triples := dataset.splits.get(split)) is not None:
            what = "have a relation that the training graph lacks"
            yield from _of_split(dataset, split, relations[triples.relations] < 0, what)
            alone = ~(linked[triples.heads] & linked[triples.tails])
            yield from _of_split(dataset, split, alone, "have an entity that is in no triple of the inference graph")


def _of_split(dataset: Dataset, split: str, flagged: BoolArray, what: str) -> Iterator[str]:
    if flagged.any():
        examples = dataset.examples(dataset.split(split).ids[flagged])
        yield f"{int(flagged.sum()):,} of {len(flagged):,} {split} triples {what}: {examples}."
