"""PyKEEN's datasets: by name, or as dataset and ``TriplesFactory`` objects in memory.

``load_dataset`` calls :func:`read_named` and :func:`from_objects`; training in PyKEEN gets :func:`to_factories`.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from kgeval.base.errors import DatasetError, did_you_mean, nearest
from kgeval.base.extras import is_installed, refuse_missing
from kgeval.data.columns import TRIPLE
from kgeval.data.dataset import SPLITS, Dataset
from kgeval.data.layouts.inductive import with_training_graph
from kgeval.data.text import read_columns
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary

PYKEEN_SPLITS = {"training": "train", "validation": "valid", "testing": "test"}
"""PyKEEN's name of a split -> kgeval's"""

SHIPPED = ("kinships", "nations", "umls")
"""the datasets whose files are in PyKEEN's own package"""

UNPACKED = {
    **dict.fromkeys(("codexlarge", "codexmedium", "codexsmall", "countries", "wn18rr", "yago310"), "{}.txt"),
    "db100k": "_{}.txt",
    "fb15k": "FB15k/freebase_mtr100_mte100-{}.txt",
    "pharmkg8k": "{}.tsv",
    "wikidata5m": "wikidata5m_transductive_{}.txt",
    "wn18": "wordnet-mlj12/wordnet-mlj12-{}.txt",
}
"""a dataset that PyKEEN downloads as plain files of triples -> the name of its files, with {} for the split"""

LAYOUTS = {
    **dict.fromkeys(("inductivefb15k237", "inductivewn18rr", "inductivenell"), "grail"),
    **dict.fromkeys(("ilpc2022small", "ilpc2022large"), "ilpc"),
}
"""an inductive dataset of PyKEEN -> the layout of its files"""

LOGGER = logging.getLogger(__name__)


def read_named(name: str, **options: Any) -> Dataset:
    """Load a PyKEEN dataset by name: from its files if they are here, without importing PyKEEN, or else by PyKEEN.

    PyKEEN downloads the datasets that it does not bundle.
    """
    key = _key(name)
    files = {} if options else _files(key)
    resolver = None if files else _resolver(name)
    try:
        return _from_files(key, files) if resolver is None else from_dataset(resolver.make(key, options), key)
    except Exception as error:  # PyKEEN downloads and unpacks here: every failure gives one message
        raise DatasetError(f"PyKEEN could not load the dataset {name!r}: {error}") from error


def refuse_unknown_name(name: str) -> None:
    """Refuse a name that no PyKEEN dataset has."""
    if not _files(_key(name)):
        _resolver(name)


def names() -> list[str]:
    """List the datasets that PyKEEN knows by name, the inductive ones too."""
    return sorted(name for resolver in _resolvers() for name in resolver.lookup_dict)


def _key(name: str) -> str:
    return re.sub("[-_ ]", "", name.lower()).removesuffix("dataset")


def _resolver(name: str) -> Any:
    """Find the registry of PyKEEN that has a dataset."""
    resolvers = _resolvers() if is_installed("pykeen") else ()
    resolver = next((resolver for resolver in resolvers if _key(name) in resolver.lookup_dict), None)
    if resolver is None:
        here = [entry.name for entry in Path().iterdir() if entry.is_dir() and not entry.name.startswith(".")]
        hint = f" ({did_you_mean(name, near)})" if (near := nearest(name, here)) else ""
        refuse_missing(f"no folder is called {name!r}{hint}, and datasets by name need", "pykeen")
        near = nearest(name, [*names(), *here])
        hint = did_you_mean(name, near or names(), listed="datasets")  # a folder that is not near may be anything
        raise DatasetError(f"no folder and no PyKEEN dataset is called {name!r}. {hint}")
    return resolver


def _files(key: str) -> dict[str, Path]:
    """Find the file of each split: in PyKEEN's package, or where it was downloaded to; none if one is missing."""
    if key in SHIPPED and (package := importlib.util.find_spec("pykeen")) is not None:
        folder = Path(str(package.origin)).parent / "datasets" / key
    elif key in UNPACKED and is_installed("pystow"):
        with writable_home():
            import pystow

            folder = pystow.join("pykeen", "datasets", key, ensure_exists=False)
    else:
        return {}
    files: dict[str, Path] = {split: folder / UNPACKED.get(key, "{}.txt").format(split) for split in SPLITS}
    return files if all(path.is_file() for path in files.values()) else {}


def _from_files(key: str, files: Mapping[str, Path]) -> Dataset:
    """Read files as PyKEEN does: sort triples; leave out repeated ones, inverses, and labels that train lacks."""
    tables = {split: read_columns(path, TRIPLE, delimiter="\t", quoted=True) for split, path in files.items()}
    train = tables["train"].filter(pc.invert(pc.ends_with(tables["train"]["relation"], "_inverse")))
    heads, relations, tails = ({*column.unique().to_pylist()} for column in train.columns)
    labels = Vocabulary(sorted(heads | tails)), Vocabulary(sorted(relations), "relation")
    splits = {}
    for split, table in tables.items():
        columns = zip(table.columns, (labels[0], labels[1], labels[0]), strict=True)
        ids = np.stack([vocabulary.ids(column) for column, vocabulary in columns], axis=1)
        known = (ids >= 0).all(axis=1)
        if not known.all():
            left = f"{(~known).sum()} of {len(ids)}"
            LOGGER.warning("%s: %s %s triples have a label that train lacks. They are left out.", key, left, split)
        splits[split] = Triples.of(np.unique(ids[known], axis=0))
    return Dataset.build(key, splits, entities=labels[0], relations=labels[1], id_source="PyKEEN")


def from_objects(source: Any) -> Dataset:
    """Take PyKEEN's objects in memory: a dataset, or the triples factories of its splits."""
    if isinstance(source, Mapping):
        return from_factories(source)
    if hasattr(source, "inductive_inference") or (hasattr(source, "training") and hasattr(source, "testing")):
        return from_dataset(source() if isinstance(source, type) else source)
    if hasattr(source, "mapped_triples"):
        raise DatasetError("a triples factory holds one split. Give a factory for each: {'train': …, 'test': …}.")
    cure = "For triples in memory, call kgeval.Dataset.from_labels."
    if callable(source) or hasattr(source, "scores"):
        cure = "The model comes first: kgeval.evaluate(model, dataset)."
    raise DatasetError(f"a dataset is a folder or a PyKEEN name, not {source!r:.60}. {cure}")


def from_dataset(data: Any, name: str | None = None) -> Dataset:
    """Take a dataset object of PyKEEN; the train triples of an inductive dataset are its inference graph."""
    if name is None:  # the name that PyKEEN loads it by, or its class
        name = data.get_normalized_name() if hasattr(data, "get_normalized_name") else type(data).__name__
    inductive = hasattr(data, "inductive_inference")
    new = ("inductive_inference", "inductive_validation", "inductive_testing")
    parts = new if inductive else tuple(PYKEEN_SPLITS)
    factories: dict[str, Any] = {split: getattr(data, part) for split, part in zip(SPLITS, parts, strict=True)}
    graph = from_factories(factories, name=str(name))
    dataset = replace(graph, id_source="PyKEEN", layout=LAYOUTS.get(_key(graph.name), ""))
    if not inductive:
        return dataset
    learned, inference = data.transductive_training, data.inductive_inference
    if getattr(learned, "relation_to_id", None) != getattr(inference, "relation_to_id", None):
        raise DatasetError(f"{name}: the inference graph's relation_to_id differs from the training graph's.")
    training = from_factories({"train": learned}, name=f"{name}/transductive_training")
    return with_training_graph(dataset, training)


def from_factories(factories: Mapping[str, Any], *, name: str = "factories") -> Dataset:
    """Take PyKEEN's triples factories by split, with its names of splits or kgeval's.

    All must have the same ids. Ids without labels are their own labels; a split whose factory is None is left out.
    """
    splits = {PYKEEN_SPLITS.get(split, split): factory for split, factory in factories.items() if factory is not None}
    for split, factory in splits.items():
        if not hasattr(factory, "mapped_triples"):
            raise DatasetError(f"{name}: the {split} split must be a triples factory of PyKEEN, found {factory!r:.60}.")
    if not splits:
        raise DatasetError(f"{name}: no triples factories. Expected one for each split: {', '.join(SPLITS)}.")
    first, reference = next(iter(splits.items()))
    for split, factory in splits.items():
        for mapping in ("entity_to_id", "relation_to_id"):
            if getattr(factory, mapping, None) != getattr(reference, mapping, None):
                raise DatasetError(f"{name}: the {split} factory's {mapping} differs from the {first} factory's.")
    return Dataset.build(
        name,
        {split: Triples.of(factory.mapped_triples.numpy()) for split, factory in splits.items()},
        entities=_vocabulary(reference, "entity"),
        relations=_vocabulary(reference, "relation"),
    )


def to_factories(dataset: Dataset, *, inverse: bool = False) -> dict[str, Any]:
    """Give the splits as PyKEEN triples factories with the same ids and labels, for training."""
    import torch
    from pykeen.triples import TriplesFactory

    entity_to_id = {label: index for index, label in enumerate(dataset.entities)}
    relation_to_id = {label: index for index, label in enumerate(dataset.relations)}
    return {
        split: TriplesFactory(
            mapped_triples=torch.from_numpy(triples.ids),
            entity_to_id=entity_to_id,
            relation_to_id=relation_to_id,
            create_inverse_triples=inverse and split == "train",
        )
        for split, triples in dataset.splits.items()
    }


@contextmanager
def writable_home() -> Iterator[None]:
    """Import PyKEEN or PyStow in the block; if its folder for files cannot be made, the error says what to do."""
    try:
        yield
    except OSError as error:
        folder = error.filename or os.environ.get("PYSTOW_HOME") or "~/.data"
        fault = f"PyKEEN cannot make the folder {str(folder)!r} for its datasets ({error.strerror or error})"
        cure = "Set the environment variable PYSTOW_HOME to another, or give a folder."
        raise DatasetError(f"{fault}. {cure}") from error


def _vocabulary(factory: Any, kind: str) -> Vocabulary:
    ids = getattr(factory, f"{kind}_to_id", None)
    if ids is None:
        return Vocabulary.numbered(int(factory.num_entities if kind == "entity" else factory.real_num_relations), kind)
    return Vocabulary.of({str(label): index for label, index in ids.items()}, kind)


def _resolvers() -> tuple[Any, Any]:
    """PyKEEN's registries of datasets: of one graph, and inductive ones."""
    with writable_home():
        from pykeen.datasets import dataset_resolver
        from pykeen.datasets.inductive import inductive_dataset_resolver

    return dataset_resolver, inductive_dataset_resolver
