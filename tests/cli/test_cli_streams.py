"""Streams of every encoding: what is printed can be read, and JSON is JSON."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import pytest

from kgeval.cli.streams import say, say_json, transliterate
from tests.cli.conftest import ENTITIES


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
    assert "\\u" not in printed
    assert printed.count("?") == original.count("?")
    assert len(printed.splitlines()) == len(original.splitlines()) > 5


@pytest.mark.parametrize(
    ("text", "encoding", "expected"),
    [
        ("Σ ‖h + r − t‖² ≤ 10¹⁸ …", "ascii", "Sum ||h + r - t||^2 <= 10^18 ..."),
        ("Σ ‖h − t‖² × 2 …", "cp1252", "Sum ||h - t||² × 2 …"),
        ("Σ ‖h − t‖² × 2 …", "utf-8", "Σ ‖h − t‖² × 2 …"),
        ("αβγ κ₁", "ascii", "alphabetagamma kappa1"),
        ("Zoë ← 北京", "ascii", "Zo\\xeb \\u2190 \\u5317\\u4eac"),
        ("a\udcff", "utf-8", "a\\udcff"),
    ],
)
def test_signs_are_spelled_and_labels_escaped(text, encoding, expected):
    """Labels are not made alike: Zoe and Zoë stay two."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    assert transliterate(text, stream) == expected
    transliterate(text, stream).encode(encoding)


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
