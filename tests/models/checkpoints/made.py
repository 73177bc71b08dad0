"""Checkpoints that hold what a given graph asks for: its times, its queries, its triples."""

from __future__ import annotations

import json

import numpy as np
import torch

from kgeval import Dataset, Triples, Vocabulary
from kgeval.data.queries import query_names


def at_times(data):
    """The same graph, its facts at three times."""
    splits = {name: Triples(part.ids, np.arange(len(part)) % 3) for name, part in data.splits.items()}
    labels = {"entities": data.entities, "relations": data.relations}
    return Dataset.build("umls", splits, **labels, times=Vocabulary(["2014-01-01", "2014-01-02", "2014-01-03"], "time"))


def tkbc(folder, data):
    """A TNTComplEx of inverse relations too, and its labels."""
    rows = (len(data.entities), 2 * len(data.relations), len(data.times), 2 * len(data.relations))
    state = {f"embeddings.{index}.weight": torch.rand(count, 4) for index, count in enumerate(rows)}
    torch.save(state, folder / "model.pt")
    for name, labels in (("ent_id", data.entities), ("rel_id", data.relations), ("ts_id", data.times)):
        text = "".join(f"{label}\t{row}\n" for row, label in enumerate(labels))
        (folder / name).write_text(text, encoding="utf-8")


def encoder(folder, data):
    """Vectors of entities, labelled, and of the tails' queries, named."""
    _, owners = np.unique(data.test.ids[:, :2], axis=0, return_inverse=True)
    np.save(folder / "entity.npy", torch.rand(len(data.entities), 4))
    np.save(folder / "query.npy", torch.rand(len(data.test), 4)[owners])
    (folder / "entities.txt").write_text("".join(f"{label}\n" for label in data.entities), encoding="utf-8")
    rows = ((data.entities[h], data.relations[r], data.entities[t]) for h, r, t in data.test.ids.tolist())
    (folder / "queries.tsv").write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")


def safe_encoder(folder, data):
    """The same tables as safetensors."""
    from safetensors.numpy import save_file

    encoder(folder, data)
    for name in ("entity", "query"):
        save_file({"vectors": np.load(folder / f"{name}.npy")}, folder / f"{name}.safetensors")
        (folder / f"{name}.npy").unlink()


def scores(folder, data):
    """Scores of all tails."""
    _, owners = np.unique(data.test.ids[:, :2], axis=0, return_inverse=True)
    np.save(folder / "tail_scores.npy", torch.rand(len(data.test), len(data.entities))[owners])


def lines(folder, data):
    """A list of each triple as JSON lines."""
    text = ""
    for h, r, t in data.test.ids.tolist():
        best = dict(zip(list(data.entities)[:5], torch.rand(5).tolist(), strict=True))
        triple = {"head": data.entities[h], "relation": data.relations[r], "tail": data.entities[t]}
        text += json.dumps({**triple, "predictions": best}) + "\n"
    (folder / "lists.jsonl").write_text(text, encoding="utf-8")


def trec(folder, data):
    """A run of five entities for each query."""
    pairs = np.unique(data.test.ids[:, :2], axis=0)
    names = query_names(["tail"] * len(pairs), *pairs.T)
    rows = (f"{name} Q0 {place} {place} {6 - place} mine\n" for name in names for place in range(1, 6))
    (folder / "mine.trec").write_text("".join(rows), encoding="utf-8")


MADE = {
    "encoder": ("dual-encoder", encoder, {"similarity": "dot"}),
    "encoder-safe": ("dual-encoder", safe_encoder, {"similarity": "cosine"}),
    "lists": ("predictions", lines, {}),
    "scores": ("scores", scores, {}),
    "tkbc": ("tkbc", tkbc, {}),
    "trec": ("trec", trec, {}),
}
"""format, what writes it, and the options that it needs"""

ALONE = {"lists": "lists.jsonl", "trec": "mine.trec"}
"""what is read as a file, not as the folder around it"""
