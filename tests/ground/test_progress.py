"""Progress: a line now and then where there is no terminal, from Python too."""

from __future__ import annotations

import io
import re
import sys
import time

import numpy as np
import pytest

from kgeval import evaluate, progress
from tests.conftest import random_dataset

DATA = random_dataset()


@pytest.fixture
def often(monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.02)


def slow(heads, relations, tails):
    time.sleep(0.01)
    return np.sin(heads + relations + tails)


def test_lines_tell_how_far_it_is(often, capsys):
    evaluate(slow, DATA, progress=True, batch_size=1)
    lines = capsys.readouterr().err.splitlines()
    total = f"{2 * len(DATA.test):,}"
    found = [re.fullmatch(rf"ranking: (\d+) of {total} ranks(, \d+ ranks/s)?, \d+ s( left)?", line) for line in lines]
    assert len(lines) > 3
    assert all(found)
    done = [int(match[1]) for match in found]
    assert done == sorted(done)
    assert 0 < done[-1] <= 2 * len(DATA.test)


def test_without_a_total_the_seconds_are_told(often, capsys):
    with progress.watching("loading dataset"):
        time.sleep(0.1)
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert set(lines) == {"loading dataset: 0 s"}


def test_short_work_says_nothing(capsys):
    with progress.watching("loading dataset"):
        pass
    evaluate(lambda h, r, t: h + t, DATA, progress=True)
    assert capsys.readouterr() == ("", "")


def test_no_line_comes_after_the_end(often, capsys):
    with progress.watching("loading"):
        time.sleep(0.05)
    capsys.readouterr()
    time.sleep(0.06)
    assert capsys.readouterr().err == ""


def test_an_error_ends_the_lines_too(often, capsys):
    def broken(heads, relations, tails):
        raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        evaluate(broken, DATA, progress=True)
    capsys.readouterr()
    time.sleep(0.06)
    assert capsys.readouterr().err == ""


def test_a_function_is_called_with_every_rank():
    done = []
    evaluate(lambda h, r, t: h + t, DATA, progress=done.append)
    assert sum(done) == 2 * len(DATA.test)


@pytest.mark.parametrize("value", [None, False])
def test_by_default_nothing_is_shown(often, capsys, value):
    evaluate(slow, DATA, progress=value, batch_size=8)
    assert capsys.readouterr() == ("", "")


def test_a_closed_stream_is_no_failure(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    evaluate(lambda h, r, t: h + t, DATA, progress=True)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("total", "shown"), [(12, "12/12"), (None, "0:00:0")])
def test_on_a_terminal_there_is_a_bar(monkeypatch, total, shown):
    """What gives no ranks shows no '0/0 ranks'."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    with progress.watching("work", total) as report:
        report(total or 0)
    written = sys.stderr.getvalue()
    assert "work" in written
    assert shown in written
    assert "0/0" not in written
