"""``kgeval.summarize``: metrics of a rank table, of labelled triples or of confidences, whichever the table holds.

It checks the options of the kind of table, and calls ``rank_summary``, ``label_summary`` or ``confidence_summary``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kgeval.base.errors import MetricError
from kgeval.metrics.intervals.interval import Intervals, Unit, read_intervals, refuse_other_units
from kgeval.metrics.kinds import CLASSIFICATION, CONFIDENCES, RANKS, Calibration, Chance, Kind
from kgeval.metrics.labels.fitted import ConfidenceMapping
from kgeval.metrics.labels.label_summary import ConfidenceColumns, LabelColumns, confidence_summary, label_summary
from kgeval.metrics.labels.scored_labels import ScoredLabels, ScoredSplits
from kgeval.metrics.metric import Metric
from kgeval.metrics.names import parse_all
from kgeval.metrics.rank_summary import column_names, rank_summary
from kgeval.metrics.ranks.ties import Ties
from kgeval.metrics.selection import MetricOptions, RankColumns
from kgeval.metrics.summary import Summary


def summarize(  # noqa: PLR0913
    table: RankColumns | LabelColumns | ConfidenceColumns | Mapping[str, ScoredLabels],
    metrics: str | Metric | Sequence[str | Metric] = (),
    *,
    by: str | Sequence[str] = (),
    ties: Ties = "realistic",
    seed: int = 0,
    chance: Chance = "exact",
    popularity: tuple[float, float] = (1.0, 1.0),
    calibration: Calibration = "platt",
    mapping: ConfidenceMapping | None = None,
    high_confidence: float = 0.7,
    intervals: Intervals | Unit | None = None,
) -> Summary:
    """Compute metrics of a table.

    Parameters
    ----------
    table
        ranks; the table that ``kgeval.classify`` returns; the confidences that ``kgeval.tasks.Confidences`` returns; or
        your own scores and labels, ``{"valid": ScoredLabels(…), "test": ScoredLabels(…)}``
    metrics
        names, or ``Metric`` objects; by default the usual ones for such a table. For ranks
        ``[side.][ties.][average.]name[@k]``: a metric without a side is computed for each side of the table and for
        both pooled. For labels and confidences ``[relation.]name[@k]``: the prefix means the mean over the relations in
        which the metric is defined
    by
        the column, or columns, by whose values rows are grouped, for example ``"relation"``, the only one for labels
        and confidences; ``kgeval.annotate`` adds slices of the dataset as columns
    ties
        the tie policy of metrics that name none: its name, or a ``TiePolicy``
    seed
        the seed of random ties
    chance
        for ranks: the candidates of a random ranking, with which adjusted metrics and z-scores compare: ``"exact"``,
        all N candidates with the answer; ``"without-answer"``, N − 1, by which AMRI and AMRR can be below −1 if the
        answer is the last of few candidates
    popularity
        for ranks: the exponents (βe, βr), from −10 to 10, of the frequencies of answer and relation in the table, by
        which ``strat`` metrics weight answers
    calibration
        for labels: how scores, also those of baselines, become probabilities: ``"platt"``, ``"isotonic"`` or ``"none"``
    mapping
        for confidences: how the model's scores become confidences; by default scores are confidences, as those of
        baselines always are
    high_confidence
        for confidences: the lowest confidence of the facts whose metrics are computed separately too
    intervals
        what is resampled, ``"triple"``, ``"query"``, ``"relation"`` or ``"time"`` (for labels ``"triple"`` or
        ``"relation"``), or ``Intervals`` with the level too; every metric then has an interval (metrics of lists by
        resampling queries instead of triples)

    Raises
    ------
    MetricError
        if names, columns or options are unknown (all wrong names in one message), if a side was not evaluated, or if an
        option is not for such a table

    Examples
    --------
    >>> from kgeval import evaluate
    >>> table = evaluate(lambda h, r, t: (h * 31 + t * 7) % 5, "nations")
    >>> summary = summarize(table, ["mrr", "head.hits@3", "map", "map@3"], ties="expected")
    >>> summary["mrr"] == summary["both.expected.mean_reciprocal_rank"]
    True
    >>> summary["map"] > summary["map@3"]
    True
    >>> summary.groups[0].ties.tied, summary.groups[0].ties.largest  # summary.notes has the consequence
    (284, 2)

    >>> print(summarize(table, "mrr", intervals="triple").interval("mrr"))  # resampling triples
    0.343–0.413

    >>> valid = ScoredLabels([0.1, 0.4, 0.5, 0.9], [0, 0, 1, 1], ["likes"] * 4)
    >>> test = ScoredLabels([0.2, 0.6, 0.7, 0.3], [0, 1, 1, 1], ["likes"] * 4)
    >>> summary = summarize({"valid": valid, "test": test}, ["accuracy", "roc_auc"])
    >>> summary["accuracy"], summary["roc_auc"]
    (0.75, 1.0)
    """
    options: dict[str, Any] = {"ties": ties, "seed": seed, "chance": chance, "popularity": popularity}
    options |= {"calibration": calibration, "mapping": mapping}
    options |= {"high_confidence": high_confidence, "intervals": intervals}
    if isinstance(table, Mapping):
        table = ScoredSplits(table)
    if isinstance(table, RankColumns):
        chosen = _chosen(metrics, RANKS, options)
        policies = MetricOptions(ties, seed, chance, popularity)
        return rank_summary(table, chosen, by=by, options=policies, intervals=read_intervals(intervals))
    if isinstance(table, ConfidenceColumns):
        return confidence_summary(
            table,
            parse_all(_chosen(metrics, CONFIDENCES, options), CONFIDENCES.name),
            by=relation_alone(by),
            mapping=mapping or ConfidenceMapping(),
            high_confidence=high_confidence,
            options=MetricOptions(ties, seed),
        )
    if isinstance(table, LabelColumns):
        names = parse_all(_chosen(metrics, CLASSIFICATION, options), CLASSIFICATION.name)
        settings = read_intervals(intervals)
        if settings is not None:
            refuse_other_units(settings.unit)
        return label_summary(table, names, by=relation_alone(by), calibration=calibration, intervals=settings)
    raise MetricError(
        "expected a rank table (from kgeval.evaluate, RankTable.from_parquet or kgeval.load_ranks), the table of "
        "kgeval.classify or kgeval.tasks.Confidences, or ScoredLabels {'valid': …, 'test': …}; found "
        f"{type(table).__name__}."
    )


def _chosen(metrics: Any, kind: Kind, options: Mapping[str, Any]) -> Any:
    """Return the metrics, by default the usual ones of a kind of table; refuse options of other kinds."""
    for name, value in options.items():
        default = (summarize.__kwdefaults__ or {})[name]
        # Options that have their default may have been left out.
        if name in kind.without and not (isinstance(value, type(default)) and value == default):
            own = ", ".join(kind.options)
            raise MetricError(f"{name}: not an option for {kind.name}, whose options are {own}.")
    return kind.metrics if isinstance(metrics, Sequence) and not metrics else metrics


def relation_alone(by: Any) -> tuple[str, ...]:
    """Read ``by`` for labels and confidences: ``relation``, or nothing."""
    columns = column_names(by)
    for column in columns:
        if column != "relation":
            raise MetricError(f"by: labels and confidences are grouped by 'relation' only, found {column!r}.")
    return columns[:1]
