"""Loading: a made graph of ogbl-wikikg2's size as text, gz, Parquet and converted; a process for each way.

``python -m scripts.benchmark.loading WAY FOLDER`` loads a folder in one way, and says what it took.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from kgeval import load_dataset, save_dataset
from scripts.benchmark.estimates import ENTITIES, RELATIONS, TEST, TRAIN, typed_ids

COLUMNS = ("head", "relation", "tail")
ENDINGS = (".txt", ".txt.gz", ".parquet")
CONVERTED = "converted"
"""what kgeval convert makes of the text"""


def loading() -> list[dict[str, Any]]:
    """Time every way of loading every kind of file; KGEVAL_BENCH_SCALE, such as 0.1, makes a smaller graph."""
    rows = []
    with TemporaryDirectory() as place:
        triples, folders = large_graph(Path(place))
        save_dataset(load_dataset(folders[ENDINGS[0]]), Path(place) / CONVERTED)
        for ending, folder in {**folders, CONVERTED: Path(place) / CONVERTED}.items():
            for way in WAYS if ending in folders else ("kgeval",):
                click.echo(f"loading: {ending}, {way} ...", err=True)
                rows.append({"files": ending, "way": way, "triples": triples, **_in_a_process(way, folder)})
    return rows


def large_graph(place: Path) -> tuple[int, dict[str, Path]]:
    """Write a graph in each kind of file; return how many triples it has, and the folder of each."""
    click.echo("loading: making the graph ...", err=True)
    scale = float(os.environ.get("KGEVAL_BENCH_SCALE", "1"))
    entities, train, test = (max(int(size * scale), 5_000) for size in (ENTITIES, TRAIN, TEST))
    return train + test, _write(place, typed_ids(entities, train, test), train)


def _write(place: Path, ids: np.ndarray[Any, Any], train: int) -> dict[str, Path]:
    """Write train and test, with labels as long as those of Wikidata; return the folders."""
    folders = {ending: place / ending.strip(".") for ending in ENDINGS}
    for folder in folders.values():
        folder.mkdir()
    labels = {"entity": _labels("Q", ENTITIES), "relation": _labels("P", RELATIONS)}
    kinds = zip(COLUMNS, ("entity", "relation", "entity"), strict=True)
    table = pa.table({name: labels[kind].take(ids[:, column]) for column, (name, kind) in enumerate(kinds)})
    for split, part in {"train": table.slice(0, train), "test": table.slice(train)}.items():
        text, packed = (folders[ending] / f"{split}{ending}" for ending in ENDINGS[:2])
        options = pa_csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
        pa_csv.write_csv(part, text, write_options=options)
        with text.open("rb") as source, gzip.open(packed, "wb", compresslevel=1) as target:
            shutil.copyfileobj(source, target)
        pq.write_table(part, folders[ENDINGS[2]] / f"{split}.parquet")
    return folders


def _labels(letter: str, count: int) -> pa.Array:
    return pa.array([f"{letter}{number * 37 + 10_000}" for number in range(count)])


def _in_a_process(way: str, folder: Path) -> dict[str, float]:
    """Load a folder in a process of its own."""
    command = [sys.executable, "-m", "scripts.benchmark.loading", way, str(folder)]
    found = subprocess.run(command, check=True, capture_output=True)  # noqa: S603  # its own command
    return dict(json.loads(found.stdout))


def _read(folder: Path) -> dict[str, pa.Table]:
    """Read the columns as dictionaries with pyarrow alone."""
    kind = pa.dictionary(pa.int32(), pa.string())
    convert = pa_csv.ConvertOptions(column_types=dict.fromkeys(COLUMNS, kind))
    tables = {}
    for path in folder.iterdir():
        if path.suffix == ".parquet":
            tables[path.name] = pq.read_table(path, read_dictionary=list(COLUMNS))
        else:
            read, parse = pa_csv.ReadOptions(column_names=COLUMNS), pa_csv.ParseOptions(delimiter="\t")
            tables[path.name] = pa_csv.read_csv(path, read, parse, convert)
    return tables


def _read_unified(folder: Path) -> dict[str, pa.Table]:
    """Read them, and give each column of a file one dictionary, without which codes are no ids."""
    return {name: table.unify_dictionaries() for name, table in _read(folder).items()}


WAYS = {
    "pyarrow": _read,
    "pyarrow, unified": _read_unified,
    "kgeval": load_dataset,
}


def _measure(way: str, folder: Path) -> dict[str, float]:
    """Load, and measure seconds, processor seconds of all threads, and the most memory that this process ever had."""
    start, processor = time.perf_counter(), time.process_time()
    loaded = WAYS[way](folder)
    taken = {"seconds": time.perf_counter() - start, "processor": time.process_time() - processor}
    del loaded
    status = Path("/proc/self/status").read_text().splitlines()
    return {**taken, "peak": 1024 * next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_measure(sys.argv[1], Path(sys.argv[2]))))
