"""Re-ranking: a list first, then the base's order, against plain Python and a case made without kgeval."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import kgeval
from kgeval.data.triples import SIDES
from tests.brute_force import COUNTS
from tests.cli.conftest import invoke
from tests.conftest import random_dataset

DATA = random_dataset(5, entities=9, triples=70)
NAMES = [*DATA.entities.labels.to_pylist(), "None of the above", "?"]
BASE = np.random.default_rng(3).integers(0, 4, size=(9, 4, 9)).astype(float)


def base(heads, relations, tails):
    return BASE[heads, relations % 4, tails]


def order_of(label_scores, unmatched):
    """Order the labels of a list: blocks of labels that tie, the first block first; a label once."""
    first = {}
    for label, score in label_scores:
        first.setdefault(label, score)
    kept = {label: score for label, score in first.items() if unmatched == "keep" or label in NAMES[:9]}
    return [[label for label in kept if kept[label] == score] for score in sorted(set(kept.values()), reverse=True)]


def expected_counts(dataset, triple, side, blocks):
    """Count who stands above and level with the answer of one triple, filtered and raw, in plain Python."""
    head, relation, tail = triple
    known = {tuple(map(int, row)) for name in ("train", "valid", "test") for row in dataset.split(name).ids}
    answer = tail if side == "tail" else head

    def fact(entity):
        return (head, relation, entity) if side == "tail" else (entity, relation, tail)

    def base_score(entity):
        one, _, other = fact(entity)
        return BASE[one, relation % 4, other]

    listed = {label for block in blocks for label in block}
    rest = [entity for entity in range(9) if NAMES[entity] not in listed]
    scores = sorted({base_score(entity) for entity in rest}, reverse=True)
    whole = [[*block] for block in blocks]
    whole += [[NAMES[entity] for entity in rest if base_score(entity) == score] for score in scores]
    counts = []
    for filtered in (True, False):
        rivals = [
            [
                name
                for name in block
                if name not in NAMES[:9]
                or not filtered
                or fact(NAMES.index(name)) not in known
                or name == NAMES[answer]
            ]
            for block in whole
        ]
        place = next(number for number, block in enumerate(rivals) if NAMES[answer] in block)
        counts += [sum(map(len, rivals[:place])), len(rivals[place]) - 1, sum(map(len, rivals))]
    return tuple(counts)


LISTS = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 3)), max_size=14)


@st.composite
def files_of_lists(draw):
    """Draw lists of every query, or of every triple and side; best first, or with scores that may tie."""
    by_triple, scored = draw(st.booleans()), draw(st.booleans())
    lines, blocks = {}, {}
    unmatched = draw(st.sampled_from(["keep", "drop"]))
    for triple in DATA.test.ids.tolist():
        for side in SIDES:
            anchor = "head" if side == "tail" else "tail"
            named = {"head": NAMES[triple[0]], "relation": DATA.relations[triple[1]], "tail": NAMES[triple[2]]}
            line = {name: named[name] for name in ("relation", anchor)} | ({**named, "side": side} if by_triple else {})
            key = json.dumps(line)
            if key not in lines:
                drawn = draw(LISTS)
                names = [*dict.fromkeys(name for name, _ in drawn)]
                pairs = [*dict(reversed(drawn)).items()] if scored else []
                pairs = pairs or [(name, -float(place)) for place, name in enumerate(names)]
                asked = {"predictions": [name for name, _ in drawn]} if not scored else {"predictions": pairs}
                lines[key] = line | asked, order_of(pairs, unmatched)
            blocks[(*triple, side)] = lines[key][1]
    return [line for line, _ in lines.values()], blocks, unmatched


@settings(max_examples=25, deadline=None)
@given(files_of_lists())
def test_ranks_are_those_of_plain_python(tmp_path_factory, drawn):
    lines, blocks, unmatched = drawn
    file = tmp_path_factory.mktemp("lists") / "lists.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    model = kgeval.load_checkpoint(file, dataset=DATA, base=base, unmatched=unmatched)
    table = kgeval.evaluate(model, DATA).to_pandas()
    listed = {}
    for head, relation, tail, side in blocks:
        name = NAMES[tail if side == "tail" else head]
        listed[head, relation, tail, side] = any(name in block for block in blocks[head, relation, tail, side])
    for row in table.to_dict("records"):
        key = row["head"], row["relation"], row["tail"], row["side"]
        if unmatched == "drop":
            assert tuple(row[name] for name in COUNTS) == expected_counts(DATA, key[:3], key[3], blocks[key])
        else:
            greater, tied, candidates, *raw = expected_counts(DATA, key[:3], key[3], blocks[key])
            assert (row["greater"], row["tied"], row["candidates"]) == (greater, tied, candidates)
            assert [row[name] for name in COUNTS[3:]] == raw
        assert row["listed"] == listed[key]
    best = kgeval.predict(model, DATA, k=9).to_pandas().query("is_answer")
    if {json.dumps({**line, "predictions": 0}) for line in lines if "side" not in line}:  # lists of queries
        keys = ["anchor", "relation", "side"]
        found = table.assign(anchor=np.where(table["side"] == "tail", table["head"], table["tail"]))
        assert sorted(map(tuple, best[[*keys, "raw_greater", "raw_tied"]].to_numpy().tolist())) == sorted(
            map(tuple, found[[*keys, "raw_greater", "raw_tied"]].to_numpy().tolist())
        )


@settings(max_examples=25, deadline=None)
@given(files_of_lists(), st.integers(1, 9))
def test_stored_ranks_give_the_same_or_upper_bounds(tmp_path_factory, drawn, k):
    lines, _, unmatched = drawn
    file = tmp_path_factory.mktemp("lists") / "lists.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    over = kgeval.evaluate(kgeval.load_checkpoint(file, dataset=DATA, base=base, unmatched=unmatched), DATA)
    lists = kgeval.load_checkpoint(file, dataset=DATA, missing="unanswered", unmatched=unmatched)
    stored, ranks = kgeval.predict(base, DATA, k=k), kgeval.evaluate(base, DATA)
    for predictions in (stored, None):
        found = kgeval.rerank(ranks, lists, DATA, predictions=predictions)
        bounds = sum(int(note.split()[0]) for note in found.notes if "upper bounds" in note)
        wrong = np.zeros(len(found), bool)
        for prefix in ("", "raw_"):
            greater, tied, candidates = (found.column(prefix + name) for name in ("greater", "tied", "candidates"))
            assert (greater >= over.column(prefix + "greater")).all()
            assert (candidates == over.column(prefix + "candidates")).all()
            wrong |= (greater != over.column(prefix + "greater")) | (tied != over.column(prefix + "tied"))
        assert not wrong[over.column("listed")].any()
        assert wrong.sum() <= bounds
        assert k < 9 or predictions is None or not bounds


@pytest.mark.parametrize("name", ["", "_leaky"])
def test_a_case_made_without_kgeval_is_equal_row_by_row(shared, name):
    folder, umls = shared / "lists" / "rerank-umls", shared / "checkpoints" / "pykeen"
    data = kgeval.load_dataset(umls / "_data" / "umls")
    lists = folder / f"lists{name}.jsonl"
    model = kgeval.load_checkpoint(lists, dataset=data, base=umls / "umls-complex", unmatched="drop")
    table = kgeval.evaluate(model, data)
    found = table.to_pandas()
    found["raw_rank"] = 1 + found["raw_greater"] + found["raw_tied"] / 2
    expected = pd.read_csv(folder / f"expected_ranks{name}.tsv", sep="\t")
    keys = ["head_label", "relation_label", "tail_label", "side"]
    expected.columns = [*keys, *expected.columns[4:]]
    both = expected.merge(found, on=keys, suffixes=("_expected", ""), validate="one_to_one")
    assert len(both) == len(expected) == len(found) == 1322
    for ours, theirs in (
        ("rank", "filtered_rank"),
        ("raw_rank", "raw_rank_expected"),
        ("listed", "listed_expected"),
        ("candidates", "candidates_expected"),
    ):
        assert (both[ours] == both[theirs]).all()
    truth = json.loads((folder / "expected.json").read_text())[f"lists{name}.jsonl"]["reranked"]
    values = kgeval.summarize(table, [*truth])
    assert {metric: values[metric] for metric in truth} == pytest.approx(truth, rel=1e-12)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A base and two samples of lists over it, as files and as runs."""
    folder = tmp_path_factory.mktemp("runs")
    data = kgeval.load_dataset("nations")
    rng = np.random.default_rng(0)
    ranked = kgeval.predict(lambda h, r, t: (h * 5 + r * 3 + t * 7) % 11, data, k=6).to_pandas()
    for seed in (0, 1):
        lines = []
        for _, rows in ranked.groupby("query"):
            side, anchor, relation = rows.iloc[0][["side", "anchor_label", "relation_label"]]
            names = rng.permutation(rows["entity_label"].astype(str).to_numpy())[:4].tolist()
            lines.append({"tail" if side == "head" else "head": anchor, "relation": relation, "predictions": names})
        (folder / f"lists-{seed}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_samples_are_compared_with_their_base(runs, monkeypatch):
    monkeypatch.chdir(runs)
    content = {
        "dataset": "nations",
        "models": {
            "base": "baseline:popularity",
            "language model": {"rerank": "lists-{seed}.jsonl", "base": "baseline:popularity", "seeds": [0, 1]},
        },
        "evaluation": {"keep": {"predictions": 14}},
        "metrics": ["mrr"],
        "output": "out",
    }
    (runs / "samples.yaml").write_text(yaml.safe_dump(content))
    assert "mean of 2 seeds" in invoke("run", "samples.yaml").output
    compared = invoke(
        "compare",
        "out/nations/base",
        "out/nations/language model/0",
        "out/nations/language model/1",
        "-m",
        "mrr",
        "--by",
        "listed",
    ).output
    assert {"listed", "in some lists", "not listed"} <= {line.split("  ")[0] for line in compared.splitlines()}


def test_stored_ranks_do_not_follow_other_settings(runs, monkeypatch):
    monkeypatch.chdir(runs)
    invoke("evaluate", "baseline:popularity", "--dataset", "nations", "--out", "stored")
    over = ["lists-0.jsonl", "--option", "base=ranks:stored"]
    for model in (over, ["ranks:stored"], ["ranks:stored/ranks.parquet"]):
        asked = ["evaluate", *model, "--dataset", "nations", "-m", "mrr"]
        assert invoke(*asked).exit_code == 0
        for other in (["--split", "valid"], ["--filter", "train"], ["--filter", "none"]):
            result = invoke(*asked, *other)
            assert result.exit_code == 2
            assert "ranks of test, filter train, valid, test. Evaluate with the same." in result.stderr
        assert "cannot follow evaluation.corruption" in invoke(*asked, "--corruption", "uniform:count=3").stderr
    assert "the triples are not from dataset umls" in invoke("evaluate", "ranks:stored", "--dataset", "umls").stderr


def test_bases_are_models_runs_and_ranks(runs, monkeypatch):
    monkeypatch.chdir(runs)
    invoke(
        "evaluate",
        "baseline:popularity",
        "--dataset",
        "nations",
        "--out",
        "popular",
        "--set",
        "evaluation.keep.predictions=14",
    )
    bases = "baseline:popularity", "popular", "ranks:popular", "ranks:popular/ranks.parquet"
    values, outputs = [], []
    for base in bases:
        result = invoke(
            "evaluate",
            "lists-0.jsonl",
            "--dataset",
            "nations",
            "-m",
            "mrr",
            "--json",
            "--ties",
            "realistic",
            "--option",
            f"base={base}",
        )
        outputs.append(result.stderr)
        values.append(json.loads(result.stdout)["metrics"]["both"]["mrr"])
    assert values[0] == values[1] == values[2] > values[3]
    assert [bool("upper bounds" in text) for text in outputs] == [False, False, False, True]
