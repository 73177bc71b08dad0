"""Typed candidates from types of entities and from JSON: those of sets, and what is unknown, of a side or malformed."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from kgeval import CallableScorer, Dataset, evaluate
from kgeval.base.errors import DatasetError, InputError, counted
from kgeval.ranking.corruption import TypeConstrained
from tests.conftest import random_dataset
from tests.ranking.corruption.by_sets import counts_among, counts_of, hashed

DATA = random_dataset(5)

SCORER = CallableScorer(hashed, 30, 4)


def among(generator, data=DATA, **settings):
    return evaluate(
        CallableScorer(hashed, len(data.entities), len(data.relations)), data, corruption=generator, **settings
    )


def typed_by_sets(data, types, splits):
    """The entities that share a type (``types``: a set per entity) with what the relation has on the side."""
    rows = [row for split in splits for row in data.split(split).ids.tolist()]

    def competing(side, triple):
        place = {"head": 0, "tail": 2}[side]
        taken = {kind for row in rows if row[1] == triple[1] for kind in types[row[place]]}
        return {entity for entity, kinds in enumerate(types) if kinds & taken}

    return competing


@pytest.mark.parametrize("splits", [("train",), ("valid",), ("train", "valid", "test")], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_entities_of_the_types_in_a_file_compete(tmp_path, seed, splits):
    rng, path = np.random.default_rng(seed), tmp_path / "types.tsv"
    types = [{f"t{kind}" for kind in rng.integers(0, 9, rng.integers(0, 3))} for _ in range(30)]
    rows = [(DATA.entities[entity], kind) for entity, kinds in enumerate(types) for kind in sorted(kinds)]
    path.write_text("".join(f"{entity}\t{kind}\n" for entity, kind in [*rows, ("nobody", "t0")]))
    table = among(TypeConstrained(types=str(path), splits=splits))
    competing = typed_by_sets(DATA, types, splits)
    assert counts_of(table) == counts_among(DATA, competing)
    untyped = sum(not kinds for kinds in types)
    assert f"{counted(untyped, 'entity', 'entities')} without a type in {path}: not used as candidates." in table.notes
    assert f"1 entity in {path} not in the dataset: left out." in table.notes
    others = sum(row[2] not in competing("tail", row) for row in DATA.test.ids.tolist())
    told = f"{counted(others, 'tail answer')} not of the type of its relation; ranked nevertheless."
    assert (told in table.notes) == bool(others)


def test_prefixes_of_labels_are_types():
    """By hand: binds takes Gene, then Gene and Drug; treats takes Drug, then Disease; Side::1 fits neither."""
    rows = {
        "train": [
            ("Gene::1", "binds", "Gene::2"),
            ("Gene::2", "binds", "Drug::1"),
            ("Drug::1", "treats", "Disease::1"),
        ],
        "test": [
            ("Gene::1", "binds", "Drug::2"),
            ("Drug::2", "treats", "Side::1"),
            ("Gene::2", "treats", "Disease::2"),
        ],
    }
    data = Dataset.from_labels(
        **rows, entities=[*(f"{k}::{n}" for k in ("Disease", "Drug", "Gene") for n in (1, 2)), "Side::1"]
    )
    table = among(TypeConstrained(types="prefix"), data)
    raw = {key: counts[5] for key, counts in counts_of(table).items()}
    assert raw == {(0, "head"): 2, (0, "tail"): 4, (1, "head"): 2, (1, "tail"): 3, (2, "head"): 3, (2, "tail"): 2}
    assert "1 head answer not of the type of its relation; ranked nevertheless." in table.notes
    assert "1 tail answer not of the type of its relation; ranked nevertheless." in table.notes
    assert table.provenance.candidates == "2 to 4 of 7 entities, by type in train and the prefixes of labels"


def written(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return TypeConstrained(path=str(path))


@pytest.mark.parametrize("seed", range(3))
def test_tails_compete_as_json_lists_them(tmp_path, seed):
    rng = np.random.default_rng(seed)
    lists = {f"r{relation:02}": [f"e{e:04}" for e in rng.integers(0, 35, 20)] for relation in (0, 1, 2, 7)}
    generator = written(tmp_path / "rel2candidates.json", lists)
    table = among(generator, sides="tail")
    ids = [{int(label[1:]) for label in lists.get(f"r{relation:02}", [])} & set(range(30)) for relation in range(4)]
    assert counts_of(table) == counts_among(DATA, lambda side, triple: ids[triple[1]], ("tail",))
    unknown = len({label for listed in lists.values() for label in listed} - set(DATA.entities))
    path = tmp_path / "rel2candidates.json"
    for note in (
        f"{counted(unknown, 'entity', 'entities')} in {path} not in",
        f"1 relation in {path} not in",
        "1 of 1.",
    ):
        assert any(note in told for told in table.notes)
    with pytest.raises(DatasetError, match=r"candidates of tails only, none of heads. Rank tails only: --sides tail"):
        among(generator)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not a JSON file"),
        ("{", "not a JSON file"),
        ("[" * 100_000, "not a JSON file"),
        ("[]", "a list. Expected {relation: [entity, …]}"),
        ("{}", "nothing in it. Expected"),
        ({"r00": "e0001"}, "relation 'r00' has 'e0001' in it"),
        ({"r00": ["e0001", 5]}, "relation 'r00' has 5 in it"),
        (
            {"r_00": ["e0001"]},
            "none of the 1 labels in it. The first is an unknown relation 'r_00'. Did you mean 'r00'",
        ),
        ({"r00": ["e01"]}, "none of the 1 labels in it. The first is an unknown entity 'e01'. Did you mean"),
        ({"r00": ["\ud800"]}, "is not Unicode text"),
    ],
    ids=range(10),
)
def test_json_of_another_shape_is_told(tmp_path, content, message):
    generator = written(tmp_path / "rel2candidates.json", content)
    with pytest.raises(InputError, match=re.escape(message)):
        among(generator, sides="tail")


def test_a_missing_file_and_two_sources_are_told(tmp_path):
    with pytest.raises(DatasetError, match="no such file"):
        among(TypeConstrained(path=str(tmp_path / "none.json")), sides="tail")
    with pytest.raises(DatasetError, match="no such file"):
        among(TypeConstrained(types=str(tmp_path / "none.tsv")))
    with pytest.raises(DatasetError, match=r"no entity of dataset .* has a type before '::'"):
        among(TypeConstrained(types="prefix"))
    with pytest.raises(InputError, match=r"give either path .* or types"):
        TypeConstrained(path="a.json", types="prefix")
