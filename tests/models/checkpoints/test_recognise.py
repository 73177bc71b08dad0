"""The three lines of a refusal of files in no known format: what was found, what to do, where the formats are."""

from __future__ import annotations

import gzip
import pickle
import shutil

import numpy as np
import pandas as pd
import pytest

from kgeval import load_checkpoint
from kgeval.base.errors import CheckpointError, PickleError
from tests.models.checkpoints.conftest import ENTITIES, RELATIONS, arrays_of, write_arrays
from tests.models.checkpoints.layouts import labelled, rotate_code, table, tensors, torch, torchkge_transr


def said_of(path, **options):
    with pytest.raises(CheckpointError) as refusal:
        load_checkpoint(path, **options)
    return str(refusal.value).replace(str(path.parent), "").splitlines()


def stranger():
    """A state dictionary of a model of one's own."""
    return tensors(nodes__weight=table(7, 4), edges__weight=table(3, 4))


LIST = "'kgeval list formats' shows all formats."


def found_in(line):
    """What a refusal says it found."""
    return line.removesuffix(".").partition(" is in no known checkpoint format: found ")[2]


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_state_dict_of_ones_own_gets_its_shapes_and_two_ways_out(tmp_path, wrapped):
    state = stranger()
    torch.save({"model_state_dict": state, "epoch": 3} if wrapped else state, tmp_path / "m.pt")
    what, advice, last = said_of(tmp_path / "m.pt", entity="a")
    assert what.startswith("'/m.pt' is")
    assert found_in(what) == "m.pt (a dictionary with nodes.weight [7, 4], edges.weight [3, 4])"
    assert "--option model=MODEL --option entity=NAME --option relation=NAME" in advice
    assert "evaluate the live model in Python" in advice
    assert last == LIST


def test_a_nested_state_dict_gets_the_dotted_names_that_the_options_take(tmp_path):
    torch.save({"epoch": 3, "net": stranger()}, tmp_path / "m.pt")
    what, advice, last = said_of(tmp_path / "m.pt", entity="a")
    assert found_in(what) == "m.pt (a dictionary with net.nodes.weight [7, 4], net.edges.weight [3, 4], epoch)"
    assert "Name its tensors: --option model=MODEL" in advice
    assert last == LIST
    names = {"entity": "net.nodes.weight", "relation": "net.edges.weight"}
    assert load_checkpoint(tmp_path / "m.pt", model="DistMult", **names).num_entities == 7


def test_one_tensor_of_a_usual_name_is_no_hint_at_a_format(tmp_path):
    torch.save(tensors(ent__weight=table(7, 4), rel__weight=table(3, 4)), tmp_path / "m.pt")
    assert "Nearest" not in " ".join(said_of(tmp_path / "m.pt"))


def test_the_one_tensor_that_is_missing_is_named(tmp_path):
    torch.save(tensors(E__weight=table(7, 4), R__weight=table(3, 4)), tmp_path / "m.pt")
    nearest = "Nearest: tucker (W missing). If it is that: --checkpoint-format tucker"
    assert said_of(tmp_path / "m.pt")[1] == nearest
    with pytest.raises(CheckpointError, match=r"m\.pt: the tensor 'W' is missing"):
        load_checkpoint(tmp_path / "m.pt", format="tucker")


NEAR = {
    "five.yaml": ("dataset: umls\n", "If it is a configuration: kgeval run"),
    "vectors.txt": ("ant 0.5 -1 2e-3 4\nbee 1 1 1 1\ncat 0 0 0 0\n", "numbers of rows and columns."),
    "triples.txt": ("ant\tlikes\tbee\n", "Triples go with --dataset."),
    "lists.csv": ("head,relation,tail,predictions\na,r,c,d\n", "Lists of predictions must be JSON"),
    "ranks.parquet": ("PAR1", "If it holds ranks: kgeval summarize"),
}


@pytest.mark.parametrize("name", NEAR)
def test_a_file_that_is_nearly_readable_gets_the_cure(tmp_path, name):
    content, cure = NEAR[name]
    (tmp_path / name).write_text(content, encoding="utf-8")
    what, advice, last = said_of(tmp_path / name)
    assert found_in(what) == ""
    assert cure in advice
    assert last == LIST
    assert max(map(len, (what, advice.replace(str(tmp_path), "")))) <= 120


def test_vectors_without_their_first_line_are_told_what_it_has(tmp_path):
    rows = NEAR["vectors.txt"][0]
    (tmp_path / "v.txt").write_text(rows)
    with pytest.raises(CheckpointError, match="expected the numbers of rows and of columns, such as '1000 50'"):
        load_checkpoint(tmp_path / "v.txt", format="word2vec", model="DistMult")
    (tmp_path / "v.txt").write_text(f"3 4\n{rows}")
    assert load_checkpoint(tmp_path / "v.txt", model="DistMult").family.entity.tolist()[0] == [0.5, -1, 0.002, 4]


def test_a_run_and_a_dataset_are_told_to_be(tmp_path):
    (tmp_path / "run").mkdir()
    for name in ("manifest.json", "ranks.parquet"):
        (tmp_path / "run" / name).write_text("{}")
    assert said_of(tmp_path / "run")[1].startswith("It holds runs of kgeval. See their metrics: kgeval summarize")
    (tmp_path / "runs/umls/TransE").mkdir(parents=True)
    (tmp_path / "run").rename(tmp_path / "runs/umls/TransE/0")
    for name in ("runs", "runs/umls"):
        assert said_of(tmp_path / name)[1].startswith("It holds runs of kgeval. See their metrics: kgeval summarize")
    (tmp_path / "table").mkdir()
    (tmp_path / "table/metrics.json").write_text('{\n  "schema": 1,\n  "models": {}\n}\n')
    assert said_of(tmp_path / "table")[1].startswith("It holds runs of kgeval.")
    (tmp_path / "begun/.kgeval.partial").mkdir(parents=True)
    assert said_of(tmp_path / "begun")[1] == "A run was interrupted there. Repeat its command to finish it."
    (tmp_path / "graph").mkdir()
    for split in ("train", "test"):
        (tmp_path / "graph" / f"{split}.txt").write_text("a\tr\tb\n")
    assert said_of(tmp_path / "graph")[1].startswith("It is a dataset. Give a checkpoint before it: kgeval evaluate")


def test_lists_in_a_folder_are_named_and_its_metrics_are_no_run(tmp_path):
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved/metrics.json").write_text("forward metrics: {}\n")
    assert said_of(tmp_path / "saved") == [
        "'/saved' is in no known checkpoint format: found metrics.json.",
        LIST,
    ]
    for name in ("backward.json", "forward.json"):
        (tmp_path / "saved" / name).write_text('[\n  {"head": "a", "relation": "r", "topk_score_info": "{}"}\n]')
    assert said_of(tmp_path / "saved") == [
        "'/saved' holds 2 checkpoints: backward.json, forward.json. Give one of them."
    ]


@pytest.mark.parametrize(
    ("name", "text", "keys"),
    [
        ("a.jsonl", '{"h": "a", "r": "r", "predictions": []}\n', "h, r, predictions"),
        ("a.ndjson", '{"Head": "a", "Relation": "r"}', "Head, Relation"),
        ("a.json", '{\n "data": [{"head": "a"}]\n}', "data"),
    ],
)
def test_keys_that_are_no_list_are_named_with_those_of_one(tmp_path, name, text, keys):
    (tmp_path / name).write_text(text)
    assert said_of(tmp_path / name)[:2] == [
        f"'/{name}' is in no known checkpoint format: found {name} (a dictionary with {keys}).",
        "If it holds lists: each is an object with head or tail, relation and predictions.",
    ]


@pytest.mark.parametrize(
    ("names", "cure"),
    [
        (("entity.npy", "relation.npy"), "numpy.savez('model.npz', entity=…, relation=…)"),
        (("metadata.tsv", "vectors.tsv"), "labels and their vectors. Write one text of both"),
    ],
)
def test_files_that_belong_together_are_told_how_to_be_one(tmp_path, names, cure):
    (tmp_path / "saved").mkdir()
    for name in names:
        (tmp_path / "saved" / name).write_text("1\t2\n")
    assert cure in said_of(tmp_path / "saved")[1]


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


@pytest.mark.parametrize("name", ["m.pt", "m.npz", "m.safetensors", "vectors.bin", "saved/config.json", "saved/x.npy"])
def test_a_pointer_of_git_lfs_is_named_as_one(tmp_path, name):
    (tmp_path / "saved").mkdir()
    (tmp_path / name).write_text(POINTER)
    for path in {tmp_path / name, (tmp_path / name).parent}:
        with pytest.raises(
            CheckpointError, match=r"a pointer of Git LFS, not the file itself\. Fetch the file: git lfs pull"
        ):
            load_checkpoint(path)


def test_arrays_of_other_names_are_told_with_those_expected(tmp_path):
    path = write_arrays(tmp_path / "m.npz", {"E": np.zeros((7, 4)), "R": np.zeros((3, 4))})
    expected = "expected arrays named entity and relation. Or name them: --option entity=NAME --option relation=NAME"
    for options in ({}, {"model": "DistMult"}):
        (line,) = said_of(path, **options)
        assert line == f"/m.npz: holds E [7, 4], R [3, 4]; {expected}"


def test_a_file_that_is_cut_short_is_told_to_be(tmp_path):
    """Known by its ending, or by its folder."""
    torch.save(stranger(), tmp_path / "m.pt")
    (tmp_path / "saved").mkdir()
    rotate_code(tmp_path / "saved")
    for file in (tmp_path / "m.pt", tmp_path / "saved/checkpoint"):
        file.write_bytes(file.read_bytes()[:300])
    for path in (tmp_path / "m.pt", tmp_path / "saved", tmp_path / "saved/checkpoint"):
        with pytest.raises(PickleError, match=r"(m\.pt|checkpoint): not a PyTorch file .*, or cut short"):
            load_checkpoint(path)


def test_empty_files_are_told_to_be(tmp_path):
    (tmp_path / "m.pt").touch()
    with pytest.raises(PickleError, match=r"m\.pt: the file is empty\."):
        load_checkpoint(tmp_path / "m.pt")
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved/checkpoint").touch()
    for path in (tmp_path / "saved", tmp_path / "saved/checkpoint"):
        assert found_in(said_of(path)[0]) == "checkpoint (empty)"


def test_the_way_out_that_is_told_leads_to_a_model(tmp_path):
    arrays = {name: array.numpy() for name, array in zip(("entity", "relation"), stranger().values(), strict=True)}
    write_arrays(tmp_path / "m.npz", arrays)
    saved = load_checkpoint(tmp_path / "m.npz", model="DistMult")
    torch.save(stranger(), tmp_path / "m.pt")
    named = load_checkpoint(tmp_path / "m.pt", entity="nodes.weight", relation="edges.weight", model="DistMult")
    assert np.array_equal(saved.family.entity, named.family.entity)


def test_a_folder_tells_its_files_and_the_tensors_among_them(tmp_path):
    folder = tmp_path / "saved"
    folder.mkdir()
    torch.save(stranger(), folder / "m.pt")
    (folder / "notes.txt").write_text("hello", encoding="utf-8")
    found = "m.pt (a dictionary with nodes.weight [7, 4], edges.weight [3, 4]), notes.txt"
    assert found_in(said_of(folder)[0]) == found


def test_a_folder_tells_which_file_is_missing(tmp_path):
    rotate_code(tmp_path)
    (tmp_path / "checkpoint").unlink()
    assert "rotate (checkpoint missing). If it is that: --checkpoint-format " in said_of(tmp_path)[1]


def test_a_folder_of_checkpoints_names_them(tmp_path):
    for name in ("one", "two", "three", "none"):
        (tmp_path / "saved" / name).mkdir(parents=True)
        if name != "none":
            torchkge_transr(tmp_path / "saved" / name)
    assert said_of(tmp_path / "saved") == ["'/saved' holds 3 checkpoints: one, three, two. Give one of them."]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"epoch": 3, "lr": 0.1}, "m.pt (a dictionary with epoch, lr)"),
        ([1, 2], "m.pt (a pickled list)"),
        ({f"layer{i}.weight": torch.ones(i + 1) for i in range(9)}, "layer3.weight [4], …)"),
    ],
)
def test_other_contents_are_told_too(tmp_path, content, told):
    torch.save(content, tmp_path / "m.pt")
    assert found_in(said_of(tmp_path / "m.pt")[0]).endswith(told)


def test_triples_beside_a_pickle_are_no_checkpoint(tmp_path):
    folder = tmp_path / "multihop"
    folder.mkdir()
    for name in ("train", "dev", "test"):
        (folder / f"{name}.triples").write_text("a\tb\tr\n")
    (folder / "adj_list.pkl").write_bytes(pickle.dumps({0: {1: {2}}}))
    what, advice, last = said_of(folder)
    assert found_in(what).startswith("adj_list.pkl (a dictionary with ")
    assert advice.startswith("It is a dataset. Give a checkpoint before it")
    assert last == LIST
    (folder / "adj_list.pkl").rename(tmp_path / "m.pkl")
    assert "Name its tensors" not in " ".join(said_of(tmp_path / "m.pkl"))


def test_an_empty_folder_and_a_text_are_no_riddles(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "m").write_text("hello", encoding="utf-8")
    for name, found in (("empty", ": it is an empty folder."), ("m", ".")):
        assert said_of(tmp_path / name) == [f"'/{name}' is in no known checkpoint format{found}", LIST]


def test_a_file_of_pykg2vec_is_not_taken_for_openkes(tmp_path):
    """It gives its tables the names that OpenKE gives them, and its ids to other labels."""
    state = tensors(ent_embeddings__weight=table(7, 4), rel_embeddings__weight=table(3, 4))
    torch.save(state, tmp_path / "model.vec.pt")
    options = {"model": "TransE", "p_norm": 1, "norm_flag": True}
    told = said_of(tmp_path / "model.vec.pt", **options)[1]
    assert told.startswith("Nearest: openke (pi_const and zero_const missing), pykg2vec (config.npy")
    assert load_checkpoint(tmp_path / "model.vec.pt", format="openke", **options).format == "openke"
    labelled(tmp_path, "entity2id.txt", "relation2id.txt", "{label}\t{id}", first="count")
    assert load_checkpoint(tmp_path / "model.vec.pt", **options).format == "openke"


# PyKEEN's labels


def written(folder):
    """Write the labels as PyKEEN does."""
    folder.mkdir(exist_ok=True, parents=True)
    for kind, labels in (("entity", ENTITIES), ("relation", RELATIONS)):
        lines = "".join(f"{row}\t{label}\n" for row, label in enumerate(labels))
        (folder / f"{kind}_to_id.tsv.gz").write_bytes(gzip.compress(f"id\tlabel\n{lines}".encode()))


def test_labels_of_pykeen_are_found_beside_the_model_and_where_the_option_says(tmp_path):
    rows = {"entity": 7, "relation": 3}
    state = {f"{kind}_representations.0._embeddings.weight": table(count, 4) for kind, count in rows.items()}
    torch.save(tensors(**state), tmp_path / "m.pt")
    options = {"model": "DistMult", "reciprocal": False}
    assert load_checkpoint(tmp_path / "m.pt", **options).entities is None
    for folder in ("elsewhere", "saved/training_triples"):
        written(tmp_path / folder)
    for folder in ("elsewhere", "saved/training_triples", "saved"):
        told = load_checkpoint(tmp_path / "m.pt", labels=str(tmp_path / folder), model="DistMult")
        assert (list(told.entities), list(told.relations)) == (ENTITIES, RELATIONS)
    written(tmp_path)
    beside = load_checkpoint(tmp_path / "m.pt", model="DistMult")
    assert (list(beside.entities), list(beside.relations)) == (ENTITIES, RELATIONS)
    assert {path.name for path in beside.files} == {"m.pt", "entity_to_id.tsv.gz", "relation_to_id.tsv.gz"}
    (tmp_path / "nothing").mkdir()
    known = r"expected a folder with label files: .*; entity_to_id\.tsv\.gz and relation_to_id\.tsv\.gz"
    for name, message in (("nothing", known), ("nowhere", r"nowhere': no such folder\.")):
        with pytest.raises(CheckpointError, match=message):
            load_checkpoint(tmp_path / "m.pt", labels=str(tmp_path / name), **options)


def plain(folder):
    """Write the labels as PyKEEN does, without compression; in a label, pandas doubles a quote."""
    rows = {"entity": ['say "hi"', *PERMUTED[1:]], "relation": RELATIONS}
    for kind, labels in rows.items():
        pd.DataFrame({"id": range(len(labels)), "label": labels}).to_csv(
            folder / f"{kind}_to_id.tsv", sep="\t", index=False
        )
    return rows["entity"]


PERMUTED = ["3", "0", "6", "1", "2", "5", "4"]
"""labels that look like ids"""


def other_files(folder):
    for name, labels in (("entities.tsv", ENTITIES), ("relations.tsv", RELATIONS)):
        (folder / name).write_text("".join(f"{row}\t{label}\n" for row, label in enumerate(labels)))
    return ENTITIES


def counted(folder):
    for name, labels in (("entity2id.txt", ENTITIES), ("relation2id.txt", RELATIONS)):
        rows = "".join(f"{label}\t{row}\n" for row, label in enumerate(labels))
        (folder / name).write_text(f"{len(labels)}\n{rows}")
    return ENTITIES


@pytest.mark.parametrize("write", [plain, other_files, counted])
@pytest.mark.parametrize("of", ["pykeen", "own"])
def test_a_named_folder_may_have_the_label_files_of_any_framework(tmp_path, write, of):
    names = {kind: f"{kind}_representations.0._embeddings.weight" for kind in ("entity", "relation")}
    names = names if of == "pykeen" else {"entity": "nodes", "relation": "edges"}
    torch.save({names["entity"]: torch.ones(7, 4), names["relation"]: torch.ones(3, 4)}, tmp_path / "m.pt")
    (tmp_path / "labels").mkdir()
    expected = write(tmp_path / "labels")
    options = {"model": "DistMult"} | (names if of == "own" else {})
    found = load_checkpoint(tmp_path / "m.pt", labels=str(tmp_path / "labels"), **options)
    assert (list(found.entities), list(found.relations)) == (expected, RELATIONS)
    if of == "pykeen" and write is plain:
        write(tmp_path)
        assert list(load_checkpoint(tmp_path / "m.pt", **options).entities) == expected


def test_labels_beside_a_pickled_model_are_found(tmp_path, transe_folder):
    expected = load_checkpoint(transe_folder)
    shutil.copyfile(transe_folder / "trained_model.pkl", tmp_path / "trained_model.pkl")
    assert load_checkpoint(tmp_path).entities is None
    for kind in ("entity", "relation"):
        shutil.copyfile(transe_folder / f"training_triples/{kind}_to_id.tsv.gz", tmp_path / f"{kind}_to_id.tsv.gz")
    found = load_checkpoint(tmp_path)
    assert (found.entities, found.relations) == (expected.entities, expected.relations)


# In Python


def test_a_checkpoint_shows_itself_on_one_line(tmp_path):
    path = write_arrays(tmp_path / "m.npz", arrays_of("ComplEx"))
    assert repr(load_checkpoint(path, model="ComplEx")) == "Checkpoint(ComplEx from m.npz: 7 entities, 3 relations)"
