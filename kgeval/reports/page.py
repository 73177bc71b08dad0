"""The page: sections into one HTML file that holds all it needs, and that nothing else may add to."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from kgeval.provenance import UNKNOWN
from kgeval.reports.isolation import isolated
from kgeval.reports.libraries import library
from kgeval.reports.sections.cumulative import cumulative
from kgeval.reports.sections.making import making
from kgeval.reports.sections.origins import origins
from kgeval.reports.sections.section import Section
from kgeval.reports.sections.standings import standings
from kgeval.reports.sections.triple_table import triple_table
from kgeval.reports.sections.trust import trust
from kgeval.reports.study import Study

SECTIONS: tuple[Callable[[Study], Section], ...] = (
    standings,
    trust,
    origins,
    cumulative,
    triple_table,
    making,
)
"""in the order of the page"""

SCRIPTS = ("theme.js", "charts.js", "leaderboard.js", "hits.js", "triples.js", "relations.js")


def render(study: Study) -> str:
    """Make the page of a study."""
    sections = [make(study) for make in SECTIONS]
    scripts = [_vega(), "\n".join(_text(f"scripts/{name}") for name in SCRIPTS)]
    charts = {name: chart.to_dict() for section in sections for name, chart in section.charts.items()}
    data = {name: content for section in sections for name, content in section.data.items()}
    page: str = (
        _environment()
        .get_template("page.html.j2")
        .render(
            title=_title(study),
            about=str(study.models[0].table.provenance) if len(study.models) == 1 else _about(study),
            sections=sections,
            css=_text("page.css"),
            scripts=scripts,
            policy=_policy(scripts),
            data=packed({"charts": charts, **data}),
        )
    )
    return page


def packed(content: Any) -> str:
    """Compress plain data as the page's script reads it.

    >>> json.loads(gzip.decompress(base64.b64decode(packed({"label": "</script>"}))))
    {'label': '</script>'}
    """
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _policy(scripts: Sequence[str]) -> str:
    """Write what a browser lets the page do: run these very scripts, and ask nobody for anything.

    Vega compiles the expressions of charts, hence 'unsafe-eval'; they are kgeval's own.
    """
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts
    )
    return f"default-src 'none'; script-src {hashes} 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"


def _title(study: Study) -> str:
    dataset = study.models[0].table.dataset
    if len(study.names) == 1:
        return f"{isolated(study.names[0])} on {dataset}"
    baselines = sum(model.baseline for model in study.models)
    counted = [_count(len(study.names) - baselines, "model"), *([_count(baselines, "baseline")] if baselines else [])]
    return f"{' and '.join(counted)} on {dataset}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _about(study: Study) -> str:
    """Say what all models have in common, by the one that tells most of it."""
    whole = min((str(model.table.provenance) for model in study.models), key=lambda text: text.count(UNKNOWN))
    return whole[whole.index(", ") + 2 :].capitalize() if ", " in whole else whole


@cache
def _vega() -> str:
    """Return the JavaScript that draws charts."""
    version = library("altair").SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]
    return str(library("vl_convert").javascript_bundle(vl_version=version))


@cache
def _environment() -> Any:
    jinja = library("jinja2")
    loader = jinja.PackageLoader("kgeval.reports", "templates")
    return jinja.Environment(
        loader=loader, autoescape=True, undefined=jinja.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def _text(name: str) -> str:
    return (files("kgeval.reports") / "templates" / name).read_text(encoding="utf-8")
