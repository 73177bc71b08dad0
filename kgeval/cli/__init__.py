"""The command line: a group of commands, each imported only when it is called.

``main`` is ``kgeval``. It imports the module of a command when the command is called, and turns every error that a user
can cause into one clear message. A new command is an entry of ``COMMANDS`` and a file in :mod:`kgeval.cli.commands`.
"""

from __future__ import annotations

import gc
import importlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from kgeval.base.errors import BrokenPackage, KgevalError, did_you_mean, visible
from kgeval.base.progress import loops_shown
from kgeval.cli.streams import discard_output, exit_status, say, termination_as_interrupt

COMMANDS = {
    "answers": "Make answer sets that contain the true answer with a chosen probability.",
    "audit": "Search a dataset for what inflates metrics, such as leaked triples.",
    "classify": "Classify triples as true or false, and compare with simple baselines.",
    "compare": "Compare models: which one is better, and is the difference significant?",
    "convert": "Write a checkpoint as one file, or a dataset in a format that loads fast.",
    "evaluate": "Evaluate a checkpoint on a dataset.",
    "explain": "Explain why frameworks report different numbers for one checkpoint.",
    "inspect": "Describe a dataset, a checkpoint or a run.",
    "list": "List the metrics, models, baselines, formats, protocols and so on.",
    "merge": "Finish a run whose shards were ranked by separate jobs.",
    "negatives": "Write a file of generated negative triples.",
    "plot": "Draw a chart of runs.",
    "predict": "Predict the best answers of queries.",
    "pykeen": "Run PyKEEN's own command line with kgeval as an evaluator.",
    "report": "Write a report of runs: one HTML file for the browser.",
    "run": "Run experiments from configuration files.",
    "schema": "Print the JSON schema of the configuration.",
    "summarize": "Compute metrics from the stored ranks of a run.",
}

MODULES = {
    **dict.fromkeys(["run", "merge", "schema"], "kgeval.cli.commands.run_commands"),
    **dict.fromkeys(["evaluate", "classify", "explain"], "kgeval.cli.commands.evaluate_commands"),
    **dict.fromkeys(["report", "plot"], "kgeval.cli.commands.report_commands"),
    **dict.fromkeys(["audit", "convert", "negatives"], "kgeval.cli.commands.dataset_commands"),
    "pykeen": "kgeval.pykeen.command",
}
"""the modules of commands that share a module, or whose module is in another folder than the other commands'"""

TURN_ON = 'Completion in bash: eval "$(_KGEVAL_COMPLETE=bash_source kgeval)"; in zsh and fish, zsh_source, fish_source'

CLOSED_PIPE = 128 + 13
"""the exit status after a closed pipe, as shells report it after SIGPIPE"""

YOUNG_OBJECTS = 50_000
"""the number of new objects before garbage collection: imports make many objects and no garbage"""


class _Commands(click.Group):
    """Commands that are imported when they are called; each error is one clear message."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(MODULES.get(cmd_name, f"kgeval.cli.commands.{cmd_name}_command"))
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args[:1] == ["help"]:
            args = [*args[1:2], "--help"]
        return super().parse_args(ctx, args)

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
                result = super().invoke(ctx)
                from kgeval.cli.display import refuse_noted

                refuse_noted()
                return result
        except (click.ClickException, click.exceptions.Exit):
            raise
        except KgevalError as error:
            say(f"Error: {error}", err=True)
            ctx.exit(error.exit_code)
        except UnicodeEncodeError as error:  # some libraries open files by UTF-8 names only
            say(f"Error: {error.object!r} is not UTF-8 text. Rename it.", err=True)
            ctx.exit(2)
        except BrokenPipeError:  # the reader has closed the pipe, as 'head' does
            discard_output()
            ctx.exit(CLOSED_PIPE)
        except OSError as error:
            say(f"Error: {error.filename or 'input or output'}: {error.strerror or error}.", err=True)
            ctx.exit(1)
        except (Exception, SystemExit) as error:
            from kgeval.base.registries import find_plugin_of, last_line

            if (package := find_plugin_of(error)) is None:
                raise
            say(f"Error: {package} raised {last_line(error)}. Repair or uninstall the package.", err=True)
            ctx.exit(1)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
    epilog=TURN_ON,
)
@click.version_option(None, "-V", "--version", package_name="kgeval")
@click.pass_context
def main(context: click.Context) -> None:
    """Evaluate how well knowledge-graph embedding models predict missing links.

    'kgeval COMMAND --help' and 'kgeval help COMMAND' describe a command.
    """
    gc.set_threshold(YOUNG_OBJECTS)
    context.with_resource(loops_shown())
    context.with_resource(_broken_packages_noted())


@contextmanager
def _refusals_readable() -> Iterator[None]:
    """Report interruptions and wrong calls, without characters that control the terminal."""
    try:
        yield
    except KeyboardInterrupt as stop:
        say(f"Error: {str(stop) or 'interrupted'}.", err=True)
        raise click.exceptions.Exit(exit_status(stop)) from stop
    except click.ClickException as error:
        error.message = visible(error.message)  # type: ignore[misc]  # it has what was typed
        raise


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
