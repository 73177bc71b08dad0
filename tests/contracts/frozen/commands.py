"""What commands print, in a pipe and on a terminal of 80 columns, and the metrics.json that runs write."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np

from tests.contracts.frozen.plain_text import normal
from tests.data.folders import write

ENTITIES = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen"]
RELATIONS = ["eats", "fears", "likes"]
ROWS = [(h, r, (3 * h + 2 * r + 1) % 8) for h in range(8) for r in range(3)]
PARTS = {"train": ROWS[:14], "valid": ROWS[14:18], "test": ROWS[18:]}
MODEL = "model --dataset graph --option model=TransE --option norm=1"

COMMANDS = f"""
evaluate {MODEL} --out one
evaluate {MODEL} --metric mrr --metric hits@1 --by relation
evaluate {MODEL} --protocol libkge
evaluate {MODEL} --protocol pykeen
evaluate {MODEL} --protocol torchkge
evaluate {MODEL} --corruption uniform:count=3 --sides tail
evaluate {MODEL} --intervals triple
evaluate {MODEL} --ties pessimistic --json
evaluate {MODEL} --task classification
evaluate baseline:popularity --dataset graph --out two
evaluate modle --dataset graph
evaluate {MODEL} --splitt valid
evaluate {MODEL} --metric mrrr
predict {MODEL} --query ant eats ? -k 3
predict {MODEL} --query ant eats ? --query ? likes bee -k 3 --known drop
predict {MODEL} --query ant eat ?
predict {MODEL} --query ant eats ? -k 3 --json
explain {MODEL} --protocols pykeen,libkge
answers {MODEL} --coverage .5
answers {MODEL} --coverage .5 --nonconformity softmax
answers {MODEL} --coverage .99 --per relation,side --by side,cardinality
classify {MODEL}
classify {MODEL} --metric accuracy --metric relation.f1
audit graph
audit nowhere
compare one two
compare one two --metric mrr --by side --format csv
compare one two --metric mrr --by side --format markdown
compare one two --metric mrr --by side --format latex
evaluate {MODEL} --metric mrr --by relation --out seeds/1
evaluate baseline:types --dataset graph --metric mrr --out seeds/2
evaluate baseline:popularity --dataset old --metric mrr --out three
evaluate {MODEL} --metric mrr --estimate 0.05 --out part
summarize seeds/1
summarize seeds --by side
summarize part
compare 'm=seeds/*' two --metric mrr
compare 'm=seeds/*' two --metric mrr --by side --format csv
compare 'm=seeds/*' two --metric mrr --format json
compare one two three --metric mrr,hits@3 --reference one
compare one two three --metric mrr,hits@3 --format latex
compare one
summarize one
summarize one --digits 2
summarize one --fail-under mrr=1
summarize one --metric amri --by side
summarize one --by cardinality
summarize nothing
inspect graph
inspect model --option model=TransE --option norm=1
inspect one
inspect one/ranks.parquet
convert {MODEL} --out model.safetensors
convert graph --out converted
negatives graph --corruption uniform:count=2 --out negatives.tsv
report one two --out page.html
plot one two --kind leaderboard --out leaderboard.svg
run config.yaml --out run
run nothing.yaml
merge one
list metrics
list metrics ndcg
list models
list models TransE
list baselines
list formats
list protocols
list corruptions
list slices
list metricks
""".strip().splitlines()

RUNS = {
    "ranks": "",
    "tails": "--sides tail",
    "valid": "--split valid",
    "raw": "--filter none",
    "by relation": "--by relation",
    "ties": "--ties expected --metric mrr",
    "sampled": "--corruption uniform:count=3",
    "libkge": "--protocol libkge",
    "relations": "--sides relation",
    "intervals": "--intervals triple --metric mrr",
    "chance": "--metric amri --chance without-answer",
    "labels": "--task classification",
    "confidences": "--dataset weighted --task confidences",
    "estimate": "--estimate 0.05",
    "temporal": "--dataset dated --times static",
    "temporal, time-aware": "baseline:recurrency --dataset dated",
    "lists": "lists/answers.jsonl --dataset graph --sides tail --option missing=unanswered",
    "new entities": "baseline:popularity --dataset old_ind",
}
"""configurations, as options of evaluate, with another model perhaps"""


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Pipe(Terminal):
    """A stream that says it is none."""

    def isatty(self) -> bool:
        return False


def spelled(rows: list[tuple[int, int, int]]) -> list[tuple[str, str, str]]:
    """Give the labels of triples."""
    return [(ENTITIES[h], RELATIONS[r], ENTITIES[t]) for h, r, t in rows]


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """Work in a folder with a graph, a TransE of whole numbers, and a configuration."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name, mock.patch.dict(os.environ, {"COLUMNS": "80", "LINES": "24"}):
        folder = Path(name)
        (folder / "lists").mkdir()
        for split, rows in PARTS.items():
            triples = spelled(rows)
            weighted = [(*triple, (h + 1) / 8) for triple, (h, _, _) in zip(triples, rows, strict=True)]
            dated = [(*triple, f"2020-01-0{h % 4 + 1}") for triple, (h, _, _) in zip(triples, rows, strict=True)]
            new = [(f"new {head}", relation, f"new {tail}") for head, relation, tail in triples]
            write(folder / "weighted", {split: weighted}, ending=".tsv")
            old = [*triples, (ENTITIES[0], RELATIONS[0], ENTITIES[0])] if split == "train" else triples
            for graph, facts in (("graph", triples), ("dated", dated), ("old", old), ("old_ind", new)):
                write(folder / graph, {split: facts})
        lists = (
            {"head": ENTITIES[h], "relation": RELATIONS[r], "predictions": ENTITIES[:h]} for h, r, _ in PARTS["test"]
        )
        (folder / "lists/answers.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in lists))
        rng = np.random.default_rng(0)
        arrays = {name: rng.integers(-3, 4, (rows, 4)) / 2 for name, rows in (("entity", 8), ("relation", 3))}
        write(folder / "model", {"entities": enumerate(ENTITIES), "relations": enumerate(RELATIONS)}, ending=".tsv")
        np.savez(folder / "model/arrays.npz", **arrays)
        config = {"dataset": "graph", "model": {"path": "model", "options": {"model": "TransE", "norm": 1}}}
        (folder / "config.yaml").write_text(json.dumps(config))
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)


def printed(command: str, stream: io.StringIO) -> tuple[int, str, str]:
    """Call the command line in this process; its exit code, standard output and standard error."""
    from kgeval.cli import main

    errors, code = Pipe(), 0
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(errors):
        try:
            main(shlex.split(command), prog_name="kgeval")
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
    return code, stream.getvalue(), errors.getvalue()


def outputs(kind: type[io.StringIO], commands: list[str]) -> dict[str, object]:
    found = {}
    with workplace() as folder:
        for command in commands:
            code, out, errors = printed(command, kind())
            texts = {"output": out, "errors": errors}
            lines = {name: normal(text, folder).splitlines() for name, text in texts.items()}
            shown = {name: those for name, those in lines.items() if those}  # progress lines alone are nothing
            found[f"kgeval {command}"] = {"exit code": code, **shown}
    return found


def helps() -> dict[str, object]:
    from kgeval.cli import main

    return outputs(
        Pipe, ["--help", *(f"{name} --help" for name in sorted(main.list_commands(None)) if name != "pykeen")]
    )


def runs() -> dict[str, object]:
    """Give the metrics.json of each configuration."""
    found = {}
    with workplace() as folder:
        for number, (name, options) in enumerate(RUNS.items()):
            what = f"{MODEL} {options}" if options[:1] in ("", "-") else options
            code, _, errors = printed(f"evaluate {what} --out run{number}", Pipe())
            path = folder / f"run{number}/metrics.json"
            text = path.read_text(encoding="utf-8") if path.exists() else f"exit code {code}\n{errors}"
            found[name] = normal(text, folder).splitlines()
    return found


CONTRACTS = {
    "output-in-a-pipe": lambda: outputs(Pipe, COMMANDS),
    "output-at-width-80": lambda: outputs(Terminal, COMMANDS),
    "help": helps,
    "metrics-of-runs": runs,
}
