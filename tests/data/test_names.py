"""Names: what people call entities and relations is shown beside their labels, and changes nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgeval
from kgeval import load_dataset
from kgeval.base.errors import DatasetError, ScoreError
from kgeval.data.human_names import read_names, with_names
from kgeval.data.leaks import notes_on_leaks
from kgeval.data.vocabulary import display_label

ROWS = "Q1\tP1\tQ2\nQ2\tP1\tQ1\nQ3\tP2\tQ1\n"
ENTITIES = "Q1\tUniverse\nQ2\tEarth, the planet\nQ9\tunknown here\n"
RELATIONS = "P1\tpart of\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.txt").write_text(ROWS)
    (tmp_path / "test.txt").write_text("Q1\tP1\tQ2\nQ1\tP2\tQ3\n")
    return tmp_path


@pytest.fixture
def names(tmp_path):
    path = tmp_path / "names.tsv"
    path.write_text(ENTITIES + RELATIONS)
    return path


def test_a_triple_is_spelled_with_names_where_it_has_them(folder, names):
    data = load_dataset(folder, names=names)
    assert data.triple(0, 0, 1) == "(Universe (Q1), part of (P1), Earth, the planet (Q2))"
    assert data.triple(2, 1, -1) == "(Q3, P2, ?)"
    assert load_dataset(folder).triple(0, 0, 1) == "(Q1, P1, Q2)"


@pytest.mark.parametrize(
    "given",
    [{"Q1": "Universe", "P1": "part of"}, ["entities.txt", "relations.txt"], ("entities.txt", {"P1": "part of"})],
)
def test_names_are_given_by_label_or_as_files(folder, given, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "entities.txt").write_text(ENTITIES)
    (folder / "relations.txt").write_text(RELATIONS)
    assert load_dataset(folder, names=given).triple(0, 0, 0) == "(Universe (Q1), part of (P1), Universe (Q1))"


def test_names_in_the_folder_are_found(folder):
    (folder / "entity2text.txt").write_text(ENTITIES)
    assert load_dataset(folder).triple(0, 0, -1) == "(Universe (Q1), P1, ?)"
    (folder / "relation2text.txt").write_text(RELATIONS)
    assert load_dataset(folder).triple(0, 0, -1) == "(Universe (Q1), part of (P1), ?)"
    assert load_dataset(folder, names={"Q1": "All"}).triple(0, 0, -1) == "(All (Q1), P1, ?)"


def test_names_in_the_folder_that_cannot_be_read_are_a_note(folder):
    (folder / "entity2text.txt").write_text("Universe\n")
    data = load_dataset(folder)
    (note,) = data.notes
    assert "the names beside the triples are not shown" in note
    assert "entity2text.txt, line 1: expected a label, a tab and its name" in note
    assert data.triple(0, 0, 1) == "(Q1, P1, Q2)"


def test_names_change_nothing_but_what_people_read(folder, names):
    bare, data = load_dataset(folder), load_dataset(folder, names=names)
    assert (data.sha256(), data.entities, data.relations) == (bare.sha256(), bare.entities, bare.relations)

    def score(heads, relations, tails):
        return (heads * 2 + tails + relations) % 3

    tables = [kgeval.evaluate(score, graph) for graph in (bare, data)]
    assert tables[0].data.equals(tables[1].data)
    plain, named = (" ".join(notes_on_leaks(graph, "test")) for graph in (bare, data))
    assert "for example (Q1, P1, Q2)." in plain
    assert "for example (Universe (Q1), part of (P1), Earth, the planet (Q2))." in named


def test_an_error_shows_them(folder, names):
    with pytest.raises(ScoreError, match=r"NaN for \(.*\(P1\), .*candidate Universe \(Q1\)"):
        kgeval.evaluate(lambda h, r, t: np.where((h == 0) | (t == 0), np.nan, 1.0), load_dataset(folder, names=names))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Q1\tUniverse\nQ2 Earth\n", "line 2: expected a label, a tab and its name"),
        ("Q1\tUniverse\nQ2\tEarth\nQ1\tAll\n", "'Q1' has 2 names, 'Universe' and 'All'. Keep one of them."),
        ("Q7\tseven\n", "no label there is in dataset .* has labels like 'Q1', the names are for labels like 'Q7'"),
        ("", "no label there is in dataset"),
        ("Q1\t\xff\n", "line 1: not UTF-8 text"),
        (None, "no such file"),
    ],
)
def test_files_that_are_none_are_refused(folder, names, content, message):
    names.unlink() if content is None else names.write_text(content, encoding="latin-1")
    with pytest.raises(DatasetError, match=message):
        load_dataset(folder, names=names)


@pytest.mark.parametrize("given", [5, [5], {"Q1": 5}, {5: "five"}, {"Q1": "\ud800"}], ids=repr)
def test_what_are_no_names_is_refused(folder, given):
    with pytest.raises(DatasetError, match="names"):
        load_dataset(folder, names=given)


text = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), max_size=8).map(str.strip)


@settings(max_examples=20)
@given(st.dictionaries(text, text))
def test_of_two_names_the_first_counts(content):
    content |= {"Adam": "the first man"}
    data = kgeval.Dataset.from_labels(train=[("Adam", "parent_of", "Abel")])
    others = {**dict.fromkeys(content, "other"), "\0": "new"}
    assert with_names(data, [content, others]).names == {**content, "\0": "new"}


@settings(max_examples=20)
@given(st.dictionaries(text.filter(lambda label: "\x85" not in label), text, min_size=1))
def test_a_file_of_names_is_read_to_the_letter(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("names") / "names.txt"
    path.write_text("".join(f"{label}\t{name}\n" for label, name in content.items()), encoding="utf-8", newline="")
    assert dict(read_names(path)) == {label: name for label, name in content.items() if name}


@pytest.mark.parametrize("name", ["", "Q1"])
def test_a_name_that_says_nothing_is_not_shown(tmp_path, name):
    (tmp_path / "names.txt").write_text(f"Q1\t{name}\n")
    assert display_label("Q1", read_names(tmp_path / "names.txt")) == "Q1"
