"""Labels, names and paths of others never control the terminal: in tables, notes, messages and progress alike."""

from __future__ import annotations

import json
import traceback

import pytest

from kgeval import RankTable, load_dataset
from kgeval.errors import DatasetError
from tests.cli.conftest import invoke

EVIL = "\x1b]0;owned\x07\x9b2J\u202e\r\x7f"
SHOWN = r"\x1b]0;owned\x07\x9b2J\u202e\r\x7f"
OBEYED = {*map(chr, range(9)), *map(chr, range(11, 32)), *map(chr, range(127, 160)), "\u202e"}


@pytest.fixture
def evil(place):
    """A graph with such an entity and relation, and a model of it."""
    entities, relations = [f"ant{EVIL}", "bee", "cat"], [f"likes{EVIL}", "eats"]
    (place / "evil").mkdir()
    for split, rows in {"train": [(0, 0, 1), (1, 1, 2)], "test": [(1, 0, 0), (0, 1, 2)]}.items():
        lines = (f"{entities[h]}\t{relations[r]}\t{entities[t]}\n" for h, r, t in rows)
        (place / f"evil/{split}.txt").write_text("".join(lines).replace("\r", ""), encoding="utf-8", newline="")
    return place


EVALUATE = ["evaluate", "baseline:popularity", "--dataset", "evil"]
COMMANDS = {
    "groups": [*EVALUATE, "--by", "relation"],
    "predictions": ["predict", "baseline:popularity", "--dataset", "evil", "--query", "bee", "eats", "?"],
    "unknown entity": ["predict", "baseline:popularity", "--dataset", "evil", "--query", f"x{EVIL}", "eats", "?"],
    "audit": ["audit", "evil"],
    "inspect": ["inspect", "evil"],
    "path": ["inspect", f"no{EVIL}"],
    "command": [f"evaluat{EVIL}"],
    "option": ["evaluate", f"--datas{EVIL}"],
    "value": [*EVALUATE, "--by", f"relation{EVIL}"],
    "choice": [*EVALUATE, "--split", f"test{EVIL}"],
}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_nothing_that_a_terminal_obeys_is_printed(evil, arguments):
    result = invoke(*arguments)
    assert not OBEYED & set(result.stdout + result.stderr), result.output


def test_it_is_shown_as_escapes(evil, done, refused):
    assert SHOWN.replace(r"\r", "") in done(*COMMANDS["groups"])
    assert SHOWN in refused(*COMMANDS["path"])


def test_json_and_files_keep_the_label(evil, done):
    printed = done(*COMMANDS["groups"], "--json", "--out", "out")
    assert not OBEYED & set(printed)
    label = f"likes{EVIL}".replace("\r", "")
    assert label in [value for group in json.loads(printed)["groups"] for value in group["key"].values()]
    assert label in RankTable.from_parquet(evil / "out").column("relation_label")


def test_errors_in_python_are_shown_as_escapes():
    with pytest.raises(DatasetError) as error:
        load_dataset(f"no{EVIL}")
    assert SHOWN in str(error.value)
    assert not OBEYED & set("".join(traceback.format_exception(error.value)))
