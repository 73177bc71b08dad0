"""Write the reference pages from the registries, so that a page lists just what is there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import mkdocs_gen_files

import kgeval
from kgeval.cli.commands.list_command import LISTINGS
from kgeval.ranking.evaluation import Evaluation
from kgeval.runs.config.run_config import RunConfig

INTRODUCTIONS = {
    "metrics": "A name is `[side.][ties.][average.]name[@k]`, for example `head.mrr` or `pessimistic.hits@10`.",
    "protocols": "A protocol is the evaluation of a framework as data; `protocol:` in a configuration names it.",
    "corruptions": "A corruption chooses the candidates that compete with an answer; `corruption: {kind: …}` names it.",
    "slices": "A slice divides the rows of a rank table by what its dataset says of them; `--by NAME` groups by it.",
    "models": "A family is a formula and the arrays that it needs; `--option model=NAME` names it.",
    "baselines": "Baselines learn nothing; `baseline:NAME`, `model: {baseline: …}` and `kgeval.Baseline(…)` name them.",
    "formats": "How frameworks store models; a format is recognised from the files, or named by `--format`.",
    "datasets": "How frameworks store graphs; a layout is recognised from the files, or named by `--layout`.",
}


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay a table out in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


for name, introduction in INTRODUCTIONS.items():
    columns, rows = LISTINGS[name]()
    with mkdocs_gen_files.open(f"reference/{name}.md", "w") as page:
        page.write(f"# {name.capitalize()}\n\n{introduction}\n\n{table(columns, rows)}\n")

with mkdocs_gen_files.open("reference/python.md", "w") as page:
    page.write("# Python\n\nEverything that is public; any other name may change.\n")
    page.writelines(f"\n::: kgeval.{name}\n" for name in sorted(kgeval.__all__))
    fields = {name: field for name, field in Evaluation.model_fields.items() if name != "keep"}
    page.write(
        "\n## Settings\n\nWhat `evaluate` takes as `**settings`; `predict`, `explain` and `answers` take most.\n\n"
    )
    rows = (
        [f"`{name}`", f"`{Evaluation.decided_later.get(name, it.default)}`", it.description]
        for name, it in fields.items()
    )
    page.write(table(["keyword", "default", "meaning"], rows) + "\n")

with mkdocs_gen_files.open("reference/configuration.md", "w") as page:
    page.write("# Configuration keys\n\nThe JSON schema that `kgeval schema` prints.\n\n```json\n")
    page.write(json.dumps(RunConfig.model_json_schema(), indent=2, ensure_ascii=False) + "\n```\n")

with mkdocs_gen_files.open("reference/command-line.md", "w") as page:
    page.write("# Command line\n\n::: mkdocs-click\n")
    page.write("    :module: kgeval.cli\n    :command: main\n    :prog_name: kgeval\n    :depth: 1\n")

readme = Path("README.md").read_text(encoding="utf-8")
with mkdocs_gen_files.open("index.md", "w") as page:
    text = readme.replace("](docs/", "](").replace("](CHANGELOG.md)", "](changelog.md)")
    page.write(text.replace("](CONTRIBUTING.md)", "](contributing.md)"))
for name in ("CHANGELOG", "CONTRIBUTING"):
    with mkdocs_gen_files.open(f"{name.lower()}.md", "w") as page:
        page.write(Path(f"{name}.md").read_text(encoding="utf-8").replace("](docs/", "]("))
with mkdocs_gen_files.open("CITATION.cff", "w") as page:
    page.write(Path("CITATION.cff").read_text(encoding="utf-8"))
