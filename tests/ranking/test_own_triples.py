"""Own triples, filters of files, splits taken as one, restrictions: PyKEEN's numbers, loops, and what is refused."""

from __future__ import annotations

import csv
import json
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

import kgeval
from kgeval.base.errors import DatasetError, InputError
from tests.brute_force import as_counts, brute_force
from tests.conftest import random_dataset


def score(h, r, t):
    return (h * 31 + r * 3 + t * 7) % 11


def written(folder, data, rows, name="more.tsv"):
    lines = ["\t".join((data.entities[h], data.relations[r], data.entities[t])) for h, r, t in rows.tolist()]
    (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(folder / name)


def ranked(data, **settings):
    return kgeval.evaluate(score, data, entities=data.entities, relations=data.relations, **settings)


def as_test(data, rows):
    """The same graph with other triples to rank, and all splits in train."""
    everything = np.concatenate([part.ids for part in data.splits.values()])
    splits = {"train": kgeval.Triples.of(everything), "test": kgeval.Triples.of(rows)}
    return kgeval.Dataset.build("other", splits, entities=data.entities, relations=data.relations)


def test_triples_of_a_file_are_ranked_as_loops_rank_them(tmp_path):
    data = random_dataset(4, entities=12, triples=80)
    rng = np.random.default_rng(0)
    rows = np.stack([rng.integers(0, top, 20) for top in (12, 4, 12)], axis=1)
    rows = np.unique(np.concatenate([rows, data.test.ids[:3], data.train.ids[:2]]), axis=0)
    path = written(tmp_path, data, np.concatenate([rows, rows[:2]]))
    table = ranked(data, split=path)
    assert as_counts(table) == brute_force(score, as_test(data, rows), filter=("train", "test"))
    assert table.filter == ("train", "valid", "test", path)
    assert any(note.startswith(f"of the {len(rows)} triples of {path}, ") for note in table.notes)
    raw = ranked(data, split=path, filter=())
    assert as_counts(raw) == brute_force(score, as_test(data, rows), filter=())
    assert kgeval.summarize(kgeval.annotate(table, data, "cardinality"), "mrr", by="cardinality").groups


def test_a_file_in_the_filter_hides_its_answers(tmp_path):
    data = random_dataset(4, entities=12, triples=80)
    path = written(tmp_path, data, data.valid.ids)
    assert ranked(data, filter=["train", path]).data.equals(ranked(data, filter=["train", "valid"]).data)
    assert ranked(data, filter=path).filter == (path,)


@pytest.mark.parametrize("role", ["split", "filter"])
def test_a_file_is_read_anew_by_each_evaluation_and_once_by_each(tmp_path, monkeypatch, role):
    """The name is relative: it also means another file in another folder. Models overwrite the file while ranked."""
    data = random_dataset(4, entities=12, triples=80)
    states = {"first": data.valid.ids, "second": data.train.ids[:9], "third": data.train.ids[9:30]}

    def expected(rows):
        other = as_test(data, rows)
        if role == "split":
            return brute_force(score, other, filter=("train", "test"))
        known = kgeval.Dataset.build(
            "other", {"train": other.test, "test": data.test}, entities=data.entities, relations=data.relations
        )
        return brute_force(score, known, filter=("train",))

    def overwriting(h, r, t):
        written(Path(), data, states["third"], "mine.tsv")
        return score(h, r, t)

    own = {"split": "mine.tsv"} if role == "split" else {"filter": "mine.tsv"}
    labels = {"entities": data.entities, "relations": data.relations}
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        written(Path(), data, states[name], "mine.tsv")
        assert as_counts(kgeval.evaluate(overwriting, data, **labels, **own)) == expected(states[name])
        assert as_counts(ranked(data, **own)) == expected(states["third"])
        assert len(data.split("mine.tsv")) == len(states["third"])


def test_several_splits_are_ranked_as_one():
    data = random_dataset(4, entities=12, triples=80)
    both = ranked(data, split=["test", "valid"])
    assert both.split == "valid+test"
    assert as_counts(both) == as_counts(ranked(data, split="valid")) | as_counts(ranked(data))
    assert ranked(data, split="valid,test").data.equals(both.data)
    assert ranked(data, split="valid+test", protocol="pykeen").filter == ("train", "valid", "test")


@pytest.mark.parametrize(
    "case",
    [
        "filter-self",
        "filter-train",
        "filter-all",
        "entities-70",
        "entities-70-filter-self",
        "relations-12",
        "entities-70-relations-12",
    ],
)
def test_ranks_are_those_of_pykeen(shared, case):
    """Of its evaluator with additional_filter_triples, restrict_entities_to and restrict_relations_to."""
    folder = shared / "lists" / "pykeen-restricted"
    data = kgeval.load_dataset(shared / "checkpoints" / "pykeen" / "_data" / "umls")
    model = kgeval.load_checkpoint(shared / "checkpoints" / "pykeen" / "umls-complex", dataset=data)
    said = json.loads((folder / "expected.json").read_text())["cases"][case]
    extra = str(folder / "extra.tsv")
    settings = {"split": extra, "filter": [*said["additional_filter_triples"], extra]}
    for name in ("restrict_entities_to", "restrict_relations_to"):
        settings[name] = str(folder / said[name]) if said[name] else None
    table = kgeval.evaluate(model, data, **settings)
    with (folder / "expected_ranks.tsv").open() as file:
        of_case = {
            name: list(rows) for name, rows in groupby(csv.DictReader(file, delimiter="\t"), lambda row: row["case"])
        }
    names = ("head_label", "relation_label", "tail_label", "side")
    keys = list(zip(*(table.column(name) for name in names), strict=True))
    greater, tied, candidates = (table.column(name).tolist() for name in ("greater", "tied", "candidates"))
    found = dict(zip(keys, zip(greater, tied, candidates, strict=True), strict=True))
    different = []
    assert len(found) == len(of_case[case]) == said["ranks"]
    for row in of_case[case]:
        above, level, number = found[tuple(row[name.removesuffix("_label")] for name in names)]
        ranks = tuple(float(row[name]) for name in ("optimistic", "realistic", "pessimistic"))
        assert number == int(row["candidates"])
        if ranks != (1 + above, 1 + above + level / 2, 1 + above + level):
            different.append(row)
    assert len(different) <= 1  # the answer that ties in float32 alone


def test_restrictions_take_labels_too_and_say_what_they_leave_out():
    data = random_dataset(4, entities=12, triples=80)
    labels = list(data.entities)[:7]
    table = ranked(data, restrict_entities_to=[*labels, "nobody"])
    kept = (data.test.ids[:, [0, 2]] < 7).all(axis=1)
    assert table.num_triples == kept.sum()
    assert table.column("raw_candidates").max() <= 7
    assert "restrict_entities_to: 1 label not in the dataset: left out ('nobody')." in table.notes
    assert any(
        f"left out (restricted evaluation): {(~kept).sum()} test triples with other" in note for note in table.notes
    )
    of_relation = ranked(data, restrict_relations_to=[data.relations[0]])
    rows = ranked(data).column("relation") == 0
    assert of_relation.column("greater").tolist() == ranked(data).column("greater")[rows].tolist()


def test_a_restriction_is_a_label_or_a_file_which_goes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = random_dataset(4, entities=12, triples=80)
    first, second, *_ = data.relations
    alone = ranked(data, restrict_relations_to=first)
    assert alone.to_pandas().equals(ranked(data, restrict_relations_to=[first]).to_pandas())
    (tmp_path / first).write_text(f"{second}\n")
    of_file = ranked(data, restrict_relations_to=first)
    assert {*of_file.column("relation_label")} == {second}
    assert f"restrict_relations_to: the file {first!r} was read. Give [{first}] for the relation" in " ".join(
        of_file.notes
    )
    assert {*ranked(data, restrict_relations_to=[first]).column("relation_label")} == {first}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"split": "tset"}, "there is no split and no file 'tset'.*Did you mean 'test'"),
        ({"split": "no.tsv"}, r"no such file 'no\.tsv'"),
        ({"filter": ["train", "no.tsv"]}, r"no such file 'no\.tsv'"),
        ({"split": ["test", "dev"]}, "split"),
        ({"restrict_entities_to": "no.txt"}, r"no such file 'no\.txt'"),
        ({"restrict_entities_to": ["nobody"]}, "the dataset has none of the 1 labels"),
        ({"restrict_relations_to": []}, r"  restrict_relations_to: expected a file, a label or a list of labels"),
        (
            {"restrict_relations_to": "r0"},
            r"^restrict_relations_to: no such file 'r0', and no relation of the.*Did you",
        ),
        ({"restrict_entities_to": ""}, "  restrict_entities_to: the path is empty"),
        ({"restrict_entities_to": ["e0000"]}, "Nothing is left to rank"),
        (
            {"restrict_entities_to": ["e0000", "e0001", "e0002", "e0003"], "unseen": "worst"},
            "would rank them last|left",
        ),
    ],
)
def test_what_cannot_be_ranked_is_one_clear_error(settings, message):
    with pytest.raises(InputError, match=f"(?s){message}"):
        ranked(random_dataset(4, entities=12, triples=80), **settings)


def test_files_that_do_not_fit_are_refused_by_their_row(tmp_path):
    data = random_dataset(4, entities=12, triples=80)
    (tmp_path / "strange.tsv").write_text("e0000\tr00\te0001\ne0000\tr00\tnobody\n")
    (tmp_path / "empty.tsv").write_text("")
    with pytest.raises(DatasetError, match=r"strange\.tsv, line 2: the tail 'nobody' is no entity of the dataset"):
        ranked(data, split=str(tmp_path / "strange.tsv"))
    with pytest.raises(DatasetError, match="no triples in it"):
        ranked(data, filter=["train", str(tmp_path / "empty.tsv")])


def test_a_file_of_facts_at_a_time_has_times(tmp_path):
    days = ["2014-01-01", "2014-01-02"]
    data = kgeval.Dataset.from_labels(
        train=[("a", "r", "b", days[0]), ("b", "r", "a", days[1])], test=[("a", "r", "a", days[1])]
    )
    path = tmp_path / "more.tsv"
    path.write_text("head\trelation\ttail\ttime\na\tr\tb\t2014-01-02\n")

    def at_a_time(h, r, t, time):
        return t + time

    table = kgeval.evaluate(at_a_time, data, split=str(path), entities=data.entities, relations=data.relations)
    assert table.column("time").tolist() == [days[1], days[1]]
    path.write_text("head\trelation\ttail\na\tr\tb\n")
    with pytest.raises(DatasetError, match="no column 'time'"):
        kgeval.evaluate(
            at_a_time,
            kgeval.Dataset.from_labels(train=[("a", "r", "b", days[0])], test=[("a", "r", "a", days[0])]),
            split=str(path),
        )
