"""The headline metric by slice and by relation, and the distribution of ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.analysis.slices.slice import slices
from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.base.errors import counted
from kgeval.data.triples import TARGETS
from kgeval.metrics.intervals.interval import PLURAL
from kgeval.metrics.names import parse, short_title, title_of
from kgeval.metrics.ranks.ties import tie_policy
from kgeval.metrics.summarize import summarize
from kgeval.ranking.predictions.prediction_table import PredictionTable
from kgeval.ranking.rank_table import TIME, RankTable
from kgeval.reports.document import Section, isolated
from kgeval.reports.pictures import TRIPLES, distribution, relations_chart, slice_panel
from kgeval.reports.study import SHOWN, Study, first_value, with_slices
from kgeval.reports.theme import PAGE, themed

if TYPE_CHECKING:
    import pandas as pd


def origins(study: Study) -> Section:
    groups, relations = slice_scores(study), relation_scores(study)
    display = study.dataset.display_label if study.dataset else str
    relations["relation"] = list(map(display, relations["relation"]))
    panels, captions = {}, {}
    for name in groups["slice"].unique():
        own = groups[groups["slice"] == name]
        panel = slice_panel(own, PAGE, baselines=study.baselines, width="container")
        panels[f"slice-{name}"] = themed(panel, PAGE)
        captions[f"slice-{name}"] = slices()[name].title if name in slices() else "what is predicted"
    second = 1 if len(study.names) > 1 else 0
    picture = relations_chart(scatter(relations, 0, second), PAGE, axes=axes(study, 0, second), width="container")
    data = {
        "relation": relations["relation"].tolist(),
        "triples": relations["triples"].tolist(),
        "cardinality": relations["cardinality"].astype(str).tolist(),
        "values": [
            [None if isnan(value) else round(value, 6) for value in relations[f"m{index}"].tolist()]
            for index in range(len(study.names))
        ],
        "models": study.names,
    }
    content = {
        "panels": captions,
        "models": PAGE.looks(study.names, study.baselines),
        "dataset": study.dataset is not None,
        "relations": relations_title(study, relations),
        "unit": PLURAL[study.unit],
        "intervals": bool(groups["low"].notna().any()),
    }
    charts = {**panels, "relations": picture}
    return Section("where", "Slices", slices_title(study, groups), content, charts, {"relations": data})


def scatter(relations: pd.DataFrame, first: int, second: int) -> pd.DataFrame:
    """Choose what a scatter shows: a model up, and another or, of a single one, the number of triples across."""
    across = relations["triples"] if first == second else relations[f"m{second}"]
    return relations[["relation", "triples", "cardinality"]].assign(x=across, y=relations[f"m{first}"])


def axes(study: Study, first: int, second: int) -> tuple[str, str]:
    name = short_title(parse(study.metrics[0]))
    arrow = title_of(parse(study.metrics[0])).removeprefix(name)
    across, up = (f"{name} of {isolated(study.names[at])}{arrow}" for at in (second, first))
    return (TRIPLES if first == second else across), up


def relations_title(study: Study, relations: pd.DataFrame) -> str:
    if len(study.names) == 1:
        name = short_title(parse(study.metrics[0]))
        return f"{name} and number of test triples of {counted(len(relations), 'relation')}"
    sign = -1 if parse(study.metrics[0]).metric.increasing is False else 1
    better = int((sign * relations["m0"] > sign * relations["m1"]).sum())
    first, other = map(isolated, study.names[:2])
    on = f"{better:,} of {counted(len(relations), 'relation')}"
    return f"{first} has a better {short_title(parse(study.metrics[0]))} than {other} on {on} (not tested)"


def slices_title(study: Study, groups: pd.DataFrame) -> str:
    own = groups[(groups["model"] == study.names[0]) & groups["low"].notna()]
    name_of_metric = short_title(parse(study.metrics[0]))
    for name, kind in (("cardinality", "relations"), ("side", "answers")):
        ordered = own[own["slice"] == name].sort_values("value")
        if len(ordered) > 1 and ordered.iloc[0]["high"] < ordered.iloc[-1]["low"]:
            low, high = ordered.iloc[0], ordered.iloc[-1]
            run = " (run of the middle seed)" if study.models[0].seeds else ""
            return (
                f"{isolated(study.names[0])}{run} has its lowest {name_of_metric} on {low['group']} {kind} "
                f"({low['value']:.3f}) and its highest on {high['group']} {kind} ({high['value']:.3f}); the intervals "
                "do not overlap"
            )
    return f"{name_of_metric} by slice"


def slice_scores(study: Study, names: Sequence[str] = SHOWN) -> pd.DataFrame:
    """A row per slice, category and model: slice, category, group, model, value, low, high, count, axis."""
    import pandas as pd

    tables = study.sliced if tuple(names) == SHOWN else with_slices(study.aligned, study.dataset, names)
    shared = [name for name in dict.fromkeys(names) if all(name in table.columns for table in tables.values())]
    rows = [row for name in shared for model, table in tables.items() for row in _rows(study, table, name, model)]
    frame = pd.DataFrame(rows, columns=["slice", "category", "group", "model", "value", "low", "high", "count"])
    several = frame.groupby("slice")["group"].transform("nunique") > 1
    return frame[several].reset_index(drop=True).assign(axis=title_of(parse(study.metrics[0])))


def relation_scores(study: Study) -> pd.DataFrame:
    """A row per relation: relation (its label), triples, cardinality (empty where unknown), and m0, m1, … by model."""
    import pandas as pd

    frames = []
    for index, model in enumerate(study.models):
        summary = summarize(model.table, [study.metrics[0], "count"], by="relation", ties=study.ties)
        values = {group.key["relation"]: first_value(group) for group in summary.groups}
        frames.append(pd.Series(values, name=f"m{index}", dtype=np.float64))
    table = study.sliced[study.names[0]]
    own = pd.DataFrame({"relation": table.column("relation_label"), "triple": table.column("triple")})
    own["cardinality"] = table.column("cardinality") if "cardinality" in table.columns else ""
    facts_of = {"triples": ("triple", "nunique"), "cardinality": ("cardinality", "first")}
    facts = own.groupby("relation", observed=True).agg(**facts_of)
    joined: pd.DataFrame = facts.join(pd.concat(frames, axis=1)).rename_axis("relation").reset_index()
    return joined


def _rows(study: Study, table: RankTable, name: str, model: str) -> Iterator[tuple[Any, ...]]:
    """Yield, for each category: slice, category, group, model, value, low, high, count."""
    summary = summarize(table, [study.metrics[0], "count"], by=name, ties=study.ties, intervals=study.unit_of(table))
    for group in summary.groups:
        kind = str(group.key[name])
        count = int(next(value for name, value in group.values.items() if name.name == "count") or 0)
        interval = group.intervals.get(next(iter(group.values)))
        ends = (interval.low, interval.high) if interval else (np.nan, np.nan)
        yield name, f"{kind}\n{count:,}", kind, model, first_value(group), *ends, count


EVERY = 100
"""every k up to this one is drawn, larger ones in steps of 2 %"""

FACTORS = (100.0, 10.0, 2.0)
"""how many times better a rank is, for the three shades"""


def cumulative(study: Study) -> Section:
    points = cumulative_points(study)
    chart = distribution(points, PAGE, baselines=study.baselines, width="container", legend=False)
    changes = [rank_changes(study, first, second) for first, second in combinations(range(len(study.names)), 2)]
    shares = {model: own["share"].tolist() for model, own in points.groupby("model", sort=False)}
    data = {"hits": {"k": points["k"].unique().tolist(), "shares": shares}}
    looks = PAGE.looks(study.names, study.baselines)
    content = {"models": looks, "changes": changes, "largest": int(points["k"].max())}
    return Section("ranks", "Hits@k", ranks_title(study), content, {"distribution": chart}, data)


def cumulative_points(study: Study) -> pd.DataFrame:
    """Compute the share of ranks ≤ k for each model: columns model, k, share."""
    import pandas as pd

    tables = [model.table for model in study.models]
    worst = [(table.column("greater") + table.column("tied")).max() for table in tables if len(table)]
    at = cutoffs(int(max(worst, default=0)) + 1)
    shares = {model.name: hits_at_every(at, study, model.table) for model in study.models}
    frames = [pd.DataFrame({"model": name, "k": at, "share": share}) for name, share in shares.items()]
    return pd.concat(frames, ignore_index=True)


def hits_at_every(at: IntArray, study: Study, table: RankTable) -> Float64Array:
    """Compute Hits@k at several k, with expected ties their exact expectation; float64[k]."""
    if tie_policy(study.ties).name != "expected":
        counts = np.searchsorted(np.sort(study.ranks_of(table)), at, "right").astype(np.float64)
    else:
        best, places = 1 + table.column("greater"), 1 + table.column("tied")
        tied = places > 1
        counts = np.searchsorted(np.sort(best[~tied]), at, "right").astype(np.float64)
        counts += [float(np.clip((k + 1 - best[tied]) / places[tied], 0, 1).sum()) for k in at.tolist()]
    return counts / max(len(table), 1)


def cutoffs(largest: int) -> IntArray:
    """List the k at which the distribution is drawn; int64[k].

    >>> cutoffs(103)[-4:]
    array([ 99, 100, 102, 103])
    """
    steps = int(np.log(max(largest, EVERY) / EVERY) / np.log(1.02))
    beyond = np.floor(EVERY * 1.02 ** np.arange(1, steps + 1)).astype(np.int64)
    every = np.r_[np.arange(1, EVERY + 1), beyond, largest]
    return np.unique(every[every <= largest])


def rank_changes(study: Study, first: int, second: int) -> dict[str, Any]:
    ratio = (study.rows[f"m{second}"] / study.rows[f"m{first}"]).to_numpy()
    shares = shares_by_factor(ratio)
    better, worse = sum(shares[: len(FACTORS)]), sum(shares[len(FACTORS) + 1 :])
    return {"models": (study.names[first], study.names[second]), "shares": shares, "better": better, "worse": worse}


def shares_by_factor(ratio: Float64Array) -> list[float]:
    """Divide rows by the ratio of their two ranks, from far better in the first model to far better in the second.

    >>> shares_by_factor(np.array([1.0, 1.5, 2.0, 0.01]))
    [0.0, 0.0, 0.25, 0.5, 0.0, 0.0, 0.25]
    """
    far = sum((ratio >= factor).astype(np.int64) for factor in FACTORS)
    near = sum((ratio <= 1 / factor).astype(np.int64) for factor in FACTORS)
    counts = np.bincount(len(FACTORS) - far + near, minlength=2 * len(FACTORS) + 1)
    return [float(count / max(len(ratio), 1)) for count in counts]


def ranks_title(study: Study) -> str:
    ranks = {model.name: study.ranks_of(model.table) for model in study.models if len(model.table)}
    if not ranks:
        return "There are no ranks"
    medians = {name: float(np.median(of_model)) for name, of_model in ranks.items()}
    lowest = min(medians.values())
    best = [isolated(name) for name, median in medians.items() if median == lowest]
    models = " and ".join([best[0], *([best[1] if len(best) == 2 else f"{len(best) - 1} others"] if best[1:] else [])])
    if len(best) == len(medians):
        models = models if len(best) == 1 else f"all {len(best)} models"
        return f"The median rank of {models} is {lowest:,g}"
    return f"{models} {'have' if best[1:] else 'has'} the lowest median rank: {lowest:,g}"


QUERY = ["side", "anchor_label", "relation_label"]

KNOWN = ("new", "train", "valid", "test")
"""the split that has a predicted triple"""


def kept_predictions(table: PredictionTable, rows: pd.DataFrame) -> dict[str, Any]:
    """Lay the predictions for some rows out, for the page's script.

    The rows have the columns head_label, relation_label, tail_label and side, and in a temporal graph time. The result
    has ``row``, for each row the number of its query, or −1; ``offset``, where the predictions of each query begin; of
    each prediction ``entity``, its label, ``known``, its place in ``KNOWN``, and ``typed``, 0 or 1.
    """
    times = [TIME] if TIME in rows.columns else []
    key = [*QUERY, *times]
    frame = table.data.select([*key, "query", "entity_label", "known", "is_of_type"]).to_pandas()
    first = frame.drop_duplicates("query")[[*key, "query"]]
    text = rows[["side", "head_label", "relation_label", "tail_label", *times]].astype(str)
    queries = text.assign(anchor_label=text["head_label"].where(text["side"] == "tail", text["tail_label"]))
    found = queries.merge(first.astype(dict.fromkeys(key, str)), on=key, how="left")["query"]
    wanted = np.unique(found.dropna().to_numpy(np.int64))
    own = frame[frame["query"].isin(wanted)]
    numbers = np.searchsorted(wanted, found.fillna(-1).to_numpy(np.int64))
    return {
        "row": np.where(found.isna(), -1, numbers).tolist(),
        "offset": [*np.searchsorted(own["query"].to_numpy(), wanted).tolist(), len(own)],
        "entity": own["entity_label"].astype(str).tolist(),
        "known": own["known"].astype(str).map({name: place for place, name in enumerate(KNOWN)}).tolist(),
        "typed": own["is_of_type"].astype(int).tolist(),
    }


MOST = 50_000
"""rows up to which all are on the page"""

EXTREME = 2_000
"""of more rows, how many of the worst of each model, and of the largest ratios of each pair, are"""


def triple_table(study: Study) -> Section:
    rows = study.rows
    ranks = rows[[f"m{index}" for index in range(len(study.names))]].to_numpy()
    extreme = extreme_rows(ranks)
    kept = extreme if len(ranks) > MOST else np.ones(len(ranks), np.bool_)
    rule = ""
    if not kept.all():
        pairs = f" and, for each pair of models, the {EXTREME:,} with the largest ratio of ranks"
        worst = f"the {EXTREME:,} worst ranks of each model{pairs if len(study.names) > 1 else ''}"
        rule = f"The page holds {worst}. The run directory holds all. "
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
    """Choose the worst ranks and the largest ratios, of ranks, float64[row, model]; bool[row]."""
    kept = np.zeros(len(ranks), np.bool_)
    models = range(ranks.shape[1])
    measures = [ranks[:, model] for model in models]
    measures += [np.abs(np.log(ranks[:, one] / ranks[:, other])) for one, other in combinations(models, 2)]
    for measure in measures:
        kept[np.argsort(-measure, kind="stable")[:EXTREME]] = True
    return kept


def _predictions(study: Study, rows: pd.DataFrame, chosen: BoolArray) -> list[dict[str, Any] | None]:
    """What each model predicted for the chosen of some rows; None where its run did not keep that."""
    found: list[dict[str, Any] | None] = []
    for model in study.models:
        content = None if model.predictions is None else kept_predictions(model.predictions, rows[chosen])
        if content is not None:
            of_rows = np.full(len(rows), -1)
            of_rows[chosen] = content["row"]
            content["row"] = of_rows.tolist()
        found.append(content)
    return found


def _columns(study: Study, rows: pd.DataFrame, predictions: list[dict[str, Any] | None]) -> dict[str, Any]:
    """Lay the rows out column by column, and labels by number, those of predictions too."""
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
