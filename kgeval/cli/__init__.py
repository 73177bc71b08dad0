"""The command line: thin commands, which import what they need when they are called."""

from __future__ import annotations

import gc
import importlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from kgeval.cli.streams import discard_output, exit_status, say, termination_as_interrupt
from kgeval.errors import BrokenPackage, KgevalError, did_you_mean, visible
from kgeval.progress import loops_shown

COMMANDS = {
    "answers": "Make sets that have the answer with a chosen probability, and say how large they are.",
    "audit": "Search a dataset for what makes a metric say less than it seems to.",
    "classify": "Tell true triples from false ones, beside baselines without a model.",
    "compare": "Compare models: which is better, and whether that is more than noise.",
    "convert": "Write a checkpoint in the native format, or a dataset that loads fast.",
    "evaluate": "Evaluate a checkpoint on a dataset.",
    "explain": "Explain why frameworks give one checkpoint different numbers.",
    "inspect": "Describe a dataset, checkpoint or run.",
    "list": "List metrics, models, baselines, formats, protocols, corruptions, slices or datasets.",
    "merge": "Finish a run whose shards were ranked by jobs of their own.",
    "negatives": "Write the synthetic negatives of a dataset's triples.",
    "plot": "Draw the leaderboard, slices, relations or ranks of runs.",
    "predict": "Predict the best answers of queries, with what is known of each.",
    "pykeen": "PyKEEN's own command line, with the evaluator kgeval.",
    "report": "Write a page of runs, for people to read.",
    "run": "Run experiments from configuration files.",
    "schema": "Print the JSON schema of the configuration, for editors.",
    "summarize": "Compute metrics from the stored ranks or labels of a run, without its model.",
}

MODULES = {
    **dict.fromkeys(["run", "merge", "schema"], "kgeval.cli.commands.run_commands"),
    **dict.fromkeys(["evaluate", "classify"], "kgeval.cli.commands.evaluate_commands"),
    **dict.fromkeys(["report", "plot"], "kgeval.cli.commands.report_commands"),
    **dict.fromkeys(["audit", "negatives"], "kgeval.cli.commands.dataset_commands"),
}
"""the modules of commands that have none of their name"""

CLOSED_PIPE = 128 + 13
"""the exit status of a program whose reader has closed the pipe, as shells report it after SIGPIPE"""

YOUNG_OBJECTS = 50_000
"""objects that are made before Python looks for circles of garbage: imports make many objects, and no garbage"""


@contextmanager
def _refusals_readable() -> Iterator[None]:
    """Say of an interruption what it is, and of a wrong call, in characters that do not control the terminal."""
    try:
        yield
    except KeyboardInterrupt as stop:
        say(f"Error: {str(stop) or 'interrupted'}.", err=True)
        raise click.exceptions.Exit(exit_status(stop)) from stop
    except click.ClickException as error:
        error.message = visible(error.message)  # type: ignore[misc]  # it has what was typed
        raise


class _Commands(click.Group):
    """Commands that are imported when they are called, and whose errors are one clear message."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        if cmd_name == "pykeen":
            from kgeval.pykeen.command import command as of_pykeen

            return of_pykeen
        module = importlib.import_module(MODULES.get(cmd_name, f"kgeval.cli.commands.{cmd_name}_command"))
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name not in COMMANDS and not name.startswith("-"):
            raise click.UsageError(f"No such command {name!r}. {did_you_mean(name, COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])

    def main(self, *args: Any, **kwargs: Any) -> Any:
        with termination_as_interrupt():
            return super().main(*args, **kwargs)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _refusals_readable():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _refusals_readable():
                return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit):
            raise
        except KgevalError as error:
            say(f"Error: {error}", err=True)
            ctx.exit(error.exit_code)
        except UnicodeEncodeError as error:  # some libraries open files by UTF-8 names only
            say(f"Error: {error.object!r} is not UTF-8 text. Give it another name.", err=True)
            ctx.exit(2)
        except BrokenPipeError:  # the reader has closed the pipe, as 'head' does
            discard_output()
            ctx.exit(CLOSED_PIPE)
        except OSError as error:
            say(f"Error: {error.filename or 'input or output'}: {error.strerror or error}.", err=True)
            ctx.exit(1)
        except (Exception, SystemExit) as error:
            from kgeval.discovery import blamed, last_line

            if (package := blamed(error)) is None:
                raise
            say(f"Error: {package} raised {last_line(error)}. Mend or uninstall the package.", err=True)
            ctx.exit(1)


@contextmanager
def _broken_packages_noted() -> Iterator[None]:
    """Write a warning of a broken package as a note."""
    with warnings.catch_warnings():
        show = warnings.showwarning

        def note(message: Warning | str, category: type[Warning], *others: Any, **named: Any) -> None:
            if not issubclass(category, BrokenPackage):
                return show(message, category, *others, **named)
            from kgeval.cli.display import show_note

            return show_note(str(message))

        warnings.showwarning = note
        yield


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="kgeval")
@click.pass_context
def main(context: click.Context) -> None:
    """Evaluate how well knowledge-graph embedding models predict missing links."""
    gc.set_threshold(YOUNG_OBJECTS)
    context.with_resource(loops_shown())
    context.with_resource(_broken_packages_noted())
