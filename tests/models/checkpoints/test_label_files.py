"""Labels as frameworks write them: quotes, commas, numbers as labels, either order of columns, one file of two."""

from __future__ import annotations

import gzip
import json
import shutil

import numpy as np
import pandas as pd
import pytest

from kgeval import load_checkpoint
from kgeval.base.errors import CheckpointError
from kgeval.data.id_files import LABEL_FILES
from tests.models.checkpoints.layouts import ENTITIES, RELATIONS, dglke_simple, dicee_keci, marius_distmult, rotate_code

ODD = ['O\'Neil "q"', '"half', 'a,"b",c', "00260881", " x", "null", "3"]
"""labels that quoting, splitting or the reading of numbers could change"""

PERMUTED = ["3", "0", "6", "1", "2", "5", "4"]


# dicee's tables


def tabled(folder, labels):
    """Write the ids of dicee's entities as dicee does, in the place of its pickle."""
    dicee_keci(folder)
    (folder / "entity_to_idx.p").unlink()
    pd.DataFrame({"entity": labels}).to_csv(folder / "entity_to_idx.csv")
    return load_checkpoint(folder)


@pytest.mark.parametrize("labels", [ODD, PERMUTED, [f"{index}.0" for index in range(7)]])
def test_the_header_of_a_dicee_table_tells_its_labels(tmp_path, labels):
    assert list(tabled(tmp_path, labels).entities) == labels


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("a,0\nb,1\n", "its first row is 'a,0'; expected ',entity' as dicee writes"),
        (",entity,x\n0,a,1\n", "its first row is ',entity,x'"),
        (",entity\nx,a\n", "line 2: the id 'x' is not a whole number"),
        (",entity\n0,a,b\n", "line 2: 3 columns"),
        ("", "its first row is ''; expected ',entity'"),
    ],
)
def test_a_table_that_is_none_of_dicees_is_refused(tmp_path, content, reason):
    tabled(tmp_path, ODD)
    (tmp_path / "entity_to_idx.csv").write_text(content, encoding="utf-8")
    with pytest.raises(CheckpointError, match=reason):
        load_checkpoint(tmp_path)


# Marius's mappings


def mapped(folder, labels):
    """Write a mapping as Marius does: numpy's text, without quotes."""
    marius_distmult(folder)
    rows = np.stack([np.array(labels), np.arange(len(labels)).astype(str)], axis=1)[::-1]
    np.savetxt(folder / "node_mapping.txt", rows, fmt="%s", delimiter=",", encoding="utf-8")
    return load_checkpoint(folder)


def test_the_id_of_a_marius_label_follows_the_last_comma(tmp_path):
    assert list(mapped(tmp_path, ODD).entities) == ODD


def test_a_marius_row_without_a_comma_is_refused(tmp_path):
    mapped(tmp_path, ODD)
    (tmp_path / "node_mapping.txt").write_text("a,0\nb 1\n", encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"node_mapping\.txt, line 2: expected a label, a comma and its id"):
        load_checkpoint(tmp_path)


# PyKEEN's tables


@pytest.fixture
def relabelled(transe_folder, tmp_path):
    """A folder of PyKEEN whose entities are renamed, written as PyKEEN does."""

    def write(labels):
        folder = shutil.copytree(transe_folder, tmp_path / "copy")
        path = folder / "training_triples/entity_to_id.tsv.gz"
        ids = pd.read_csv(path, sep="\t")
        labels = [*labels, *ids["label"].iloc[len(labels) :]]
        pd.DataFrame({"id": range(len(labels)), "label": labels}).to_csv(path, sep="\t", index=False)
        return load_checkpoint(folder), labels

    return write


@pytest.mark.parametrize("further", [[], ["a\tb", "c\nd"]], ids=["quotes", "tabs and line ends"])
def test_pykeens_labels_are_freed_of_their_quotes(relabelled, further):
    checkpoint, labels = relabelled([*ODD, *further])
    assert list(checkpoint.entities) == labels


def test_a_quote_that_is_never_closed_is_refused(transe_folder, tmp_path):
    folder = shutil.copytree(transe_folder, tmp_path / "copy")
    path = folder / "training_triples/entity_to_id.tsv.gz"
    content = gzip.decompress(path.read_bytes()).replace(b"\t", b'\t"', 2)
    path.write_bytes(gzip.compress(content))
    with pytest.raises(CheckpointError, match=r"entity_to_id\.tsv\.gz"):
        load_checkpoint(folder)


# One file of two


@pytest.mark.parametrize("kind", LABEL_FILES, ids=lambda kind: kind.entities)
@pytest.mark.parametrize("missing", ["entities", "relations"])
def test_a_file_is_used_without_the_other(tmp_path, kind, missing):
    rotate_code(tmp_path)
    for name in ("entities.dict", "relations.dict"):
        (tmp_path / name).unlink()
    there = {"entities": ENTITIES, "relations": RELATIONS}
    del there[missing]
    ((which, labels),) = there.items()
    separator = "," if kind.between == "a comma" else "\t"
    rows = [
        (str(index), label) if kind.columns[0] == "id" else (label, str(index)) for index, label in enumerate(labels)
    ]
    lines = [str(len(rows))] * kind.counted + [separator.join(row) for row in rows]
    path = tmp_path / getattr(kind, which)
    ids = json.dumps({label: index for index, label in enumerate(labels)})
    text = (ids if path.suffix == ".json" else "".join(f"{line}\n" for line in lines)).encode()
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(b"id\tlabel\n" + text) if path.suffix == ".gz" else text)
    checkpoint = load_checkpoint(tmp_path)
    found = {"entities": checkpoint.entities, "relations": checkpoint.relations}
    assert (list(found[which]), found[missing]) == (labels, None)
    assert path in checkpoint.files


def test_both_files_of_one_framework_go_before_one_of_another(tmp_path):
    dglke_simple(tmp_path)
    (tmp_path / "entities.dict").write_text("0\tstranger\n", encoding="utf-8")
    assert list(load_checkpoint(tmp_path).entities) == ENTITIES


# Numbers as labels


def numbered(folder, first, second, name="entities.tsv"):
    dglke_simple(folder)
    if name != "entities.tsv":
        (folder / "entities.tsv").unlink()
    lines = (f"{left}\t{right}\n" for left, right in zip(first, second, strict=True))
    (folder / name).write_text("".join(lines), encoding="utf-8")
    return load_checkpoint(folder)


@pytest.mark.parametrize("ids", [range(7), [6, 5, 4, 3, 2, 1, 0]])
def test_numbers_in_either_order_of_columns_are_refused(tmp_path, ids):
    with pytest.raises(CheckpointError, match=r"both of its columns could be the ids.*Begin it with a header"):
        numbered(tmp_path, PERMUTED, ids)


def test_ids_that_count_up_come_first(tmp_path):
    assert list(numbered(tmp_path, range(7), PERMUTED).entities) == PERMUTED


def test_numbers_that_are_their_own_ids_need_no_order(tmp_path):
    assert list(numbered(tmp_path, PERMUTED, PERMUTED).entities) == sorted(PERMUTED)


def test_the_order_of_columns_is_known_of_other_files(tmp_path):
    rows = sorted(zip(range(7), PERMUTED, strict=True), key=lambda row: row[1])
    assert list(numbered(tmp_path, *zip(*rows, strict=True), name="entities.dict").entities) == PERMUTED
