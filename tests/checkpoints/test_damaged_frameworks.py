"""Damaged checkpoints of every framework: one clear error or a model each; nothing runs, hangs or fills the memory."""

from __future__ import annotations

import pickle
import random
import resource
import shutil
import signal
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from kgeval import Dataset, Triples, evaluate, load_checkpoint, load_dataset
from kgeval.errors import KgevalError
from tests.checkpoints.damage import BOMBS, damage
from tests.checkpoints.frameworks import folder_of, options_of

VARIANTS = {
    "ampligraph": ["DistMult", "RotatE"],
    "conve": ["ComplEx", "ConvE"],
    "dgl-ke": ["SimplE", "TransR"],
    "kbc": ["CP", "ComplEx"],
    "libkge": ["conve", "cp"],
    "marius": ["ComplEx", "ComplEx-noinverse"],
    "openke": ["rotate", "transd"],
    "pbg": ["dyn-complex_diagonal-dot", "static-linear-dot"],
    "pyg": ["rotate", "transe-p2-module"],
    "pykeen": ["conve", "pairre"],
    "rotate": ["RotatE", "TransE"],
    "torchkge": ["complex", "rescal"],
    "transx": ["kb2e", "openke"],
    "tucker": ["TuckER"],
}
"""small ones, with all kinds of files and layers"""

NAMED = {"entity": "ent.weight", "relation": "rel.weight", "model": "TransE", "norm": 1}


def named(folder, entities, relations):
    """A state dictionary of one's own."""
    tables = (("ent.weight", entities), ("rel.weight", relations))
    torch.save({name: torch.rand(len(labels), 4) for name, labels in tables}, folder / "mine.pt")


def word2vec(folder, entities, relations):
    """One table of entities and relations."""
    labels = [*entities, *relations]
    rows = (
        f"{label} {' '.join(map(str, numbers))}\n"
        for label, numbers in zip(labels, torch.rand(len(labels), 4).tolist(), strict=True)
    )
    (folder / "vectors.txt").write_text(f"{len(labels)} 4\n" + "".join(rows), encoding="utf-8")


def ampligraph1(folder, entities, relations):
    """One pickle of dictionaries and arrays."""
    kinds = (("ent_to_idx", entities), ("rel_to_idx", relations))
    content = {name: {label: row for row, label in enumerate(labels)} for name, labels in kinds}
    content |= {"class_name": "TransE", "hyperparams": {"embedding_model_params": {"norm": 2}}}
    content["model_params"] = [torch.rand(len(labels), 4).numpy() for _, labels in kinds]
    (folder / "model.pkl").write_bytes(pickle.dumps(content))


def pykg2vec(folder, entities, relations):
    """A state dictionary, and a configuration that is not opened."""
    tables = (("ent_embeddings.weight", entities), ("rel_embeddings.weight", relations))
    torch.save({name: torch.rand(len(labels), 4) for name, labels in tables}, folder / "model.vec.pt")
    (folder / "config.npy").write_bytes(BOMBS[2])


MADE = {"ampligraph-1": (ampligraph1, {}), "pykg2vec": (pykg2vec, {"model": "DistMult"})}
MADE |= {"state-dict": (named, NAMED), "word2vec": (word2vec, {"model": "DistMult"})}
"""formats of no framework: what writes them, and the options that they need"""

UNREAD = ("expected", "kge.log", "trace", "train.log", "training_stats", "results", "numeric", "checkpoint_0")
"""how the names of files begin that no reader opens"""

TIMES = 40
"""damaged checkpoints of each framework"""

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


@pytest.fixture(scope="module")
def few(shared):
    """UMLS with eight test triples."""
    umls = load_dataset(shared / "checkpoints/pykeen/_data/umls")
    splits = {"train": umls.train, "valid": umls.valid, "test": Triples.of(umls.test.ids[:8])}
    return Dataset.build("umls", splits, entities=umls.entities, relations=umls.relations)


def sources(folder):
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith(UNREAD)]


def copied(sound, folder):
    for path in sources(sound):
        copy = folder / path.relative_to(sound)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)


def refusal_of(folder, few, framework, options):
    """What is said about a checkpoint that is refused; nothing where eight test triples can be ranked by it."""
    try:
        with bounded():
            table = evaluate(load_checkpoint(folder, dataset=few, format=framework, **options), few, threads=1)
    except KgevalError as error:
        return str(error)
    return "" if len(table) == 16 else f"{len(table)} ranks\n"


def written(framework, variant, folder, shared, few):
    """Write a sound checkpoint; return the options that it is read with."""
    if framework in MADE:
        write, options = MADE[framework]
        folder.mkdir()
        write(folder, few.entities, few.relations)
        return options
    copied(folder_of(shared, framework, variant), folder)
    return options_of(shared, framework, variant)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux limits the memory of a process so")
@pytest.mark.parametrize("framework", [*VARIANTS, *MADE])
def test_a_damaged_checkpoint_is_one_clear_error_or_a_model(tmp_path, monkeypatch, shared, few, framework):
    monkeypatch.chdir(tmp_path)
    others = [path for name, (variant, *_) in VARIANTS.items() for path in sources(folder_of(shared, name, variant))]
    variants = VARIANTS.get(framework, [framework])
    for variant in variants:
        sound = tmp_path / variant
        assert refusal_of(sound, few, framework, written(framework, variant, sound, shared, few)) == ""
    refused = 0
    for number in range(TIMES):
        rng = random.Random(f"{framework} {number}")
        folder = tmp_path / str(number)
        options = written(framework, rng.choice(variants), folder, shared, few)
        done = damage(rng, folder, others)
        heard.clear()
        said = refusal_of(folder, few, framework, options)
        assert "\n" not in said, done
        assert "MemoryError" not in said, (done, said)
        assert len(said) < LONGEST, (done, said)
        assert not heard, (done, heard)
        assert not list(tmp_path.rglob("executed")), done
        refused += said != ""
    assert 0 < refused < TIMES
