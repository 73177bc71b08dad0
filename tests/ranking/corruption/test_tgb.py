"""TGB 2.0's fixed negatives: every rank is that of py-tgb's own evaluator, for both ways in which it makes them."""

from __future__ import annotations

import json
import os
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgeval import ScoreTable, check_numbers, evaluate, framework_metrics, load_dataset
from kgeval.base.errors import DatasetError, InputError
from kgeval.ranking.corruption import AllEntities, TGBNegatives
from tests.data.tgb_graphs import SHORT, Graph, write_lists


def score(h, r, t, times):
    return (h * 31 + r * 17 + t * 7 + times * 5 + h * t) % 7


def own_ranks(graph, split, lists, sampled):
    """TGB's formula for both queries of each fact: ½(#{>} + #{≥}) + 1, and the number of negatives."""
    moments = sorted({row[0] for row in graph.rows})
    ranks = {}
    for fact in graph.splits[split]:
        h, r, t, time = fact
        for side, (key, _) in graph.keys(fact).items():
            negatives = lists[key] if sampled else {*range(len(graph.entities))} - {*lists[key]}
            found = [score(*((h, r, e) if side == "tail" else (e, r, t)), moments.index(time)) for e in negatives]
            own = score(h, r, t, moments.index(time))
            rank = 1 + (sum(one > own for one in found) + sum(one >= own for one in found)) / 2
            ranks[side, (h, r, t, time)] = (rank, len(found))
    return ranks


def found_ranks(table, data, split):
    triples, moments = data.split(split), [*map(int, data.times)]
    rows = zip(*(table.column(name) for name in ("triple", "side", "greater", "tied", "candidates")), strict=True)
    return {
        (str(side), (*triples.ids[row].tolist(), moments[triples.contexts[row]])): (1 + above + level / 2, size - 1)
        for row, side, above, level, size in rows
    }


edges = st.tuples(st.integers(-2, 9), st.integers(0, 6), st.integers(0, 6), st.integers(0, 2))


@settings(max_examples=15)
@given(st.lists(edges, min_size=12, max_size=60), st.booleans(), st.sampled_from([1, 2]), st.randoms())
def test_ranks_are_those_of_the_formula_on_random_graphs(rows, text, numpy, random):
    """Text or numbered relations, repeated edges, lists by numpy 1 or 2; the means count a repeated edge each time."""
    rows = [(t, 100 + h, 100 + o, f"P{r}" if text else r) for t, h, o, r in [*rows, *((9, 0, 1, r) for r in range(3))]]
    graph = Graph(rows)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        graph.write(folder)
        for split in {"valid", "test"} & {*graph.splits}:
            answers = graph.answers(split)
            samples = {key: random.sample(range(len(graph.entities)), 2) for key in answers}
            write_lists(folder / graph.negatives(split), answers, numpy)
            write_lists(folder / f"sampled-{split}.pkl", samples, numpy)
            data = load_dataset(folder)
            for corruption in (None, TGBNegatives(path=str(folder / f"sampled-{split}.pkl"))):
                lists = samples if corruption else answers
                truths = sum(len({*samples[key]} & there) for key, there in answers.items())
                if corruption and truths > len(samples):
                    continue  # more than half of what is listed is true: no sample of TGB
                settings = {"corruption": corruption} if corruption else {}
                table = evaluate(score, data, split=split, protocol="tgb", **settings)
                expected = own_ranks(graph, split, lists, sampled=corruption is not None)
                assert found_ranks(table, data, split) == expected
                assert table.filter == (() if corruption else (split,))
                each = [expected[side, fact][0] for fact in graph.splits[split] for side in ("head", "tail")]
                printed = framework_metrics(table)
                assert printed["mrr"] == pytest.approx(np.mean(1 / np.array(each)), abs=1e-6)
                assert printed["hits@10"] == pytest.approx(np.mean(np.array(each) <= 10), abs=1e-6)
                told = [note for note in table.notes if "among its own negatives" in note]
                assert told == ([noted(graph, split, samples)] if corruption and truths else [])


def noted(graph, split, samples):
    """Count the queries whose list has their answer, and those whose list has another answer of that time."""
    answers = graph.answers(split)
    queries = [query for fact in graph.splits[split] for query in graph.keys(fact).values()]
    itself = sum(answer in samples[key] for key, answer in queries)
    others = sum(bool(({*samples[key]} & answers[key]) - {answer}) for key, answer in queries)
    return (
        f"in {itself} of {len(queries)} queries of sampled-{split}.pkl the answer is among its own negatives and ties "
        f"with itself, in {others} another true answer of that time is. All compete, as in TGB."
    )


@pytest.mark.parametrize("strategy", ["time-filtered", "dst-time-filtered"])
@pytest.mark.parametrize("split", ["valid", "test"])
def test_all_ranks_of_py_tgb_on_its_own_files(shared, strategy, split):
    """The scores of a repeated edge differ each time, so it is ranked with its first and with its last ones."""
    folder = shared / "cases/tgb/synthetic"
    data, short = load_dataset(folder), SHORT[split]
    triples, times = data.split(split), [*map(int, data.times)]
    lines = [line.split("\t") for line in (folder / "expected_ranks.tsv").read_text().splitlines()[1:]]
    rows = [(line, scores) for line, scores in zip(lines, [*np.load(folder / "scores.npy")] * 2, strict=True)]
    mine = [([*map(int, line[2:6])], line, scores) for line, scores in rows if line[:2] == [strategy, short]]
    name = "tkgl-synthetic" + "-dst" * (strategy == "dst-time-filtered")
    corruption = TGBNegatives(path=str(folder / f"{name}_{short}_ns.pkl"))
    ranks = {}
    for order in (mine, mine[::-1]):
        first = {}
        for key, line, scores in order:
            first.setdefault(tuple(key), (line, scores))
        facts = zip(triples.ids.tolist(), triples.contexts.tolist(), strict=True)
        keys = [((times[c], h, r, t), (times[c], t, r + 8, h)) for (h, r, t), c in facts]
        tails, heads = (np.stack([first[pair[side]][1] for pair in keys]) for side in (0, 1))
        table = evaluate(
            ScoreTable(triples, tail=tails, head=heads), data, split=split, protocol="tgb", corruption=corruption
        )
        for (side, fact), (rank, negatives) in found_ranks(table, data, split).items():
            h, r, t, time = fact
            line, _ = first[(time, h, r, t) if side == "tail" else (time, t, r + 8, h)]
            assert (rank, negatives) == (float(line[7]), int(line[6]))
            ranks[tuple(line)] = rank
    truth = json.loads((folder / "expected.json").read_text())["results"][f"{strategy} {short}"]
    each = np.array([ranks[tuple(line)] for _, line, _ in mine])
    assert len(each) == truth["queries"]
    assert np.mean(1 / each) == pytest.approx(truth["mrr_float64"], abs=1e-8)
    assert np.mean(each <= 10) == pytest.approx(truth["hits@10"], abs=1e-7)
    itself, others = (truth[f"queries_whose_negatives_hold_{what}"] for what in WHAT)
    note = (
        f"in {itself} of {len(each)} queries of {name}_{short}_ns.pkl the answer is among its own negatives and ties "
        f"with itself, in {others} another true answer of that time is. All compete, as in TGB."
    )
    assert (note in table.notes) == (strategy == "dst-time-filtered")


WHAT = ("the_answer_itself", "another_true_answer_of_that_time")

GRAPH = Graph([(t, f"e{(t * 3 + k) % 5}", f"e{(t + 2 * k) % 5}", k % 2) for t in range(12) for k in range(3)])


def made(folder, lists, split="test", graph=GRAPH):
    graph.write(folder)
    write_lists(folder / graph.negatives(split), lists)
    return load_dataset(folder)


def test_the_content_decides_whatever_a_file_is_called(tmp_path):
    answers = GRAPH.answers("test")
    data = made(tmp_path, answers)
    assert evaluate(score, data, protocol="tgb").provenance.candidates == (
        "all 5 entities by TGB's file tkgl-made_test_ns.pkl"
    )
    samples = {key: [entity for entity in range(5) if entity not in there][:2] for key, there in answers.items()}
    table = evaluate(score, made(tmp_path, samples), protocol="tgb")
    assert table.provenance.candidates == "2 by TGB's file tkgl-made_test_ns.pkl"
    assert (table.filter, (table.column("candidates") == 3).all()) == ((), True)
    assert "(tgb)" in str(check_numbers({"tgb": table}, {"mrr": round(float(framework_metrics(table)["mrr"]), 5)}))


def test_what_is_given_goes_first(tmp_path):
    """A filter takes true answers from the lists; all entities with the protocol's filter are time-filtered."""
    answers = GRAPH.answers("test")
    data = made(tmp_path, {key: [*range(5)] for key in answers})
    filtered = evaluate(score, data, protocol="tgb", filter="test")
    others = [len(answers[key]) - 1 for fact in GRAPH.splits["test"] for key, _ in GRAPH.keys(fact).values()]
    assert sorted(filtered.column("candidates")) == sorted(6 - count for count in others)
    among_all = evaluate(score, data, protocol="tgb", corruption=AllEntities())
    by_file = evaluate(score, made(tmp_path, answers), protocol="tgb")
    assert among_all.data.equals(by_file.data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda lists: {(*key[:2], 9): ids for key, ids in lists.items()},
            "the relation 9 is not of dataset tkgl-made",
        ),
        (lambda lists: {(77, *key[1:]): ids for key, ids in lists.items()}, "the time 77 is not of dataset"),
        (lambda lists: {(key[0], 5, key[2]): ids for key, ids in lists.items()}, "the source 5 is not of dataset"),
        (lambda lists: {key: [-1] for key in lists}, "the listed id -1 is not of dataset"),
        (lambda lists: dict([*lists.items()][1:]), "queries are not those of a split of dataset tkgl-made"),
        (lambda lists: {key: [*ids, *ids] for key, ids in lists.items()}, "it lists an entity twice for one query"),
        (lambda lists: {**lists, next(iter(lists)): [0, 1, 2, 3]}, "neither the true answers of each query at"),
        (lambda lists: {}, "expected a dictionary of TGB 2.0"),
        (lambda lists: {key[:2]: ids for key, ids in lists.items()}, "expected a dictionary of TGB 2.0"),
    ],
)
def test_what_is_wrong_with_a_file_is_told(tmp_path, change, message):
    data = made(tmp_path, change(GRAPH.answers("test")))
    with pytest.raises(DatasetError) as caught:
        evaluate(score, data, protocol="tgb")
    assert message in str(caught.value)
    assert str(tmp_path / "tkgl-made_test_ns.pkl") in str(caught.value)


@pytest.mark.parametrize(
    "content", [[1, 2], [("a", [1])], {(0, 0, 0): ["a"]}, {(0.5, 0, 0): np.array([1])}, {"a": None}, 3]
)
def test_what_is_no_dictionary_of_lists_is_refused(tmp_path, content):
    data = made(tmp_path, {})
    (tmp_path / "tkgl-made_test_ns.pkl").write_bytes(pickle.dumps(content))
    with pytest.raises(DatasetError, match=r"expected a dictionary of TGB 2\.0"):
        evaluate(score, data, protocol="tgb")


def test_nothing_in_a_file_is_executed(tmp_path):
    class Harmful:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "executed"),)

    data = made(tmp_path, {})
    (tmp_path / "tkgl-made_test_ns.pkl").write_bytes(pickle.dumps({(0, 0, 0): Harmful()}))
    with pytest.raises(InputError, match="Nothing was executed"):
        evaluate(score, data, protocol="tgb")
    assert not (tmp_path / "executed").exists()


def test_other_splits_and_datasets_are_refused_with_the_way_out(tmp_path):
    data = made(tmp_path, GRAPH.answers("test"))
    corruption = TGBNegatives(path=str(tmp_path / "tkgl-made_test_ns.pkl"))
    with pytest.raises(DatasetError, match=r"file of test, and a head query to rank is not in it\. Rank test, or"):
        evaluate(score, data, protocol="tgb", split="valid", corruption=corruption)
    with pytest.raises(DatasetError, match=r"negatives of TGB's <name>_val_ns\*\.pkl, and dataset tkgl-made has no"):
        evaluate(score, data, protocol="tgb", split="valid")
    with pytest.raises(DatasetError, match=r"dataset nations was not read from an edge list of TGB\. Give the folder"):
        evaluate(lambda h, r, t: h, "nations", corruption=corruption)
    sparse = Graph([(t, h, o, r * 2) for t, h, o, r in GRAPH.rows])
    with pytest.raises(DatasetError, match="relations of dataset tkgl-made have the numbers of inverses, which are 2"):
        evaluate(score, made(tmp_path, sparse.answers("test"), graph=sparse), protocol="tgb")
