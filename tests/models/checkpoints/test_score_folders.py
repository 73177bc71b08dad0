"""Folders of finished scores: each row belongs to a triple, and in a temporal graph to its time."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import Dataset, evaluate, load_checkpoint, predict, summarize
from kgeval.base.errors import InputError
from kgeval.ranking.predictions.query_rows import read_query_file

FACTS = [("a", "r", "c", "2001-01-02"), ("a", "r", "b", "2001-01-01"), ("d", "r", "a", "2001-01-01")]
DATA = Dataset.from_labels(train=[("a", "r", "d", "2000-01-01"), ("b", "r", "c", "2000-01-02")], test=FACTS)


def folder(place, rows, header=""):
    """Scores by which each answer is the best of its own row, and the worst of the other one of its query."""
    scores = np.zeros((len(FACTS), len(DATA.entities)))
    for row, fact in enumerate(FACTS):
        scores[row, DATA.entities.id(fact[2])] = 1
        scores[row, DATA.entities.id("c" if fact[2] == "b" else "b")] = 0.5
    np.save(place / "tail_scores.npy", scores)
    (place / "entities.txt").write_text("".join(f"{label}\n" for label in DATA.entities))
    (place / "queries.tsv").write_text(header + "".join("\t".join(row) + "\n" for row in rows))
    return place


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0)], ids=["by position", "by name"])
def test_a_row_belongs_to_its_time(tmp_path, order):
    header = "" if order[0] == 0 else "\t".join(("timestamp", "tail", "relation", "head")) + "\n"
    place = folder(tmp_path, [tuple(fact[column] for column in order) for fact in FACTS], header)
    table = evaluate(load_checkpoint(place, dataset=DATA), DATA, sides=["tail"])
    assert table.column("greater").tolist() == [0, 0, 0]
    assert summarize(table, ["mrr"])["mrr"] == 1


def test_queries_without_times_are_refused_where_times_tell_them_apart(tmp_path):
    place = folder(tmp_path, [fact[:3] for fact in FACTS])
    with pytest.raises(InputError, match=r"no column 'time', but dataset labels is temporal.*Add the column"):
        load_checkpoint(place, dataset=DATA)
    other = folder(tmp_path, [(*fact[:3], "1999-01-01") for fact in FACTS])
    with pytest.raises(InputError, match=r"line 1: the time '1999-01-01' is none of the dataset"):
        load_checkpoint(other, dataset=DATA)


def test_a_file_of_queries_names_its_columns(tmp_path):
    (tmp_path / "queries.csv").write_text("date,object,predicate,subject\n2001-01-01,?,r,a\n")
    (tmp_path / "queries.tsv").write_text("a\tr\t?\t2001-01-01\n")
    model = lambda h, r, t: t + 0.0 * h  # noqa: E731
    by_name, by_place = (read_query_file(tmp_path / f"queries.{ending}", DATA) for ending in ("csv", "tsv"))
    assert by_name.tolist() == by_place.tolist() == [[DATA.entities.id("a"), 0, -1, DATA.times.id("2001-01-01")]]
    assert predict(model, DATA, queries=by_name, k=2).to_pandas()["entity_label"].tolist() == ["d", "c"]
