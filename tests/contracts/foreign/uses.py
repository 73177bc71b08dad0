"""Use each member that kgeval-foreign brings: by name on the command line, then as an object in Python.

``python uses.py FOLDER`` prints, as JSON, what came of each use: ``{use: [result, error]}``. The folder holds a graph
in the foreign layout, ``model.transm``, and the same model in ``table``.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner
from kgeval_foreign.baseline import Remainder
from kgeval_foreign.corruption import SameParity
from kgeval_foreign.family import TransM
from kgeval_foreign.layout import LAYOUT
from kgeval_foreign.metric import MEAN_LOG_RANK
from kgeval_foreign.parity_slice import ANSWER_PARITY
from kgeval_foreign.protocol import CAUTIOUS
from kgeval_foreign.reader import READER

import kgeval
from kgeval.cli import main

FOLDER = Path(sys.argv[1])
MODEL = FOLDER / "model.transm"


def command(*words: str) -> str:
    """Run a command line; what it printed."""
    result = CliRunner().invoke(main, [*words])
    if result.exit_code:
        raise RuntimeError(result.output)
    return result.stdout


def on_the_command_line(*words: str, model: Path = MODEL) -> dict[str, float]:
    """Evaluate a model with further options; the metrics of both sides."""
    both = ["evaluate", str(model), "--dataset", str(FOLDER), "--json", "--quiet", *words]
    return json.loads(command(*both))["metrics"]["both"]


def configured(**settings: Any) -> dict[str, float]:
    """Evaluate as a configuration says."""
    config = {"dataset": {"path": str(FOLDER)}, "model": {"path": str(MODEL)}, **settings}
    file = FOLDER / "config.json"
    file.write_text(json.dumps(config), encoding="utf-8")
    return json.loads(command("run", str(file), "--out", str(FOLDER / "run"), "--force", "--json", "--quiet"))[
        "metrics"
    ]["both"]


def in_python(model: Any = None, *, ties: Any = "realistic", metric: Any = "mr", **settings: Any) -> dict[str, float]:
    """Evaluate a model with objects; a metric of its ranks, by its name."""
    scorer = kgeval.load_checkpoint(MODEL) if model is None else model
    table = kgeval.evaluate(scorer, LAYOUT.read(FOLDER), **settings)
    name = metric if isinstance(metric, str) else metric.name
    return {name: kgeval.summarize(table, [metric], ties=ties)[name]}


def by_parity(groups: list[dict[str, Any]]) -> dict[str, float]:
    """Take the mean rank of each group of the slice, in the order of the groups."""
    return {group["key"]["answer-parity"]: group["metrics"]["both"]["mr"] for group in groups}


def sliced_on_the_command_line() -> dict[str, float]:
    """Group by the slice, by name."""
    words = ["evaluate", str(MODEL), "--dataset", str(FOLDER), "--json", "--quiet", "-m", "mr", "--by", "answer-parity"]
    return by_parity(json.loads(command(*words))["groups"])


def sliced_in_python() -> dict[str, float]:
    """Group by the slice as an object."""
    data = LAYOUT.read(FOLDER)
    table = kgeval.annotate(kgeval.evaluate(kgeval.load_checkpoint(MODEL), data), data, ANSWER_PARITY)
    return by_parity(kgeval.summarize(table, ["mr"], by="answer-parity").to_dict()["groups"])


def tie_policy() -> Any:
    """Import the tie policy, which only its own uses need."""
    from kgeval_foreign.tie_policy import GEOMETRIC

    return GEOMETRIC


def model() -> TransM:
    """Make a model of the family in memory."""
    content = json.loads(MODEL.read_text(encoding="utf-8"))
    return TransM(*(np.array(content[name], float) for name in ("entity", "relation", "weight")), norm=1)


USES: dict[str, Callable[[], Any]] = {
    "layout by name": lambda: on_the_command_line("--layout", "graph-json", "-m", "mr"),
    "format by name": lambda: on_the_command_line("--checkpoint-format", "transm-json", "-m", "mr"),
    "format that is a table": lambda: on_the_command_line("--option", "p=1", "-m", "mr", model=FOLDER / "table"),
    "table in the list": lambda: command("list", "formats", "transm-table", "--json"),
    "metric by name": lambda: on_the_command_line("-m", "mean-log-rank"),
    "protocol by name": lambda: on_the_command_line("--protocol", "cautious"),
    "ties by name": lambda: on_the_command_line("--ties", "geometric", "-m", "mr"),
    "corruption by name": lambda: on_the_command_line("--corruption", "same-parity:offset=1", "-m", "mr"),
    "corruption in a configuration": lambda: configured(
        evaluation={"corruption": {"kind": "same-parity", "offset": 1}}, metrics=["mr"]
    ),
    "baseline by name": lambda: json.loads(
        command(
            *("evaluate", "baseline:remainder", "--dataset", str(FOLDER), "--option", "modulus=3", "--json", "--quiet"),
            *("-m", "mr", "--ties", "realistic"),
        )
    )["metrics"]["both"],
    "baseline in a configuration": lambda: configured(
        model={"baseline": "remainder", "modulus": 3}, metrics=["mr"], ties="realistic"
    ),
    "baseline as an object": lambda: in_python(Remainder(modulus=3)),
    "baseline by its name in Python": lambda: in_python(kgeval.Baseline("remainder", modulus=3)),
    "slice by name": sliced_on_the_command_line,
    "slice as an object": sliced_in_python,
    "family in the list": lambda: command("list", "models", "--json"),
    "metric as an object": lambda: in_python(metric=MEAN_LOG_RANK),
    "protocol as an object": lambda: in_python(protocol=CAUTIOUS, ties="pessimistic"),
    "ties as an object": lambda: in_python(ties=tie_policy()),
    "corruption as an object": lambda: in_python(corruption=SameParity(offset=1)),
    "family and layout as objects": lambda: in_python(model()),
    "reader as an object": lambda: in_python(kgeval.load_checkpoint(MODEL, format=READER)),
}


def outcome(use: Callable[[], Any]) -> list[Any]:
    """Return what came of a use: a result, or an error."""
    try:
        return [use(), None]
    except Exception as error:  # each use is judged by itself
        return [None, f"{type(error).__name__}: {error}"]


print(json.dumps({name: outcome(use) for name, use in USES.items()}))
