"""Write the reference pages from the registries, so that a page lists what is there, and nothing else."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import click
import mkdocs_gen_files

import kgeval
from kgeval.base.settings import descriptions
from kgeval.cli import COMMANDS, listings, main
from kgeval.ranking.evaluation import Evaluation
from kgeval.runs.config.run_config import RunConfig

INTRODUCTIONS = {
    "metrics": "The name of a metric is `[side.][ties.][average.]name[@k]`, for example `mrr`, `hits@10`, `head.mrr` "
    "or `pessimistic.hits@10`. `kgeval list metrics` prints this list. The guide "
    "[Metrics and ties](../guides/metrics.md) explains how to choose one.",
    "protocols": "A protocol holds the evaluation rules of a framework. `--protocol NAME`, or `protocol: NAME` in a "
    "configuration, follows them. `kgeval list protocols` prints this list.",
    "corruptions": "A corruption chooses the candidates that compete with an answer. `--corruption KIND:OPTION=VALUE`, "
    "or `corruption: {kind: KIND, OPTION: VALUE}` in a configuration, selects one. The guide "
    "[Sampled candidates](../guides/sampled.md) has examples.",
    "slices": "A slice puts test triples into groups. `--by NAME` computes every metric for each group. "
    "`kgeval list slices` prints this list.",
    "models": "A model family is a score formula and the arrays that it needs. `--option model=NAME` selects one for "
    "arrays that do not name their model. `kgeval list models` prints this list.",
    "baselines": "A baseline counts train triples and learns nothing. On the command line, `baseline:NAME` takes the "
    "place of a checkpoint; in a configuration it is `model: {baseline: NAME}`, in Python `kgeval.Baseline(NAME)`. "
    "`kgeval list baselines` prints this list.",
    "formats": "These are the files of models that kgeval reads. It recognises the format from the files; "
    "`--checkpoint-format NAME` names it. `kgeval list formats NAME` shows the models and options of a format.",
    "datasets": "These are the folders of datasets that kgeval reads. It recognises the layout from the files; "
    "`--layout NAME` names it. `kgeval list datasets` prints this list.",
}
TITLES = {"formats": "Checkpoint formats", "datasets": "Dataset layouts", "models": "Model families"}

NEEDS = {
    "ranks": ("Of ranks", "Computed from the rank of each answer."),
    "lists": ("Of ranked lists", "Computed from the ranked list of each query, with all of its answers."),
    "labels": ("Of classified triples", "Computed from triples with scores and true or false labels."),
    "confidences": ("Of confidences", "Computed from predicted and true confidences of triples."),
    "prefixes": ("Prefixes", "A prefix before the name of a metric chooses its average or its tie policy."),
}

# The public names by topic, and of a topic first those that most readers look for.
TOPICS = {
    "datasets": (
        "Datasets",
        "load_dataset save_dataset Dataset Triples Vocabulary analysis.audit analysis.Audit",
    ),
    "models": (
        "Models",
        "load_checkpoint save_checkpoint Baseline CallableScorer QueryScorer VectorScorer Scorer ScoreTable "
        "DualEncoder",
    ),
    "evaluate": (
        "Evaluate and predict",
        "evaluate Recorder RankTable load_ranks rerank count ogb_eval Estimate predict PredictionTable answers "
        "analysis.answers_of_ranks analysis.AnswerSets KgevalError",
    ),
    "metrics": (
        "Metrics and intervals",
        "summarize Summary framework_metrics annotate metrics.Intervals metrics.Interval metrics.interval_over_seeds "
        "metrics.OverSeeds metrics.average_precision metrics.cumulative_gain metrics.dcg metrics.f1_at_k "
        "metrics.hits_at_k metrics.mean_reciprocal_rank metrics.ndcg metrics.precision_at_k metrics.recall_at_k "
        "metrics.rmse metrics.mse metrics.mae",
    ),
    "compare": (
        "Compare",
        "compare analysis.Comparison explain check_numbers "
        "analysis.rank_models analysis.DatasetRanks analysis.same_ranks analysis.SameRanks",
    ),
    "report": (
        "Report",
        "report plot_leaderboard plot_distribution plot_relations plot_slices plot_times plot_critical_difference",
    ),
    "corruptions": (
        "Corruptions",
        "generate_negatives corruption.AllEntities corruption.CandidateUnion corruption.DegreeWeighted "
        "corruption.EntityList corruption.FileNegatives corruption.OGBNegatives corruption.PopularityWeighted "
        "corruption.TGBNegatives corruption.TypeConstrained corruption.Uniform",
    ),
    "tasks": (
        "Labels and confidences",
        "classify ScoredLabels tasks.Classification tasks.Confidences tasks.GeneratedNegatives "
        "tasks.NegativesFromFiles tasks.LabelTable",
    ),
    "pykeen": (
        "PyKEEN",
        "pykeen.evaluate pykeen.scorer_of pykeen.KGEvalEvaluator pykeen.KGEvalMetricResults",
    ),
    "extend": (
        "Extend",
        "Metric TiePolicy Slice analysis.Categories Protocol Family Reader CorruptionGenerator",
    ),
}

# The search shows guides and lists before the names of Python, of which there are hundreds, and before the changelog.
AFTER_OTHERS = "---\nsearch:\n  boost: 0.5\n---\n"


def write(page: str, text: str) -> None:
    """Write a page of the site."""
    with mkdocs_gen_files.open(page, "w") as file:
        file.write(text)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay a table out in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    cells = [
        [outside_code(cell.replace("\n", " "), lambda text: text.replace("|", "\\|")) for cell in line]
        for line in lines
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells) + "\n"


def code(text: str) -> str:
    """Set a text as code, and nothing as nothing."""
    return f"`{text}`" if text else ""


def named(name: str) -> str:
    """Set the name of a row as code, with an anchor."""
    return f"`{name}`{{#{anchor(name)}}}"


def anchor(name: str) -> str:
    """Return the part of a link that leads to a name."""
    return re.sub(r"[^\w-]+", "-", name.lower()).strip("-")


def prose(text: str) -> str:
    """Set a plain text in Markdown: quoted words and options as code, no character as markup."""
    text = text.replace("``", "`")
    text = re.sub(r"(?<![\w`])'([^'`]+)'(?!\w)", r"`\1`", text)
    text = re.sub(r"(?<![\w`-])(--[a-z][a-z-]*)(?![^`]*`(?:[^`]*`[^`]*`)*[^`]*$)", r"`\1`", text)
    return outside_code(text, lambda part: re.sub(r"([*_\[\]\\])", r"\\\1", part).replace("<", "&lt;"))


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Change the parts of a text that are not code."""
    parts = text.split("`")
    parts[::2] = map(change, parts[::2])
    return "`".join(parts)


def sentence(text: str) -> str:
    """Begin a text with a capital letter, unless it begins with code or a symbol, and end it with a full stop."""
    first = text[:1].upper() + text[1:] if text[1:2].islower() or text[1:2] == " " else text
    return first if not first or first[-1] in ".!?" else f"{first}."


def joined(facts: Mapping[str, str]) -> str:
    """Write facts, except for empty ones, as a paragraph of `Name: fact.` sentences."""
    return " ".join(f"**{name}:** {fact.rstrip('.')}." for name, fact in facts.items() if fact and fact != "—")


def entries(what: str) -> list[dict[str, str]]:
    """Return what ``kgeval list`` lists."""
    columns, rows = listings.LISTS[what]()
    return [dict(zip(columns, row, strict=True)) for row in rows]


# ------------------------------------------------------------------------------------------------------------ lists


def metric_page() -> Iterator[str]:
    """Yield a section for each kind of metric, and in it one for each metric."""
    kind = {row["name"]: "prefixes" if row["name"].endswith(".") else row["needs"] for row in entries("metrics")}
    order = {needs: place for place, needs in enumerate(NEEDS)}
    rows = sorted(entries("metrics"), key=lambda row: (order[kind[row["name"]]], row["name"]))
    for needs, group in groupby(rows, key=lambda row: kind[row["name"]]):
        title, introduction = NEEDS[needs]
        yield f"## {title}\n\n{introduction}\n\n"
        for row in group:
            name = row["name"]
            yield f"### {name} · {row['title']} {{#{anchor(name)}}}\n\n"
            yield f"`{row['formula']}`\n\n"
            base = name.removesuffix("[@k]").removesuffix("@k")
            yield joined(
                {
                    "Name": " or ".join(map(code, written(name, base))),
                    "Range": row["range"]
                    and f"{row['range'].replace('-', '−').replace('inf', '∞')}{BETTER.get(row['better'], '')}",
                    "Undefined": prose(row["undefined"]),
                    "Computed from": row["needs"] if needs == "prefixes" else "",
                    "Other names": ", ".join(map(code, filter(None, row["synonyms"].split(", ")))),
                    "Source": row["source"],
                }
            )
            yield "\n\n"


BETTER = {"higher": ", higher is better", "lower": ", lower is better"}


def written(name: str, base: str) -> list[str]:
    """Return how the name of a metric is written, with a cutoff if it takes or needs one."""
    if name.endswith("."):
        return [f"{name}mrr"]
    return [base] if name == base else [base, f"{base}@10"] if name.endswith("[@k]") else [f"{base}@1", f"{base}@10"]


def section_page(what: str, *, fact: str, facts: Mapping[str, str]) -> Iterator[str]:
    """Yield a section for each entry: a sentence, and further facts by their columns."""
    for row in entries(what):
        yield f"## {prose(row['name'])} {{#{anchor(row['name'])}}}\n\n"
        yield f"{sentence(prose(row[fact]))}\n\n"
        yield joined({name: prose(row[column]) for name, column in facts.items()}) + "\n\n"


def list_page(what: str, *, as_code: Sequence[str] = ()) -> str:
    """Lay out what is listed as a table, some of its columns as code."""
    columns, rows = listings.LISTS[what]()
    cells = (
        [codes(cell) if column in as_code else prose(cell) for column, cell in zip(columns, row, strict=True)]
        for row in rows
    )
    return table(columns, ([named(row[0]), *line[1:]] for row, line in zip(rows, cells, strict=True)))


def dataset_page() -> str:
    rows = entries("datasets")
    folders = ([named(row["name"]), prose(row["files"])] for row in rows if row["kind"] == "folder")
    names = ", ".join(code(row["name"]) for row in rows if row["kind"] == "PyKEEN")
    return (
        f"{table(['layout', 'files'], folders)}\n## Datasets of PyKEEN\n\n"
        f"PyKEEN downloads these by name, for example `--dataset umls`.\n\n{names}\n"
    )


def codes(names: str) -> str:
    """Set each of several names, or a formula, as code."""
    parts = names.split(", ")
    return ", ".join(map(code, filter(None, parts))) if all(map(str.isidentifier, parts)) else code(names)


LISTS: dict[str, Any] = {
    "metrics": metric_page,
    "protocols": lambda: list_page("protocols"),
    "corruptions": lambda: list_page("corruptions", as_code=["options"]),
    "slices": lambda: section_page("slices", fact="title", facts={"Groups": "rule", "Source": "source"}),
    "models": lambda: list_page("models", as_code=["score", "arrays", "options"]),
    "baselines": lambda: section_page(
        "baselines",
        fact="title",
        facts={"Score": "rule", "Task": "tasks", "Settings": "settings", "Source": "source"},
    ),
    "formats": lambda: list_page("formats"),
    "datasets": dataset_page,
}


# ----------------------------------------------------------------------------------------------------- command line


def command_page() -> Iterator[str]:
    """Yield a section for each command, with its options as a table."""
    yield "# Command line\n\n`kgeval COMMAND --help` shows the same in a terminal.\n\n"
    parent = click.Context(main, info_name="kgeval", **main.context_settings)
    yield table(["command", "what it does"], ([f"[`{n}`](#kgeval-{n})", prose(h)] for n, h in COMMANDS.items()))
    for name in COMMANDS:
        command = main.get_command(parent, name)
        assert command is not None, name  # noqa: S101
        yield f"\n## kgeval {name} {{#kgeval-{name}}}\n\n"
        if isinstance(command, click.Group):  # the commands of PyKEEN, which describes them itself
            yield f"{prose(COMMANDS[name])} `kgeval {name} --help` shows them all; the guide "
            yield "[Inside PyKEEN](../guides/pykeen.md) has examples.\n"
            continue
        context = click.Context(command, info_name=name, parent=parent)
        arguments = [piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]"]
        yield f"```text\n{' '.join(['kgeval', name, *arguments, '[OPTIONS]'])}\n```\n\n"
        yield from help_text(command.help or "")
        options = [option for option in command.get_params(context) if isinstance(option, click.Option)]
        records = filter(None, (option.get_help_record(context) for option in options))
        yield table(["option", "meaning", "default"], ([spelled(names), *meaning(text)] for names, text in records))


def help_text(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text; examples and paragraphs that keep their lines are code."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        lines = paragraph.strip("\b\n ").split("\n")
        label, example, call = " ".join(lines).partition("xample: ")
        if paragraph.startswith("\b"):
            yield "```text\n" + "\n".join(lines) + "\n```\n\n"
        elif label == "E" and example:
            yield f"```bash\n{wrapped(call)}\n```\n\n"
        else:
            yield prose(" ".join(lines)) + "\n\n"


def wrapped(call: str) -> str:
    """Break a long call before its options."""
    lines = [""]
    for part in re.split(r" (?=--?\w)", call):
        if len(lines[-1]) + len(part) > 84:
            lines.append("   ")
        lines[-1] += f" {part}" if lines[-1] else part
    return " \\\n".join(lines)


def meaning(text: str) -> list[str]:
    """Part the help of an option into what it means, with the values that it takes, and its default."""
    text, *notes = text.split("  [")
    notes = [note for part in notes for note in part.strip(" ]").split("; ")]
    default = [note.removeprefix("default: ") for note in notes if note.startswith(("default: ", "required"))]
    return [prose(" ".join([text, *(f"({note})" for note in notes if "=" in note)])), prose("".join(default))]


def spelled(record: str) -> str:
    """Set the names of an option as code, and on a line below what it takes."""
    names, metavar = re.fullmatch(r"((?:-[\w-]+(?:, | / |/)?)+) ?(.*)", record, re.DOTALL).groups()  # type: ignore[union-attr]
    values = re.sub(r"([|,]) *", r"\1<wbr>", metavar.replace("<", "&lt;").replace("*", "\\*"))
    return ", ".join(map(code, re.split(r", | / |/", names.strip()))) + (f" {values}" if values else "")


# ---------------------------------------------------------------------------------------------------- configuration

Schema = dict[str, Any]
SCHEMA: Schema = RunConfig.model_json_schema()
WORDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}


class ConfigurationPage:
    """Sections of the blocks of a configuration, from its JSON schema: each block once, where it is first used."""

    def __init__(self) -> None:
        self.places: dict[str, str] = {}
        self.later: list[tuple[str, list[str]]] = []

    def sections(self) -> Iterator[str]:
        """Yield the keys of the top level, and then of each block."""
        yield "# Configuration keys\n\nA configuration is a YAML file that `kgeval run` takes. The guide "
        yield "[Configuration](../guides/configuration.md) explains it with examples. This page lists every key. "
        yield "`kgeval schema` prints the JSON schema, which editors use to complete keys. `--set KEY=VALUE` sets a "
        yield "key on the command line: `--set evaluation.split=valid`.\n\n## Top level\n\n"
        yield self.keys("", SCHEMA)
        while self.later:
            path, blocks = self.later.pop(0)
            waiting, self.later = self.later, []
            yield from self.block(path, blocks)
            self.later += waiting  # the blocks inside of a block follow it

    def keys(self, path: str, block: Schema) -> str:
        """Lay out the keys of a block as a table."""
        required = block.get("required", [])
        rows = []
        for key, value in block["properties"].items():
            if "const" in value:
                continue
            default = "required" if key in required else default_of(value)
            if path == "evaluation":
                default = default_setting(key, default)
            place = f"{path}.{key}".lstrip(".")
            rows.append([f"`{key}`", self.type_of(value, place), default, prose(value.get("description", ""))])
        return table(["key", "type", "default", "meaning"], rows) + "\n"

    def block(self, path: str, blocks: list[str]) -> Iterator[str]:
        """Yield the section of a block, or of the kinds of block that a key takes."""
        yield f"## {path} {{#{anchor(path)}}}\n\n"
        alone = len(blocks) == 1
        for name in blocks:
            body, _ = block_of(name)
            kinds = {key: value["const"] for key, value in body["properties"].items() if "const" in value}
            kind = {key: value for key, value in kinds.items() if key == "baseline" or "baseline" not in kinds}
            written = ", ".join(f"{key}: {value}" for key, value in kind.items())
            about = sentence(prose(body.get("description", "").partition("\n\n")[0].replace("\n", " ")))
            if not alone:
                yield f"### {path} · {written} {{#{anchor(f'{path}-{written}')}}}\n\n"
            yield about + (f" Write `{written}`.\n\n" if alone and written else "\n\n")
            if len(body["properties"]) > len(kinds):
                yield self.keys(path, body)

    def type_of(self, value: Schema, place: str) -> str:
        """Describe what a key takes; blocks are described later, under the key that has them first."""
        blocks = sorted(blocks_in(value))
        new = [name for name in blocks if name not in self.places]
        if new:
            self.places.update(dict.fromkeys(new, place))
            self.later.append((place, new))
        return either(self.words(value))

    def words(self, value: Schema) -> Iterator[str]:
        """Yield the types of a value."""
        if "$ref" in value:
            name = value["$ref"].rpartition("/")[2]
            place = self.places[name]
            if block_of(name)[1]:
                yield "text"
            yield f"[block](#{anchor(place)})"
        elif "const" in value or "enum" in value:
            yield ", ".join(code(one) for one in value.get("enum", [value.get("const")]))
        elif one_of := value.get("anyOf") or value.get("oneOf"):
            for one in one_of:
                yield from self.words(one)
        elif value.get("type") == "array":
            items = value.get("items") or value.get("prefixItems", [{}])[0]
            yield f"list of {either(self.words(items)) or 'values'}"
        elif value.get("type") == "object":
            inner = value.get("additionalProperties")
            yield f"mapping of names to {(either(self.words(inner)) if isinstance(inner, dict) else '') or 'values'}"
        elif value.get("type") != "null":
            yield WORDS.get(value.get("type", ""), "any value")


def either(words: Iterable[str]) -> str:
    """Name types, each once; all the simple ones together are values."""
    distinct = list(dict.fromkeys(words))
    distinct = [
        "a list of them" if word.removeprefix("list of ") in distinct[:-1] and word[:5] == "list " else word
        for word in distinct
    ]
    return "values" if {*WORDS.values()} <= {*distinct} else " or ".join(distinct)


def default_setting(name: str, otherwise: str) -> str:
    """Say what is decided when the model and the protocol of an evaluation are known."""
    return prose(str(Evaluation.decided_later.get(name, ""))) or otherwise


def block_of(name: str) -> tuple[Schema, bool]:
    """Return the schema of a block, and whether a bare text may take its place."""
    body = SCHEMA["$defs"][name]
    if "anyOf" in body:
        return next(one for one in body["anyOf"] if "properties" in one), True
    return body, False


def blocks_in(value: Any) -> set[str]:
    """Return the names of the blocks that a value may be."""
    if isinstance(value, dict):
        found = {value["$ref"].rpartition("/")[2]} if "$ref" in value else set()
        return found.union(*(blocks_in(one) for key, one in value.items() if key not in ("default", "discriminator")))
    return set().union(*map(blocks_in, value)) if isinstance(value, list) else set()


def default_of(value: Schema) -> str:
    """Write the default of a key as YAML does; a block has its defaults in its own table."""
    default = value.get("default")
    if default is None or isinstance(default, dict):
        return code(f"kind: {default['kind']}") if isinstance(default, dict) and "kind" in default else ""
    if isinstance(default, list):
        return code(f"[{', '.join(map(str, default))}]")
    return code(str(default).lower() if isinstance(default, bool) else str(default))


# ----------------------------------------------------------------------------------------------------------- Python


SUBMODULES = ("analysis", "corruption", "metrics", "pykeen", "tasks")


def python_pages() -> None:
    """Write a page for each topic of the public names, and one that lists all names."""
    submodules = {m: importlib.import_module(f"kgeval.{m}") for m in SUBMODULES}
    public = {*kgeval.__all__, *(f"{m}.{name}" for m, module in submodules.items() for name in module.__all__)}
    public -= {f"{m}.{name}" for m in submodules for name in kgeval.__all__}  # those are described as kgeval.NAME
    public.add("pykeen.evaluate")
    listed = [name for _, names in TOPICS.values() for name in names.split()]
    if wrong := public.symmetric_difference(listed):
        raise ValueError(f"docs/generate_reference.py: TOPICS and the public names differ in {sorted(wrong)}")

    overview = "# Python\n\nThese names are public; any other name may change. Each links to its description.\n"
    for page, (title, text) in TOPICS.items():
        names = text.split()
        overview += f"\n## {title}\n\n"
        rows = ([f"[`kgeval.{name}`](python/{page}.md#kgeval.{name})", summary_of(name)] for name in names)
        overview += table(["name", "what it is"], rows)
        body = "".join(f"\n::: kgeval.{name}\n" for name in names)
        if page == "evaluate":
            body += settings_section()
        write(f"reference/python/{page}.md", f"{AFTER_OTHERS}# {title} in Python\n{body}")
    write("reference/python.md", overview)


def summary_of(name: str) -> str:
    """Return the first line of the description of a public name."""
    *modules, last = name.split(".")
    described = getattr(importlib.import_module(".".join(["kgeval", *modules])), last)
    first = (inspect.getdoc(described) or "").partition("\n\n")[0].replace("\n", " ")
    return prose(re.sub(r":\w+:`~?([^`]+)`", r"``\1``", first))


def settings_section() -> str:
    rows = (
        [f"`{name}`", default_setting(name, code(str(it.default))), prose(descriptions(Evaluation).get(name, ""))]
        for name, it in Evaluation.model_fields.items()
        if name != "keep"
    )
    return (
        "\n## Settings {#evaluation-settings}\n\n`kgeval.evaluate` takes these keywords as `**settings`. `predict`, "
        f"`explain` and `answers` take most of them.\n\n{table(['keyword', 'default', 'meaning'], rows)}"
    )


# ----------------------------------------------------------------------------------------- files of the repository


def repository_pages() -> None:
    """Write the pages that are files of the repository, with links that lead to the site's pages."""
    others = ("CHANGELOG", "CONTRIBUTING", "SECURITY")
    for name, page in (("README", "index"), *((file, file.lower()) for file in others)):
        text = Path(f"{name}.md").read_text(encoding="utf-8").replace("](docs/", "](").replace('src="docs/', 'src="')
        for file in others:
            text = text.replace(f"]({file}.md)", f"]({file.lower()}.md)")
        write(f"{page}.md", text if page == "index" else AFTER_OTHERS + text)
    write("CITATION.cff", Path("CITATION.cff").read_text(encoding="utf-8"))


for what, body in LISTS.items():
    found = body()
    text = found if isinstance(found, str) else "".join(found)
    write(f"reference/{what}.md", f"# {TITLES.get(what, what.capitalize())}\n\n{INTRODUCTIONS[what]}\n\n{text}")
write("reference/command-line.md", "".join(command_page()))
write("reference/configuration.md", "".join(ConfigurationPage().sections()))
python_pages()
repository_pages()
