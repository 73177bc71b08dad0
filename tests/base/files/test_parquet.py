"""Parquet files: read as Arrow reads them, and refused before few bytes have become many rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kgeval import RankTable, load_dataset
from kgeval.base.containers import read_parquet
from kgeval.base.errors import DatasetError, FileError
from tests.models.checkpoints.memory import MEBIBYTE


def repeated(text, rows):
    """A column of one text, which the file holds once."""
    return pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), [text])


TABLES = {
    "text": pa.table({"a": ["x", "y", None], "b": ["", "é", "z" * 1000]}),
    "numbers": pa.table({"a": [1, 2], "b": [0.5, None], "c": [True, False]}),
    "codes": pa.table({"a": pa.array(["x", "y", "x"]).dictionary_encode(), "b": [1, 2, 3]}),
    "twice": pa.Table.from_arrays([pa.array([1]), pa.array(["x"])], ["a", "a"]),
    "nothing": pa.table({"a": pa.array([], pa.string())}),
}


LONG = pa.table({"a": ["x", "y", None] * 20_000, "b": ["", "é", "z" * 10] * 20_000})


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("times", [1, 40_000], ids=["at once", "in batches"])
def test_it_is_read_as_arrow_reads_it(tmp_path, name, times):
    path = tmp_path / "a.parquet"
    whole = TABLES[name].take(np.tile(np.arange(len(TABLES[name])), times)) if name != "text" or times == 1 else LONG
    table = whole.replace_schema_metadata({"about": "it"})
    pq.write_table(table, path)
    read = read_parquet(path)
    assert read.schema.metadata[b"about"] == b"it"
    assert read.schema.equals(table.schema)
    assert read.columns == [column.cast(column.type) for column in table.columns]


def test_lists_and_blocks_are_left_aside(tmp_path):
    pq.write_table(pa.table({"a": ["x"], "l": [[1]], "s": [{"t": 1}]}), tmp_path / "a.parquet")
    assert read_parquet(tmp_path / "a.parquet").column_names == ["a"]


BOMBS = {
    "one long text": lambda: pa.table({"head": repeated("x" * 10_000, 8000)}),
    "one long text as text": lambda: pa.table({"head": repeated("x" * 10_000, 8000).cast(pa.string())}),
    "many rows": lambda: pa.table({"head": repeated("x" * 40, 2_000_000).cast(pa.string())}),
    "many numbers": lambda: pa.table({"head": np.zeros(9_000_000, np.int64)}),
    "a compressed text": lambda: pa.table({"head": ["x" * 80_000_000]}),
}


@pytest.mark.parametrize("stored", [True, False], ids=["types stored", "types lost"])
@pytest.mark.parametrize("name", BOMBS)
def test_what_unfolds_out_of_proportion_is_refused(tmp_path, name, stored):
    path = tmp_path / "a.parquet"
    pq.write_table(BOMBS[name](), path, store_schema=stored, compression="zstd")
    assert path.stat().st_size < 50_000
    before = pa.total_allocated_bytes()
    with pytest.raises(FileError, match="it unpacks to more than"):
        read_parquet(path)
    assert pa.total_allocated_bytes() - before < 4 * MEBIBYTE


def test_a_name_that_is_no_text_is_refused(tmp_path):
    table = pa.table({name: ["x"] for name in ("head", "relation", "tail")})
    for split in ("train", "test"):
        pq.write_table(table, tmp_path / f"{split}.parquet", store_schema=False)
    content = (tmp_path / "train.parquet").read_bytes()
    (tmp_path / "train.parquet").write_bytes(content.replace(b"relation", b"rel\xfftion"))
    with pytest.raises(DatasetError, match=r"train\.parquet: not a readable Parquet file"):
        load_dataset(tmp_path)
    assert not RankTable.is_in(tmp_path / "train.parquet")


def test_graphs_and_tables_are_read_so(tmp_path):
    table = pa.table({name: repeated("x" * 10_000, 5000) for name in ("head", "relation", "tail")})
    for split in ("train", "test"):
        pq.write_table(table, tmp_path / f"{split}.parquet")
    for read, path in ((load_dataset, tmp_path), (RankTable.from_parquet, tmp_path / "train.parquet")):
        with pytest.raises(FileError, match=r"train\.parquet: it unpacks to"):
            read(path)


def test_a_sound_graph_is_read(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.array([f"/m/{index:07}" for index in range(3000)])
    columns = {name: labels[rng.integers(0, 3000, 100_000)] for name in ("head", "relation", "tail")}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    read = read_parquet(tmp_path / "a.parquet")
    assert read["tail"].to_pylist() == columns["tail"].tolist()
