"""Protocols that differ by the layout of a dataset: ULTRA and NBFNet, by ULTRA's own ranks; and InGram's ties."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import kgeval
from kgeval.base.errors import ConfigError
from kgeval.cli import main
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.protocols.protocol import find_protocol
from tests.data.test_inductive_graphs import EVALUATED, LEARNED, grail

ULTRA_RANKS = [("fb237-v1", "grail-fb237-v1-ind", ["valid", "test"]), ("ingram-nl-0", "ingram-nl-0", "test")]


def constant(h, r, t):
    return 0 * h


def expected_ranks(folder):
    return pd.read_csv(folder / "expected_ranks.tsv", sep="\t", keep_default_na=False)


def keyed(frame, *counts):
    keys = zip(*(frame[name].astype(str) for name in ("head", "relation", "tail", "side")), strict=True)
    return dict(zip(keys, zip(*(frame[name].tolist() for name in counts), strict=True), strict=True))


def test_every_rank_and_metric_is_ultras_own(shared):
    """Its valid and test triples of the inference graph are one split, of 822 ranks."""
    folder, graph = shared / "cases/ultra/fb237-v1", shared / "data/grail-fb237-v1-ind"
    expected, printed = expected_ranks(folder), json.loads((folder / "expected.json").read_text())["metrics"]
    data = kgeval.load_dataset(graph)
    table = kgeval.evaluate(folder, data, protocol="ultra")
    found = table.to_pandas()
    for name, labels in (("head", data.entities), ("relation", data.relations), ("tail", data.entities)):
        found[name] = [labels[row] for row in found[name]]
    assert len(found) == len(expected) == 822
    expected["candidates"] = expected["n_candidates"] + 1
    counts = ("greater", "tied", "candidates")
    assert keyed(found, *counts) == keyed(expected, *counts)
    metrics = kgeval.framework_metrics(table)
    for name, value in metrics.values.items():
        assert value == pytest.approx(printed[name], rel=2e-7), name  # sums in float32, in an order of its own
    assert metrics.texts["mrr"] == "0.48626"
    assert metrics.texts["hits@10"] == "0.656934"
    assert any("ultra ranks valid+test as one split in the layout grail." in note for note in metrics.notes)
    options = ["evaluate", str(folder), "--dataset", str(graph), "--protocol", "ultra"]
    whole, test = (CliRunner().invoke(main, [*options, *more]).output for more in ([], ["--split", "test"]))
    assert "411 valid+test triples, protocol ultra, filtered by train, valid, test" in whole
    assert "205 test triples, protocol ultra" in test
    assert "as one split" not in test
    kept = kgeval.check_numbers(table, {"mrr": "0.48626"})
    assert "ultra" in kept.matches[0].protocols


@pytest.mark.parametrize(("case", "graph", "split"), ULTRA_RANKS)
@pytest.mark.parametrize("form", ["tsv", "csv", "parquet"])
def test_files_of_ultras_ranks_are_read_in_every_form(shared, tmp_path, case, graph, split, form):
    """As it writes them, and with the names of columns that others give them: n_candidates is without the answer."""
    frame = expected_ranks(shared / "cases/ultra" / case)
    pessimistic = float((1 / frame["filtered_rank"]).mean())
    short = {"side": "direction", "head": "h", "relation": "r", "tail": "t", "filtered_rank": "rank"}
    for number, named in enumerate((frame, frame.rename(columns=short))):
        path = tmp_path / f"{number}.{form}"
        if form == "parquet":
            named.to_parquet(path, index=False)
        else:
            named.to_csv(path, index=False, sep="\t" if form == "tsv" else ",")
        table = kgeval.load_ranks(path, shared / "data" / graph, split=split)
        assert kgeval.summarize(table, "mrr", ties="pessimistic")["mrr"] == pytest.approx(pessimistic, rel=1e-12)
        assert sorted(table.column("candidates")) == sorted(frame["n_candidates"] + 1)


def test_ingram_counts_half_of_the_ties_without_the_answer():
    """By hand: two candidates are above the answer, n tie; with the filter, the answer itself is not counted."""
    entities = [f"e{index}" for index in range(9)]
    for num_tied, rank in ((0, 3), (1, 3), (2, 4), (3, 4), (4, 5), (5, 5)):
        scores = np.array([7.0, *[5.0] * num_tied, 9.0, 8.0, *[1.0] * (8 - num_tied)])[:9]
        answer = scores.copy()
        answer[0] = 5.0
        data = kgeval.Dataset.from_labels(
            train=[(entity, "other", "e0") for entity in entities], test=[("e8", "r", "e0")], entities=entities
        )
        score = lambda h, r, t, answer=answer: answer[t]  # noqa: E731
        table = kgeval.evaluate(score, data, protocol="ingram", sides="tail")
        assert kgeval.framework_metrics(table)["MR"] == rank
        assert kgeval.summarize(table, "mr", ties="rounded-down")["mr"] == rank
        threshold, filtered = answer[0], answer.copy()
        filtered[[0]] = threshold - 1  # its filter has the answer
        assert rank == (filtered > threshold).sum() + (filtered == threshold).sum() // 2 + 1


def test_triples_of_two_splits_count_as_often_as_they_stand_in_them(tmp_path):
    again = {**EVALUATED, "valid": [*EVALUATED["valid"] * 2, EVALUATED["test"][0]]}
    data = kgeval.load_dataset(grail(tmp_path, LEARNED, again))
    table = kgeval.evaluate(constant, data, entities=data.entities, protocol="ultra")
    assert len(table) == 2 * 3
    times = dict(zip(map(tuple, data.split("valid+test").ids.tolist()), [2, 2, 1], strict=True))
    columns = ("head", "relation", "tail", "candidates", "multiplicity")
    rows = list(zip(*(table.column(name).tolist() for name in columns), strict=True))
    assert [times[row[:3]] for row in rows] == [row[4] for row in rows]
    assert kgeval.framework_metrics(table)["mr"] == pytest.approx(sum(row[3] * row[4] for row in rows) / 10)


def test_explicit_settings_and_missing_splits_come_before_the_layout(tmp_path):
    data = kgeval.load_dataset(grail(tmp_path))
    ultra, nbfnet = find_protocol("ultra"), find_protocol("nbfnet")
    resolve = lambda protocol, **settings: protocol.resolve(Evaluation(**settings), data).evaluation  # noqa: E731
    assert (resolve(ultra).split, resolve(ultra, split="test").split) == ("valid+test", "test")
    assert resolve(nbfnet).filter == ("train",)
    assert resolve(nbfnet, filter=("train", "test")).filter == ("train", "test")
    (tmp_path / "small_ind/valid.txt").unlink()
    data = kgeval.load_dataset(tmp_path / "small_ind")
    assert (resolve(ultra).split, resolve(ultra).filter) == ("test", ("train", "test"))
    data = kgeval.load_dataset("nations")
    assert (resolve(ultra).split, resolve(nbfnet).filter) == ("test", ("train", "valid", "test"))
    with pytest.raises(ConfigError, match=r"protocol 'mine', of_layout: no 'splits'"):
        kgeval.Protocol(name="mine", summary="", of_layout={"grail": {"splits": "test"}})
    mine = kgeval.Protocol(name="mine", summary="", of_layout={"grial": {"split": "test"}})
    with pytest.raises(ConfigError, match=r"protocol 'mine', of_layout: no 'grial'. Did you mean 'grail'"):
        resolve(mine)


def test_runs_and_explanations_follow_the_layout(tmp_path):
    """The other protocols are compared on test; the difference by the layout's rules is one cause."""
    folder, out = grail(tmp_path), tmp_path / "out"
    config = tmp_path / "run.yaml"
    config.write_text(f"dataset: {{path: {folder}}}\nmodel: 'baseline:popularity'\nprotocol: ultra\noutput: {out}\n")
    for _ in range(2):
        ran = CliRunner().invoke(main, ["run", str(config)])
        assert ran.exit_code == 0, ran.output
    stored = kgeval.RankTable.from_parquet(out / "ranks.parquet")
    assert (stored.split, len(stored)) == ("valid+test", 6)
    data = kgeval.load_dataset(folder)
    model = kgeval.QueryScorer(lambda anchors, relations, side: np.tile(np.arange(4.0), (len(anchors), 1)))
    causes = kgeval.explain(model, data, ["ultra", "kbc"]).rows
    assert [sum(it.causes.values()) for it in causes] == pytest.approx(
        [it.value - kgeval.summarize(kgeval.evaluate(model, data), "mrr")["mrr"] for it in causes]
    )
    assert causes[0].causes["rules of the layout"]
    assert not causes[1].causes["rules of the layout"]
