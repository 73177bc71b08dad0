"""Interrupted runs: whatever stopped them, the same command ends with the bytes of an undisturbed run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kgeval.cli import main
from kgeval.cli.streams import termination_as_interrupt

CASES = 6
"""a hundred take a few minutes: ``python -m tests.runs.interruption_campaign 100``"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be forked and killed")
def test_runs_that_are_killed_filled_up_and_robbed_end_as_if_nothing_was():
    campaign = [sys.executable, "-m", "tests.runs.interruption_campaign", str(CASES)]
    root = Path(__file__).parents[2]
    done = subprocess.run(campaign, check=False, capture_output=True, text=True, timeout=300, cwd=root)
    assert done.returncode == 0, done.stderr
    # A signal may come too late where a machine is busy; of some ten disturbances, some come in time.
    assert any(f"× {kind}" in done.stdout.replace("full disk, too late", "") for kind in ("SIG", "full disk"))


@pytest.mark.parametrize("signal_", ["SIGINT", "SIGTERM"])
def test_an_interruption_before_the_command_begins_says_the_same(monkeypatch, signal_):
    """While the arguments are read, as while the command is at work."""
    import signal

    monkeypatch.setattr(click.Group, "parse_args", lambda *_: signal.raise_signal(getattr(signal, signal_)))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    ended = CliRunner().invoke(main, ["list", "metrics"])
    signal.signal(signal.SIGINT, before)
    assert (ended.exit_code, ended.stderr) == (128 + getattr(signal, signal_), "Error: interrupted.\n")


def test_a_termination_can_be_caught_and_is_put_back():
    import signal

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), termination_as_interrupt():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) == before
