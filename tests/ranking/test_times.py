"""Facts at a time: ranks of random temporal graphs against plain loops, under each of the three filters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgeval import Dataset, RankTable, Triples, Vocabulary, compare, evaluate, load_ranks, predict, summarize
from kgeval.base.errors import InputError, TableError
from kgeval.models.adapters.array_scorers import ScoreTable
from kgeval.models.families.complex import ComplEx, TComplEx, TNTComplEx
from kgeval.models.mapped import Reciprocal
from tests.brute_force import COUNTS

FILTERS = {
    "raw": {"filter": ()},
    "static": {"times": "static"},
    "time-aware": {"times": "time-aware"},
    "static, of train": {"times": "static", "filter": ("train",)},
    "time-aware, of train": {"filter": "train"},
}


def graph(rows: np.ndarray, entities: int, relations: int, times: int) -> Dataset:
    """A temporal graph of rows (head, relation, tail, time), cut into three splits."""
    statements = Triples(rows[:, :3].astype(np.int64), rows[:, 3].astype(np.int64)).distinct().triples
    ends = [len(statements) * part // 4 for part in (2, 3)]
    parts = (slice(0, ends[0]), slice(*ends), slice(ends[1], None))
    return Dataset.build(
        "temporal",
        {split: statements[part] for split, part in zip(("train", "valid", "test"), parts, strict=True)},
        entities=Vocabulary.numbered(entities),
        relations=Vocabulary.numbered(relations, "relation"),
        times=Vocabulary.numbered(times, "time"),
    )


def random_graph(seed: int, *, entities: int = 7, relations: int = 2, times: int = 3, rows: int = 60) -> Dataset:
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, size, rows) for size in (entities, relations, entities, times)]
    return graph(np.stack(columns, 1), entities, relations, times)


def models(seed: int, dataset: Dataset, width: int = 4):
    """Each kind of model, and its score of (h, r, t, time) on a side, by complex numbers."""
    rng = np.random.default_rng(seed)
    # Halves of whole numbers: products and sums are exact, and many scores tie.
    size = len(dataset.relations)
    sizes = (len(dataset.entities), 2 * size, len(dataset.times), 2 * size)
    e, r, t, n = (rng.integers(-2, 3, (rows, 2 * width)) / 2 for rows in sizes)
    entity, turned, dates, timeless = (array[:, :width] + 1j * array[:, width:] for array in (e, r, t, n))

    def reciprocal(relation):
        def score(h, k, o, time, side):
            a, row, b = (h, k, o) if side == "tail" else (o, k + size, h)
            return (entity[a] * relation(row, time) * entity[b].conj()).sum().real

        return score

    def of_one_table(h, k, o, time, side):
        return (entity[h] * (turned[k] * dates[time] + timeless[k]) * entity[o].conj()).sum().real

    return {
        "TNTComplEx": (
            Reciprocal(TNTComplEx(e, r, t, n)),
            reciprocal(lambda k, time: turned[k] * dates[time] + timeless[k]),
        ),
        "TComplEx": (Reciprocal(TComplEx(e, r, t)), reciprocal(lambda k, time: turned[k] * dates[time])),
        "ComplEx": (Reciprocal(ComplEx(e, r)), reciprocal(lambda k, time: turned[k])),
        "one table": (TNTComplEx(e, r[:size], t, n[:size]), of_one_table),
    }


def by_loops(score, dataset: Dataset, *, filter=("train", "valid", "test"), times="time-aware", sides=("head", "tail")):
    """Map (head, relation, tail, time, side) to greater, tied, candidates, filtered and raw."""
    names = (filter,) if isinstance(filter, str) else filter
    facts = {
        (*row, time if times == "time-aware" else None)
        for split in names
        for row, time in zip(getattr(dataset, split).ids.tolist(), getattr(dataset, split).contexts, strict=True)
    }
    found = {}
    for (h, r, t), time in zip(dataset.test.ids.tolist(), dataset.test.contexts.tolist(), strict=True):
        for side in sides:
            # A relation is scored by the tail.
            scored = "head" if side == "head" else "tail"
            truth = score(h, r, t, time, scored)
            counts = np.array([0, 0, 1, 0, 0, 1])
            for answer in range(len(dataset.answers_of(side))):
                corrupted = {"head": (answer, r, t), "relation": (h, answer, t), "tail": (h, r, answer)}[side]
                if corrupted == (h, r, t):
                    continue
                here = score(*corrupted, time, scored)
                verdict = (here > truth, here == truth, 1)
                known = (*corrupted, time if times == "time-aware" else None) in facts
                counts += (*((0, 0, 0) if known else verdict), *verdict)
            found[h, r, t, str(time), side] = tuple(counts.tolist())
    return found


def counts_of(table: RankTable):
    keys = zip(*(table.column(name).tolist() for name in ("head", "relation", "tail", "time", "side")), strict=True)
    return dict(zip(keys, zip(*(table.column(name).tolist() for name in COUNTS), strict=True), strict=True))


@settings(max_examples=25)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(sorted(FILTERS)),
    st.sampled_from(["TNTComplEx", "TComplEx", "ComplEx", "one table"]),
)
def test_ranks_are_those_of_plain_loops_under_each_filter(seed, name, model):
    dataset = random_graph(seed)
    scorer, score = models(seed, dataset)[model]
    table = evaluate(scorer, dataset, **FILTERS[name])
    assert counts_of(table) == by_loops(score, dataset, **FILTERS[name])


def test_the_three_filters_give_three_numbers_and_say_so():
    dataset = random_graph(1)
    scorer, _ = models(1, dataset)["TNTComplEx"]
    tables = {name: evaluate(scorer, dataset, **FILTERS[name]) for name in ("raw", "static", "time-aware")}
    values = {name: summarize(table, ["mrr"])["mrr"] for name, table in tables.items()}
    assert values["raw"] < values["time-aware"] < values["static"]
    assert "unfiltered" in str(tables["raw"].provenance)
    assert "filtered by train, valid, test (static)" in str(tables["static"].provenance)
    assert "filtered by train, valid, test (time-aware)" in str(tables["time-aware"].provenance)


def test_the_words_of_a_result_survive_its_file(tmp_path):
    dataset = random_graph(2)
    table = evaluate(models(2, dataset)["TComplEx"][0], dataset, times="static")
    table.to_parquet(tmp_path / "ranks.parquet")
    again = RankTable.from_parquet(tmp_path / "ranks.parquet")
    assert (again.provenance, counts_of(again)) == (table.provenance, counts_of(table))
    assert str(summarize(again, ["mrr", "macro.mrr", "map"])) == str(summarize(table, ["mrr", "macro.mrr", "map"]))


def test_one_triple_at_two_times_is_two_queries_with_a_row_each():
    rows = np.array([[0, 0, 1, 0], [0, 0, 2, 0], [0, 0, 1, 1], [3, 0, 1, 1]])
    dataset = Dataset.build(
        "two",
        {"test": Triples(rows[:, :3], rows[:, 3])},
        entities=Vocabulary.numbered(4),
        relations=Vocabulary.numbered(1, "relation"),
        times=Vocabulary(["2014-01-01", "2014-01-02"], "time"),
    )
    table = evaluate(lambda h, r, t: h + t, dataset, sides="tail")
    # By loops over these scores, entity 3 is above all; at time 0 the answers 1 and 2 do not compete.
    assert table.column("greater").tolist() == [1, 1, 2, 2]
    assert table.column("time").tolist() == ["2014-01-01", "2014-01-01", "2014-01-02", "2014-01-02"]
    # (0, 0, ?) at time 0 has two answers, of rank 2 each; the others one, of rank 3: each list counts once.
    assert summarize(table, ["macro.mrr"])["macro.mrr"] == pytest.approx((1 / 2 + 1 / 3 + 1 / 3) / 3)
    halves = [table.where(np.arange(4) < 2), table.where(np.arange(4) >= 2)]
    assert len(RankTable.concat(halves)) == 4
    with pytest.raises(TableError, match="already there"):
        RankTable.concat([table, halves[0]])


def test_tables_are_compared_row_by_row_at_each_time():
    dataset = random_graph(3)
    tables = {name: evaluate(model, dataset) for name, (model, _) in models(3, dataset).items()}
    turned = tables["ComplEx"].where(np.ones(len(tables["ComplEx"]), bool))
    order = np.random.default_rng(0).permutation(len(turned))
    shuffled = RankTable(turned.data.take(order), filter=turned.filter, times=turned.times)
    found = compare({"one": tables["ComplEx"], "same": shuffled}, metrics=["mrr"])
    assert "have the same ranks in every row" in str(found)


def test_a_table_of_scores_has_a_row_for_each_time():
    dataset = random_graph(4)
    _, score = models(4, dataset)["TComplEx"]
    rows = list(zip(dataset.test.ids.tolist(), dataset.test.contexts.tolist(), strict=True))
    tails = np.array([[score(h, r, e, time, "tail") for e in range(7)] for (h, r, _), time in rows])
    heads = np.array([[score(e, r, t, time, "head") for e in range(7)] for (_, r, t), time in rows])
    table = evaluate(ScoreTable(dataset.test, tail=tails, head=heads), dataset)
    assert counts_of(table) == by_loops(score, dataset)


def test_ranks_made_elsewhere_are_found_by_their_time(tmp_path):
    dataset = random_graph(5)
    table = evaluate(models(5, dataset)["TNTComplEx"][0], dataset)
    names = ["head", "relation", "tail", "time", "side"]
    lines = ["\t".join([*names, "filtered_rank"])]
    columns = [table.column(name).astype(str) for name in names] + [(1 + table.column("greater")).astype(str)]
    (tmp_path / "ranks.tsv").write_text("\n".join([*lines, *map("\t".join, zip(*columns, strict=True))]) + "\n")
    read = load_ranks(tmp_path / "ranks.tsv", dataset)
    mine, theirs = ({key: (row[0], row[2]) for key, row in counts_of(it).items()} for it in (table, read))
    assert mine == theirs
    text = (tmp_path / "ranks.tsv").read_text().replace("\ttime\t", "\tstamped_as\t")
    (tmp_path / "ranks.tsv").write_text(text)
    with pytest.raises(TableError, match=r"no column 'time'.*Say which: --columns time=…"):
        load_ranks(tmp_path / "ranks.tsv", dataset)
    told = load_ranks(tmp_path / "ranks.tsv", dataset, columns="time=stamped_as")
    assert {key: (row[0], row[2]) for key, row in counts_of(told).items()} == mine


def test_predictions_of_a_split_know_the_facts_of_its_time():
    dataset = random_graph(6)
    scorer, _ = models(6, dataset)["TComplEx"]
    found = predict(scorer, dataset, k=7, known="drop", sides="tail").to_pandas()
    rows = lambda part: zip(part.ids.tolist(), part.contexts.tolist(), strict=True)  # noqa: E731
    facts = {(*row, time) for split in dataset.splits.values() for row, time in rows(split)}
    queries = {(h, r, time) for (h, r, _), time in rows(dataset.test)}
    expected = sum((h, r, e, time) not in facts for h, r, time in queries for e in range(7))
    assert len(found) == expected
    with pytest.raises(InputError, match="needs the time of each query, but the queries have none"):
        predict(scorer, dataset, queries=[("0", "0", "?")])


def test_a_static_graph_has_no_times_to_know_facts_of(nations):
    with pytest.raises(InputError, match=r"times \(--times\): the triples of dataset nations have no times"):
        evaluate(lambda h, r, t: h, nations, times="static")
    with pytest.raises(InputError, match="Choose one of 'static', 'time-aware'"):
        evaluate(lambda h, r, t: h, random_graph(7), times="al")
    model = TComplEx(np.ones((14, 2)), np.ones((55, 2)), np.ones((3, 2)))
    with pytest.raises(InputError, match="scores facts with a time, and the triples of dataset nations have none"):
        evaluate(model, nations)


def test_a_model_without_labels_has_the_times_of_the_graph_or_is_refused():
    dataset = random_graph(8)
    model = TComplEx(np.ones((7, 2)), np.ones((2, 2)), np.ones((4, 2)))
    with pytest.raises(InputError, match="the model has 4 times and no labels, dataset temporal has 3"):
        evaluate(model, dataset)
