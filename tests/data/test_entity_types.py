"""Types of entities: those of the rows of a file, or of the prefixes of labels; what is unknown or malformed."""

from __future__ import annotations

import re

import numpy as np
import pytest

from kgeval import Dataset
from kgeval.base.errors import DatasetError
from kgeval.data.entity_types import read_types_of_entities
from kgeval.data.labelled_triples import read_listed

LABELS = ["Gene::1", "Gene::2", "Drug::7", "a::b::c", "plain", "::odd", "Zoë x::\u2026"]


def labelled(labels=LABELS):
    return Dataset.from_labels(train=[(label, "is", labels[0]) for label in labels], entities=labels)


def types_by_label(types, dataset):
    return {
        label: [types.names[number] for number in types.rows.row(row)] for row, label in enumerate(dataset.entities)
    }


def test_the_prefix_of_a_label_is_its_type():
    found = read_types_of_entities("prefix", labelled())
    assert found.names == ("Drug", "Gene", "Zoë x", "a")
    expected = [["Gene"], ["Gene"], ["Drug"], ["a"], [], [], ["Zoë x"]]
    assert list(types_by_label(found, labelled()).values()) == expected
    assert (found.num_untyped, found.num_unknown) == (2, 0)


@pytest.mark.parametrize("seed", range(5))
def test_rows_of_a_file_are_the_types_of_its_entities(tmp_path, seed):
    rng = np.random.default_rng(seed)
    data = labelled([f"e {number}" for number in range(40)])
    pairs = [(f"e {entity}", f"t{kind}") for entity, kind in rng.integers(0, (50, 6), (60, 2)).tolist()]
    path = tmp_path / "types.tsv"
    path.write_text("".join(f"{entity}\t{kind}\n" for entity, kind in pairs))
    found = read_types_of_entities(str(path), data)
    assert types_by_label(found, data) == {
        label: sorted({kind for entity, kind in pairs if entity == label}) for label in data.entities
    }
    assert found.num_unknown == len({entity for entity, _ in pairs} - set(data.entities))
    assert found.num_untyped == len(set(data.entities) - {entity for entity, _ in pairs})


def test_a_list_of_entities_is_sorted_and_distinct(tmp_path):
    path = tmp_path / "drugs.txt"
    path.write_text("plain\nDrug::7\n\nunknown\nplain\nunknown\nZoë x::\u2026\n", encoding="utf-8")
    ids, unknown = read_listed(path, labelled().entities)
    assert (ids.tolist(), unknown) == ([2, 4, 6], ["'unknown'"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "types.tsv: no types in it"),
        ("plain\tx\nDrug::7\n", "types.tsv, line 2: 1 column where 2 columns (entity, type) are expected"),
        ("plain\tx\n\nDrug::7\t\n", "types.tsv, line 3: the entity 'Drug::7' has no type"),
        ("plane\tx\n", "types.tsv: the dataset has none of the 1 labels in it. The first is an unknown entity 'plane'"),
        ("plane\tx\n", "Did you mean 'plain'?"),
    ],
)
def test_a_file_of_types_that_cannot_be_used_is_told(tmp_path, content, message):
    path = tmp_path / "types.tsv"
    path.write_text(content)
    with pytest.raises(DatasetError, match=re.escape(message)):
        read_types_of_entities(path, labelled())


def test_lists_and_prefixes_that_are_not_there_are_told(tmp_path):
    with pytest.raises(DatasetError, match="no entity of dataset labels has a type before '::'"):
        read_types_of_entities("prefix", labelled(["a", "b"]))
    with pytest.raises(DatasetError, match="no such file"):
        read_types_of_entities(tmp_path / "none.tsv", labelled())
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(DatasetError, match="nothing in it"):
        read_listed(tmp_path / "empty.txt", labelled().entities)
