"""Without torch and PyKEEN: what needs neither works as ever, and what needs one says so in one line, before it works.

Where they are installed, a process hides them; ``scripts/wheel light`` runs these tests where they are not.
"""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from kgeval import RankTable, errors, load_dataset
from tests.brute_force import as_counts, brute_force
from tests.data.folders import write
from tests.models.checkpoints.pickles import (
    archive,
    embedding,
    interaction,
    made,
    mapping,
    matrix,
    model,
    named,
    program,
    row,
    value,
)

HIDING = """
import sys
hidden, arguments = sys.argv[1].split(","), sys.argv[2:]
class Without:
    def __init__(self, finder): self.finder = finder
    def __getattr__(self, name): return getattr(self.finder, name)
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in hidden else self.finder.find_spec(name, path, target)
sys.meta_path[:] = map(Without, sys.meta_path)
"""

CALLING = """
import json
from click.testing import CliRunner
from kgeval.cli import main
results = [CliRunner().invoke(main, line.split(), prog_name="kgeval") for line in arguments]
print(json.dumps([(result.exit_code, result.output) for result in results]))
"""

LABELS = [f"e{number}" for number in range(12)], ["likes", "eats", "fears"]
ENTITY, RELATION = (np.random.default_rng(0).normal(size=(size, 4)).astype(np.float32) for size in (12, 3))


def outcomes(folder, lines, *, hidden="torch,pykeen,pystow"):
    """Call kgeval once for each line, in one process that hides some libraries: exit codes and what was printed."""
    command = [sys.executable, "-c", HIDING + CALLING, hidden, *lines]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    return dict(zip(lines, json.loads(done.splitlines()[-1]), strict=True))


def save(path, *, pickled, **tables):
    """Write a pickle that names two tables, as torch does, without torch."""
    return archive(path, program(pickled), {name: numbers.tobytes() for name, numbers in tables.items()})


def pykeen(folder):
    tables = (embedding(matrix(key, len(rows), 4)) for key, rows in (("e", ENTITY), ("r", RELATION)))
    save(folder / "trained_model.pkl", pickled=model(interaction("DistMult"), *tables), e=ENTITY, r=RELATION)
    for kind, labels in zip(("entity", "relation"), LABELS, strict=True):
        ids = "".join(f"{number}\t{label}\n" for number, label in enumerate(labels))
        (folder / f"{kind}_to_id.tsv").write_text(f"id\tlabel\n{ids}", encoding="utf-8")


def libkge(folder):
    sizes = {"entity": 12, "relation": 3}
    tensors = {f"_{kind}_embedder._embeddings.weight": matrix(kind[0], size, 4) for kind, size in sizes.items()}
    config = made(named("kge.config", "Config"), mapping(options=value({"model": "distmult", "distmult": {}})))
    meta = value({"entity_ids": LABELS[0], "relation_ids": LABELS[1]})
    whole = {"model": row(mapping(**tensors), value(None)), "config": config, "type": value("package")}
    save(folder / "model_best.pt", pickled=mapping(**whole, dataset=mapping(meta=meta)), e=ENTITY, r=RELATION)


def conve(folder):
    """Its relations and their inverses take turns, after two tokens; here an inverse has the vector of its relation."""
    entity = np.concatenate([np.zeros((2, 4), np.float32), ENTITY])
    relation = np.concatenate([np.zeros((2, 4), np.float32), np.repeat(RELATION, 2, axis=0)])
    pickled = mapping(**{"emb_e.weight": matrix("e", 14, 4), "emb_rel.weight": matrix("r", 8, 4)})
    save(folder / "d_distmult_0.2.model", pickled=pickled, e=entity, r=relation)
    turns = [name for label in LABELS[1] for name in (label, f"{label}_reverse")]
    for name, labels in (("vocab_e1", LABELS[0]), ("vocab_rel", turns)):
        tokens = dict(enumerate(["OOV", "", *labels]))
        (folder / name).write_bytes(pickle.dumps([{token: row for row, token in tokens.items()}, tokens, {}, {}], 2))


WORKS = {
    **{f"evaluate {name} --dataset graph --out runs/{name}": "mrr" for name in ("pykeen", "libkge", "conve")},
    "compare runs/pykeen runs/conve --same": "identical ranks",
    "compare runs/pykeen runs/libkge -m mrr": "detectable",
    "predict libkge --dataset graph --query e0 likes ? -k 12": "e1",
    "explain pykeen --dataset graph --protocols pykeen,libkge": "libkge",
    "audit graph": "train",
    "convert libkge --out libkge.safetensors": "libkge.safetensors",
    "list datasets": "datasets by name need PyKEEN",
}
"""what is called -> a word of what is printed"""

if find_spec("altair"):
    WORKS["report runs/pykeen runs/libkge --out page.html"] = "page.html"
    WORKS["plot runs/pykeen --kind distribution --out picture.svg"] = "picture.svg"


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    """A graph, and a checkpoint of each of three frameworks."""
    folder = tmp_path_factory.mktemp("light")
    rng = np.random.default_rng(1)
    entities, relations = (np.array(labels) for labels in LABELS)
    rows = sorted({(rng.choice(entities), rng.choice(relations), rng.choice(entities)) for _ in range(90)})
    rng.shuffle(rows)
    write(folder / "graph", {"train": rows[:60], "valid": rows[60:68], "test": rows[68:]})
    for writer in (pykeen, libkge, conve):
        (folder / writer.__name__).mkdir()
        writer(folder / writer.__name__)
    return folder


@pytest.fixture(scope="module")
def outcome(workplace):
    return outcomes(workplace, WORKS)


@pytest.mark.parametrize("line", WORKS)
def test_what_needs_neither_works(outcome, line):
    status, printed = outcome[line]
    assert (status, WORKS[line] in printed) == (0, True), printed


@pytest.mark.parametrize("name", ["pykeen", "libkge", "conve"])
def test_ranks_of_a_checkpoint_are_those_of_its_formula(workplace, outcome, name):
    graph = load_dataset(workplace / "graph")
    e, r = (
        np.array([rows[labels.index(label)] for label in vocabulary], np.float64)
        for rows, labels, vocabulary in zip((ENTITY, RELATION), LABELS, (graph.entities, graph.relations), strict=True)
    )
    expected = brute_force(lambda head, relation, tail: float((e[head] * r[relation] * e[tail]).sum()), graph)
    assert as_counts(RankTable.from_parquet(workplace / "runs" / name / "ranks.parquet")) == expected


EVERY = "torch,pykeen,pystow,altair,ray"
REFUSED = {
    "evaluate libkge --dataset umls": ("no folder is called 'umls', and datasets by name need PyKEEN", "pykeen"),
    "evaluate libkge --dataset wn18rr": ("no folder is called 'wn18rr', and datasets by name need PyKEEN", "pykeen"),
    "inspect grahp": ("called 'grahp' (Did you mean 'graph'?), and datasets by name need PyKEEN", "pykeen"),
    "pykeen --help": ("kgeval.pykeen needs PyKEEN", "pykeen"),
    "run trained.yaml": ("kind: pykeen needs PyKEEN", "pykeen"),
    "run named.yaml": ("no folder is called 'umls', and datasets by name need PyKEEN", "pykeen"),
    "run tracked.yaml": ("a tracker needs PyKEEN", "pykeen"),
    "evaluate libkge --dataset graph --device cuda --out runs/none": ("device: cuda needs torch", "torch"),
    "evaluate libkge --dataset graph --set evaluation.kernel=bfloat16": ("kernel: bfloat16 needs torch", "torch"),
    "report runs/pykeen --out none.html": ("a report needs altair", "report"),
    "plot runs/pykeen --kind distribution --out none.svg": ("a chart needs altair", "report"),
    "compare runs/pykeen runs/libkge --format html": ("a page needs altair", "report"),
    "run divided.yaml": ("executor.kind: ray needs Ray", "ray"),
    "run page.yaml": ("report: a page needs altair", "report"),
}
"""what is called -> what the message says of it, and the extra that it names"""

BLOCKS = {
    "trained": "dataset: graph\nmodel: {kind: pykeen, model: TransE, device: cpu, loss_kwargs: {margin: 1}}",
    "tracked": "dataset: graph\nmodel: libkge\ntracker: {kind: csv}",
    "named": "dataset: umls\nmodel: libkge",
    "divided": "dataset: graph\nmodel: libkge\nexecutor: {kind: ray}",
    "page": "dataset: graph\nmodel: libkge\nreport: true",
}


@pytest.fixture(scope="module")
def refusals(workplace, outcome):
    for name, block in BLOCKS.items():
        (workplace / f"{name}.yaml").write_text(f"{block}\noutput: runs/none\n", encoding="utf-8")
    return outcomes(workplace, REFUSED, hidden=EVERY)


@pytest.mark.parametrize("line", REFUSED)
def test_what_needs_a_library_names_its_extra_before_it_works(workplace, refusals, line):
    status, printed = refusals[line]
    message, extra = REFUSED[line]
    assert (status, printed.count("not installed")) == (2, 1)
    assert f"{message}, which is not installed" in printed
    assert f"Run: pip install 'kgeval[{extra}]'" in printed
    assert len(printed.splitlines()) <= 2  # a configuration's problems have a line above them
    assert not (workplace / "runs/none").exists()


def test_a_run_that_pykeen_trained_is_read_without_it(workplace, outcome):
    """Its configuration names what is not here: a training, a tracker, a cluster, a page."""
    run = shutil.copytree(workplace / "runs/conve", workplace / "runs/trained")
    shutil.copytree(workplace / "pykeen", run / "model")
    block = f"{BLOCKS['trained']}\ntracker: {{kind: csv}}\nexecutor: {{kind: ray}}\nreport: true\n"
    (run / "config.yaml").write_text(block, encoding="utf-8")
    found = outcomes(workplace, ["answers runs/trained --coverage .5", "evaluate runs/trained"], hidden=EVERY)
    assert [status for status, _ in found.values()] == [0, 0], found


def test_the_package_for_pykeen_fails_as_an_import_does():
    script = HIDING + "import kgeval.pykeen"
    failed = subprocess.run([sys.executable, "-c", script, "pykeen"], capture_output=True, text=True, check=False)
    assert "MissingLibrary: kgeval.pykeen needs PyKEEN" in failed.stderr
    assert issubclass(errors.MissingLibrary, ImportError)
