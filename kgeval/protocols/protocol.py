"""What an evaluation protocol is: the rules that two frameworks may differ in, as data; one field, one rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from kgeval.arrays import BoolArray, Float64Array, IntArray
from kgeval.corruption.registry import Corruption
from kgeval.data.dataset import Dataset, Split
from kgeval.data.vocabulary import Labels
from kgeval.discovery import brought, by_name, instances
from kgeval.errors import ConfigError, TableError, did_you_mean
from kgeval.metrics.metric import Undefined
from kgeval.metrics.ranks.ranks import Ranks
from kgeval.metrics.ranks.ties import Ties
from kgeval.metrics.tables.names import parse
from kgeval.metrics.tables.rank_summary import DEFAULT
from kgeval.metrics.tables.selection import TableView
from kgeval.progress import Progress, reporting
from kgeval.protocols.filters import EVERY_SPLIT, SplitFilter
from kgeval.protocols.framework_means import MeanFunction, Values, float64
from kgeval.protocols.framework_metric import COUNTS, FrameworkMetric, Setting
from kgeval.protocols.protocol_candidates import all_entities
from kgeval.provenance import UNKNOWN
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.model_ranking import rank_model
from kgeval.ranking.quirks import FrameworkQuirk
from kgeval.ranking.rank_table import RankTable
from kgeval.ranking.rules import Rules
from kgeval.ranking.table_rows import MULTIPLICITY
from kgeval.ranking.tie_rules import TieRule, exact

SelfCounting = Literal["never", "raw", "subtracted"]
"""whether an answer competes with itself: never; where nothing is filtered; or always, and all known answers that reach
it, itself among them, are subtracted from its rank afterwards"""


@dataclass(frozen=True)
class Protocol:
    """The rules of an evaluation, as data. What an evaluation says itself goes before them."""

    name: str
    summary: str
    ties: Ties = "realistic"
    """where among the candidates that tie with it an answer stands"""
    filter: SplitFilter = field(default_factory=lambda: EVERY_SPLIT)
    """the splits whose triples are known answers, by the split that is evaluated"""
    with_test: bool = False
    """whether its metrics are computed a second time with test among those splits, where it is not"""
    tie_rule: TieRule = exact
    """which scores tie with an answer's"""
    corruption: Callable[[Corruption | None, Dataset, Split], Corruption] = all_entities
    """what chooses the candidates of a split's triples, given the corruption of the evaluation, if it has one"""
    listed: bool = False
    """whether candidates that a model lists are ranked by their places in the list, whatever their scores"""
    cutoff: int | None = None
    """an answer that is not listed, or not among the first so many, unfiltered, has an infinite rank"""
    competes: Callable[[Dataset], BoolArray] | None = None
    """the entities that compete, bool[entity]; by default all"""
    batch: int | None = None
    """triples are ranked in whole batches of so many, and what is left over is not ranked"""
    self_counting: SelfCounting = "never"
    """whether an answer competes with itself"""
    quirks: tuple[FrameworkQuirk, ...] = ()
    """what its evaluator does with some models only"""
    repeats: Literal["once", "each"] = "once"
    """how often a triple counts that stands in its split several times: once, or each time"""
    side_aggregation: Literal["pooled", "apart"] = "pooled"
    """whether ``both`` is the mean of all ranks, or the mean of the two sides' means"""
    mean: MeanFunction = float64
    """how values are added up"""
    order: tuple[str, ...] = ("triple",)
    """the columns in whose order they are"""
    metrics: tuple[str, ...] = DEFAULT
    """the metrics that are reported, under kgeval's names"""
    framework_metrics: tuple[FrameworkMetric, ...] = ()
    """the numbers that the framework prints; nothing where it has no names of its own"""
    headline: tuple[str, ...] = ()
    """those of them that people are shown, where all would be too many"""
    text: Callable[[float], str] = repr
    """how it prints a number"""
    tie_note: str = ""
    """the note on answers that tie: what ties are, or what becomes of them"""

    @property
    def rules(self) -> Rules:
        """The rules that are followed while ranking."""
        return Rules(self.name, self.tie_rule, self.competes, self.batch, self.quirks, self.listed, self.with_test)

    def resolve(
        self, evaluation: Evaluation, dataset: Dataset, *, ties: Ties | None = None, metrics: Sequence[str] = ()
    ) -> ResolvedEvaluation:
        """Decide what an evaluation leaves open; what it says itself goes before the protocol.

        Parameters
        ----------
        evaluation
            the settings, of which filter and corruption may be left out
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
        splits = evaluation.filter if "filter" in explicit else self.filter[evaluation.split]
        corruption = evaluation.corruption if "corruption" in explicit else None
        decided = {
            "filter": tuple(split for split in splits if split in dataset.splits),
            "corruption": self.corruption(corruption, dataset, evaluation.split),
        }
        return ResolvedEvaluation(
            self, evaluation.model_copy(update=decided), ties or self.ties, tuple(metrics) or self.metrics
        )

    def ranks(self, table: RankTable, setting: Setting = "filtered") -> Float64Array:
        """Return the rank that the framework gives each row; float64[row].

        A framework that subtracts known answers as ties, and has not counted all ties, gives ranks below 1.
        """
        if self.self_counting == "subtracted":
            greater, tied = _counts(table, "raw")
            known = greater + tied - sum(_counts(table, "filtered")) + (table.split in (table.filter or ()))
            whole = self._tie_broken(table, greater, tied + 1)
            return whole - known if setting == "filtered" else whole
        greater, tied = _counts(table, setting)
        unfiltered = setting == "raw" or not table.filter
        ranks = self._tie_broken(table, greater, tied + (self.self_counting == "raw" and unfiltered))
        return ranks if self.cutoff is None else np.where(self._found(table), ranks, np.inf)

    def _found(self, table: RankTable) -> BoolArray:
        """Whether each answer is among the first of its list; bool[row]."""
        listed = table.column("score") > -np.inf
        return np.asarray(listed & (table.column("raw_greater") < (self.cutoff or np.inf)))

    def counted(self, table: RankTable) -> RankTable:
        """Repeat each rank as often as the framework counts it.

        Raises
        ------
        TableError
            if the table's multiplicities are none
        """
        if self.repeats == "once" or MULTIPLICITY not in table.columns:
            return table
        times = table.column(MULTIPLICITY)
        if times.dtype.kind not in "iu" or (times < 1).any():
            raise TableError(f"the column {MULTIPLICITY} says how often triples stand: whole numbers from 1.")
        return replace(table, data=table.data.take(pa.array(np.repeat(np.arange(len(table)), times))))

    def _tie_broken(self, table: RankTable, greater: IntArray, tied: IntArray) -> Float64Array:
        draws = TableView(table).draws_for(self.ties)
        return Ranks(greater, tied, table.column("candidates"), self.ties, draws=draws).values

    def value(self, table: RankTable, printed: FrameworkMetric) -> float:
        """Compute a mean rank, mean reciprocal rank or hits at k as the framework does.

        Raises
        ------
        Undefined
            if there are no ranks
        """
        table = self.counted(table)
        sides, ranks = table.column("side").astype(str), self.ranks(table, printed.setting)
        order = np.lexsort([table.column(name) for name in reversed(self.order)])
        parts = ("head", "tail") if printed.side == "both" else (printed.side,)
        rows = [order[sides[order] == side] for side in parts]
        if not sum(map(len, rows)):
            raise Undefined(f"there are no {' or '.join(parts)} ranks")
        groups = [part for part in rows if len(part)] if self.side_aggregation == "apart" else [np.concatenate(rows)]
        with np.errstate(divide="ignore"):
            means = [self.mean(ranks[group], _values(printed.metric)) for group in groups]
        return float(means[0] if len(means) == 1 else (means[0] + means[1]) / 2)


@dataclass(frozen=True)
class ResolvedEvaluation:
    """An evaluation with nothing left open: the settings and the protocol, decided for one dataset."""

    protocol: Protocol
    evaluation: Evaluation
    """the settings, with the split, the sides, the filter and the corruption that are meant"""
    ties: Ties
    """the tie policy"""
    metrics: tuple[str, ...]
    """the metrics that are reported"""

    @property
    def rules(self) -> Rules:
        """The rules that are followed while ranking."""
        return self.protocol.rules

    def rank(
        self,
        model: Any,
        dataset: Dataset,
        *,
        entities: Labels | None = None,
        relations: Labels | None = None,
        progress: Progress | bool | None = None,
        title: str | None = None,
    ) -> RankTable:
        """Rank a model; ``title`` is what the result calls it, the rest is as :func:`kgeval.evaluate` takes it."""
        answers = len(dataset.split(self.evaluation.split)) * len(self.evaluation.sides)
        with reporting(answers, progress=progress) as report:
            return rank_model(
                model,
                dataset,
                self.evaluation,
                rules=self.rules,
                entities=entities,
                relations=relations,
                progress=report,
                title=title,
            )


def _counts(table: RankTable, setting: Setting) -> tuple[IntArray, IntArray]:
    return table.column(f"{COUNTS[setting]}greater"), table.column(f"{COUNTS[setting]}tied")


def _values(metric: str) -> Values:
    name = parse(metric)
    return {
        "mr": lambda ranks: ranks,
        "mrr": lambda ranks: 1 / ranks,
        "hits": lambda ranks: (ranks <= name.k).astype(ranks.dtype),
    }[name.name]


@cache
def protocols() -> dict[str, Protocol]:
    """All protocols, by name; those of other packages too."""
    own = instances("kgeval.protocols.frameworks", Protocol)
    return by_name("protocols", [*own, *brought("kgeval.protocols", Protocol)])


def find_protocol(name: str | Protocol) -> Protocol:
    """Find a protocol by name, in capitals or not; a protocol itself is taken as it is.

    Raises
    ------
    ConfigError
        if there is none, with the nearest name
    """
    if isinstance(name, Protocol):
        return name
    if not isinstance(name, str):
        raise ConfigError(f"protocol: expected the name of one, found {name!r:.60}. {did_you_mean('', protocols())}")
    found = {known.lower(): member for known, member in protocols().items()}.get(name.lower())
    if found is None:
        raise ConfigError(f"unknown protocol {name!r}. {did_you_mean(name, protocols())}")
    return found


def protocol_of(table: RankTable) -> Protocol:
    """Find the protocol that ranks were made by; the standard one where the table does not say.

    Raises
    ------
    ConfigError
        if no installed package has it
    """
    name = "standard" if table.protocol == UNKNOWN else table.protocol
    if name not in protocols():
        raise ConfigError(
            f"these ranks follow the protocol {name!r}, which no installed package has. Install the one that has it, "
            "or give the protocol itself: framework_metrics(table, protocol=…)."
        )
    return protocols()[name]
