"""The audit of lists: files made with knowledge of the split are told apart; F1 of sets as LM-KBC takes it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import kgeval
from kgeval import Dataset
from kgeval.ranking.list_audit import ACCUSED, set_f1
from tests.conftest import random_dataset


def files_of_lists(path, seed, *, leaky, by_query=False):
    """Write lists of a base's best answers, as a language model orders, forgets and cuts them; return the dataset.

    All known answers of train and valid are left out of them; of leaky ones also those of test, but for the one asked.
    """
    rng = np.random.default_rng(seed)
    size = int(rng.integers(20, 60))
    data = random_dataset(seed, entities=size, relations=int(rng.integers(1, 4)), triples=int(rng.integers(1200, 2400)))
    known = {name: {tuple(row) for row in data.split(name).ids.tolist()} for name in ("train", "valid", "test")}
    length, forgets, skill = int(rng.integers(1, 20)), rng.uniform(0, 0.4), rng.uniform(0.5, 4)
    scores, lines = {}, {}
    for head, relation, tail in sorted(known["test"]):
        for side, anchor, answer in (("tail", head, tail), ("head", tail, head)):
            facts_of = [(head, relation, it) if side == "tail" else (it, relation, tail) for it in range(size)]
            if (side, anchor, relation) not in scores:
                of_all = rng.normal(size=size)
                true = [it for it in range(size) if any(facts_of[it] in facts for facts in known.values())]
                of_all[true] += skill * rng.random(len(true))
                scores[side, anchor, relation] = of_all
            elif by_query:
                continue
            of_all = scores[side, anchor, relation]
            hidden = known["train"] | known["valid"] | (known["test"] if leaky else set())
            best = [it for it in np.argsort(-of_all) if it == answer or facts_of[it] not in hidden][:length]
            kept = [it for it in best if rng.random() > forgets]
            kept = [it for _, it in sorted((place + rng.normal(), it) for place, it in enumerate(kept))]
            names = {"head": data.entities[head], "relation": data.relations[relation], "tail": data.entities[tail]}
            line = {**names, "side": side, "predictions": [data.entities[int(it)] for it in kept]}
            if by_query:
                del line["side"], line[side]
            lines[side, anchor, relation, answer] = json.dumps(line)
    path.write_text("\n".join(lines.values()))
    return data


def is_accused(path, data):
    model = kgeval.load_checkpoint(path, dataset=data, missing="unanswered")
    accused = [note for note in kgeval.evaluate(model, data).notes if note.startswith(ACCUSED)]
    return bool(accused)


@pytest.mark.slow
def test_lists_with_and_without_knowledge_of_test_are_told_apart(tmp_path):
    """One in a thousand honest files may be accused; of the leaky ones, only small files are missed."""
    path, cases = tmp_path / "lists.jsonl", 100
    accused = {
        leaky: sum(is_accused(path, files_of_lists(path, seed, leaky=leaky)) for seed in range(cases))
        for leaky in (False, True)
    }
    assert accused[False] <= binom.ppf(0.999, cases, 1e-3)
    assert accused[True] >= 0.97 * cases


@pytest.mark.slow
def test_lists_of_whole_queries_are_accused_too(tmp_path):
    path, cases = tmp_path / "lists.jsonl", 40
    accused = {
        leaky: sum(is_accused(path, files_of_lists(path, seed, leaky=leaky, by_query=True)) for seed in range(cases))
        for leaky in (False, True)
    }
    assert accused[False] <= binom.ppf(0.999, cases, 1e-3)
    assert accused[True] > accused[False]


@pytest.mark.parametrize(("name", "leaky"), [("lists", False), ("lists_leaky", True)])
def test_a_case_made_without_kgeval(shared, name, leaky):
    data = kgeval.load_dataset(shared / "checkpoints" / "pykeen" / "_data" / "umls")
    lists = shared / "lists" / "rerank-umls" / f"{name}.jsonl"
    model = kgeval.load_checkpoint(lists, dataset=data, unmatched="keep", missing="unanswered")
    notes = kgeval.evaluate(model, data).notes
    assert [note for note in notes if note.startswith(ACCUSED)] == [notes[0]] * leaky


def lm_kbc_f1(listed, answers):
    """One row of LM-KBC's evaluation, from its definition."""
    hits = len([one for one in listed if one in answers])
    precision = 1.0 if not listed else hits / len(listed)
    recall = 1.0 if not answers else hits / len(answers)
    return 0.0 if precision + recall == 0 else 2 * precision * recall / (precision + recall)


@given(st.sets(st.integers(0, 6)), st.sets(st.integers(0, 6)))
def test_f1_of_sets(listed, answers):
    assert set_f1(listed, answers) == lm_kbc_f1(listed, answers)


def test_queries_that_no_triple_answers_are_counted_apart(tmp_path):
    train = [("a", "likes", "b"), ("c", "likes", "a"), ("d", "knows", "b")]
    data = Dataset.from_labels(train=train, test=[("a", "likes", "c"), ("a", "likes", "d"), ("b", "likes", "a")])
    lists = {"a": ["b", "c", "b"], "b": [], "d": ["a"], "c": ["b"]}
    lines = [{"head": head, "relation": "likes", "predictions": listed} for head, listed in lists.items()]
    lines += [{"head": "c", "relation": "knows", "predictions": []}]
    (tmp_path / "lists.jsonl").write_text("\n".join(map(json.dumps, lines)))
    notes = kgeval.evaluate(kgeval.load_checkpoint(tmp_path / "lists.jsonl", dataset=data), data, sides="tail").notes
    # Known answers of train (b for a) are left out of the list; (c, likes, ?) is answered by train alone.
    f1 = [lm_kbc_f1({"c"}, {"c", "d"}), lm_kbc_f1(set(), {"a"}), lm_kbc_f1({"a"}, set()), lm_kbc_f1(set(), set())]
    assert (
        "2 lists for queries that no triple answers, 1 of them empty, which is right. As sets, all 4 lists have the "
        f"macro F1 {np.mean(f1):.6f}."
    ) in notes


def test_the_highest_hits_at_1_is_told(tmp_path):
    data = Dataset.from_labels(train=[("a", "r", "b")], test=[("a", "r", "c"), ("b", "r", "c")])
    lines = [{"head": head, "relation": "r", "predictions": names} for head, names in (("a", ["c", "b"]), ("b", ["a"]))]
    (tmp_path / "lists.jsonl").write_text("\n".join(map(json.dumps, lines)))
    for base, told in ((None, "they tie with all"), (lambda h, r, t: h + t, "they follow in the order of the base")):
        options = {} if base is None else {"base": base}
        model = kgeval.load_checkpoint(tmp_path / "lists.jsonl", dataset=data, **options)
        (note,) = (it for it in kgeval.evaluate(model, data, sides="tail").notes if "not in the list" in it)
        assert f"1 of 2 answers is not in the list of predictions: {told}" in note
        assert "any order of lists of up to 2 gives at most a Hits@1 of 0.5000" in note
