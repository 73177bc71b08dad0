"""Negatives in files: what is written reads back to the same ranks, and bad files are named."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgeval import CallableScorer, Dataset, Vocabulary, evaluate
from kgeval.base.errors import DatasetError, InputError, RunError
from kgeval.data.triples import Triples
from kgeval.ranking.corruption import AllEntities, FileNegatives, Uniform
from kgeval.ranking.corruption.export import generate_negatives, write_negatives
from tests.conftest import random_dataset

DATA = random_dataset(5)


def hashed(h, r, t):
    """Scores with few values, so that many tie."""
    return (h * 7 + r * 3 + t * 5) % 11


SCORER = CallableScorer(hashed, 30, 4)


def among(path, **settings):
    """Rank among the negatives of a file."""
    return evaluate(SCORER, DATA, corruption=FileNegatives(path=str(path)), **settings)


@pytest.mark.parametrize(
    ("side", "message"),
    [
        (["head"], "the column side holds list"),
        (1, "row 1: the side 1 is unknown"),
        (None, "row 1: the side None is an empty cell"),
        ("Tails", "row 1: the side 'Tails' is unknown. Did you mean 'tail'"),
    ],
)
def test_sides_in_parquet_are_head_or_tail(tmp_path, side, message):
    columns = {"head": ["e0000"], "relation": ["r00"], "tail": ["e0001"], "side": [side]}
    pq.write_table(pa.table(columns), tmp_path / "negatives.parquet")
    with pytest.raises(DatasetError, match=message):
        among(tmp_path / "negatives.parquet")


@pytest.mark.parametrize("ending", [".tsv", ".parquet"])
@pytest.mark.parametrize("generator", [Uniform(count=4), Uniform(count=7, seed=9, allow_known=True)], ids=str)
def test_written_negatives_read_back_to_the_same_ranks(tmp_path, generator, ending):
    path = tmp_path / f"negatives{ending}"
    written = write_negatives(str(path), generate_negatives(DATA, generator))
    assert written == 2 * generator.count * len(DATA.test) or generator.allow_known
    assert evaluate(SCORER, DATA, corruption=generator).to_pandas().equals(among(path).to_pandas())


def test_all_negatives_read_back_to_the_same_filtered_ranks(tmp_path):
    path = tmp_path / "negatives.tsv"
    write_negatives(path, generate_negatives(DATA, AllEntities()))
    columns = ["triple", "side", "greater", "tied", "candidates"]
    assert evaluate(SCORER, DATA).to_pandas()[columns].equals(among(path).to_pandas()[columns])


def test_a_file_without_sides_serves_both(tmp_path):
    path = tmp_path / "hard.tsv"
    h, r, t = DATA.test.ids[0]
    other = next(e for e in range(30) if e not in (h, t))
    labels = DATA.entities
    path.write_text(
        f"{labels[h]}\t{DATA.relations[r]}\t{labels[other]}\n{labels[other]}\t{DATA.relations[r]}\t{labels[t]}\n"
    )
    table = among(path)
    first = table.where(table.column("triple") == 0)
    assert first.column("raw_candidates").tolist() == [2, 2]
    assert any(" without negatives in " in note for note in table.notes)
    bound = among(path, memory_limit=4096)
    assert (bound.data, bound.notes) == (table.data, table.notes)


def test_true_triples_of_a_file_with_confidences_are_no_negatives(tmp_path):
    path = tmp_path / "weighted.tsv"
    h, r, t = DATA.test.ids[0]
    others = [e for e in range(30) if e not in (h, t)][:3]
    rows = zip(others, ("0", "0.0", "0.7"), strict=True)
    path.write_text("".join(f"e{h:04}\tr{r:02}\te{other:04}\t{confidence}\n" for other, confidence in rows))
    table = among(path, sides=("tail",))
    assert table.where(table.column("triple") == 0).column("raw_candidates").tolist() == [3]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("e0000\tr00\te0001\t0.5\n", "none of its 1 rows has confidence 0"),
        ("e0000\tr00\te0001\t2014\n", "the fourth column holds whole numbers, such as 2014"),
        ("e0000\tr00\tnobody\n", "line 1: the tail 'nobody' is no entity of the dataset"),
        (
            "head\trelation\ttail\tside\ne0000\tr00\te0001\ttale\n",
            r"line 2: the side 'tale' is unknown. Did you mean 'tail'\?",
        ),
        ("e0000\tr00\n", "line 1: 2 columns"),
    ],
)
def test_a_bad_file_of_negatives_is_named(tmp_path, content, message):
    path = tmp_path / "negatives.tsv"
    path.write_text(content)
    with pytest.raises(DatasetError, match=message):
        among(path)


def test_negatives_that_fit_no_query_are_refused(tmp_path):
    path = tmp_path / "negatives.tsv"
    asked = {(int(h), int(r)) for h, r, _ in DATA.test.ids}
    h, r = next((h, r) for h in range(30) for r in range(4) if (h, r) not in asked)
    path.write_text(f"head\trelation\ttail\tside\ne{h:04}\tr{r:02}\te0001\ttail\n")
    with pytest.raises(DatasetError, match=r"none of its 1 negatives belongs to a tail query to rank\."):
        among(path, sides=("tail",))


@pytest.mark.parametrize("word", ["tail", "Tail", "rhs"])
def test_a_file_is_checked_for_both_sides(tmp_path, word):
    (h, r, t), path = DATA.test.ids[0], tmp_path / "negatives.tsv"
    path.write_text(f"head\trelation\ttail\tside\ne{h:04}\tr{r:02}\te{(t + 1) % 30:04}\t{word}\n")
    negatives = FileNegatives(path=str(path)).prepare(DATA)
    evaluate(SCORER, DATA, corruption=negatives, sides=("tail",))
    with pytest.raises(DatasetError, match="belongs to a head query"):
        evaluate(SCORER, DATA, corruption=negatives, sides=("tail", "head"))


def test_a_failed_write_leaves_nothing(tmp_path):
    def failing():
        yield from generate_negatives(DATA, Uniform(count=1), sides=("head",))
        raise OSError(28, "No space left on device")

    with pytest.raises(RunError, match=r"No space left on device\. No file was written"):
        write_negatives(tmp_path / "negatives.tsv", failing())
    assert list(tmp_path.iterdir()) == []


def odd_dataset(*labels):
    """A graph in which each of the labels is an entity that is drawn."""
    entities = Vocabulary([*labels, *(f"e{index}" for index in range(4))])
    test = Triples.of([(len(labels), 0, len(labels) + 1)])
    return Dataset.build("odd", {"test": test}, entities=entities, relations=Vocabulary(["likes"], "relation"))


@pytest.mark.parametrize("label", ["two\tcells", "two\nlines", "two\rlines", "\t", "trailing\n"], ids=repr)
def test_labels_that_no_line_survives_are_refused_before_anything_is_written(tmp_path, label):
    tables = generate_negatives(odd_dataset(label), AllEntities())
    with pytest.raises(InputError) as caught:
        write_negatives(tmp_path / "negatives.tsv", tables)
    assert f"the label {label!r} has a tab or a line end" in str(caught.value)
    assert ".parquet" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), min_size=1, max_size=4, unique=True),
    st.sampled_from([".tsv", ".parquet"]),
)
def test_labels_survive_the_file_or_are_refused(tmp_path, labels, ending):
    labels = [label for label in labels if label not in {"e0", "e1", "e2", "e3"}]
    path = tmp_path / f"negatives{ending}"
    data = odd_dataset(*labels)
    scorer = CallableScorer(lambda h, r, t: (h * 5 + t * 3) % 4, len(data.entities), 1)
    try:
        write_negatives(path, generate_negatives(data, AllEntities()))
    except InputError:
        assert ending == ".tsv"
        assert any(set("\t\r\n") & set(label) for label in labels)
        return
    columns = ["greater", "tied", "candidates"]
    full, read = (evaluate(scorer, data, corruption=kind) for kind in (AllEntities(), FileNegatives(path=str(path))))
    assert full.to_pandas()[columns].equals(read.to_pandas()[columns])
