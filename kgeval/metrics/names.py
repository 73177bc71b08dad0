"""Metric names: ``[side.][ties.][average.]name[@k]``, with PyKEEN's names as synonyms.

``parse`` reads a name and returns a :class:`MetricName`; summaries, protocols, settings and the command line call it.
Names such as ``hits@10_50`` end in ``@k_n``. ``relation.mrr`` averages over relations; ``relation_side.mrr`` is the MRR
of predicted relations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast, get_args

from kgeval.base.errors import MetricError, did_you_mean, nearest
from kgeval.metrics.averages import AVERAGES, WEIGHINGS, Average
from kgeval.metrics.kinds import KINDS, KindName
from kgeval.metrics.metric import Metric, metrics
from kgeval.metrics.ranks.ties import tie_policies

Part = Literal["both", "head", "tail", "relation"]
"""what was predicted: both sides of triples, one of them, or the relation"""

PARTS: tuple[Part, ...] = get_args(Part)

PREFIXES: dict[str, Part] = {"relation_side" if part == "relation" else part: part for part in PARTS}
"""the part that each prefix of a metric's name stands for"""

_PREFIX_OF = {part: prefix for prefix, part in PREFIXES.items()}


POINT = re.compile(r"(?<!\d)\.|\.(?!\d)")
"""the points that separate the parts of a name, but not a point between two digits"""


@dataclass(frozen=True)
class MetricName:
    """A metric with its cut-off, and the rows, tie policy and average that it is computed with."""

    metric: Metric = field(repr=False)
    k: int = 0
    """the cut-off, 0 for metrics without one"""
    side: Part | None = None
    """the predicted side; ``None`` for every side, and in tables of labels"""
    ties: str | None = None
    """the tie policy; ``None`` for the one of the summary"""
    average: Average | None = None
    """the average; ``None`` for the metric's own: macro for lists, micro for all else"""

    @property
    def name(self) -> str:
        return self.metric.name

    @property
    def base(self) -> str:
        """The name without the side, such as ``expected.hits@10``."""
        tail = f"@{self.k}" if self.k else ""
        return ".".join(part for part in (self.ties, self.average, f"{self.name}{tail}") if part)

    @property
    def highest_is_best(self) -> bool:
        """Whether the model with the highest value is the best; a metric that says nothing about quality is refused."""
        if self.metric.increasing is None:
            raise MetricError(f"{self.base} says nothing about which model is better.")
        return self.metric.increasing

    @property
    def column(self) -> str:
        """The name as the head of a column: without the side if that is both sides."""
        return self.base if self.side == "both" else str(self)

    def of_part(self, pooled: Part | None) -> MetricName:
        """Return the name with a side: its own or, if it has none, ``pooled`` (see :func:`pooled_side`)."""
        return replace(self, side=self.side or pooled)

    def __call__(self, data: Any) -> float:
        return self.metric(data, k=self.k)

    def __str__(self) -> str:
        return f"{_PREFIX_OF[self.side]}.{self.base}" if self.side else self.base


def parse(requested: str | Metric, kind: KindName = "ranks", *, also: Iterable[Metric] = ()) -> MetricName:
    """Read the name of a metric, or take a ``Metric`` that needs no cut-off (``metric.at(10)`` needs none).

    ``also`` are metrics that are not in the registry and that the name may mean.
    """
    if isinstance(requested, Metric):
        return _of_metric(requested, kind)
    if not isinstance(requested, str):
        raise MetricError(f"metrics: expected names, such as 'mrr' or ['mrr', 'hits@10'], found {requested!r}.")
    known = {metric.name: metric for metric in also} | metrics(*KINDS[kind].needs)
    stem, at, cutoff = requested.strip().lower().replace("strat-", "strat.").partition("@")
    *prefixes, last = POINT.split(stem)
    side, ties, average = _prefixes(requested, prefixes, kind)
    metric, k = _resolve(requested, last + at + cutoff, kind, known)
    _refuse_unfit(requested, metric, ties, average)
    return MetricName(
        metric,
        k,
        side=side,
        ties=ties if metric.needs == "ranks" else None,
        average=None if average == ("macro" if metric.needs == "lists" else "micro") else average,
    )


def parse_all(requested: Any, kind: KindName = "ranks") -> list[MetricName]:
    """Read several names, or one; all faults are reported together."""
    several = isinstance(requested, Iterable) and not isinstance(requested, str | bytes)
    names, problems = [], []
    for metric in requested if several else [requested]:
        try:
            names.append(parse(metric, kind))
        except MetricError as error:
            problems.append(str(error))
    if problems:
        raise MetricError("\n".join(dict.fromkeys(problems)))
    return list(dict.fromkeys(names))


def _of_metric(metric: Metric, kind: KindName) -> MetricName:
    if metric.needs not in KINDS[kind].needs:
        raise MetricError(f"metric {metric.name!r} is computed from {metric.needs}, not from {kind}.")
    if metric.cutoff == "required":
        raise MetricError(f"metric {metric.name!r} needs a cut-off, as in metric.at(10).")
    if metrics(*KINDS[kind].needs).get(metric.name, metric) is not metric:
        raise MetricError(f"metric {metric.name!r}: another metric has this name. Choose a different one.")
    return MetricName(metric)


def _prefixes(text: str, prefixes: list[str], kind: KindName) -> tuple[Part | None, str | None, Average | None]:
    """Read the side, the tie policy and the average: each at most once, in this order."""
    known = ([*PREFIXES], [*tie_policies()], [*AVERAGES]) if kind == "ranks" else ([], [], ["micro", "relation"])
    left = list(prefixes)
    side, ties, average = (left.pop(0) if left and left[0] in names else None for names in known)
    if not left:
        return PREFIXES.get(side or ""), ties, cast("Average | None", average)
    choices = [name for names in known for name in names]
    advice = "Names are [side.][ties.][average.]name[@k]." if left[0] in (*choices, "") else ""
    raise MetricError(f"metric {text!r}: unexpected {left[0]!r}. {advice or did_you_mean(left[0], choices)}")


def _resolve(text: str, last: str, kind: KindName, known: dict[str, Metric]) -> tuple[Metric, int]:
    # PyKEEN writes k for its default, 10.
    spelled = last.removesuffix("_k") + "_10" if last.endswith("_at_k") else last
    for metric in known.values():
        if (metric_and_k := metric.named(spelled)) is not None:
            return metric_and_k
    _explain_cutoff(text, last, known)
    for others in (metrics(*one.needs) for one in KINDS.values() if one.name != kind):
        if other := next((metric for metric in others.values() if metric.named(last)), None):
            what = f"{other.name} is computed from {other.needs}, not from {KINDS[kind].needs[0]}"
            raise MetricError(f"metric {text!r}: {what}.")
    names = [[name.replace("{k}", "10") for name in metric.spellings()] for metric in known.values()]
    names += [[metric.variants.example] for metric in known.values() if metric.variants]
    own, every = [first for first, *_ in names], [name for several in names for name in several]
    near = own if nearest(last, own) else every
    advice = f"{did_you_mean(last, near)} " if nearest(last, near) else ""
    unknown = f"unknown metric {text!r}{'' if kind == 'ranks' else f' of {kind}'}"
    raise MetricError(f"{unknown}. {advice}'kgeval list metrics' shows all.")


def _explain_cutoff(text: str, last: str, known: dict[str, Metric]) -> None:
    """Refuse the name of a metric whose cut-off is the only thing that is wrong."""
    stem, at, k = last.partition("@")
    for metric in known.values():
        if stem not in {metric.name, *metric.synonyms} and not metric.named(stem):
            continue
        if metric.cutoff == "none":
            raise MetricError(f"metric {text!r}: {stem} has no cut-off. Write {stem!r}.")
        found = f"found {k!r}" if at else "found none"
        bound = "less than 10¹⁸" if k.isdecimal() and len(k) > 18 else "at least 1"
        needs = f"{stem} needs a cut-off, a whole number of {bound}, {found}"
        raise MetricError(f"metric {text!r}: {needs}. Write {stem + '@10'!r}.")


def _refuse_unfit(text: str, metric: Metric, ties: str | None, average: Average | None) -> None:
    if metric.needs != "ranks" and ties not in {None, "expected"}:
        raise MetricError(f"metric {text!r}: {metric.name} is averaged over ties exactly; leave {ties!r} out.")
    if average and not metric.averaged:
        raise MetricError(f"metric {text!r}: {metric.name} is not a mean; leave {average!r} out.")
    if average and metric.needs == "lists" and not WEIGHINGS[average].lists:
        raise MetricError(f"metric {text!r}: {average} weighs answers; {metric.name} has one value for each query.")


def pooled_side(sides: Iterable[str]) -> Part:
    """Return the part whose rows a metric without a side is computed from: both sides, or the one that was ranked.

    >>> pooled_side(["head", "tail", "relation"]), pooled_side(["tail"]), pooled_side(["relation"])
    ('both', 'tail', 'relation')
    """
    ranked = {*sides}
    if ranked >= {"head", "tail"} or not ranked:
        return "both"
    return next(part for part in PARTS if part in ranked)


ARROWS = {True: "↑", False: "↓", None: ""}
"""the sign of the direction that is better, by ``Metric.increasing``"""


TITLES = {"hits": "Hits", "f1": "F1", "brier": "Brier score", "roc_auc": "ROC AUC", "iprec": "interpolated precision"}
TITLES |= {"average_precision": "average precision", "log_loss": "log loss", "balanced_accuracy": "balanced accuracy"}
"""what papers call metrics whose names are no acronyms"""


def title_of(metric: MetricName) -> str:
    """Call a metric as papers do, with the direction that is better.

    >>> [title_of(parse(name)) for name in ("hits@10", "head.hits@10_50", "head.mr", "pessimistic.mrr", "count")]
    ['Hits@10 ↑', 'head Hits@10_50 ↑', 'head MR ↓', 'pessimistic MRR ↑', 'count']
    """
    return f"{short_title(metric)} {ARROWS[metric.metric.increasing]}".rstrip()


def short_title(metric: MetricName) -> str:
    """Call a metric as papers do.

    >>> [short_title(parse(name)) for name in ("both.mrr", "hits@3", "relation.mrr", "relation_side.mrr")]
    ['MRR', 'Hits@3', 'relation MRR', 'relation side MRR']
    """
    name, increasing = metric.name, metric.metric.increasing
    acronym = name.isalpha() and len(name) <= 5 and increasing is not None
    base, *pair = name.partition("@")
    written = (TITLES.get(base) or (base.upper() if acronym else base)) + "".join(pair)
    side = {"both": None, "relation": "relation side"}.get(metric.side or "both", metric.side)
    return " ".join(
        part for part in (side, metric.ties, metric.average, f"{written}{f'@{metric.k}' if metric.k else ''}") if part
    )
