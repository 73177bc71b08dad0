"""``kgeval predict``: the best answers of queries, printed or written to a file.

The options become a configuration, whose model answers queries or the triples of a split
(:mod:`kgeval.ranking.predictions`). ``ShownPredictions``, below, is how the answers are printed and written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgeval.base.errors import counted
from kgeval.base.notes import in_json
from kgeval.base.tables.shown import Shown
from kgeval.base.tables.table import Cell, Figure, Table
from kgeval.cli.configuration import configuration, refuse_other_keys
from kgeval.cli.options import PATH, option, options_of
from kgeval.cli.setting_options import OF_EVALUATION, blocks, setting_options
from kgeval.cli.shared_options import Printing, Replacing, model_and_dataset, refuse_file
from kgeval.ranking.evaluation import Evaluation

if TYPE_CHECKING:
    from kgeval.data.dataset import Dataset
    from kgeval.ranking.predictions.prediction_table import PredictionTable
    from kgeval.runs.config.run_config import RunConfig


OF_RANKINGS = ("evaluation.estimate", "evaluation.keep")
"""keys without effect on predictions"""


ENDINGS = {f".{form}": form for form in ("parquet", "csv", "jsonl", "json")} | {".md": "markdown", ".tex": "latex"}
"""the formats of files, by the endings of their names"""

RANKS = {"rank": "", "raw rank": "raw_"}
"""by the name of a rank, filtered (as in an evaluation) or raw, the prefix of the columns with its counts"""

IN_PARTS = ("csv", "jsonl", "parquet")
"""the formats that are written part by part"""

ROWS_AT_A_TIME = 200_000
"""the most predictions in memory while rows are written"""

FOR_LANGUAGE_MODELS = ("candidates", "kicgpt", "dift")
"""the formats of candidates for language models, which must not know the answers of the split"""


class Asked(Replacing):
    """The queries, the number of answers, and the file for them."""

    queries = option("--query", nargs=3, multiple=True, metavar="HEAD RELATION TAIL")
    """Query by labels, with '?' for the missing head or tail. May be repeated."""
    query_file = option("--queries", type=PATH, metavar="FILE")
    """File of queries: one row head, relation, tail per query, or OGB-LSC's array of heads and relations."""
    at = option(metavar="TIME")
    """Time of the queries of --query, for a temporal graph."""
    k = option("-k", type=click.IntRange(min=1), default=10, metavar="NUMBER")
    """Number of answers to each query."""
    known = option(type=click.Choice(["keep", "drop"]))
    """What to do with known answers: keep (and mark) or drop (leave out). [default: keep]"""
    out = option(type=click.Path(path_type=Path))
    """File to write, in the format of --out-format; for ogb-lsc it may be a folder."""
    written_as = option(
        "--out-format", type=click.Choice([*dict.fromkeys(ENDINGS.values()), "ogb-lsc", "trec", *FOR_LANGUAGE_MODELS])
    )
    """Format of --out: parquet (all columns), csv or jsonl (a row for each prediction; all three are written part by
    part), json, markdown, latex, ogb-lsc (the ten best tails, for OGB-LSC's WikiKG90Mv2), trec (a run and its qrels),
    or candidates for language models, made without knowledge of the split: candidates (lines of JSON), kicgpt (a
    folder), dift. [default: by its ending: .parquet, .csv, .jsonl, .json, .md, .tex]"""
    probabilities = option(type=PATH, metavar="RUN")
    """Run of 'kgeval classify' of the same model: adds calibrated probabilities, fitted on its validation triples."""
    precision = option(type=click.FloatRange(0, 1, min_open=True), metavar="NUMBER")
    """With --probabilities: keep only predictions whose score has at least this precision on the validation triples."""


@click.command("predict")
@model_and_dataset
@options_of(Asked, "queries", "query_file", "at")
@setting_options(
    Evaluation,
    *OF_EVALUATION,
    place=("evaluation",),
    split="without queries: the split whose queries are answered, or a file of triples",
    sides="with --split: the sides that are predicted: head, tail",
    corruption="the entities that are the candidates, such as entities:path=FILE or typed",
    restrict_entities_to="with --split: the entities to restrict candidates and triples to: a file with one label per "
    "line",
    restrict_relations_to="with --split: the relations to restrict triples to: a file with one label per line",
    defaults={"corruption": "all"},
    unseen="what to do with queries that have an entity or relation unknown to the model: error, or drop (leave out); "
    "labels that the dataset lacks are always an error",
)
@options_of(Asked, "k", "known", "probabilities", "precision", "out", "written_as", "force")
@options_of(Printing, "form", "as_json", "quiet")
def predict_command(checkpoint: str, dataset: str | None, form: str, **options: Any) -> None:
    """Predict the best answers of queries, with score and rank, and mark known answers.

    Without --query and --queries, the queries of a split are answered.

    Example: kgeval predict umls-TransE --dataset umls --query virus causes '?' -k 5
    """
    from kgeval.cli.display import show, show_file, show_notes, show_place
    from kgeval.ranking.predictions.prediction_files import write_parts

    out: Path | None = options["out"]
    if out is not None and options["written_as"] is None:
        options["written_as"] = _format_of(out)
    _refuse_contradictions(options)
    if options["written_as"] == "ogb-lsc":
        options["sides"] = options["sides"] or ["tail"]
    config = configuration("predict", checkpoint, dataset, options, blocks(options))
    if options["written_as"] in FOR_LANGUAGE_MODELS:
        config = _without_knowledge(config, options)
    tables, graph = _predictions(config, options)
    if out is not None and options["written_as"] in IN_PARTS:
        show_notes(write_parts(tables, out, options["written_as"]).notes)
        return show_file(out, as_json=form == "json")
    (table,) = tables
    result = ShownPredictions(table, graph)
    if out is not None:
        show_place(_write(result, out, options["written_as"]))
    if out is None or form == "json":
        show(result, form)
    return show_notes(result.notes)


def _without_knowledge(config: RunConfig, options: dict[str, Any]) -> RunConfig:
    """Leave out the known answers of train and valid, but for the evaluated split; refuse any other filter."""
    from kgeval.base.errors import ConfigError
    from kgeval.data.split_names import parts_of

    settings = config.evaluation
    before = tuple(name for name in ("train", "valid") if name not in parts_of(settings.split))
    names = settings.filter if "filter" in settings.model_fields_set else before
    later = ",".join(name for name in names if name not in before)
    kept = "--known keep: known answers take the places of new ones" if options["known"] == "keep" else ""
    if mistake := f"--filter {later}: lists that leave out the answers of {later} know them" if later else kept:
        cure = f"Leave it out: known answers of {' and '.join(before) or 'no split'} are left out."
        raise ConfigError(f"--out-format {options['written_as']}: {mistake}. {cure}")
    options["known"] = "drop"
    return config.model_copy(update={"evaluation": settings.model_copy(update={"filter": names})})


def _format_of(out: Path) -> str:
    from kgeval.base.errors import ConfigError

    if (ending := out.suffix.lower()) not in ENDINGS:
        *others, last = ENDINGS
        raise ConfigError(f"--out {str(out)!r}: expected a name that ends in {', '.join(others)} or {last}.")
    return ENDINGS[ending]


def _refuse_contradictions(options: dict[str, Any]) -> None:
    from kgeval.base.errors import ConfigError

    out, form, queries = options["out"], options["written_as"], options["queries"] or options["query_file"]
    refuse_other_keys("predict", options["overrides"], OF_RANKINGS)
    other_ending = out is not None and form in ENDINGS.values() and ENDINGS.get(out.suffix.lower(), form) != form
    mistakes = {
        "--precision needs --probabilities RUN.": options["precision"] and not options["probabilities"],
        "give either --query or --queries FILE.": options["queries"] and options["query_file"],
        "--at needs --query. In a file of queries, the time is the fourth column.": options["at"] is not None
        and not options["queries"],
        "give either queries (--query, --queries) or a split (--split, --sides).": queries
        and (options["split"] or options["sides"]),
        f"--out-format {form} needs --out FILE.": form is not None and out is None,
        "--out-format ogb-lsc has ten predictions for each query. Leave -k out.": form == "ogb-lsc"
        and options["k"] != 10,
        f"--out {str(out)!r}: its ending is that of another format than --out-format {form}.": other_ending,
    }
    for mistake, is_made in mistakes.items():
        if is_made:
            raise ConfigError(mistake)
    if out is not None and not options["force"] and not (form == "ogb-lsc" and out.is_dir()):
        for path in [out, out.with_suffix(".qrels")] if form == "trec" else [out]:
            refuse_file(path, force=False)


def _predictions(config: RunConfig, options: dict[str, Any]) -> tuple[Iterator[PredictionTable], Dataset]:
    """Predict, in several tables if rows are written, else in one."""
    from kgeval.cli.display import watching
    from kgeval.models.alignment import align
    from kgeval.ranking.predictions.predict import ModelPredictions, asked_queries
    from kgeval.ranking.predictions.query_rows import read_queries, read_query_file
    from kgeval.runs.calibration import read_calibration

    with watching("loading dataset"):
        dataset = config.dataset.load()
    at = () if options["at"] is None else (options["at"],)
    queries = read_query_file(options["query_file"], dataset) if options["query_file"] else None
    if options["queries"]:
        queries = read_queries([(*query, *at) for query in options["queries"]], dataset)
    with watching("loading model"):
        scorer = align(config.load_model(dataset), dataset)
    model = ModelPredictions(scorer, dataset, config.evaluation.for_model(scorer))
    calibrated = None
    if options["probabilities"]:
        calibrated = read_calibration(Path(options["probabilities"]), scorer, dataset, options["precision"])

    def tables() -> Iterator[PredictionTable]:
        parts = options["out"] is not None and options["written_as"] in IN_PARTS
        size = max(1, ROWS_AT_A_TIME // min(options["k"], len(dataset.entities))) if parts else None
        asked = asked_queries(dataset, model.evaluation, queries)[0]
        total = sum(len(part.numbers) for part in asked)
        with watching("predicting", total, unit="queries") as progress:
            settings = {"drops_known": options["known"] == "drop", "progress": progress, "at_a_time": size}
            for table in model.in_parts(options["k"], queries, **settings):
                yield table if calibrated is None else calibrated(table)

    return tables(), dataset


def _write(result: ShownPredictions, out: Path, written_as: str) -> Path:
    from kgeval.base.storage import write_text
    from kgeval.ranking.predictions.candidate_lists import WRITERS
    from kgeval.ranking.predictions.prediction_files import write_top10, write_trec
    from kgeval.stored.contents import as_json

    if written_as in (further := {"ogb-lsc": write_top10, "trec": write_trec, **WRITERS}):
        return further[written_as](result.predictions, result.dataset, out)
    write_text(out, as_json(result.to_dict()) if written_as == "json" else getattr(result, f"to_{written_as}")())
    return out


SHOWN = 20
"""the number of queries that are printed as text; other formats and files have all of them"""


@dataclass(frozen=True, repr=False)
class ShownPredictions(Shown):
    """Predictions as they are printed: a table for each query; in CSV one table."""

    predictions: PredictionTable
    dataset: Dataset

    @property
    def heads(self) -> tuple[str, ...]:
        return (str(self.predictions.provenance),)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self.predictions.notes)

    def tables(self) -> tuple[Table, ...]:
        tables = [self._table(rows) for rows in islice(self._queries(), SHOWN)]
        if (left := self.predictions.queries - SHOWN) > 0:
            more = f"… and {counted(left, 'more query', 'more queries')}. Other formats, as --format csv, have all."
            tables[-1] = replace(tables[-1], notes=[more])
        return tuple(tables)

    def papers(self) -> tuple[Table, ...]:
        return tuple(map(self._table, self._queries()))

    def csv_tables(self) -> tuple[Table, ...]:
        """Return one row for each prediction, after its query."""
        from kgeval.ranking.predictions.prediction_files import flat_rows

        rows = flat_rows(self.predictions)
        cells = ([Figure(x) if isinstance(x, float) else x for x in row] for row in rows.itertuples(index=False))
        return (Table([*rows], [*cells]),)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, a block for each query. Infinite scores are text."""
        labels = ("side", "anchor_label", "relation_label")
        queries = []
        for rows in self._queries():
            about = {name.removesuffix("_label"): rows[0][name] for name in labels}
            queries.append({"query": rows[0]["query"], **about, "predictions": list(map(_as_plain, rows))})
        return {"provenance": self.predictions.provenance.to_dict(), "queries": queries, **in_json(self.notes)}

    def _queries(self) -> Iterator[list[dict[str, Any]]]:
        """Yield the rows of each query."""
        rows = (row for batch in self.predictions.data.to_batches(max_chunksize=1000) for row in batch.to_pylist())
        for _, of_query in groupby(rows, itemgetter("query")):
            yield list(of_query)

    def _table(self, rows: list[dict[str, Any]]) -> Table:
        ranks = [name for name, prefix in RANKS.items() if rows[0][f"{prefix}greater"] is not None]
        further = ["probability"] if "probability" in rows[0] else []
        columns = (ranks[-1], "entity", "score", *further, *ranks[:-1], "known", "of type")
        cells = [_cells(row, self.dataset, ranks) for row in rows]
        return Table(columns, cells, keys=2, title=_query_text(rows[0], self.dataset))


def _as_plain(row: dict[str, Any]) -> dict[str, Any]:
    score = row["score"] if math.isfinite(row["score"]) else str(row["score"])
    place = {"place": row["place"], "entity": row["entity_label"], "score": score}
    ranks = {
        name.replace(" ", "_"): 1 + row[f"{prefix}greater"] + row[f"{prefix}tied"] / 2
        for name, prefix in RANKS.items()
        if row[f"{prefix}greater"] is not None
    }
    columns = ("query", "side", "anchor_label", "relation_label", "anchor", "relation", "entity_label", *place)
    return {**place, **ranks, **{name: value for name, value in row.items() if name not in columns}}


def _query_text(row: dict[str, Any], dataset: Dataset) -> str:
    from kgeval.data.triples import triple_of
    from kgeval.ranking.rank_table import TIME

    text = dataset.triple(*triple_of(row["side"], row["anchor"], row["relation"], -1))
    return f"{text} at {row[TIME]}" if TIME in row else text


def _cells(row: dict[str, Any], dataset: Dataset, ranks: list[str]) -> list[Cell]:
    entity, of_type = dataset.display_label(row["entity_label"]), "yes" if row["is_of_type"] else "no"
    *filtered, among_all = (_rank(row, RANKS[name]) for name in ranks)
    score, probability = Figure(row["score"], text=f"{row['score']:.6g}"), row.get("probability")
    further = [] if probability is None else [Figure(probability, text=f"{probability:.3f}")]
    return [among_all, entity, score, *further, *filtered, row["known"], of_type]


def _rank(row: dict[str, Any], prefix: str) -> Cell:
    """Write the rank, or the best and the worst rank of an answer that ties."""
    above, tied = row[f"{prefix}greater"], row[f"{prefix}tied"]
    return Figure(1 + above + tied / 2, text=f"{1 + above}–{1 + above + tied}") if tied else 1 + above
