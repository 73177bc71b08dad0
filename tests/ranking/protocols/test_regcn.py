"""Protocol regcn: raw, time-aware and static ranks of one run, by plain loops and by the shared truth on ICEWS14."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgeval import (
    Baseline,
    Dataset,
    RankTable,
    Recorder,
    check_numbers,
    compare,
    evaluate,
    framework_metrics,
    load_checkpoint,
    load_dataset,
)
from kgeval.base.errors import InputError, TableError
from kgeval.data.triples import Triples
from kgeval.ranking.protocols.framework_metric import FrameworkMetric
from kgeval.ranking.protocols.protocol import find_protocol, protocols
from kgeval.ranking.rank_table import COUNTS
from tests.conftest import random_dataset, unwrapped
from tests.ranking.test_times import by_loops, counts_of, models, random_graph

PREFIXES = ("raw_", "", "static_")


def cut_by_time(graph: Dataset) -> Dataset:
    """The same facts in splits that share no time: train at time 0, valid at 1, test later."""
    facts = Triples.concatenated([graph.train, graph.valid, graph.test])
    early = {"train": facts.contexts == 0, "valid": facts.contexts == 1, "test": facts.contexts > 1}
    splits = {name: facts[np.flatnonzero(rows)] for name, rows in early.items()}
    vocabularies = {"entities": graph.entities, "relations": graph.relations, "times": graph.times}
    return Dataset.build("by time", splits, **vocabularies)


def expected_of(table: RankTable, score, dataset: Dataset) -> list[tuple[int, ...]]:
    """Raw, time-aware and static counts of each row, by plain loops."""
    aware, static = by_loops(score, dataset, filter="test"), by_loops(score, dataset, times="static")
    return [(*aware[key][3:], *aware[key][:3], *static[key][:3]) for key in counts_of(table)]


def all_counts(table: RankTable) -> list[tuple[int, ...]]:
    return [*zip(*(table.column(prefix + name).tolist() for prefix in PREFIXES for name in COUNTS), strict=True)]


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["TNTComplEx", "ComplEx"]), st.booleans())
def test_three_filters_are_those_of_plain_loops(seed, name, apart):
    dataset = cut_by_time(random_graph(seed)) if apart else random_graph(seed)
    scorer, score = models(seed, dataset)[name]
    table = evaluate(scorer, dataset, protocol="regcn", batch_size=3)
    expected = expected_of(table, score, dataset)
    assert all_counts(table) == expected
    assert table.static().data.select(COUNTS).equals(evaluate(scorer, dataset, times="static").data.select(COUNTS))
    greater, tied, _ = np.array(expected).T.reshape(3, 3, -1).swapaxes(0, 1)
    printed = framework_metrics(table)
    for setting, ranks in zip(("raw_ent", "filter_ent", "static_ent"), 1 + greater + tied / 2, strict=True):
        assert printed[f"MRR ({setting})"] == pytest.approx(np.mean(1 / ranks), rel=1e-6)
        for k in (1, 3, 10):
            assert printed[f"Hits ({setting}) @ {k}"] == pytest.approx(np.mean(ranks <= k), rel=1e-6)
    assert len(printed) == 12


def test_snapshots_of_scores_are_recorded_with_three_filters():
    """As RE-GCN has them: of each snapshot the facts (s, r, o), then (o, r + R, s), and scores of all entities."""
    dataset, rng = random_graph(5, times=4, rows=120), np.random.default_rng(5)
    scores = rng.integers(0, 6, (2, 2, 7, 4, 7)) / 4  # side, relation, anchor, time, entity
    relations = len(dataset.relations)
    recorder = Recorder(dataset, protocol="regcn")
    for _ in range(2):
        recorder.reset()
        for time in np.unique(dataset.test.contexts):
            snapshot = dataset.test.ids[dataset.test.contexts == time]
            facts = np.concatenate([snapshot, snapshot[:, ::-1] + [0, relations, 0]])
            final = scores[facts[:, 1] // relations, facts[:, 1] % relations, facts[:, 0], time]
            turned, at = facts[:, 1] >= relations, np.full((len(snapshot), 1), time)
            recorder.update(np.hstack([facts[~turned], at]), final[~turned], side="tail")
            heads = facts[turned][:, ::-1] - [0, relations, 0]
            recorder.update(np.hstack([heads, at]), final[turned], side="head")
    table = recorder.table()

    def score(h, r, t, time, side):
        return scores[0, r, h, time, t] if side == "tail" else scores[1, r, t, time, h]

    assert all_counts(table) == expected_of(table, score, dataset)
    assert (table.protocol, table.static_filter) == ("regcn", ("train", "valid", "test"))
    with pytest.raises(InputError, match=r"at time 24, is not a test triple .* The fourth is the place of a time in"):
        recorder.update(np.hstack([snapshot[:1], [[24]]]), final[:1], side="tail")
    with pytest.raises(InputError, match=r"ids are 0 to 1. Of an inverse relation r \+ R, give the fact itself"):
        recorder.update(np.hstack([facts[turned], at]), final[turned], side="tail")
    with pytest.raises(InputError, match=r"protocol libkge has rules that need the model \(tie_rule\)"):
        Recorder(dataset, protocol="libkge")


def test_splits_that_share_times_are_counted_in_a_note():
    facts = {"train": [("a", "b", 1), ("a", "c", 2), ("b", "c", 2)], "test": [("a", "d", 2)]}
    rows = {split: [(h, "r", t, time) for h, t, time in of_split] for split, of_split in facts.items()}
    dataset = Dataset.from_labels(**rows, entities=[*"abcd"], columns="head,relation,tail,time")
    table = evaluate(lambda h, r, t: h + t, dataset, protocol="regcn")
    assert [note for note in table.notes if "at the times of test, 2 train facts hold too" in note]
    # Of (a, r, ?) at 2: train has c at that time, and b at another; all are below d, which has the highest number.
    assert all_counts(table)[1] == (0, 0, 4, 0, 0, 4, 0, 0, 2)
    wider = evaluate(lambda h, r, t: h + t, dataset, protocol="regcn", filter=["train", "test"])
    assert all_counts(wider)[1] == (0, 0, 4, 0, 0, 3, 0, 0, 2)
    assert not [note for note in wider.notes if "hold too" in note]


def test_static_ranks_are_stored_compared_and_recognised(tmp_path):
    dataset = random_graph(3)
    scorer, _ = models(3, dataset)["TNTComplEx"]
    table = evaluate(scorer, dataset, protocol="regcn")
    table.to_parquet(tmp_path / "ranks.parquet")
    again = RankTable.from_parquet(tmp_path / "ranks.parquet")
    assert again.data.equals(table.data)
    static = again.static()
    assert static.provenance.filter == ("train", "valid", "test")
    assert static.provenance.times == "static"
    assert static.static() is static
    assert [name for name in framework_metrics(static) if "filter_ent" in name] == []
    other = evaluate(scorer, dataset, times="static")
    compared = compare({"one": static, "other": other}, ["mrr"], allow=["protocol"])
    assert [pair.difference for pair in compared.pairs] == [0]
    halves = [table.where(table.column("side") == side) for side in ("head", "tail")]
    assert RankTable.concat(halves).static().data.equals(static.data)
    value = framework_metrics(table)["MRR (static_ent)"]
    check = check_numbers(table, {"mrr": f"{value:.4f}"})
    assert next(reading.protocols for reading in check.matches if reading.setting == "static") == ("regcn",)
    assert {reading.protocols for reading in check.readings if reading.setting == "static"} == {("regcn",), ()}
    # By all rules, also those in which an answer competes with itself, they are the filtered ranks of the static table.
    for name in protocols():
        metrics = [FrameworkMetric("mrr", "mrr", setting=setting) for setting in ("static", "filtered")]
        assert find_protocol(name).value(table, metrics[0]) == find_protocol(name).value(static, metrics[1])


def test_what_has_no_static_ranks_says_how_to_get_them():
    dataset = random_graph(4)
    scorer, _ = models(4, dataset)["ComplEx"]
    with pytest.raises(TableError, match=r"static ranks are not known. Evaluate with times static .*protocol regcn"):
        evaluate(scorer, dataset).static()
    with pytest.raises(InputError, match=r"times \(--times\): the protocol regcn has time-aware ranks and static ones"):
        evaluate(scorer, dataset, protocol="regcn", times="static")
    with pytest.raises(
        InputError, match=r"protocol \(--protocol\): the triples of dataset random have no times. Leave it out"
    ):
        evaluate(lambda h, r, t: h, random_dataset(), protocol="regcn")
    raw = evaluate(scorer, dataset, protocol="regcn", filter=())
    assert "static_greater" not in raw.columns
    assert unwrapped(raw.provenance).count("unfiltered") == 1


# ICEWS14


def labels_of(table: RankTable) -> list[tuple[str, ...]]:
    names = ("head_label", "relation_label", "tail_label", "time", "side")
    return [*zip(*(table.column(name).astype(str).tolist() for name in names), strict=True)]


def labelled(folder) -> Dataset:
    """A folder of RE-Net, with ids for labels."""
    splits = {}
    for name in ("train", "valid", "test"):
        rows = (line.split()[:4] for line in (folder / f"{name}.txt").read_text().splitlines())
        splits[name] = [(f"e{h}", f"r{r}", f"e{t}", int(time)) for h, r, t, time in rows]
    columns = "head,relation,tail,time"
    return Dataset.from_labels(**splits, name="icews14", columns=columns)


def test_recurrency_on_icews14_has_the_counts_of_plain_numpy(shared):
    truth = shared / "cases/recurrency/icews14"
    dataset = labelled(shared / "data/renet-icews14")
    table = evaluate(Baseline("recurrency").fit(dataset), dataset, protocol="regcn")
    with (truth / "expected_ranks.tsv").open() as file:
        rows = csv.DictReader(file, delimiter="\t")
        expected = {
            (f"e{row['subject']}", f"r{row['relation']}", f"e{row['object']}", row["time"], row["side"]): tuple(
                int(row[f"{name}_{count}"]) for name in ("raw", "time", "static") for count in COUNTS
            )
            for row in rows
        }
    assert dict(zip(labels_of(table), all_counts(table), strict=True)) == expected
    printed, means = framework_metrics(table), json.loads((truth / "expected.json").read_text())["results"]
    for setting, name in (("raw_ent", "raw"), ("filter_ent", "time-aware"), ("static_ent", "static")):
        assert printed[f"MRR ({setting})"] == pytest.approx(means[name]["realistic"]["mrr"], rel=1e-6)
        assert printed[f"Hits ({setting}) @ 10"] == pytest.approx(means[name]["realistic"]["hits@10"], rel=1e-6)


def test_tkbc_on_icews14_has_the_ranks_of_plain_numpy(shared):
    """Its splits share all times, so that the facts of test alone are fewer known answers than those of all splits."""
    dataset = load_dataset(shared / "data/icews14")
    checkpoint = load_checkpoint(shared / "checkpoints/tkbc/icews14-TNTComplEx", dataset=dataset)
    table = evaluate(checkpoint, dataset, protocol="regcn", sides="tail")
    with (shared / "cases/tkbc-filters/icews14-TNTComplEx/expected_ranks.tsv").open() as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        expected = {
            tuple(row[name] for name in ("head", "relation", "tail", "time", "side")): tuple(
                int(row[rank]) - 1 for rank in ("raw", "time_aware_test_only", "static")
            )
            for row in rows
            if row["side"] == "tail"
        }
    assert dict(zip(labels_of(table), (counts[::3] for counts in all_counts(table)), strict=True)) == expected
    assert "at the times of test, 72,826 train facts and 8,941 valid facts hold too" in " ".join(table.notes)
