"""TLogic's candidates: the ranks of its own ``evaluate.py``, told here in plain loops, and files that are refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kgeval import evaluate, load_checkpoint, load_dataset
from kgeval.base.errors import KgevalError
from tests.conftest import unwrapped

ENTITIES = [f"Entity_{letter}" for letter in "CABFED"]
RELATIONS = ["Consult", "Make_a_visit"]
DAYS = ["2014-01-01", "2014-01-02", "2014-01-03"]


def facts_of(rng: np.random.Generator, days: list[int], count: int) -> list[tuple[int, ...]]:
    sizes = (len(ENTITIES), len(RELATIONS), len(ENTITIES))
    drawn = {(*(int(rng.integers(size)) for size in sizes), int(rng.choice(days))) for _ in range(count)}
    return sorted(drawn, key=lambda fact: fact[3])


@pytest.fixture
def folder(tmp_path):
    """TLogic's folder of data, and the candidates of every query of test, with ties and empty lists."""
    rng = np.random.default_rng(3)
    splits = {"train": facts_of(rng, [0], 30), "valid": facts_of(rng, [1], 12), "test": facts_of(rng, [1, 2], 30)}
    for split, facts in splits.items():
        lines = ("\t".join((ENTITIES[h], RELATIONS[r], ENTITIES[t], DAYS[day])) for h, r, t, day in facts)
        (tmp_path / f"{split}.txt").write_text("\n".join(lines) + "\n")
    for name, labels in (("entity", ENTITIES), ("relation", RELATIONS), ("ts", DAYS)):
        (tmp_path / f"{name}2id.json").write_text(json.dumps({label: row for row, label in enumerate(labels)}))
    queries = with_inverses(splits["test"])
    candidates = {number: candidates_of(rng, number) for number in range(len(queries))}
    (tmp_path / "rules_cands_r[1,2,3]_w0_score_12[0.1,0.5].json").write_text(json.dumps(candidates))
    return tmp_path, queries, candidates


def with_inverses(facts):
    """``Grapher.add_inverses``: all facts, then all of them turned around."""
    return [*facts, *((t, r + len(RELATIONS), h, day) for h, r, t, day in facts)]


def candidates_of(rng: np.random.Generator, number: int) -> dict[int, float]:
    """Some entities by falling scores."""
    listed = rng.permutation(len(ENTITIES))[: rng.integers(1, len(ENTITIES) + 1)] if number else []
    return dict(
        zip(map(int, listed), sorted((float(rng.integers(1, 4)) / 4 for _ in listed), reverse=True), strict=True)
    )


def rank_of(query, candidates, queries):
    """``filter_candidates`` and ``calculate_rank`` with the setting ``best``; nothing for an answer not listed."""
    others = [tail for *rest, tail, day in queries if (*rest, day) == (*query[:2], query[3]) and tail != query[2]]
    left = {entity: score for entity, score in candidates.items() if entity not in others}
    if query[2] not in left:
        return None
    return [*left.values()].index(left[query[2]]) + 1


def test_ranks_are_those_of_its_evaluation(folder):
    place, queries, candidates = folder
    data = load_dataset(place)
    (file,) = place.glob("*_cands_*")
    model = load_checkpoint(file, dataset=data)
    assert model.format == "tlogic"
    table = evaluate(model, data, protocol="regcn")
    of_row = {}
    columns = ("head_label", "relation_label", "tail_label", "time", "side", "greater", "tied")
    for head, relation, tail, time, side, *counts in zip(
        *(table.column(name).tolist() for name in columns), strict=True
    ):
        ids = ENTITIES.index(head), RELATIONS.index(relation), ENTITIES.index(tail), DAYS.index(time)
        turned = (ids[2], ids[1] + len(RELATIONS), ids[0], ids[3])
        of_row[ids if side == "tail" else turned] = counts
    assert len(of_row) == len(queries)
    expected = {query: rank_of(query, candidates[number], queries) for number, query in enumerate(queries)}
    assert {query: counts[0] + 1 for query, counts in of_row.items() if expected[query]} == {
        query: rank for query, rank in expected.items() if rank
    }
    unlisted = [query for query, rank in expected.items() if rank is None]
    assert unlisted
    assert of_row[queries[0]][0] == 0  # an empty list: all tie


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda content: content.pop("3"), "expected queries 0 to"),
        (lambda content: content.update({"9999": {}}), "expected queries 0 to"),
        (
            lambda content: content["3"].update({"77": 0.5}),
            "query 3: expected an object of scores by ids of entities",
        ),
        (lambda content: content.update({"3": [1, 2]}), "query 3: expected an object of scores"),
        (lambda content: content["3"].update({"1": "high"}), "query 3: expected labels, in quotes, or pairs of label"),
    ],
)
def test_a_wrong_file_is_refused(folder, change, words):
    place, *_ = folder
    (file,) = place.glob("*_cands_*")
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))
    with pytest.raises(KgevalError) as refusal:
        load_checkpoint(file, dataset=load_dataset(place))
    assert words in unwrapped(refusal.value)


def test_ids_need_their_labels_and_other_splits_are_named(folder):
    place, *_ = folder
    data = load_dataset(place)
    (file,) = place.glob("*_cands_*")
    with pytest.raises(KgevalError, match=r"for the tails and the heads of the .* valid facts"):
        load_checkpoint(file, dataset=data, split="valid")
    elsewhere = place / "out"
    elsewhere.mkdir()
    moved = file.rename(elsewhere / file.name)
    with pytest.raises(KgevalError, match=r"its entities are ids. Name the folder of entity2id.json"):
        load_checkpoint(moved, dataset=data)
    assert load_checkpoint(moved, dataset=data, labels=str(place)).format == "tlogic"


def test_repeated_facts_are_named_as_the_cause(folder):
    place, *_ = folder
    (file,), facts = place.glob("*_cands_*"), place / "test.txt"
    facts.write_text(facts.read_text() + facts.read_text().splitlines()[0] + "\n")
    content = json.loads(file.read_text())
    file.write_text(json.dumps({str(number): {} for number in range(len(content) + 2)} | content))
    with pytest.raises(KgevalError, match="Some test facts are repeated, and TLogic counts each time"):
        load_checkpoint(file, dataset=load_dataset(place))
