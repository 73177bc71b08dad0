"""Comparisons as tables for papers: which cells are marked, that they compile, and that CSV reads back."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from kgeval import compare, evaluate
from kgeval.base.tables.table import Table, escape_latex, written
from tests.conftest import random_dataset, unwrapped
from tests.metrics.example_ranks import changed

METRICS = ["mrr", "hits@1", "mr", "count"]


def toy(seed):
    return lambda h, r, t: (h * (31 + seed) + r * 7 + t * (7 + seed)) % 11


def close(h, r, t):
    """Nearly the first toy: few ranks differ."""
    return toy(0)(h, r, t) + ((h + t) % 97 == 0)


@pytest.fixture(scope="module")
def comparison(nations):
    models = {"R&D_50% {x}": toy(0), "near": close, "far | *off*": lambda h, r, t: h * 0 - t}
    return compare({name: evaluate(model, nations) for name, model in models.items()}, METRICS, draws=999)


@pytest.fixture(scope="module")
def wrapped(nations):
    models = {"word " * 40: toy(0), "short": toy(1)}
    return compare({name: evaluate(model, nations) for name, model in models.items()}, ["mrr"], draws=99)


def columns_of(table):
    """The cells of each metric, by its title."""
    return dict(zip(table.columns[1:], list(zip(*table.rows, strict=True))[1:], strict=True))


def test_the_best_is_bold_and_what_is_not_seen_to_be_worse_is_near(comparison):
    (table,) = comparison.papers()
    columns = columns_of(table)
    assert list(columns) == ["MRR ↑", "Hits@1 ↑", "MR ↓", "count"]
    marks = 0
    for cells, name in zip(columns.values(), METRICS, strict=True):
        values = {model: comparison.of(model, name) for model in comparison.models}
        if name == "count":
            assert not any(cell.best or cell.near for cell in cells)
            continue
        best = comparison.best(name)
        assert [model for model, cell in zip(values, cells, strict=True) if cell.best] == [best]
        for model, cell in zip(values, cells, strict=True):
            pairs = [
                pair for pair in comparison.pairs if pair.name == name and {pair.model, pair.other} == {model, best}
            ]
            assert cell.near == any(pair.seen == "none" for pair in pairs)
            text = written(cell)
            assert float(text) == pytest.approx(values[model], abs=0.5 * 10 ** -len(text.partition(".")[2]))
            marks += cell.near
    assert marks
    assert any(
        "sign-flip test over triples, " in note and "adjusted for 3 pairs of models per metric" in note
        for note in table.notes
    )


def test_the_latex_has_its_structure(comparison):
    latex = comparison.to_latex()
    body = latex[latex.index(r"\midrule") : latex.index(r"\bottomrule")].splitlines()[1:]
    assert len(body) == 3
    assert all(row.count("&") - row.count(r"\&") == len(METRICS) and row.endswith(r"\\") for row in body)
    assert body[0].startswith(r"R\&D\_50\% \{x\} & ")
    assert latex.count(r"\bfseries") == 3
    assert r"\underline{\tablenum[table-format=1." in latex
    assert latex.count("S[table-format=") == len(METRICS)
    begun, ended = (re.findall(rf"\\{word}{{(\w+)}}", latex) for word in ("begin", "end"))
    assert begun == ended[::-1] == ["table", "tabular"]
    assert r"{MRR $\uparrow$} & {Hits@1 $\uparrow$} & {MR $\downarrow$} & {count}" in latex


LABELS = [
    "a_b",
    "50%",
    "R&D",
    "{x}",
    "$x$",
    "a#b",
    "x^2",
    "~/x",
    r"a\b",
    "<script>",
    "Gödel",
    "🚀 שלום",
    "a\nb",
    '"q"',
    "a\x1b[2Jb",
]


@pytest.mark.parametrize("label", LABELS)
def test_no_label_is_a_command(label):
    words = r"\\(textbackslash|textasciicircum|textasciitilde|textless|textgreater|textbar|textquotedbl){}"
    plain = re.sub(words, "", escape_latex(label))
    assert not re.search(r"(?<!\\)[{}$&#%_^~]|\n", plain)
    assert plain.isprintable()


STARTS = ["*star", "[1cm]", " [", "🚀 is written in brackets", "*" * 50]
"""labels that the end of a row, or a rule, would take as its argument"""

STARTED = [
    Table(["", "mrr"], [[label, 0.5] for label in STARTS]),
    Table(["*", "mrr"], [[label, "text"] for label in STARTS], prose=True),
    Table(STARTS, [[*STARTS[:2], 0.5, 0.25, 0.125]], keys=2, heads=STARTS[:3]),
    Table(["", "a"], [["", "*"]], keys=1),
    Table(["a"], [["*"]], keys=0),
]


@pytest.mark.parametrize("table", STARTED)
def test_no_label_is_the_argument_of_the_row_above(table):
    """``\\\\*`` and ``\\\\[…]``, ``\\midrule[…]``: LaTeX looks for both behind spaces and the end of the line."""
    text = table.latex()
    assert text.count(r" \\") == len(table.rows) + 1 + bool(table.heads)
    assert not re.search(r"(\\\\|rule(\(lr\)\{[\d-]+\})?)\s*[*\[]", text)


def test_markdown_has_no_html_and_no_control_character_of_labels():
    bold, title = "<b>x</b>&\x1b[2J", "<script>"
    text = Table([bold, "mrr"], [[bold, 0.5]], title=title, notes=[title], heads=[title]).markdown()
    assert not re.search(r"<|&(?!(amp|lt|gt);)|\x1b", text)
    assert text.count("&lt;script&gt;") == 3
    assert text.count(r"&lt;b&gt;x&lt;/b&gt;&amp;\\x1b\[2J") == 2


def test_the_latex_compiles(comparison, wrapped, tmp_path):
    if (latex := shutil.which("pdflatex") or shutil.which("tectonic")) is None:
        pytest.skip("needs pdflatex or tectonic")
    packages = "".join(rf"\usepackage{{{name}}}" for name in ("booktabs", "siunitx"))
    hostile = escape_latex("<script> 🚀 שלום a_b {x} $5 ~^\\ Gödel “a--b”")
    head = rf"\documentclass{{article}}\usepackage[T1]{{fontenc}}{packages}"
    tables = "\n".join([comparison.to_latex(), wrapped.to_latex(), *(table.latex() for table in STARTED)])
    text = rf"{head}\begin{{document}}{hostile} {tables}\end{{document}}"
    (tmp_path / "table.tex").write_text(text, encoding="utf-8")
    options = [] if "tectonic" in latex else ["-interaction=nonstopmode", "-halt-on-error"]
    done = subprocess.run([latex, *options, "table.tex"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "table.pdf").stat().st_size > 5000


def test_long_labels_wrap_and_short_ones_do_not(comparison, wrapped):
    assert r"\arraybackslash}p{.35\linewidth} S[" in wrapped.to_latex()
    assert r"\begin{tabular}{l S[" in comparison.to_latex()


def test_the_csv_reads_back_to_the_same_numbers(comparison):
    rows = list(csv.DictReader(io.StringIO(comparison.to_csv())))
    assert [row["model"] for row in rows] == list(comparison.models)
    for row in rows:
        assert {name: float(row[name]) for name in METRICS} == {
            name: comparison.of(row["model"], name) for name in METRICS
        }
    frame = pd.read_csv(io.StringIO(comparison.to_csv()), index_col="model")
    assert frame.loc["near", "mrr"] == comparison.of("near", "mrr")


def test_an_undefined_metric_is_an_empty_cell():
    from kgeval import Dataset

    data = Dataset.from_labels(train=[("a", "r", "a")], test=[("a", "s", "a")])
    alone = compare({name: evaluate(lambda h, r, t: h + t, data) for name in ("a", "b")}, ["mrr", "amri"])
    assert alone.to_csv() == "model,mrr,amri\na,1.0,\nb,1.0,\n"
    assert "{--}" in alone.to_latex()
    assert "| – |" in alone.to_markdown()


def test_groups_are_the_rows_of_a_long_table():
    """A table of a relation and model a row, of two seeds too, goes on over pages with its head on each."""
    data = random_dataset(3, relations=30, triples=900)
    models = {name: [evaluate(toy(seed + place), data) for seed in (0, 2)] for place, name in enumerate("ab")}
    relations = len(set(models["a"][0].column("relation_label")))
    one = compare({name: runs[0] for name, runs in models.items()}, ["mrr", "mr"], by="relation", draws=99)
    for found, numbers in ((one, 2), (compare({"random": models}, ["mrr", "mr"], by="relation"), 2)):
        latex = found.to_latex()
        head, body = latex[: latex.rindex(r"\endfoot")], latex[latex.rindex(r"\endfoot") :]
        rows = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert len(rows) == 2 * relations > 45
        assert {row.count("&") for row in rows} == {1 + numbers}
        assert head.count(r"{Relation} & {Model} & {MRR $\uparrow$}") == 2
        assert latex.count(r"\begin{longtable}") == latex.count(r"\end{longtable}") == 1
        assert r"\begin{table" not in latex
        assert found.tables()[0].columns == ["relation", "model", "mrr", "mr"]


@pytest.mark.parametrize("reference", [None, "good", "alike", "bad"])
def test_marks_and_their_note_say_what_was_tested(nations, reference):
    """With a reference, models are compared with it alone, also if it is the best."""
    table = evaluate(toy(0), nations)
    rng, last = np.random.default_rng(1), table.column("candidates") - 1 - table.column("tied")
    moved = {"good": 0, "alike": rng.integers(0, 2, len(table)), "bad": 9}
    greater = {name: np.minimum(table.column("greater") + shift, last) for name, shift in moved.items()}
    tables = {name: changed(table, greater=column) for name, column in greater.items()}
    if reference == "good":
        tables["alike"] = changed(tables["good"], greater=np.where(rng.random(len(table)) < 0.01, 0, greater["good"]))
    found = compare(tables, ["mrr"], reference=reference, draws=999)
    (paper,) = found.papers()
    cells = {row[0]: row[1] for row in paper.rows}
    best = max(tables, key=lambda name: found.of(name, "mrr"))
    against = reference or best
    tested = {frozenset((pair.model, pair.other)): pair.seen for pair in found.pairs}
    for name, cell in cells.items():
        assert cell.best == (name == best)
        assert cell.near == (tested.get(frozenset((name, against))) == "none")
    (note,) = (note for note in paper.notes if "difference to" in note)
    told = f"difference to {'the best' if reference is None else f'{reference}, with which all others were compared'}"
    assert told in note
    assert note.startswith("Underlined: no significant" if any(cell.near for cell in cells.values()) else "Nothing is")
    assert note in unwrapped(found.to_markdown().replace("&gt;", ">").replace("\\", ""))


def test_equal_values_are_bold_and_the_note_on_marks_knows(nations):
    table = evaluate(toy(0), nations)
    worse = changed(table, greater=table.column("candidates") - 1 - table.column("tied"))
    (paper,) = compare({"one": table, "same": table, "worse": worse}, "mrr", draws=999).papers()
    assert [(row[1].best, row[1].near) for row in paper.rows] == [(True, False), (True, False), (False, False)]
    (note,) = (note for note in paper.notes if note.startswith("Nothing is underlined"))
    assert "every tested difference to the best is 0 (equal values, all in bold) or significant (p ≤" in note
