"""gensim's own files and word2vec's binary ones: the table, labels and ranks of the same vectors as text."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from kgeval import Dataset, Triples, Vocabulary, evaluate, load_checkpoint
from kgeval.errors import CheckpointError, UsageError
from tests.checkpoints.layouts import ENTITIES, RELATIONS, table
from tests.checkpoints.made import of_gensim, saved_by_gensim

LABELS, VECTORS = [*RELATIONS, *ENTITIES], table(10, 4)

KEYS = {"index_to_key": LABELS, "vector_size": 4}
WHOLE = {**KEYS, "vectors": VECTORS}
APART = {**KEYS, "__numpys": ["vectors"]}


@pytest.fixture
def graph():
    rows = [(6 - h, 2 - r, 6 - (2 * h + r) % 7) for h in range(7) for r in range(3)]
    splits = {"train": Triples.of(rows[:15]), "test": Triples.of(rows[15:])}
    labels = {"entities": Vocabulary(ENTITIES[::-1]), "relations": Vocabulary(RELATIONS[::-1], "relation")}
    return Dataset.build("other", splits, **labels)


def text(folder):
    rows = (f"{label} {' '.join(map(str, row))}\n" for label, row in zip(LABELS, VECTORS.tolist(), strict=True))
    (folder / "m.txt").write_text("10 4\n" + "".join(rows), encoding="utf-8")
    return folder / "m.txt"


def binary(file, between=b"", vectors=VECTORS, labels=LABELS, sizes=b"10 4\n"):
    rows = (label.encode() + b" " + row.astype("<f4").tobytes() for label, row in zip(labels, vectors, strict=True))
    file.write_bytes(sizes + b"".join(row + between for row in rows))


def beside(file, name, vectors=VECTORS):
    np.save(file.with_name(f"{file.name}.{name}.npy"), vectors)


def keyed(file):
    saved_by_gensim(file, "KeyedVectors", **WHOLE)


def keyed_apart(file):
    saved_by_gensim(file, "KeyedVectors", 5, **APART)
    beside(file, "vectors")


def old_apart(file):
    """Gensim 3.2, which calls the attributes otherwise and may not know the width."""
    saved_by_gensim(file, "KeyedVectors", 2, index2word=LABELS, vector_size=None, __numpys=["syn0"])
    beside(file, "syn0")


def model_apart(file):
    saved_by_gensim(file, "Word2Vec", wv=of_gensim("KeyedVectors", **APART), hashfxn=hash, __numpys=["syn1neg"])
    beside(file, "wv.vectors")


WRITERS = {
    "m.kv": (keyed, ["m.kv"]),
    "apart.kv": (keyed_apart, ["apart.kv", "apart.kv.vectors.npy"]),
    "old.kv": (old_apart, ["old.kv", "old.kv.syn0.npy"]),
    "model": (model_apart, ["model", "model.wv.vectors.npy"]),
    "gensim.bin": (binary, ["gensim.bin"]),
    "lines.bin": (lambda file: binary(file, b"\n"), ["lines.bin"]),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_form_is_the_text(tmp_path, graph, name):
    write, files = WRITERS[name]
    options = {"model": "TransE", "norm": 1}
    expected = load_checkpoint(text(tmp_path), **options)
    (tmp_path / "other").mkdir()
    write(tmp_path / "other" / name)
    found = load_checkpoint(tmp_path / "other", dataset=graph, **options)
    assert [file.name for file in found.files] == files
    assert found.entities == expected.entities
    assert found.relations == expected.relations
    for kind in ("entity", "relation"):
        np.testing.assert_array_equal(found.family.arrays[kind], expected.family.arrays[kind])
    assert evaluate(found, graph).to_pandas().equals(evaluate(expected, graph).to_pandas())


NOT_A_NUMBER = np.where(np.eye(10, 4) > 0, np.nan, VECTORS)


def test_the_vectors_beside_a_pickle(tmp_path):
    file = tmp_path / "m.kv"
    saved_by_gensim(file, "KeyedVectors", **APART)
    with pytest.raises(CheckpointError, match=r"^m\.kv\.vectors\.npy is missing beside .*m\.kv"):
        load_checkpoint(file, model="DistMult")
    damaged = {"is float32 .9, 4.": VECTORS[1:], "of shape .10, 4.": VECTORS[:, 1:], "holds nan": NOT_A_NUMBER}
    for message, vectors in damaged.items():
        beside(file, "vectors", vectors)
        with pytest.raises(CheckpointError, match=message):
            load_checkpoint(file, model="DistMult")
    whole = (tmp_path / "m.kv.vectors.npy").read_bytes()
    (tmp_path / "m.kv.vectors.npy").write_bytes(whole[:-1])
    with pytest.raises(CheckpointError, match=r"m\.kv\.vectors\.npy: not a readable array, or cut short"):
        load_checkpoint(file, model="DistMult")


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({**KEYS, "vectors": VECTORS[1:]}, r"m\.kv: the tensor 'vectors' is float32 \[9, 4\]"),
        ({**KEYS, "vectors": VECTORS.astype(int)}, r"'vectors' is int64 \[10, 4\]; expected floating-point numbers"),
        ({**KEYS, "vectors": NOT_A_NUMBER}, "holds nan"),
        ({**KEYS, "vectors": [1.0]}, "is a gensim.models.keyedvectors.KeyedVectors without a table of vectors"),
        ({"vectors": VECTORS}, r"without a table .* \(index_to_key and vectors\)\. In gensim, save it with"),
        ({**WHOLE, "index_to_key": [*range(10)]}, "its labels are not all texts"),
        ({**WHOLE, "index_to_key": ["a"] * 10}, r"m\.kv: .*'a'"),
    ],
)
def test_a_pickle_without_such_a_table_is_refused(tmp_path, attributes, message):
    saved_by_gensim(tmp_path / "m.kv", "KeyedVectors", **attributes)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(tmp_path / "m.kv", model="DistMult")


def test_a_pickle_that_is_cut_is_refused(tmp_path):
    keyed(tmp_path / "m.kv")
    (tmp_path / "m.kv").write_bytes((tmp_path / "m.kv").read_bytes()[:-9])
    with pytest.raises(CheckpointError, match=r"m\.kv: damaged"):
        load_checkpoint(tmp_path / "m.kv", model="DistMult")


def test_two_forms_in_a_folder_are_not_chosen_between(tmp_path):
    keyed(tmp_path / "m.kv")
    text(tmp_path)
    with pytest.raises(UsageError, match=r"several checkpoints: m\.kv, m\.txt\. Give one of the files"):
        load_checkpoint(tmp_path, model="DistMult")
    with pytest.raises(UsageError, match="give the option model, one of"):
        load_checkpoint(tmp_path / "m.kv")


ROW = struct.pack("<2f", 1, 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"2 2\na " + ROW + b"b " + ROW[:-1], "announces 2 rows of 2 numbers, and the file ends in row 2"),
        (b"3 2\na " + ROW + b"b " + ROW, "announces 3 rows of 2 numbers, and the file ends in row 3"),
        (b"1 2\na " + ROW + b"\nb " + ROW, "announces 1 rows of 2 numbers, and more bytes follow them"),
        (b"2 1\na " + ROW + b"b " + ROW, "row 2 begins with .*, which is no label.*a label before may hold a space"),
        (b"2 2\na " + ROW + b"a " + ROW, "'a'"),
        (b"1 2\na " + struct.pack("<2f", 1, np.nan), "holds nan"),
        (b"2 4\na 1.5 2.5 3.5 4.5\nb 1.5 2.5 3.5 4.5\n", r"it is text, and \.bin stands for the binary format"),
    ],
)
def test_a_damaged_binary_is_refused(tmp_path, content, message):
    (tmp_path / "m.bin").write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(tmp_path / "m.bin", model="DistMult")


def test_a_binary_without_sizes_is_not_taken_for_one(tmp_path):
    binary(tmp_path / "m.bin", sizes=b"")
    with pytest.raises(UsageError, match="is in no known checkpoint format"):
        load_checkpoint(tmp_path / "m.bin", model="DistMult")
    with pytest.raises(CheckpointError, match="line 1: expected the numbers of rows and of columns"):
        load_checkpoint(tmp_path / "m.bin", format="word2vec", model="DistMult")
