"""The sections of the page on where differences come from: slices and relations, ranks, and every triple.

``page.py`` calls :func:`origins`, :func:`cumulative` and :func:`triple_table`, which take a ``Study`` and return a
``Section``. The functions that compute their numbers and titles are called by ``plots.py`` too. A slice is a rule that
divides the rows of a rank table into groups, here called categories.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.analysis.slices.slice import slices
from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.base.errors import counted
from kgeval.data.triples import TARGETS
from kgeval.metrics.intervals.interval import FEWEST_SEEDS, Intervals, Unit
from kgeval.metrics.intervals.over_seeds import summary_over_seeds
from kgeval.metrics.names import parse, short_title, title_of
from kgeval.metrics.ranks.ties import tie_policy
from kgeval.metrics.selection import MetricOptions, RowSelection, TableView
from kgeval.metrics.summarize import summarize
from kgeval.metrics.summary import Summary
from kgeval.ranking.predictions.prediction_table import PredictionTable
from kgeval.ranking.rank_table import TIME, RankTable
from kgeval.reports.document import Section, isolated
from kgeval.reports.evaluated_models import first_value
from kgeval.reports.pictures import TRIPLES, distribution, relations_chart, slice_panel, times_chart
from kgeval.reports.study import SHOWN, Study, with_slices
from kgeval.reports.theme import PAGE, themed

if TYPE_CHECKING:
    import pandas as pd


def origins(study: Study) -> Section:
    """Make the section of slices and relations."""
    groups, relations = slice_scores(study), relation_scores(study)
    display = study.dataset.display_label if study.dataset else str
    relations["relation"] = list(map(display, relations["relation"]))
    charts, captions = {}, {}
    for name in groups["slice"].unique():
        of_slice = groups[groups["slice"] == name]
        panel = slice_panel(of_slice, PAGE, baselines=study.baselines, width="container")
        charts[f"slice-{name}"] = themed(panel, PAGE)
        captions[f"slice-{name}"] = slices()[name].title if name in slices() else "what is predicted"
    times, caption = time_scores(study)
    if times["group"].nunique() >= FEWEST_TIMES:
        charts["slice-time"] = times_chart(times, PAGE, baselines=study.baselines, width="container", legend=False)
        captions["slice-time"] = caption
    charts["relations"] = relations_chart(scatter(study, relations), PAGE, axes=axes(study), width="container")
    rounded = relations.round(6).astype(object).where(relations.notna(), None)
    data = {
        "relation": relations["relation"].tolist(),
        "triples": relations["triples"].tolist(),
        "cardinality": relations["cardinality"].astype(str).tolist(),
        **{
            name: [rounded[f"{column}{index}"].tolist() for index in range(len(study.names))]
            for name, column in {"values": "m", "low": "low", "high": "high"}.items()
        },
        "models": study.names,
        "means": [model.mean_in_words for model in study.models],
    }
    content = {
        "panels": captions,
        "models": PAGE.looks(study.names, study.baselines),
        "dataset": study.dataset is not None,
        "relations": relations_title(study, relations),
        "unit": study.resampled,
        "seeds": study.has_seeds,
        "intervals": bool(groups["low"].notna().any()),
    }
    return Section("where", "Slices", slices_title(study, groups), content, charts, {"relations": data})


def slice_scores(study: Study, names: Sequence[str] = SHOWN) -> pd.DataFrame:
    """A row per slice, category and model: slice, category, group, model, value, low, high, count, axis.

    ``group`` is the name of the category; ``category`` is this name, with the number of ranks on a second line.
    ``value`` is the metric of the study, ``low`` and ``high`` are the ends of its interval (NaN without one), and
    ``axis`` is its title. For several seeds ``value`` is their mean, with the interval over seeds and triples.
    """
    import pandas as pd

    tables = study.sliced if tuple(names) == SHOWN else with_slices(study.tables, study.dataset, names)
    every = [table.columns for runs in tables.values() for table in runs]
    shared = [name for name in dict.fromkeys(names) if all(name in columns for columns in every)]
    rows = [row for name in shared for model, runs in tables.items() for row in _rows(study, runs, name, model)]
    frame = pd.DataFrame(rows, columns=["slice", "category", "group", "model", "value", "low", "high", "count"])
    several = frame.groupby("slice")["group"].transform("nunique") > 1
    axis = f"{title_of(study.metric)}{', mean over seeds' if study.has_seeds else ''}"
    return frame[several].reset_index(drop=True).assign(axis=axis)


def _rows(study: Study, tables: Sequence[RankTable], name: str, model: str) -> Iterator[tuple[Any, ...]]:
    """Yield, for each category: slice, category, group, model, value, low, high, count."""
    first, metrics = tables[0], [str(study.metric), "count"]
    if len(tables) > 1:
        intervals, options = Intervals(unit=study.unit), MetricOptions(study.ties, study.seed)
        summary: Summary = summary_over_seeds(tables, metrics, by=(name,), intervals=intervals, options=options)
    else:
        unit = study.unit if first.sampling is None else None  # an estimate has its own intervals
        summary = summarize(first, metrics, by=name, ties=study.ties, seed=study.seed, intervals=unit)
    for group in summary.groups:
        kind, interval = str(group.key[name]), next(iter(group.records.values())).interval
        count = int(next(value for name, value in group.values.items() if name.name == "count") or 0)
        ends = (interval.low, interval.high) if interval else (np.nan, np.nan)
        yield name, f"{kind}\n{count:,}", kind, model, first_value(group), *ends, count


FEWEST_TIMES = 3
"""the fewest times for which the page draws a line"""

MOST_TIMES = 60
"""the most times that a line shows one by one; of more times it shows this number of periods"""


def time_scores(study: Study) -> tuple[pd.DataFrame, str]:
    """Compute the metric at each time of the split, or in each period, as :func:`slice_scores`; say in words which."""
    table = study.tables[study.names[0]][0]
    times = len(np.unique(table.column(TIME))) if TIME in table.columns else 0
    name, words = (TIME,) if times else (), "at each time"
    if times > MOST_TIMES:
        name, words = (f"period:{MOST_TIMES}",), f"in {MOST_TIMES} periods, each drawn at the first of its times"
    return slice_scores(study, name), f"{short_title(study.metric)} {words}"


def slices_title(study: Study, groups: pd.DataFrame) -> str:
    """Say on which slice the best model is clearly worst and best, if it is."""
    of_first = groups[(groups["model"] == study.names[0]) & groups["low"].notna()]
    metric = f"{'mean ' if study.models[0].seeds else ''}{short_title(study.metric)}"
    for name, kind in (("cardinality", "relations"), ("side", "answers")):
        ordered = of_first[of_first["slice"] == name].sort_values("value")
        if len(ordered) > 1 and ordered.iloc[0]["high"] < ordered.iloc[-1]["low"]:
            low, high = ordered.iloc[0], ordered.iloc[-1]
            return (
                f"{isolated(study.names[0])} has its lowest {metric} on {low['group']} {kind} ({low['value']:.3f}) and "
                f"its highest on {high['group']} {kind} ({high['value']:.3f}); the intervals do not overlap"
            )
    return f"{short_title(study.metric)} by slice"


def relation_scores(study: Study) -> pd.DataFrame:
    """A row per relation: its label, number of triples, cardinality (empty if unknown), and the metric of each model.

    The columns are relation, triples, cardinality and, by the index of the model, m0, low0, high0, m1, …. For several
    seeds m0 is their mean; low0 and high0 are one standard deviation from it, and NaN for fewer than three runs.
    """
    import pandas as pd

    columns: dict[str, pd.Series[float]] = {}
    for index, model in enumerate(study.models):
        values = pd.DataFrame([_by_relation(study, run.table) for run in model.runs])
        band = _band(values.to_numpy(np.float64), study.metric.metric.lowest, study.metric.metric.highest)
        named = zip(("m", "low", "high"), band, strict=True)
        columns |= {f"{name}{index}": pd.Series(column, values.columns) for name, column in named}
    table = study.sliced[study.names[0]][0]
    rows = pd.DataFrame({"relation": table.column("relation_label"), "triple": table.column("triple")})
    rows["cardinality"] = table.column("cardinality") if "cardinality" in table.columns else ""
    facts_of = {"triples": ("triple", "nunique"), "cardinality": ("cardinality", "first")}
    facts = rows.groupby("relation", observed=True).agg(**facts_of)
    joined: pd.DataFrame = facts.join(pd.DataFrame(columns)).rename_axis("relation").reset_index()
    return joined


def _band(values: Float64Array, lowest: float, highest: float) -> tuple[Float64Array, Float64Array, Float64Array]:
    """The mean of values, float64[run, …], over runs, and one standard deviation below and above it.

    These are NaN for fewer than three runs, and are cut at the ``lowest`` and ``highest`` value of the metric.
    """
    mean = values.mean(axis=0)
    spread = values.std(axis=0, ddof=1) if len(values) >= FEWEST_SEEDS else np.full_like(mean, np.nan)
    return mean, np.clip(mean - spread, lowest, highest), np.clip(mean + spread, lowest, highest)


def _by_relation(study: Study, table: RankTable) -> dict[str, float]:
    summary = summarize(table, [str(study.metric), "count"], by="relation", ties=study.ties, seed=study.seed)
    return {group.key["relation"]: first_value(group) for group in summary.groups}


def relations_title(study: Study, relations: pd.DataFrame) -> str:
    """Say on how many relations the best model is better than the next."""
    name = short_title(study.metric)
    if len(study.names) == 1:
        of_relations = f"number of test triples of {counted(len(relations), 'relation')}"
        return f"{name}{study.models[0].mean_in_words}{',' if study.has_seeds else ''} and {of_relations}"
    sign = -1 if study.metric.metric.increasing is False else 1
    better = int((sign * relations["m0"] > sign * relations["m1"]).sum())
    first, other = map(isolated, study.names[:2])
    on = f"{better:,} of {counted(len(relations), 'relation')}"
    mean = "mean " if study.has_seeds else ""
    return f"{first} has a better {mean}{name} than {other} on {on} (not tested)"


def scatter(study: Study, relations: pd.DataFrame) -> pd.DataFrame:
    """Lay out a scatter plot of relations: y is the metric of the best model, x that of the next model.

    If there is one model only, x is the number of triples. ``x_low``, ``x_high``, ``y_low`` and ``y_high`` are the ends
    of whiskers, NaN without whiskers.
    """
    frame = relations[["relation", "triples", "cardinality"]].assign(
        x=relations["triples"], x_low=np.nan, x_high=np.nan
    )
    for index, axis in zip(range(len(study.models)), "yx", strict=False):
        ends = {f"{axis}_{end}": relations[f"{end}{index}"] for end in ("low", "high")}
        frame = frame.assign(**{axis: relations[f"m{index}"]}, **ends)
    return frame


def axes(study: Study) -> tuple[str, str]:
    """The titles of x and y in :func:`scatter`."""
    name = short_title(study.metric)
    arrow = title_of(study.metric).removeprefix(name)
    up, *across = (f"{name} of {isolated(model.name)}{arrow}{model.mean_in_words}" for model in study.models[:2])
    return (across or [TRIPLES])[0], up


EVERY = 100
"""the k up to which every k is drawn; larger ones grow in steps of 2 %"""

FACTORS = (100.0, 10.0, 2.0)
"""how many times better one of two ranks is, at least, for each of the three shades of the picture"""


def cumulative(study: Study) -> Section:
    """Make the section of Hits@k for every k, and of ranks that differ between two models."""
    points = cumulative_points(study)
    look: dict[str, Any] = {"baselines": study.baselines, "width": "container", "legend": False}
    chart = distribution(points, PAGE, of_seeds=study.has_seeds, **look)
    changes = [rank_changes(study, first, second) for first, second in combinations(study.names, 2)]
    shares = {model: of_model["share"].tolist() for model, of_model in points.groupby("model", sort=False)}
    data = {"hits": {"k": points["k"].unique().tolist(), "shares": shares}}
    looks = PAGE.looks(study.names, study.baselines)
    content = {"models": looks, "changes": changes, "largest": int(points["k"].max()), "seeds": study.has_seeds}
    return Section("ranks", "Hits@k", ranks_title(study), content, {"distribution": chart}, data)


def cumulative_points(study: Study) -> pd.DataFrame:
    """Compute the share of ranks ≤ k for each model: columns model, k, share, low, high, as :func:`at_every_k` says."""
    above = (run.table.column("greater") + run.table.column("tied") for run in study.runs)
    at = cutoffs(1 + max(int(of_run.max(initial=0)) for of_run in above))
    return at_every_k(study, at, "share", partial(hits_at_every, at, study))


def hits_at_every(at: IntArray, study: Study, table: RankTable) -> Float64Array:
    """Compute Hits@k at several k, or their expectation under expected ties; float64[k, 3], without intervals (NaN)."""
    expected, found = tie_policy(study.ties).name == "expected", np.full((len(at), 3), np.nan)
    best = 1 + table.column("greater") if expected else np.ceil(study.ranks_of(table))
    places = 1 + table.column("tied") if expected else 1
    found[:, 0] = np.array([np.clip((k + 1 - best) / places, 0, 1).sum() for k in at]) / max(len(table), 1)
    return found


def retrieval_points(study: Study) -> pd.DataFrame:
    """Compute precision and recall at k, means over queries, of each model, as ``pictures.curves_chart`` takes them."""
    views = [TableView(run.table) for run in study.runs]
    lists = [RowSelection(view, view.rows_of(view.pooled)).unweighed for view in views]
    at = cutoffs(max(int(of_run.lengths.max()) for of_run in lists))
    unit = None if all(model.seeds for model in study.models) else study.unit  # seeds have no intervals here
    points = at_every_k(study, at, "precision", partial(values_at, at, "p", unit))
    recall = at_every_k(study, at, "recall", partial(values_at, at, "r", None))["recall"]
    return points.assign(recall=recall, baseline=points["model"].isin(study.baselines))


def values_at(at: IntArray, name: str, unit: Unit | None, table: RankTable) -> Float64Array:
    """Compute a metric at several k with its intervals, NaN without one: value, low, high; float64[k, 3]."""
    names = [str(parse(f"{name}@{k}").of_part(TableView(table).pooled)) for k in at]
    values = summarize(table, names, intervals=None if table.sampling else unit).groups[0].records.values()
    found = [(one.value, getattr(one.interval, "low", None), getattr(one.interval, "high", None)) for one in values]
    return np.array(found, np.float64)


def at_every_k(study: Study, at: IntArray, name: str, of_table: Callable[[RankTable], Float64Array]) -> pd.DataFrame:
    """Compute a metric at several k for each model: columns model, k, ``name``, low, high.

    ``of_table`` computes it from one table of ranks: value, low, high; float64[k, 3]. Low and high are the ends of its
    interval, NaN without one. For several seeds the metric is the mean over them, and low and high are one standard
    deviation from it, NaN for fewer than three seeds.
    """
    import pandas as pd

    frames = []
    for model in study.models:
        of_runs = np.array([of_table(run.table) for run in model.runs])
        mean, low, high = _band(of_runs[..., 0], 0, 1) if model.seeds else of_runs[0].T
        frames.append(pd.DataFrame({"model": model.name, "k": at, name: mean, "low": low, "high": high}))
    return pd.concat(frames, ignore_index=True)


def cutoffs(largest: int) -> IntArray:
    """List the k at which the distribution is drawn; int64[k].

    >>> cutoffs(103)[-4:]
    array([ 99, 100, 102, 103])
    """
    steps = int(np.log(max(largest, EVERY) / EVERY) / np.log(1.02))
    beyond = np.floor(EVERY * 1.02 ** np.arange(1, steps + 1)).astype(np.int64)
    every = np.r_[np.arange(1, EVERY + 1), beyond, largest]
    return np.unique(every[every <= largest])


def rank_changes(study: Study, first: str, second: str) -> dict[str, Any]:
    """The shares of rows by the ratio of their ranks in two models; for several seeds, means over all pairs of runs."""
    each = product(study.ranks[first], study.ranks[second])
    shares = np.mean([shares_by_factor(other / ranks) for ranks, other in each], axis=0).tolist()
    better, worse = sum(shares[: len(FACTORS)]), sum(shares[len(FACTORS) + 1 :])
    return {"models": (first, second), "shares": shares, "better": better, "worse": worse}


def shares_by_factor(ratio: Float64Array) -> list[float]:
    """The shares of rows in 7 classes by the ratio of their two ranks, float64[row].

    The classes go from a rank far better in the first model to one far better in the second.

    >>> shares_by_factor(np.array([1.0, 1.5, 2.0, 0.01]))
    [0.0, 0.0, 0.25, 0.5, 0.0, 0.0, 0.25]
    """
    far = sum((ratio >= factor).astype(np.int64) for factor in FACTORS)
    near = sum((ratio <= 1 / factor).astype(np.int64) for factor in FACTORS)
    counts = np.bincount(len(FACTORS) - far + near, minlength=2 * len(FACTORS) + 1)
    return [float(count / max(len(ratio), 1)) for count in counts]


def ranks_title(study: Study) -> str:
    """Say which model has the lowest median rank."""
    if not any(len(table) for tables in study.tables.values() for table in tables):
        return "There are no ranks"
    medians = {name: float(np.mean([np.median(of_run) for of_run in runs])) for name, runs in study.ranks.items()}
    lowest = round(min(medians.values()), 1)
    best = [isolated(name) for name, median in medians.items() if round(median, 1) == lowest]
    models = " and ".join(best if len(best) <= 2 else [best[0], f"{len(best) - 1} others"])
    mean = " (mean over seeds)" if study.has_seeds else ""
    if len(best) == len(medians):
        models = models if len(best) == 1 else f"all {len(best)} models"
        return f"The median rank of {models}{mean} is {lowest:,g}"
    return f"{models} {'have' if best[1:] else 'has'} the lowest median rank{mean}: {lowest:,g}"


QUERY = ["side", "anchor_label", "relation_label"]
"""the columns that identify a query in a table of predictions, beside its time"""

KNOWN = ("new", "train", "valid", "test")
"""the values of the column ``known``: the split that has the predicted triple, or ``new`` if no split has it"""


def kept_predictions(table: PredictionTable, rows: pd.DataFrame) -> dict[str, Any]:
    """Lay out the predictions for some rows, for the page's script.

    The rows have the columns head_label, relation_label, tail_label and side, and in a temporal graph time. The result
    has ``row``: for each row the number of its query, or −1; ``offset``: where the predictions of each query begin; and
    for each prediction ``entity``, its label, ``known``, an index of ``KNOWN``, and ``typed``: ``is_of_type``, 0 or 1.
    """
    times = [TIME] if TIME in rows.columns else []
    key = [*QUERY, *times]
    frame = table.data.select([*key, "query", "entity_label", "known", "is_of_type"]).to_pandas()
    first = frame.drop_duplicates("query")[[*key, "query"]]
    text = rows[["side", "head_label", "relation_label", "tail_label", *times]].astype(str)
    queries = text.assign(anchor_label=text["head_label"].where(text["side"] == "tail", text["tail_label"]))
    number_of = queries.merge(first.astype(dict.fromkeys(key, str)), on=key, how="left")["query"]
    wanted = np.unique(number_of.dropna().to_numpy(np.int64))
    kept = frame[frame["query"].isin(wanted)]
    numbers = np.searchsorted(wanted, number_of.fillna(-1).to_numpy(np.int64))
    return {
        "row": np.where(number_of.isna(), -1, numbers).tolist(),
        "offset": [*np.searchsorted(kept["query"].to_numpy(), wanted).tolist(), len(kept)],
        "entity": kept["entity_label"].astype(str).tolist(),
        "known": kept["known"].astype(str).map({name: place for place, name in enumerate(KNOWN)}).tolist(),
        "typed": kept["is_of_type"].astype(int).tolist(),
    }


MOST = 50_000
"""the most rows that the page shows in full; of more rows it shows the extreme ones"""

EXTREME = 2_000
"""the number of extreme rows: of the worst ranks of each model, and of the largest ratios of ranks of each pair"""


def triple_table(study: Study) -> Section:
    """Make the section of all triples, or of those with extreme ranks, with the entities predicted for them."""
    rows = study.rows
    ranks = rows[[f"m{index}" for index in range(len(study.names))]].to_numpy()
    extreme = extreme_rows(ranks)
    kept = extreme if len(ranks) > MOST else np.ones(len(ranks), np.bool_)
    middle = [f"{isolated(model.name)} ({model.seeds[model.middle].name})" for model in study.models if model.seeds]
    rule = f"Of a model with seeds, this is the run with the middle MRR: {', '.join(middle)}. " if middle else ""
    if not kept.all():
        pairs = f" and, for each pair of models, the {EXTREME:,} with the largest ratio of ranks"
        worst = f"the {EXTREME:,} worst ranks of each model{pairs if len(study.names) > 1 else ''}"
        rule += f"The page holds {worst}. The run directory holds all. "
    data = _columns(study, rows[kept], _predictions(study, rows[kept], extreme[kept]))
    if predicting := [isolated(model.name) for model in study.models if model.predictions is not None]:
        named = " and ".join(filter(None, [", ".join(predicting[:-1]), predicting[-1]]))
        pairs = f" and the {EXTREME:,} largest ratios of each pair" if len(study.names) > 1 else ""
        some = f" (for the {EXTREME:,} worst ranks of each model{pairs})"
        rule += f"▸ shows which entities {named} ranked above the answer{'' if extreme.all() else some}. "
    title = f"{'All ' if kept.all() else f'{int(kept.sum()):,} of '}{len(rows):,} ranks"
    content = {"rule": rule, "models": study.names, "relations": data["relations"], "pairs": len(study.names) > 1}
    return Section("triples", "Triples", title, content, data={"triples": data})


def extreme_rows(ranks: Float64Array) -> BoolArray:
    """Choose the rows with the worst ranks or the largest ratios of ranks, float64[row, model]; bool[row]."""
    kept = np.zeros(len(ranks), np.bool_)
    models = range(ranks.shape[1])
    measures = [ranks[:, model] for model in models]
    measures += [np.abs(np.log(ranks[:, first] / ranks[:, other])) for first, other in combinations(models, 2)]
    for measure in measures:
        kept[np.argsort(-measure, kind="stable")[:EXTREME]] = True
    return kept


def _predictions(study: Study, rows: pd.DataFrame, chosen: BoolArray) -> list[dict[str, Any] | None]:
    """What each model predicted for the ``chosen`` rows (bool[row]); None for a model whose run kept no predictions."""
    by_model: list[dict[str, Any] | None] = []
    for model in study.models:
        content = None if model.predictions is None else kept_predictions(model.predictions, rows[chosen])
        if content is not None:
            of_rows = np.full(len(rows), -1)
            of_rows[chosen] = content["row"]
            content["row"] = of_rows.tolist()
        by_model.append(content)
    return by_model


def _columns(study: Study, rows: pd.DataFrame, predictions: list[dict[str, Any] | None]) -> dict[str, Any]:
    """Lay out the rows for the page's script: column by column, with numbers for labels, also in the predictions."""
    heads, relations, tails = (rows[f"{name}_label"].astype(str).to_numpy() for name in ("head", "relation", "tail"))
    predicted = [np.array(content["entity"], dtype=object) for content in predictions if content]
    entities, named = np.unique(np.concatenate([heads, tails, *predicted])), np.unique(relations)
    display = study.dataset.display_label if study.dataset else str
    models = range(len(study.names))
    return {
        "entities": [display(str(label)) for label in entities],
        "relations": [display(str(label)) for label in named],
        "head": np.searchsorted(entities, heads).tolist(),
        "relation": np.searchsorted(named, relations).tolist(),
        "tail": np.searchsorted(entities, tails).tolist(),
        "side": rows["side"].astype(str).map(TARGETS.index).tolist(),
        "time": rows[TIME].astype(str).tolist() if TIME in rows.columns else None,
        "models": study.names,
        # Whole ranks without a point keep the page small.
        "ranks": [[int(rank) if rank == int(rank) else rank for rank in rows[f"m{index}"]] for index in models],
        "ties": [rows[f"ties{index}"].tolist() for index in models],
        "predictions": [
            content and {**content, "entity": np.searchsorted(entities, content["entity"]).tolist()}
            for content in predictions
        ],
    }
