"""Models of tkbc: real ranks row by row, the three filters by plain numpy, and what is wrong with a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from kgeval import Dataset, Vocabulary, evaluate, framework_metrics, load_checkpoint, load_dataset, summarize
from kgeval.base.errors import CheckpointError, InputError
from kgeval.models.checkpoints.readers.native import save_checkpoint
from kgeval.models.families.complex import ComplEx, TComplEx, TNTComplEx

NAMES = ["entity", "relation", "time", "timeless"]


@pytest.fixture(scope="module")
def icews(shared: Path) -> Dataset:
    if not (shared / "data/icews14").is_dir():
        pytest.skip("needs data/icews14 in the folder of real graphs")
    return load_dataset(shared / "data/icews14")


@pytest.fixture(scope="module")
def fixture(shared: Path) -> Path:
    folder = shared / "checkpoints/tkbc/icews14-TNTComplEx"
    if not folder.is_dir():
        pytest.skip("needs checkpoints/tkbc in the folder of real checkpoints")
    return folder


@pytest.fixture(scope="module")
def table(fixture, icews):
    return evaluate(fixture, icews, protocol="tkbc")


def test_every_rank_is_tkbc_s_own(fixture, table):
    expected = pd.read_csv(fixture / "expected_ranks.tsv", sep="\t", comment="#", quoting=3, keep_default_na=False)
    columns = ["head_label", "relation_label", "tail_label", "time", "side"]
    mine = table.to_pandas().assign(**{name: table.column(name).astype(str) for name in columns})
    keys = ["head", "relation", "tail", "time", "side"]
    both = mine.drop(columns=keys[:3]).rename(columns=dict(zip(columns, keys, strict=True))).merge(expected, on=keys)
    assert len(both) == len(expected) == len(table) == 17926
    assert (1 + both.greater + both.tied).tolist() == both.filtered_rank.tolist()
    assert (1 + both.raw_greater + both.raw_tied).tolist() == both.raw_rank.tolist()


def test_the_metrics_are_those_that_tkbc_prints(fixture, table):
    printed = json.loads((fixture / "expected.json").read_text())["metrics"]["dataset.eval(test)"]
    mine = framework_metrics(table)
    for side in ("lhs", "rhs"):
        # Torch adds float32 in lanes, which moves the eighth digit.
        assert mine[f"MRR {side}"] == pytest.approx(printed["MRR"][side], rel=1e-7)
        for k, hits in zip((1, 3, 10), printed["hits@[1,3,10]"][side], strict=True):
            assert mine[f"hits@{k} {side}"] == pytest.approx(hits, rel=1e-7)
    assert "filtered by train, valid, test (time-aware)" in str(table.provenance)


def test_the_three_filters_on_icews14_are_those_of_plain_numpy(fixture, icews, table):
    """Of some test triples, by sets of facts and a matrix product; and the means that are known of all."""
    state = torch.load(fixture / "model.pt")
    entity, turned, dates, timeless = (
        _complex(state[f"embeddings.{index}.weight"].double().numpy()) for index in range(4)
    )
    labels = [line.split("\t")[0] for line in (fixture / "ent_id").read_text(encoding="utf-8").splitlines()]
    entity = entity[[labels.index(label) for label in icews.entities]]  # relations and times are sorted in both
    tables = {
        "raw": evaluate(fixture, icews, filter=()),
        "static": evaluate(fixture, icews, times="static"),
        "time-aware": table,
    }
    splits = icews.splits.values()
    known_at = {row for split in splits for row in zip(*split.ids.T.tolist(), split.contexts.tolist(), strict=True)}
    known = {row[:3] for row in known_at}
    rows, means = range(0, len(icews.test), 200), {}
    for name, found in tables.items():
        ranks = (1 + found.column("greater") + found.column("tied")).reshape(2, -1)
        for row in rows:
            (h, r, t), time = icews.test.ids[row].tolist(), int(icews.test.contexts[row])
            for side, (anchor, relation, answer) in enumerate([(t, r + 230, h), (h, r, t)]):
                scores = (
                    (entity[anchor] * (turned[relation] * dates[time] + timeless[relation])) @ entity.conj().T
                ).real
                others = [e for e in range(len(entity)) if e != answer]
                triples = [(e, r, t) if side == 0 else (h, r, e) for e in others]
                if name == "static":
                    others = [e for e, triple in zip(others, triples, strict=True) if triple not in known]
                if name == "time-aware":
                    others = [e for e, triple in zip(others, triples, strict=True) if (*triple, time) not in known_at]
                assert ranks[side, row] == 1 + (scores[others] >= scores[answer]).sum()
        means[name] = summarize(found, ["pessimistic.mrr"])["pessimistic.mrr"]
    expected = json.loads((fixture / "expected.json").read_text())["metrics"]
    unfiltered = np.mean([*expected["empty filter (not an upstream mode)"]["MRR"].values()])
    static = expected["static filter, dates ignored (not an upstream mode; numpy float64, pessimistic)"]["MRR"]["both"]
    assert means["raw"] == pytest.approx(unfiltered, rel=1e-6)
    assert means["static"] == pytest.approx(static, rel=1e-9)
    assert means["raw"] < means["time-aware"] < means["static"]


def _complex(halves):
    return halves[:, : halves.shape[1] // 2] + 1j * halves[:, halves.shape[1] // 2 :]


# Made ones


ENTITIES, TIMES = ["Ann", "Bea", "Cal", "Dan", "Eva"], ["2014-01-01", "2014-01-02", "2014-01-10"]


@pytest.fixture
def graph() -> Dataset:
    rng = np.random.default_rng(0)
    rows = [(rng.choice(ENTITIES), f"r{rng.integers(2)}", rng.choice(ENTITIES), rng.choice(TIMES)) for _ in range(60)]
    every = [(name, "r0", name, TIMES[index % 3]) for index, name in enumerate(ENTITIES)]
    return Dataset.from_labels(train=[*every, *rows[:30], ("Ann", "r1", "Bea", TIMES[0])], test=rows[30:])


def write(folder: Path, count: int, *, labels: bool = True, **shapes) -> Path:
    """A state_dict of this many tables, with ids in another order than the graph's where there are labels."""
    rng = np.random.default_rng(1)
    sizes = {"0": (5, 6), "1": (4, 6), "2": (3, 6), "3": (4, 6)} | shapes
    state = {f"embeddings.{index}.weight": torch.tensor(rng.normal(size=sizes[str(index)])) for index in range(count)}
    torch.save(state, folder / "model.pt")
    if labels:
        for name, there in (("ent_id", ENTITIES), ("rel_id", ["r0", "r1"]), ("ts_id", TIMES)):
            (folder / name).write_text("".join(f"{label}\t{index}\n" for index, label in enumerate(reversed(there))))
    return folder


@pytest.mark.parametrize(("count", "family"), [(2, ComplEx), (3, TComplEx), (4, TNTComplEx)])
def test_the_number_of_tables_says_which_model_it_is(tmp_path, graph, count, family):
    checkpoint = load_checkpoint(write(tmp_path, count))
    assert isinstance(checkpoint.family, family)
    table = evaluate(checkpoint, graph, protocol="tkbc")
    assert len(table) == 2 * len(graph.test)
    # By the definition, in the file's own ids.
    entity, turned, *rest = (_complex(checkpoint.family.arrays[name]) for name in NAMES[:count])
    label = {name: index for index, name in enumerate(reversed(ENTITIES))}
    for row in table.to_pandas().itertuples():
        h, t, r = label[row.head_label], label[row.tail_label], {"r1": 0, "r0": 1}[row.relation_label]
        time = 2 - TIMES.index(row.time)
        anchor, relation, answer = (h, r, t) if row.side == "tail" else (t, r + 2, h)
        vector = turned[relation] * (rest[0][time] if rest else 1) + (rest[1][relation] if count == 4 else 0)
        assert row.score == pytest.approx((entity[anchor] * vector * entity[answer].conj()).sum().real, rel=1e-12)


def test_without_labels_ids_are_those_of_sorted_labels(tmp_path, graph):
    (tmp_path / "bare").mkdir()
    (tmp_path / "labelled").mkdir()
    bare, labelled = write(tmp_path / "bare", 3, labels=False), write(tmp_path / "labelled", 3)
    for name, there in (("ent_id", sorted(ENTITIES)), ("rel_id", ["r0", "r1"]), ("ts_id", sorted(TIMES))):
        text = "".join(f"{label}\t{index}\n" for index, label in enumerate(there))
        (labelled / name).write_text(text)
    assert evaluate(bare, graph).data.equals(evaluate(labelled, graph).data)


def test_a_converted_model_keeps_the_labels_of_its_times(tmp_path, graph):
    checkpoint = load_checkpoint(write(tmp_path, 4))
    save_checkpoint(checkpoint, tmp_path / "native.safetensors")
    again = load_checkpoint(tmp_path / "native.safetensors")
    assert again.times == checkpoint.times == Vocabulary(TIMES[::-1], "time")
    assert again.describe()["times"] == 3
    assert evaluate(again, graph).data.equals(evaluate(checkpoint, graph).data)


def test_a_time_that_the_model_does_not_know_is_unseen(tmp_path, graph):
    folder = write(tmp_path, 3)
    (folder / "ts_id").write_text("2014-01-01\t0\n2014-01-02\t1\n2013-12-31\t2\n")
    with pytest.raises(InputError, match="that the model does not know"):
        evaluate(folder, graph)
    table = evaluate(folder, graph, unseen="drop")
    assert set(table.column("time")) == {"2014-01-01", "2014-01-02"}
    assert any("the model does not know 1 of the 3 times of labels." in note for note in table.notes)


@pytest.mark.parametrize(
    ("shapes", "why"),
    [
        ({"2": (3, 4)}, "entity and time must have the same width"),
        ({"3": (2, 6)}, r"timeless must have the shape \(4, 6\)"),
        ({"1": (3, 6), "3": (3, 6)}, "two rows per relation"),
        ({"0": (4, 6)}, "the model has 4 entity rows, but 5 entity labels"),
        ({"2": (2, 6)}, "the model has 2 time rows, but 3 time labels"),
    ],
)
def test_tables_that_do_not_fit_are_refused(tmp_path, shapes, why):
    with pytest.raises(CheckpointError, match=why):
        load_checkpoint(write(tmp_path, 4, **shapes))


def test_a_fifth_table_makes_another_model(tmp_path):
    with pytest.raises(CheckpointError, match=r"does not use the tensor 'embeddings\.4\.weight'"):
        load_checkpoint(write(tmp_path, 5, **{"4": (3, 6)}))
