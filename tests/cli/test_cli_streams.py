"""Streams of every encoding: what is printed can be read and controls no terminal, JSON is JSON, imports are few."""

from __future__ import annotations

import importlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from contextlib import contextmanager

import pytest

from kgeval import RankTable, load_checkpoint, load_dataset, save_checkpoint
from kgeval.base.errors import DatasetError
from kgeval.cli.streams import encodable, exit_status, say, say_json, termination_as_interrupt
from kgeval.data.text import read_columns
from tests.cli.conftest import ENTITIES, invoke

unix = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a system with timers that send signals")


@pytest.fixture
def written(monkeypatch):
    """Call a function with standard output in an encoding, and return the bytes that it wrote."""

    def call(encoding, function, *arguments):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="")
        monkeypatch.setattr(sys, "stdout", stream)
        function(*arguments)
        stream.flush()
        return stream.buffer.getvalue()

    return call


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437"])
@pytest.mark.parametrize("what", ["metrics", "models", "formats", "protocols", "corruptions"])
def test_every_listing_can_be_printed(written, encoding, what):
    from kgeval.cli import main

    printed = written(encoding, lambda: main(["list", what], standalone_mode=False)).decode(encoding)
    original = written("utf-8", lambda: main(["list", what], standalone_mode=False)).decode()
    assert "---" in printed.replace("─", "-")
    assert len(printed.splitlines()) == len(original.splitlines()) > 5


@pytest.mark.parametrize(
    ("text", "encoding", "expected"),
    [
        ("── ‖h − t‖² × 2", "cp1252", "-- \\u2016h \\u2212 t\\u2016² × 2"),
        ("── ‖h − t‖² × 2", "utf-8", "── ‖h − t‖² × 2"),
        ("Zoë ← 北京", "ascii", "Zo\\xeb \\u2190 \\u5317\\u4eac"),
        ("a\udcff", "utf-8", "a\\udcff"),
    ],
)
def test_what_an_encoding_lacks_is_escaped(text, encoding, expected):
    """Labels are not made alike: Zoe and Zoë stay two."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    assert encodable(text, stream) == expected
    encodable(text, stream).encode(encoding)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
@pytest.mark.parametrize("content", [{"Σ 𝄞": ["北京", 0.25]}, {"plain": None}])
def test_json_is_the_same_in_every_encoding(written, encoding, content):
    assert json.loads(written(encoding, say_json, content).decode(encoding)) == content


def test_a_closed_stream_is_not_written_to(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    say("nobody")
    say_json({})


ENVIRONMENTS = [
    {"PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
]


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=["ascii", "C"])
def test_a_process_with_such_streams_is_no_failure(place, environment):
    """The table's rule, and labels that ASCII lacks; on standard error an error that quotes them."""
    for name in ("train", "valid", "test"):
        path = place / f"graph/{name}.txt"
        path.write_text(path.read_text().replace(ENTITIES[1], "bée → 蜂"))
    code = """
from kgeval.cli import main
for arguments in (["inspect", "run"], ["summarize", "run", "--by", "relation"], ["inspect", "./gr" + chr(228) + "ph"]):
    try:
        main(arguments)
    except SystemExit as ended:
        print(ended.code)
"""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "PYTHONIO"))}
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env={**inherited, **environment}, check=True
    )
    printed, said = result.stdout.decode("ascii"), result.stderr.decode("ascii")
    assert [line for line in printed.splitlines() if line.isdecimal()] == ["0", "0", "2"]
    assert "-----" in printed
    assert "both.mrr" in printed
    assert said.splitlines()[-1].startswith("Error: ")
    assert "gr" in said.splitlines()[-1]
    assert "UTF-8 text" not in said


@pytest.mark.parametrize("arguments", [("list", "metrics"), ("list", "metrics", "--json")], ids=" ".join)
def test_a_pipe_that_is_closed_ends_the_command_quietly_and_not_as_a_mistake_does(arguments):
    """As behind ``head -1``: a shell takes 141 for the end of a program that nobody reads on from."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "kgeval", *arguments]
    ended = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_pipe_that_is_closed_in_the_middle_is_noticed_with_a_buffer_or_without(unbuffered):
    """As behind ``head -c 1``, of more text than a pipe holds."""
    program = "from kgeval.cli.streams import say; say('x' * 10**7)"
    command, setting = [sys.executable, "-c", program], {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=setting) as ended:
        assert ended.stdout.read(1) == b"x"
        ended.stdout.close()
        assert b"BrokenPipeError" in ended.stderr.read()
    assert ended.returncode


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


HEAVY = (
    *("torch", "pykeen", "sklearn", "scipy.stats", "scipy.optimize", "scipy.special", "matplotlib", "altair"),
    *("ray", "h5py"),
)
"""pandas is not among them: pyarrow itself imports it for any array that comes from numpy"""

COMMAND = """
import sys
from kgeval.cli import main

main(sys.argv[1:], standalone_mode=False)
print("IMPORTED", *sorted({*sys.modules} & {*%r}))
"""


def test_evaluate_imports_nothing_heavy(place):
    save_checkpoint(load_checkpoint("model", model="TransE", norm=1), "model.safetensors")
    command = [sys.executable, "-c", COMMAND % (HEAVY,), "evaluate", "model.safetensors", "--dataset", "graph"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "mrr" in done.stdout
    assert done.stdout.splitlines()[-1] == "IMPORTED"


def test_a_refused_evaluation_loads_no_compiler(place):
    command = [sys.executable, "-c", COMMAND % (("numba",),), "evaluate", "model", "--dataset", "graph"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "does not say which model it is" in done.stderr
    assert "IMPORTED" in done.stdout.splitlines()


@contextmanager
def stopped():
    """Expect SIGTERM to end what follows, be it a little later."""
    try:
        with termination_as_interrupt():
            yield
            time.sleep(10)
    except KeyboardInterrupt as stop:
        ended = exit_status(stop)
    else:
        ended = "the signal was lost"
    assert ended == 143


@unix
def test_a_signal_inside_an_import_waits_for_its_end(tmp_path, monkeypatch):
    """The import's lock would stay held, or the exception become another one, as in making a class."""
    whole = "import signal\nsignal.raise_signal(signal.SIGTERM)\nx = [str(n) for n in range(1000)]\n"
    (tmp_path / "met_by_signal.py").write_text(whole)
    monkeypatch.syspath_prepend(str(tmp_path))
    with stopped():
        module = importlib.import_module("met_by_signal")
        assert len(module.x) == 1000


@unix
def test_a_signal_inside_a_finalizer_is_not_lost():
    class Finalized:
        def __del__(self):
            signal.raise_signal(signal.SIGTERM)
            str(self)

    with stopped():
        Finalized()


@unix
def test_no_signal_is_lost_while_a_file_is_read(place):
    for number in range(40):
        sender = threading.Timer(number / 20_000, os.kill, (os.getpid(), signal.SIGTERM))
        with stopped():
            sender.start()
            for _ in range(100):
                read_columns(place / "graph/train.txt", ["head", "relation", "tail"])
        sender.join()
