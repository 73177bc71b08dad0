"""Progress: a line now and then where there is no terminal, from Python too."""

from __future__ import annotations

import io
import re
import sys
import time

import numpy as np
import pytest

from kgeval import compare, evaluate
from kgeval.base import progress
from tests.conftest import random_dataset

DATA = random_dataset()


OFTEN = progress.Pace(every=0.02, tick=0.02, patience=0)


def slow(heads, relations, tails):
    time.sleep(0.01)
    return np.sin(heads + relations + tails)


def test_lines_tell_how_far_it_is(capsys):
    total = 2 * len(DATA.test)
    with progress.watching("ranking", total, pace=OFTEN) as report:
        evaluate(slow, DATA, progress=report, batch_size=1)
    lines = capsys.readouterr().err.splitlines()
    speed = r"(, [\d.]+ ranks/s)?, [\d,]+ s( left)?"
    found = [re.fullmatch(rf"ranking: (\d+) of {total:,} ranks{speed}", line) for line in lines]
    assert len(lines) > 3
    assert all(found)
    done = [int(match[1]) for match in found]
    assert done == sorted(done)
    assert 0 < done[-1] <= total


def test_without_a_total_the_seconds_are_told(capsys):
    with progress.watching("loading dataset", pace=OFTEN):
        time.sleep(0.1)
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert all(re.fullmatch(r"loading dataset: \d+ s", line) for line in lines)


def test_short_work_says_nothing(capsys):
    with progress.watching("loading dataset"):
        pass
    evaluate(lambda h, r, t: h + t, DATA, progress=True)
    assert capsys.readouterr() == ("", "")


def test_no_line_comes_after_the_end(capsys):
    with progress.watching("loading", pace=OFTEN):
        time.sleep(0.05)
    capsys.readouterr()
    time.sleep(0.06)
    assert capsys.readouterr().err == ""


def test_an_error_ends_the_lines_too(capsys):
    with pytest.raises(ZeroDivisionError), progress.watching("ranking", pace=OFTEN):
        evaluate(lambda h, r, t: 1 // 0, DATA)
    capsys.readouterr()
    time.sleep(0.06)
    assert capsys.readouterr().err == ""


def test_a_function_is_called_with_every_rank():
    done = []
    evaluate(lambda h, r, t: h + t, DATA, progress=done.append)
    assert sum(done) == 2 * len(DATA.test)


def test_a_closed_stream_is_no_failure(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    evaluate(lambda h, r, t: h + t, DATA, progress=True)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def on_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    return sys.stderr


@pytest.mark.parametrize(("value", "shown"), [(None, False), (False, False), (True, True)])
def test_by_default_nothing_is_shown(monkeypatch, value, shown):
    terminal = on_terminal(monkeypatch)
    evaluate(slow, DATA, progress=value, batch_size=8)
    assert ("ranking" in terminal.getvalue()) == shown


@pytest.mark.parametrize(("total", "shown"), [(12, "12/12"), (None, "work: 0 s")])
def test_on_a_terminal_there_is_a_bar_or_the_seconds(monkeypatch, total, shown):
    """What gives no ranks shows no '0/0 ranks'."""
    terminal = on_terminal(monkeypatch)
    with progress.watching("work", total, pace=OFTEN) as report:
        report(total or 0)
        time.sleep(0.1)
    written = terminal.getvalue()
    assert "work" in written
    assert shown in written
    assert "0/0" not in written


@pytest.mark.parametrize(("patience", "shown"), [(0.0, True), (60.0, False)])
def test_a_loop_shows_on_a_terminal_once_it_takes_long(monkeypatch, patience, shown):
    terminal = on_terminal(monkeypatch)
    with (
        progress.loops_shown(progress.Pace(patience=patience)),
        progress.long_loop("bootstrap", 12, unit="draws") as report,
    ):
        for _ in range(12):
            report(1)
    assert ("12/12" in terminal.getvalue()) == shown
    assert ("bootstrap" in terminal.getvalue()) == shown


def test_of_loops_within_loops_the_outer_one_shows_unless_it_has_one_step(monkeypatch):
    terminal = on_terminal(monkeypatch)

    def work(steps):
        with progress.long_loop("outer", steps, unit="steps") as report:
            with progress.long_loop("inner", 2, unit="draws") as inner:
                inner(2)
            report(steps)

    with progress.loops_shown(OFTEN):
        work(2)
        assert "outer" in terminal.getvalue()
        assert "inner" not in terminal.getvalue()
        work(1)
        assert "inner" in terminal.getvalue()


def test_a_loop_writes_lines_where_no_terminal_is_and_nothing_where_none_are_wanted(capsys):
    def work():
        with progress.long_loop("bootstrap", 100, unit="draws") as report:
            for _ in range(10):
                time.sleep(0.01)
                report(10)

    work()
    with progress.loops_shown(OFTEN), progress.loops_shown(None):
        work()
    assert capsys.readouterr() == ("", "")
    with progress.loops_shown(OFTEN):
        work()
    written = capsys.readouterr()
    assert written.out == ""
    assert re.match(r"bootstrap: \d+ of 100 draws, ", written.err)


def test_a_bootstrap_and_sign_flips_count_every_draw(monkeypatch):
    terminal = on_terminal(monkeypatch)
    tables = {name: evaluate(score, DATA) for name, score in (("sum", slow), ("product", lambda h, r, t: h * t % 7))}
    with progress.loops_shown(OFTEN):
        compare(tables, ["mrr", "median"], draws=999)
    for what, total in {"bootstrap of both.median": 2000, "sign flips": 1000, "sign flips of both.median": 999}.items():
        assert re.search(rf"{what}: .* {total}/{total}\b", terminal.getvalue()), what
