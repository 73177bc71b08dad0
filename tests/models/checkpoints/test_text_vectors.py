"""Vectors as text: KB2E's tables, and word2vec's one table of entities and relations."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import evaluate, load_checkpoint, load_dataset
from kgeval.base.errors import CheckpointError, UsageError
from tests.models.checkpoints.layouts import (
    ENTITIES,
    RELATIONS,
    E,
    R,
    kb2e,
    l1,
    l2,
    product,
    small_graph,
    word2vec_text,
)

ROWS = [(h, r, (2 * h + r) % 7) for h in range(7) for r in range(3)]


@pytest.fixture
def graph():
    return small_graph("other", backwards=True)


def brute_force(formula, e=E, r=R):
    """Count, for each test triple and side, the unknown candidates of a higher score than the answer's."""
    known, found = set(ROWS), {}
    for row in ROWS[15:]:
        others = {"tail": [(*row[:2], i) for i in range(7)], "head": [(i, *row[1:]) for i in range(7)]}
        scores = {
            triple: formula(e[triple[0]], r[triple[1]], e[triple[2]]) for side in others.values() for triple in side
        }
        for side, triples in others.items():
            labels = ENTITIES[row[0]], RELATIONS[row[1]], ENTITIES[row[2]], side
            found[labels] = sum(scores[triple] > scores[row] for triple in triples if triple not in known)
    return found


def greater(model, data):
    frame = evaluate(model, data).to_pandas()
    keys = zip(frame.head_label, frame.relation_label, frame.tail_label, frame.side, strict=True)
    return dict(zip(keys, frame.greater, strict=True))


# KB2E


@pytest.mark.parametrize(
    ("ending", "first", "between"),
    [(".bern", "", "\t"), (".unif", "count", "\t"), (".vec", "", "   "), ("_mine.vec", "count", "   ")],
)
def test_two_tables_are_a_transe(tmp_path, graph, ending, first, between):
    kb2e(tmp_path, ending, first=first, between=between)
    for path in (tmp_path, tmp_path / f"relation2vec{ending}"):
        for flag, formula in ((True, l1), (False, l2)):
            checkpoint = load_checkpoint(path, dataset=graph, L1_flag=flag)
            assert greater(checkpoint, graph) == brute_force(formula, E.round(6), R.round(6))
    assert checkpoint.origins == {
        "model": f"entity2vec{ending}",
        "L1_flag": "option",
        "norm": "L1_flag (option)",
    }


def test_the_distance_is_asked_for(tmp_path):
    kb2e(tmp_path)
    with pytest.raises(UsageError, match=r"does not contain L1_flag, .* Give the option L1_flag=true or L1_flag=false"):
        load_checkpoint(tmp_path)


def test_matrices_of_another_model_are_refused(tmp_path):
    kb2e(tmp_path)
    (tmp_path / "A.bern").write_text("1\t0\n", encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"A\.bern: it holds the matrices of a TransH, TransR or TransD"):
        load_checkpoint(tmp_path, L1_flag=True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1\t2\t\n3\t\n", r"line 2: 1 numbers, where 2 are expected"),
        ("1\t2\n3\tx\n", r"is not a number .*'x'"),
        ("", "holds no vectors"),
        ("1\t2\n3\tinf\n", "holds inf at row 1"),
    ],
)
def test_damaged_rows_are_named(tmp_path, content, message):
    kb2e(tmp_path)
    (tmp_path / "entity2vec.bern").write_text(content, encoding="utf-8")
    (tmp_path / "relation2vec.bern").write_text("1\t2\n", encoding="utf-8")
    (tmp_path / "entity2id.txt").unlink()
    (tmp_path / "relation2id.txt").unlink()
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(tmp_path, L1_flag=True)


# word2vec


@pytest.mark.parametrize(("name", "end"), [("model.txt", ""), ("vectors.vec", " "), ("m.kv", "")])
def test_one_table_serves_entities_and_relations(tmp_path, graph, name, end):
    word2vec_text(tmp_path, name, end=end)
    for norm, formula in ((1, l1), (2, l2)):
        checkpoint = load_checkpoint(tmp_path, dataset=graph, model="TransE", norm=norm)
        assert greater(checkpoint, graph) == brute_force(formula)


def test_the_score_is_the_users_choice(tmp_path, graph):
    word2vec_text(tmp_path)
    path = tmp_path / "vectors.txt"

    def cosine(h, r, t):
        return (h + r) @ t / np.linalg.norm(h + r) / np.linalg.norm(t)

    options = {"model": "BigGraph", "operator": "translation", "comparator": "cos", "operand": "head", "bias": False}
    assert greater(load_checkpoint(path, **options), graph) == brute_force(cosine)
    assert greater(load_checkpoint(path, model="DistMult"), graph) == brute_force(product)
    with pytest.raises(UsageError, match="Give the option model=MODEL"):
        load_checkpoint(path)
    with pytest.raises(UsageError, match=r"needs the option 'norm' \(norm=1 or norm=2\)"):
        load_checkpoint(path, model="TransE")


def test_uris_are_labels(tmp_path):
    word2vec_text(tmp_path, "m.txt", prefix="http://example.org/")
    for split, part in (("train", ROWS[:15]), ("test", ROWS[15:])):
        base = "<http://example.org/{}>"
        lines = (
            " ".join([*(base.format(it) for it in (ENTITIES[h], RELATIONS[r], ENTITIES[t])), ".\n"]) for h, r, t in part
        )
        (tmp_path / f"{split}.nt").write_text("# a comment\n" + "".join(lines), encoding="utf-8")
    data = load_dataset(tmp_path)
    found = greater(load_checkpoint(tmp_path / "m.txt", model="TransE", norm=1), data)
    base = "http://example.org/"
    assert found == {(base + h, base + r, base + t, side): count for (h, r, t, side), count in brute_force(l1).items()}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("3 2\na 1 2\nb 3 4\n", "line 1 announces 3 rows, but 2 follow"),
        ("2 2\na 1 2\nb 3\n", r"line 3: 1 numbers, where 2 are expected"),
        ("2 2\na 1 2\na 3 4\n", "'a'"),
        ("2 2\na 1 2\nb 3 x\n", "is not a number"),
    ],
)
def test_a_damaged_table_is_refused(tmp_path, content, message):
    (tmp_path / "m.txt").write_text(content, encoding="utf-8")
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(tmp_path / "m.txt", model="DistMult")


def test_a_text_that_is_no_table_is_not_taken_for_one(tmp_path):
    (tmp_path / "m.txt").write_text("3 4\n1 2\n", encoding="utf-8")
    with pytest.raises(UsageError, match="is in no known checkpoint format"):
        load_checkpoint(tmp_path / "m.txt")
