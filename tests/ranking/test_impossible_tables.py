"""Rank tables of others: ids that no graph has, and a row of a split that is two triples, are refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from kgeval import RankTable, evaluate, load_ranks
from kgeval.errors import ConfigError, TableError
from tests.conftest import random_dataset

DATA = random_dataset()


@pytest.fixture(scope="module")
def table():
    return evaluate(lambda h, r, t: (h * 7 + r * 3 + t * 5) % 11 * 1.0, DATA)


def stored(table, path, **columns):
    """Write a table with other columns, and read it."""
    data = table.data
    for name, values in columns.items():
        data = data.set_column(data.column_names.index(name), name, pa.array(values, pa.int64()))
    RankTable(data).to_parquet(path)
    return RankTable.from_parquet(path)


@pytest.mark.parametrize("name", ["triple", "head", "relation", "tail"])
def test_ids_begin_at_zero(table, tmp_path, name):
    values = table.column(name).copy()
    values[3] = -1
    with pytest.raises(TableError, match=f"row 3: its {name} has the id -1; ids begin at 0"):
        stored(table, tmp_path / "a.parquet", **{name: values})


def test_a_row_of_the_split_is_one_triple(table, tmp_path):
    heads = table.column("head").copy()
    heads[0] += 1
    triple = table.column("triple")[0]
    with pytest.raises(TableError, match=f"the triple {triple} of the split is two different triples"):
        stored(table, tmp_path / "a.parquet", head=heads)
    assert len(stored(table, tmp_path / "b.parquet")) == len(table)


@pytest.mark.parametrize("protocol", [3, ["standard"], None, np.str_])
def test_a_protocol_has_a_name(protocol):
    with pytest.raises(ConfigError, match="protocol: expected the name of one, found"):
        evaluate(lambda h, _, __: h * 1.0, DATA, protocol=protocol)


@pytest.mark.parametrize("path", [None, 3, b"ranks.tsv"])
def test_ranks_lie_in_a_file(path):
    with pytest.raises(TableError, match="path: expected the name of a text file of ranks"):
        load_ranks(path, DATA)
