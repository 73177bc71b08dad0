"""``kgeval evaluate``: evaluate a checkpoint on a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kgeval.cli.configuration import chosen, configured
from kgeval.cli.shared_options import FAIL_UNDER, FOLDER, JSON, METRIC, NAMES, QUIET, listed, pairs, policies


@click.command("evaluate")
@click.argument("checkpoint")
@click.option("--dataset", required=True, help="A folder in any known layout, or a PyKEEN name.")
@click.option("--layout", default="auto", help="The layout of the folder.  [default: auto]")
@NAMES
@click.option("--split", default="test", help="The split whose triples are ranked.  [default: test]")
@click.option(
    "--sides", multiple=True, callback=listed, metavar="SIDE", help="head, tail; may be repeated.  [default: both]"
)
@click.option(
    "--filter",
    multiple=True,
    callback=listed,
    metavar="SPLIT",
    help="A split whose triples are known answers, or none; may be repeated.  [default: as the protocol says, all]",
)
@click.option(
    "--corruption",
    metavar="KIND[:K=V,…]",
    help="Which candidates compete, such as uniform:count=500; 'kgeval list corruptions' shows all.  "
    "[default: as the protocol says, all]",
)
@click.option("--format", default="auto", help="How the checkpoint was written.  [default: auto]")
@click.option(
    "--option", "options", multiple=True, metavar="K=V", help="What its files do not hold, such as model=ComplEx."
)
@click.option("--protocol", default="standard", help="The framework whose rules are followed.  [default: standard]")
@click.option(
    "--unseen", default="error", help="Triples the model does not know: error, drop or worst.  [default: error]"
)
@click.option("--nan", default="error", help="Scores that are not a number: error or worst.  [default: error]")
@click.option("--batch-size", type=int, help="Queries in hand at a time; it changes no rank.")
@click.option("--memory-limit", help="What the blocks of work may take, such as 2GB; it changes no rank.")
@click.option("--threads", type=int, help="Threads to use; they change no rank.")
@METRIC
@policies(stored=False)
@FAIL_UNDER
@click.option("--out", type=FOLDER, help="Write a run directory.")
@click.option("--force", is_flag=True, help="Replace a run that is already there.")
@QUIET
@JSON
def command(
    checkpoint: str,
    dataset: str,
    out: Path | None,
    force: bool,
    fail_under: dict[str, float],
    as_json: bool,
    **given: Any,
) -> None:
    """Evaluate a checkpoint on a dataset: every true answer is ranked among all entities, both sides, filtered.

    Example: kgeval evaluate model.npz --dataset data/fb15k-237 --option model=ComplEx
    """
    from kgeval.cli.display import show_note, show_notes, show_outcome, show_place, watching
    from kgeval.cli.streams import say_json
    from kgeval.runs.fail_under import measured, refuse_bounds, refuse_shortfalls
    from kgeval.runs.runner import run

    config = configured(
        "evaluate",
        checkpoint,
        dataset,
        given,
        protocol=given["protocol"],
        evaluation=_evaluation(given),
        metrics=list(given["metrics"]),
        **chosen(given, "ties", "seed", "chance", "popularity"),
    )
    refuse_bounds(fail_under, "ranks")
    (outcome,) = run(config, out, force=force, watch=watching, warn=show_note)
    if as_json:
        say_json(outcome.to_dict())
    else:
        show_outcome(outcome)
    show_notes(outcome.notes)
    if out is not None:
        show_place(out)
    if fail_under:
        refuse_shortfalls({"": measured(outcome, [*fail_under])}, fail_under)


def _evaluation(given: dict[str, Any]) -> dict[str, Any]:
    block = chosen(given, "split", "unseen", "nan", "batch_size", "memory_limit", "threads")
    if given["sides"]:
        block["sides"] = list(given["sides"])
    if given["filter"]:
        block["filter"] = [] if given["filter"] == ("none",) else list(given["filter"])
    if given["corruption"] is not None:
        kind, _, options = given["corruption"].partition(":")
        said = tuple(option for option in options.split(",") if option)
        block["corruption"] = {"kind": kind, **pairs(said, "--corruption")}
    return block
