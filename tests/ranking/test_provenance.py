"""What ranks are of: the model, the triples, the rules and the candidates that every table names."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import permutations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgeval import CallableScorer, RankTable, ScoreTable, evaluate, generate_negatives, load_ranks, summarize
from kgeval.base.errors import TableError
from kgeval.data.provenance import UNKNOWN, Provenance
from kgeval.data.triples import TARGETS
from kgeval.models.families.bilinear import DistMult
from kgeval.ranking.corruption import DegreeWeighted, FileNegatives, PopularityWeighted, TypeConstrained, Uniform
from kgeval.ranking.corruption.export import write_negatives
from tests.conftest import random_dataset, unwrapped

DATA = random_dataset(5)
ALL = ("train", "valid", "test")


def by_hash(h, r, t):
    return (h * 5 + r * 3 + t * 11) % 7


TABLE = evaluate(by_hash, DATA)


def test_it_names_all_that_the_ranks_rest_on():
    found = evaluate(by_hash, DATA, split="valid", filter=["train"], protocol="libkge").provenance
    assert found == Provenance("by_hash", "random", "valid", len(DATA.valid), "libkge", ("train",), "all 30 entities")
    assert str(found) == (
        f"by_hash on random, {len(DATA.valid)} validation triples, protocol libkge, filtered by train, "
        "candidates: all 30 entities"
    )
    assert "unfiltered" in str(evaluate(by_hash, DATA, filter=[]).provenance)


def test_protocols_name_their_filter():
    assert evaluate(by_hash, DATA, protocol="bordes-raw").provenance.filter == ()
    assert evaluate(by_hash, DATA, protocol="bordes-filtered").provenance.filter == ALL


@pytest.mark.parametrize(
    ("corruption", "words"),
    [
        (Uniform(count=20), "20 uniform (seed 0)"),
        (Uniform(count=2000, seed=7, allow_known=True), "2,000 uniform (seed 7, known answers too)"),
        (PopularityWeighted(count=3), "3 popular (seed 0)"),
        (DegreeWeighted(count=3, seed=1), "3 degree (seed 1)"),
        (FileNegatives, "4 of file four.tsv"),
    ],
)
def test_candidates_are_called_by_their_number_and_source(corruption, words, tmp_path):
    if corruption is FileNegatives:
        write_negatives(tmp_path / "four.tsv", generate_negatives(DATA, Uniform(count=4)))
        corruption = FileNegatives(path=str(tmp_path / "four.tsv"))
    assert evaluate(by_hash, DATA, corruption=corruption).provenance.candidates == words


def test_types_are_described_with_the_sizes_that_train_shows():
    ids, sizes = DATA.train.ids, set()
    for place, kept in ((0, 2), (2, 0)):
        queries = {(r, row[kept]) for row in DATA.test.ids.tolist() for r in [row[1]]}
        sizes |= {len(set(ids[ids[:, 1] == relation, place].tolist())) for relation, _ in queries}
    found = evaluate(by_hash, DATA, corruption=TypeConstrained()).provenance.candidates
    assert found == f"{min(sizes)} to {max(sizes)} of 30 entities, by type in train"


def test_entities_that_do_not_compete_are_not_counted():
    """kbc lets the entities compete whose labels come no later than the last one of train."""
    lonely = replace(DATA, train=type(DATA.train)(DATA.train.ids[(DATA.train.ids[:, [0, 2]] < 20).all(axis=1)]))
    last = int(lonely.train.ids[:, [0, 2]].max()) + 1
    found = evaluate(by_hash, lonely, protocol="kbc").provenance.candidates
    assert found == f"all 30 entities, of which those among {last} entities compete"


class Doubler:
    def __call__(self, h, r, t):
        return 2.0 * t


def test_models_are_called_by_their_names():
    rng = np.random.default_rng(0)
    family = DistMult(entity=rng.normal(size=(30, 4)), relation=rng.normal(size=(4, 4)))
    scores = np.zeros((len(DATA.test), 30))
    for model, name in (
        (by_hash, "by_hash"),
        (lambda h, r, t: h, "<lambda>"),
        (partial(by_hash), "partial"),
        (Doubler(), "Doubler"),
        (CallableScorer(by_hash, 30, 4), "by_hash"),
        (family, "DistMult"),
        (ScoreTable(DATA.test, head=scores, tail=scores), "ScoreTable"),
    ):
        assert evaluate(model, DATA).provenance.model == name


def test_the_triples_are_those_of_the_rows():
    part = TABLE.where(TABLE.column("triple") < 4)
    assert part.provenance == replace(TABLE.provenance, triples=4)
    assert summarize(part).provenance == part.provenance


names = st.text(max_size=12)
NOTES = st.lists(names, unique=True)  # a note is said once


@settings(max_examples=25, deadline=None)
@given(
    *(names for _ in range(5)),
    st.none() | st.lists(st.sampled_from(ALL), unique=True).map(tuple),
    st.lists(names, unique=True),
)
def test_it_survives_parquet(tmp_path_factory, model, dataset, split, protocol, candidates, known, notes):
    path = tmp_path_factory.mktemp("tables") / "ranks.parquet"
    about = {"model": model, "dataset": dataset, "split": split, "protocol": protocol, "candidates": candidates}
    table = replace(TABLE, **about, filter=known, notes=tuple(notes))
    table.to_parquet(path)
    again = RankTable.from_parquet(path)
    assert again.data.equals(table.data)
    assert (again.provenance, again.split) == (table.provenance, table.split)
    assert again.notes == table.notes
    content = summarize(again, ["mrr"]).to_dict()
    assert content["provenance"] == table.provenance.to_dict()
    assert content["notes"][: len(notes)] == notes


def test_what_a_file_does_not_tell_is_unknown(tmp_path):
    """An earlier version kept split, filter and protocol alone; a table of somebody else's tells nothing."""
    path = tmp_path / "ranks.parquet"
    pq.write_table(
        TABLE.data.replace_schema_metadata({"kgeval": '{"split": "valid", "filter": [], "protocol": "kbc"}'}), path
    )
    old = RankTable.from_parquet(path)
    assert old.provenance == Provenance(UNKNOWN, UNKNOWN, "valid", len(DATA.test), "kbc", (), UNKNOWN)
    pq.write_table(TABLE.data.replace_schema_metadata({}), path)
    bare = RankTable.from_parquet(path)
    assert bare.provenance == Provenance(UNKNOWN, UNKNOWN, UNKNOWN, len(DATA.test), UNKNOWN, None, UNKNOWN)
    assert summarize(bare, ["mrr"])["mrr"] == summarize(TABLE, ["mrr"])["mrr"]
    assert str(summarize(bare)).startswith("unknown model on unknown dataset, ")


def test_summaries_print_what_they_are_of():
    table = evaluate(by_hash, DATA, corruption=Uniform(count=30))
    printed = unwrapped(summarize(table, ["mrr"], by="relation"))
    assert printed.startswith(f"{table.provenance}, ties: realistic ")
    assert table.notes
    assert all(f"Note: {note}" in printed for note in table.notes)


def test_ranks_made_elsewhere_tell_what_is_known(tmp_path):
    rows = [f"{DATA.entities[h]}\t{DATA.relations[r]}\t{DATA.entities[t]}\t1" for h, r, t in DATA.test.ids]
    (tmp_path / "ranks.txt").write_text("\n".join(["head\trelation\ttail\tfiltered_tail_rank", *rows]))
    found = load_ranks(tmp_path / "ranks.txt", DATA).provenance
    assert found == Provenance(
        UNKNOWN, "random", "test", len(DATA.test), UNKNOWN, ALL, "all 30 entities", sides=("tail",)
    )


@pytest.mark.parametrize(
    ("other", "message"),
    [
        *(({field: "another"}, f"different {field}s") for field in ("model", "dataset", "protocol")),
        ({"filter": ("train",)}, "different filters"),
    ],
)
def test_ranks_of_different_kinds_are_not_put_together(other, message):
    heads, tails = (TABLE.where(TABLE.column("side") == side) for side in ("head", "tail"))
    assert RankTable.concat([heads, tails]).provenance == TABLE.provenance
    with pytest.raises(TableError, match=message):
        RankTable.concat([heads, replace(tails, **other)])


def test_what_tables_lack_is_added_up_or_refused():
    heads, tails = (
        replace(TABLE.where(TABLE.column("side") == side), missing=missing, competing=7)
        for side, missing in (("head", 3), ("tail", 4))
    )
    whole = RankTable.concat(table for table in (heads, tails))
    assert (whole.missing, whole.competing) == (7, 7)
    first = np.arange(len(heads)) < 5
    with pytest.raises(TableError, match="several tables of one side lack ranks, which another of them may have"):
        RankTable.concat([heads.where(first), heads.where(~first)])
    with pytest.raises(TableError, match="different numbers of entities that the model knows: 7 and 8"):
        RankTable.concat([heads, replace(tails, competing=8)])


def test_leaks_of_a_whole_do_not_depend_on_the_order_of_its_shards():
    sides = (TARGETS, ["relation"], ["tail"], ["head"])
    whole, *shards = (evaluate(lambda h, r, t: h + r + t, "nations", sides=chosen) for chosen in sides)
    assert (whole.leaks is None, shards[0].leaks is None) == (False, True)
    for order in permutations(shards):
        assert RankTable.concat(order).leaks == whole.leaks


def test_the_folder_of_a_run_will_do(tmp_path):
    TABLE.to_parquet(tmp_path / "run" / "ranks.parquet")
    assert RankTable.from_parquet(tmp_path / "run").data.equals(TABLE.data)
    (tmp_path / "empty").mkdir()
    with pytest.raises(TableError, match=r"empty' is a folder without ranks.parquet: no run with a rank table"):
        RankTable.from_parquet(tmp_path / "empty")


@settings(max_examples=20, deadline=None)
@given(row=st.integers(0, len(TABLE) - 1), other=st.integers(0, len(TABLE) - 1))
def test_a_triple_that_is_ranked_twice_is_refused_with_its_row(tmp_path_factory, row, other):
    """It would count twice in every mean; other counts in the second row make it no other triple."""
    path = tmp_path_factory.mktemp("tables") / "ranks.parquet"
    again = TABLE.data.slice(row, 1)
    counts = {name: TABLE.data.slice(other, 1)[name] for name in ("greater", "tied", "candidates")}
    for name, column in counts.items():
        again = again.set_column(again.schema.get_field_index(name), name, column)
    pq.write_table(pa.concat_tables([TABLE.data, again]).unify_dictionaries(), path)
    triple = ", ".join(TABLE.column(f"{name}_label")[row] for name in ("head", "relation", "tail"))
    side = TABLE.column("side")[row]
    with pytest.raises(TableError) as refusal:
        RankTable.from_parquet(path)
    assert f"row {len(TABLE)}: the {side} of ({triple}) was ranked in an earlier row." in str(refusal.value)


def stored(path, **columns):
    """Write the table with other columns, and read it."""
    data = TABLE.data
    for name, values in columns.items():
        data = data.set_column(data.column_names.index(name), name, pa.array(values, pa.int64()))
    RankTable(data).to_parquet(path)
    return RankTable.from_parquet(path)


@pytest.mark.parametrize("name", ["triple", "head", "relation", "tail"])
def test_ids_begin_at_zero(tmp_path, name):
    values = TABLE.column(name).copy()
    values[3] = -1
    with pytest.raises(TableError, match=f"row 3: its {name} has the id -1; ids begin at 0"):
        stored(tmp_path / "a.parquet", **{name: values})


def test_a_row_of_the_split_is_one_triple(tmp_path):
    heads = TABLE.column("head").copy()
    heads[0] += 1
    with pytest.raises(TableError, match=f"the triple {TABLE.column('triple')[0]} of the split is two different"):
        stored(tmp_path / "a.parquet", head=heads)
