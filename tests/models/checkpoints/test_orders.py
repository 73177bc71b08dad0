"""Orders that no shape shows: facts of train decide, or the user is asked; a documented order may be refused.

The right values are by numpy, by the order in which each model was made.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from kgeval import Baseline, CallableScorer, evaluate, load_checkpoint, load_dataset, summarize
from kgeval.base.assumptions import read_as
from kgeval.base.errors import InputError
from kgeval.data.dataset import Dataset
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.models.order_check import better_reading

OPENKE = {"model": "TransE", "p_norm": 2, "norm_flag": False}
NAMED = {"model": "DistMult", "entity": "ent.weight", "relation": "rel.weight"}
OWN, TURNS = "own-names-of-torchkge/all", {"model": "ComplEx", "reciprocal": True}

CASES = [
    # folder and file, dataset, options, MRR or what is asked, what the line says
    (f"{OWN}/model.pt", f"{OWN}/data", {"model": "DistMult"}, 0.505036, "ids: dataset (MRR of train"),
    (f"{OWN}/model.pt", f"{OWN}/data", {"model": "DistMult", "ids": "sorted"}, 0.121524, ""),
    (f"{OWN}/model.pt", f"{OWN}/data", {"model": "DistMult", "ids": "dataset"}, 0.505036, ""),
    ("complex-interleaved/model.npz", "graph", {"model": "ComplEx"}, "take turns .complex.: MRR of train: halves", ""),
    ("complex-interleaved/model.npz", "graph", {"model": "ComplEx", "complex": "interleaved"}, 0.967949, ""),
    ("complex-interleaved/model.npz", "graph", {"model": "ComplEx", "complex": "halves"}, 0.208078, ""),
    ("inverses-alternate/model.npz", "graph", TURNS, "take turns .inverses.: MRR of train", ""),
    ("inverses-alternate/model.npz", "graph", {**TURNS, "inverses": "alternate"}, 1.0, ""),
    (
        "label-files-of-two/entities/transe.ckpt",
        "graph",
        OPENKE,
        "label files: entities.dict and entity2id.txt fit",
        "",
    ),
    ("label-files-of-two/relations/transe.ckpt", "graph", OPENKE, "relations.dict and relation2id.txt fit", ""),
    ("best-state-dict/model.pt", "graph", NAMED, "state_dict and best_state_dict and ema_state_dict fit", ""),
    ("best-state-dict/model.pt", "graph", {**NAMED, "state": "state_dict"}, 0.473431, ""),
    ("best-state-dict/model.pt", "graph", {**NAMED, "state": "best_state_dict"}, 0.505036, ""),
    ("negatives-without-side/model.npz", "graph", {"model": "ComplEx"}, 0.571140, ""),
    (
        f"{OWN[:-3]}relations/model.pt",
        f"{OWN[:-3]}relations/data",
        {"model": "DistMult"},
        0.480526,
        "ids: dataset (MRR",
    ),
]


@pytest.mark.parametrize(("model", "graph", "options", "expected", "line"), CASES)
def test_a_model_is_read_rightly_or_asked_about(shared, model, graph, options, expected, line):
    folder = shared / "tried-5" / "guesses"
    dataset = load_dataset(folder / graph)
    if isinstance(expected, str):
        with pytest.raises(InputError, match=expected):
            load_checkpoint(folder / model, dataset=dataset, **options)
        return
    found = load_checkpoint(folder / model, dataset=dataset, **options)
    table = evaluate(found, dataset)
    assert round(summarize(table, ["mrr"])["mrr"], 6) == pytest.approx(expected, abs=2e-6)
    assert line in read_as(table.assumptions)
    assert line or not read_as(table.assumptions)


def fitted(dataset, width=24, seed=0):
    """Vectors under which facts of train rank well: DistMult by a few steps of gradient descent, in numpy."""
    draw = np.random.default_rng(seed)
    entity, relation = (draw.normal(size=(len(labels), width)) / 4 for labels in (dataset.entities, dataset.relations))
    heads, relations, tails = dataset.train.ids.T
    for _ in range(1500):
        query = entity[heads] * relation[relations]
        scores = query @ entity.T
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        odds /= odds.sum(axis=1, keepdims=True)
        odds[np.arange(len(tails)), tails] -= 1
        back = odds @ entity / len(tails)
        step = np.zeros_like(entity)
        np.add.at(step, heads, back * relation[relations])
        of_relation = np.zeros_like(relation)
        np.add.at(of_relation, relations, back * entity[heads])
        entity -= 3 * (step + odds.T @ query / len(tails))
        relation -= 3 * of_relation
    return entity, relation


@pytest.fixture(scope="module")
def numbered():
    """A graph whose labels are numbers, so that they sort in one way as text and in another by value."""
    draw = np.random.default_rng(3)
    ids = np.unique(draw.integers((40, 12, 40), size=(150, 3)), axis=0)
    entities, relations = (
        Vocabulary([str(7 * n) for n in range(40)]),
        Vocabulary([str(n) for n in range(12)], "relation"),
    )
    splits = {"train": Triples.of(ids), "test": Triples.of(ids[:30])}
    return Dataset.build("numbers", splits, entities=entities, relations=relations, id_source="kgeval")


@pytest.mark.parametrize("order", ["sorted", "by-value"])
def test_facts_of_train_tell_numbers_as_text_from_numbers_by_value(tmp_path, numbered, order):
    torch = pytest.importorskip("torch")
    entity, relation = fitted(numbered)
    key = int if order == "by-value" else str
    used = [np.unique(numbered.train.ids[:, columns]) for columns in ([0, 2], [1])]
    rows = [
        sorted(ids.tolist(), key=lambda n, labels=labels: key(labels[n]))
        for ids, labels in zip(used, (numbered.entities, numbered.relations), strict=True)
    ]
    state = {"ent_emb.weight": torch.tensor(entity[rows[0]]), "rel_emb.weight": torch.tensor(relation[rows[1]])}
    torch.save(state, tmp_path / "model.pt")
    found = load_checkpoint(tmp_path / "model.pt", dataset=numbered, model="DistMult")
    (read,) = found.assumptions
    assert (read.about, read.taken, read.basis) == ("ids", order, "usual")
    said = load_checkpoint(tmp_path / "model.pt", dataset=numbered, model="DistMult", ids=order)
    assert found.entities == said.entities
    assert said.assumptions[0].basis == "said"
    draw = np.random.default_rng(1)
    torch.save({name: torch.tensor(draw.normal(size=it.shape)) for name, it in state.items()}, tmp_path / "model.pt")
    with pytest.raises(
        InputError,
        match=r"ids: sorted and by-value fit \(MRR of train: .*Say which: --option ids=sorted or ids=by-value",
    ):
        load_checkpoint(tmp_path / "model.pt", dataset=numbered, model="DistMult")


@pytest.mark.parametrize("seed", range(20))
def test_an_untrained_model_decides_nothing(numbered, seed):
    draw = np.random.default_rng(seed)
    scores = [draw.normal(size=(40, 40)) for _ in range(2)]
    readings = {str(n): Table(it) for n, it in enumerate(scores)}
    assert better_reading(readings, numbered)[0] is None


class Table:
    num_entities, num_relations = 40, 12

    def __init__(self, scores):
        self.table = scores

    def scores(self, queries, candidates):
        return self.table[queries.anchors][:, candidates]


def test_only_a_clear_contradiction_of_a_documented_order_is_refused(tmp_path, numbered):
    entity, relation = fitted(numbered)
    zeros = np.zeros_like(entity), np.zeros_like(relation)
    halves = {"entity": np.hstack([entity, zeros[0]]), "relation": np.hstack([relation, zeros[1]])}
    turns = {
        name: array.reshape(len(array), 2, -1).swapaxes(1, 2).reshape(len(array), -1) for name, array in halves.items()
    }
    noise = {name: np.random.default_rng(5).normal(size=array.shape) for name, array in halves.items()}
    for name, arrays in (("halves", halves), ("turns", turns), ("noise", noise)):
        np.savez(tmp_path / f"{name}.npz", **arrays)
    (tmp_path / "entities.tsv").write_text("".join(f"{n}\t{label}\n" for n, label in enumerate(numbered.entities)))
    (tmp_path / "relations.tsv").write_text("".join(f"{n}\t{label}\n" for n, label in enumerate(numbered.relations)))
    for name in ("halves", "noise"):
        load_checkpoint(tmp_path / f"{name}.npz", dataset=numbered, model="ComplEx")
    with pytest.raises(InputError, match="seem to take turns"):
        load_checkpoint(tmp_path / "turns.npz", dataset=numbered, model="ComplEx")
    rightly = load_checkpoint(tmp_path / "turns.npz", dataset=numbered, model="ComplEx", complex="interleaved")
    assert np.array_equal(rightly.family.entity, halves["entity"])
    with pytest.raises(InputError, match="complex='pairs': expected complex=halves or complex=interleaved"):
        load_checkpoint(tmp_path / "turns.npz", dataset=numbered, model="ComplEx", complex="pairs")


def test_baselines_have_no_order():
    assert evaluate(Baseline("popularity"), "nations").assumptions == ()


@pytest.mark.parametrize(("folder", "expected"), [("entities", 0.462371), ("relations", 0.506809)])
def test_a_folder_with_one_of_two_label_files_decides(shared, tmp_path, folder, expected):
    place = shared / "tried-5" / "guesses" / "label-files-of-two" / folder
    for name in ("entity2id.txt", "relation2id.txt"):
        (tmp_path / name).write_text((place / name).read_text())
    dataset = load_dataset(shared / "tried-5" / "guesses" / "graph")
    found = load_checkpoint(place / "transe.ckpt", dataset=dataset, **OPENKE, labels=str(tmp_path))
    assert round(summarize(evaluate(found, dataset), ["mrr"])["mrr"], 6) == expected


def test_label_files_that_agree_or_are_of_other_sizes_are_no_question(tmp_path, numbered):
    np.savez(tmp_path / "m.npz", entity=np.ones((40, 2)), relation=np.ones((12, 2)))
    (tmp_path / "entities.tsv").write_text("".join(f"{n}\t{label}\n" for n, label in enumerate(numbered.entities)))
    (tmp_path / "relations.tsv").write_text("".join(f"{n}\t{label}\n" for n, label in enumerate(numbered.relations)))
    same = "".join(f"{n}\t{label}\n" for n, label in enumerate(numbered.entities))
    for other in (same, "0\tx\n1\ty\n"):
        (tmp_path / "entities.dict").write_text(other)
        assert load_checkpoint(tmp_path / "m.npz", dataset=numbered, model="DistMult").entities == numbered.entities


def test_states_that_are_equal_or_lack_tensors_are_no_question(tmp_path, numbered):
    torch = pytest.importorskip("torch")
    state = {"ent.weight": torch.ones(40, 2), "rel.weight": torch.ones(12, 2)}
    content = {"state_dict": state, "best": dict(state), "optimizer": {"ent.weight": torch.zeros(40, 2)}, "epoch": 3}
    torch.save(content, tmp_path / "model.pt")
    assert load_checkpoint(tmp_path / "model.pt", dataset=numbered, ids="dataset", **NAMED).num_entities == 40
    torch.save({**content, "ema": {name: it + 1 for name, it in state.items()}}, tmp_path / "model.pt")
    with pytest.raises(InputError, match=r"state_dict and ema fit\. Say which: the option state=NAME"):
        load_checkpoint(tmp_path / "model.pt", dataset=numbered, ids="dataset", **NAMED)
    found = load_checkpoint(tmp_path / "model.pt", dataset=numbered, ids="dataset", **NAMED, state="ema")
    assert found.family.entity[0, 0] == 2


def test_what_lists_and_rows_do_not_say_is_in_the_line(shared):
    folder = shared / "tried-5" / "guesses"
    graph = load_dataset(folder / "graph")
    found = load_checkpoint(folder / "lists-of-heads" / "heads.jsonl", dataset=graph)
    assert "lists: of tails (a head and a tail, and no side; if not: --option side=head)" in read_as(found.assumptions)
    said = load_checkpoint(folder / "lists-of-heads" / "heads.jsonl", dataset=graph, side="head")
    assert round(summarize(evaluate(said, graph), ["head.mrr"])["head.mrr"], 6) == 0.543728
    rows = load_checkpoint(folder / "score-rows-order", dataset="nations")
    assert "rows: the test triples of nations as PyKEEN sorts them (if not: put queries.tsv" in read_as(
        rows.assumptions
    )


@pytest.mark.parametrize(("scores", "noted"), [([0.1, 0.5, 0.9], True), ([0.9, 0.5, 0.1], False), ([1, 1, 1], False)])
def test_scores_that_rise_in_lists_are_noted(tmp_path, scores, noted):
    graph = load_dataset("nations")
    listed = [graph.entities[n] for n in (0, 1, 2)]
    triple = {"head": graph.entities[3], "relation": graph.relations[0]}
    (tmp_path / "lists.jsonl").write_text(json.dumps({**triple, "predictions": listed, "scores": scores}))
    found = load_checkpoint(tmp_path / "lists.jsonl", dataset=graph)
    assert (
        any("the first prediction has the lowest score in 1 of 1 lists" in note for note in found.model.notes) == noted
    )


def test_a_number_as_default_is_no_time_and_parameters_in_another_order_are_refused():
    def score(h, r, t, tau=0.07):
        return (h + r - t) / tau

    assert not CallableScorer(score, 3, 2).takes_times
    assert CallableScorer(lambda h, r, t, tau=None: h, 3, 2).takes_times
    assert CallableScorer(lambda h, r, t, tau: h, 3, 2).takes_times

    def exchanged(tail, relation, head):
        return tail

    for function in (exchanged, lambda t, r, h: t):
        with pytest.raises(InputError, match="the parameters of the scoring function are tail, relation, head"):
            evaluate(function, "nations")
    evaluate(lambda a, b, c: a, "nations")


def test_label_files_of_pandas_have_a_header(shared):
    found = load_checkpoint(shared / "tried-5" / "pykeen-label-header")
    assert "entity" not in found.entities
    assert len(found.entities) == found.num_entities


def test_the_order_that_the_user_says_counts_also_if_the_dataset_comes_later(tmp_path, numbered):
    torch = pytest.importorskip("torch")
    draw = np.random.default_rng(1)
    state = {
        "ent_emb.weight": torch.tensor(draw.normal(size=(40, 4))),
        "rel_emb.weight": torch.tensor(draw.normal(size=(12, 4))),
    }
    torch.save(state, tmp_path / "model.pt")
    for order in ("sorted", "by-value"):
        late = load_checkpoint(tmp_path / "model.pt", model="DistMult", ids=order)
        table = evaluate(late, numbered)
        assert table.assumptions[0][:3] == ("ids", order, "said")
    with pytest.raises(InputError, match="ids='backwards': expected ids=dataset or ids=sorted or ids=by-value"):
        load_checkpoint(tmp_path / "model.pt", model="DistMult", ids="backwards")


def test_a_check_without_train_decides_nothing(tmp_path):
    graph = Dataset.from_labels(test=[("a", "r", "b"), ("b", "r", "a")])
    np.savez(tmp_path / "m.npz", entity=np.eye(2), relation=np.ones((1, 2)))
    assert load_checkpoint(tmp_path / "m.npz", dataset=graph, model="ComplEx", ids="dataset").num_entities == 2


def test_states_of_other_shapes_or_with_nan_are_no_traceback(tmp_path, numbered):
    torch = pytest.importorskip("torch")
    state = {"ent.weight": torch.full((40, 2), float("nan")), "rel.weight": torch.ones(12, 2)}
    torch.save({"state_dict": state, "same": dict(state)}, tmp_path / "model.pt")
    load_checkpoint(tmp_path / "model.pt", dataset=numbered, ids="dataset", nan="worst", **NAMED)
    torch.save({"state_dict": state, "wide": {**state, "ent.weight": torch.ones(41, 2)}}, tmp_path / "model.pt")
    with pytest.raises(InputError, match="state_dict and wide fit"):
        load_checkpoint(tmp_path / "model.pt", dataset=numbered, ids="dataset", **NAMED)
    with pytest.raises(InputError, match=r"state_dict.*'wid'.*Did you mean 'wide'"):
        load_checkpoint(tmp_path / "model.pt", dataset=numbered, ids="dataset", **NAMED, state="wid")
