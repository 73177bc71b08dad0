"""Summarize: compute metrics of a rank table, of labelled triples or of confidences, whichever the table holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kgeval.errors import MetricError
from kgeval.metrics.intervals.interval import Intervals, Unit, read_intervals
from kgeval.metrics.kinds import CLASSIFICATION, CONFIDENCES, RANKS, Calibration, Chance, Kind
from kgeval.metrics.labels.fitted import ConfidenceMapping
from kgeval.metrics.labels.label_summary import ConfidenceColumns, LabelColumns, confidence_summary, label_summary
from kgeval.metrics.labels.scored_labels import ScoredLabels, ScoredSplits
from kgeval.metrics.metric import Metric
from kgeval.metrics.names import parse_all
from kgeval.metrics.rank_summary import column_names, rank_summary
from kgeval.metrics.ranks.ties import Ties
from kgeval.metrics.selection import MetricOptions, RankColumns, is_rank_table
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
        names, or ``Metric`` objects; by default those that are usual for such a table. Of ranks
        ``[side.][ties.][average.]name[@k]``, where a metric without a side is computed for every side of the table and
        for both pooled; of labels and confidences ``[relation.]name[@k]``, with the prefix the mean over the relations
        in which the metric is defined
    by
        the column, or columns, whose values divide the rows into groups, for example ``"relation"``, which is the only
        one for labels and confidences; ``kgeval.annotate`` adds slices of the dataset as columns
    ties
        the tie policy of metrics that name none: its name, or a ``TiePolicy``
    seed
        of random ties
    chance
        of ranks: what random ranking, which adjusted metrics and z-scores compare with, ranks among: ``"exact"``, all
        N candidates with the answer; ``"without-answer"``, N − 1, which takes AMRI and AMRR below −1 where the last of
        few candidates is the answer
    popularity
        of ranks: the exponents (βe, βr) of the frequencies, in the table, of answer and relation that ``strat`` metrics
        weigh against, from −10 to 10
    calibration
        of labels: how scores, the baselines' too, become probabilities: ``"platt"``, ``"isotonic"`` or ``"none"``
    mapping
        of confidences: how the model's scores become confidences; by default they are confidences already, as those of
        baselines always are
    high_confidence
        of confidences: from which confidence on a fact belongs to the subset whose metrics are given too
    intervals
        of ranks: what is drawn again, ``"triple"``, ``"query"`` or ``"relation"``, or ``Intervals`` with the level too;
        every metric then has the interval in which it would fall (of lists, with queries in place of triples)

    Raises
    ------
    MetricError
        if names, columns or options are unknown (all wrong names in one message), if a side was not evaluated, or if an
        option means nothing to such a table

    Examples
    --------
    >>> from kgeval import evaluate
    >>> table = evaluate(lambda h, r, t: (h * 31 + t * 7) % 5, "nations")
    >>> summary = summarize(table, ["mrr", "head.hits@3", "map", "map@3"], ties="expected")
    >>> summary["mrr"] == summary["both.expected.mean_reciprocal_rank"]
    True
    >>> summary["map"] > summary["map@3"]
    True
    >>> summary.groups[0].ties.tied, summary.groups[0].ties.largest  # and summary.notes says what that does
    (284, 2)

    >>> print(summarize(table, "mrr", intervals="triple").interval("mrr"))  # had other triples been drawn
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
    if is_rank_table(table):
        chosen = _chosen(metrics, RANKS, options)
        policies = MetricOptions(ties, seed, chance, popularity)
        return rank_summary(table, chosen, by=by, options=policies, intervals=read_intervals(intervals))
    if isinstance(table, ConfidenceColumns):
        return confidence_summary(
            table,
            parse_all(_chosen(metrics, CONFIDENCES, options), CONFIDENCES.name),
            by=_relation_alone(by),
            mapping=mapping or ConfidenceMapping(),
            high_confidence=high_confidence,
            options=MetricOptions(ties, seed),
        )
    if isinstance(table, LabelColumns):
        names = parse_all(_chosen(metrics, CLASSIFICATION, options), CLASSIFICATION.name)
        return label_summary(table, names, by=_relation_alone(by), calibration=calibration)
    raise MetricError(
        "expected a rank table, as kgeval.evaluate, RankTable.from_parquet and kgeval.load_ranks give one; the table "
        "that kgeval.classify or kgeval.tasks.Confidences makes; or the ScoredLabels of 'valid' and of 'test', found "
        f"{type(table).__name__}."
    )


def _chosen(metrics: Any, kind: Kind, options: Mapping[str, Any]) -> Any:
    """Return the metrics, by default the usual ones of a kind of table; refuse options that mean nothing to it."""
    for name, value in options.items():
        default = (summarize.__kwdefaults__ or {})[name]
        # Options that have their default may have been left out.
        if name in kind.without and not (isinstance(value, type(default)) and value == default):
            own = ", ".join(kind.options)
            raise MetricError(f"{name}: it means nothing to a table of {kind.name}, which takes {own}.")
    return kind.metrics if isinstance(metrics, Sequence) and not metrics else metrics


def _relation_alone(by: Any) -> tuple[str, ...]:
    columns = column_names(by)
    for column in columns:
        if column != "relation":
            raise MetricError(f"by: labels and confidences are grouped by 'relation' only, found {column!r}.")
    return columns[:1]
