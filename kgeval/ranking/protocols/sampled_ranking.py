"""Sampled ranking: rank growing samples of a split, until the interval of one metric is narrow enough.

Protocols, the jobs of a run (one for each model) and the evaluator for PyKEEN call ``rank_all_or_sample``. It samples
only if ``evaluation.estimate`` is set; with ``estimate.triples``, a wanted number of triples is ranked.

The order of the triples is seeded, and each sample is the beginning of the next. Ranks among the candidates of the
right type ("typed ranks") cost little and say much about the ranks among all entities. In two-phase sampling, typed
ranks of many triples correct, by regression, the full ranks of few: after the first sample, ``_decide_on_regression``
compares saving and cost. Strata are groups of the triples by their relations; each is sampled in proportion to its
size.

first sample ─► regression or not ─► larger samples, until the interval is narrow ─► rank table
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.errors import ConfigError, MetricError
from kgeval.base.notes import Note
from kgeval.base.parquet_tables import with_columns
from kgeval.base.progress import unreported
from kgeval.base.threads import bound_threads
from kgeval.data.provenance import percent
from kgeval.data.triples import Side
from kgeval.metrics.averages import numbered
from kgeval.metrics.intervals.estimate import Estimate
from kgeval.metrics.intervals.sampling import STRATUM, TYPED, Phases, Sampling, Strata, next_size
from kgeval.metrics.intervals.stratified_sample import TableEstimates, auxiliary_values
from kgeval.metrics.names import parse
from kgeval.metrics.rank_summary import rank_summary
from kgeval.metrics.selection import RETRIEVED, MetricOptions, RowSelection, TableView
from kgeval.ranking.corruption import AllEntities
from kgeval.ranking.corruption.unsampled import TypeConstrained
from kgeval.ranking.model_ranking import ModelRanking, RankParts
from kgeval.ranking.rank_table import LISTED, MULTIPLICITY, RankedPart, RankTable


def rank_all_or_sample(
    ranking: ModelRanking,
    *,
    title: str | None,
    options: MetricOptions,
    rank_parts: RankParts | None = None,
    earlier: RankTable | None = None,
) -> RankTable:
    """Rank all triples, divided by ``rank_parts``; or if an estimate is wanted, as many as it takes.

    Ranks among all entities in ``earlier``, a smaller sample of the same, are not computed again.
    """
    settings, evaluation = ranking.evaluation.estimate, ranking.evaluation
    if settings is None:
        return ranking.rank(title, rank_parts)
    if ranking.quirks:
        problem = f"estimate: protocol {ranking.rules.name} has a rule for this model that needs all triples"
        raise ConfigError(f"{problem}. Leave estimate out, or use the protocol standard.")
    known, split = ranking.known, ranking.dataset.split(evaluation.split)
    rows = np.arange(len(known)) if evaluation.unseen == "worst" else np.flatnonzero(known)
    strata = Strata.of(split.ids[rows, 1], settings.first)
    earlier = earlier if isinstance(evaluation.corruption, AllEntities) else None
    title = title or ranking.scorer.title
    with bound_threads(evaluation.threads):
        return SampledRanking(ranking, settings, title, options, rows, strata).rank(earlier)


@dataclass(frozen=True, eq=False)
class SampledRanking:
    """The ranking of a sample of a split."""

    ranking: ModelRanking
    settings: Estimate
    title: str
    options: MetricOptions
    rows: IntArray
    """int64[triple], the rows of the split that samples are drawn from, ascending"""
    strata: Strata
    """the strata of these triples"""

    def rank(self, earlier: RankTable | None) -> RankTable:
        """Rank one sample after the other, each the beginning of the next."""
        notes = self.ranking.notes_on_scores()
        order = self.rows[self.strata.order(self.settings.seed)]
        ranks, size = GrowingRanks(self.ranking, order, earlier), self.settings.first
        ratio: float | None = None
        typed = TypedRanks.of(self.ranking, order) if size < len(order) else None
        while size < len(order):
            ranks.grow(size)
            if ratio is None:
                ratio, note = self._decide_on_regression(ranks, typed)
                typed = typed if ratio else None
                notes = (*notes, note) if note else notes
            if typed is not None:
                typed.ranks.grow(int(np.ceil(ratio * size)))
            table = self._sample(ranks, typed, notes)
            wanted = self._next_size(table)
            if wanted is None:
                return table
            size = wanted
        ranks.grow(len(order))
        return self.ranking.table(ranks.parts, self.title, notes=(*notes, self._note_on_all()))

    def _sample(self, ranks: GrowingRanks, typed: TypedRanks | None, notes: tuple[str, ...] = ()) -> RankTable:
        table = self.ranking.table(ranks.parts, self.title, notes=notes)
        drawn, of_row = (
            self.strata.ids[np.searchsorted(self.rows, triples)]
            for triples in (ranks.order[: ranks.size], table.column("triple"))
        )
        counts = np.bincount(drawn, minlength=len(self.strata.sizes))
        sampling = Sampling(self.settings, tuple(counts.tolist()), tuple(self.strata.sizes.tolist()))
        columns = {STRATUM: of_row}
        if typed is not None:
            columns |= typed.columns(table)
            sampling = typed.add_first_phase(sampling, self.rows, self.strata)
        data = with_columns(table.data, {name: pa.array(column) for name, column in columns.items()})
        return replace(table, data=data, sampling=sampling)

    def _decide_on_regression(self, ranks: GrowingRanks, typed: TypedRanks | None) -> tuple[float, str]:
        """Decide by the first sample whether typed ranks save more work than they cost, and say why.

        The number is how many triples get a typed rank for each triple of the sample; 0 without a regression.
        """
        half_width = self._half_width(self._sample(ranks, None))
        if typed is None or (self.settings.error is not None and half_width <= self.settings.error):
            return 0, ""
        if typed.cost >= 1:
            costly = f"no regression on typed ranks: they cost {typed.cost:.1f} times as much as full ranks."
            return 0, Note("intervals", costly)
        typed.ranks.grow(ranks.size)
        phases = Phases(self._explained_share(self._sample(ranks, typed)), typed.cost)
        gain = f"they explain {100 * phases.explained:.0f} % of the variance at {percent(typed.cost)} of the cost"
        if not phases.pays(self._wanted_variance(ranks.size, half_width), of=len(self.rows), first=ranks.size):
            return 0, Note("intervals", f"no regression on typed ranks, which saves nothing: {gain}.")
        return phases.ratio, Note("intervals", f"regression on typed ranks: {gain}.")

    def _wanted_variance(self, drawn: int, half_width: float) -> float:
        """Return the variance that the estimate may have, in units of one triple's variance: 1/n − 1/N for n of N.

        For a wanted error, the variance of the first sample is scaled: it grows as the square of the interval's width.
        """
        if self.settings.triples is not None:
            return 1 / self.settings.triples - 1 / len(self.rows)
        return float((self.settings.error or 0) / half_width) ** 2 * (1 / drawn - 1 / len(self.rows))

    def _next_size(self, table: RankTable) -> int | None:
        """How many triples the next sample has; ``None`` if this one has enough, or its interval is narrow enough."""
        drawn, wanted, error = table.num_triples, self.settings.triples, self.settings.error or 0
        if wanted is not None:
            return wanted if drawn < wanted else None
        half_width = self._half_width(table)
        return next_size(drawn, half_width, error, len(self.rows)) if half_width > error else None

    def _half_width(self, table: RankTable) -> float:
        """Return half the width of the interval of ``estimate.metric``; infinite if it has none."""
        summary = rank_summary(table, [self.settings.metric], by=(), options=self.options)
        try:
            interval, value = summary.interval(self.settings.metric), summary[self.settings.metric]
        except MetricError:
            return np.inf
        return max(value - interval.low, interval.high - value)

    def _explained_share(self, table: RankTable) -> float:
        """Return R² of the regression of ``estimate.metric`` on typed ranks."""
        view = TableView(table, self.options)
        name = parse(self.settings.metric).of_part(view.pooled)
        estimates = TableEstimates.of(view)
        return 0.0 if estimates is None else estimates.explained(name, RowSelection(view, view.rows_of(name.side)))

    def _note_on_all(self) -> str:
        """Say why all triples were ranked."""
        error, triples = self.settings.error, self.settings.triples
        wanted = f"{triples:,} triples" if error is None else f"{self.settings.metric} ± {error:g}"
        few = len(self.rows) <= self.settings.first
        why = f"a sample has at least {self.settings.first:,}" if few else f"{wanted} needs all"
        fact = f"no estimate: all {len(self.rows):,} triples were ranked, because {why}. The numbers are exact."
        return Note("intervals", fact)


@dataclass(eq=False)
class GrowingRanks:
    """The ranks of the first ``size`` triples of an order, on all sides."""

    ranking: ModelRanking
    order: IntArray
    """int64[triple], rows of the split"""
    earlier: RankTable | None = None
    """the ranks of a smaller sample, which are not computed again"""
    parts: list[RankedPart] = field(default_factory=list)
    size: int = 0

    def grow(self, size: int) -> None:
        """Rank the triples up to another size, if that is larger."""
        rows = self.order[self.size : size]
        self.size += len(rows)
        for side in self.ranking.sides if len(rows) else ():
            missing = rows
            if self.earlier is not None:
                self.parts.append(self._from_earlier(self.earlier, side, rows))
                missing = np.setdiff1d(rows, self.parts[-1].data["triple"].to_numpy())
            if len(missing):
                self.parts.append(self.ranking.part(side, missing))

    def _from_earlier(self, earlier: RankTable, side: Side, rows: IntArray) -> RankedPart:
        added = {MULTIPLICITY, LISTED, RETRIEVED, STRATUM, *TYPED}
        of_rows = earlier.where((earlier.column("side") == side) & np.isin(earlier.column("triple"), rows))
        data = of_rows.data.select([name for name in earlier.columns if name not in added])
        return RankedPart(side, data, (), np.full(data.num_rows, len(self.ranking.dataset.entities)))

    def counts(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return the ascending :func:`row_keys`, and the greater and tied of these rows; int64[row] each."""
        data = pa.concat_tables([part.data.select(["triple", "side", "greater", "tied"]) for part in self.parts])
        triples, greater, tied = (data[name].to_numpy() for name in ("triple", "greater", "tied"))
        keys = row_keys(triples, np.asarray(pc.equal(data["side"].cast(pa.string()), "tail"), np.bool_))
        order = np.argsort(keys)
        return keys[order], greater[order], tied[order]


GATHERED = 8
"""about the time of a candidate that is gathered by its type, in units of a candidate of a full rank"""


@dataclass(frozen=True, eq=False)
class TypedRanks:
    """The ranks of the first triples of an order among the entities that their relations take in train."""

    ranks: GrowingRanks
    cost: float
    """the work of a typed rank, relative to a rank among all entities; counted, not timed, so that every machine has
    the same"""

    @classmethod
    def of(cls, ranking: ModelRanking, order: IntArray) -> TypedRanks | None:
        """Prepare typed ranks; ``None`` if candidates are not all entities, or no triples show the types."""
        types, dataset, evaluation = TypeConstrained(), ranking.dataset, ranking.evaluation
        if not isinstance(evaluation.corruption, AllEntities) or not set(types.learns_from) & set(dataset.splits):
            return None
        prepared = types.prepare(dataset)
        relations = dataset.split(evaluation.split).ids[order, 1]
        size = np.mean([prepared.of_relations(side, dataset).lengths[relations].mean() for side in ranking.sides])
        among_typed = replace(
            ranking,
            evaluation=evaluation.model_copy(update={"corruption": prepared}),
            engine=replace(ranking.engine, progress=unreported),
        )
        return cls(GrowingRanks(among_typed, order), float(GATHERED * size / len(dataset.entities)))

    def columns(self, table: RankTable) -> dict[str, IntArray]:
        """Return the typed counts of the rows of a sample, greater and tied; int64[row] each."""
        keys, greater, tied = self.ranks.counts()
        places = np.searchsorted(keys, row_keys(table.column("triple"), table.column("side") == "tail"))
        return dict(zip(TYPED, (greater[places], tied[places]), strict=True))

    def add_first_phase(self, sampling: Sampling, rows: IntArray, strata: Strata) -> Sampling:
        """Add the counts and means of the first phase; ``rows`` (ascending; int64[triple]) have ``strata``."""
        keys, greater, tied = self.ranks.counts()
        triples, units = numbered(keys // 2)
        values = auxiliary_values(units, greater, tied)
        ids = strata.ids[np.searchsorted(rows, triples)]
        counts = np.bincount(ids, minlength=len(strata.sizes))
        sums = np.stack([np.bincount(ids, value, minlength=len(counts)) for value in values.T], axis=1)
        means = tuple(map(tuple, (sums / counts[:, None]).tolist()))
        return replace(sampling, typed_counts=tuple(counts.tolist()), typed_means=means)


def row_keys(triples: IntArray, tails: BoolArray) -> IntArray:
    """Number the rows of a rank table by triple and side; int64[row]."""
    return np.asarray(2 * triples + tails, np.int64)
