"""A document: one HTML file that holds its style, scripts and data, and loads nothing."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from kgeval.provenance import UNKNOWN, LabelProvenance, Provenance
from kgeval.reports.libraries import library

NO_DATA: Mapping[str, Any] = {}


def document(template: str, *, scripts: Sequence[str], data: Mapping[str, Any] = NO_DATA, **content: Any) -> str:
    """Fill a template; returns the text of the HTML file.

    Parameters
    ----------
    template
        the name of its file
    scripts
        the names of the files of its scripts; charts need those of Vega too, which come by themselves
    data
        plain data for the scripts, by name
    content
        what the template shows

    Raises
    ------
    InputError
        if a library of the extra ``kgeval[report]`` is not installed
    """
    texts = ["\n".join(_text(f"scripts/{name}") for name in scripts)]
    if "charts" in data:
        texts.insert(0, _vega())
    filled: str = (
        _environment()
        .get_template(template)
        .render(css=_text("page.css"), scripts=texts, policy=_policy(texts), data=pack(data), **content)
    )
    return filled


def common_provenance(provenances: Sequence[Provenance | LabelProvenance]) -> str:
    """Describe the ranks of several models by the most complete provenance, without model and dataset.

    >>> full = Provenance("a, b", "umls", "test", 661, "standard", ("train", "test"), "all 135 entities")
    >>> common_provenance([Provenance(UNKNOWN, "umls", "test", 661, UNKNOWN, None, UNKNOWN), full])
    '661 test triples, protocol standard, filtered by train, test, candidates: all 135 entities'
    """
    fullest = min(provenances, key=lambda one: str(one).count(UNKNOWN))
    return str(fullest)[str(fullest).rindex(f", {fullest.triples:,} ") + 2 :]


def pack(content: Any) -> str:
    """Compress plain data as the page's script reads it: base64 of gzipped JSON.

    >>> json.loads(gzip.decompress(base64.b64decode(pack({"label": "</script>"}))))
    {'label': '</script>'}
    """
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _policy(scripts: Sequence[str]) -> str:
    """Write what a browser lets the page do: run these very scripts, and load nothing.

    Vega compiles the expressions of charts, hence 'unsafe-eval'; they are kgeval's own.
    """
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts
    )
    return f"default-src 'none'; script-src {hashes} 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"


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
