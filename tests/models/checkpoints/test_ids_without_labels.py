"""Ids without labels: taken as the dataset's with a note, or refused where the dataset's can only be others."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch

from kgeval import Dataset, Triples, Vocabulary, evaluate, load_checkpoint, load_dataset, save_checkpoint
from kgeval.base.errors import CheckpointError, InputError
from kgeval.models.alignment import align
from kgeval.models.checkpoints.state_dict_format import Model, StateDictFormat, holds, named
from kgeval.models.families.bilinear import DistMult
from tests.conftest import random_dataset
from tests.models.checkpoints.conftest import arrays_of, write_arrays
from tests.models.checkpoints.layouts import (
    ENTITIES,
    RELATIONS,
    WRITERS,
    kb2e,
    libkge_transh,
    marius_distmult,
    pbg_static,
    pyg_rotate,
    rotate_code,
)


@pytest.fixture
def graph():
    """A graph whose ids the caller gave."""
    splits = {"train": Triples.of([(0, 0, 1), (2, 1, 3)]), "test": Triples.of([(4, 2, 5)])}
    relations = Vocabulary(RELATIONS[::-1], "relation")
    return Dataset.build("other", splits, entities=Vocabulary(ENTITIES[::-1]), relations=relations)


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        (["entities", "relations"], "the model has no labels; its ids"),
        (["entities"], "the model has no entity labels; its entity ids"),
        (["relations"], "the model has no relation labels; its relation ids"),
    ],
)
def test_ids_without_labels_are_not_taken_in_silence(tmp_path, graph, missing, said):
    rotate_code(tmp_path)
    for name in missing:
        (tmp_path / f"{name}.dict").unlink()
    aligned = align(load_checkpoint(tmp_path, dataset=graph), graph)
    assert aligned.notes == (f"{said} were taken as those of dataset other.",)


@pytest.mark.parametrize("writer", [kb2e, pyg_rotate])
def test_ids_of_other_formats_are_not_taken_in_silence_either(tmp_path, graph, writer):
    options = unlabelled(writer, tmp_path)
    notes = align(load_checkpoint(tmp_path, dataset=graph, **options), graph).notes
    assert notes == ("the model has no labels; its ids were taken as those of dataset other.",)


def test_labels_that_are_numbers_in_the_order_of_text_are_named(tmp_path):
    size, rows = 12, [(str(head), "r", str((head + 1) % 12)) for head in range(12)]
    data = Dataset.from_labels(train=rows, test=[("0", "r", "5")])
    np.savez(tmp_path / "m.npz", entity=np.ones((size, 2), np.float32), relation=np.ones((1, 2), np.float32))
    order = "Its labels are numbers in another order: the entity '2' has the id 4."
    with pytest.raises(CheckpointError, match=order):
        evaluate(load_checkpoint(tmp_path / "m.npz", dataset=data, model="DistMult"), data)
    model = load_checkpoint(tmp_path / "m.npz", dataset=data, model="DistMult", ids="dataset")
    assert order in " ".join(align(model, data).notes)
    few = Dataset.from_labels(train=rows[:5], test=[("0", "r", "5")])
    assert "another order" not in " ".join(align(lambda heads, relations, tails: heads + tails, few).notes)


NAMES = ("ampligraph", "dglke", "marius", "openke", "rotate")

KEEPERS = [*(writer for name, writer in WRITERS if name in NAMES), libkge_transh]
"""the layouts of frameworks that keep ids in files"""


def unlabelled(writer, folder):
    """Write a checkpoint, and take its labels away; return the options that it needs."""
    options = writer(folder)[2]
    for pattern in ("*.dict", "*.tsv", "*.del", "*2id.txt", "*_mapping.txt", "model/*.ampkl"):
        for path in folder.glob(pattern):
            path.unlink()
    return options


def split_of_labels(folder, *, ids):
    """Write the graph as labelled triples; with ``ids`` as the RotatE code has it, with dictionaries."""
    rows = [f"{ENTITIES[h]}\t{RELATIONS[r]}\t{ENTITIES[(2 * h + r) % 7]}\n" for h in range(7) for r in range(3)]
    for name, part in (("train", rows[:15]), ("test", rows[15:])):
        (folder / f"{name}.txt").write_text("".join(part), encoding="utf-8")
    for name, labels in (("entities", ENTITIES), ("relations", RELATIONS)) if ids else ():
        lines = (f"{index}\t{label}\n" for index, label in enumerate(labels))
        (folder / f"{name}.dict").write_text("".join(lines), encoding="utf-8")
    return load_dataset(folder)


@pytest.mark.parametrize("writer", KEEPERS, ids=lambda w: w.__name__)
def test_ids_of_files_are_not_taken_for_those_that_kgeval_gave(tmp_path, writer):
    folders = [tmp_path / name for name in ("model", "labels", "ids")]
    for folder in folders:
        folder.mkdir()
    options = unlabelled(writer, folders[0])
    made_up, told = (split_of_labels(folder, ids=folder.name == "ids") for folder in folders[1:])
    with pytest.raises(
        CheckpointError, match=r"no entity labels: its ids .* dataset labels are kgeval's own\. Name the"
    ):
        load_checkpoint(folders[0], dataset=made_up, **options)
    checkpoint = load_checkpoint(folders[0], **options)
    with pytest.raises(CheckpointError, match="labels=FOLDER"):
        align(checkpoint, made_up)
    if "rotate" in checkpoint.layouts:
        taken = ("the model has no labels; its ids were taken as those of dataset ids.",)
        assert align(checkpoint, told).notes == taken
    else:
        with pytest.raises(CheckpointError, match=r"dataset ids are those of a folder in the layout rotate\. Name the"):
            align(checkpoint, told)
    labelled = load_checkpoint(folders[0], dataset=made_up, labels=str(folders[2]), **options)
    assert (align(labelled, made_up).entity_rows != np.arange(7)).any()
    save_checkpoint(checkpoint, tmp_path / "native.safetensors")
    with pytest.raises(CheckpointError, match="Name the folder that the model was trained on with the option labels="):
        load_checkpoint(tmp_path / "native.safetensors", dataset=made_up)


def own_arrays(kind, folder, data, order):
    """Write a random DistMult with its entities in an order of its own; return its options, and its answers' scores."""
    rng = np.random.default_rng(1)
    vectors, table = (rng.normal(size=(len(labels), 4)) for labels in (data.entities, data.relations))
    queries = vectors[data.test.heads] * table[data.test.relations]
    scores = queries @ vectors.T
    if kind == "npz":
        np.savez(folder / "mine.npz", entity=vectors[order], relation=table)
        options = {"model": "DistMult"}
    elif kind == "tensors":
        torch.save({"ent": torch.tensor(vectors[order]), "rel": torch.tensor(table)}, folder / "mine.pt")
        options = {"model": "DistMult", "entity": "ent", "relation": "rel"}
    elif kind == "vectors":
        np.save(folder / "entity.npy", vectors[order])
        np.save(folder / "query.npy", queries)
        options = {"similarity": "dot"}
    else:
        np.save(folder / "tail_scores.npy", scores[:, order])
        options = {}
    return options, scores[np.arange(len(scores)), data.test.tails]


@pytest.mark.parametrize("source", ["kgeval", "PyKEEN", "rotate", None])
@pytest.mark.parametrize("kind", ["npz", "tensors", "vectors", "scores"])
def test_own_arrays_are_not_taken_for_ids_that_were_made_up(tmp_path, kind, source):
    """Every answer has the score that numpy computes, or the ids are refused; those of files are taken, with a note."""
    data = replace(random_dataset(3, entities=12, triples=60), id_source=source)
    order = np.random.default_rng(2).permutation(12)
    (tmp_path / "model").mkdir()
    options, expected = own_arrays(kind, tmp_path / "model", data, order)
    said = {"ids": "dataset"} if source in ("kgeval", "PyKEEN") else {}
    if said:
        place = {"npz": r"entities\.tsv and relations\.tsv", "tensors": "Name the folder"}.get(kind, r"entities\.txt")
        with pytest.raises(
            CheckpointError,
            match=rf"is not known, and .* {source}'s own.*{place}.*labels=FOLDER.*--option ids=dataset",
        ):
            load_checkpoint(tmp_path / "model", dataset=data, **options)
        with pytest.raises(CheckpointError, match="expected ids=dataset"):
            load_checkpoint(tmp_path / "model", dataset=data, ids="mine", **options)
    taken = load_checkpoint(tmp_path / "model", dataset=data, **said, **options)
    assert any("ids were taken as those of dataset random" in note for note in evaluate(taken, data).notes)
    for name, labels in (("entities", [data.entities[int(row)] for row in order]), ("relations", data.relations)):
        lines = (f"{row}\t{label}\n" for row, label in enumerate(labels))
        (tmp_path / f"{name}.dict").write_text("".join(lines), encoding="utf-8")
    named = load_checkpoint(tmp_path / "model", dataset=data, labels=str(tmp_path), **options)
    np.testing.assert_allclose(evaluate(named, data, sides="tail").column("score"), expected)
    with pytest.raises(CheckpointError, match=r"has labels, so its ids are known\. Leave the option ids out"):
        load_checkpoint(tmp_path / "model", dataset=data, labels=str(tmp_path), ids="dataset", **options)


@pytest.mark.parametrize("layout", ["libkge", "openke"])
def test_ids_of_files_are_those_of_the_frameworks_own_layout(tmp_path, layout):
    """The same graph in two frameworks' folders, numbered in opposite orders."""
    libkge, openke = tmp_path / "libkge", tmp_path / "openke"
    for folder in (libkge, openke):
        folder.mkdir()
    rows = [(h, r, (2 * h + r) % 7) for h in range(7) for r in range(3)]
    (libkge / "dataset.yaml").write_text("dataset: {name: animals}\n", encoding="utf-8")
    for kind, labels in (("entity", ENTITIES), ("relation", RELATIONS)):
        for folder, name, order in ((libkge, f"{kind}_ids.del", labels), (openke, f"{kind}2id.txt", labels[::-1])):
            pairs = [(row, label) if folder == libkge else (label, row) for row, label in enumerate(order)]
            text = "".join(f"{one}\t{other}\n" for one, other in pairs)
            (folder / name).write_text(text if folder == libkge else f"{len(labels)}\n{text}", encoding="utf-8")
    for split, part in (("train", rows[:12]), ("valid", rows[12:15]), ("test", rows[15:])):
        lines = "".join(f"{h}\t{r}\t{t}\n" for h, r, t in part)
        (libkge / f"{split}.del").write_text(lines, encoding="utf-8")
        lines = "".join(f"{6 - h} {6 - t} {2 - r}\n" for h, r, t in part)
        (openke / f"{split}2id.txt").write_text(f"{len(part)}\n{lines}", encoding="utf-8")
    (tmp_path / "model").mkdir()
    state = {"ent_embeddings.weight": torch.ones(7, 2), "rel_embeddings.weight": torch.ones(3, 2)}
    torch.save(state, tmp_path / "model/distmult.ckpt")
    checkpoint = load_checkpoint(tmp_path / "model", model="DistMult")
    save_checkpoint(checkpoint, tmp_path / "native.safetensors")
    data = load_dataset(tmp_path / layout)
    assert data.id_source == layout
    for model in (checkpoint, load_checkpoint(tmp_path / "native.safetensors")):
        if layout == "openke":
            assert align(model, data).entity_rows.tolist() == list(range(7))
        else:
            with pytest.raises(CheckpointError, match="dataset animals are those of a folder in the layout libkge"):
                align(model, data)


def test_ids_of_files_are_not_taken_for_those_that_pykeen_gave(tmp_path, nations):
    state = {"ent_embeddings.weight": torch.ones(14, 2), "rel_embeddings.weight": torch.ones(55, 2)}
    torch.save(state, tmp_path / "distmult.ckpt")
    with pytest.raises(CheckpointError, match=r"the ids of dataset nations are PyKEEN's own\."):
        load_checkpoint(tmp_path, dataset=nations, model="DistMult")


def test_a_single_relation_needs_no_label(tmp_path):
    marius_distmult(tmp_path)
    (tmp_path / "relation_mapping.txt").unlink()
    module = torch.nn.Module()
    module.relation_embeddings = torch.nn.Parameter(torch.ones(1, 4))
    torch.jit.save(torch.jit.script(module), tmp_path / "model.pt")
    (tmp_path / "graph").mkdir()
    (tmp_path / "graph/train.txt").write_text("".join(f"{label}\tis\tant\n" for label in ENTITIES), encoding="utf-8")
    (tmp_path / "graph/test.txt").write_text("gnu\tis\tFox\n", encoding="utf-8")
    data = load_dataset(tmp_path / "graph")
    aligned = align(load_checkpoint(tmp_path, dataset=data), data)
    assert [ENTITIES[row] for row in aligned.entity_rows] == list(data.entities)
    assert aligned.relation_rows.tolist() == [0]


def test_ids_of_bigraph_are_those_of_its_names(tmp_path):
    for name in ("model", "graph"):
        (tmp_path / name).mkdir()
    pbg_static(tmp_path / "model")
    for path in (tmp_path / "model/names").iterdir():
        path.unlink()
    with pytest.raises(CheckpointError, match="no entity labels: its ids are from the dataset folder of its framework"):
        load_checkpoint(tmp_path / "model", dataset=split_of_labels(tmp_path / "graph", ids=False))


def test_a_numbering_that_is_none_is_refused(tmp_path):
    write_arrays(tmp_path / "m.safetensors", arrays_of("DistMult"), format="kgeval", model="DistMult", numbering="x")
    with pytest.raises(
        CheckpointError, match=r"numbering: unknown value 'x'\. Choose one of 'dataset', 'files', 'sorted'"
    ):
        load_checkpoint(tmp_path)


def test_a_table_that_says_nothing_of_its_ids_is_refused_without_labels(tmp_path):
    arrays = {"nodes": np.ones((14, 2)), "edges": np.ones((55, 2))}
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(arrays))
    model = Model(DistMult, {"entity": named("nodes"), "relation": named("edges")})
    tiny = StateDictFormat(
        "tiny", "Tiny", "a model", "a model", (holds({".pkl"}, arrays),), {"DistMult": model}
    ).reader()
    with pytest.raises(InputError, match="no entity labels: the meaning of its ids is not known"):
        evaluate(load_checkpoint(tmp_path / "m.pkl", format=tiny), "nations")
