"""The fingerprint of a graph: content alone counts, and all of it; comparisons go by it, not by names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgeval import Baseline, Dataset, Triples, Vocabulary, compare, evaluate, load_dataset
from kgeval.analysis.comparison.comparable import refuse_two_graphs
from kgeval.base.assumptions import Assumption
from kgeval.base.errors import InputError
from kgeval.data.fingerprint import fingerprint
from tests.cli.conftest import invoke
from tests.conftest import random_dataset

ROWS = {"train": [("a", "r", "b"), ("b", "s", "c"), ("c", "r", "a")], "test": [("a", "s", "c"), ("b", "r", "a")]}


def graph(**changes):
    return Dataset.from_labels(**{**ROWS, **changes})


@given(st.randoms(use_true_random=False))
def test_no_order_counts(draw):
    dataset = random_dataset(3)
    entities, relations = (
        draw.sample(range(len(labels)), len(labels)) for labels in (dataset.entities, dataset.relations)
    )
    splits = {}
    for split, triples in dataset.splits.items():
        ids = triples.ids[draw.sample(range(len(triples)), len(triples))]
        splits[split] = Triples.of(
            np.stack([np.take(entities, ids[:, 0]), np.take(relations, ids[:, 1]), np.take(entities, ids[:, 2])], 1)
        )
    labels = {}
    for name, order in (("entities", entities), ("relations", relations)):
        old = getattr(dataset, name)
        labels[name] = Vocabulary([old[order.index(place)] for place in range(len(order))], old.kind)
    assert fingerprint(Dataset.build("other", splits, **labels)) == fingerprint(dataset)


def with_fourth(cell):
    return graph(**{split: [(*row, cell(place)) for place, row in enumerate(rows)] for split, rows in ROWS.items()})


OTHERS = {
    "a fact less": lambda: graph(train=ROWS["train"][1:]),
    "a fact in another split": lambda: graph(train=ROWS["train"][1:], test=[*ROWS["test"], ROWS["train"][0]]),
    "head and tail exchanged": lambda: graph(train=[("b", "r", "a"), *ROWS["train"][1:]]),
    "a relation exchanged": lambda: graph(train=[("a", "s", "b"), *ROWS["train"][1:]]),
    "another label": lambda: graph(train=[("a", "r", "d"), *ROWS["train"][1:]]),
    "an entity without facts": lambda: graph(entities=["a", "b", "c", "d"]),
    "a relation without facts": lambda: graph(relations=["r", "s", "t"]),
    "a repeated fact": lambda: graph(train=[*ROWS["train"], ROWS["train"][0]]),
    "times": lambda: with_fourth(lambda place: "2014-01-01"),
    "other times": lambda: with_fourth(lambda place: f"2014-01-0{place + 1}"),
    "confidences": lambda: with_fourth(lambda place: 0.5),
    "other confidences": lambda: with_fourth(lambda place: 0.25),
    "false triples": lambda: with_fourth(lambda place: place != 1),
    "a training graph": lambda: replace(graph(), training_graph=graph(train=ROWS["train"][1:])),
}


def test_all_content_counts():
    prints = {name: fingerprint(make()) for name, make in OTHERS.items()} | {"itself": fingerprint(graph())}
    assert len({*prints.values()}) == len(prints)
    assert fingerprint(graph(name="other")) == prints["itself"]


def test_copies_of_umls_in_the_files_of_five_frameworks_are_one_graph(shared):
    copies = [load_dataset(path) for path in sorted(shared.glob("checkpoints/*/_data/umls"))]
    assert len(copies) >= 5
    assert {fingerprint(copy) for copy in [*copies, load_dataset("umls")]} == {fingerprint(copies[0])}


def popularity(dataset):
    return evaluate(Baseline("popularity"), dataset)


def test_two_graphs_of_one_name_are_refused_and_one_graph_of_two_names_is_compared(tmp_path):
    whole = random_dataset(4)
    fewer = replace(whole, train=whole.train[np.arange(len(whole.train)) > 3])
    renamed = replace(whole, name="WHOLE-1")
    tables = {"a": popularity(whole), "b": popularity(fewer)}
    with pytest.raises(
        InputError, match=rf"dataset: {whole.name} \(graph \w{{8}}\) in a; {whole.name} \(graph \w{{8}}\) in b"
    ):
        compare(tables)
    assert compare(tables, allow=["dataset"]).pairs
    same = compare({"a": tables["a"], "b": popularity(renamed)})
    assert not any("dataset" in note for note in same.notes)
    unsaid = compare({"a": tables["a"], "b": replace(tables["b"], fingerprint="")})
    assert any(
        "not known of the ranks of b, and perhaps different: graph (known by its name alone)" in note
        for note in unsaid.notes
    )


def test_every_command_takes_content_for_the_graph(tmp_path):
    sizes = (("train", 40), ("valid", 30), ("test", 30))
    lines = {s: [f"e{h}\tr{h % 3}\te{(5 * h + place) % 40}" for h in range(n)] for place, (s, n) in enumerate(sizes)}
    fewer = {**lines, "train": lines["train"][4:]}
    backwards = {split: rows[::-1] for split, rows in lines.items()}
    runs = {}
    for folder, model, splits in (
        ("one/kg", "popularity", lines),
        ("two/kg", "types", fewer),
        ("3/KG", "types", backwards),
    ):
        (tmp_path / folder).mkdir(parents=True)
        for split, rows in splits.items():
            (tmp_path / folder / f"{split}.txt").write_text("\n".join(rows) + "\n")
        runs[folder] = tmp_path / folder / "run"
        made = invoke(
            "evaluate", f"baseline:{model}", "--dataset", tmp_path / folder, "-m", "mrr", "--out", runs[folder]
        )
        assert made.exit_code == 0
    one, two, three = runs.values()
    page = tmp_path / "r.html"
    for command in (["compare", one, two, "-m", "mrr"], ["report", one, two, "--out", page]):
        result = invoke(*command)
        assert result.exit_code == 2
        assert "two different graphs are called 'kg'" in result.output
    assert invoke("compare", one, two, "-m", "mrr", "--allow", "dataset").exit_code == 0
    for command in (["compare", one, three, "-m", "mrr"], ["report", one, three, "--out", page]):
        assert invoke(*command).exit_code == 0
    by = ["summarize", one, "--by", "cardinality", "--dataset"]
    assert "has changed" not in invoke(*by, tmp_path / "3/KG").output
    assert "has changed since it was ranked" in invoke(*by, tmp_path / "two/kg").output


def test_the_runs_of_two_graphs_are_named_rightly():
    whole = random_dataset(4)
    table = popularity(whole)
    named = {"a1": ("A", "1"), "b1": ("B", "3"), "a2": ("A", "2")}
    tables = {model: replace(table, dataset=name, fingerprint=graph) for model, (name, graph) in named.items()}
    with pytest.raises(InputError, match="two different graphs are called 'A': those of a1 and of a2"):
        refuse_two_graphs(tables)
    assumed = replace(table, assumptions=(Assumption("ranks", "from 1", "usual"),))
    refuse_two_graphs({"a": table, "b": assumed, "c": replace(table, fingerprint="")})
