"""Inductive datasets: the folders of five benchmarks, PyKEEN's by name, and what the two graphs share."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgeval
from kgeval import load_dataset
from kgeval.base.errors import DatasetError, UsageError
from kgeval.models.families.bilinear import DistMult
from tests.brute_force import as_counts, brute_force
from tests.data.folders import write

LEARNED = {
    "train": [("ant", "likes", "bee"), ("bee", "eats", "cat"), ("cat", "likes", "ant")],
    "valid": [("ant", "eats", "cat")],
    "test": [("bee", "likes", "cat")],
}
EVALUATED = {
    "train": [("xi", "likes", "yak"), ("yak", "likes", "zebu"), ("zebu", "likes", "wren")],
    "valid": [("xi", "likes", "zebu")],
    "test": [("wren", "likes", "xi"), ("yak", "likes", "wren")],
}
ILPC = {"train": "inference", "valid": "inference_validation", "test": "inference_test"}
INGRAM = {"train": "msg", "valid": "valid", "test": "test"}


def grail(tmp_path, learned=LEARNED, evaluated=EVALUATED):
    write(tmp_path / "small", learned)
    return write(tmp_path / "small_ind", evaluated)


def ilpc(tmp_path, learned=LEARNED, evaluated=EVALUATED):
    write(tmp_path / "small", {"train": learned["train"]})
    return write(tmp_path / "small", evaluated, ILPC)


def ingram(tmp_path, learned=LEARNED, evaluated=EVALUATED):
    write(tmp_path / "small", evaluated, INGRAM)
    return write(tmp_path / "small", {"train": learned["train"]})


def mtdea(tmp_path, learned=LEARNED, evaluated=EVALUATED):
    write(tmp_path / "small-trans", learned)
    graph = {split: evaluated[split] for split in ("train", "test")}
    return write(tmp_path / "small-ind", graph, {"train": "observe", "test": "test"})


def hm(tmp_path, learned=LEARNED, evaluated=EVALUATED):
    """As in INDIGO's repository: valid is of the training graph; samples of test with negatives lie beside it."""
    write(tmp_path / "small/train", {split: learned[split] for split in ("train", "valid") if split in learned})
    write(tmp_path / "small/train", {"train-labeled": [(*row, 1) for row in learned["train"]]})
    write(tmp_path / "small/test/test-random-sample", {"test0": [(*row, 0) for row in evaluated["test"]]})
    graph = {split: evaluated[split] for split in ("train", "test")}
    write(tmp_path / "small/test", graph, {"train": "test-graph", "test": "test-fact"})
    return tmp_path / "small"


FOLDERS = [grail, ilpc, ingram, mtdea, hm]


def pykeen(tmp_path):
    """Lay the files where PyKEEN keeps those that it downloaded, and load the dataset by its name."""
    cache = tmp_path / "ilpc2022small"
    write(cache / "training", {"train": LEARNED["train"]})
    write(cache / "inference", EVALUATED, ILPC)
    return {"cache_root": tmp_path}


def score(h, r, t):
    return h + t


def facts(data, split):
    return {data.triple(*row) for row in data.split(split).ids.tolist()}


@pytest.mark.parametrize("write_folder", FOLDERS)
def test_the_inference_graph_is_evaluated(tmp_path, write_folder):
    data = load_dataset(write_folder(tmp_path))
    assert data.layout == write_folder.__name__
    learned_splits = {"grail": LEARNED, "mtdea": LEARNED, "hm": ("train", "valid")}.get(data.layout, ("train",))
    assert set(data.training_graph.splits) == set(learned_splits)
    assert list(data.entities) == ["wren", "xi", "yak", "zebu"]
    assert list(data.relations) == ["eats", "likes"]  # those of the training graph, in its order
    assert set(data.splits) == set(EVALUATED) - ({"valid"} if write_folder in (mtdea, hm) else set())
    for split in data.splits:
        assert facts(data, split) == {f"({h}, {r}, {t})" for h, r, t in EVALUATED[split]}
    assert facts(data.training_graph, "train") == {f"({h}, {r}, {t})" for h, r, t in LEARNED["train"]}
    assert list(data.training_graph.relations) == list(data.relations)
    assert not set(data.training_graph.entities) & set(data.entities)
    assert data.notes[0].startswith("inductive dataset: models learn from the ")
    assert len(data.notes) == 1
    assert "New to the training graph" not in data.notes[0]
    assert {file.name for file in data.training_graph.files} <= {file.name for file in data.files}


def test_pykeens_datasets_are_known_by_name(tmp_path):
    from kgeval.data.layouts.pykeen import names, read_named

    assert {"ilpc2022small", "inductivefb15k237", "umls"} <= set(names())
    data, folder = read_named("ILPC2022Small", **pykeen(tmp_path)), load_dataset(ilpc(tmp_path / "own"))
    assert (list(data.entities), list(data.relations)) == (list(folder.entities), list(folder.relations))
    assert all(facts(data, split) == facts(folder, split) for split in ("train", "valid", "test"))
    assert data.training_graph.name == "ilpc2022small/transductive_training"
    assert data.layout == folder.layout == "ilpc"
    assert list(data.training_graph.entities) == ["ant", "bee", "cat"]


def test_the_folder_of_the_training_graph_alone_says_what_is_beside_it(tmp_path):
    folder = grail(tmp_path).with_name("small")
    data = load_dataset(folder)
    assert data.training_graph is None
    assert "small_ind is beside this folder" in data.notes[0]
    assert load_dataset(folder, layout="grail").sha256() == load_dataset(tmp_path / "small_ind").sha256()


@pytest.mark.parametrize("write_folder", FOLDERS)
def test_a_graph_is_the_same_however_one_comes_to_its_folder(tmp_path, write_folder, monkeypatch):
    folder = write_folder(tmp_path / "a-trans_ind")
    data = load_dataset(folder)
    (tmp_path / "link").symlink_to(folder)
    monkeypatch.chdir(folder)
    for way in (tmp_path / "link", ".", f"../{folder.name}/."):
        assert load_dataset(way).sha256() == data.sha256()
    kgeval.save_dataset(data, tmp_path / "converted")
    assert load_dataset(tmp_path / "converted").layout == data.layout


@pytest.mark.parametrize(
    ("names", "called"),
    [
        (("small", "small_ind"), ("small", "small-ind")),
        (("small-trans", "small-ind"), ("a-trans-trans", "a-trans-ind")),
    ],
)
def test_the_two_folders_are_known_by_the_end_of_their_names_or_of_links_to_them(tmp_path, names, called):
    data = load_dataset((grail if names[0] == "small" else mtdea)(tmp_path / "real"))
    for old, new in zip(names, called, strict=True):
        (tmp_path / "real" / old).rename(tmp_path / f"{len(new)}")
        (tmp_path / new).symlink_to(tmp_path / f"{len(new)}")
    same = load_dataset(tmp_path / called[1])
    assert (same.sha256(), same.layout) == (data.sha256(), data.layout)


def test_a_graph_without_its_training_graph_is_an_ordinary_one(tmp_path):
    data = load_dataset(write(tmp_path / "small_ind", EVALUATED))
    assert (data.training_graph, data.notes) == (None, ())
    assert data.sha256() != load_dataset(grail(tmp_path)).sha256()


@pytest.mark.parametrize(("missing", "role"), [("small", "that models learn from"), ("small_ind", "that is evaluated")])
def test_a_missing_folder_of_the_pair(tmp_path, missing, role):
    grail(tmp_path)
    (tmp_path / missing).rename(tmp_path / "elsewhere")
    there = {"small": "small_ind", "small_ind": "small"}[missing]
    with pytest.raises(DatasetError, match=rf"two folders, small and small_ind, but '.*/{missing}' .the graph {role}"):
        load_dataset(tmp_path / there, layout="grail")


@pytest.mark.parametrize(("folder", "name"), [(grail, "test"), (ilpc, "inference_test")])
def test_a_missing_test_split(tmp_path, folder, name):
    place = folder(tmp_path)
    (place / f"{name}.txt").unlink()
    with pytest.raises(DatasetError, match=f"has no {name} file"):
        load_dataset(place, layout="grail" if folder is grail else "ilpc")


def test_what_the_graphs_share_and_lack_is_noted(tmp_path):
    """An entity in both graphs, a test triple that was learned, an unknown relation, an entity without a fact."""
    evaluated = {
        "train": [*EVALUATED["train"], ("ant", "likes", "xi"), ("cat", "likes", "xi")],
        "valid": [("xi", "knows", "yak")],
        "test": [("cat", "likes", "ant"), ("lone", "likes", "xi"), ("yak", "likes", "xi")],
    }
    notes = load_dataset(grail(tmp_path, evaluated=evaluated)).notes
    assert notes[1:] == (
        "2 of the 7 entities are in the training graph too, such as ant. A model may have learnt them.",
        "1 of 3 test triples are in the training graph too: (cat, likes, ant).",
        "1 of 1 validation triples have a relation that the training graph lacks: (xi, knows, yak).",
        "1 of 3 test triples have an entity that is in no triple of the inference graph: (lone, likes, xi).",
    )


def test_triples_of_the_training_graph_are_in_the_line_on_leaks(tmp_path):
    """Counted by label, and those of its train split alone."""
    more = [("ant", "likes", "bee"), ("xi", "likes", "ant"), ("xi", "eats", "wren")]
    evaluated = {**EVALUATED, "test": [*EVALUATED["test"], *more]}
    learned = {"train": [*LEARNED["train"], ("ant", "likes", "bee")], "valid": [("xi", "likes", "ant")]}
    data = load_dataset(grail(tmp_path, learned, evaluated))
    table, size = kgeval.evaluate(score, data), len(data.test)
    line = f"leaks: 1 of {size} test triples ({100 / size:.1f} %) is in the training graph"
    assert table.provenance.heads[1] == line
    table.to_parquet(tmp_path / "ranks.parquet")
    assert kgeval.RankTable.from_parquet(tmp_path / "ranks.parquet").leaks == table.leaks
    assert table.provenance.to_dict()["leaks"]["in_training_graph"] == 1
    shards = [kgeval.evaluate(score, data, restrict_relations_to=[name]) for name in ("likes", "eats")]
    assert [shard.leaks is None for shard in shards] == [False, True]
    assert kgeval.RankTable.concat(shards).leaks == table.leaks
    assert kgeval.evaluate(score, load_dataset(grail(tmp_path / "apart"))).leaks is None


def test_graphs_without_a_common_relation_are_refused(tmp_path):
    evaluated = {split: [(h, "knows", t) for h, _, t in rows] for split, rows in EVALUATED.items()}
    for learned in (LEARNED, {**LEARNED, "valid": [("ant", "knows", "cat")]}):
        with pytest.raises(DatasetError, match=r"the inference graph shares no relation with the training graph small"):
            load_dataset(grail(tmp_path, learned, evaluated))


@pytest.mark.parametrize("write_folder", [ingram, mtdea])
def test_all_relations_of_the_inference_graph_may_be_new_where_the_benchmark_is_about_that(tmp_path, write_folder):
    evaluated = {split: [(h, "knows", t) for h, _, t in rows] for split, rows in EVALUATED.items()}
    data = load_dataset(write_folder(tmp_path, evaluated=evaluated))
    assert list(data.relations) == ["eats", "likes", "knows"]
    assert data.notes[0].endswith(" New to the training graph: 1 of 1 relation.")
    assert data.notes[1].startswith("3 of 3 train triples have a relation that the training graph lacks: (xi, knows")


def test_candidates_of_a_folder_of_ingram_are_those_that_ultra_counts(shared):
    """Its own loader and filter: for every test triple and side, as many entities compete, the answer left out."""
    data = load_dataset(shared / "data/ingram-nl-0")
    assert len(data.training_graph.train) == 7796
    table = kgeval.evaluate(lambda h, r, t: 0 * h, data, entities=data.entities, relations=data.relations).to_pandas()
    lines = (shared / "cases/ultra/ingram-nl-0/expected_ranks.tsv").read_text("utf-8").splitlines()
    columns, *rows = (line.split("\t") for line in lines)
    found = [dict(zip(columns, row, strict=True)) for row in rows]
    expected = {(row["head"], row["relation"], row["tail"], row["side"]): int(row["n_candidates"]) + 1 for row in found}
    heads, tails = ([data.entities[row] for row in table[side]] for side in ("head", "tail"))
    keys = zip(heads, (data.relations[row] for row in table["relation"]), tails, table["side"], strict=True)
    assert dict(zip(keys, table["candidates"].tolist(), strict=True)) == expected
    assert len(expected) == len(table) == 2 * 763


def test_a_relation_of_the_training_graphs_valid_triples_alone_is_not_learned(tmp_path):
    learned, evaluated = (
        {**graph, "valid": [(h, "knows", t)]} for graph in (LEARNED, EVALUATED) for h, _, t in graph["valid"]
    )
    notes = load_dataset(grail(tmp_path, learned, evaluated)).notes
    assert notes[1] == "1 of 1 validation triples have a relation that the training graph lacks: (xi, knows, zebu)."


def test_models_of_the_training_graph_are_refused(tmp_path):
    data = load_dataset(grail(tmp_path))
    learned = data.training_graph
    with pytest.raises(UsageError, match=r"the model has the entities of the training graph small \(3 entities\)"):
        kgeval.evaluate(score, data, entities=learned.entities, relations=learned.relations)
    vectors = {"entity": np.ones((3, 2)), "relation": np.ones((2, 2))}
    with pytest.raises(UsageError, match=r"3 entity ids and no labels\. They may be those of the training graph"):
        kgeval.evaluate(DistMult(**vectors), data)


def test_ids_that_may_be_of_either_graph_are_refused(tmp_path):
    """Four entities are in each graph: without labels, nothing tells whose ids they are."""
    learned = {**LEARNED, "train": [*LEARNED["train"], ("cat", "likes", "dog")]}
    data = load_dataset(grail(tmp_path, learned=learned))
    with pytest.raises(UsageError, match="4 entity ids and no labels"):
        kgeval.evaluate(score, data)
    assert len(kgeval.evaluate(score, data, entities=data.entities)) == 4


def test_labels_in_any_order_and_of_both_graphs_are_matched(tmp_path):
    """A model of all entities knows those of the inference graph; the others do not compete."""
    data = load_dataset(grail(tmp_path))
    labels = [*reversed(list(data.entities)), *data.training_graph.entities]
    scores = np.random.default_rng(0).normal(size=(len(labels), 2, len(labels)))
    table = kgeval.evaluate(lambda h, r, t: scores[h, r, t], data, entities=labels)
    own = [labels.index(label) for label in data.entities]
    expected = brute_force(lambda h, r, t: scores[own[h], r, own[t]], data)
    assert as_counts(table) == expected
    assert table.column("raw_candidates").tolist() == [4] * 4


def test_stored_vectors_and_scorers_of_queries(tmp_path):
    """Vectors of the inference graph's entities, in an order of their own, and the same scores for whole queries."""
    data = load_dataset(grail(tmp_path))
    rng = np.random.default_rng(0)
    entity, relation = rng.normal(size=(4, 3)), rng.normal(size=(2, 3))
    order = [2, 0, 3, 1]
    np.savez(tmp_path / "model.npz", entity=entity[order], relation=relation)
    for name, labels in (("entities", [data.entities[row] for row in order]), ("relations", data.relations)):
        (tmp_path / f"{name}.tsv").write_text("".join(f"{row}\t{label}\n" for row, label in enumerate(labels)))
    model = kgeval.load_checkpoint(tmp_path / "model.npz", model="DistMult")
    expected = brute_force(lambda h, r, t: float((entity[h] * relation[r] * entity[t]).sum()), data)
    assert as_counts(kgeval.evaluate(model, data)) == expected
    queries = kgeval.QueryScorer(lambda anchors, relations, side: (entity[anchors] * relation[relations]) @ entity.T)
    assert as_counts(kgeval.evaluate(queries, data)) == expected


def counts_by_sets(evaluated, split, known, scores):
    """The definition, on sets of labels: of each side, the candidates above the answer, those that tie, and all."""
    entities = {label for part in evaluated.values() for h, _, t in part for label in (h, t)}
    facts = {row for part in known for row in evaluated.get(part, ())}
    counts = {}
    for h, r, t in {row for part in split.split("+") for row in evaluated.get(part, ())}:
        for side, fill in (("head", lambda e, r=r, t=t: (e, r, t)), ("tail", lambda e, h=h, r=r: (h, r, e))):
            others = {fill(entity) for entity in entities} - facts - {(h, r, t)}
            truth = scores[h, r, t]
            greater, tied = (sum(compare(scores[it], truth) for it in others) for compare in (np.greater, np.equal))
            counts[h, r, t, side] = (greater, tied, len(others) + 1)
    return counts


WHOLE = ("train", "valid", "test")


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    write_folder=st.sampled_from(FOLDERS),
    split=st.sampled_from(["valid", "test", None]),
    protocol=st.sampled_from(["standard", "ultra", "nbfnet", "ingram"]),
)
def test_candidates_and_filter_are_those_of_the_inference_graph(tmp_path_factory, seed, write_folder, split, protocol):
    """No entity and no triple of the training graph counts, whatever its labels sort to, under any protocol."""
    rng = np.random.default_rng(seed)

    def rows(entities, count):
        ends = rng.integers(0, len(entities), (count, 2))
        return [(entities[h], f"r{rng.integers(3)}", entities[t]) for h, t in ends.tolist()]

    labels = [f"e{index}" for index in rng.permutation(16)]
    learned = {"train": [*rows(labels[:8], 12), (labels[0], "r0", labels[1])], "valid": rows(labels[:8], 2)}
    evaluated = {"train": [*rows(labels[8:], 14), (labels[8], "r0", labels[9])]}
    evaluated |= {split: rows(labels[8:], 4) for split in ("valid", "test")}
    data = load_dataset(write_folder(tmp_path_factory.mktemp("random"), learned, evaluated))
    if "valid" not in data.splits:
        del evaluated["valid"]
        split = split and "test"
    scores = {(h, r, t): int(rng.integers(4)) for h in data.entities for r in data.relations for t in data.entities}
    named = lambda h, r, t: scores[data.entities[h], data.relations[r], data.entities[t]]  # noqa: E731
    score = lambda h, r, t: np.array([named(*map(int, row)) for row in zip(h, r, t, strict=True)])  # noqa: E731
    table = kgeval.evaluate(
        score, data, entities=data.entities, protocol=protocol, **({"split": split} if split else {})
    )
    merged = protocol == "ultra" and write_folder is grail and split is None
    assert table.split == split or ("valid+test" if merged else "test")
    known = ("train",) if protocol == "nbfnet" else WHOLE
    expected = counts_by_sets(evaluated, table.split, known, scores)
    found = {
        (data.entities[h], data.relations[r], data.entities[t], side): counts
        for (h, r, t, side), (*counts, _, _, _) in ((key, map(int, it)) for key, it in as_counts(table).items())
    }
    assert {key: tuple(it) for key, it in found.items()} == expected
    rank = {
        "ultra": lambda a, tied: a + tied,
        "nbfnet": lambda a, tied: a + tied,
        "ingram": lambda a, tied: a + tied // 2,
    }
    if protocol in rank:
        each = {key: rank[protocol](1 + greater, tied) for key, (greater, tied, _) in expected.items()}
        repeated = [row for part in table.split.split("+") for row in evaluated[part]]
        ranks = [each[(*row, side)] for row in repeated for side in ("head", "tail")]
        metrics = kgeval.framework_metrics(table)
        assert metrics["MR" if protocol == "ingram" else "mr"] == pytest.approx(np.mean(ranks), rel=1e-6)


def test_uniform_negatives_are_of_the_inference_graph(tmp_path):
    data = load_dataset(grail(tmp_path))
    corruption = {"kind": "uniform", "count": 2}
    table = kgeval.evaluate(score, data, entities=data.entities, corruption=corruption)
    assert table.column("candidates").max() <= 3
    assert table.provenance.candidates == "2 uniform (seed 0)"


def test_inspect_and_run(tmp_path):
    from click.testing import CliRunner

    from kgeval.cli import main

    folder, out = grail(tmp_path), tmp_path / "out"
    described = json.loads(CliRunner().invoke(main, ["inspect", str(folder), "--json"]).stdout)["training graph"]
    triples = {"train": 3, "valid": 1, "test": 1}
    assert described == {"name": "small", "entities": 3, "relations": 2, "triples": triples}
    config = tmp_path / "run.yaml"
    config.write_text(f"dataset: {{path: {folder}}}\nmodel: 'baseline:popularity'\noutput: {out}\n")
    ran = CliRunner().invoke(main, ["run", str(config)])
    assert ran.exit_code == 0, ran.output
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["dataset"]["training_graph"]["entities"] == 3
    assert manifest["notes"][0].startswith("inductive dataset: models learn from the ")
