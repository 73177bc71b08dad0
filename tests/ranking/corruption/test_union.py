"""Unions of corruptions: what any part chooses, each entity once, also in memory blocks; their notes and words."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import CallableScorer, evaluate, generate_negatives
from kgeval.base.errors import InputError
from kgeval.data.known import known_answers
from kgeval.data.queries import Queries
from kgeval.ranking.corruption import (
    AllEntities,
    CandidateUnion,
    DegreeWeighted,
    EntityList,
    FileNegatives,
    TypeConstrained,
    Uniform,
)
from tests.conftest import random_dataset
from tests.ranking.corruption.by_sets import counts_among, counts_of, hashed

DATA = random_dataset(5)

SCORER = CallableScorer(hashed, 30, 4)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.txt").write_text("e0003\ne0009\ne0021\n")
    (tmp_path / "other.txt").write_text("e0003\ne0004\nunicorn\n")
    (tmp_path / "negatives.tsv").write_text(
        "head\trelation\ttail\n" + "".join(f"e{h:04}\tr{h % 4:02}\te{(h * 7) % 30:04}\n" for h in range(30))
    )


PARTS = [
    (Uniform(count=4), DegreeWeighted(count=4)),
    (Uniform(count=4), Uniform(count=6, seed=1, allow_known=True)),
    (EntityList(path="list.txt"), Uniform(count=3)),
    (EntityList(path="list.txt"), EntityList(path="other.txt")),
    (TypeConstrained(), FileNegatives(path="negatives.tsv"), DegreeWeighted(count=2)),
    (AllEntities(), Uniform(count=5)),
]


def rows_of(generator, side):
    """The candidates of each query, by anchor and relation, and how wide they may be."""
    queries = Queries.of(DATA.test, side)
    chosen = generator.choose(queries, known_answers(queries, [*DATA.splits.values()]), DATA)
    keys = zip(queries.anchors.tolist(), queries.relations.tolist(), strict=True)
    return {key: set(chosen.ids_of(row).tolist()) for row, key in enumerate(keys)}, chosen, queries


@pytest.mark.parametrize("side", ["head", "tail"])
@pytest.mark.parametrize("parts", PARTS, ids=str)
def test_a_union_holds_what_any_part_chooses(files, parts, side):
    united, chosen, queries = rows_of(CandidateUnion(of=parts), side)
    assert united == {key: set().union(*(rows_of(part, side)[0][key] for part in parts)) for key in united}
    widths = CandidateUnion(of=parts).widths(queries, DATA)
    assert (widths >= chosen.num_candidates(len(queries))).all()


@pytest.mark.parametrize("limit", [None, 4096], ids=["whole", "blocks"])
@pytest.mark.parametrize("parts", PARTS, ids=str)
def test_ranks_are_those_of_sets_in_blocks_too(files, parts, limit):
    rows = {side: rows_of(CandidateUnion(of=parts), side)[0] for side in ("head", "tail")}
    table = evaluate(SCORER, DATA, corruption=CandidateUnion(of=parts), memory_limit=limit)
    expected = counts_among(DATA, lambda side, triple: rows[side][triple[2 if side == "head" else 0], triple[1]])
    assert counts_of(table) == expected
    assert table.notes == evaluate(SCORER, DATA, corruption=CandidateUnion(of=parts)).notes


def test_a_union_says_what_its_parts_say(files):
    generator = CandidateUnion(of=(TypeConstrained(), EntityList(path="other.txt"), Uniform(count=28)))
    table = evaluate(SCORER, DATA, corruption=generator)
    assert "some tail queries with fewer than 28 possible negatives; all of these were used." in table.notes
    assert "1 label in other.txt not in the dataset: left out ('unicorn')." in table.notes
    words = (
        "the union of some of 30 entities, by type in train and 2 entities of file other.txt and 28 uniform (seed 0)"
    )
    assert table.provenance.candidates.endswith(words)
    assert [path.name for path in generator.files] == ["other.txt"]
    assert generator.learns_from == ("train",)
    assert not any("rank 1 of 1" in note for note in table.notes)


def test_negatives_of_a_union_are_exported():
    parts = (Uniform(count=4), DegreeWeighted(count=4))
    exported = [
        {tuple(row.values()) for table in generate_negatives(DATA, generator) for row in table.to_pylist()}
        for generator in (CandidateUnion(of=parts), *parts)
    ]
    assert exported[0] == exported[1] | exported[2]


@pytest.mark.parametrize(
    ("of", "message"),
    [
        ([{"kind": "all"}], "of: a union needs at least two corruptions"),
        ([{"kind": "unifrom", "count": 3}, {"kind": "all"}], r"of.0: unknown kind 'unifrom'. Did you mean 'uniform'\?"),
        ([{"kind": "uniform"}, {"kind": "all"}], "of.0.count: required, but missing"),
        ([{"kind": "union", "of": []}, {"kind": "all"}], "of.0: unknown kind 'union'"),
    ],
    ids=range(4),
)
def test_parts_are_checked(of, message):
    with pytest.raises(InputError, match=message) as caught:
        CandidateUnion(of=of)
    assert len(str(caught.value).splitlines()) == 2


def test_relations_are_no_entities():
    with pytest.raises(InputError, match="the corruption 'union' chooses entities"):
        evaluate(SCORER, DATA, corruption=CandidateUnion(of=(AllEntities(), Uniform(count=3))), sides="relation")


def test_the_same_draw_twice_adds_nothing_and_another_seed_does():
    twice = rows_of(CandidateUnion(of=(Uniform(count=6), Uniform(count=6))), "tail")[0]
    assert twice == rows_of(Uniform(count=6), "tail")[0]
    assert np.mean([len(row) for row in rows_of(CandidateUnion(of=PARTS[1]), "tail")[0].values()]) > 6
