"""What is told of files and folders in no known format, and of a model in Python: what is there, in few words."""

from __future__ import annotations

import gzip
import shutil

import numpy as np
import pytest

from kgeval import load_checkpoint
from kgeval.checkpoints.reader import formats
from kgeval.errors import CheckpointError, PickleError
from tests.checkpoints.conftest import ENTITIES, RELATIONS, arrays_of, write_arrays
from tests.checkpoints.layouts import labelled, rotate_code, table, tensors, torch, torchkge_transr

LONGEST = 140
"""characters of a line"""


def said_of(path, **options):
    with pytest.raises(CheckpointError) as refusal:
        load_checkpoint(path, **options)
    return str(refusal.value).replace(str(path.parent), "").splitlines()


def stranger():
    """A state dictionary of a model of one's own."""
    return tensors(nodes__weight=table(7, 4), edges__weight=table(3, 4))


@pytest.mark.parametrize("wrapped", [False, True])
def test_tensors_are_told_with_their_shapes_and_two_ways_out(tmp_path, wrapped):
    state = stranger()
    torch.save({"model_state_dict": state, "epoch": 3} if wrapped else state, tmp_path / "m.pt")
    lines = said_of(tmp_path / "m.pt")
    assert lines[:3] == [
        "'/m.pt' is in no known checkpoint format.",
        "m.pt is a state_dict with nodes.weight [7, 4], edges.weight [3, 4].",
        "Two ways to evaluate such arrays:",
    ]
    assert "name them by the options entity=NAME and relation=NAME, and give the option model" in lines[4]
    assert "kgeval.evaluate(module, dataset) takes a PyTorch module" in lines[6]
    assert lines[7] == "Known formats:"
    assert [line.split(":")[0].strip() for line in lines[8:]] == list(formats())
    assert max(map(len, lines)) <= LONGEST


def test_one_tensor_of_a_usual_name_is_no_hint_at_a_format(tmp_path):
    torch.save(tensors(ent__weight=table(7, 4), rel__weight=table(3, 4)), tmp_path / "m.pt")
    assert not [line for line in said_of(tmp_path / "m.pt") if line.startswith("Nearest")]


def test_an_option_that_no_format_could_take_is_named(tmp_path):
    torch.save(stranger(), tmp_path / "m.pt")
    lines = said_of(tmp_path / "m.pt", entity="nodes.weight")
    assert "Not used: the option 'entity'. Only a known format has options, each its own." in lines


def test_arrays_of_numpy_are_described(tmp_path):
    np.save(tmp_path / "e.npy", np.zeros((7, 4)))
    assert said_of(tmp_path / "e.npy")[1:3] == ["e.npy is an array of float64 [7, 4].", "Known formats:"]
    (tmp_path / "saved").mkdir()
    for name, dtype in (("nodes", np.float32), ("query", np.float16)):
        np.save(tmp_path / "saved" / f"{name}.npy", np.zeros((7, 4), dtype))
    (tmp_path / "saved/torn.npy").write_bytes(b"\x93NUMPY\x01\x00")
    assert said_of(tmp_path / "saved")[2:5] == [
        "nodes.npy is an array of float32 [7, 4].",
        "query.npy is an array of float16 [7, 4].",
        "Two ways to evaluate such arrays:",
    ]


def test_arrays_of_other_names_are_told_with_those_expected(tmp_path):
    path = write_arrays(tmp_path / "m.npz", {"E": np.zeros((7, 4)), "R": np.zeros((3, 4))})
    for options in ({}, {"model": "DistMult"}):
        (line,) = said_of(path, **options)
        assert line == "/m.npz: holds E [7, 4], R [3, 4]; expected arrays named entity and relation."


@pytest.mark.parametrize("part", [".", "checkpoint"])
def test_a_file_without_an_ending_that_is_cut_short_is_told_to_be(tmp_path, part):
    (tmp_path / "saved").mkdir()
    rotate_code(tmp_path / "saved")
    content = (tmp_path / "saved/checkpoint").read_bytes()
    (tmp_path / "saved/checkpoint").write_bytes(content[: len(content) // 2])
    with pytest.raises(PickleError, match=r"checkpoint: not a PyTorch file \(a zip archive\), or cut short"):
        load_checkpoint(tmp_path / "saved" / part)


def test_empty_files_are_told_to_be(tmp_path):
    (tmp_path / "m.pt").touch()
    with pytest.raises(PickleError, match=r"m\.pt: the file is empty\."):
        load_checkpoint(tmp_path / "m.pt")
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved/checkpoint").touch()
    assert said_of(tmp_path / "saved")[1] == "It is a folder with checkpoint (empty)."
    assert said_of(tmp_path / "saved/checkpoint")[1] == "It is an empty file."


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
    assert said_of(folder)[1:3] == [
        "It is a folder with m.pt, notes.txt.",
        "m.pt is a state_dict with nodes.weight [7, 4], edges.weight [3, 4].",
    ]


def test_a_folder_tells_which_file_is_missing(tmp_path):
    rotate_code(tmp_path)
    (tmp_path / "checkpoint").unlink()
    (told,) = (line for line in said_of(tmp_path) if line.startswith("Nearest"))
    assert "rotate, which also has checkpoint." in told


def test_a_folder_of_checkpoints_names_them(tmp_path):
    for name in ("one", "two", "three", "none"):
        (tmp_path / "saved" / name).mkdir(parents=True)
        if name != "none":
            torchkge_transr(tmp_path / "saved" / name)
    assert said_of(tmp_path / "saved") == [
        "'/saved' holds 3 folders that are checkpoints: one, three, two. Give one of them."
    ]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"epoch": 3, "lr": 0.1}, "m.pt is a dictionary with epoch, lr."),
        ([1, 2], "m.pt is a pickled list."),
        ({f"layer{i}.weight": torch.ones(i + 1) for i in range(9)}, "layer5.weight [6] and 3 more."),
    ],
)
def test_other_contents_are_told_too(tmp_path, content, told):
    torch.save(content, tmp_path / "m.pt")
    assert said_of(tmp_path / "m.pt")[1].endswith(told)


def test_an_empty_folder_and_a_text_are_no_riddles(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "m.txt").write_text("hello", encoding="utf-8")
    assert said_of(tmp_path / "empty")[1] == "It is an empty folder."
    assert said_of(tmp_path / "m.txt")[1] == "Known formats:"


def test_what_is_damaged_is_no_unknown_format(tmp_path):
    torch.save(stranger(), tmp_path / "m.pt")
    (tmp_path / "m.pt").write_bytes((tmp_path / "m.pt").read_bytes()[:300])
    with pytest.raises(PickleError, match="cut short"):
        load_checkpoint(tmp_path / "m.pt")


# pykg2vec


def test_a_file_of_pykg2vec_is_not_taken_for_openkes(tmp_path):
    """It gives its tables the names that OpenKE gives them, and its ids to other labels."""
    state = tensors(ent_embeddings__weight=table(7, 4), rel_embeddings__weight=table(3, 4))
    torch.save(state, tmp_path / "model.vec.pt")
    options = {"model": "TransE", "p_norm": 1, "norm_flag": True}
    (told,) = (line for line in said_of(tmp_path / "model.vec.pt", **options) if line.startswith("Nearest"))
    assert told.startswith(
        "Nearest: openke, which also has pi_const and zero_const; pykg2vec, which also has config.npy"
    )
    assert load_checkpoint(tmp_path / "model.vec.pt", format="openke", **options).format == "openke"
    labelled(tmp_path, "entity2id.txt", "relation2id.txt", "{label}\t{id}", first="count")
    assert load_checkpoint(tmp_path / "model.vec.pt", **options).format == "openke"


# PyKEEN's labels


def written(folder):
    """Write the labels as PyKEEN does."""
    folder.mkdir(exist_ok=True)
    for kind, labels in (("entity", ENTITIES), ("relation", RELATIONS)):
        lines = "".join(f"{row}\t{label}\n" for row, label in enumerate(labels))
        (folder / f"{kind}_to_id.tsv.gz").write_bytes(gzip.compress(f"id\tlabel\n{lines}".encode()))


def test_labels_of_pykeen_are_found_beside_the_model_and_where_the_option_says(tmp_path):
    rows = {"entity": 7, "relation": 3}
    state = {f"{kind}_representations.0._embeddings.weight": table(count, 4) for kind, count in rows.items()}
    torch.save(tensors(**state), tmp_path / "m.pt")
    options = {"model": "DistMult", "reciprocal": False}
    assert load_checkpoint(tmp_path / "m.pt", **options).entities is None
    written(tmp_path / "elsewhere")
    told = load_checkpoint(tmp_path / "m.pt", labels=str(tmp_path / "elsewhere"), model="DistMult")
    assert (list(told.entities), list(told.relations)) == (ENTITIES, RELATIONS)
    written(tmp_path)
    beside = load_checkpoint(tmp_path / "m.pt", model="DistMult")
    assert (list(beside.entities), list(beside.relations)) == (ENTITIES, RELATIONS)
    assert {path.name for path in beside.files} == {"m.pt", "entity_to_id.tsv.gz", "relation_to_id.tsv.gz"}
    with pytest.raises(CheckpointError, match=r"is no folder with entity_to_id\.tsv\.gz and relation_to_id\.tsv\.gz"):
        load_checkpoint(tmp_path / "m.pt", labels=str(tmp_path / "nowhere"), **options)


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
