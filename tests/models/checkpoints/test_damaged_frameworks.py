"""Damaged checkpoints of every framework: one clear error or a model each; nothing runs, hangs or fills the memory."""

from __future__ import annotations

import random
import resource
import signal
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from kgeval import Dataset, Triples, Vocabulary, evaluate, load_checkpoint
from kgeval.base.errors import KgevalError
from tests.models.checkpoints.damage import damage
from tests.models.checkpoints.frameworks import VARIANTS, copied, folder_of, options_of, sources
from tests.models.checkpoints.layouts import ENTITIES, FURTHER, RELATIONS, WRITERS
from tests.models.checkpoints.made import ALONE, MADE, at_times

DAMAGED = {framework: variants.split()[:2] for framework, variants in VARIANTS.items()}

TIMES = 40
"""damaged checkpoints of each framework; half of them where tests write them for UMLS, twice for a small graph"""

SECONDS = 20
MEMORY = 2**30
"""what one of them may take"""

LONGEST = 2000
"""characters of a refusal"""

RUNS = {"os.system", "os.exec", "os.fork", "os.posix_spawn", "subprocess.Popen", "socket.connect"}
"""the audit events of whatever a file would want to run"""

heard: list[str] = []


def _hear(event, _):
    if event in RUNS:
        heard.append(event)


sys.addaudithook(_hear)


class TooLong(BaseException):
    """No reader catches it."""


@contextmanager
def bounded():
    """Let nothing take too long or too much memory."""

    def stop(*_):
        raise TooLong

    limits = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


WRITTEN = {
    writer.__name__: (name, writer)
    for name, writer in [*FURTHER, *WRITERS]
    if (name, writer) in FURTHER or name in {"ampligraph1", "pykg2vec"}
}
"""what is written for a small graph, in formats of which there is no small real one"""


@pytest.fixture(scope="module")
def small():
    """A graph with eight test triples."""
    rows = [(h, r, (2 * h + r) % 7) for h in range(7) for r in range(3)]
    splits = {"train": Triples.of(rows[:10]), "valid": Triples.of(rows[10:13]), "test": Triples.of(rows[13:])}
    return Dataset.build("small", splits, entities=Vocabulary(ENTITIES), relations=Vocabulary(RELATIONS, "relation"))


@pytest.fixture(scope="module")
def few(umls):
    """UMLS with eight test triples."""
    splits = {"train": umls.train, "valid": umls.valid, "test": Triples.of(umls.test.ids[:8])}
    return Dataset.build("umls", splits, entities=umls.entities, relations=umls.relations)


def refusal_of(folder, few, framework, options):
    """What is said about a checkpoint that is refused; nothing where eight test triples can be ranked by it."""
    try:
        with bounded():
            table = evaluate(load_checkpoint(folder, dataset=few, format=framework, **options), few, threads=1)
    except KgevalError as error:
        return str(error)
    return "" if len(table) in {8, 16} else f"{len(table)} ranks\n"


def written(name, variant, folder, shared, data):
    """Write a sound checkpoint; return its format, and the options that it is read with."""
    if name in MADE:
        framework, write, options = MADE[name]
        folder.mkdir()
        write(folder, data)
        return framework, options
    if name in WRITTEN:
        framework, write = WRITTEN[name]
        folder.mkdir()
        return framework, write(folder)[2]
    copied(folder_of(shared, name, variant), folder)
    return name, options_of(shared, name, variant)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux limits the memory of a process so")
@pytest.mark.parametrize("name", [*DAMAGED, *MADE, *WRITTEN])
def test_a_damaged_checkpoint_is_one_clear_error_or_a_model(tmp_path, monkeypatch, shared, few, small, name):
    monkeypatch.chdir(tmp_path)
    data, place = small if name in WRITTEN else at_times(few) if name == "tkbc" else few, ALONE.get(name, "")
    others = [path for real, (variant, *_) in DAMAGED.items() for path in sources(folder_of(shared, real, variant))]
    variants = DAMAGED.get(name, [name])
    for variant in variants:
        sound = tmp_path / variant
        framework, options = written(name, variant, sound, shared, data)
        assert refusal_of(sound / place, data, framework, options) == ""
    refused, times = 0, TIMES // 2 if name in MADE else 2 * TIMES if name in WRITTEN else TIMES
    for number in range(times):
        rng = random.Random(f"{name} {number}")
        folder = tmp_path / str(number)
        framework, options = written(name, rng.choice(variants), folder, shared, data)
        done = damage(rng, folder, others)
        heard.clear()
        said = refusal_of(folder / place, data, framework, options)
        assert "\n" not in said, done
        assert "MemoryError" not in said, (done, said)
        assert len(said) < LONGEST, (done, said)
        assert not heard, (done, heard)
        assert not list(tmp_path.rglob("executed")), done
        refused += said != ""
    assert 0 < refused < times
