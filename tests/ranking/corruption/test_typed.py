"""Typed candidates: those of the definition, of OpenKE's own file, and what happens to answers of another type."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import CallableScorer, Dataset, Triples, Vocabulary, evaluate, load_dataset
from kgeval.base.errors import DatasetError, InputError
from kgeval.data.known import known_answers
from kgeval.data.queries import Queries
from kgeval.ranking.corruption import TypeConstrained
from tests.conftest import random_dataset

DATA = random_dataset(5)


def hashed(h, r, t):
    return (h * 7 + r * 3 + t * 5) % 11


def chosen(generator, side, data=DATA, most=None):
    """The candidates of each query, or of so many of each relation, by anchor and relation; and the notes of all."""
    queries = Queries.of(data.test, side)
    found = generator.candidates(queries, known_answers(queries, []), data)
    kept = [row for relation in set(queries.relations) for row in np.flatnonzero(queries.relations == relation)[:most]]
    notes = generator.notes(queries, data)
    keys = [(int(queries.anchors[row]), int(queries.relations[row])) for row in kept]
    return {key: found.rows.row(row).tolist() for key, row in zip(keys, kept, strict=True)}, notes


@pytest.mark.parametrize("splits", [("train",), ("train", "valid", "test"), "valid"], ids=str)
@pytest.mark.parametrize("side", ["head", "tail"])
def test_candidates_are_the_entities_that_the_relation_takes(side, splits):
    column = {"head": 0, "tail": 2}[side]
    triples = [row for split in np.atleast_1d(splits) for row in DATA.split(split).ids.tolist()]
    rows, _ = chosen(TypeConstrained(splits=splits), side)
    for (_, relation), row in rows.items():
        assert row == sorted({triple[column] for triple in triples if triple[1] == relation})


def test_ranks_are_those_of_plain_loops_among_the_types():
    table = evaluate(CallableScorer(hashed, 30, 4), DATA, corruption=TypeConstrained(), sides=("tail",))
    known = {tuple(row) for part in DATA.splits.values() for row in part.ids.tolist()}
    for (h, r, t), greater, raw, count in zip(
        DATA.test.ids[table.column("triple")].tolist(),
        *(table.column(name).tolist() for name in ("greater", "raw_greater", "candidates")),
        strict=True,
    ):
        competing = {tail for _, relation, tail in DATA.train.ids.tolist() if relation == r} - {t}
        unknown = {tail for tail in competing if (h, r, tail) not in known}
        assert raw == sum(hashed(h, r, tail) > hashed(h, r, t) for tail in competing)
        assert greater == sum(hashed(h, r, tail) > hashed(h, r, t) for tail in unknown)
        assert count == len(unknown) + 1


def test_answers_of_another_type_and_relations_without_types_are_told():
    names = Vocabulary(["a", "b", "c"]), Vocabulary(["likes", "knows"], "relation")
    splits = {"train": Triples.of([(0, 0, 1)]), "test": Triples.of([(0, 0, 2), (0, 1, 2), (1, 0, 1)])}
    data = Dataset.build("odd", splits, entities=names[0], relations=names[1])
    rows, notes = chosen(TypeConstrained(), "tail", data)
    assert rows == {(0, 0): [1], (0, 1): [], (1, 0): [1]}
    assert notes == (
        "2 tail answers not of the type of its relation; ranked nevertheless.",
        "1 tail query with a relation without types; each such answer ranks 1 of 1.",
    )
    assert chosen(TypeConstrained(splits=("train", "valid", "test")), "tail", data)[1] == ()


UMLS = "checkpoints/openke/_data/umls"


@pytest.mark.parametrize(
    ("graph", "place", "most"), [(None, UMLS, None), (None, "data/openke/WN18RR", 5), ("umls", UMLS, None)]
)
def test_the_file_of_openke_holds_the_types_of_all_splits(shared, graph, place, most):
    """The file is matched by label: the PyKEEN copy of UMLS numbers entities and relations in another order."""
    data = load_dataset(graph or shared / place)
    for side in ("head", "tail"):
        read, notes = chosen(TypeConstrained(path=str(shared / place / "type_constrain.txt")), side, data, most)
        counted, _ = chosen(TypeConstrained(splits=("train", "valid", "test")), side, data, most)
        assert read == counted
        assert notes == ()


FILES = {
    "entity2id.txt": "3\na\t0\nb\t1\nc\t2\n",
    "relation2id.txt": "1\nlikes\t0\n",
    "type_constrain.txt": "1\n0\t2\t2\t0\n0\t0\n",
}


@pytest.fixture
def typed(tmp_path):
    def write(**changed):
        for name, content in {**FILES, **{f"{name}.txt": text for name, text in changed.items()}}.items():
            (tmp_path / name).write_text(content)
        return TypeConstrained(path=str(tmp_path / "type_constrain.txt"))

    return write


def likes():
    names = Vocabulary(["b", "c", "a"]), Vocabulary(["likes"], "relation")
    return Dataset.build("d", {"test": Triples.of([(0, 0, 1)])}, entities=names[0], relations=names[1])


def test_heads_come_before_tails(typed):
    assert chosen(typed(), "head", likes())[0] == {(1, 0): [1, 2]}
    assert chosen(typed(), "tail", likes())[0] == {(0, 0): []}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "line 1: expected the number of relations, 1; found nothing"),
        ("2\n0\t0\n0\t0\n", "line 1: expected the number of relations, 1; found '2'"),
        (
            "1\n0\t1\tx\n",
            "line 2: expected a relation below 1, a count, then that many entity ids below 3; found '0 1 x'",
        ),
        ("1\n0\t2\t1\n0\t0\n", "line 2: expected a relation below 1, a count, then that many entity ids below 3"),
        ("1\n0\t1\t3\n0\t0\n", "line 2: expected a relation below 1, a count, then that many entity ids below 3"),
        ("1\n0\n", "line 2: expected a relation below 1, a count, then that many entity ids below 3; found '0'"),
        (
            "1\n4\t0\n",
            "line 2: expected a relation below 1, a count, then that many entity ids below 3; found '4 0'",
        ),
        ("1\n0\t0\n0\t0\n0\t0\n", "relation 0 has 3 lists; expected two, heads and tails"),
        ("1\n0\t0\n", "relation 0 has 1 list; expected two, heads and tails. The file may be cut short"),
    ],
)
def test_a_malformed_file_of_types_is_told_with_its_line(typed, content, message):
    with pytest.raises(DatasetError) as caught:
        chosen(typed(type_constrain=content), "head", likes())
    assert "type_constrain.txt" in str(caught.value)
    assert message in str(caught.value)


def test_types_have_one_source_and_need_their_labels(typed, tmp_path):
    with pytest.raises(InputError, match="not from both"):
        TypeConstrained(path="types.txt", splits=("test",))
    generator = typed()
    (tmp_path / "entity2id.txt").unlink()
    with pytest.raises(DatasetError, match=r"no such file '.*entity2id\.txt'"):
        chosen(generator, "head", likes())
