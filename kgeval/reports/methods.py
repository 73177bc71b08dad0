"""The text of a paper: a paragraph that says how runs were evaluated, with their numbers, and BibTeX of its sources.

The words are in ``templates/methods.txt.j2``, the sources in ``templates/methods.bib``. ``kgeval report --format
methods`` prints it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import kgeval
from kgeval.analysis.comparison.adjustment import adjustment
from kgeval.analysis.comparison.paired_difference import PairedDifference
from kgeval.base.collected_notes import collected_notes
from kgeval.base.errors import InputError
from kgeval.base.tables.table import Figure, written
from kgeval.data.dataset import Dataset
from kgeval.metrics.intervals.interval import Unit
from kgeval.metrics.names import short_title
from kgeval.metrics.ranks.ties import Ties, tie_policy
from kgeval.metrics.summary import Value
from kgeval.ranking.protocols.protocol import protocol_of
from kgeval.reports.document import filled, template_text
from kgeval.reports.evaluated_models import Runs, look, read_classifications, read_models
from kgeval.reports.standings import p_value
from kgeval.reports.study import study_of

METRICS = ("mrr", "hits@1", "hits@3", "hits@10")


def methods(
    runs: Runs, *, dataset: Dataset | str | Path | None = None, intervals: Unit = "triple", ties: Ties | None = None
) -> str:
    """Write what was done, in plain text, with the numbers of all models, and BibTeX of the sources that it names.

    Parameters
    ----------
    runs, dataset, intervals, ties
        as :func:`kgeval.report` takes them; of one dataset, and made by the same rules

    Examples
    --------
    >>> import kgeval
    >>> text = methods({"remainder": kgeval.evaluate(lambda h, r, t: (h * 31 + t * 7) % 5, "nations")})
    >>> text.splitlines()[0].partition(" with ")[0]
    'remainder was evaluated on nations'
    """
    if read_classifications(places := look(runs)):
        raise InputError("--format methods describes rankings, and these runs are classifications.")
    study = study_of(read_models(places, dataset), dataset, intervals=intervals, ties=ties, metrics=METRICS)
    values = [study.block.value(model, metric) for model in study.names for metric in study.grid.metrics]
    made = dict.fromkeys(value.interval.method for value in values if value.interval)
    tested, first = [pair for pair in study.pairs if pair.seen], study.models[0]
    versions = {run.manifest.get("versions", {}).get("kgeval", kgeval.__version__) for run in study.runs}
    parts: dict[str, Any] = {"study": study, "table": first.table, "policy": tie_policy(study.ties), "tested": tested}
    parts |= {"whole": first.manifest.get("dataset", {}).get("triples", {}).get(first.table.split)}
    parts |= {"ways": [method.replace("linearised", "linearised: Binder, 1983") for method in made]}
    several = len(study.models) > 1
    notes = {("", model.name * several): model.table.notes for model in study.models}
    of_runs = [note for note in collected_notes(notes) if "kgeval " not in note]  # not advice on commands
    parts |= {"protocol": protocol_of(first.table), "notes": of_runs}
    parts |= {"adjustment": adjustment(tested or study.pairs), "in_words": _in_words, "test": _test_in_words}
    text = filled("methods.txt.j2", versions=(named := ", ".join(sorted(versions))), **parts)
    sources = template_text("methods.bib").replace("VERSION", named).strip().split("\n\n")
    return "\n".join([" ".join(text.split()), "", *(f"{source}\n" for source in sources if _is_named(source, text))])


def _in_words(value: Value) -> str:
    if value.value is None:
        return f"no {short_title(value.metric)}: {value.reason}"
    return f"{short_title(value.metric)} {written(Figure(value.value, value.interval, None if value.interval else 4))}"


def _test_in_words(pair: PairedDifference) -> str:
    result = {"none": "does not differ significantly from"}.get(pair.seen, f"is significantly {pair.seen} than")
    difference = written(Figure(pair.difference, pair.interval))
    return f"By {short_title(pair.metric)}, {pair.model} {result} {pair.other} ({difference}, {p_value(pair)})."


def _is_named(source: str, text: str) -> bool:
    """Whether a text cites an entry of BibTeX, by the author and year in its key; the key of kgeval has no year."""
    author, year = re.findall(r"^@\w+\{([a-z]+)(\d*),", source)[0]
    return re.search(rf"{author}\W[^()]*{year}", text, re.IGNORECASE) is not None
