"""A document: one HTML file that holds its style, scripts and data, and loads nothing.

Pages, pictures and comparisons fill a template with :func:`document`: in go the name of a template, scripts and
content; out comes the text of the file. Below it are the imports of the libraries in the extra ``kgeval[report]``, and
phrases that documents share.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib
import json
import os
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from kgeval.base.errors import KgevalError, counted
from kgeval.base.extras import refuse_missing
from kgeval.base.storage import write_text
from kgeval.data.provenance import UNKNOWN, LabelProvenance, Provenance, shared_description

if TYPE_CHECKING:
    from kgeval.analysis.comparison.comparison import Comparison


def document(template: str, *, scripts: Sequence[str], data: Mapping[str, Any] | None = None, **content: Any) -> str:
    """Fill a template with content, and return the text of the HTML file.

    ``scripts`` are the names of its scripts' files; Vega's script is added if ``data`` has charts. ``data`` is plain
    data that the scripts read.
    """
    texts = ["\n".join(template_text(f"scripts/{name}") for name in scripts)]
    if data and "charts" in data:
        texts.insert(0, _vega())
    page = {"css": template_text("page.css"), "scripts": texts, "policy": _policy(texts), "data": pack(data or {})}
    return filled(template, **page, **content)


def filled(template: str, **content: Any) -> str:
    text: str = _environment().get_template(template).render(**content)
    return text


@dataclass(frozen=True)
class Section:
    """A section of a page: its title, and what its template, charts and scripts show."""

    anchor: str
    """the id of the section in the page"""
    name: str
    """the name of the section in the page's navigation"""
    title: str
    content: Mapping[str, Any] = field(default_factory=dict)
    """what the section's template shows, by name"""
    charts: Mapping[str, Any] = field(default_factory=dict)
    """Altair's charts, by the names that the template and the scripts give them"""
    data: Mapping[str, Any] = field(default_factory=dict)
    """plain data that the page's scripts read, by name"""
    file: str = ""
    """the name of the section's template; by default the anchor"""


def pack(content: Any) -> str:
    """Compress plain data as the page's script reads it: base64 of gzipped JSON.

    >>> json.loads(gzip.decompress(base64.b64decode(pack({"label": "</script>"}))))
    {'label': '</script>'}
    """
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _policy(scripts: Sequence[str]) -> str:
    """Write what a browser lets the page do: run these very scripts, and load nothing.

    Vega compiles the expressions in charts, hence 'unsafe-eval'; all of these expressions are kgeval's own.
    """
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    hashes = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; script-src {hashes} 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"


@cache
def _vega() -> str:
    """Return Vega's scripts; they are bundled once on a machine, which takes as long as the rest of a page."""
    convert = library("vl_convert")
    place = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "kgeval"
    with suppress(OSError, RuntimeError, ValueError):  # no such file or folder, no home, not as it was written
        place = place.expanduser() / f"vega-{vega_version()}-{version('vl-convert-python')}.js"
        digest, bundle = place.read_text(encoding="utf-8").split("\n", 1)
        if hashlib.sha256(bundle.encode()).hexdigest() == digest:
            return bundle
    bundle = str(convert.javascript_bundle(vl_version=vega_version()))
    with suppress(OSError, RuntimeError, KgevalError):  # a folder that cannot be written to
        write_text(place, f"{hashlib.sha256(bundle.encode()).hexdigest()}\n{bundle}")
    return bundle


def vega_version() -> str:
    """Return the version of Vega-Lite that Altair writes."""
    return str(library("altair").SCHEMA_VERSION.removeprefix("v").rpartition(".")[0])


@cache
def _environment() -> Any:
    jinja = library("jinja2")
    loader = jinja.PackageLoader("kgeval.reports", "templates")
    return jinja.Environment(
        loader=loader, autoescape=True, undefined=jinja.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def template_text(name: str) -> str:
    return (files("kgeval.reports") / "templates" / name).read_text(encoding="utf-8")


def library(module: str) -> ModuleType:
    """Import a library of the extra, or say how to install it."""
    refuse_missing("reports and pictures need", module)
    return importlib.import_module(module)


def unvalidated() -> AbstractContextManager[None]:
    """Let Altair make charts without a check of each part against Vega's schema, which takes longer than all else."""
    context: AbstractContextManager[None] = library("altair").utils.schemapi.debug_mode(arg=False)
    return context


def comparison_document(comparison: Comparison) -> str:
    """Write a comparison as a page: its table, differences and notes."""
    (table, *_) = comparison.tables()
    (of_models,) = comparison.summaries.values()
    provenances = [summary.provenance for summary in of_models.values()]
    datasets = dict.fromkeys(isolated(provenance.dataset) for provenance in provenances)
    return document(
        "comparison.html.j2",
        scripts=("theme.js",),
        title=f"{counted(len(provenances), 'model')} on {' and '.join(datasets)}",
        about=common_provenance(provenances) + (f", ties: {comparison.ties}" if comparison.ties else ""),
        columns=table.columns,
        rows=table.texts(),
        keys=table.keys,
        differences=[
            (metric, table.columns, table.texts(), table.keys) for metric, table in comparison.differences().items()
        ],
        notes=comparison.notes,
    )


def common_provenance(provenances: Sequence[Provenance | LabelProvenance]) -> str:
    """Describe what all of several models were computed from, in the words of the most complete provenance.

    The model, the dataset and the parts that differ between the models are left out.

    >>> full = Provenance("a, b", "umls", "test", 661, "standard", ("train", "test"), "all 135 entities")
    >>> common_provenance([Provenance(UNKNOWN, "umls", "test", 661, UNKNOWN, None, UNKNOWN), full])
    '661 test triples, protocol standard, filtered by train, test, candidates: all 135 entities'
    """
    fullest = min(provenances, key=lambda provenance: str(provenance).count(UNKNOWN))
    from kgeval.analysis.comparison.words import differing_parts

    parts = {name: [getattr(it, name) for it in provenances] for name in differing_parts(provenances)}
    unknown = {name for name, values in parts.items() if UNKNOWN in values or (None in values and name != "history")}
    return shared_description("", fullest, {*parts} - unknown)


def models_in_words(names: Collection[str], baselines: Collection[str]) -> str:
    """Count models and baselines.

    >>> models_in_words(["a", "b", "popularity"], ["popularity"])
    '2 models and 1 baseline'
    >>> models_in_words(["popularity"], ["popularity"])
    '1 baseline'
    """
    counts = {"model": len(names) - len(baselines), "baseline": len(baselines)}
    return " and ".join(counted(count, kind) for kind, count in counts.items() if count)


TURNING = frozenset({"R", "AL", "AN", "LRE", "LRO", "RLE", "RLO", "LRI", "RLI", "FSI", "PDF", "PDI"})
"""the classes of characters (Unicode, UAX 9) that can change the direction of the text around them"""


def isolated(label: str) -> str:
    r"""Isolate a label that could change the direction of the text around it; most labels stay as they are.

    >>> isolated("ComplEx"), isolated("\u202eevil")
    ('ComplEx', '\u2068\u202eevil\u2069')
    """
    turning = any(unicodedata.bidirectional(character) in TURNING for character in label)
    # Between first strong isolate and pop directional isolate (Unicode, UAX 9).
    return f"\u2068{label}\u2069" if turning else label
