"""Terminals of 40 to 200 columns: every number of ``--json``, every key and every header is on the screen, whole."""

from __future__ import annotations

import itertools
import json
import os
import pty
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from kgeval import Dataset, RankTable, Triples, Vocabulary, evaluate
from kgeval.base.tables.table import number
from kgeval.cli.commands import inspect_command as inspect_page
from kgeval.cli.commands.list_command import BRIEF
from tests.cli.conftest import CONFIG, invoke, write_config

WIDTHS = [40, 80, 120, 200]

MODEL = ["model", "--dataset", "graph/", "--option", "model=TransE", "--option", "norm=1"]
BY = [["relation"], ["relation", "side"], ["side"], ["tail", "relation"]]
LISTS = ["metrics", "models", "formats", "protocols", "corruptions"]
DESCRIBED = {
    "graph": ["graph/"],
    "model": ["model", "--option", "model=DistMult"],
    "run": ["run"],
    "table": ["run/ranks.parquet"],
}
COMMANDS = {
    "evaluate": ["evaluate", *MODEL],
    "summarize": ["summarize", "run", "-m", "mrr,hits@10,pessimistic.amri,macro.mrr,head.ndcg@10,count"],
    "run": ["run", "config.yaml", "--out", "one", "--force"],
    "models": ["run", "two.yaml", "--out", "two", "--force"],
    **{
        "+".join(by): ["summarize", "ranks.parquet", *(part for name in by for part in ("--by", name))] for by in BY
    },
    "tail+relation": ["summarize", "ranks.parquet", "--by", "tail", "--by", "relation", "-m", "mr"],
    "explain": ["explain", *MODEL, "--protocols", "pykeen,libkge,ampligraph,openke,torchkge,conve,bordes-raw"],
    "classify": ["classify", *MODEL],
    **{f"inspect {what}": ["inspect", *given] for what, given in DESCRIBED.items()},
    **{f"list {what}": ["list", what] for what in LISTS},
    "predict": ["predict", *MODEL, "--query", "ant", "eats", "?"],
}  # fmt: skip

PARTS = ["award", "award_nominee", "film_release_distribution_medium", "people", "location", "tv", "2010_census"]
"""of names such as Freebase's"""


def write_ranks(path):
    """Ranks of 135 relations with names such as Freebase's, of which a few have most of the triples."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(PARTS), (135, 6))
    names = [f"/{'/'.join(PARTS[part] for part in row[: 2 + n % 5])}_{n}" for n, row in enumerate(drawn)]
    relations = np.minimum(rng.geometric(0.03, 2000) - 1, 134)
    ids = np.stack([rng.integers(0, 60, 2000), np.r_[np.arange(135), relations[135:]], rng.integers(0, 60, 2000)], 1)
    labels = {"entities": Vocabulary([f"/m/{n:05}" for n in range(60)]), "relations": Vocabulary(names, "relation")}
    data = Dataset.build("freebase", {"test": Triples.of(ids)}, **labels)
    evaluate(lambda h, r, t: np.sin(h * 31 + r * 7 + t * 3), data).to_parquet(path)


class Screen:
    """What a terminal shows: lines, which it breaks where they are too long."""

    def __init__(self, text, columns):
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
        self.lines, self.columns = text.replace("\r\n", "\n").split("\n"), columns
        rows = [line[start : start + columns] for line in self.lines for start in range(0, max(len(line), 1), columns)]
        self.words = {word.strip(",;:()[]") for row in rows for word in row.split()}
        self.whole = {word.strip(",;:") for line in self.lines for word in line.split()}

    def misses(self, numbers=(), names=()):
        """Numbers that stand nowhere within one line of the screen, and names that stand nowhere."""
        return [text for text in numbers if text not in self.words] + [text for text in names if text not in self.whole]


def on_terminal(*arguments):
    """Run Python in a pseudo-terminal, and return all that it wrote."""
    ours, theirs = pty.openpty()
    inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    environment = {**inherited, "TERM": "xterm-256color"}
    process = subprocess.Popen(
        [sys.executable, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    written = b""
    while part := _read(ours):
        written += part
    os.close(ours)
    assert process.wait() == 0, written.decode()
    return written.decode()


def _read(terminal):
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux tells so that nobody writes any more
        return b""


@pytest.fixture(scope="module")
def folder(template, tmp_path_factory):
    folder = tmp_path_factory.mktemp("terminal") / "place"
    shutil.copytree(template, folder)
    models = {"a-model-of-a-name-that-is-forty-letters-long": CONFIG["model"], "short": CONFIG["model"]}
    write_config(folder / "two.yaml", {"dataset": "./graph", "models": models})
    write_ranks(folder / "ranks.parquet")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


@pytest.fixture(scope="module")
def told(folder):
    """What each command tells with ``--json``."""
    return {name: json.loads(invoke(*arguments, "--json").stdout) for name, arguments in COMMANDS.items()}


CALLS = """
import fcntl, json, struct, sys, termios
from kgeval.cli import main
for columns in {widths}:
    fcntl.ioctl(sys.stdout, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    for arguments in json.loads({commands!r}):
        print(chr(30), flush=True)
        main(arguments, standalone_mode=False)
"""
"""every command in terminals of every width, in one process, which costs the imports once"""


@pytest.fixture(scope="module")
def written(folder):
    """What each command writes, by width and command."""
    calls = CALLS.format(widths=WIDTHS, commands=json.dumps([*COMMANDS.values()]))
    _, *parts = on_terminal("-c", calls).split(chr(30))
    return dict(zip(itertools.product(WIDTHS, COMMANDS), parts, strict=True))


@pytest.fixture(params=WIDTHS)
def screens(written, request):
    """The screens of all commands, in a terminal of so many columns."""
    return {name: Screen(written[request.param, name], request.param) for name in COMMANDS}


def texts(content):
    """The numbers of metrics, as the screen rounds them: counts whole, all else to six decimals."""
    if isinstance(content, dict):
        return [text for value in content.values() for text in texts(value)]
    return [number(content)] if isinstance(content, int | float) else []


def plain(content):
    """All numbers of a description, as they are."""
    if isinstance(content, dict | list):
        return [text for value in (content.values() if isinstance(content, dict) else content) for text in plain(value)]
    return [] if isinstance(content, str | bool | None) else [str(content)]


def head(content):
    """The numbers and names that tell what a result is of."""
    provenance = content["provenance"]
    return [f"{provenance['triples']:,}"], [provenance["dataset"], provenance["split"]]


def of_one_model(content, _):
    numbers, names = head(content)
    names += [*content["metrics"], *(metric for side in content["metrics"].values() for metric in side)]
    return numbers + texts(content["metrics"]), names


def of_several_models(content, _):
    """Of the requested metrics, which name no side, those of both."""
    pooled = {model: mine["metrics"]["both"] for model, mine in content["models"].items()}
    numbers, names = head(content["models"]["short"])
    return numbers + texts(pooled), [*names, *pooled, *pooled["short"]]


def of_groups(content, name):
    """Of a group of one side, JSON tells the metrics of the other too: none, and 0 ranks."""
    groups, by = content["groups"], name.split("+")
    numbers = [
        text
        for group in groups
        for side, metrics in group["metrics"].items()
        if side in ("both", group["key"].get("side", side))
        for text in texts(metrics)
    ]
    titles = {f"{side}.{name}" for side, metrics in groups[0]["metrics"].items() for name in metrics}
    keys = [value for group in groups for value in group["key"].values()]
    return numbers, [*keys, *by, *(title for title in titles if "side" not in by or title.startswith("both"))]


def of_protocols(content, _):
    rows = content["protocols"].values()
    numbers = [f"{row[name]:.6f}" for row in rows for name in ("value", "optimistic", "pessimistic")]
    changes = [(cause, f"{change:+.6f}") for row in rows for cause, change in row["causes"].items()]
    numbers += [text for _, text in changes if float(text)] + [f"{content['standard']:.6f}"]
    causes = [word for cause, text in changes if float(text) for word in cause.split()]
    return numbers, [*content["protocols"], *causes, "protocol", "mrr"]


def of_a_description(content, _):
    shown = {key: value for key, value in content.items() if key not in inspect_page.OMITTED}
    for key, names in inspect_page.PARTS.items():
        if isinstance(shown.get(key), dict):
            shown[key] = {name: shown[key][name] for name in names if name in shown[key]}
    return plain(shown) + texts(content.get("metrics", {})), [
        word for name in shown if shown[name] for word in name.split()
    ]


def of_a_list(content, name):
    """No word of the page is cut into syllables; the rest of an entry is shown by its name."""
    cells = [row[column] for row in content for column in BRIEF.get(name.removeprefix("list "), tuple(row))]
    return (), [word.strip(",;:") for cell in cells for word in cell.split()]


SHOWN = {
    **dict.fromkeys(["evaluate", "summarize", "run"], of_one_model),
    "models": of_several_models,
    **{"+".join(by): of_groups for by in BY},
    "explain": of_protocols,
    **{f"inspect {what}": of_a_description for what in DESCRIBED},
    **{f"list {what}": of_a_list for what in LISTS},
}
"""the numbers and names of --json that stand on the screen, by command"""


@pytest.mark.parametrize("name", SHOWN)
def test_every_number_and_name_is_on_the_screen(screens, told, name):
    numbers, names = SHOWN[name](told[name], name)
    assert len(names) > 1
    assert screens[name].misses(numbers, names) == []


def test_nothing_is_shown_of_sides_that_were_not_requested(screens):
    assert not [word for word in screens["models"].whole if word.startswith(("head.", "tail."))]
    assert "undefined" not in screens["relation+side"].whole


def test_every_relation_stands_beside_or_above_its_own_numbers(screens, folder):
    """Not only somewhere on the screen."""
    table = RankTable.from_parquet(folder / "ranks.parquet")
    labels, counts = np.unique(table.column("relation_label").astype(str), return_counts=True)
    words = " ".join(screens["relation"].lines).split()
    last = {}  # of both sides, the count is the last column of its block
    for place, word in enumerate(words):
        if word.startswith("/"):
            last[word] = [*last.get(word, []), words[place + 1 : place + 8]]
    for label, count in zip(labels, counts, strict=True):
        assert any(str(count) in numbers for numbers in last[label]), label


def test_bars_of_progress_are_there_and_leave_the_table_alone(screens):
    shown = " ".join(screens["evaluate"].lines)
    assert "loading dataset" in shown
    assert "loading model" in shown
    assert "12/12" in shown
    assert "0/0" not in " ".join(screens["classify"].lines)
