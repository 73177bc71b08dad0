"""The page: its sections, in their order, in one document."""

from __future__ import annotations

from collections.abc import Callable

from kgeval.metrics.ranks.ties import tie_policy
from kgeval.progress import long_loop
from kgeval.provenance import UNKNOWN
from kgeval.reports.document import common_provenance, document
from kgeval.reports.isolation import isolated
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
    sections = []
    with long_loop("building the page", len(SECTIONS), unit="sections") as report:
        for make in SECTIONS:
            sections.append(make(study))
            report(1)
    policy = tie_policy(study.ties).name
    charts = {name: chart.to_dict() for section in sections for name, chart in section.charts.items()}
    data = {name: content for section in sections for name, content in section.data.items()}
    return document(
        "page.html.j2",
        scripts=SCRIPTS,
        data={"charts": charts, **data},
        title=_title(study),
        about=f"{common_provenance([model.table.provenance for model in study.models])}, ties: {policy}",
        sections=sections,
    )


def _title(study: Study) -> str:
    dataset = study.models[0].table.dataset
    dataset = "an unknown dataset" if dataset == UNKNOWN else dataset
    if len(study.names) == 1:
        return f"{isolated(study.names[0])} on {dataset}"
    baselines = sum(model.baseline for model in study.models)
    counted = [_count(len(study.names) - baselines, "model"), *([_count(baselines, "baseline")] if baselines else [])]
    return f"{' and '.join(counted)} on {dataset}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
