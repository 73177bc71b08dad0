"""Interrupt runs at random moments, in several ways, and compare what they end with: python -m … [CASES]."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np

from kgeval import Vocabulary, save_checkpoint
from kgeval.cli import main
from kgeval.models.families.bilinear import DistMult
from kgeval.ranking.model_ranking import ModelRanking
from kgeval.stored.contents import SHARDS, STAGE, is_run
from kgeval.stored.stored_run import StoredRun
from tests.data.folders import write

ENTITIES, RELATIONS, SHARD_COUNT = 40, 3, 12
PAUSE = 0.02
"""seconds that a shard takes at least"""

FILES = ["config.yaml", "manifest.json", "metrics.json", "ranks.parquet"]


def write_inputs() -> None:
    """Write a graph, a model and a configuration into the working folder."""
    rng = np.random.default_rng(0)
    for split, size in {"train": 60, "valid": 10, "test": 40}.items():
        columns = (rng.integers(0, top, size) for top in (ENTITIES, RELATIONS, ENTITIES))
        write(Path("graph"), {split: [(f"e{h}", f"r{r}", f"e{t}") for h, r, t in zip(*columns, strict=True)]})
    labels = {
        "entities": Vocabulary([f"e{index}" for index in range(ENTITIES)]),
        "relations": Vocabulary([f"r{index}" for index in range(RELATIONS)], "relation"),
    }
    vectors = {name: rng.normal(size=(len(labels[name]), 4)) for name in labels}
    save_checkpoint(DistMult(vectors["entities"], vectors["relations"]), "model.safetensors", **labels)
    evaluation = f"evaluation: {{shards: {SHARD_COUNT}, threads: 1, unseen: drop}}"
    Path("experiment.yaml").write_text(f"dataset: {{path: graph}}\nmodel: model.safetensors\n{evaluation}\n")


def fork(*arguments: str, errors: str = os.devnull) -> int:
    """Start a command in a process of its own, which inherits what is imported and compiled."""
    if child := os.fork():
        return child
    try:
        sys.stderr = sys.stdout = Path(errors).open("w")  # noqa: SIM115
        main([*arguments])
    except SystemExit as status:
        sys.stderr.flush()
        os._exit(int(status.code or 0))
    except BaseException:
        os._exit(99)
    os._exit(0)


def exit_code(child: int) -> int:
    """Wait for a process."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def slowly() -> None:
    """Let each shard take a while."""
    part = ModelRanking.part

    def sleepy(*arguments):
        time.sleep(PAUSE)
        return part(*arguments)

    ModelRanking.part = sleepy


def stop(out: Path, number: int) -> str:
    """Stop a run by a signal: one that no process can catch, as of a batch system, or as of a keyboard."""
    wanted = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)[number % 3]
    told = f"{out}.txt"
    child = fork("run", "experiment.yaml", "--out", str(out), errors=told)
    deadline = time.monotonic() + 20
    while not (out / STAGE / SHARDS / "run.json").is_file() and not is_run(out) and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(random.uniform(0, 1.2 * PAUSE * SHARD_COUNT))
    os.kill(child, wanted)
    code = exit_code(child)
    if wanted == signal.SIGKILL or code == 0 or is_run(out):
        return wanted.name if code else "too late"
    message = Path(told).read_text()
    if code in (-signal.SIGTERM, 99):
        return "a signal before the command began"
    assert code == 128 + wanted, (code, message)
    assert "interrupted" in message, message
    if "after" in message:  # not before the run has found what is there
        done = len(list((out / STAGE / SHARDS).glob("*.parquet")))
        assert f"interrupted after {done} of {SHARD_COUNT} shards. The same command continues it." in message, message
    return wanted.name


def fill_the_disk(out: Path) -> str:
    """Let the disk be full after a few files."""
    left, sync = random.randrange(SHARD_COUNT + 4), os.fsync

    def full(descriptor):
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(descriptor)

    os.fsync = full
    code = exit_code(fork("run", "experiment.yaml", "--out", str(out)))
    os.fsync = sync
    assert code == (0 if is_run(out) else 1), code
    return "full disk" if code else "full disk, too late"


def lose_something(out: Path) -> str:
    """Damage a shard, or delete one, or all."""
    folder = out / STAGE / SHARDS
    shards = sorted(folder.glob("*.parquet"))
    if not shards:
        return "nothing to lose"
    path, kind = random.choice(shards), random.choice(("cut", "gone", "all gone"))
    if kind == "cut":
        os.truncate(path, random.randrange(path.stat().st_size))
    for lost in {"cut": [], "gone": [path], "all gone": list(folder.iterdir())}[kind]:
        shutil.rmtree(lost) if lost.is_dir() else lost.unlink()
    return f"a shard {kind}" if kind != "all gone" else kind


def disturb(out: Path, number: int) -> str:
    """Disturb a run once."""
    if number % 5 == 4:
        return fill_the_disk(out)
    what = stop(out, number)
    return f"{what}, {lose_something(out)}" if number % 4 == 3 else what


def content(out: Path) -> dict[str, bytes]:
    """Read a finished run; its time and what is kept of it differ from run to run."""
    assert sorted(path.name for path in out.iterdir()) == FILES, [*out.iterdir()]
    return {name: (out / name).read_bytes() for name in FILES if name not in ("manifest.json", "config.yaml")}


def campaign(cases: int, seed: int) -> Counter[str]:
    """Disturb runs one to three times each, continue them, and compare; count what was done."""
    random.seed(seed)
    write_inputs()
    with redirect_stdout(None):  # children inherit what is imported and compiled
        main(["run", "experiment.yaml", "--out", "whole", "-q"], standalone_mode=False)
    slowly()
    counts = Counter[str]()
    for number in range(cases):
        out = Path(f"run-{number}")
        for time_ in range(random.randint(1, 3)):
            if not is_run(out):
                counts[disturb(out, number + time_)] += 1
        again = exit_code(fork("run", "experiment.yaml", "--out", str(out), errors="again.txt"))
        assert again == 0 or (again == 2 and is_run(out)), (number, again, Path("again.txt").read_text())
        assert content(out) == content(Path("whole")), number
    return counts


def array_of_jobs() -> None:
    """Rank all shards in processes of their own at once, of which one is killed, and merge them."""
    out = Path("array")
    jobs = [
        fork("run", "experiment.yaml", "--out", str(out), "--shard", f"{number}/{SHARD_COUNT}", errors=f"{number}.txt")
        for number in range(1, SHARD_COUNT + 1)
    ]
    os.kill(jobs[4], signal.SIGKILL)
    codes = [exit_code(job) for job in jobs]
    assert set(codes) <= {0, -signal.SIGKILL}, [Path(f"{n + 1}.txt").read_text() for n, c in enumerate(codes) if c]
    if codes[4]:
        assert exit_code(fork("merge", str(out), errors="merge.txt")) == 2
        assert f"missing of the {SHARD_COUNT} shards in 'array': 5. " in Path("merge.txt").read_text()
        assert exit_code(fork("run", "experiment.yaml", "--out", str(out), "--shard", f"5/{SHARD_COUNT}")) == 0
    assert exit_code(fork("merge", str(out), errors="merge.txt")) == 0, Path("merge.txt").read_text()
    assert content(out) == content(Path("whole"))


def race(*options: str) -> None:
    """Start two runs in one folder: one is refused, or comes when the other is done, and the run is whole."""
    out = Path(f"raced{len(options)}")
    jobs = [fork("run", "experiment.yaml", "--out", str(out), *options) for _ in range(2)]
    codes = sorted(map(exit_code, jobs))
    assert codes == [0, 2] or (options and codes == [0, 0]), codes
    assert content(out) == content(Path("whole"))


def kill_replacements(cases: int) -> None:
    """Kill runs that replace another: a whole run is there, the old or the new, or none; the same command ends it."""
    assert exit_code(fork("run", "experiment.yaml", "--out", "old", "--set", "evaluation.split=valid")) == 0
    for number in range(cases):
        out = Path(f"replaced-{number}")
        shutil.copytree("old", out)
        child = fork("run", "experiment.yaml", "--out", str(out), "--force")
        time.sleep(random.uniform(0, 1.5 * PAUSE * SHARD_COUNT))
        os.kill(child, signal.SIGKILL)
        exit_code(child)
        assert not is_run(out) or not StoredRun(out).faults
        assert exit_code(fork("run", "experiment.yaml", "--out", str(out), "--force")) == 0
        assert content(out) == content(Path("whole"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        done = campaign(int(sys.argv[1]), seed=int(sys.argv[2]) if sys.argv[2:] else 0)
        array_of_jobs()
        race()
        race("--force")
        kill_replacements(int(sys.argv[1]))
    print("; ".join(f"{count} × {what}" for what, count in sorted(done.items())))
