"""Graphs in TGB 2.0's form, in plain Python: its numbers of entities and relations, its splits, queries and files."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field

import numpy as np

SHORT = {"train": "train", "valid": "val", "test": "test"}


@dataclass
class Graph:
    """Rows (time, head, tail, relation) of labels."""

    rows: list
    name: str = "tkgl-made"
    entities: list = field(default_factory=list)
    """in the order of first appearance, head before tail"""
    relations: list = field(default_factory=list)
    """text in that order, whole numbers in theirs"""
    splits: dict = field(default_factory=dict)
    """split -> (head, relation, tail, time) of ids, with repetitions"""

    def __post_init__(self):
        self.entities = [*dict.fromkeys(label for _, head, tail, _ in self.rows for label in (head, tail))]
        self.relations = [*dict.fromkeys(row[3] for row in self.rows)]
        if isinstance(self.relations[0], int):
            self.relations.sort()
        shares = (0.8, 0.9) if self.name == "tkgl-yago" else (0.7, 0.85)
        first, second = np.quantile([row[0] for row in self.rows for _ in range(2)], shares)
        for time, head, tail, relation in self.rows:
            split = "train" if time <= first else "valid" if time <= second else "test"
            ids = (self.entities.index(head), self.relations.index(relation), self.entities.index(tail), time)
            self.splits.setdefault(split, []).append(ids)

    def number(self, relation):
        return self.relations[relation] if isinstance(self.relations[0], int) else relation

    def keys(self, fact):
        """The two queries of a fact, by the side that they ask for, and their answers."""
        head, relation, tail, time = fact
        number = self.number(relation)
        return {"tail": ((time, head, number), tail), "head": ((time, tail, number + len(self.relations)), head)}

    def answers(self, split):
        """The true answers of each query of a split."""
        found = {}
        for fact in self.splits.get(split, []):
            for key, answer in self.keys(fact).values():
                found.setdefault(key, set()).add(answer)
        return found

    def write(self, folder, header="timestamp,head,tail,relation_type"):
        text = "".join(f"{','.join(map(str, row))}\n" for row in self.rows)
        (folder / f"{self.name}_edgelist.csv").write_text(f"{header}\n{text}")

    def negatives(self, split):
        return f"{self.name}_{SHORT[split]}_ns.pkl"


def write_lists(path, lists, numpy=2):
    """Pickle lists as TGB does: numpy scalars in keys, arrays as values, by the names of numpy 1 or 2."""
    content = {tuple(map(np.int64, key)): np.array([*ids], np.int64) for key, ids in lists.items()}
    raw = pickle.dumps(content, 2)
    path.write_bytes(raw.replace(b"numpy._core.", b"numpy.core.") if numpy == 1 else raw)
