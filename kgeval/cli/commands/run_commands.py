"""``kgeval run`` runs experiments, ``merge`` finishes sharded runs, ``schema`` describes a configuration.

``run_command`` reads configurations, runs one after the other (:mod:`kgeval.runs.runner`), and prints each as soon as
it is done. Runs of several datasets or seeds are printed as one table at the end (``_show_grid``). The command fails if
a run failed or a metric misses its bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgeval.base.settings import plain
from kgeval.cli.options import option, options_of
from kgeval.cli.shared_options import FOLDER, Failing, JsonAlone, Printing, Source, Written

if TYPE_CHECKING:
    from kgeval.runs.config.run_config import RunConfig
    from kgeval.runs.metric_bounds import Bounds, Judged, Threshold
    from kgeval.runs.outcome import Outcome


def _shard(_: click.Context, __: click.Parameter, text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    number, slash, count = text.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise click.BadParameter(f"expected K/N, such as 3/16, with K from 1 to N, found {text!r}.")
    return int(number), int(count)


class Part(Written):
    """Which part of a configuration is run, and where its runs are written."""

    only = option(multiple=True, metavar="NAME=VALUE")
    """Part to run of a configuration with several datasets or seeds, such as dataset=umls,model=TransE,seed=0. May be
    repeated."""
    out = option(type=FOLDER)
    """Run directory, instead of the one in the configuration."""
    shard = option(metavar="K/N", callback=_shard)
    """Rank only part K of N; 'kgeval merge' finishes the run."""


@click.command("run")
@click.argument("configs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="CONFIG...")
@Source.overrides
@options_of(Part, "only", "out", "force", "shard")
@options_of(Failing)
@options_of(Printing)
def run_command(  # noqa: C901
    configs: tuple[Path, ...],
    overrides: tuple[str, ...],
    only: tuple[str, ...],
    out: Path | None,
    force: bool,
    shard: tuple[int, int] | None,
    bounds: Bounds,
    form: str,
) -> None:
    """Run experiments from configuration files.

    Each configuration gives a run directory with config.yaml, manifest.json, metrics.json and ranks.parquet (for a
    task: labels.parquet). A configuration with several models gives a directory for each model, and one table.

    Repeat the command to continue an interrupted run. Finished runs with the same configuration and inputs are not
    computed again. If a model fails, the others still run.

    Example: kgeval run umls.yaml --set evaluation.split=valid
    """
    from kgeval.base.errors import RunError
    from kgeval.cli.display import refuse_unrequested, show_outcomes, show_remarks
    from kgeval.cli.streams import say, say_json
    from kgeval.runs.config.load import load_configs
    from kgeval.runs.metric_bounds import checked_thresholds, misses, refuse_missed
    from kgeval.runs.trackers import refuse_unusable

    # A file with several datasets or seeds gives a part for each, under a path FILE/PART that is not in configs.
    run_configs = load_configs(configs, overrides, only)
    folders = _folders(run_configs, out)
    _write_suites(run_configs, folders)
    if shard is not None:
        _run_shards(run_configs, folders, shard, force=force)
        return
    thresholds = checked_thresholds(bounds, [*run_configs.values()])
    for config in run_configs.values():  # before the first run
        refuse_unrequested(config)
        with config.document.concealed():
            refuse_unusable(config.tracker, config.jobs)
    outcomes: dict[Path, list[Outcome]] = {}
    failures: dict[Path, BaseException] = {}
    for path, config in run_configs.items():
        outcomes[path], failure = _run_one(config, folders[path], thresholds, force=force, several=len(run_configs) > 1)
        if failure is not None:
            failures[path] = failure
        if form != "json" and (path in configs or config.task is not None):
            if len(outcomes) > 1:
                say("")
            show_outcomes(outcomes[path], form)
        if path in configs or config.task is not None or form == "json":  # else their common table has the notes
            show_remarks(outcomes[path], places=path in configs)
    for path in configs:
        parts = [part for part, config in run_configs.items() if part.parent == path and config.task is None]
        if parts := [part for part in parts if outcomes[part]]:
            _show_grid({folders[part]: outcomes[part] for part in parts}, form, report=run_configs[parts[0]].report)
    if form == "json":
        contents = {str(path): _content(outcomes[path], failures.get(path), run_configs[path]) for path in outcomes}
        say_json(contents if len(run_configs) > 1 else next(iter(contents.values())))
    if failures:
        raise RunError("\n".join(f"{path}: {str(why) or type(why).__name__}" for path, why in failures.items()))
    refuse_missed(misses(thresholds, _judged(run_configs, outcomes)))


def _show_grid(parts: Mapping[Path, list[Outcome]], form: str, *, report: bool) -> None:
    """Show the runs of all datasets and seeds as one table, and write their page if the configuration asks for one."""
    from kgeval.base.collected_notes import MOST_DATASETS
    from kgeval.cli.commands.compare_command import compare_runs
    from kgeval.cli.display import show_outcomes, show_place, show_remarks

    outcomes = [outcome for of_part in parts.values() for outcome in of_part]
    if len(outcomes) > 1 and form != "json":
        named = [("", str(folder)) for folder in parts]
        compare_runs(named, outcomes[0].metrics, {"spread": "sd", "allow": ()}, form=form, across=False)
    elif form != "json":
        show_outcomes(outcomes, form)
        show_remarks(outcomes, places=False)
    for folder in parts if len(parts) <= MOST_DATASETS else dict.fromkeys(folder.parent for folder in parts):
        show_place(folder)
    if report and len(parts) > 1:
        from kgeval.cli.display import show_page
        from kgeval.reports.page import report as make_page
        from kgeval.stored.stored_run import StoredRun

        page = StoredRun(next(iter(parts)).parent).page
        make_page([str(folder) for folder in parts]).save(page)
        show_page(page)


def _judged(configs: Mapping[Path, RunConfig], outcomes: Mapping[Path, list[Outcome]]) -> list[Judged]:
    """The models whose metrics are compared with thresholds."""
    from kgeval.models.baselines import Baseline
    from kgeval.runs.metric_bounds import Judged
    from kgeval.runs.outcome import with_common_ties

    def judged(path: Path, outcome: Outcome) -> Judged:
        source = str(path) if len(configs) > 1 else ""
        is_baseline = isinstance(configs[path].jobs[outcome.name], Baseline)
        return Judged(outcome.name, outcome.compute, source, is_baseline)

    return [judged(path, outcome) for path in configs for outcome in with_common_ties(outcomes[path])]


def _content(outcomes: list[Outcome], failure: BaseException | None, config: RunConfig) -> dict[str, Any]:
    """The content of ``metrics.json``, of one model or of several; empty if the one model failed."""
    from kgeval.runs.outcome import ModelsFailed, results_of

    if config.models is None and not outcomes:
        return {}
    return results_of(outcomes, failure.failures if isinstance(failure, ModelsFailed) else {})


def _run_one(
    config: RunConfig, folder: Path, thresholds: Sequence[Threshold], *, force: bool, several: bool
) -> tuple[list[Outcome], Exception | None]:
    """Run a configuration. If there are several, return an error, so that the others still run."""
    from kgeval.base.errors import KgevalError
    from kgeval.cli.display import show_note, watching
    from kgeval.runs.outcome import ModelsFailed
    from kgeval.runs.runner import run

    try:
        return run(config, folder, force=force, watch=watching, warn=show_note, thresholds=thresholds), None
    except ModelsFailed as failure:
        return failure.outcomes, failure
    except (KgevalError, OSError, MemoryError) as error:
        if not several:
            raise
        return [], error


def _run_shards(
    configs: Mapping[Path, RunConfig], folders: Mapping[Path, Path], shard: tuple[int, int], *, force: bool
) -> None:
    """Rank one shard of each model, and print what is done."""
    from kgeval.cli.display import watching
    from kgeval.cli.streams import say
    from kgeval.runs.runner import run_shard

    number, count = shard
    for path, config in configs.items():
        for folder, ranks in run_shard(config, folders[path], number, count, force=force, watch=watching).items():
            say(f"{folder}: shard {number} of {count}, {'already done' if ranks is None else f'{ranks:,} ranks'}")


def _folders(configs: Mapping[Path, RunConfig], out: Path | None) -> dict[Path, Path]:
    """Return the run directory of each configuration."""
    from kgeval.base.errors import ConfigError

    files = {path: path if path.is_file() else path.parent for path in configs}  # FILE, for a part FILE/DATASET
    folders = {}
    for path, config in configs.items():
        stem = files[path].stem
        folder = Path("runs") / stem if out is None else out / stem if len({*files.values()}) > 1 else out
        folder = folder if files[path] == path else folder / path.name
        folders[path] = Path(config.output) if out is None and config.output else folder
    if len(set(folders.values())) < len(folders):
        raise ConfigError(
            "two configurations have the same run directory. Run them one by one, or give them different outputs."
        )
    return folders


def _write_suites(configs: Mapping[Path, RunConfig], folders: Mapping[Path, Path]) -> None:
    """Write the groups of graphs beside the runs of each suite."""
    from kgeval.base.errors import ConfigError
    from kgeval.ranking.protocols.protocol import find_protocol
    from kgeval.stored.folders import write_suite

    suites = {
        (folders[path].parent, path.parent): (one.suite.groups, one.metrics or find_protocol(one.protocol).metrics)
        for path, one in configs.items()
        if one.suite is not None
    }
    if len({folder for folder, _ in suites}) < len(suites):
        raise ConfigError("two suites have the same output. Make them one suite, or give them different outputs.")
    for (folder, _), groups_and_metrics in suites.items():
        write_suite(folder, *groups_and_metrics)


@click.command("merge")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@Part.force
@options_of(Printing, "form", "as_json", "digits", "quiet")
def merge_command(folder: Path, force: bool, form: str) -> None:
    """Finish the run in DIR whose shards were ranked by 'kgeval run CONFIG --shard K/N'.

    If shards are missing or belong to another run, an error says which.

    Example: kgeval merge runs/umls
    """
    from kgeval.cli.display import show_note, show_outcomes, show_remarks, watching
    from kgeval.runs.runner import merge

    outcomes = merge(folder, force=force, watch=watching, warn=show_note)
    show_outcomes(outcomes, form)
    show_remarks(outcomes)


@click.command("schema")
@JsonAlone.as_json
def schema_command(as_json: bool) -> None:  # noqa: ARG001  # a schema is JSON in any case
    """Print the JSON schema of the configuration, which editors use for completion and checks."""
    import json

    from kgeval.cli.streams import say_json
    from kgeval.runs.config.run_config import RunConfig

    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **RunConfig.model_json_schema()}
    say_json(json.loads(json.dumps(schema), object_hook=_with_plain_description))


def _with_plain_description(block: dict[str, Any]) -> dict[str, Any]:
    described = block.get("description")
    return {**block, "description": plain(described)} if isinstance(described, str) else block
