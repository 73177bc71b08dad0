"""Notes: their kinds and parts, what files and JSON keep of them, and how those of several models are joined."""

from __future__ import annotations

import ast
import copy
import json
import pickle
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgeval
from kgeval import Dataset, RankTable, compare, evaluate, load_checkpoint, summarize
from kgeval.base.collected_notes import collected_notes
from kgeval.base.notes import KINDS, Example, Note, NoteKind, amount, in_json, in_ranges, restored, stored
from kgeval.ranking.corruption import Uniform
from kgeval.ranking.ranking_notes import notes_on_device, notes_on_repetitions, notes_on_unseen
from kgeval.stored.folders import Place
from tests.conftest import random_dataset

DATA = random_dataset(5)

words = st.text(st.characters(blacklist_categories=["Cs"]), max_size=9)

PARTS = st.one_of(
    words,
    st.builds(Example, words, words),
    st.builds(amount, st.integers(0, 10**6), st.sampled_from(["triple", "query"])),
)

NOTES = st.builds(lambda kind, parts: Note(kind, *parts), st.sampled_from([*KINDS]), st.lists(PARTS, max_size=5))


def details(note):
    return str(note), note.kind, [(type(part), part, getattr(part, "other", None)) for part in note.parts]


@given(NOTES)
def test_a_note_survives_copies_files_and_processes(note):
    (read,) = restored(json.loads(json.dumps(stored([note]))))
    copies = (copy.deepcopy(note), pickle.loads(pickle.dumps(note)), note.after(), read if str(note) else note)
    for other in copies:
        assert details(other) == details(note)
    assert str(note) == "".join(note.parts)


@pytest.mark.parametrize(
    "altered",
    [
        {"note_parts": [["another text"]]},
        {"note_parts": [[{"text": 1}]]},
        {"note_parts": "x", "note_kinds": 5},
        {"note_kinds": [["ties"]]},
        {"note_kinds": ["of a newer version"]},
        {"note_parts": []},
    ],
)
def test_a_text_whose_parts_are_not_its_own_is_only_a_text(altered):
    content = stored([Note("ties", amount(3, "rank"), " tie.")]) | altered
    (note,) = restored(content)
    assert details(note) == ("3 ranks tie.", "", [(str, "3 ranks tie.", None)])
    assert restored({"notes": ["3 ranks tie."]}) == ("3 ranks tie.",)


def test_json_has_a_kind_beside_each_text():
    assert in_json([Note("leaks", "a"), "b"]) == {"notes": ["a", "b"], "note_kinds": ["leaks", ""]}


def test_labels_that_are_numbers_are_no_numbers_of_a_note():
    """Two models have other examples, whose digits made "(1984,–1990, born in, 7)" of them."""
    one, other = (
        Note("unseen", amount(count, "triple"), " not known", Example(f": ({year}, born in, 7)"), ".")
        for count, year in ((1, 1984), (2, 1990))
    )
    places = {("d", "a"): [one], ("d", "b"): [other]}
    assert collected_notes(places) == [
        "a: 1 triple not known: (1984, born in, 7).",
        "b: 2 triples not known: (1990, born in, 7).",
    ]
    assert collected_notes(places, joined=True) == ["a, b: 1–2 triples not known."]
    texts = {place: [str(note)] for place, (note,) in places.items()}
    assert collected_notes(texts) == ["a: 1 triple not known: (1984, born in, 7).", *collected_notes(places)[1:]]


@pytest.mark.parametrize("label", ["a. b", "x/y", "(", "such as 3", "é: (1, 2)", "%s {0} \\1"])
def test_no_label_breaks_a_note(label):
    notes = [Note("files", amount(count, "cell"), " in ", Example.path(label), " left out.") for count in (1, 2)]
    assert in_ranges(notes) == f"1–2 cells in {label} left out."
    assert collected_notes({("d", "a"): notes[:1], ("d", "b"): notes[1:]}) == [f"a, b: 1–2 cells in {label} left out."]


@given(st.lists(st.integers(-50, 10**6), min_size=1, max_size=5))
def test_a_range_has_the_least_and_the_most(numbers):
    low, high = min(numbers), max(numbers)
    notes = [Note("ties", f"{number:,} of 7 ranks") for number in numbers]
    between = f"{low:,}" if low == high else f"{low:,} to {high:,}" if low < 0 else f"{low:,}–{high:,}"
    assert in_ranges(notes) == f"{between} of 7 ranks"


# Every kind is written, and no note of ours lacks one


def constant(h, r, t):
    return h * 0


def hashed(h, r, t):
    return (h * 5 + r * 3 + t * 11) % 7


def lists_of(place, predictions):
    (place / "lists.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in predictions))
    model = load_checkpoint(place / "lists.jsonl", dataset=DATA, missing="unanswered", unmatched="drop")
    return evaluate(model, DATA).notes


def of_lists(place):
    triple = DATA.test.ids[0]
    query = {"head": DATA.entities[int(triple[0])], "relation": DATA.relations[int(triple[1])]}
    names = [DATA.entities[0], DATA.entities[0], "nobody"]
    return lists_of(place, [{**query, "tail": DATA.entities[int(triple[2])], "side": "tail", "predictions": names}])


def of_labels(*rows, **further):
    return Dataset.from_labels(train=[("a", "r", "b"), ("b", "r", "c")], test=list(rows), **further)


def of_files(place):
    for split in ("train", "test"):
        (place / f"{split}.tsv").write_text("head\trelation\ttail\tnote\na\tr\tb\tx\nb\tr\ta\ty\n")
    return kgeval.load_dataset(place).notes


def of_false_triples(place):
    for split, end in (("train", "a\tr\tb\t1\n"), ("test", "a\tr\tc\t1\nb\tr\tc\t0\n")):
        (place / f"{split}.txt").write_text(end)
    return kgeval.load_dataset(place, columns="head,relation,tail,label").notes


def of_times(place):
    days = [("a", "r", "b", "2014-01-01"), ("b", "r", "c", "someday")]
    return Dataset.from_labels(train=days, test=[("a", "r", "c", "later")]).notes


def unfinished(place):
    (place / "one/.kgeval.partial").mkdir(parents=True)
    return [*Place(place).notes]


PROVOKED = {
    "candidates": lambda _: evaluate(hashed, DATA, corruption=Uniform(count=100)).notes,
    "chance": lambda _: evaluate(hashed, "nations").notes,
    "device": lambda _: notes_on_device({"device": "cuda:0", "on_host": ["ties"]}),
    "differences": lambda _: compare({"a": evaluate(hashed, DATA), "b": evaluate(hashed, DATA)}).notes,
    "faulty-lists": of_lists,
    "files": of_files,
    "intervals": lambda _: summarize(evaluate(hashed, DATA), ["mrr", "z-mr", "median"], intervals="relation").notes,
    "labels": lambda _: evaluate(hashed, "nations").notes,
    "leaks": lambda _: evaluate(hashed, "nations").notes,
    "left-out": lambda _: evaluate(hashed, DATA, restrict_entities_to=[*[*DATA.entities][:15], "nobody"]).notes,
    "lists": of_lists,
    "negatives": of_false_triples,
    "repeated": lambda _: notes_on_repetitions(of_labels(("a", "r", "c"), ("a", "r", "c")), "test"),
    "runs": unfinished,
    "scores": lambda _: evaluate(with_nan, DATA, nan="worst").notes,
    "sides": of_lists,
    "terms": lambda _: compare({"a": evaluate(hashed, DATA), "b": evaluate(constant, DATA)}).notes,
    "tests": lambda _: compare({"a": evaluate(hashed, DATA)}).notes,
    "ties": lambda _: summarize(evaluate(constant, DATA)).notes,
    "times": of_times,
    "undefined": lambda _: summarize(evaluate(constant, DATA), ["ahits@40", "mrr"]).notes,
    "unseen": lambda _: notes_on_unseen(DATA, DATA.test, DATA.test.heads > 9, "drop", noun="test triple"),
}


def with_nan(h, r, t):
    return np.where((h + t) % 5 == 0, np.nan, h * 3.0 + t)


@pytest.mark.parametrize("kind", PROVOKED)
def test_each_kind_is_provoked_and_no_note_of_ours_lacks_one(tmp_path, kind):
    kinds = [note.kind for note in PROVOKED[kind](tmp_path)]
    assert kind in kinds
    assert "" not in kinds


def test_the_kinds_are_those_that_the_code_writes():
    written = set()
    for path in Path(kgeval.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Note" and node.args:
                texts = (leaf.value for leaf in ast.walk(node.args[0]) if isinstance(leaf, ast.Constant))
                written |= {text for text in texts if isinstance(text, str)}
    assert written >= {*KINDS} == {*PROVOKED} == {*get_args(NoteKind)} - {""}
    assert written <= {*KINDS, ""}


def test_a_stored_and_reread_table_keeps_its_kinds_and_parts(tmp_path):
    table = evaluate(hashed, "nations")
    table.to_parquet(tmp_path / "ranks.parquet")
    read = RankTable.from_parquet(tmp_path / "ranks.parquet")
    assert [*map(details, read.notes)] == [*map(details, table.notes)]
    assert all(note.kind for note in summarize(read).notes)
    assert summarize(read).to_dict()["note_kinds"] == [note.kind for note in summarize(read).notes]
