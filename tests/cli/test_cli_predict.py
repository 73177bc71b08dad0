"""``kgeval predict`` and ``kgeval answers``: the best candidates of queries, and sets that have the answer."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from kgeval import CallableScorer, PredictionTable, answers, evaluate, load_checkpoint, load_dataset, predict
from kgeval.analysis.answer_sets.answer_sets import AnswerSetTable
from kgeval.metrics.labels.fitted import threshold_of_precision
from kgeval.models.alignment import align
from kgeval.ranking.corruption import EntityList
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.predictions.predict import ModelPredictions
from kgeval.ranking.predictions.prediction_files import write_parts, written_rows
from kgeval.stored.stored_run import StoredRun
from tests.cli.conftest import write_vectors
from tests.data.folders import write

PREDICT = ["predict", "model", "--dataset", "graph/", "--option", "model=TransE", "--option", "norm=1"]


@pytest.fixture
def model(place):
    return load_checkpoint("model", model="TransE", norm=1)


@pytest.fixture
def numbered(place):
    """A graph of entities 0 … 29 in an order of their own, and a model of it."""
    rng = np.random.default_rng(0)
    for split, size in (("train", 90), ("valid", 12), ("test", 12)):
        columns = (rng.integers(0, top, size) for top in (30, 2, 30))
        write(Path("numbers"), {split: [(h, f"r{r}", t) for h, r, t in zip(*columns, strict=True)]})
    labels, entity = rng.permutation(30), rng.normal(size=(30, 4))
    write_vectors(Path("numbered"), labels, ["r0", "r1"], entity=entity, relation=rng.normal(size=(2, 4)))
    return load_checkpoint("numbered", model="DistMult"), load_dataset("numbers/")


NUMBERED = ["predict", "numbered", "--dataset", "numbers/", "--option", "model=DistMult"]


def test_json_is_the_table_of_the_library(data, model):
    printed = data(*PREDICT, "--query", "ant", "eats", "?", "--query", "?", "likes", "bee", "-k", 3)
    table = predict(model, "graph/", queries=[("ant", "eats", "?"), ("?", "likes", "bee")], k=3)
    assert printed["provenance"] == table.provenance.to_dict()
    assert [(block["side"], block["anchor"], block["relation"]) for block in printed["queries"]] == [
        ("tail", "ant", "eats"),
        ("head", "bee", "likes"),
    ]
    rows = [row for block in printed["queries"] for row in block["predictions"]]
    for name in ("place", "score", "greater", "tied", "raw_greater", "raw_tied", "candidates", "known", "is_of_type"):
        assert [row[name] for row in rows] == table.data[name].to_pylist(), name
    assert [row["entity"] for row in rows] == table.column("entity_label").tolist()


def test_the_rank_of_an_answer_is_that_of_an_evaluation(data, model, done):
    """On the terminal, in JSON, and in pandas: filtered under ``rank``, among all candidates under ``raw rank``."""
    nations = load_dataset("nations")
    table = evaluate(lambda h, r, t: (h * 31 + r * 5 + t * 7) % 11, nations)
    frame = table.to_pandas()
    assert (frame["rank"] == table.ranks).all()
    assert (table.column("rank") == 1 + table.column("greater") + table.column("tied") / 2).all()
    assert (frame["raw_greater"] > frame["greater"]).any()
    answers = predict(lambda h, r, t: (h * 31 + r * 5 + t * 7) % 11, nations, split="test", k=14).to_pandas()
    answers = answers[answers["is_answer"]]
    for row in frame[::9].itertuples():
        anchor, answer = (row.head, row.tail) if row.side == "tail" else (row.tail, row.head)
        same = (answers["side"] == row.side) & (answers["anchor"] == anchor) & (answers["entity"] == answer)
        (found,) = answers[same & (answers["relation"] == row.relation)].itertuples()
        assert (found.rank, found.raw_rank) == (row.rank, 1 + row.raw_greater + row.raw_tied / 2)
    told = data(*PREDICT, "--query", "ant", "eats", "?", "-k", 3)["queries"][0]["predictions"]
    own = predict(model, "graph/", queries=[("ant", "eats", "?")], k=3).to_pandas()
    assert [(one["rank"], one["raw_rank"]) for one in told] == list(zip(own["rank"], own["raw_rank"], strict=True))
    dropped = done(*PREDICT, "--query", "ant", "eats", "?", "--known", "drop").splitlines()[4]
    assert dropped.split() == ["rank", "entity", "score", "known", "of", "type"]


def test_a_baseline_predicts_too(data):
    printed = data("predict", "baseline:popularity", "--dataset", "graph/", "--query", "ant", "eats", "?", "-k", 2)
    assert len(printed["queries"][0]["predictions"]) == 2


def test_names_and_ties_are_shown(done, place):
    np.savez("model/arrays.npz", entity=np.zeros((8, 4)), relation=np.zeros((3, 4)))
    Path("names.tsv").write_text("ant\tthe ant\n")
    printed = done(*PREDICT, "--names", "names.tsv", "--query", "ant", "eats", "?", "-k", 1)
    assert "(the ant (ant), eats, ?)" in printed
    assert printed.splitlines()[-1].split() == ["1–8", "the", "ant", "(ant)", "0", "1–7", "new", "no"]


def test_every_query_of_a_split_is_written_to_a_file(done, model):
    assert done(*PREDICT, "--split", "valid", "--sides", "tail", "--out", "new/p.parquet", "--known", "drop") == ""
    expected = predict(model, "graph/", split="valid", sides="tail", known="drop")
    found = PredictionTable.from_parquet("new/p.parquet")
    assert found.data.equals(expected.data)
    assert found.provenance == expected.provenance


def test_the_first_queries_of_many_are_printed(place, done):
    Path("queries.tsv").write_text("ant\teats\t?\n" * 21)
    printed = done(*PREDICT, "-k", 2, "--queries", "queries.tsv", "-q")
    assert printed.count("raw rank") == 20
    assert "answers to 21 queries" in printed
    assert printed.splitlines()[-1].startswith("… and 1 more query. ")


def test_csv_has_all_rows_one_header_and_the_queries(done, numbered):
    """Every row of the library's table of more than 20 queries, on the terminal and in a file."""
    text = done(*NUMBERED, "-k", 2, "--format", "csv", "-q")
    table = predict(*numbered, k=2)
    assert table.queries > 20
    rows = [*csv.DictReader(text.splitlines())]
    assert [int(row["query"]) for row in rows] == table.column("query").tolist()
    assert [row["entity"] for row in rows] == table.column("entity_label").tolist()
    assert [float(row["score"]) for row in rows] == table.column("score").tolist()
    assert [float(row["raw_rank"]) for row in rows] == table.to_pandas()["raw_rank"].tolist()
    for row, query in zip(rows, table.data.to_pylist(), strict=True):
        anchor, missing = ("head", "tail") if query["side"] == "tail" else ("tail", "head")
        assert (row[anchor], row["relation"], row[missing]) == (query["anchor_label"], query["relation_label"], "?")
        assert row["side"] == query["side"]
    for name in ("p.csv", "p.json", "p.md", "p.tex"):
        assert done(*NUMBERED, "-k", 2, "--out", name, "-q") == ""
    assert Path("p.csv").read_text() == text
    assert len(json.loads(Path("p.json").read_text())["queries"]) == table.queries
    assert Path("p.md").read_text().count("| raw rank |") == table.queries
    assert Path("p.tex").read_text().count("bottomrule") == table.queries


def test_the_ending_of_a_file_is_that_of_its_format(refused, done, place):
    assert "expected a name that ends in .parquet, .csv, .jsonl, .json, .md or .tex" in refused(
        *PREDICT, "--out", "p.txt"
    )
    assert "another format than --out-format csv" in refused(*PREDICT, "--out", "p.json", "--out-format", "csv")
    for form in ("csv", "parquet"):
        done(*PREDICT, "--out", f"p.{form}")
        done(*PREDICT, "--out", f"{form}.dat", "--out-format", form)
        assert Path(f"{form}.dat").read_bytes() == Path(f"p.{form}").read_bytes()


def test_queries_come_from_files(data, model, numbered):
    Path("queries.tsv").write_text("ant\teats\t?\n?\tlikes\tbee\n")
    assert data(*PREDICT, "--queries", "queries.tsv") == data(
        *PREDICT, "--query", "ant", "eats", "?", "--query", "?", "likes", "bee"
    )
    Path("numbers/relation2text.txt").unlink(missing_ok=True)
    np.save("hr.npy", np.array([[7, 1], [29, 0]]))
    found = data(*NUMBERED, "--queries", "hr.npy", "-k", 1)["queries"]
    relations = list(numbered[1].relations)
    assert [(block["anchor"], block["relation"]) for block in found] == [("7", relations[1]), ("29", relations[0])]


def test_candidates_are_those_of_an_evaluation(data, done, model, refused):
    """The option of evaluate; only its candidates are printed, and a query of a split keeps its known answers."""
    Path("pool.txt").write_text("bee\nant\ncat\n")
    pool = ("--corruption", "entities:path=pool.txt")
    corruption = EntityList(path="pool.txt")
    queries = [("ant", "eats", "?"), ("?", "likes", "bee")]
    spelled = [word for query in queries for word in ("--query", *query)]
    expected = predict(model, "graph/", queries=queries, corruption=corruption)
    printed = data(*PREDICT, *pool, *spelled)["queries"]
    assert [row["entity"] for block in printed for row in block["predictions"]] == [*expected.column("entity_label")]
    assert {*expected.column("entity_label")} == {"ant", "bee", "cat"}
    assert ", candidates: 3 entities of file pool.txt" in done(*PREDICT, *pool, *spelled)
    done(*PREDICT, *pool, "--split", "valid", "--out", "p.parquet")
    assert PredictionTable.from_parquet("p.parquet").data.equals(
        predict(model, "graph/", split="valid", corruption=corruption).data
    )
    assert "no such file" in refused(*PREDICT, "--corruption", "entities:path=none.txt")


@pytest.mark.parametrize("split", ["test", None])
def test_ogb_takes_the_ten_best_tails_of_every_triple(done, numbered, split):
    """As its evaluator saves them: one array t_pred_top10 of 32-bit numbers, a row for each triple in order."""
    model, graph = numbered
    if split:
        done(*NUMBERED, "--out-format", "ogb-lsc", "--out", "top.npz")
        rows = graph.test.ids
    else:
        np.save("hr.npy", np.array([[7, 1], [29, 0], [7, 1]]))
        done(*NUMBERED, "--queries", "hr.npy", "--out-format", "ogb-lsc", "--out", "top.npz")
        rows = np.array([[graph.entities.id(head), relation, 0] for head, relation in (("7", 1), ("29", 0), ("7", 1))])
    with np.load("top.npz") as archive:
        assert archive.files == ["t_pred_top10"]
        found = archive["t_pred_top10"]
    assert (found.dtype, found.shape) == (np.int32, (len(rows), 10))
    for (head, relation, _), best in zip(rows.tolist(), found, strict=True):
        table = predict(model, graph, queries=[(head, relation, "?")])
        assert [str(number) for number in best] == table.column("entity_label").tolist()


@pytest.mark.parametrize(("count", "name"), [(15_000, "test-dev"), (10_000, "test-challenge")])
def test_ogb_names_its_files_by_their_size(done, numbered, count, name):
    np.save("hr.npy", np.tile([[7, 1], [29, 0]], (count // 2, 1)))
    done(*NUMBERED, "--queries", "hr.npy", "--out-format", "ogb-lsc", "--out", "folder")
    with np.load(f"folder/t_pred_wikikg90m-v2_{name}.npz") as archive:
        assert archive["t_pred_top10"].shape == (count, 10)


ANSWERS = ["answers", "model", "--dataset", "graph/", "--option", "model=TransE", "--option", "norm=1"]


def test_json_is_what_the_library_says(data, model):
    printed = data(*ANSWERS, "--coverage", 0.5, "--nonconformity", "gap", "--by", "side")
    found = answers(model, "graph/", coverage=0.5, nonconformity="gap")
    expected = {**found.to_dict(), "groups": [{"key": g.key, **g.to_dict()} for g in found.groups("side")]}
    assert printed == json.loads(json.dumps(expected))


def test_a_run_knows_its_model_and_dataset(data):
    of_run = data("answers", "run", "--coverage", 0.5, "--nonconformity", "softmax")
    of_checkpoint = data(*ANSWERS, "--coverage", 0.5, "--nonconformity", "softmax")
    for printed in (of_run, of_checkpoint):
        del printed["notes"]
    assert of_run == of_checkpoint
    assert data("answers", "run", "--filter", "none")["provenance"]["filter"] == []


def test_stored_ranks_are_enough_for_coverage_and_sizes(done, data):
    for split in ("valid", "test"):
        evaluate = ["evaluate", "model", "--dataset", "graph/", "--option", "model=TransE", "--option", "norm=1"]
        done(*evaluate, "--split", split, "--out", split)
    stored = data("answers", "test", "--valid", "valid", "--coverage", 0.5)
    scored = data(*ANSWERS, "--coverage", 0.5)
    assert any("smaller" in note for note in stored["notes"])
    assert (stored["coverage"], stored["limits"]) == (scored["coverage"], scored["limits"])


def test_the_sets_are_a_file(done, model):
    done(*ANSWERS, "--coverage", 0.5, "--per", "relation", "--out", "sets.parquet")
    written = AnswerSetTable.from_parquet("sets.parquet")
    assert written.data.equals(answers(model, "graph/", coverage=0.5, per="relation", list_sets=True).sets.data)


def test_a_run_whose_files_have_changed_is_refused(place, refused):
    labels = Path("graph/test.txt")
    text = labels.read_text()
    labels.write_text(text + "ant\teats\tant\n")
    assert "'graph/test.txt' has changed since it was ranked" in refused("answers", "run")
    labels.write_text(text)
    rng = np.random.default_rng(1)
    np.savez("model/arrays.npz", entity=rng.normal(size=(8, 4)), relation=rng.normal(size=(3, 4)))
    assert "'model/arrays.npz' has changed since it was ranked" in refused("answers", "run")
    Path("model/arrays.npz").unlink()
    assert "deleted or moved" in refused("answers", "run")


def test_a_run_of_a_baseline(done, data):
    done("evaluate", "baseline:popularity", "--dataset", "graph/", "--out", "counted")
    assert data("answers", "counted", "--coverage", 0.5)["provenance"]["model"] == "baseline popularity"


@pytest.fixture
def classified(done, numbered):
    """A run of a classification of the numbered model."""
    model = ("numbered", "--dataset", "numbers/", "--option", "model=DistMult")
    done("classify", *model, "--out", "labels", "-q")
    return model


def test_probabilities_are_those_of_the_run_of_a_classification(done, data, classified, numbered):
    table = predict(*numbered, k=3).with_probabilities(StoredRun(Path("labels")).labels().scored("valid"))
    done("predict", *classified, "-k", 3, "--probabilities", "labels", "--out", "p.jsonl", "-q")
    rows = [json.loads(line) for line in Path("p.jsonl").read_text().splitlines()]
    assert [row["probability"] for row in rows] == table.column("probability").tolist()
    content = data("predict", *classified, "-k", 3, "--probabilities", "labels")
    assert content["queries"][0]["predictions"][0]["probability"] == rows[0]["probability"]
    shown = done("predict", *classified, "-k", 3, "--probabilities", "labels", "--precision", 0.5)
    assert "probability" in shown
    done("predict", *classified, "-k", 3, "--probabilities", "labels", "--precision", 0.5, "--out", "q.jsonl", "-q")
    kept = [json.loads(line) for line in Path("q.jsonl").read_text().splitlines()]
    threshold = threshold_of_precision(StoredRun(Path("labels")).labels().scored("valid"), 0.5)
    assert kept == [row for row in rows if row["score"] >= threshold]


def test_probabilities_of_another_model_are_refused(refused, done, classified):
    other = ("predict", "baseline:popularity", "--dataset", "numbers/")
    assert "its scores are of another model or dataset" in refused(*other, "--probabilities", "labels")
    assert "not a run of kgeval classify" in refused(*other, "--probabilities", "run")
    assert "no such run directory 'label'. Nearby: 'labels'." in refused(*other, "--probabilities", "label")
    assert "--precision needs --probabilities RUN" in refused(*other, "--precision", 0.5)


def test_rows_are_the_same_however_many_are_in_memory(numbered):
    """Several tables, each of some queries, have the same rows as one table of all queries."""
    model, dataset = numbered
    whole = predict(model, dataset, k=4)
    aligned = ModelPredictions(align(model, dataset), dataset, Evaluation().for_model(align(model, dataset)))
    for size in (1, 5, 1000):
        parts = [*aligned.in_parts(4, at_a_time=size)]
        assert sum(part.queries for part in parts) == whole.queries
        rows = b"".join(written_rows(part, "csv", header=not number) for number, part in enumerate(parts))
        assert rows == written_rows(whole, "csv")
    assert next(aligned.in_parts(4, at_a_time=5)).queries == 5


@pytest.mark.parametrize("corruption", ["all", "typed"])
def test_a_file_of_parts_is_that_of_the_whole(tmp_path, corruption):
    """Rows in the order of the queries, whatever their sides, and in Parquet also what is known of all."""
    dataset, evaluation = load_dataset("nations"), Evaluation(corruption={"kind": corruption})
    size = {"num_entities": len(dataset.entities), "num_relations": len(dataset.relations)}
    scorer = align(CallableScorer(lambda h, r, t: (h * 5 + r * 3 + t * 7) % 11, **size), dataset)
    aligned = ModelPredictions(scorer, dataset, evaluation.for_model(scorer))
    rows = np.array([[1, 2, -1], [-1, 3, 4], [5, 6, -1], [-1, 7, 8], [2, 9, -1], [3, 1, -1]])
    whole = aligned.predict(3, rows)
    assert (np.diff(whole.column("query")) >= 0).all()
    for size in (1, 2, 4, 100):
        for form in ("csv", "jsonl"):
            write_parts(aligned.in_parts(3, rows, at_a_time=size), tmp_path / form, form)
            assert (tmp_path / form).read_bytes() == written_rows(whole, form)
        write_parts(aligned.in_parts(3, rows, at_a_time=size), tmp_path / "p.parquet", "parquet")
        again = PredictionTable.from_parquet(tmp_path / "p.parquet")
        assert again.to_pandas().astype(str).equals(whole.to_pandas().astype(str))
        assert again.provenance == whole.provenance
        assert again.notes == whole.notes
        assert PredictionTable.is_in(tmp_path / "p.parquet")


def test_candidates_of_a_file_serve_parts_without_any(tmp_path):
    """The file has negatives of one test query alone; the parts of the others have none, and are no mistake."""
    dataset = load_dataset("nations")
    head, relation, _ = dataset.test.ids[0].tolist()
    rows = [(dataset.entities[head], dataset.relations[relation], dataset.entities[tail]) for tail in range(14)]
    (tmp_path / "n.txt").write_text("".join("\t".join(row) + "\n" for row in rows))
    evaluation = Evaluation(corruption={"kind": "file", "path": str(tmp_path / "n.txt")}, sides=("tail",))
    size = {"num_entities": len(dataset.entities), "num_relations": len(dataset.relations)}
    scorer = align(CallableScorer(lambda h, r, t: t % 5, **size), dataset)
    aligned = ModelPredictions(scorer, dataset, evaluation.for_model(scorer))
    whole = aligned.predict(3)
    assert len(whole) == 3
    joined = write_parts(aligned.in_parts(3, at_a_time=7), tmp_path / "p.parquet", "parquet")
    assert PredictionTable.from_parquet(tmp_path / "p.parquet").notes == joined.notes == whole.notes
