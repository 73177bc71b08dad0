"""Checkpoints that tests write for a given graph, in formats of which there is no small real one."""

from __future__ import annotations

import json
import pickle
import sys
from collections import defaultdict
from types import ModuleType
from unittest.mock import patch

import numpy as np
import torch

from kgeval import Dataset, Triples, Vocabulary
from kgeval.data.queries import query_names
from tests.checkpoints.damage import BOMBS


def at_times(data):
    """The same graph, its facts at three times."""
    splits = {name: Triples(part.ids, np.arange(len(part)) % 3) for name, part in data.splits.items()}
    labels = {"entities": data.entities, "relations": data.relations}
    return Dataset.build("umls", splits, **labels, times=Vocabulary(["2014-01-01", "2014-01-02", "2014-01-03"], "time"))


def tables(data, *names, width=4):
    """A table of entities and one of relations, under two names."""
    return {name: torch.rand(len(labels), width) for name, labels in zip(names, kinds(data), strict=True)}


def kinds(data):
    return data.entities, data.relations


def numbered(folder, data, name, line):
    """Two files of labels and ids."""
    for kind, labels in zip(("entity", "relation"), kinds(data), strict=True):
        rows = [line.format(label=label, id=row) for row, label in enumerate(labels)]
        (folder / name.format(kind)).write_text("".join(rows), encoding="utf-8")


def as_json(folder, data):
    """Two files of labels and ids, of one JSON object each."""
    for kind, labels in zip(("entity", "relation"), kinds(data), strict=True):
        ids = json.dumps({label: row for row, label in enumerate(labels)})
        (folder / f"{kind}_to_id.json").write_text(ids, encoding="utf-8")


def named(folder, data):
    """A state dictionary of one's own."""
    torch.save(tables(data, "ent.weight", "rel.weight"), folder / "mine.pt")


def word2vec(folder, data):
    """One table of entities and relations."""
    labels = [*data.entities, *data.relations]
    rows = (
        f"{label} {' '.join(map(str, row))}\n" for label, row in zip(labels, random_rows(labels).tolist(), strict=True)
    )
    (folder / "vectors.txt").write_text(f"{len(labels)} 4\n" + "".join(rows), encoding="utf-8")


def word2vec_binary(folder, data):
    """The same table in word2vec's binary format."""
    labels = [*data.entities, *data.relations]
    rows = (f"{label} ".encode() + row.tobytes() for label, row in zip(labels, random_rows(labels), strict=True))
    (folder / "vectors.bin").write_bytes(f"{len(labels)} 4\n".encode() + b"".join(rows))


def random_rows(labels):
    return torch.rand(len(labels), 4).numpy()


GENSIM = {
    name: type(name, (), {"__module__": f"gensim.models.{name.lower()}"}) for name in ("KeyedVectors", "Word2Vec")
}
"""classes called as those of gensim, whose attributes are all that it pickles"""


def of_gensim(name, **attributes):
    """An object of one of these classes."""
    made = GENSIM[name]()
    vars(made).update(attributes)
    return made


def saved_by_gensim(file, name, protocol=4, **attributes):
    """A pickle for which the classes are where those of gensim would be."""
    modules = {name: ModuleType(name) for name in ("gensim", "gensim.models")}
    for kind in GENSIM.values():
        modules[kind.__module__] = ModuleType(kind.__module__)
        setattr(modules[kind.__module__], kind.__name__, kind)
    with patch.dict(sys.modules, modules):
        file.write_bytes(pickle.dumps(of_gensim(name, **attributes), protocol))


def gensim(folder, data):
    """The same table as KeyedVectors, the vectors beside the pickle, where gensim puts large ones."""
    labels = [*data.entities, *data.relations]
    np.save(folder / "m.kv.vectors.npy", random_rows(labels))
    saved_by_gensim(folder / "m.kv", "KeyedVectors", vector_size=4, index_to_key=labels, __numpys=["vectors"])


def gensim_model(folder, data):
    """The same table in a Word2Vec of gensim 3, with what is only there for training."""
    labels = [*data.entities, *data.relations]
    held = of_gensim("KeyedVectors", vector_size=4, index2word=labels, vectors=random_rows(labels))
    training = {"hashfxn": hash, "raw_vocab": defaultdict(int, Fox=3), "random": np.random.RandomState(1)}
    saved_by_gensim(folder / "rdf2vec.model", "Word2Vec", wv=held, alpha=0.025, **training)


def kb2e(folder, data):
    """Two tables of text and the ids of their rows."""
    for name, table in tables(data, "entity2vec", "relation2vec").items():
        np.savetxt(folder / f"{name}.bern", table, "%.6f", delimiter="\t", newline="\t\n")
    numbered(folder, data, "{}2id.txt", "{label}\t{id}\n")


def ampligraph1(folder, data):
    """One pickle of dictionaries and arrays."""
    names = ("ent_to_idx", "rel_to_idx")
    content = {
        name: {label: row for row, label in enumerate(labels)} for name, labels in zip(names, kinds(data), strict=True)
    }
    content |= {"class_name": "TransE", "hyperparams": {"embedding_model_params": {"norm": 2}}}
    content["model_params"] = [table.numpy() for table in tables(data, *names).values()]
    (folder / "model.pkl").write_bytes(pickle.dumps(content))


def pykg2vec(folder, data):
    """A state dictionary, and a configuration that is not opened."""
    torch.save(tables(data, "ent_embeddings.weight", "rel_embeddings.weight"), folder / "model.vec.pt")
    (folder / "config.npy").write_bytes(BOMBS[2])


def keen(folder, data):
    """PyKEEN 0.0: a state dictionary, the labels and the configuration as JSON."""
    torch.save(tables(data, "entity_embeddings.weight", "relation_embeddings.weight"), folder / "trained_model.pkl")
    as_json(folder, data)
    config = {"kg_embedding_model_name": "TransE", "scoring_function": 1, "embedding_dim": 4}
    (folder / "configuration.json").write_text(json.dumps(config), encoding="utf-8")


def lightning(folder, data):
    """A model of PyKEEN's in PyTorch Lightning, and its labels."""
    names = (f"model.{kind}_representations.0._embeddings.weight" for kind in ("entity", "relation"))
    state = {"state_dict": tables(data, *names), "epoch": 3, "pytorch-lightning_version": "2.1"}
    torch.save(state | {"optimizer_states": [{"step": torch.ones(1)}]}, folder / "last.ckpt")
    as_json(folder, data)


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


NAMED = {"entity": "ent.weight", "relation": "rel.weight", "model": "TransE", "norm": 1}

MADE = {
    "ampligraph-1": ("ampligraph-1", ampligraph1, {}),
    "encoder": ("dual-encoder", encoder, {"similarity": "dot"}),
    "encoder-safe": ("dual-encoder", safe_encoder, {"similarity": "cosine"}),
    "gensim": ("word2vec", gensim, {"model": "DistMult"}),
    "gensim-model": ("word2vec", gensim_model, {"model": "DistMult"}),
    "kb2e": ("transx", kb2e, {"L1_flag": True}),
    "keen": ("pykeen", keen, {}),
    "lightning": ("pykeen", lightning, {"model": "DistMult"}),
    "lists": ("predictions", lines, {}),
    "pykg2vec": ("pykg2vec", pykg2vec, {"model": "DistMult"}),
    "scores": ("scores", scores, {}),
    "state-dict": ("state-dict", named, NAMED),
    "tkbc": ("tkbc", tkbc, {}),
    "trec": ("trec", trec, {}),
    "word2vec": ("word2vec", word2vec, {"model": "DistMult"}),
    "word2vec-binary": ("word2vec", word2vec_binary, {"model": "DistMult"}),
}
"""format, what writes it, and the options that it needs"""

ALONE = {"lists": "lists.jsonl", "trec": "mine.trec"}
"""what is read as a file, not as the folder around it"""
