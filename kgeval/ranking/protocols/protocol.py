"""Evaluation protocols: the rules in which frameworks (PyKEEN, LibKGE, OpenKE, …) differ, as data; one field, one rule.

``find_protocol`` finds one by its name. ``Protocol.resolve`` completes the settings of an evaluation by it,
``ResolvedEvaluation.rank`` ranks a model, and ``Protocol.value`` computes a metric of the ranks as the framework does.
``kgeval.evaluate``, ``kgeval.explain`` and runs call them. To add a protocol, declare a ``Protocol`` in
``frameworks/``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, partial
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.base.errors import ConfigError, TableError, did_you_mean, refuse_unknown
from kgeval.base.progress import Progress, reporting
from kgeval.base.registries import by_name, instances, load_entry_points
from kgeval.base.tables.shown import Brief
from kgeval.data.dataset import SPLITS, Dataset, Split
from kgeval.data.layouts import layouts
from kgeval.data.provenance import UNKNOWN
from kgeval.data.split_names import filtered_by, parts_of
from kgeval.data.triples import SIDES, Side
from kgeval.metrics.kinds import RANKS
from kgeval.metrics.metric import Undefined
from kgeval.metrics.ranks.ranks import Ranks
from kgeval.metrics.ranks.ties import Ties
from kgeval.metrics.selection import MetricOptions, TableView
from kgeval.models.aligned import Aligned
from kgeval.ranking.corruption.generator import Corruption
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.model_ranking import ranking_of
from kgeval.ranking.protocols.framework_metric import (
    PREFIXES,
    FrameworkMetric,
    MeanFunction,
    Setting,
    float64,
    histogram32,
)
from kgeval.ranking.protocols.sampled_ranking import rank_all_or_sample
from kgeval.ranking.rank_table import MULTIPLICITY, RankTable
from kgeval.ranking.rules import Rules

SplitFilter = Mapping[Split, tuple[Split, ...]]
"""the evaluated split -> the splits that it is filtered by"""

EVERY_SPLIT: SplitFilter = dict.fromkeys(SPLITS, SPLITS)
"""the filter by train, valid and test, whichever of them is evaluated"""

EVALUATED_SPLIT: SplitFilter = {split: (split,) for split in SPLITS}
"""the filter by the evaluated split alone"""

NOTHING: SplitFilter = dict.fromkeys(SPLITS, ())
"""the filter by no split: the raw setting"""

TRAIN_ALONE: SplitFilter = dict.fromkeys(SPLITS, ("train",))
"""the filter by train alone, which is the inference graph of an inductive dataset"""

SelfCounting = Literal["never", "raw", "subtracted"]
"""whether an answer competes with itself: never; in the raw setting; or always, and then all known answers with at
least its score, itself included, are subtracted from its rank"""


@dataclass(frozen=True, repr=False)
class Protocol(Brief, Rules):
    """The rules of an evaluation, as data. Explicit settings of an evaluation take precedence.

    The rules that decide the counts of a rank table are fields of :class:`kgeval.ranking.rules.Rules`. By the other
    rules, ranks and metrics are computed from the counts.
    """

    name: str
    summary: str
    ties: Ties = "realistic"
    """the tie policy"""
    filter: SplitFilter = field(default_factory=lambda: EVERY_SPLIT)
    """the evaluated split -> the splits whose triples are known answers"""
    of_layout: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """the layout of a dataset (``inductive``: any other with a training graph) -> what is different for it: the
    ``split`` that is ranked by default, the ``filter`` as above, the ``sides``"""
    corruption: Callable[[Corruption | None, Dataset, str], Corruption] | None = None
    """returns the corruption for a split, given the evaluation's corruption or None; by default the evaluation's, or
    all entities"""
    cutoff: int | None = None
    """the length of prediction lists, unfiltered: an answer beyond it, or in no list, has an infinite rank"""
    self_counting: SelfCounting = "never"
    """whether an answer competes with itself"""
    repeats: Literal["once", "each"] = "once"
    """whether a triple that is repeated in its split counts once or each time"""
    sides: tuple[Side, ...] = SIDES
    """the sides that are predicted by default, and that ``both`` averages"""
    side_aggregation: Literal["pooled", "apart"] = "pooled"
    """whether ``both`` is the mean of all ranks, or the mean of the two sides' means"""
    mean: MeanFunction = float64
    """the precision and order of sums"""
    order: tuple[str, ...] = ("triple",)
    """the columns by which rows are sorted before they are summed"""
    metrics: tuple[str, ...] = RANKS.metrics
    """the metrics that are reported, under kgeval's names"""
    framework_metrics: tuple[FrameworkMetric, ...] = ()
    """the metrics under the framework's names; empty if it has none"""
    hits_need_candidates: bool = False
    """whether hits at k are left out if k is larger than the number of candidates"""
    headline: tuple[str, ...] = ()
    """the framework metrics that the command line shows; empty for all"""
    text: Callable[[float], str] = repr
    """the framework's number format"""
    texts: Mapping[str, Callable[[float], str]] = field(default_factory=dict)
    """other number formats of the framework, by its own name of the metric"""
    tie_note: str = ""
    """the note on answers that tie: which scores tie, or how ties count"""

    def __post_init__(self) -> None:
        for name in {name for changes in self.of_layout.values() for name in changes}:
            refuse_unknown(f"protocol {self.name!r}, of_layout: no", name, ("split", "filter", "sides"), ConfigError)
        by_split = self.filter if isinstance(self.filter, Mapping) else {}
        fits = all(isinstance(names, tuple | list) and {*names} <= {*SPLITS} for names in by_split.values())
        if {*by_split} != {*SPLITS} or not fits:
            expected = f"the splits that each of train, valid and test is filtered by, such as {dict(EVERY_SPLIT)}"
            raise ConfigError(f"protocol {self.name!r}, filter: expected {expected}; found {self.filter!r:.80}.")

    @property
    def rules(self) -> Rules:
        """The rules that decide the counts, alone; protocols with equal rules give the same counts."""
        return Rules(**{rule.name: getattr(self, rule.name) for rule in fields(Rules)})

    def resolve(
        self, evaluation: Evaluation, dataset: Dataset, *, ties: Ties | None = None, metrics: Sequence[str] = ()
    ) -> ResolvedEvaluation:
        """Complete the settings of an evaluation by the protocol and the layout; explicit settings take precedence.

        Parameters
        ----------
        evaluation
            the settings, of which split, filter, corruption and sides may be left out
        dataset
            the graph; of the filter, only the splits that it has are kept
        ties, metrics
            the tie policy and the metrics; by default those of the protocol

        Raises
        ------
        DatasetError
            if the dataset does not have the protocol's own negatives

        Examples
        --------
        >>> from kgeval import load_dataset
        >>> resolved = find_protocol("pykeen").resolve(Evaluation(split="valid"), load_dataset("nations"))
        >>> resolved.evaluation.filter, resolved.ties
        (('train', 'valid'), 'realistic')
        """
        explicit = evaluation.model_fields_set
        for layout in self.of_layout:
            refuse_unknown(f"protocol {self.name!r}, of_layout: no", layout, [*layouts(), "inductive"], ConfigError)
        inductive = dataset.training_graph is not None and dataset.layout not in self.of_layout
        here = self.of_layout.get("inductive" if inductive else dataset.layout, {})
        split, sides = evaluation.split, here.get("sides", self.sides)
        if "split" in here and "split" not in explicit:
            split = "+".join(dataset.present(parts_of(here["split"]))) or split
        corruption = evaluation.corruption
        if self.corruption is not None:
            own = corruption if "corruption" in explicit else None
            corruption = self.corruption(own, dataset, split)
        given = evaluation.filter if "filter" in explicit else corruption.known_splits(dataset)
        names = filtered_by(split, here.get("filter", self.filter), given)
        settings = {
            "filter": dataset.present(names),
            "corruption": corruption,
            **({} if split == evaluation.split else {"split": split}),
            **({} if "sides" in explicit or sides == SIDES else {"sides": sides}),
        }
        complete = evaluation.model_copy(update=settings)
        return ResolvedEvaluation(self, complete, ties or self.ties, tuple(metrics) or self.metrics)

    def ranks(self, table: RankTable, setting: Setting = "filtered") -> Float64Array:
        """Return the rank of each row by the framework; float64[row].

        With ``subtracted`` self-counting, a rank is below 1 if known answers tie that were not counted as ties.

        Raises
        ------
        TableError
            if the protocol needs the raw counts, and the table has none
        """
        if setting == "static":
            return self.ranks(table.static(), "filtered")
        if self.self_counting == "subtracted":
            greater, tied = _counts(table, "raw")
            known = greater + tied - sum(_counts(table, "filtered")) + (table.split in (table.filter or ()))
            raw = self._break_ties(table, greater, tied + 1)
            return raw - known if setting == "filtered" else raw
        greater, tied = _counts(table, setting)
        unfiltered = setting == "raw" or not table.filter
        ranks = self._break_ties(table, greater, tied + (self.self_counting == "raw" and unfiltered))
        if self.cutoff is None:
            return ranks
        listed = (table.column("score") > -np.inf) & (_counts(table, "raw")[0] < self.cutoff)
        return np.where(listed, ranks, np.inf)

    def with_repeats(self, table: RankTable) -> RankTable:
        """Repeat each row as often as the framework counts its triple.

        Raises
        ------
        TableError
            if the column of multiplicities is invalid
        """
        if self.repeats == "once" or MULTIPLICITY not in table.columns:
            return table
        times = table.column(MULTIPLICITY)
        if times.dtype.kind not in "iu" or (times < 1).any():
            column = f"the column {MULTIPLICITY} counts how often a triple is repeated"
            raise TableError(f"{column}: expected whole numbers from 1.")
        return replace(table, data=table.data.take(pa.array(np.repeat(np.arange(len(table)), times))))

    def _break_ties(self, table: RankTable, greater: IntArray, tied: IntArray) -> Float64Array:
        draws = TableView(table).draws_for(self.ties)
        return Ranks(greater, tied, table.column("candidates"), self.ties, draws=draws).values

    def value(self, table: RankTable, metric: FrameworkMetric) -> float:
        """Compute a mean rank, mean reciprocal rank, hits at k or hits at k among n as the framework does.

        Raises
        ------
        Undefined
            if there are no ranks
        """
        table = self.with_repeats(table)
        sides, ranks = table.column("side").astype(str), self.ranks(table, metric.setting) - metric.from_zero
        order = np.lexsort([table.column(name) for name in reversed(self.order)])
        parts = self.sides if metric.side == "both" else (metric.side,)
        rows = [order[sides[order] == side] for side in parts]
        if not sum(map(len, rows)):
            raise Undefined(f"there are no {' or '.join(parts)} ranks")
        groups = [part for part in rows if len(part)] if self.side_aggregation == "apart" else [np.concatenate(rows)]
        competitors = table.column(f"{PREFIXES[metric.setting]}candidates") - 1
        mean = partial(histogram32, most=most_candidates(table)) if self.mean is histogram32 else self.mean
        with np.errstate(divide="ignore"):
            means = [mean(ranks[group], metric.values(competitors[group])) for group in groups]
        return float(means[0] if len(means) == 1 else (means[0] + means[1]) / 2)


@dataclass(frozen=True)
class ResolvedEvaluation:
    """The complete settings of an evaluation by a protocol on one dataset."""

    protocol: Protocol
    evaluation: Evaluation
    """the settings, with the filter and the corruption"""
    ties: Ties
    """the tie policy"""
    metrics: tuple[str, ...]
    """the metrics that are reported"""

    def rank(
        self, scorer: Aligned, dataset: Dataset, *, progress: Progress | bool | None = None, title: str | None = None
    ) -> RankTable:
        """Rank a model on the sides that it answers."""
        evaluation = self.evaluation.for_model(scorer)
        answers = len(dataset.split(evaluation.split)) * len(evaluation.sides) if evaluation.estimate is None else None
        with reporting(answers, progress=progress) as report:
            ranking = ranking_of(scorer, dataset, evaluation, rules=self.protocol, progress=report)
            return rank_all_or_sample(ranking, title=title, options=MetricOptions(self.ties))


def most_candidates(table: RankTable) -> int:
    """Return the largest number of candidates of an answer, known answers included if the table counts them."""
    return int(table.column("candidates" if table.knows_no_raw else "raw_candidates").max(initial=0))


def _counts(table: RankTable, setting: Setting) -> tuple[IntArray, IntArray]:
    if setting == "raw":
        table.refuse_without_raw()
    return table.column(f"{PREFIXES[setting]}greater"), table.column(f"{PREFIXES[setting]}tied")


@cache
def protocols() -> dict[str, Protocol]:
    """All protocols by name, with those of other packages."""
    of_kgeval = instances("kgeval.ranking.protocols.frameworks", Protocol)
    return by_name("protocols", [*of_kgeval, *load_entry_points("kgeval.protocols", Protocol)])


def find_protocol(name: str | Protocol) -> Protocol:
    """Find a protocol by name, in upper or lower case; a protocol itself is returned unchanged."""
    if isinstance(name, Protocol):
        return name
    if not isinstance(name, str):
        raise ConfigError(f"protocol: expected a name, found {name!r:.60}. 'kgeval list protocols' shows all.")
    by_key = {key.lower(): protocol for key, protocol in protocols().items()}
    protocol = by_key.get(name.lower()) or by_key.get(name.lower().replace("-", ""))  # DGL-KE, as it writes itself
    if protocol is None:
        raise ConfigError(f"unknown protocol {name!r}. {did_you_mean(name, protocols(), listed='protocols')}")
    return protocol


def protocol_of(table: RankTable) -> Protocol:
    """Find the protocol of a rank table: the standard one if the table has none.

    A protocol that no installed package provides is treated as the standard one, under its own name.
    """
    name = "standard" if table.protocol == UNKNOWN else table.protocol
    missing = replace(protocols()["standard"], name=name, summary="no installed package has it")
    return protocols().get(name, missing)
