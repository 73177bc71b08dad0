"""Seeds, units and estimates: what a page says of several runs of one model, of other relations, and of samples."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import kgeval
from kgeval import Estimate, compare
from kgeval.base.errors import MetricError
from kgeval.metrics import interval_over_seeds
from kgeval.metrics.intervals.sampling import Sampling
from kgeval.reports.evaluated_models import EvaluatedModel, look, read_models
from kgeval.reports.origins import cumulative, cumulative_points, relation_scores, slice_scores, triple_table
from kgeval.reports.plots import PLOTS
from kgeval.reports.standings import p_value, standings, verdicts
from kgeval.reports.study import HEADLINES, study_of
from kgeval.reports.trust import exactness, making, ties
from tests.analysis.over_seeds import seed_differences
from tests.reports.conftest import family, ranks_of, seeded

pytest.importorskip("altair")

DATA = family()


def study(models, **options):
    return study_of(read_models(look(models)), None, **options)


def names(models):
    return [(model.name, len(model.seeds)) for model in read_models(look(models))]


def test_runs_that_differ_in_the_seed_alone_are_one_model():
    (low, other), (middle, high) = seeded(DATA, "strong", [0.2, 0.9]), seeded(DATA, "strong", [0.3, 0.4], first=2)
    (model,) = read_models(look([low, other, middle, high]))
    assert (model.name, [run.name for run in model.seeds]) == ("strong", ["seed 0", "seed 1", "seed 2", "seed 3"])
    # Of 0.2, 0.3, 0.4 and 0.9 the lower of the two in the middle.
    assert model.table is middle.table
    apart = replace(low, config={**low.config, "model": {**low.config["model"], "model_kwargs": {"dim": 2}}})
    assert names({"a": low, "b": other}) == [("a", 0), ("b", 0)]
    assert names([("", low), ("", other), ("wider", apart)]) == [("strong", 2), ("wider", 0)]
    wider = replace(apart, table=replace(apart.table, model="wider"))
    assert names([low, wider, high]) == [("strong", 2), ("wider", 0)]
    assert names([("", low), ("x", other), ("", high)]) == [("strong", 2), ("x", 0)]


def test_the_same_seed_twice_and_models_without_a_seed_stay_as_they_are():
    (run,) = seeded(DATA, "strong", [0.2])
    again = replace(run, table=replace(run.table, model="again"))
    assert names([run, again]) == [("strong", 0), ("again", 0)]
    checkpoint = {"model": {"kind": "checkpoint", "path": "m"}}
    tables = [ranks_of(DATA, 0.3, seed=seed, model=f"m{seed}") for seed in range(2)]
    assert names([EvaluatedModel("", table, checkpoint) for table in tables]) == [("m0", 0), ("m1", 0)]


def test_of_seeds_the_mean_is_shown_with_the_interval_over_seeds():
    runs = seeded(DATA, "strong", [0.2, 0.35, 0.3])
    found = study([*runs, ("alone", ranks_of(DATA, 0.1))])
    assert found.names == ["strong", "alone"]
    for metric in ("mrr", "hits@10", "amri"):
        row = found.scores[(found.scores["metric"] == metric) & (found.scores["model"] == "strong")].iloc[0]
        values = [kgeval.summarize(run.table, metric)[metric] for run in runs]
        expected = interval_over_seeds([run.table for run in runs], metric).interval
        assert row["seeds"] == tuple(values)
        assert row["value"] == pytest.approx(np.mean(values))
        assert (row["low"], row["high"]) == pytest.approx((expected.low, expected.high), rel=1e-12)
        alone = kgeval.summarize(runs[2].table, metric, intervals="triple").interval(metric)
        assert row["high"] - row["low"] > alone.high - alone.low
    section = standings(found)
    assert [row["seeds"] for row in section.content["rows"]] == [3, 0]
    assert "Models with seeds: the mean" in section.content["note"]
    assert ("Seeds", "seed 0, seed 1, seed 2; the rows below describe seed 2, the run with the middle MRR") in [
        fact for model in making(found).content["models"] for fact in model["facts"]
    ]


def test_slices_are_means_over_seeds_as_in_the_table_of_compare():
    """The means by hand, and the interval that the table of ``compare --by`` has."""
    runs = seeded(DATA, "strong", [0.2, 0.35, 0.3])
    groups = slice_scores(study([*runs, ("alone", ranks_of(DATA, 0.1))]), ["side"])
    tables = [run.table for run in runs]
    for side in ("head", "tail"):
        row = groups[(groups["model"] == "strong") & (groups["group"] == side)].iloc[0]
        values = [np.mean(1 / realistic(table)[table.column("side") == side]) for table in tables]
        assert row["value"] == pytest.approx(np.mean(values), rel=1e-12)
        grid = compare({"d": {"strong": tables}}, "mrr", by="side", spread="interval")
        (interval,) = [
            block.scores["strong", grid.metrics[0]].interval for block in grid.blocks if block.title == f"d {side}"
        ]
        assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high), rel=1e-12)
    assert set(groups["axis"]) == {"MRR ↑, mean over seeds"}
    two = slice_scores(study(seeded(DATA, "strong", [0.2, 0.35])), ["side"])
    assert two["value"].notna().all()
    assert two["low"].isna().all()


def realistic(table):
    return 1 + table.column("greater") + table.column("tied") / 2


def test_relations_are_means_over_seeds_with_their_standard_deviation():
    runs = seeded(DATA, "strong", [0.2, 0.35, 0.3])
    found = study(runs)
    frame = relation_scores(found).set_index("relation")
    for relation in frame.index:
        values = [np.mean((1 / realistic(run.table))[run.table.column("relation_label") == relation]) for run in runs]
        low, high = np.mean(values) - np.std(values, ddof=1), np.mean(values) + np.std(values, ddof=1)
        expected = (np.mean(values), max(low, 0), min(high, 1))
        assert tuple(frame.loc[relation, ["m0", "low0", "high0"]]) == pytest.approx(expected)
    title = kgeval.plot_relations(runs).to_dict()["layer"][-1]["encoding"]["y"]["title"]
    assert title == "MRR of strong ↑, mean of 3 seeds"


def test_hits_and_shares_of_pairs_are_means_over_seeds():
    runs, others = seeded(DATA, "strong", [0.2, 0.35, 0.3]), seeded(DATA, "weak", [0.1, 0.12])
    found = study([*runs, *others])
    points = cumulative_points(found).set_index(["model", "k"])
    shares = [np.mean(realistic(run.table) <= 10) for run in runs]
    spread = np.std(shares, ddof=1)
    expected = (np.mean(shares), np.mean(shares) - spread, min(np.mean(shares) + spread, 1))
    assert tuple(points.loc[("strong", 10)]) == pytest.approx(expected)
    assert np.isnan(points.loc[("weak", 10), "low"])
    (change,) = cumulative(found).content["changes"]
    pairs = [realistic(two.table) / realistic(one.table) for one in runs for two in others]
    assert change["better"] == pytest.approx(np.mean([np.mean(ratio >= 2) for ratio in pairs]))
    assert change["worse"] == pytest.approx(np.mean([np.mean(ratio <= 0.5) for ratio in pairs]))


def test_the_triples_say_whose_ranks_they_are():
    runs = seeded(DATA, "strong", [0.2, 0.35, 0.3])
    found = study([*runs, ("alone", ranks_of(DATA, 0.1))])
    assert (
        triple_table(found)
        .content["rule"]
        .startswith("Of a model with seeds, this is the run with the middle MRR: strong (seed 2).")
    )
    rows = found.rows.sort_values(["head_label", "relation_label", "tail_label", "side"])
    middle = runs[2].table.data.to_pandas().sort_values(["head_label", "relation_label", "tail_label", "side"])
    assert rows["m0"].tolist() == (1 + middle["greater"] + middle["tied"] / 2).tolist()


@pytest.mark.parametrize("kind", ["slices", "distribution", "relations"])
def test_a_picture_for_print_has_a_note_on_what_its_means_are_of(kind):
    runs = [*seeded(DATA, "strong", [0.2, 0.35, 0.3]), ("alone", ranks_of(DATA, 0.1))]
    arguments = {"slices": "side"} if kind == "slices" else {}
    notes = PLOTS[kind](runs, width=4, **arguments).usermeta["notes"]
    assert [note.partition(";")[0] for note in notes if "seeds" in note] == ["strong, mean of 3 seeds"]
    shown = {"slices": "whiskers", "distribution": "band", "relations": "lines"}[kind]
    (note,) = PLOTS[kind](seeded(DATA, "few", [0.2, 0.3]), width=4, **arguments).usermeta["notes"]
    assert note == f"few, mean of 2 seeds, too few for {shown}."


def test_verdicts_are_of_other_seeds_and_other_triples():
    """Three seeds against three: the means are compared, by the test whose numbers the verdict has."""
    strong, weak = seeded(DATA, "strong", [0.3, 0.5, 0.4]), seeded(DATA, "weak", [0.1, 0.12, 0.09])
    found = study([*strong, *weak])
    means = [np.mean([kgeval.summarize(run.table, "mrr")["mrr"] for run in own]) for own in (strong, weak)]
    tables = {"strong": [run.table for run in strong], "weak": [run.table for run in weak]}
    (expected,) = seed_differences(tables, ["mrr"])
    (pair,), ((_, verdict),) = found.pairs, verdicts(found)
    assert (pair.p, pair.interval) == (expected.p, expected.interval)
    assert pair.difference == pytest.approx(means[0] - means[1])
    assert verdict.startswith(f"strong is better than weak: mean MRR +{pair.difference:.{pair.decimals}f} (95 %")
    assert verdict.endswith(f"; {p_value(pair)}).")
    assert standings(found).title.startswith("strong is better than weak, with a mean MRR of")
    assert "Student's t test of the means" in standings(found).content["basis"]


def test_two_seeds_show_no_scatter():
    found = study([*seeded(DATA, "first", [0.2, 0.35, 0.3]), *seeded(DATA, "second", [0.25, 0.12])])
    ((_, verdict),) = verdicts(found)
    assert "not tested: " in verdict
    assert "2 seeds: an interval or a test" in verdict


def test_many_models_have_their_order_in_one_line():
    skills = {"a": 0.6, "b": 0.3, "c": 0.29, "d": 0.05}
    found = study([(name, ranks_of(DATA, skill)) for name, skill in skills.items()])
    section = standings(found).content
    seen = {(pair.model, pair.other): pair.seen for pair in found.pairs}
    signs = {"better": " > ", "none": " ≈ "}
    neighbours = [*zip(found.names, found.names[1:], strict=False)]
    assert section["order"].startswith("a" + "".join(f"{signs[seen[pair]]}{pair[1]}" for pair in neighbours))
    assert standings(study([("a", ranks_of(DATA, 0.6)), ("b", ranks_of(DATA, 0.3))])).content["order"] == ""


def with_floor(**skills):
    """Models, of which popularity and types are baselines."""
    config = {"model": {"baseline": {"name": "popularity"}}}
    floors = ("popularity", "types")
    made = {
        name: EvaluatedModel("", ranks_of(DATA, skill, seed=place), config if name in floors else {})
        for place, (name, skill) in enumerate(skills.items())
    }
    return study(made, ties="realistic")


def test_the_title_says_what_the_tests_say_of_models_and_baselines():
    def title(**skills):
        return re.sub(r"0\.\d+", "X", standings(with_floor(**skills)).title)

    assert title(good=0.4, bad=0.1) == "good is better than bad, with an MRR of X"
    assert title(good=0.4, bad=0.1, worse=0.05) == "good is better than the other 2 models, with an MRR of X"
    for further, models in (({}, 2), ({"bad": 0.05}, 3)):  # better than one of two is not better than the others
        close = rf"[ab] has the highest MRR of the {models} models \(X\); the difference to [ab] is not significant"
        assert re.fullmatch(close, title(a=0.31, b=0.3, **further))
    assert title(good=0.4, popularity=0.1) == "good reaches an MRR of X"
    # A baseline that is higher is named with what its test says, and never as less or more without one.
    assert title(a=0.3, popularity=0.6) == "a reaches an MRR of X; the baseline popularity (X) is better"
    assert title(a=0.3, popularity=0.3) == (
        "a reaches an MRR of X; the difference to the baseline popularity (X) is not significant"
    )
    assert title(popularity=0.4) == "popularity reaches an MRR of X"
    assert title(popularity=0.1, types=0.4) == "types is better than popularity, with an MRR of X"
    close = title(popularity=0.31, types=0.3)
    assert re.match(r"\w+ has the highest MRR of the 2 baselines \(X\); the difference to \w+ is not sig", close)


def test_the_same_cells_are_bold_on_the_page_and_in_papers():
    """The best of the column, of models and baselines, and all that are equal; all metrics of the page grow."""
    found = with_floor(a=0.3, popularity=0.6, b=0.2)
    bold = {
        (row["model"], place)
        for row in standings(found).content["rows"]
        for place, cell in enumerate(row["cells"])
        if cell["best"]
    }
    tables = {model.name: model.table for model in found.models}
    latex = kgeval.compare(tables, list(HEADLINES)).to_latex().splitlines()
    rows = [line.removesuffix(r" \\").split(" & ") for line in latex if line.startswith(("a &", "b &", "popularity &"))]
    assert bold == {
        (model, place) for model, *cells in rows for place, cell in enumerate(cells) if cell.startswith(r"\bfseries")
    }
    values = [[kgeval.summarize(table, name)[name] for name in HEADLINES] for table in tables.values()]
    expected = np.array(values) == np.max(values, axis=0)
    assert bold == {(list(tables)[model], place) for model, place in np.argwhere(expected).tolist()}


def test_the_page_and_the_comparison_say_the_same_of_two_models():
    """One family on the page, in Python and so in the command: the pairs of all models, whatever other metrics."""
    tables = {f"m{seed}": ranks_of(DATA, skill, seed=seed) for seed, skill in enumerate([0.2, 0.23, 0.26])}
    on_page = {frozenset((p.model, p.other)): p for p in study(tables).pairs}
    for pair in kgeval.compare(tables, ["mrr", "hits@1", "hits@10", "mr"]).pairs[::4]:
        told = on_page[frozenset((pair.model, pair.other))]
        assert pair.name == "mrr"
        assert (told.adjusted_p, told.family) == (pair.adjusted_p, 3)
        swapped = {"better": "worse", "worse": "better"}
        assert told.seen == (pair.seen if told.model == pair.model else swapped.get(pair.seen, pair.seen))


def test_seeds_are_cut_to_the_rows_that_all_models_have():
    whole = seeded(DATA, "strong", [0.2, 0.4])
    part = ranks_of(DATA, 0.1).where(ranks_of(DATA, 0.1).column("triple") < 250)
    found = study([*whole, ("part", part)], allow="triples")
    assert [len(run.table) for run in found.runs] == [500, 500, 500]
    cut = [run.table.where(run.table.column("triple") < 250) for run in whole]
    assert found.scores["seeds"][0] == tuple(kgeval.summarize(table, "mrr")["mrr"] for table in cut)


def test_a_model_that_is_no_better_than_chance_is_said_to_be_so(nations):
    table = kgeval.evaluate(lambda h, r, t: (h * 31 + r * 13 + t * 7) % 11, nations)
    value = kgeval.summarize(table, "mrr")["mrr"]
    title = standings(study({"toy": table})).title
    assert re.fullmatch(rf"toy reaches an MRR of {value:.3f}; the interval of toy reaches chance \(0\.\d+\)", title)


def test_runs_of_other_rows_are_no_seeds():
    low, high = seeded(DATA, "strong", [0.2, 0.4])
    part = replace(high, table=high.table.where(high.table.column("triple") < 250))
    with pytest.raises(MetricError, match="cannot be seeds of one model"):
        study([low, part])


@pytest.mark.parametrize("unit", ["triple", "query", "relation"])
def test_intervals_tests_and_slices_are_of_the_unit(unit):
    tables = {f"m{seed}": ranks_of(DATA, skill, seed=seed) for seed, skill in enumerate([0.2, 0.35])}
    found = study(tables, intervals=unit)
    plural = {"triple": "triples", "query": "queries", "relation": "relations"}[unit]
    for name, table in tables.items():
        expected = kgeval.summarize(table, "mrr", intervals=unit).interval("mrr")
        row = found.scores[(found.scores["metric"] == "mrr") & (found.scores["model"] == name)].iloc[0]
        assert (row["low"], row["high"]) == pytest.approx((expected.low, expected.high), rel=1e-12)
    (pair,) = kgeval.compare({"m1": tables["m1"], "m0": tables["m0"]}, ["mrr"], intervals=unit).pairs
    assert (found.pairs[0].p, found.pairs[0].interval) == (pair.p, pair.interval)
    section = standings(found)
    assert "9,999 draws of sign flips, two-sided; p is not adjusted (one pair" in section.content["basis"]
    assert f"95 % for each difference alone (resampling {plural})." in section.content["basis"]
    assert section.content["note"].startswith(f"Below each number: its 95 % interval (resampling {plural})")
    (side, *_) = [row for row in slice_scores(found, ["side"]).itertuples() if row.model == "m1"]
    summary = kgeval.summarize(tables["m1"], "mrr", by="side", intervals=unit)
    expected = next(group for group in summary.groups if group.key["side"] == side.group)
    (interval,) = expected.intervals.values()
    assert (side.low, side.high) == pytest.approx((interval.low, interval.high), rel=1e-12)


def test_where_there_are_too_few_units_the_page_says_so():
    few = family(2, entities=9, relations=2, triples=20)
    page = kgeval.report({"m": ranks_of(few, 0.3)}, dataset=few, intervals="relation").html
    assert "No intervals (resampling relations): only 2 relations" in page
    assert "Whiskers: 95 % intervals (resampling relations). No category has enough relations" in page
    with pytest.raises(MetricError, match=r"unknown unit 'relations'. Did you mean 'relation'\?"):
        kgeval.report({"m": ranks_of(few, 0.3)}, intervals="relations")


@pytest.mark.parametrize("kind", ["model", "baseline", "seeds"])
def test_the_check_of_ties_has_the_rule_of_their_notes(kind):
    """A model, a baseline or the run of a seed warns if the tie policy alone moves its MRR by more than .01."""
    runs = seeded(DATA, "strong", [0.2, 0.35, 0.3])
    greater, tied = runs[0].table.column("greater"), runs[0].table.column("tied")
    tied = np.where(np.arange(len(tied)) % 5 == 0, 1, 0)
    place = runs[0].table.data.schema.get_field_index("tied")
    columns = runs[0].table.data.set_column(place, "tied", pa.array(tied))
    table = replace(runs[0].table, data=columns.cast(runs[0].table.data.schema))
    best, worst = np.mean(1 / (1 + greater)), np.mean(1 / (1 + greater + tied))
    assert best - worst > 0.01
    models = {
        "model": {"name": table},
        "baseline": {"name": EvaluatedModel("", table, {"model": {"baseline": "popularity"}})},
        "seeds": [replace(runs[0], table=table), *runs[1:]],
    }[kind]
    assert any("alone moves the MRR" in note for note in kgeval.summarize(table, "mrr").notes)
    check = ties(study(models))
    assert check.state == "warning"
    name = "strong seed 0" if kind == "seeds" else "name"
    assert check.warning.startswith(
        f"{name}: {(tied > 0).sum()} of {len(tied)} ranks tie. The MRR is {worst:.3f} with pessimistic, {best:.3f} with"
    )
    untied = table.data.set_column(place, "tied", pa.array(0 * tied)).cast(table.data.schema)
    assert ties(study({"name": replace(table, data=untied)})).state == "good"


def test_a_check_tells_exact_from_drawn_from_estimated():
    table = ranks_of(DATA, 0.3)
    check = exactness(study({"m": table}))
    assert (check.name, check.state) == ("Exact", "good")
    check = exactness(study({"m": replace(table, candidates="5 uniform (seed 0)")}))
    assert (check.name, check.state) == ("Candidates", "warning")
    assert "The candidates are 5 uniform (seed 0), not all entities." in check.warning
    assert exactness(study({"m": replace(table, candidates="unknown")})).state == "unknown"
    data = table.data.append_column("stratum", pa.array(np.zeros(len(table), np.int64)))
    sampling = Sampling(Estimate(triples=1000), counts=(table.num_triples,), sizes=(20_466,))
    sample = replace(table, data=data, sampling=sampling)
    check = exactness(study([("drawn", sample), ("exact", table)]))
    assert (check.name, check.state) == ("Estimated", "warning")
    assert f"drawn is estimated from {table.num_triples} of 20,466 triples (95 %), stratified" in check.warning
