"""``kgeval predict``: the best answers of queries."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgeval.base.tables.shown import Page
from kgeval.base.tables.table import Cell, Figure, Table
from kgeval.cli.completion import PATH
from kgeval.cli.configuration import configuration, refuse_other_keys
from kgeval.cli.setting_options import OF_EVALUATION, blocks, setting_options
from kgeval.cli.shared_options import FORMAT, QUIET, model_and_dataset, refuse_file
from kgeval.ranking.evaluation import Evaluation

if TYPE_CHECKING:
    from kgeval.data.dataset import Dataset
    from kgeval.ranking.predictions.prediction_table import PredictionTable
    from kgeval.runs.config.run_config import RunConfig


OF_RANKINGS = ("evaluation.estimate", "evaluation.keep")
"""keys without effect on predictions"""


@click.command("predict")
@model_and_dataset
@click.option(
    *("--query", "queries"),
    nargs=3,
    multiple=True,
    metavar="HEAD RELATION TAIL",
    help="Query by labels, with '?' for the missing head or tail. May be repeated.",
)
@click.option(
    "--queries",
    "query_file",
    type=PATH,
    metavar="FILE",
    help="File of queries: one row head, relation, tail per query, or OGB-LSC's array of heads and relations.",
)
@click.option("--at", metavar="TIME", help="Time of the queries of --query, for a temporal graph.")
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
    unseen="what to do with queries that have an entity or relation unknown to the model: error, or drop (leave out)",
)
@click.option("-k", type=click.IntRange(min=1), default=10, metavar="NUMBER", help="Number of answers to each query.")
@click.option(
    "--known",
    type=click.Choice(["keep", "drop"]),
    default="keep",
    help="What to do with known answers: keep (and mark) or drop (leave out).",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File to write, in the format of --out-format; for ogb-lsc it may be a folder.",
)
@click.option(
    *("--out-format", "written_as"),
    type=click.Choice(["parquet", "ogb-lsc", "trec"]),
    default="parquet",
    help="Format of --out: parquet (all columns), ogb-lsc (the ten best tails, for OGB-LSC's WikiKG90Mv2) or trec (a "
    "run and its qrels).",
)
@click.option("--force", is_flag=True, help="Replace a file that is already there.")
@FORMAT
@QUIET
def predict_command(checkpoint: str, dataset: str | None, form: str, **options: Any) -> None:
    """Predict the best answers of queries, with score and rank, and mark known answers.

    Without --query and --queries, the queries of a split are answered.

    Example: kgeval predict umls-TransE --dataset umls --query virus causes '?' -k 5
    """
    from kgeval.cli.display import show, show_notes, show_place
    from kgeval.cli.streams import say_json

    _refuse_contradictions(options)
    if options["written_as"] == "ogb-lsc":
        options["sides"] = options["sides"] or ["tail"]
    config = configuration("predict", checkpoint, dataset, options, blocks(options))
    table, graph = _predictions(config, options)
    if options["out"] is not None:
        show_place(_write(table, graph, options["out"], options["written_as"]))
    if form == "json":
        say_json(as_plain(table))
    elif options["out"] is None:
        page = shown(table, graph)
        show(page, form)
        show_notes(page.notes)
    show_notes(table.notes)


def _refuse_contradictions(options: dict[str, Any]) -> None:
    from kgeval.base.errors import ConfigError

    out, form = options["out"], options["written_as"]
    refuse_other_keys("predict", options["overrides"], OF_RANKINGS)
    _refuse_two_kinds_of_queries(options)
    if form != "parquet" and out is None:
        raise ConfigError(f"--out-format {form} needs --out FILE.")
    if form == "ogb-lsc" and options["k"] != 10:
        raise ConfigError("--out-format ogb-lsc has ten predictions for each query. Leave -k out.")
    if out is not None and form == "parquet" and out.suffix != ".parquet":
        raise ConfigError(f"--out {str(out)!r}: expected a name that ends in .parquet.")
    if out is not None and not options["force"]:
        _refuse_existing(out, form)


def _refuse_two_kinds_of_queries(options: dict[str, Any]) -> None:
    from kgeval.base.errors import ConfigError

    if options["queries"] and options["query_file"]:
        raise ConfigError("give either --query or --queries FILE.")
    if options["at"] is not None and not options["queries"]:
        raise ConfigError("--at needs --query. In a file of queries, the time is the fourth column.")
    if (options["queries"] or options["query_file"]) and (options["split"] or options["sides"]):
        raise ConfigError("give either queries (--query, --queries) or a split (--split, --sides).")


def _refuse_existing(out: Path, written_as: str) -> None:
    if written_as == "ogb-lsc" and out.is_dir():
        return
    for path in [out, out.with_suffix(".qrels")] if written_as == "trec" else [out]:
        refuse_file(path, force=False)


def _predictions(config: RunConfig, options: dict[str, Any]) -> tuple[PredictionTable, Dataset]:
    from kgeval.cli.display import watching
    from kgeval.ranking.predictions.predict import predict
    from kgeval.ranking.predictions.prediction_files import read_query_file
    from kgeval.runs.stored import load_model

    settings = config.evaluation
    with watching("loading dataset"):
        dataset = config.dataset.load()
    at = () if options["at"] is None else (options["at"],)
    queries: Any = [(*query, *at) for query in options["queries"]] or None
    if options["query_file"]:
        queries = read_query_file(options["query_file"], dataset)
    with watching("loading model"):
        model = load_model(config, dataset)
    own = {
        name: getattr(settings, name) for name in settings.model_fields_set if f"evaluation.{name}" not in OF_RANKINGS
    }
    total = _num_queries(dataset, settings.for_model(model)) if queries is None else len(queries)
    with watching("predicting", total, unit="queries") as progress:
        table = predict(
            model, dataset, queries=queries, k=options["k"], known=options["known"], progress=progress, **own
        )
    return table, dataset


def _num_queries(dataset: Dataset, evaluation: Evaluation) -> int:
    from kgeval.ranking.model_on_dataset import asked_queries

    return sum(len(part.numbers) for part in asked_queries(dataset, evaluation)[0])


def _write(table: PredictionTable, dataset: Dataset, out: Path, written_as: str) -> Path:
    from kgeval.ranking.predictions.prediction_files import write_top10, write_trec

    if written_as != "parquet":
        return {"ogb-lsc": write_top10, "trec": write_trec}[written_as](table, dataset, out)
    table.to_parquet(out)
    return out


SHOWN = 20
"""the number of queries that are printed; a file has all of them"""

RANKS = {"rank": "", "raw rank": "raw_"}
"""the prefix of the counts of each rank: filtered, as in an evaluation, and raw"""


def shown(table: PredictionTable, dataset: Dataset) -> Page:
    """Lay out the predictions of the first queries, with the names of entities."""
    rows = table.data.to_pylist() if table.queries <= SHOWN else table.data.slice(0, SHOWN * table.places).to_pylist()
    tables = []
    for number in list(dict.fromkeys(row["query"] for row in rows))[:SHOWN]:
        mine = [row for row in rows if row["query"] == number]
        ranks = [name for name, prefix in RANKS.items() if mine[0][f"{prefix}greater"] is not None]
        columns = (ranks[-1], "entity", "score", *ranks[:-1], "known", "of type")
        title = _query_text(mine[0], dataset)
        tables.append(Table(columns, [_cells(row, dataset, ranks) for row in mine], keys=2, title=title))
    more = table.queries > len(tables) == SHOWN
    note = (
        f"only the first {SHOWN} of {table.queries:,} queries are shown. --out FILE.parquet or --json has all of them."
    )
    return Page((str(table.provenance),), tuple(tables), (note,) if more else ())


def as_plain(table: PredictionTable) -> dict[str, Any]:
    """Return plain data, a block for each query. Infinite scores are text."""
    queries: dict[int, dict[str, Any]] = {}
    own = ("side", "anchor_label", "relation_label")
    for row in table.data.to_pylist():
        number = row.pop("query")
        about = {name.removesuffix("_label"): row[name] for name in own}
        block = queries.setdefault(number, {"query": number, **about, "predictions": []})
        score = row.pop("score") if math.isfinite(row["score"]) else str(row.pop("score"))
        columns = (*own, "anchor", "relation", "entity", "entity_label", "place")
        further = {name: value for name, value in row.items() if name not in columns}
        ranks = {
            name.replace(" ", "_"): 1 + row[f"{prefix}greater"] + row[f"{prefix}tied"] / 2
            for name, prefix in RANKS.items()
            if row[f"{prefix}greater"] is not None
        }
        place = {"place": row["place"], "entity": row["entity_label"], "score": score}
        block["predictions"].append({**place, **ranks, **further})
    return {"provenance": table.provenance.to_dict(), "queries": [*queries.values()], "notes": list(table.notes)}


def _query_text(row: dict[str, Any], dataset: Dataset) -> str:
    from kgeval.data.triples import triple_of
    from kgeval.ranking.rank_table import TIME

    text = dataset.triple(*triple_of(row["side"], row["anchor"], row["relation"], -1))
    return f"{text} at {row[TIME]}" if TIME in row else text


def _cells(row: dict[str, Any], dataset: Dataset, ranks: list[str]) -> list[Cell]:
    entity, of_type = dataset.display_label(row["entity_label"]), "yes" if row["is_of_type"] else "no"
    *filtered, among_all = (_rank(row, RANKS[name]) for name in ranks)
    return [among_all, entity, Figure(row["score"], text=f"{row['score']:.6g}"), *filtered, row["known"], of_type]


def _rank(row: dict[str, Any], prefix: str) -> Cell:
    """Write the rank, or the best and the worst rank of an answer that ties."""
    above, tied = row[f"{prefix}greater"], row[f"{prefix}tied"]
    return Figure(1 + above + tied / 2, text=f"{1 + above}–{1 + above + tied}") if tied else 1 + above
