"""The recorder inside training loops: of two processes, of plain PyTorch, and of Lightning."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import random_dataset
from tests.ranking.recorder import loops


def test_two_processes_gather_the_table_of_an_evaluation_byte_for_byte(tmp_path):
    command = [sys.executable, "-m", "tests.ranking.recorder.loops"]
    address = f"file://{tmp_path / 'meeting'}"
    processes = [subprocess.Popen([*command, str(rank), address, str(tmp_path)]) for rank in range(2)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0]
    loops.evaluated(random_dataset(5)).to_parquet(tmp_path / "evaluated")
    for rank in range(2):
        assert (tmp_path / f"process{rank}").read_bytes() == (tmp_path / "evaluated").read_bytes()
        assert "has other counts in another process." in (tmp_path / f"error{rank}").read_text()
