"""Candidates for language models: those of plain numpy, without knowledge of the evaluated split."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgeval
from kgeval.base.errors import InputError
from kgeval.data.human_names import with_names
from kgeval.data.triples import SIDES
from kgeval.ranking.predictions.candidate_lists import write_candidates, write_dift, write_kicgpt
from tests.cli.conftest import invoke
from tests.conftest import random_dataset, unwrapped
from tests.data.folders import write

K = 4


class Case:
    """A random graph, and scores of few levels, which tie, for all of its triples."""

    def __init__(self, seed: int, levels: int = 5):
        self.data = random_dataset(seed, entities=9, relations=2, triples=110)
        self.scores = np.random.default_rng(seed).integers(0, levels, size=(9, 2, 9)).astype(float)

    def model(self, heads, relations, tails):
        return self.scores[heads, relations, tails]

    def candidates(self, data=None, **settings):
        wanted = {"k": K, "known": "drop", "filter": ["train", "valid"], **settings}
        return kgeval.predict(self.model, self.data if data is None else data, **wanted)

    def expected(self, side, anchor, relation):
        """The K best entities that train and valid do not know, by score and then by id."""
        known = {tuple(row) for name in ("train", "valid") for row in self.data.split(name).ids.tolist()}
        row = self.scores[anchor, relation] if side == "tail" else self.scores[:, relation, anchor]
        triples = [(anchor, relation, it) if side == "tail" else (it, relation, anchor) for it in range(9)]
        return sorted((it for it in range(9) if triples[it] not in known), key=lambda it: (-row[it], it))[:K]

    def queries(self):
        for head, relation, tail in self.data.test.ids.tolist():
            yield "tail", head, relation
            yield "head", tail, relation


cases = st.builds(Case, st.integers(0, 10**6), st.integers(1, 6))


def lines_of(table, data):
    with TemporaryDirectory() as folder:
        return write_candidates(table, data, Path(folder) / "candidates.jsonl").read_text().splitlines()


@given(cases)
@settings(max_examples=20, deadline=None)
def test_lines_are_the_best_that_train_and_valid_do_not_know(case):
    ids, found = case.data.entities.id, {}
    for line in map(json.loads, lines_of(case.candidates(), with_names(case.data, {"e0003": "Three"}))):
        side, anchor = ("tail", line["head"]) if "head" in line else ("head", line["tail"])
        found[side, ids(anchor), case.data.relations.id(line["relation"])] = [*map(ids, line["predictions"])]
        names = ["Three" if label == "e0003" else label for label in line["predictions"]]
        assert line.get("names", line["predictions"]) == names
    assert found == {query: expected for query in case.queries() if (expected := case.expected(*query))}


@given(cases)
@settings(max_examples=20, deadline=None)
def test_they_do_not_depend_on_the_other_answers_of_the_split(case):
    """With a single test triple, the candidates of its queries are the same."""
    whole = {*lines_of(case.candidates(), case.data)}
    for row in range(0, len(case.data.test), 3):
        alone = replace(case.data, test=case.data.test[row : row + 1])
        assert {*lines_of(case.candidates(alone), alone)} <= whole


@given(cases)
@settings(max_examples=20, deadline=None)
def test_answers_that_are_listed_have_the_rank_of_the_model(case):
    """Alone and over the model; what ties with the last of a list comes behind it if the list leaves it out."""
    base = kgeval.evaluate(case.model, case.data)
    with TemporaryDirectory() as folder:
        path = write_candidates(case.candidates(), case.data, Path(folder) / "candidates.jsonl")
        lists = [kgeval.load_checkpoint(path, dataset=case.data, **over) for over in ({}, {"base": case.model})]
        alone, over = (kgeval.evaluate(model, case.data) for model in lists)
    listed, last = over.column("listed"), base.column("greater") + base.column("tied")
    expected = [
        (int(answer in case.expected(side, anchor, relation)))
        for head, relation, tail, side in zip(*map(base.column, ("head", "relation", "tail", "side")), strict=True)
        for anchor, answer in [(head, tail) if side == "tail" else (tail, head)]
    ]
    assert listed.tolist() == expected
    for table in (alone, over):
        assert (table.column("greater") == base.column("greater"))[listed].all()
        assert (table.column("tied") <= base.column("tied"))[listed].all()
    assert (over.column("greater") + over.column("tied") == last)[~listed].all()


def test_kicgpts_folder(tmp_path):
    case = Case(1)
    folder = write_kicgpt(case.candidates(), case.data, tmp_path / "kicgpt")
    for side in SIDES:
        found = json.loads((folder / f"retriever_candidate_{side}.txt").read_text())
        queries = [query for query in case.queries() if query[0] == side]
        assert found == {
            f"{anchor}\t{relation}": case.expected(side, anchor, relation) for _, anchor, relation in queries
        }
    for name, labels in (("entity2id.txt", case.data.entities), ("relation2id.txt", case.data.relations)):
        assert (folder / name).read_text().splitlines() == [f"{label}\t{number}" for number, label in enumerate(labels)]


def test_difts_records(tmp_path):
    case = Case(2)
    labels, relations = case.data.entities, case.data.relations
    records = json.loads(write_dift(case.candidates(), case.data, tmp_path / "dift.json").read_text())
    assert [record["inverse"] for record in records] == [False, True] * len(case.data.test)
    assert sorted(record["query_id"] for record in records) == [*range(2 * len(case.data.test))]
    for number, record in enumerate(records):
        head, relation, tail = case.data.test.ids[number // 2].tolist()
        side, anchor, answer = ("head", tail, head) if record["inverse"] else ("tail", head, tail)
        best = case.expected(side, anchor, relation)
        assert record["triplet"] == [labels[anchor], relations[relation], labels[answer]]
        assert record["entity_ids"] == best
        assert record["topk_ents"] == record["topk_names"] == [labels[it] for it in best]
        assert record["rank"] == (best.index(answer) + 1 if answer in best else None)


def test_difts_records_are_read_as_the_same_lists(tmp_path):
    case = Case(3)
    paths = write_dift(case.candidates(), case.data, tmp_path / "d.json"), tmp_path / "c.jsonl"
    write_candidates(case.candidates(), case.data, paths[1])
    options = {"answers": "base"}, {}
    models = [kgeval.load_checkpoint(path, dataset=case.data, **of) for path, of in zip(paths, options, strict=True)]
    from_dift, from_lines = (kgeval.evaluate(model, case.data) for model in models)
    assert from_dift.data.equals(from_lines.data)


def test_a_side_that_is_not_predicted_has_no_record_of_dift(tmp_path):
    case = Case(2)
    records = json.loads(write_dift(case.candidates(sides="head"), case.data, tmp_path / "dift.json").read_text())
    assert [record["query_id"] for record in records] == [*range(0, 2 * len(case.data.test), 2)]
    assert all(record["inverse"] and record["topk_ents"] for record in records)


def test_times_are_in_lines_and_refused_by_formats_without(tmp_path):
    rows = [(f"e{n % 5}", "r", f"e{n % 3}", f"2020-01-0{1 + n % 4}") for n in range(40)]
    data = kgeval.Dataset.from_labels(train=rows[:20], test=rows[20:])
    table = kgeval.predict(kgeval.Baseline("popularity"), data, k=2, filter=["train"], known="keep")
    lines = [json.loads(line) for line in lines_of(table, data)]
    assert len({(line.get("head"), line.get("tail"), line["time"]) for line in lines}) == len(lines) == table.queries
    for write_format in (write_kicgpt, write_dift):
        with pytest.raises(InputError, match=r"have no times, and these queries have\. Use --out-format candidates"):
            write_format(table, data, tmp_path / "out")
        assert not (tmp_path / "out").exists()


ASKED = ("predict", "baseline:popularity", "--dataset", "nations", "--out-format", "candidates")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--known", "keep"], "--known keep: known answers take the places of new ones"),
        (["--filter", "train,test"], "--filter test: lists that leave out the answers of test know them"),
        (["--set", "evaluation.filter=[train,test]"], "--filter test: lists that leave out the answers of test"),
        (["--split", "valid", "--filter", "train,valid"], "--filter valid: lists that leave out the answers of valid"),
        (["--set", "evaluation.split=valid", "--filter", "train,valid"], "known answers of train are left out"),
        (["--split", "valid", "--filter", "train,test"], "--filter test: lists that leave out the answers of test"),
        (["--filter", "test,valid+test"], "--filter test,valid+test: lists"),
    ],
)
def test_knowledge_of_the_split_is_refused(tmp_path, options, told):
    result = invoke(*ASKED, "--out", tmp_path / "c.jsonl", *options)
    assert result.exit_code == 2
    assert told in unwrapped(result.stderr)


@pytest.mark.parametrize(
    ("options", "split", "filter"),
    [
        ([], "test", ["train", "valid"]),
        (["--known", "drop", "--filter", "train"], "test", ["train"]),
        (["--filter", "none"], "test", []),
        (["--split", "valid"], "valid", ["train"]),
        (["--set", "evaluation.split=valid"], "valid", ["train"]),
        (["--split", "valid,test"], ["valid", "test"], ["train"]),
        (["--triples", "trainer/valid.tsv"], "trainer/valid.tsv", ["train", "valid"]),
    ],
)
def test_known_answers_are_those_of_the_splits_before(tmp_path, monkeypatch, options, split, filter):
    monkeypatch.chdir(tmp_path)
    data = kgeval.load_dataset("nations")
    write(Path("trainer"), {"valid": [_spelled(data, row) for row in data.test.ids[:30].tolist()]}, ending=".tsv")
    assert invoke(*ASKED, "--out", "c.jsonl", *options).exit_code == 0
    model = kgeval.Baseline("popularity")
    expected = lines_of(kgeval.predict(model, data, split=split, known="drop", filter=filter), data)
    assert Path("c.jsonl").read_text().splitlines() == expected != []


def test_the_split_of_a_stored_run_is_not_known(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    invoke("evaluate", "baseline:popularity", "--dataset", "nations", "--split", "valid", "--out", "run")
    for source, path in (
        (["run"], "1.jsonl"),
        (["baseline:popularity", "--dataset", "nations", "--split", "valid"], "2.jsonl"),
    ):
        assert invoke("predict", *source, "--out-format", "candidates", "--out", path).exit_code == 0
    assert Path("1.jsonl").read_text() == Path("2.jsonl").read_text()


@pytest.mark.parametrize("write", [write_candidates, write_kicgpt, write_dift])
def test_infinite_scores_are_refused(tmp_path, write):
    data = random_dataset(8, entities=9, triples=60)
    table = kgeval.predict(lambda h, r, t: np.where(t == 3, np.inf, 1.0), data, k=K, sides="tail")
    with pytest.raises(InputError, match="infinite score, which JSON does not have"):
        write(table, data, tmp_path / "out")


@pytest.mark.parametrize(("ties", "unanswered"), [([], 0), (["--ties", "expected"], 1 / 4)])
def test_multiple_choice(tmp_path, monkeypatch, ties, unanswered):
    """Accuracy is Hits@1 among the choices of each query; a pick outside of them is wrong, none earns chance."""
    monkeypatch.chdir(tmp_path)
    rng, data = np.random.default_rng(4), kgeval.load_dataset("nations")
    known = {tuple(row) for split in data.splits.values() for row in split.ids.tolist()}
    questions, choices, picks, correct = [], [], [], []
    for head, relation, tail in data.test.ids.tolist():
        wrong = [it for it in range(14) if (head, relation, it) not in known]
        if len(wrong) < 4 or any(row[:2] == (head, relation) for row in questions):
            continue
        *offered, outside = rng.permutation(wrong)[:4].tolist()
        pick = [tail, offered[0], outside, None][rng.integers(4)]
        questions.append((head, relation, tail))
        choices += [(head, relation, it) for it in offered]
        picks += [(head, relation, pick)] if pick is not None else []
        correct.append(unanswered if pick is None else float(pick == tail))
    spelled = {
        name: [_spelled(data, row) for row in rows] for name, rows in (("questions", questions), ("choices", choices))
    }
    write(Path(), spelled, ending=".tsv")
    lines = [
        {"head": head, "relation": relation, "predictions": [pick]}
        for head, relation, pick in (_spelled(data, row) for row in picks)
    ]
    Path("picks.jsonl").write_text("\n".join(map(json.dumps, lines)))
    asked = ["evaluate", "picks.jsonl", "--dataset", "nations", "--triples", "questions.tsv", "--sides", "tail", *ties]
    asked += ["--corruption", "file:path=choices.tsv", "--option", "missing=unanswered", "-m", "hits@1", "--json"]
    found = json.loads(invoke(*asked).stdout)["metrics"]["tail"]["hits@1"]
    assert found == pytest.approx(np.mean(correct), rel=1e-12)


def _spelled(data, row):
    kinds = (data.entities, data.relations, data.entities)
    return [labels[it] for labels, it in zip(kinds, row, strict=True)]
