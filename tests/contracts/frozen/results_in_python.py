"""What results are in Python: their texts, tables and plain data, what is looked up in them, and refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kgeval import RankTable, classify, compare, load_checkpoint, summarize
from kgeval.errors import MetricError
from kgeval.metrics import interval_over_seeds
from kgeval.tasks import Confidences
from tests.analysis.over_seeds import seed_differences
from tests.contracts.frozen.commands import workplace
from tests.contracts.frozen.results import MODELS, laid_out, steady, tables

FORMS: dict[str, Callable[[Any], str]] = {
    "str": str,
    "repr, after the name of the class": lambda result: repr(result).partition("(")[2],
    "in a notebook": lambda result: result._repr_html_().replace("</tr>", "</tr>\n").replace("</p>", "</p>\n"),
    "to_latex": lambda result: result.to_latex(),
    "to_latex(digits=2)": lambda result: result.to_latex(digits=2),
    "to_markdown": lambda result: result.to_markdown(),
    "to_csv": lambda result: result.to_csv(),
    "to_frame": lambda result: result.to_frame().to_csv(lineterminator="\n"),
    "table": lambda result: "\n".join(map(str, [result.table()[0], *result.table()[1]])),
    "heads and notes": lambda result: "\n".join([*result.heads, *result.notes]),
}


def runs(dataset: str) -> dict[str, list[RankTable]]:
    """The ranks of models on a dataset, a table for each seed."""
    return {
        model: [tables()[f"{dataset}/{model}/{seed}"] for seed in range(len(MODELS[model]))]
        for model in ("sums", "products", "floor")
    }


def results() -> dict[str, Any]:
    """Compute results of each kind, in a folder with a checkpoint and graphs."""
    of, few = tables(), {model: tables()[f"few/{model}"] for model in ("sums", "products", "floor")}
    pair = {"a": of["n/sums/0"], "b": of["n/products/0"]}
    model = load_checkpoint("model", dataset="graph", model="TransE", norm=1)
    return {
        "summary": summarize(of["n/sums/0"]),
        "summary with intervals": summarize(of["n/sums/0"], ["mrr", "hits@1"], intervals="triple"),
        "summary by side and relation": summarize(few["sums"], ["mrr"], by=["side", "relation"], intervals="triple"),
        "summary of ties": summarize(of["few/ties"], by="relation"),
        "summary of an estimate": summarize(of["other/estimate"], ["mrr"]),
        "summary of labels": summarize(classify(model, "graph"), ["accuracy", "relation.f1"], by="relation"),
        "summary of confidences": summarize(Confidences()(model, "weighted"), ["rmse", "wmrr"]),
        "comparison": compare(pair),
        "comparison by side": compare({**pair, "c": of["n/ties/0"]}, ["mrr", "amri"], by="side"),
        "comparison by relation": compare(few, "mrr", by="relation", reference="products"),
        "grid": compare({"n": runs("n"), "u": runs("u")}, ["mrr", "hits@10"], baselines=["floor"]),
        "grid of one run each": compare({"n": pair}, ["mrr"], spread="interval"),
        "grid of one model": compare({"n": {"a": of["n/sums/0"]}}, ["mrr"], by="side", spread="sd"),
    }


def results_in_python() -> dict[str, object]:
    """Give each result in all forms, the tests over seeds, and what is looked up in results."""
    with workplace() as folder:
        computed = results()
        return {
            **{name: in_forms(result, folder) for name, result in computed.items()},
            "over seeds": over_seeds(folder),
            "looked up": {name: looked_up(look, computed) for name, look in LOOKS.items()},
        }


def in_forms(result: Any, folder: Path) -> dict[str, list[str]]:
    """Give the lines of a result in each form, and its plain data."""
    texts = {name: steady(form(result), folder).splitlines() for name, form in FORMS.items()}
    return {**texts, "to_dict": plain(result.to_dict(), folder)}


def plain(value: Any, folder: Path) -> list[str]:
    return laid_out(json.loads(steady(json.dumps(value), folder)))


def over_seeds(folder: Path) -> dict[str, object]:
    """Give the difference of each two models over their seeds, and the interval of a mean."""
    pairs = seed_differences(runs("n"), ["mrr", "hits@10"], baselines=["floor"])
    mean = interval_over_seeds(runs("n")["sums"], "mrr")
    return {
        "differences": plain([pair.to_dict() for pair in pairs], folder),
        "mean": [f"{mean.value:.6f} ± {mean.standard_deviation:.6f}", str(mean.interval), str(mean.of_seeds)],
    }


LOOKS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a metric": lambda of: of["summary"]["mrr"],
    "a metric of a side": lambda of: of["summary"]["tail.hits@1"],
    "a metric that is not there": lambda of: of["summary"]["hits@7"],
    "a metric of all groups": lambda of: of["summary of ties"]["mrr"],
    "a metric of a group": lambda of: of["summary of ties"].of("model", "mrr", relation="embassy"),
    "a metric of no group": lambda of: of["summary of ties"].of("model", "mrr", relation="embasy"),
    "a metric of a baseline": lambda of: of["summary of labels"].of("tail frequency", "accuracy"),
    "a metric of no baseline": lambda of: of["summary of labels"].of("tail", "accuracy"),
    "an interval": lambda of: of["summary with intervals"].interval("mrr"),
    "an interval of a small group": lambda of: of["summary by side and relation"].interval(
        "mrr", side="head", relation="embassy"
    ),
    "an interval that was not computed": lambda of: of["summary"].interval("mrr"),
    "the best": lambda of: of["comparison"].best("mrr"),
    "the best by a rank": lambda of: of["comparison"].best("mr"),
    "the best by what is no quality": lambda of: of["comparison"].best("count"),
    "the best by what was not computed": lambda of: of["comparison"].best("map"),
}


def looked_up(look: Callable[[dict[str, Any]], Any], computed: dict[str, Any]) -> str:
    try:
        value = look(computed)
    except MetricError as refusal:
        return f"MetricError: {refusal}"
    return f"{value:.9g}" if isinstance(value, float) else str(value)


CONTRACTS = {"results-in-python": results_in_python}
