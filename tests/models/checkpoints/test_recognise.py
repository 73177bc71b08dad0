"""What is said of files in no known format: what was found, the nearest formats, where the formats are."""

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
    assert found_in(what) == "m.pt (nodes.weight [7, 4], edges.weight [3, 4])"
    assert "--option model=MODEL --option entity=NAME --option relation=NAME" in advice
    assert "evaluate the live model in Python" in advice
    assert last == LIST


def test_a_nested_state_dict_gets_the_dotted_names_that_the_options_take(tmp_path):
    torch.save({"epoch": 3, "net": stranger()}, tmp_path / "m.pt")
    what, advice, last = said_of(tmp_path / "m.pt", entity="a")
    assert found_in(what) == "m.pt (net.nodes.weight [7, 4], net.edges.weight [3, 4])"
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


def test_vectors_without_their_first_line_are_told_what_it_has(tmp_path):
    rows = "ant 0.5 -1 2e-3 4\nbee 1 1 1 1\ncat 0 0 0 0\n"
    (tmp_path / "v.txt").write_text(rows)
    with pytest.raises(CheckpointError, match="expected the numbers of rows and of columns, such as '1000 50'"):
        load_checkpoint(tmp_path / "v.txt", format="word2vec", model="DistMult")
    (tmp_path / "v.txt").write_text(f"3 4\n{rows}")
    assert load_checkpoint(tmp_path / "v.txt", model="DistMult").family.entity.tolist()[0] == [0.5, -1, 0.002, 4]


def test_lists_in_a_folder_are_named(tmp_path):
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
    assert found_in(said_of(tmp_path / "saved")[0]) == "checkpoint"
    assert said_of(tmp_path / "saved/checkpoint")[0].endswith("checkpoint' is in no known checkpoint format.")


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
    found = "m.pt (nodes.weight [7, 4], edges.weight [3, 4]), notes.txt"
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


def test_what_is_no_tensor_is_not_listed(tmp_path):
    for content, shown in (
        ({"epoch": 3, "lr": 0.1}, "m.pt' is in no known checkpoint format."),
        ([1, 2], "m.pt' is in no known checkpoint format."),
        ({f"layer{i}.weight": torch.ones(i + 1) for i in range(9)}, "layer3.weight [4], …)."),
    ):
        torch.save(content, tmp_path / "m.pt")
        assert said_of(tmp_path / "m.pt")[0].endswith(shown)
    (tmp_path / "m.pkl").write_bytes(pickle.dumps({0: {1: {2}}}))
    assert "Name its tensors" not in " ".join(said_of(tmp_path / "m.pkl"))


def test_an_empty_folder_and_a_text_are_no_riddles(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "m").write_text("hello", encoding="utf-8")
    for name, found in (("empty", ": it is an empty folder."), ("m", ".")):
        assert said_of(tmp_path / name) == [f"'/{name}' is in no known checkpoint format{found}", LIST]


def test_an_object_of_json_is_shown_by_its_keys(tmp_path):
    (tmp_path / "m.jsonl").write_text('{"subject": "a", "predicate": "r", "answers": ["b"]}\n', encoding="utf-8")
    found = "'/m.jsonl' is in no known checkpoint format: found objects of subject, predicate, answers."
    need = "Lists of predictions have relation, head or tail, and predictions."
    assert said_of(tmp_path / "m.jsonl") == [found, need, LIST]


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
