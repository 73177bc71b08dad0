"""The files of a run directory: what each is called, what is read of those in JSON, and what is written into them.

``staging`` writes the files, ``StoredRun`` reads them. A new file has its name here; a new key of ``manifest.json`` or
``metrics.json`` has its type in ``Manifest`` or ``Metrics``.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime, timezone
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    ValidationError,
    WrapValidator,
    with_config,
)
from typing_extensions import TypedDict

from kgeval.base import files
from kgeval.base.errors import InputError, counted, reason
from kgeval.base.files import exists_safely, is_plain_name, sha256_of_file
from kgeval.base.setting_problems import problems_of
from kgeval.data.dataset import Dataset
from kgeval.data.fingerprint import fingerprint
from kgeval.ranking.predictions.prediction_table import PredictionTable
from kgeval.ranking.rank_table import RankTable
from kgeval.ranking.tasks.label_table import LabelTable

SCHEMA = 1
"""the version of what the files of a run say; a newer one may mean other things by the same words"""

MANIFEST, METRICS = "manifest.json", "metrics.json"
"""the files by which a folder is recognised as that of a run, or of several runs"""

CONFIG, RANKS = "config.yaml", RankTable._FILE

LABELS, CURVES, PREDICTIONS = LabelTable._FILE, "curves.json", PredictionTable._FILE
"""the configuration; the tables of ranks, labelled triples and predictions; the curves of a classification"""

STAGE, LOCK = ".kgeval.partial", ".kgeval.lock"
"""the hidden folder in which a run is written until it is complete, and the file that the process which writes locks"""

SHARDS, PLAN = "shards", "run.json"
"""on the stage: the folder of the shards (parts of a ranking) that are ranked, and the file in it on their run"""

MODEL = "model"
"""the folder of a model that the run trained"""

RESULTS = "pykeen_metrics.json"
"""the file with the metrics under PyKEEN's keys, of an evaluation inside PyKEEN"""

REPORT = "report.html"
"""the page of the run, or of the runs in the folder"""

SUITE = "kgeval-suite.json"
"""the file in a folder of runs on many graphs: groups of graphs, over which means are shown, and the metrics to show"""

FILES = frozenset({CONFIG, MANIFEST, METRICS, RANKS, LABELS, CURVES, PREDICTIONS, RESULTS, REPORT, SUITE})
"""the names of the files of runs and of folders of runs, except the ranks of baselines"""

TEXT = (".txt", ".tsv", ".csv", ".txt.gz", ".tsv.gz", ".csv.gz")
"""the endings of files of ranks that another program wrote as text"""


def ranks_of(baseline: str) -> str:
    """The name of the file with the ranks of a baseline: ``ranks-same-or-reversed.parquet``."""
    return f"ranks-{baseline.replace(' ', '-')}.parquet"


def tables_in(folder: Path) -> list[str]:
    """Return the names of files that only some kinds of runs have."""
    return [RANKS, LABELS, CURVES, PREDICTIONS, RESULTS, *sorted(path.name for path in folder.glob(ranks_of("*")))]


def other_files(folder: Path, models: Iterable[str]) -> list[str]:
    """Return what a folder contains besides the files of a run and the folders of models; hidden files are ignored."""
    if not exists_safely(folder) or not folder.is_dir():
        return []
    known = {*FILES, MODEL, *tables_in(folder), *(name.partition("/")[0] for name in models)}
    return sorted(path.name for path in folder.iterdir() if path.name not in known and not path.name.startswith("."))


def is_run(folder: Path) -> bool:
    """Whether a folder is the run directory of one model, whose files may be damaged."""
    manifest = folder / MANIFEST
    with suppress(InputError):  # without a table, the manifest may be another program's
        is_file = exists_safely(manifest) and manifest.is_file()
        return is_file and (holds_table(folder) or "written" in read_json(manifest))
    return False


def is_left_of_run(folder: Path) -> bool:
    """Whether a folder without a manifest or table that can be read has other files of a run."""
    return sum(exists_safely(folder / name) for name in (CONFIG, MANIFEST, METRICS)) > 1


def holds_table(folder: Path) -> bool:
    """Whether a folder has a file of ranks or labels, of a complete run or not."""
    return (folder / RANKS).is_file() or (folder / LABELS).is_file()


def fault_of(file: Path, digest: str | None = None) -> str:
    """What is wrong with a file of a run; empty if nothing is. ``digest`` is its SHA-256 in the manifest."""
    if not file.is_file():
        return "is a folder" if file.is_dir() else "is no file" if file.exists() else "is missing"
    is_written = digest in (None, sha256_of_file(file))
    return "" if is_written else f"is not as the run wrote it: {MANIFEST} has another SHA-256"


def is_begun(folder: Path) -> bool:
    """Whether a run is being written there, or was interrupted."""
    return (folder / STAGE).is_dir()


def num_shards(folder: Path) -> int:
    """Count the shards of which a folder has a file."""
    return len({path.name.partition("-")[0] for path in folder.glob("*-*.parquet")})


def progress_of(folder: Path) -> str:
    """Describe the progress of an unfinished run, and how to continue it; empty if there is none."""
    begun = [place.parent for under in ("", "*/", "*/*/") for place in folder.glob(f"{under}{STAGE}/{SHARDS}/{PLAN}")]
    counts = [count for shards in begun if isinstance(count := read_json(shards / PLAN).get("shards"), int)]
    if not counts:
        there = any(is_begun(path) for path in (folder, *folder.glob("*/"), *folder.glob("*/*/")))
        return " A run was interrupted there, before it had a result. Repeat its command." if there else ""
    done = sum(map(num_shards, begun))
    progress = f"{done} of {counted(sum(counts), 'shard')} {'is' if done == 1 else 'are'} ranked"
    divided = f"if it was divided by --shard, rank the others, then: kgeval merge {shlex.quote(str(folder))}"
    return f" The run there is not finished: {progress}. Repeat its command to continue it; {divided}"


def is_folder_name(name: object) -> bool:
    """Whether a text can be the name of a folder beside the files of a run.

    >>> is_folder_name("TransE"), is_folder_name("a/b"), is_folder_name("Report.html")
    (True, False, False)
    """
    return is_plain_name(name) and str(name).casefold() not in FILES | {STAGE, LOCK}


def is_run_name(name: object) -> bool:
    """Whether a text can be the path of a model's run: the folder of the model, or a folder of a seed inside it.

    >>> is_run_name("TransE"), is_run_name("TransE/0"), is_run_name("TransE/a"), is_run_name("../0")
    (True, True, False, False)
    """
    model, slash, seed = str(name).partition("/")
    return is_folder_name(model if slash else name) and (not slash or seed.isdecimal())


def as_json(content: Any) -> str:
    """Format as indented JSON with a final newline; NaN and infinity are refused, as JSON does not have them."""
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON file with a block of keys; refuse infinity and halves of characters, which no run writes."""
    try:
        content = files.read_json(path, strict=True)
        json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{str(path)!r} cannot be read ({reason(error)}).") from error
    if not isinstance(content, dict):
        raise InputError(f"{str(path)!r} cannot be read (expected a block of keys).")
    return content


STRICT = ConfigDict(strict=True)
"""no value is converted; unknown keys are left out"""

Count = Annotated[int, Field(ge=0, lt=2**63)]


def _unconverted(value: Any, check: Callable[[Any], object]) -> Any:
    check(value)
    return value


Number = Annotated[float | None, WrapValidator(_unconverted)]
"""a number or None; a whole number stays one"""

JsonBlock = dict[str, JsonValue]
"""a block that is shown as it is, whatever its content"""

Names = TypeVar("Names", bound=Iterable[str])


def _names(found: Names, *, what: str, fits: Callable[[str], bool]) -> Names:
    for name in found:
        if not fits(name):
            raise ValueError(f"{name!r:.60} is not the name of a {what} beside it")
    return found


_files = partial(_names, what="file", fits=is_plain_name)

_runs = partial(_names, what="folder", fits=is_run_name)


@with_config(STRICT)
class Graph(TypedDict, total=False):
    """The dataset in a manifest."""

    name: str
    entities: Count
    relations: Count
    triples: dict[str, Count]
    repeated: dict[str, Count]
    sha256: str
    fingerprint: str
    training_graph: JsonBlock


@with_config(STRICT)
class Manifest(TypedDict, total=False):
    """The content of ``manifest.json``: what was ranked, with what and how, and the SHA-256 of all files."""

    schema: int
    time: str
    python: str
    commit: str
    versions: dict[str, str]
    machine: JsonBlock
    dataset: Graph
    model: JsonBlock
    name: str
    seeds: dict[str, int]
    sha256: dict[str, str]
    seconds: dict[str, Annotated[float, Field(ge=0)]]
    ranking: JsonBlock
    ranked: dict[str, Count]
    read_as: list[str]
    continued: dict[str, Count]
    notes: list[str]
    note_kinds: JsonValue
    note_parts: JsonValue
    written: Annotated[dict[str, str], AfterValidator(_files)]


@with_config(STRICT)
class Policies(TypedDict, total=False):
    """The part of a run's configuration that says how numbers are computed from its tables."""

    ties: str | None
    seed: int
    task: JsonBlock | None


@with_config(STRICT)
class Metrics(TypedDict, total=False):
    """The part of ``metrics.json`` that is read; all of it can be computed from the tables."""

    provenance: JsonBlock
    ties: str
    metrics: dict[str, dict[str, Number]]


@with_config(STRICT)
class Models(TypedDict, total=False):
    """The ``metrics.json`` of a folder of several models: the common table."""

    models: Annotated[JsonBlock, AfterValidator(_runs)]
    failed: Annotated[dict[str, str], AfterValidator(_runs)]
    unfinished: Annotated[list[str], AfterValidator(_runs)]


@with_config(STRICT)
class StoredSuite(TypedDict):
    """The ``kgeval-suite.json`` of a folder of runs on many graphs."""

    groups: dict[str, list[str]]
    """the names of graphs by the name of their group; ``all`` has them all, in their order"""
    metrics: list[str]


Record = TypeVar("Record", Manifest, Policies, Metrics, Models, StoredSuite)


def read_record(path: Path, kind: type[Record]) -> Record:
    """Read a file of a run; refuse one in which a field is of another type."""
    return record_of(read_json(path), path, kind)


def record_of(content: dict[str, Any], path: Path, kind: type[Record]) -> Record:
    """Check what a file of a run says, and leave out unknown keys; refuse it if a field is of another type."""
    try:
        return TypeAdapter(kind).validate_python(content)
    except ValidationError as error:
        problem = problems_of(error, content, kind)[0]
        raise InputError(f"{str(path)!r} is damaged. {problem} Restore it, or evaluate again with --force.") from error


@cache
def source_commit() -> str:
    """Name the commit of this code, as pip or the checkout knows it; ``-dirty`` if files differ, empty if unknown."""
    with suppress(importlib.metadata.PackageNotFoundError, OSError, ValueError, subprocess.SubprocessError):
        checkout = Path(__file__).parents[2]
        if (checkout / ".git").exists():
            git = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
            own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
            done = subprocess.run(git, capture_output=True, text=True, check=True, timeout=5, env=own)  # noqa: S603
            return done.stdout.strip()
        origin = json.loads(importlib.metadata.distribution("kgeval").read_text("direct_url.json") or "{}")
        return str(origin.get("vcs_info", {}).get("commit_id", ""))
    return ""


def describe_machine() -> dict[str, Any]:
    """Return what the manifest says of time, Python, packages and machine."""
    versions = {}
    for name in ("kgeval", "numpy", "numba", "pyarrow", "pandas", "scipy", "scikit-learn", "torch", "pykeen"):
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return {
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        **({"commit": commit} if (commit := source_commit()) else {}),
        "versions": versions,
        "machine": {
            "system": platform.system(),
            "processor": platform.machine(),
            "cores": len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count(),
        },
    }


def ranking_facts(table: RankTable) -> dict[str, Any]:
    """Return what the manifest says of how the ranks were made, how many there are, and how their inputs were read."""
    read = {"read_as": [*map(str, table.assumptions)]} if table.assumptions else {}
    return {"ranking": dict(table.work), "ranked": {"triples": table.num_triples, "ranks": len(table)}, **read}


def sizes_of(dataset: Dataset) -> dict[str, Any]:
    """Return the name of a dataset, and how many entities, relations and triples it has."""
    sizes = {"name": dataset.name, "entities": len(dataset.entities), "relations": len(dataset.relations)}
    return {**sizes, "triples": {split: len(triples) for split, triples in dataset.splits.items()}}


def graph_facts(dataset: Dataset) -> dict[str, Any]:
    """Return what the manifest says of a dataset: its sizes, repeated triples, SHA-256 and fingerprint."""
    digests = {"sha256": dataset.sha256(), "fingerprint": fingerprint(dataset)}
    return {**sizes_of(dataset), "repeated": dict(dataset.repeated), **digests}
