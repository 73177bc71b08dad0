"""Prediction tables: which queries they answer, what they say of each prediction, and their file."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from kgeval import Dataset, PredictionTable, RankTable, answers, evaluate, predict
from kgeval.analysis.answer_sets.answer_sets import AnswerSetTable
from kgeval.base.errors import InputError, TableError
from kgeval.data.queries import Queries
from kgeval.data.triples import Triples
from tests.conftest import random_dataset
from tests.ranking.test_kernels import Vectors
from tests.ranking.test_predictions import SPLITS, best_of


def test_what_is_known_of_each_prediction():
    dataset, scorer = random_dataset(12, entities=12, triples=150), Vectors("dot", entities=12)
    table = predict(scorer, dataset, k=12)
    facts = {name: {tuple(row) for row in dataset.split(name).ids.tolist()} for name in SPLITS}
    names = ("side", "anchor", "relation", "entity", "known", "is_of_type", "is_answer")
    rows = zip(*(table.data[name].to_pylist() for name in names), strict=True)
    for side, anchor, relation, entity, known, of_type, is_answer in rows:
        triple = (anchor, relation, entity) if side == "tail" else (entity, relation, anchor)
        assert known == next((name for name in SPLITS if triple in facts[name]), "new")
        assert is_answer == (triple in facts["test"])
        assert of_type == any(r == relation and (t if side == "tail" else h) == entity for h, r, t in facts["train"])
    assert set(table.column("known")) == {*SPLITS, "new"}
    assert set(table.column("is_of_type")) == {True, False}
    assert [dataset.entities[entity] for entity in table.column("entity")] == table.column("entity_label").tolist()


def test_queries_of_ones_own_keep_their_order_and_may_repeat():
    dataset, scorer = random_dataset(3), Vectors("l2")
    queries = [("e0007", "r02", "?"), ("?", "r00", "e0001"), (7, 2, None), ("e0003", "r02", "?")]
    table = predict(scorer, dataset, queries=queries, k=4)
    assert (table.queries, table.split) == (4, None)
    assert table.column("query").tolist() == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4
    assert not table.column("is_answer").any()
    for number, side, anchor, relation in ((0, "tail", 7, 2), (1, "head", 1, 0), (2, "tail", 7, 2), (3, "tail", 3, 2)):
        triple = (anchor, relation, 0) if side == "tail" else (0, relation, anchor)
        one = Queries.of(Triples.of([triple]), side)
        scores = dict(enumerate(scorer.scores(one, np.arange(30))[0].tolist()))
        mine = table.where(table.column("query") == number)
        assert set(mine.column("side")) == {side}
        assert mine.column("entity").tolist() == [entity for entity, *_ in best_of(scores, 4, set())]
    ids = np.array([[7, 2, -1], [-1, 0, 1], [7, 2, -1], [3, 2, -1]])
    assert predict(scorer, dataset, queries=ids, k=4).data.equals(table.data)


def test_no_queries_have_no_predictions():
    dataset = random_dataset(7)
    table = predict(Vectors("dot"), dataset, queries=[])
    assert (len(table), table.queries, table.columns) == (0, 0, predict(Vectors("dot"), dataset).columns)
    bare = Dataset.build("d", {"test": dataset.test}, entities=dataset.entities, relations=dataset.relations)
    with pytest.raises(InputError, match="no valid triples"):
        predict(Vectors("dot"), bare, split="valid")


def test_the_table_comes_back_from_its_file(tmp_path):
    table = predict(Vectors("dot"), random_dataset(7), k=3, known="drop", filter="train")
    table.to_parquet(tmp_path / "predictions.parquet")
    for place in (tmp_path, tmp_path / "predictions.parquet"):
        again = PredictionTable.from_parquet(place)
        assert again.data.equals(table.data)
        assert (again.provenance, again.notes) == (table.provenance, table.notes)
    assert str(table.provenance) == (
        f"Vectors on random, the 3 best answers to {table.queries} test queries without those known from train, "
        "candidates: all 30 entities"
    )
    holes = table.where(table.column("place") != 1)
    holes.to_parquet(tmp_path / "holes.parquet")
    with pytest.raises(TableError, match="row 0 has no place in its query"):
        PredictionTable.from_parquet(tmp_path / "holes.parquet")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k: expected how many answers each query gets, at least 1; found 0"),
        ({"k": 2.5}, "k: expected"),
        ({"known": "drpo"}, "known: unknown value 'drpo'. Did you mean 'drop'?"),
        ({"queries": [("e0O01", "r00", "?")]}, "unknown entity 'e0O01'. Did you mean 'e"),
        ({"queries": [("e0001", "r0O", "?")]}, "unknown relation 'r0O'. Did you mean 'r"),
        ({"queries": [("?", "r00", "?")]}, "query 0, .*a query is a triple with '\\?'"),
        ({"queries": [("e0001", "r00", "?"), ("e0001", "?", "e0002")]}, "query 1"),
        ({"queries": [("e0001", "r00", "e0002")]}, "query 0"),
        ({"queries": [("e0000", "?", "e0001")]}, r"query 0, .'e0000', '\?', 'e0001'.: it asks for the relation"),
        (
            {"queries": np.array([[0, -1, 1]])},
            "query 0.*it asks for the relation, and only heads and tails are predicted",
        ),
        ({"queries": [(99, 0, "?")]}, "query 0.* it needs ids of the dataset, and -1 for the missing entity"),
        ({"queries": [("e0001", "r00")]}, "query 0, .*not have three parts"),
        ({"queries": ["abc"]}, "query 0, 'abc': it does not have three parts"),
        ({"queries": [(0.5, "r00", "?")]}, "query 0, 0.5: it is neither a label nor an id"),
        ({"queries": "abc"}, "queries are a list"),
        ({"split": "tset"}, "there is no split and no file 'tset'. Did you mean 'test'"),
    ],
)
def test_bad_input_is_one_clear_message(options, message):
    with pytest.raises(InputError, match=message):
        predict(Vectors("dot"), random_dataset(7), **options)


def test_progress_counts_queries():
    dataset, seen = random_dataset(7), []
    table = predict(Vectors("dot"), dataset, progress=seen.append)
    assert sum(seen) == table.queries == sum(len(Queries.of(dataset.test, side)) for side in ("head", "tail"))


def test_metadata_that_would_be_guessed_are_not(tmp_path):
    """Whatever rewrites a Parquet file may lose them: defaults would then name another split, filter or coverage."""
    dataset, scorer = random_dataset(3, triples=2000), Vectors("l2")
    tables = [predict(scorer, dataset), answers(scorer, dataset, list_sets=True).sets]
    tables.append(evaluate(scorer, dataset, estimate={"triples": 100, "first": 100}))
    for table, kind in zip(tables, (PredictionTable, AnswerSetTable, RankTable), strict=True):
        table.to_parquet(tmp_path / "whole.parquet")
        whole = pq.read_table(tmp_path / "whole.parquet")
        about = json.loads(whole.schema.metadata[kind._KEY.encode()])
        block = about.get("sampling") or about
        # Unknown candidates have the value "unknown"; a history may be missing; notes without parts are texts.
        lost = [name for name in block if name not in ("schema", "candidates", "history", "note_kinds", "note_parts")]
        for name in lost if block is about else ("typed_counts", "typed_means"):
            value = block.pop(name)
            pq.write_table(whole.replace_schema_metadata({kind._KEY: json.dumps(about)}), tmp_path / "part.parquet")
            with pytest.raises(TableError, match=f"not a readable {kind._KIND} .*{name}"):
                kind.from_parquet(tmp_path / "part.parquet")
            block[name] = value
