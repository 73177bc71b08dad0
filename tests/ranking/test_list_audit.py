"""The audit of lists: it accuses lists that know the evaluated split, and no others; F1 of sets as in LM-KBC."""

from __future__ import annotations

import html
import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import kgeval
from kgeval import Dataset
from kgeval.base.errors import InputError
from kgeval.ranking.list_audit import set_f1
from tests.conftest import random_dataset
from tests.simulated import draws

ACCUSED = "the lists seem to be made with knowledge of"


def files_of_lists(path, seed, *, leaky, by_query=False):
    """Write lists of a base's best answers, as a language model orders, forgets and cuts them; return the dataset.

    All known answers of train and valid are left out of them; of leaky ones also those of test, but for the one asked.
    """
    rng = np.random.default_rng([seed, 1])  # another stream than the graph has
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


def is_accused(path, data, **settings):
    model = kgeval.load_checkpoint(path, dataset=data, missing="unanswered")
    return any(note.startswith(ACCUSED) for note in kgeval.evaluate(model, data, **settings).notes)


@pytest.mark.slow
@pytest.mark.parametrize(("by_query", "least"), [(False, 0.97), (True, 0.05)])
def test_lists_with_and_without_knowledge_of_test_are_told_apart(tmp_path, by_query, least):
    """One in a thousand honest files may be accused; of the leaky ones, small files are missed, and whole queries'."""
    path, cases = tmp_path / "lists.jsonl", draws(16)

    def accused(*, leaky):
        files = (files_of_lists(path, seed, leaky=leaky, by_query=by_query) for seed in range(cases))
        return sum(is_accused(path, data) for data in files)

    honest = accused(leaky=False)
    assert honest <= binom.ppf(0.999, cases, 1e-3)
    assert accused(leaky=True) >= max(least * cases, honest + 1)


@pytest.mark.slow
@pytest.mark.parametrize(("queries", "answers"), [(1, 8), (1, 24), (5, 4), (12, 2)])
def test_few_lists_that_do_not_know_which_triple_asks_are_not_accused(tmp_path, queries, answers):
    """Each list picks one answer of its query, none the same: the evidence is far from normally distributed."""
    asked = {f"q{query}": [f"q{query}a{answer}" for answer in range(answers)] for query in range(queries)}
    test = [(query, "r", answer) for query, found in asked.items() for answer in found]
    data = Dataset.from_labels(train=[("x", "r", "y")], test=test)
    rng, path, accused, files = np.random.default_rng(queries), tmp_path / "lists.jsonl", 0, draws(40)
    for _ in range(files):
        picks = [pick for found in asked.values() for pick in rng.permutation(found).tolist()]
        lines = [
            {"head": query, "relation": "r", "tail": answer, "predictions": [pick]}
            for (query, _, answer), pick in zip(test, picks, strict=True)
        ]
        path.write_text("\n".join(map(json.dumps, lines)))
        accused += is_accused(path, data, sides="tail")
    assert accused <= binom.ppf(0.999, files, 1e-3)


@pytest.mark.parametrize("exclusive", [False, True])
def test_answers_that_lists_do_not_find_are_no_evidence(tmp_path, exclusive):
    """All lists name the popular answer, and none the rare one; or each names one of two popular answers."""
    asked = {f"q{query}": ["popular", "common" if exclusive else f"rare{query}"] for query in range(100)}
    data = Dataset.from_labels(
        train=[("x", "r", "y")], test=[(query, "r", answer) for query, found in asked.items() for answer in found]
    )
    lines = [{"head": query, "relation": "r", "predictions": ["popular", "x", "y", "q0"]} for query in asked]
    for line in lines[::2] if exclusive else ():
        line["predictions"][0] = "common"
    (tmp_path / "lists.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert not is_accused(tmp_path / "lists.jsonl", data, sides="tail")


@pytest.mark.parametrize("leaky", [False, True])
def test_lists_that_name_two_answers_for_other_queries_alone_are_accused(tmp_path, leaky):
    pairs = {f"q{query:02}": (["a", "b"], ["c", "d"])[query % 2] for query in range(24)}
    data = Dataset.from_labels(
        train=[("x", "r", "y")], test=[(query, "r", answer) for query, found in pairs.items() for answer in found]
    )
    lines = [
        {"head": query, "relation": "r", "predictions": [found[0], *sorted({*"abcd"} - {*found[: 1 + leaky]})]}
        for query, found in pairs.items()
    ]
    (tmp_path / "lists.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert is_accused(tmp_path / "lists.jsonl", data, sides="tail") == leaky


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


def test_each_text_that_names_no_entity_is_a_wrong_answer_of_the_set(tmp_path):
    train = [("a", "likes", "b"), ("d", "knows", "b")]
    data = Dataset.from_labels(train=train, test=[("a", "likes", "c"), ("b", "likes", "a")])
    further = Dataset.from_labels(train=[("Z", "Y", "X"), *train], test=[("a", "likes", "c"), ("b", "likes", "a")])
    lists = {"a": ["c", "None", "Virus", "?"], "b": ["a"], "d": []}
    lines = [{"head": head, "relation": "likes", "predictions": listed} for head, listed in lists.items()]
    (tmp_path / "lists.jsonl").write_text("\n".join(map(json.dumps, lines)))
    model = kgeval.load_checkpoint(tmp_path / "lists.jsonl", dataset=data, unmatched="keep")
    answers = {"a": {"c"}, "b": {"a"}, "d": set()}
    f1 = np.mean([lm_kbc_f1(listed, answers[head]) for head, listed in lists.items()])
    for graph in (data, further):  # in which ids are others
        (note,) = (note for note in kgeval.evaluate(model, graph, sides="tail").notes if "macro F1" in note)
        assert note.endswith(f"all 3 lists have the macro F1 {f1:.6f}.")


@pytest.mark.parametrize("sides", [("relation",), ("tail", "relation")])
def test_lists_predict_no_relations(tmp_path, sides):
    data = Dataset.from_labels(train=[("a", "r", "b"), ("a", "q", "b")], test=[("a", "r", "c")])
    (tmp_path / "lists.jsonl").write_text(json.dumps({"head": "a", "relation": "r", "predictions": ["c"]}))
    model = kgeval.load_checkpoint(tmp_path / "lists.jsonl", dataset=data)
    with pytest.raises(InputError, match="cannot predict relations"):
        kgeval.evaluate(model, data, sides=sides)


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


def test_the_page_tells_what_speaks_against_lists(tmp_path):
    test = [(f"q{query:02}", "r", f"{query}{letter}") for query in range(12) for letter in "ab"]
    data = Dataset.from_labels(train=[("x", "r", "y")], test=test)
    lines = [{"head": head, "relation": "r", "tail": tail, "predictions": [tail, "?"]} for head, _, tail in test]
    lines[0]["predictions"] = ["x", "x"]
    pages = []
    for name, kept in (("LLM", lines), ("picks", [{**line, "predictions": ["x"]} for line in lines])):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, kept)))
        model = kgeval.load_checkpoint(tmp_path / f"{name}.jsonl", dataset=data, unmatched="keep")
        page = kgeval.report({name: kgeval.evaluate(model, data, sides="tail")}, dataset=data).html
        pages.append(re.sub("<.*?>|[\u2066-\u2069]", "", html.unescape(page)))
    assert (
        "Lists name 95.8 % of the answers. LLM: the lists seem to be made with knowledge of test; 23 "
        "predictions named no entity; 1 prediction repeated an earlier one of the same list."
    ) in pages[0]
    assert "Lists name 0.0 % of the answers" in pages[1]
    assert "Lists name" not in kgeval.report({"m": kgeval.evaluate(lambda h, r, t: t, data)}, dataset=data).html
