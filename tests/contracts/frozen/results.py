"""What commands print of metrics: summaries, groups, comparisons, and grids over datasets and seeds, in each form."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from kgeval import Estimate, RankTable, evaluate, load_dataset
from kgeval.ranking.corruption import Uniform
from tests.contracts.frozen.commands import MODEL, Pipe, Terminal, printed, workplace
from tests.contracts.frozen.plain_text import normal


def remainders(step: int) -> Callable[[Any, Any, Any], Any]:
    """Make a model whose scores are whole numbers below 11, with ties."""
    return lambda h, r, t: (h * step + t * 7 + r) % 11


MODELS: dict[str, list[Callable[[Any, Any, Any], Any]]] = {
    "sums": [remainders(29), remainders(31), remainders(37)],
    "products": [remainders(3), remainders(5), remainders(9)],
    "two": [remainders(41), remainders(43)],
    "floor": [lambda h, r, t: -t],
    "ties": [lambda h, r, t: t % 2],
}
"""the models of each seed; n has their ranks of nations, u those of umls"""

FEW = ["commonbloc1", "duration", "embassy", "relngo"]
"""the relations of the files in few: by all 41 relations of nations, results have thousands of lines"""

WAYS: dict[str, dict[str, Any]] = {
    "tails": {"sides": ["tail"]},
    "sampled": {"corruption": Uniform(count=5)},
    "relations": {"sides": ["relation"]},
    "all-sides": {"sides": ["head", "tail", "relation"]},
    "estimate": {"estimate": Estimate(triples=120, first=100)},
    "two-splits": {"split": "valid,test"},
}
"""other ways to rank nations, as settings of evaluate; other has their ranks"""

TEXT = ("text", "json")
PAPER = (*TEXT, "latex", "csv")
ALL = (*PAPER, "pipe", "markdown")
"""forms of output: text on a terminal of 80 columns, text in a pipe, or a value of --format"""

SUMMARIES = {
    ALL: """
summarize n/sums/0.parquet
summarize n/sums/0.parquet --intervals triple
summarize n/sums/0.parquet --by cardinality,side --intervals query --dataset nations
""",
    PAPER: """
summarize n/sums/0.parquet --intervals relation -m mrr,hits@3,mr,amri,map,ndcg@3
summarize n/sums/0.parquet -m mrr,head.mrr,tail.hits@1,pessimistic.mrr,optimistic.mrr
summarize n/sums/0.parquet --by side
summarize n/ties/0.parquet --ties random --seed 3 -m mrr,strat.mrr --popularity 0.5 0.5
summarize u/sums/0.parquet --intervals triple --digits 3
summarize few/sums.parquet --by relation
summarize few/sums.parquet --by relation --intervals triple -m mrr,amri
summarize few/sums.parquet --by relation --sort=-mrr --limit 3
summarize few/sums.parquet --by side,relation -m mrr --limit 5 --sort mrr
summarize other/tails.parquet --by side
summarize other/sampled.parquet --intervals triple
summarize other/relations.parquet
summarize other/all-sides.parquet
summarize other/estimate.parquet
summarize other/estimate.parquet --by side
summarize other/two-splits.parquet
""",
    TEXT: """
summarize n/sums/0.parquet --fail-under mrr=.9
summarize n/ties/0.parquet
summarize few/ties.parquet --by relation
summarize other/tails.parquet
summarize other/tails.parquet --by relation -m mrr --limit 3
""",
}

COMPARISONS = {
    (*ALL, "html"): """
compare n/sums/0.parquet n/products/0.parquet
compare n/sums/0.parquet n/products/0.parquet --by side -m mrr,hits@1
""",
    PAPER: """
compare n/sums/0.parquet n/products/0.parquet n/floor/0.parquet -m mrr,hits@10,mr,count
compare a=n/sums/0.parquet b=n/products/0.parquet c=n/floor/0.parquet -m mrr --reference a
compare a=n/sums/0.parquet b=n/products/0.parquet c=n/floor/0.parquet -m mrr --reference b
compare a=n/sums/0.parquet b=n/products/0.parquet c=n/floor/0.parquet -m mrr --reference b --by side
compare a=n/sums/0.parquet b=n/products/0.parquet --by cardinality,side --dataset nations -m mrr --draws 999
compare a=few/sums.parquet b=few/products.parquet c=few/floor.parquet --by relation -m mrr --limit 3 --sort mrr
compare a=n/sums/0.parquet b=other/sampled.parquet --allow candidates
compare a=n/sums/0.parquet b=other/tails.parquet --allow triples
compare a=n/sums/0.parquet b=other/estimate.parquet --allow triples,candidates
compare a=n/sums/0.parquet b=other/two-splits.parquet --allow triples,split -m mrr
compare a=other/tails.parquet b=other/more-tails.parquet
compare a=n/ties/0.parquet b=n/products/0.parquet --intervals relation -m mrr,amri
""",
    TEXT: """
compare a=n/sums/0.parquet b=n/products/0.parquet c=n/ties/0.parquet -m mrr,median_rank --reference a --draws 99
compare a=n/sums/0.parquet b=n/sums/1.parquet c=n/sums/2.parquet d=n/products/0.parquet -m mrr --draws 99
compare a=n/sums/0.parquet b=n/products/0.parquet --same -m mrr
compare a=n/sums/0.parquet b=other/sampled.parquet
compare a=other/relations.parquet b=n/sums/0.parquet
compare a=n/sums/0.parquet b=u/sums/0.parquet --allow dataset
compare a=n/sums/0.parquet b=other/two-splits.parquet
""",
}


def seeds(*models: str, of: str = "nu") -> str:
    """Name the runs of models on datasets, one for each seed."""
    return " ".join(f"'{model}={dataset}/{model}/*'" for model in models for dataset in of)


GRIDS = {
    (*ALL, "html"): f"""
compare {seeds("sums", "products")} n/random u/random -m mrr,hits@10
""",
    ALL: """
compare n/sums/0.parquet n/products/0.parquet u/sums/0.parquet u/products/0.parquet
""",
    PAPER: f"""
compare n/sums/0.parquet n/products/0.parquet u/sums/0.parquet u/products/0.parquet -m mrr --by side --spread interval
compare {seeds("sums", "products", "two", "floor", of="n")} -m mrr,hits@10,mr --spread seeds
compare {seeds("sums", "products", "floor")} -m mrr --spread interval
compare {seeds("sums", "products")} -m mrr --by side --spread seeds
compare {seeds("sums", "products", of="n")} -m mrr --by side
compare {seeds("sums", "products", of="n")} {seeds("sums", of="u")} -m mrr,hits@3
compare {seeds("sums", "products", of="n")} n/random -m mrr --reference products
compare {seeds("sums", "products", of="n")} n/random -m mrr --reference sums
compare {seeds("sums", "products")} -m mrr --sort mrr --limit 1
compare {seeds("two", "floor", "ties")} -m mrr,mr --across-datasets
""",
    TEXT: f"""
compare {seeds("sums", "ties", of="n")} -m mrr,pessimistic.mrr,count
compare {seeds("sums", "products", "floor")} -m mrr --spread none
compare {seeds("sums", "products", of="n")} -m mrr,head.mrr --by side
compare {seeds("sums", "products", of="n")} -m mrr --by cardinality,side --dataset nations
""",
}

RUNS = {
    ("text",): f"""
evaluate {MODEL} --out one
evaluate baseline:popularity --dataset graph --out two
evaluate {MODEL} --protocol libkge --out libkge
evaluate {MODEL} --metric mrr --by relation --out grouped
evaluate {MODEL} --intervals triple --metric mrr --out intervals
evaluate {MODEL} --estimate 0.05 --out estimate
evaluate {MODEL} --split valid,test --out splits
evaluate baseline:popularity --dataset graph --split valid,test --out more-splits
evaluate {MODEL} --task classification --out labels
evaluate {MODEL} --dataset weighted --task confidences --out confidences
evaluate {MODEL} --out runs/one
evaluate baseline:popularity --dataset graph --out runs/two
evaluate baseline:random --dataset graph --out runs/three
evaluate {MODEL} --task classification --out several/one
evaluate baseline:popularity --dataset graph --task classification --out several/two
""",
    ALL: """
summarize grouped
summarize labels
summarize labels --by relation -m accuracy,relation.f1
summarize confidences
summarize runs
""",
    PAPER: """
summarize confidences --by relation
summarize grouped --by side
summarize intervals --by cardinality
summarize splits
summarize splits --by relation -m mrr
summarize runs --by side -m mrr
summarize runs -m mrr,hits@1 --fail-under mrr=.9 --sort mrr --limit 1
summarize several
compare one two
compare one two --metric mrr --by side
compare runs -m mrr --by side
compare splits more-splits -m mrr
""",
    TEXT: f"""
evaluate {MODEL} --metric mrr --by relation
summarize one --metric amri --by side
summarize estimate
summarize confidences -m mrr
summarize runs --by cardinality,relation -m mrr
summarize several --by relation -m accuracy
summarize .
compare one splits
""",
}
"""commands on a graph of 24 triples; the first ones write the runs that the others read"""

WIDTH = 150
"""how long a line of plain data may be"""

UNREAD = re.compile(r"(?s)<(style|script)\b.*?</\1>|<meta http-equiv[^>]*>")
"""what a page has beside its words and tables; its scripts hold a library, of any version"""


@cache
def tables() -> dict[str, RankTable]:
    """Rank by each model, once for all contracts; by the path of its file."""
    nations, ranks = load_dataset("nations"), {}
    for dataset in (nations, load_dataset("umls")):
        for model, of_seeds in MODELS.items():
            for seed, scores in enumerate(of_seeds):
                ranks[f"{dataset.name[0]}/{model}/{seed}"] = evaluate(scores, dataset)
    for model in ("sums", "products", "floor", "ties"):
        ranks[f"few/{model}"] = evaluate(MODELS[model][0], nations, restrict_relations_to=FEW)
    for name, settings in WAYS.items():
        ranks[f"other/{name}"] = evaluate(MODELS["sums"][0], nations, **settings)
    ranks["other/more-tails"] = evaluate(MODELS["sums"][1], nations, **WAYS["tails"])
    return ranks


@contextlib.contextmanager
def ranked() -> Iterator[Path]:
    """Work in a folder with the ranks of each model, and with runs of a baseline on both datasets."""
    with workplace() as folder:
        for name, table in tables().items():
            path = folder / f"{name}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            table.to_parquet(path)
        for dataset in ("nations", "umls"):
            run = f"evaluate baseline:random --dataset {dataset} --out {dataset[0]}/random"
            assert printed(run, Pipe())[0] == 0, run
        yield folder


def printed_results(commands: Mapping[Sequence[str], str]) -> dict[str, object]:
    """Keep what commands print in each of their forms."""
    with ranked() as folder:
        return {
            f"kgeval {command}": in_forms(command, forms, folder)
            for forms, several in commands.items()
            for command in several.strip().splitlines()
        }


def in_forms(command: str, forms: Sequence[str], folder: Path) -> dict[str, list[str]]:
    """Give the output in each form, and then the errors and notes, with the forms that have them in common."""
    outputs: dict[str, list[str]] = {}
    ends: dict[tuple[int, str], list[str]] = {}
    for form in forms:
        option = "" if form in ("text", "pipe") else f" --format {form}"
        code, out, errors = printed(command + option, Terminal() if form == "text" else Pipe())
        if lines := lines_of(steady(out, folder), form):
            outputs[form] = lines
        ends.setdefault((code, steady(errors, folder)), []).append(form)
    for (code, errors), alike in ends.items():
        outputs[f"exit code {code}, errors of {', '.join(alike)}"] = errors.splitlines()
    return outputs


def steady(text: str, folder: Path) -> str:
    """Replace what moves, and round numbers to the seven digits in which versions of libraries agree on quantiles."""
    return re.sub(r"\d+\.\d{7,}(e[-+]?\d+)?", lambda number: f"{float(number[0]):.7g}", normal(text, folder))


def lines_of(text: str, form: str) -> list[str]:
    """Give the lines of an output: of JSON, those of its content, and of a page, those that are read."""
    if form == "json" and text:
        return laid_out(json.loads(text))
    if form == "html":
        return [line for line in UNREAD.sub("", text).splitlines() if line.strip()]
    return text.splitlines()


def laid_out(value: Any, title: str = "") -> list[str]:
    """Lay out plain data: what is in a list or a dictionary shares lines as long as these are short.

    >>> laid_out({"mrr": 0.5, "notes": ["few triples", "many ties"]}, "a: ")
    ['a: {"mrr": 0.5, "notes": ["few triples", "many ties"]}']
    """
    line = title + json.dumps(value, ensure_ascii=False)
    if len(line) <= WIDTH or not isinstance(value, dict | list):
        return [line]
    if isinstance(value, dict):
        first, last, parts = "{", "}", [laid_out(part, f'"{name}": ') for name, part in value.items()]
    else:
        first, last, parts = "[", "]", [laid_out(part) for part in value]
    inner: list[str] = []
    alone = True
    for lines in parts:
        if alone or len(lines) > 1 or len(inner[-1] + lines[0]) > WIDTH:
            inner += lines
        else:
            inner[-1] += f", {lines[0]}"
        alone = len(lines) > 1
    return [title + first, *(f" {line}" for line in inner), last]


CONTRACTS = {
    "summaries": lambda: printed_results(SUMMARIES),
    "comparisons": lambda: printed_results(COMPARISONS),
    "grids": lambda: printed_results(GRIDS),
    "results-of-runs": lambda: printed_results(RUNS),
}
