"""One small graph in every stored layout, each written by the framework's rule alone: functions that fill a folder."""

from __future__ import annotations

import gzip
import json
import pickle

import numpy as np

ENTITIES = ["ant", "bee", "cat, big", "dog", "eel"]
RELATIONS = ["likes", "eats"]
SPLITS = {
    "train": [(0, 0, 1), (4, 1, 3), (2, 1, 0), (3, 0, 4)],
    "valid": [(1, 0, 2)],
    "test": [(2, 0, 4), (1, 1, 3)],
}


def pairs(line, labels, *, header=""):
    rows = [line.format(id=index, label=label) for index, label in enumerate(labels)]
    return "".join(f"{row}\n" for row in [*header.splitlines(), *reversed(rows)])


def libkge(folder):
    files = {name: {"filename": f"{name}.del", "type": "triples"} for name in SPLITS}
    files["test"]["filename"] = "held-out.del"
    (folder / "dataset.yaml").write_text(json.dumps({"dataset": {"name": "small", "num_entities": 5, "files": files}}))
    (folder / "entity_ids.del").write_text(pairs("{id}\t{label}", ENTITIES))
    (folder / "relation_ids.del").write_text(pairs("{id}\t{label}", RELATIONS))
    for name, rows in SPLITS.items():
        text = "".join(f"{s}\t{p}\t{o}\n" for s, p, o in rows)
        (folder / files[name]["filename"]).write_text(text)
        labelled = "".join(f"{ENTITIES[s]}\t{RELATIONS[p]}\t{ENTITIES[o]}\n" for s, p, o in rows)
        (folder / f"{name}.txt").write_text(labelled)  # LibKGE keeps the original triples too


def rotate(folder):
    (folder / "entities.dict").write_text(pairs("{id}\t{label}", ENTITIES))
    (folder / "relations.dict").write_text(pairs("{id}\t{label}", RELATIONS))
    for name, rows in SPLITS.items():
        text = "".join(f"{ENTITIES[h]}\t{RELATIONS[r]}\t{ENTITIES[t]}\n" for h, r, t in rows)
        (folder / f"{name}.txt").write_text(text)


def kbc(folder):
    (folder / "ent_id").write_text(pairs("{label}\t{id}", ENTITIES))
    (folder / "rel_id").write_text(pairs("{label}\t{id}", RELATIONS))
    for name, rows in SPLITS.items():
        (folder / f"{name}.pickle").write_bytes(pickle.dumps(np.array(rows).astype("uint64"), protocol=4))
    (folder / "to_skip.pickle").write_bytes(pickle.dumps({"lhs": {}, "rhs": {}}))


def marius(folder, dtype=np.int32):
    (folder / "edges").mkdir()
    (folder / "nodes").mkdir()
    counts = "".join(f"num_{name}: {len(rows)}\n" for name, rows in SPLITS.items())
    (folder / "dataset.yaml").write_text(f"dataset_dir: /elsewhere\nnum_nodes: 5\nnum_relations: 2\n{counts}")
    (folder / "nodes/node_mapping.txt").write_text(pairs("{label},{id}", ENTITIES))
    (folder / "edges/relation_mapping.txt").write_text(pairs("{label},{id}", RELATIONS))
    for name, rows in SPLITS.items():
        stem = {"valid": "validation"}.get(name, name)
        (folder / f"edges/{stem}_edges.bin").write_bytes(np.array(rows, dtype).tobytes())


def pbg(folder):
    """Two partitions: entities 0 to 2, and 3 and 4."""
    import h5py

    (folder / "entity_names_all_0.json").write_text(json.dumps(ENTITIES[:3]))
    (folder / "entity_names_all_1.json").write_text(json.dumps(ENTITIES[3:]))
    (folder / "dynamic_rel_names.json").write_text(json.dumps(RELATIONS))
    for name, rows in SPLITS.items():
        place = folder / f"small-{name}_partitioned"
        place.mkdir()
        for i in (0, 1):
            for j in (0, 1):
                edges = [(h - 3 * i, r, t - 3 * j) for h, r, t in rows if (h >= 3, t >= 3) == (bool(i), bool(j))]
                with h5py.File(place / f"edges_{i}_{j}.h5", "w") as file:
                    file.attrs["format_version"] = 1
                    for column, key in enumerate(("lhs", "rel", "rhs")):
                        file[key] = np.array([edge[column] for edge in edges], np.int64)


def ogb_columns(rows):
    return {key: np.array([row[column] for row in rows]) for column, key in enumerate(("head", "relation", "tail"))}


NEGATIVES = {
    "valid": {"head_neg": [[0, 3]], "tail_neg": [[4, 3]]},
    "test": {"head_neg": [[0, 1], [4, 0]], "tail_neg": [[1, 3], [2, 2]]},
}


def ogb(folder, save=None):
    import torch

    place = folder / "split/time"
    place.mkdir(parents=True)
    (folder / "mapping").mkdir()
    for name, labels in (("nodeidx2entityid", ENTITIES), ("reltype2relid", RELATIONS)):
        with gzip.open(folder / f"mapping/{name}.csv.gz", "wt") as file:
            file.write(pairs('{id},"{label}"', labels, header="idx,label"))
    for name, rows in SPLITS.items():
        negatives = {key: np.array(lists) for key, lists in NEGATIVES.get(name, {}).items()}
        torch.save({**ogb_columns(rows), **negatives}, place / f"{name}.pt")


LAYOUTS = {"kbc": kbc, "libkge": libkge, "marius": marius, "ogb": ogb, "pbg": pbg, "rotate": rotate}
