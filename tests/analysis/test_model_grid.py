"""Models over datasets and seeds: the numbers, marks and orders of the grid, in every form that it is written in."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

import kgeval
from kgeval import compare
from kgeval.analysis.comparison.block import order_of
from kgeval.base.errors import MetricError
from kgeval.base.notes import Note
from kgeval.cli.display import SortKey, arranged
from kgeval.ranking.corruption import Uniform
from tests.analysis.over_seeds import seed_differences

METRICS = ["mrr", "hits@10", "mr"]

STEPS = {"sums": (29, 31, 37), "products": (3, 5, 9), "two seeds": (41, 43)}


def model(step):
    return lambda h, r, t: (h * step + t * 7 + r) % 11


@pytest.fixture(scope="module")
def results():
    def of(name):
        data = kgeval.load_dataset(name)
        runs = {key: [kgeval.evaluate(model(step), data) for step in steps] for key, steps in STEPS.items()}
        return {**runs, "floor": kgeval.evaluate(lambda h, r, t: -t, data)}

    return {"nations": of("nations"), "umls": of("umls")}


@pytest.fixture(scope="module")
def grid(results):
    return compare(results, METRICS, baselines=["floor"], spread="seeds")


def ranks(table):
    return 1 + table.column("greater") + table.column("tied") / 2


FUNCTIONS = {"mrr": lambda r: (1 / r).mean(), "hits@10": lambda r: (r <= 10).mean(), "mr": np.mean}


def as_list(tables):
    return tables if isinstance(tables, list) else [tables]


def test_numbers_are_means_over_seeds_and_their_scatter(results, grid):
    frame = grid.to_frame()
    for dataset, models in results.items():
        for name, tables in models.items():
            for metric, function in FUNCTIONS.items():
                values = [function(ranks(table)) for table in as_list(tables)]
                row = frame[dataset][metric].loc[name]
                assert row["mean"] == pytest.approx(np.mean(values), rel=1e-12)
                assert row["runs"] == len(values)
                if len(values) < 3:
                    assert np.isnan(float(row["sd"] or np.nan))
                    continue
                assert row["sd"] == pytest.approx(np.std(values, ddof=1), rel=1e-9)
                block = next(one for one in grid.blocks if one.dataset == dataset)
                score = next(one for (model, key), one in block.scores.items() if (model, str(key)) == (name, metric))
                half = student.ppf(0.975, 2) * np.std(values, ddof=1) / np.sqrt(3)
                assert score.of_seeds.low == pytest.approx(max(np.mean(values) - half, 0), rel=1e-9)


def test_pairs_are_those_of_the_test_over_seeds(results, grid):
    runs = {name: as_list(tables) for name, tables in results["nations"].items()}
    expected = seed_differences(runs, METRICS, baselines=["floor"])
    assert [pair.to_dict() for pair in grid.blocks[0].pairs] == [pair.to_dict() for pair in expected]
    assert any("2 seeds" in pair.reason for pair in expected)


def test_equivalence_over_seeds_is_a_note(results):
    of_seeds = {"nations": {name: results["nations"][name] for name in ("sums", "products")}}
    grid = compare(of_seeds, "mrr", margin=0.05)
    (pair,) = grid.pairs
    difference, error = pair.difference, pair.interval.standard_error
    expected = student.cdf((abs(difference) - 0.05) / error, pair.degrees)
    assert pair.equivalence_p == pytest.approx(expected)
    (note,) = [note for note in grid.notes if "two one-sided t tests" in note]
    assert "at least 0.05, in either direction" in note
    assert note.startswith(f"equivalent: sums and products on nations {expected:.4f}: p of the hypothesis")


def test_single_runs_are_compared_by_sign_flips(results):
    alone = {name: {key: as_list(tables)[0] for key, tables in models.items()} for name, models in results.items()}
    found = compare(alone, "mrr", draws=99)
    expected = kgeval.compare(alone["umls"], "mrr", draws=99)
    assert [pair.to_dict() for pair in found.blocks[1].pairs] == [pair.to_dict() for pair in expected.pairs]
    assert "±" not in str(found)
    intervals = compare(alone, "mrr", draws=99, spread="interval").blocks[1].scores
    whole = kgeval.summarize(alone["umls"]["sums"], "mrr", intervals="triple").interval("mrr")
    assert next(score.interval for (name, _), score in intervals.items() if name == "sums") == whole


def test_too_few_draws_are_no_test_in_any_table(results):
    """Nothing is called significant, or ordered, where no p-value could have been small enough."""
    alone = {name: {key: as_list(tables)[0] for key, tables in models.items()} for name, models in results.items()}
    found = compare(alone, "mrr", draws=10)
    assert {pair.seen for pair in found.pairs} == {""}
    (told,) = (note for note in found.notes if "10 draws are too few" in note)
    assert Note.of(told).kind == "tests"
    assert not [note for note in found.notes if "significant" in note]
    latex = found.papers()[0].latex()
    assert "significant" not in latex
    assert "not tested: 10 draws are too few" in latex
    single = compare(alone["umls"], "mrr", draws=10).papers()[0].latex()
    assert "significant" not in single
    assert "Not tested: 10 draws are too few" in single


def test_the_best_is_bold_and_what_is_not_seen_to_differ_underlined(grid):
    (table,) = grid.papers()
    assert table.heads == ["nations"] * 3 + ["umls"] * 3
    for place, (block, metric) in enumerate((block, metric) for block in grid.blocks for metric in grid.metrics):
        cells = dict(zip(grid.models, (row[1 + place] for row in table.rows), strict=True))
        order = block.ranked(metric)
        assert [name for name, cell in cells.items() if cell.best] == [order[0]]
        for name, cell in cells.items():
            assert cell.near == (block.seen(metric, order[0], name) == "none")


def test_the_words_say_what_is_meant(grid, results):
    head, *leaks = grid.heads
    assert head.startswith("4 models on nations and umls, 201 and 661 test triples, protocol standard, filtered by")
    assert head.endswith(
        "candidates: all entities, ties: realistic; mean of up to 3 seeds ± 95 % interval (resampling seeds)"
    )
    assert leaks == [f"{name}: leaks: {results[name]['floor'].leaks.in_words('test')}" for name in ("nations", "umls")]
    notes = "\n".join(grid.notes)
    assert "nations, umls: fewer than 3 seeds: two seeds 2. Intervals and tests need at least 3 seeds." in notes
    assert "floor 1" not in notes
    assert "no intervals" not in notes
    assert "t test of means over seeds" in notes
    missing = compare({"nations": results["nations"], "umls": {"sums": results["umls"]["sums"]}}, "mrr")
    assert "umls: no run of products, two seeds, floor." in missing.notes
    assert "undefined" in str(missing)


def test_the_head_and_the_caption_name_ties_and_candidates(results):
    one = {"nations": {"sums": results["nations"]["sums"]}}
    head = "candidates: all 14 entities, ties: expected; mean of 3 seeds"
    found = compare(one, "mrr", ties="expected")
    assert head in found.heads[0]
    assert head in found.papers()[0].title
    sampled = kgeval.evaluate(model(29), kgeval.load_dataset("umls"), corruption=Uniform(count=5))
    mixed = compare({**one, "umls": {"sums": sampled}}, "mrr")
    assert "candidates" not in mixed.heads[0]
    assert ", ties: realistic; mean of up to 3 seeds" in mixed.heads[0]
    floored = compare({"nations": {name: results["nations"][name] for name in ("sums", "floor")}}, "mrr")
    assert "; mean of up to 3 seeds" in floored.heads[0]
    as_baseline = compare({"nations": {**one["nations"], "floor": results["nations"]["floor"]}}, baselines=["floor"])
    assert "; mean of 3 seeds" in as_baseline.heads[0]


def test_groups_are_rows(results):
    one = {"nations": {name: results["nations"][name] for name in ("sums", "products")}}
    found = compare(one, "mrr", by="side")
    columns, rows = found.table()
    assert columns == ["side", "model", "mrr"]
    assert [row[:2] for row in rows] == [[side, name] for side in ("head", "tail") for name in ("sums", "products")]
    for side, block in zip(("head", "tail"), found.blocks, strict=True):
        tables = results["nations"]["sums"]
        values = [(1 / ranks(table)[table.column("side") == side]).mean() for table in tables]
        assert next(iter(block.scores.values())).runs == pytest.approx(values, rel=1e-12)


def test_notes_on_the_pairs_of_groups_name_the_group(results):
    """Else the same two models need 40 seeds on a dataset, and 300 on it too."""
    one = {"nations": {name: results["nations"][name] for name in ("sums", "products")}}
    found = compare(one, "mrr", by="side", margin=0.05)
    needed, equivalent = (note for note in found.notes if "4 of 5 repetitions" in note or note.startswith("equivalent"))
    for pair in found.pairs:
        place = f"sums and products on nations {pair.group['side']}"
        assert f"{place} {pair.equivalence_p:.4f}" in equivalent
        assert (place in needed) == (pair.seen == "none")


def test_a_paper_explains_no_sign_of_orders_which_it_has_not(grid):
    assert any("not tested (A, B): " in note for note in grid.notes)
    (table,) = grid.papers()
    assert any(note.startswith("not tested: ") for note in table.notes)
    assert "(A, B)" not in grid.to_markdown() + grid.to_latex()


def test_the_head_of_groups_counts_the_triples_of_all(results):
    """201 of nations and 661 of umls, in the head, the caption and the provenance, not those of the first group."""
    models = {data: {name: runs[name] for name in ("sums", "products")} for data, runs in results.items()}
    for chosen in (models, {"umls": models["umls"]}):
        found = compare(chosen, "mrr", by="relation")
        sizes = {"nations": 201, "umls": 661}
        told = f" {' and '.join(str(sizes[name]) for name in chosen)} test triples, "
        assert told in found.heads[0]
        assert told in found.papers()[0].title
        assert {one["provenance"]["triples"] for one in found.to_dict()["models"]} == {sizes[name] for name in chosen}


def test_a_grid_tells_leaks_and_ties_as_a_model_does(results):
    """Ties of a run that moves most; leaks of each dataset."""
    tied = [kgeval.evaluate(lambda h, r, t, n=n: t % n, kgeval.load_dataset("umls")) for n in (2, 3, 5)]
    found = compare({"nations": {"sums": results["nations"]["sums"]}, "umls": {"tied": tied}}, "mrr")
    alone = [kgeval.summarize(table, "mrr") for table in tied]
    ties = max((summary.groups[0].ties for summary in alone), key=lambda one: one.gap)
    said = f"'tied' on umls from {ties.pessimistic_mrr:.3f} (pessimistic) to {ties.optimistic_mrr:.3f} (optimistic)"
    assert any(said in note for note in found.notes if note.startswith("the tie policy alone moves the MRR: "))
    assert f"umls: {alone[0].heads[1]}" in found.heads
    assert alone[0].heads[1].startswith("leaks: ")


def test_a_reference_that_a_dataset_lacks_is_not_compared_there(results):
    kept = {name: models if name == "nations" else {**models} for name, models in results.items()}
    del kept["umls"]["sums"]
    found = compare(kept, "mrr", reference="sums", baselines=["floor"])
    assert {(pair.dataset, pair.other) for pair in found.pairs} == {("nations", "sums")}
    assert "umls: no run of sums." in found.notes


def test_notes_of_one_kind_are_one_note_that_names_models_and_datasets(results):
    """Ten datasets, of which some have a note each of their own numbers."""

    def with_notes(table, *notes):
        return replace(table, notes=notes)

    table = results["nations"]["sums"][0]
    several = {
        f"d{place}": {
            "a": with_notes(table, f"{place} labels were cut.", "read as it is."),
            "b": with_notes(table, *(["7 labels were cut."] if place < 2 else []), "read as it is."),
        }
        for place in range(10)
    }
    found = compare(several, "mrr", draws=99)
    assert [note for note in found.notes if "labels" in note] == [
        f"a, b on d0, d1; a on {', '.join(f'd{place}' for place in range(2, 10))}: 0–9 labels were cut."
    ]
    assert found.notes.count("read as it is.") == 1
    assert found.heads[0].startswith("2 models on 10 datasets, 201 test triples, ")


def test_models_of_which_some_seeds_alone_are_equal_are_not_called_one(results):
    sums, products = results["nations"]["sums"], results["nations"]["products"]
    note = "sums and mixed have the same ranks in every row: are they one model?"
    for mixed, is_said in ((sums, True), ([*sums[:2], products[2]], False)):
        compared = compare({"nations": {"sums": sums, "mixed": mixed}}, "mrr")
        assert (note in compared.remarks) == is_said


def test_a_note_of_some_seeds_stands_beside_that_of_all_seeds_of_another_model(results):
    tables = results["nations"]["sums"]
    few = [replace(table, notes=(f"{place} labels were cut.",) if place else ()) for place, table in enumerate(tables)]
    every = [replace(table, notes=("7 labels were cut.",)) for table in tables]
    notes = compare({"nations": {"few": few, "every": every}}, "mrr").notes
    assert [note for note in notes if "labels" in note] == ["few (in 2 of 3 seeds), every: 1–7 labels were cut."]


def test_the_latex_has_a_head_above_the_columns_of_a_dataset_and_compiles(grid, tmp_path):
    latex = grid.to_latex()
    assert r"\multicolumn{3}{c}{nations} & \multicolumn{3}{c}{umls}" in latex
    assert r"\cmidrule(lr){2-4} \cmidrule(lr){5-7}" in latex
    assert re.search(r"\\label{tab:[a-z0-9-]+}", latex)
    assert latex.count(r"\begin{table*}") == 1
    body = latex[latex.rindex(r"\midrule") : latex.index(r"\bottomrule")].splitlines()[1:]
    assert [row.count("&") for row in body] == [6] * 4
    if (command := shutil.which("pdflatex") or shutil.which("tectonic")) is None:
        pytest.skip("needs pdflatex or tectonic")
    packages = r"\usepackage[T1]{fontenc}\usepackage{booktabs}\usepackage{siunitx}\usepackage{graphicx}"
    options = [] if "tectonic" in command else ["-interaction=nonstopmode", "-halt-on-error"]
    for style in ("", "[twocolumn]"):
        text = rf"\documentclass{style}{{article}}{packages}\begin{{document}}Words. {latex}\end{{document}}"
        (tmp_path / "table.tex").write_text(text, encoding="utf-8")
        done = subprocess.run(
            [command, *options, "table.tex"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-2000:]
        assert "Overfull" not in done.stdout


def test_csv_and_json_have_all_digits(grid):
    rows = list(csv.DictReader(io.StringIO(grid.to_csv())))
    content = json.loads(json.dumps(grid.to_dict(), allow_nan=False))
    for row in rows:
        for record in (one for one in content["values"] if (one["model"], one["metric"]) == (row["model"], "mrr")):
            assert float(row[f"{record['dataset']} mrr mean"]) == record["value"]
            assert len(record["runs"]) == int(row[f"{record['dataset']} mrr runs"])
    assert content["orders"][0]["order"] == grid.blocks[0].order(grid.metrics[0])
    assert any("two-sided t test of means over seeds" in note for note in content["notes"])


def test_wrong_arguments_are_refused(results):
    with pytest.raises(MetricError, match=r"spread: unknown 'std'. Did you mean 'sd'\?"):
        compare(results, "mrr", spread="std")
    with pytest.raises(MetricError, match="nothing to compare"):
        compare({}, "mrr")
    with pytest.raises(MetricError, match=r"reference: no model is called 'sum'\. Did you mean 'sums'"):
        compare(results, "mrr", reference="sum")
    with pytest.raises(MetricError, match="Did you mean"):
        compare(results, "mrrr")
    with pytest.raises(MetricError):
        compare({"nations": {"a": "ranks.parquet"}}, "mrr")


@given(
    st.integers(2, 6).flatmap(
        lambda n: st.tuples(st.just(n), st.sets(st.sampled_from([(a, b) for a in range(n) for b in range(a + 1, n)])))
    )
)
def test_the_order_tells_what_was_seen_of_every_pair(case):
    """Read the line back: what its signs say of two models, but for the pairs that it names behind."""
    count, better = case
    names = [f"m{place}" for place in range(count)]
    line = order_of(names, lambda one, other: "better" if (int(one[1:]), int(other[1:])) in better else "none")
    signs, _, exceptions = line.partition(" (but ")
    told = {}
    parts = signs.split()
    for first in range(count):
        for second in range(first + 1, count):
            told[first, second] = ">" in parts[2 * first + 1 : 2 * second : 2]
    more = int(found[1]) if (found := re.search(r" and (\d+) more pairs", exceptions)) else 0
    for one, sign, other in re.findall(r"m(\d) ([>≈]) m(\d)", exceptions):
        told[int(one), int(other)] = sign == ">"
    assert sum(told[pair] != (pair in better) for pair in told) == more


def test_one_model_is_named_in_the_head_without_its_seed_and_nowhere_else(results):
    for datasets, on in (("nations",), "on nations, "), (("nations", "umls"), "on nations and umls, "):
        found = compare({name: {"sums": results[name]["sums"]} for name in datasets}, "mrr")
        head, *further = found.heads
        assert head.startswith(f"sums {on}")
        assert found.notes
        assert not any(line.startswith("sums") for line in (*further, *found.notes))


def test_the_csv_is_sorted_by_the_metric_that_sorts_the_text(grid):
    (board, *_), (table,) = grid.tables(), grid.csv_tables()
    for key in ("mrr", "-mr"):
        text, written = (arranged(one, SortKey.read(key), None) for one in (board, table))
        assert [row[0] for row in written.rows] == [row[0] for row in text.rows]
        assert [row[0] for row in written.rows] != [row[0] for row in table.rows]
