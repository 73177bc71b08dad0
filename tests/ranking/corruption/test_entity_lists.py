"""Lists of entities: ranks are those of sets, answers off the list are ranked and counted, unknown labels are told."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import CallableScorer, evaluate, generate_negatives
from kgeval.base.errors import DatasetError, InputError, counted
from kgeval.ranking.corruption import EntityList
from tests.conftest import random_dataset
from tests.ranking.corruption.by_sets import counts_among, counts_of, hashed

DATA = random_dataset(5)

SCORER = CallableScorer(hashed, 30, 4)


def of_labels(path, labels):
    path.write_text("".join(f"{label}\n" for label in labels))
    return EntityList(path=str(path))


@pytest.mark.parametrize("seed", range(4))
def test_ranks_are_those_of_sets(tmp_path, seed):
    listed = np.random.default_rng(seed).choice(30, 1 + 5 * seed, replace=False).tolist()
    generator = of_labels(tmp_path / "list.txt", [DATA.entities[entity] for entity in listed])
    table = evaluate(SCORER, DATA, corruption=generator)
    assert counts_of(table) == counts_among(DATA, lambda side, triple: set(listed))
    assert table.provenance.candidates == f"{len(listed)} entities of file list.txt"
    for column, side in ((0, "head"), (2, "tail")):
        others = sum(answer not in listed for answer in DATA.test.ids[:, column].tolist())
        note = f"{counted(others, f'{side} answer')} not in {tmp_path / 'list.txt'}; ranked nevertheless."
        assert note in table.notes


def test_labels_that_the_dataset_lacks_are_left_out_and_counted(tmp_path):
    everything = of_labels(tmp_path / "list.txt", [*DATA.entities, "unicorn", "e0000", "unicorn", "phoenix"])
    table = evaluate(SCORER, DATA, corruption=everything)
    told = [note for note in table.notes if "list.txt" in note]
    assert told == [f"2 labels in {tmp_path / 'list.txt'} not in the dataset: left out ('unicorn', 'phoenix')."]
    assert counts_of(table) == counts_of(evaluate(SCORER, DATA))


def test_negatives_of_a_list_are_exported(tmp_path):
    tables = generate_negatives(DATA, of_labels(tmp_path / "list.txt", ["e0003", "e0009"]), sides="tail")
    found = {tuple(row.values()) for table in tables for row in table.to_pylist()}
    known = {tuple(row) for part in DATA.splits.values() for row in part.ids.tolist()}
    corrupted = {(h, r, tail) for h, r, _ in DATA.test.ids.tolist() for tail in (3, 9)} - known
    assert found == {(f"e{h:04}", f"r{r:02}", f"e{t:04}", "tail") for h, r, t in corrupted}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "nothing in it"),
        ("e000\nx\n", "none of the 2 labels in it. The first is an unknown entity 'e000'. Did"),
    ],
)
def test_a_list_that_cannot_be_used_is_told(tmp_path, content, message):
    path = tmp_path / "list.txt"
    path.write_text(content)
    with pytest.raises(DatasetError, match=message):
        evaluate(SCORER, DATA, corruption=EntityList(path=str(path)))


def test_relations_do_not_compete_with_entities(tmp_path):
    with pytest.raises(InputError, match="the corruption 'entities' chooses entities"):
        evaluate(SCORER, DATA, corruption=of_labels(tmp_path / "list.txt", ["e0003"]), sides="relation")
