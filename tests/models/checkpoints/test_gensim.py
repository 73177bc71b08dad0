"""gensim's own files and word2vec's binary ones: the table, labels and ranks of the same vectors as text."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from kgeval import load_checkpoint
from kgeval.base.errors import CheckpointError, UsageError
from tests.models.checkpoints.layouts import (
    KEYS,
    VECTORS,
    gensim,
    gensim_apart,
    gensim_model,
    gensim_model_apart,
    gensim_old,
    saved_by_gensim,
    word2vec_binary,
    word2vec_text,
)

WHOLE = {**KEYS, "vectors": VECTORS}
APART = {**KEYS, "__numpys": ["vectors"]}

FILES = {
    gensim: ["m.kv"],
    gensim_apart: ["m.kv", "m.kv.vectors.npy"],
    gensim_old: ["m.kv", "m.kv.syn0.npy"],
    gensim_model: ["rdf2vec.model"],
    gensim_model_apart: ["model", "model.wv.vectors.npy"],
    word2vec_binary: ["vectors.bin"],
}


@pytest.mark.parametrize("writer", FILES, ids=lambda writer: writer.__name__)
def test_every_form_is_the_text(tmp_path, writer):
    for name, write in (("text", word2vec_text), ("other", writer)):
        (tmp_path / name).mkdir()
        write(tmp_path / name)
    expected, found = (load_checkpoint(tmp_path / name, model="DistMult") for name in ("text", "other"))
    assert [file.name for file in found.files] == FILES[writer]
    assert (found.entities, found.relations) == (expected.entities, expected.relations)
    np.testing.assert_array_equal(found.family.entity, expected.family.entity)


NOT_A_NUMBER = np.where(np.eye(10, 4) > 0, np.nan, VECTORS)


def test_the_vectors_beside_a_pickle(tmp_path):
    file = tmp_path / "m.kv"
    saved_by_gensim(file, "KeyedVectors", **APART)
    with pytest.raises(CheckpointError, match=r"^m\.kv\.vectors\.npy is missing beside .*m\.kv"):
        load_checkpoint(file, model="DistMult")
    damaged = {"is float32 .9, 4.": VECTORS[1:], "of shape .10, 4.": VECTORS[:, 1:], "holds nan": NOT_A_NUMBER}
    for message, vectors in damaged.items():
        np.save(tmp_path / "m.kv.vectors.npy", vectors)
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
        ({**KEYS, "vectors": VECTORS.astype(int)}, r"'vectors' is int64 \[10, 4\]; expected floats of shape"),
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
    gensim(tmp_path)
    (tmp_path / "m.kv").write_bytes((tmp_path / "m.kv").read_bytes()[:-9])
    with pytest.raises(CheckpointError, match=r"m\.kv: .*damaged"):
        load_checkpoint(tmp_path / "m.kv", model="DistMult")


def test_two_forms_in_a_folder_are_not_chosen_between(tmp_path):
    gensim(tmp_path)
    word2vec_text(tmp_path, "m.txt")
    with pytest.raises(UsageError, match=r"several checkpoints: m\.kv, m\.txt\. Give one of the files"):
        load_checkpoint(tmp_path, model="DistMult")
    with pytest.raises(UsageError, match="Give the option model=MODEL"):
        load_checkpoint(tmp_path / "m.kv")


ROW = struct.pack("<2f", 1, 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"2 2\na " + ROW + b"b " + ROW[:-1], "announces 2 rows of 2, but it ends in row 2"),
        (b"3 2\na " + ROW + b"b " + ROW, "announces 3 rows of 2, but it ends in row 3"),
        (b"1 2\na " + ROW + b"\nb " + ROW, "announces 1 rows of 2 numbers, but more bytes follow"),
        (
            b"2 1\na " + ROW + b"b " + ROW,
            "row 2 begins with .*, which is not a label.*an earlier label may contain a space",
        ),
        (b"2 2\na " + ROW + b"a " + ROW, "'a'"),
        (b"1 2\na " + struct.pack("<2f", 1, np.nan), "holds nan"),
        (b"2 4\na 1.5 2.5 3.5 4.5\nb 1.5 2.5 3.5 4.5\n", r"it is text, but \.bin means the binary format"),
    ],
)
def test_a_damaged_binary_is_refused(tmp_path, content, message):
    (tmp_path / "m.bin").write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(tmp_path / "m.bin", model="DistMult")


def test_a_binary_without_sizes_is_not_taken_for_one(tmp_path):
    word2vec_binary(tmp_path, sizes=b"")
    with pytest.raises(UsageError, match="is in no known checkpoint format"):
        load_checkpoint(tmp_path / "vectors.bin", model="DistMult")
    with pytest.raises(CheckpointError, match="line 1: expected the numbers of rows and of columns"):
        load_checkpoint(tmp_path / "vectors.bin", format="word2vec", model="DistMult")
