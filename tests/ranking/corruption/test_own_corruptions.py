"""Corruptions of one's own: taken as objects everywhere, by kind where a package declares them, and checked."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import kgeval
from kgeval import evaluate, generate_negatives, load_dataset
from kgeval.base.errors import ConfigError, InputError
from kgeval.data import entity_types
from kgeval.data.known import known_answers
from kgeval.data.queries import Queries, Rows
from kgeval.ranking.corruption import CorruptionGenerator, FileNegatives, OGBNegatives, TypeConstrained, Uniform
from kgeval.ranking.corruption import listed as of_files
from kgeval.ranking.corruption.candidates import Candidates
from kgeval.ranking.corruption.generator import generators
from kgeval.runs.config.load import load_config
from kgeval.runs.config.run_config import RunConfig


class FromList(CorruptionGenerator):
    """Corrupt a triple with the entities of a file of labels."""

    kind: Literal["list"] = "list"
    """the entities of a list"""
    path: str
    """a label a line"""

    @property
    def files(self):
        return (Path(self.path),)

    def read(self, dataset):
        return np.sort(dataset.entities.ids(Path(self.path).read_text().split()))

    def candidates(self, queries, known, dataset):
        return Candidates.shared(self.content(dataset))


class Whatever(CorruptionGenerator):
    """Returns what it is told to."""

    made: object

    def candidates(self, queries, known, dataset):
        return self.made(len(queries)) if callable(self.made) else self.made


def score(heads, relations, tails):
    return (heads * 7 + relations * 3 + tails * 5) % 11


@pytest.fixture
def listed(tmp_path):
    path = tmp_path / "entities.txt"
    path.write_text("china\nusa\nuk\negypt\n")
    return FromList(path=str(path))


@pytest.fixture
def declared(monkeypatch):
    """Declare the generator as an installed package would."""
    monkeypatch.setattr("importlib.metadata.EntryPoint.load", lambda point: FromList)
    points = [EntryPoint("list", "foreign:FromList", "kgeval.corruptions")]
    monkeypatch.setattr("kgeval.base.registries.entry_points", lambda group: points if group == points[0].group else [])
    generators.cache_clear()
    yield
    generators.cache_clear()


def test_a_generator_of_ones_own_is_taken_as_an_object(nations, listed):
    table = evaluate(score, nations, corruption=listed)
    negatives = {nations.entities.id(label) for label in ("china", "usa", "uk", "egypt")}
    heads, _, tails = nations.test.ids.T
    for side, answers in (("head", heads), ("tail", tails)):
        rows = table.where(table.column("side") == side)
        expected = [len(negatives | {int(answers[triple])}) for triple in rows.column("triple")]
        assert rows.column("raw_candidates").tolist() == expected
    assert table.provenance.candidates == "4 by FromList"
    drawn = next(generate_negatives(nations, listed, sides="head"))
    assert set(drawn["head"].to_pylist()) <= {"china", "usa", "uk", "egypt"}


def test_a_generator_of_ones_own_ranks_like_the_same_negatives(nations):
    everyone = Whatever(made=Candidates.shared(np.arange(14)))
    columns = ["greater", "tied", "candidates", "raw_greater", "raw_candidates"]
    full, own = (evaluate(score, nations, corruption=kind).to_pandas()[columns] for kind in (None, everyone))
    assert own.equals(full)


def test_pykeen_and_explain_take_it_too(nations, listed):
    from pykeen.datasets import Nations
    from pykeen.models import DistMult

    import kgeval.pykeen

    graph = Nations()
    model = DistMult(triples_factory=graph.training, random_seed=0)
    assert kgeval.pykeen.evaluate(model, graph, corruption=listed).provenance.candidates == "4 by FromList"
    evaluator = kgeval.pykeen.KGEvalEvaluator(corruption=Whatever(made=Candidates.shared(np.arange(3))))
    evaluator.evaluate(model, graph.testing.mapped_triples, use_tqdm=False)
    assert evaluator.table.column("raw_candidates").max() == 4


def config(tmp_path, block):
    path = tmp_path / "config.yaml"
    path.write_text(f"dataset: nations\nmodel: {tmp_path}\nevaluation:\n  corruption: {block}\n")
    return load_config(path)


def test_a_declared_generator_is_known_by_its_kind(tmp_path, listed, declared):
    import jsonschema

    loaded = config(tmp_path, f"{{kind: list, path: {listed.path}}}")
    assert loaded.evaluation.corruption == listed
    assert loaded.model_dump()["evaluation"]["corruption"] == {"kind": "list", "path": listed.path}
    assert list(generators())[-1] == "list"
    schema = RunConfig.model_json_schema()
    block = {"dataset": "nations", "model": "m", "evaluation": {"corruption": {"kind": "list", "path": "x"}}}
    jsonschema.validate(block, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**block, "evaluation": {"corruption": {"kind": "list", "count": 5}}}, schema)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("{kind: lists}", r"evaluation\.corruption: unknown kind 'lists' \(config line 4\)\. Did you mean 'list'\?"),
        ("{kind: list}", r"evaluation\.corruption\.path: required, but missing"),
        ("{kind: list, path: none.txt}", r"evaluation\.corruption\.path: no such file 'none\.txt'"),
        ("{kind: list, paht: x}", r"evaluation\.corruption\.paht: unknown key 'paht' .*Did you mean 'path'"),
    ],
)
def test_mistakes_in_a_declared_generator_are_told_like_others(tmp_path, declared, block, message):
    with pytest.raises(ConfigError, match=message):
        config(tmp_path, block)


def test_a_declared_generator_needs_a_kind_of_its_own(declared, monkeypatch):
    monkeypatch.setattr("importlib.metadata.EntryPoint.load", lambda point: Whatever)
    with pytest.raises(InputError, match="Whatever does not declare kind"):
        generators()
    monkeypatch.setattr("importlib.metadata.EntryPoint.load", lambda point: Uniform)
    with pytest.raises(InputError, match="two corruptions are called 'uniform'"):
        generators()


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ([[0, 1]], r"the corruption 'own' returned \[\[0, 1\]\]\. Return Candidates"),
        (Candidates.shared([0, 1]), "candidates are an int64 array of entity ids, not list"),
        (Candidates.shared(np.array([0.5])), r"not float64 of shape \(1,\)"),
        (Candidates.shared(np.array([3, 1])), "must be ascending and distinct"),
        (Candidates.shared(np.array([1, 1])), "must be ascending and distinct"),
        (Candidates.shared(np.array([13, 14])), "a candidate is entity 14, but the entities are 0 to 13"),
        (Candidates.shared(np.array([-1, 3])), "a candidate is entity -1"),
        (Candidates(Rows.of([[1]])), r"found candidates for 1 query; expected \d+"),
        (lambda size: Candidates(Rows.of([[2, 1]] * size)), "candidates of a query must be ascending and distinct"),
        (lambda size: Candidates(Rows.of([[99]] * size)), "a candidate is entity 99"),
    ],
)
def test_candidates_that_are_none_are_refused(nations, made, message):
    with pytest.raises(InputError, match=message):
        evaluate(score, nations, corruption=Whatever(made=made))
    with pytest.raises(InputError, match=message):
        next(generate_negatives(nations, Whatever(made=made)))


def test_rows_may_begin_below_the_end_of_the_row_before(nations):
    made = lambda size: Candidates(Rows.of([[5, 9], [1, 2], []][query % 3] for query in range(size)))  # noqa: E731
    table = evaluate(score, nations, corruption=Whatever(made=made))
    assert set(table.column("raw_candidates").tolist()) <= {1, 2, 3}


def test_shared_candidates_are_candidates_of_each_query(nations):
    queries = Queries.of(nations.test, "tail")
    shared, known = Candidates.shared(np.array([1, 4, 6])), known_answers(queries, [nations.train])
    own = Candidates(shared.per_query(len(queries)))
    allowed = np.arange(14) > 3
    for seen in (
        lambda it: it.max_width,
        lambda it: it.num_candidates(len(queries)),
        lambda it: it.positions(known.owners, known.ids),
        lambda it: it[2:3].ids_of(0),
        lambda it: it.restricted_to(allowed).ids_of(5),
    ):
        np.testing.assert_array_equal(seen(shared), seen(own))


@pytest.fixture
def reads(monkeypatch):
    """What the readers of files of candidates are called with."""
    called = []
    for module, name in (
        (of_files, "read_triples"),
        (of_files, "read_content"),
        (entity_types, "read_types_of_entities"),
    ):
        reader = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda path, *rest, read=reader: called.append(Path(path)) or read(path, *rest)
        )
    return called


def test_a_file_is_read_once_in_an_evaluation_and_in_a_run_of_several_models(tmp_path, nations, reads):
    from kgeval.models.families.bilinear import DistMult
    from kgeval.runs.runner import run

    path, rng = tmp_path / "negatives.tsv", np.random.default_rng(0)
    path.write_text("".join(f"{nations.entities[0]}\t{label}\t{nations.entities[1]}\n" for label in nations.relations))
    evaluate(score, nations, corruption=FileNegatives(path=str(path)))
    list(generate_negatives(nations, FileNegatives(path=str(path))))
    assert reads == [path, path]
    for name in "ab":
        model = DistMult(rng.normal(size=(14, 4)), rng.normal(size=(55, 4)))
        place = tmp_path / f"{name}.safetensors"
        kgeval.save_checkpoint(model, place, entities=nations.entities, relations=nations.relations)
    (tmp_path / "config.yaml").write_text(
        f"dataset: nations\nmodels: {{a: {tmp_path}/a.safetensors, b: {tmp_path}/b.safetensors}}\n"
        f"evaluation: {{corruption: {{kind: file, path: {path}}}}}\n"
    )
    outcomes = run(load_config(tmp_path / "config.yaml"), None)
    assert [len(outcome.ranks) for outcome in outcomes] == [402, 402]
    assert reads == [path] * 3


def test_a_prepared_generator_touches_no_file(tmp_path, nations, listed):
    prepared = listed.prepare(nations)
    expected = evaluate(score, nations, corruption=listed).to_pandas()
    Path(listed.path).unlink()
    assert evaluate(score, nations, corruption=prepared).to_pandas().equals(expected)
    assert prepared.prepare(nations) is prepared
    other = load_dataset("nations")
    with pytest.raises(FileNotFoundError):
        prepared.prepare(other)


@pytest.mark.parametrize(
    "generator", [FileNegatives(path="none.tsv"), OGBNegatives(path="none.pt"), TypeConstrained(path="none.txt")]
)
def test_a_missing_file_is_told_when_it_is_prepared(nations, generator):
    with pytest.raises(InputError, match="no such file '"):
        generator.prepare(nations)
