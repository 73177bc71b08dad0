"""Vectors as text: KB2E's tables, and word2vec's one table of entities and relations."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import Dataset, Triples, Vocabulary, evaluate, load_checkpoint, load_dataset
from kgeval.errors import CheckpointError, UsageError
from tests.checkpoints.layouts import ENTITIES, RELATIONS, labelled, table

E, R = table(7, 4).astype(float).round(6), table(3, 4, 1).astype(float).round(6)

ROWS = [(h, r, (2 * h + r) % 7) for h in range(7) for r in range(3)]


@pytest.fixture
def graph():
    """A graph that numbers its labels in another order."""
    rows = [(6 - h, 2 - r, 6 - t) for h, r, t in ROWS]
    splits = {"train": Triples.of(rows[:15]), "test": Triples.of(rows[15:])}
    relations = Vocabulary(RELATIONS[::-1], "relation")
    return Dataset.build("other", splits, entities=Vocabulary(ENTITIES[::-1]), relations=relations)


def brute_force(distance):
    """Count, for each test triple and side, the unknown candidates that are nearer than the answer."""
    known, found = set(ROWS), {}
    for h, r, t in ROWS[15:]:
        tails = [e for e in range(7) if (h, r, e) not in known and distance(h, r, e) < distance(h, r, t)]
        heads = [e for e in range(7) if (e, r, t) not in known and distance(e, r, t) < distance(h, r, t)]
        triple = ENTITIES[h], RELATIONS[r], ENTITIES[t]
        found |= {(*triple, "tail"): len(tails), (*triple, "head"): len(heads)}
    return found


def greater(model, data):
    frame = evaluate(model, data).to_pandas()
    keys = zip(frame.head_label, frame.relation_label, frame.tail_label, frame.side, strict=True)
    return dict(zip(keys, frame.greater, strict=True))


def l1(h, r, t):
    return abs(E[h] + R[r] - E[t]).sum()


def l2(h, r, t):
    return np.linalg.norm(E[h] + R[r] - E[t])


# KB2E


def kb2e(folder, ending=".bern", *, first="", between="\t"):
    for name, rows in (("entity2vec", E), ("relation2vec", R)):
        lines = ("".join(f"{value:.6f}\t" for value in row) + "\n" for row in rows)
        (folder / f"{name}{ending}").write_text("".join(lines), encoding="utf-8")
    labelled(folder, "entity2id.txt", "relation2id.txt", "{label}" + between + "{id}", first=first)


@pytest.mark.parametrize(
    ("ending", "first", "between"),
    [(".bern", "", "\t"), (".unif", "count", "\t"), (".vec", "", "   "), ("_mine.vec", "count", "   ")],
)
def test_two_tables_are_a_transe(tmp_path, graph, ending, first, between):
    kb2e(tmp_path, ending, first=first, between=between)
    for path in (tmp_path, tmp_path / f"relation2vec{ending}"):
        for flag, distance in ((True, l1), (False, l2)):
            checkpoint = load_checkpoint(path, dataset=graph, L1_flag=flag)
            assert greater(checkpoint, graph) == brute_force(distance)
    assert checkpoint.origins == {
        "model": f"entity2vec{ending}",
        "L1_flag": "option",
        "norm": "L1_flag (option)",
    }


def test_the_distance_is_asked_for(tmp_path):
    kb2e(tmp_path)
    with pytest.raises(UsageError, match=r"does not say L1_flag, .* give the option L1_flag=true or L1_flag=false"):
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
        ("1\t2\n3\tx\n", r"holds what is no number .*'x'"),
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


def test_ids_without_labels_are_not_taken_in_silence(tmp_path, graph):
    kb2e(tmp_path)
    for name in ("entity2id.txt", "relation2id.txt"):
        (tmp_path / name).unlink()
    checkpoint = load_checkpoint(tmp_path, dataset=graph, L1_flag=True)
    assert any("its ids were taken as those of dataset other" in note for note in evaluate(checkpoint, graph).notes)


# word2vec


def word2vec(path, *, end="", prefix="http://example.org/", count=10):
    names = [*RELATIONS, *ENTITIES]
    rows = (
        f"{prefix}{name} {' '.join(map(repr, map(float, row)))}{end}\n"
        for name, row in zip(names, [*R, *E], strict=True)
    )
    path.write_text(f"{count} 4\n" + "".join(rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(("name", "end"), [("model.txt", ""), ("vectors.vec", " "), ("m.kv", "")])
def test_one_table_serves_entities_and_relations(tmp_path, graph, name, end):
    word2vec(tmp_path / name, end=end, prefix="")
    for norm, distance in ((1, l1), (2, l2)):
        checkpoint = load_checkpoint(tmp_path, dataset=graph, model="TransE", norm=norm)
        assert greater(checkpoint, graph) == brute_force(distance)


def test_the_score_is_the_users_choice(tmp_path, graph):
    path = word2vec(tmp_path / "m.txt", prefix="")

    def cosine(h, r, t):
        moved = E[h] + R[r]
        return -(moved @ E[t]) / np.linalg.norm(moved) / np.linalg.norm(E[t])

    options = {"model": "BigGraph", "operator": "translation", "comparator": "cos", "operand": "head", "bias": False}
    assert greater(load_checkpoint(path, **options), graph) == brute_force(cosine)
    products = brute_force(lambda h, r, t: -(E[h] * R[r] * E[t]).sum())
    assert greater(load_checkpoint(path, model="DistMult"), graph) == products
    with pytest.raises(UsageError, match="give the option model, one of"):
        load_checkpoint(path)
    with pytest.raises(UsageError, match=r"needs the option 'norm' \(norm=1 or norm=2\)"):
        load_checkpoint(path, model="TransE")


def test_uris_are_labels(tmp_path):
    word2vec(tmp_path / "m.txt")
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
        ("3 2\na 1 2\nb 3 4\n", "line 1 announces 3 rows, 2 follow"),
        ("2 2\na 1 2\nb 3\n", r"line 3: 1 numbers, where 2 are expected"),
        ("2 2\na 1 2\na 3 4\n", "'a'"),
        ("2 2\na 1 2\nb 3 x\n", "holds what is no number"),
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
