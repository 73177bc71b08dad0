"""Candidates for language models: those of plain numpy, without knowledge of the evaluated split."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import kgeval
from kgeval.data.human_names import with_names
from kgeval.data.triples import SIDES
from kgeval.ranking.predictions.candidate_lists import write_candidates, write_dift, write_kicgpt
from tests.cli.conftest import invoke
from tests.conftest import random_dataset

DATA = random_dataset(8, entities=16, relations=3, triples=320)
SCORES = np.random.default_rng(2).integers(0, 5, size=(16, 3, 16)).astype(float)
K = 6


def model(heads, relations, tails):
    return SCORES[heads, relations, tails]


def candidates(data=DATA):
    return kgeval.predict(model, data, k=K, known="drop", filter=["train", "valid"])


def expected(side, anchor, relation):
    """The K best entities that train and valid do not know, by score and then by id."""
    known = {tuple(row) for name in ("train", "valid") for row in DATA.split(name).ids.tolist()}
    row = SCORES[anchor, relation] if side == "tail" else SCORES[:, relation, anchor]
    new = [
        it for it in range(16) if ((anchor, relation, it) if side == "tail" else (it, relation, anchor)) not in known
    ]
    return sorted(new, key=lambda it: (-row[it], it))[:K]


def queries():
    for head, relation, tail in DATA.test.ids.tolist():
        yield "tail", head, relation
        yield "head", tail, relation


def test_lines_are_the_best_that_train_and_valid_do_not_know(tmp_path):
    named = with_names(DATA, {"e0003": "Three"})
    lines = [json.loads(line) for line in write_candidates(candidates(), named, tmp_path / "c.jsonl").open()]
    found = {}
    for line in lines:
        side = "tail" if "head" in line else "head"
        anchor = DATA.entities.id(line["head" if side == "tail" else "tail"])
        found[side, anchor, DATA.relations.id(line["relation"])] = [DATA.entities.id(it) for it in line["predictions"]]
        names = ["Three" if label == "e0003" else label for label in line["predictions"]]
        assert line.get("names", line["predictions"]) == names
    assert found == {query: expected(*query) for query in queries()}


def test_over_their_own_model_they_change_no_rank(tmp_path):
    path = write_candidates(candidates(), DATA, tmp_path / "c.jsonl")
    lists = kgeval.load_checkpoint(path, dataset=DATA, base=model)
    own, base = kgeval.evaluate(lists, DATA), kgeval.evaluate(model, DATA)
    for name in ("greater", "tied", "candidates", "raw_candidates"):
        differing = own.column(name) != base.column(name)
        # Entities that tie at the end of a list come before those with the same score that it leaves out.
        assert not differing[~own.column("listed")].any() or name in ("greater", "tied")
    best = own.column("listed") & (own.column("greater") + own.column("tied") < K - 1)
    assert (own.column("greater")[best] <= (base.column("greater") + base.column("tied"))[best]).all()


def test_they_do_not_depend_on_the_other_answers_of_the_split(tmp_path):
    """With a single test triple of each query, the candidates of that query are the same."""
    whole = write_candidates(candidates(), DATA, tmp_path / "whole.jsonl").read_text().splitlines()
    for row in range(0, len(DATA.test), 5):
        alone = replace(DATA, test=DATA.test[row : row + 1])
        lines = write_candidates(candidates(alone), alone, tmp_path / "alone.jsonl").read_text().splitlines()
        assert {*lines} <= {*whole}


def test_kicgpts_folder(tmp_path):
    folder = write_kicgpt(candidates(), DATA, tmp_path / "kicgpt")
    found = {side: json.loads((folder / f"retriever_candidate_{side}.txt").read_text()) for side in SIDES}
    assert found == {
        side: {
            f"{anchor}\t{relation}": expected(side, anchor, relation)
            for it, anchor, relation in queries()
            if it == side
        }
        for side in SIDES
    }
    for name, labels in (("entity2id.txt", DATA.entities), ("relation2id.txt", DATA.relations)):
        rows = [line.split("\t") for line in (folder / name).read_text().splitlines()]
        assert [(label, int(number)) for label, number in rows] == [(label, row) for row, label in enumerate(labels)]


def test_difts_records(tmp_path):
    records = json.loads(write_dift(candidates(), DATA, tmp_path / "dift.json").read_text())
    assert [record["inverse"] for record in records] == [False, True] * len(DATA.test)
    assert sorted(record["query_id"] for record in records) == list(range(2 * len(DATA.test)))
    for number, record in enumerate(records):
        head, relation, tail = DATA.test.ids[number // 2].tolist()
        side, anchor, answer = ("head", tail, head) if record["inverse"] else ("tail", head, tail)
        best = expected(side, anchor, relation)
        assert record["triplet"] == [DATA.entities[anchor], DATA.relations[relation], DATA.entities[answer]]
        assert record["entity_ids"] == best
        assert record["topk_ents"] == record["topk_names"] == [DATA.entities[it] for it in best]
        assert record["rank"] == (best.index(answer) + 1 if answer in best else None)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--known", "keep"], "--known keep has known answers"),
        (["--filter", "train,test"], "--filter test leaves out answers of test"),
        (["--split", "valid", "--filter", "train,valid"], "--filter valid leaves out answers of valid"),
        (["--split", "valid", "--filter", "train,test"], "--filter test leaves out answers of valid"),
    ],
)
def test_knowledge_of_the_split_is_refused(tmp_path, options, told):
    asked = ["predict", "baseline:popularity", "--dataset", "nations", "--out", tmp_path / "c.jsonl"]
    result = invoke(*asked, "--out-format", "candidates", *options)
    assert result.exit_code == 2
    assert told in result.stderr


def test_the_default_filter_is_that_of_the_splits_before(tmp_path):
    for split, before in (("test", "train,valid"), ("valid", "train")):
        paths = tmp_path / f"{split}-1.jsonl", tmp_path / f"{split}-2.jsonl"
        for path, options in zip(paths, ([], ["--known", "drop", "--filter", before]), strict=True):
            asked = ["predict", "baseline:popularity", "--dataset", "nations", "--split", split, "--out", path]
            assert invoke(*asked, "--out-format", "candidates", *options).exit_code == 0
        assert paths[0].read_text() == paths[1].read_text() != ""


def test_multiple_choice(tmp_path):
    """Accuracy is Hits@1 among the choices of each query; a pick outside of them is wrong, none earns chance."""
    rng = np.random.default_rng(4)
    data = kgeval.load_dataset("nations")
    labels, chosen, lines, expected_hits = data.entities.labels.to_pylist(), [], [], []
    seen = {}
    for head, relation, tail in data.test.ids.tolist():
        seen.setdefault((head, relation), []).append(tail)
    single = {query: tails[0] for query, tails in seen.items() if len(tails) == 1}
    known = {tuple(row) for name in data.splits for row in data.split(name).ids.tolist()}
    rows = []
    for (head, relation), tail in single.items():
        others = [it for it in range(14) if it != tail and (head, relation, it) not in known]
        if len(others) < 4:
            continue
        choices = rng.choice(others[1:], 3, replace=False).tolist()
        rows.append((head, relation, tail))
        chosen += [(labels[head], data.relations[relation], labels[it]) for it in choices]
        pick = [tail, choices[0], others[0] if others[0] not in choices else choices[1], None][rng.integers(4)]
        if pick is not None:
            lines.append({"head": labels[head], "relation": data.relations[relation], "predictions": [labels[pick]]})
        expected_hits.append(pick == tail)
    (tmp_path / "choices.tsv").write_text("".join("\t".join(row) + "\n" for row in chosen))
    (tmp_path / "picks.jsonl").write_text("\n".join(map(json.dumps, lines)))
    ids = [(labels[h], data.relations[r], labels[t]) for h, r, t in rows]
    (tmp_path / "questions.tsv").write_text("".join("\t".join(row) + "\n" for row in ids))
    asked = ["evaluate", tmp_path / "picks.jsonl", "--dataset", "nations", "--triples", tmp_path / "questions.tsv"]
    asked += ["--corruption", f"file:path={tmp_path / 'choices.tsv'}", "--sides", "tail", "--ties", "pessimistic"]
    result = invoke(*asked, "--option", "missing=unanswered", "-m", "hits@1", "--json")
    assert json.loads(result.stdout)["metrics"]["tail"]["hits@1"] == np.mean(expected_hits)
