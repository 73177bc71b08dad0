"""Comparisons: the metrics of several models on one dataset or more, in groups or not, and the differences of models.

``compare`` makes a :class:`Comparison`: the summaries by dataset and model, the differences of pairs, and their layout
as text, paper, CSV, JSON and frame; ``words.py`` has the heads and notes. ``spread`` is None if each model has one run
on one dataset: then tables of differences follow the numbers. Otherwise numbers are means ± spread, and the order of
the models is shown in place of the differences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, product
from typing import TYPE_CHECKING, Any

from kgeval.analysis.comparison.block import Block, ModelSummary
from kgeval.analysis.comparison.over_graphs import long_table, notes_over_graphs, tables_over_graphs, to_plain_data
from kgeval.analysis.comparison.paired_difference import (
    DEFAULT_DIFFERENCES,
    DifferenceOptions,
    PairedDifference,
    notes_on_few_draws,
    notes_on_missing,
)
from kgeval.analysis.comparison.words import (
    heads_of,
    notes_on_differences,
    notes_on_marks,
    notes_on_numbers,
    notes_on_runs,
    notes_on_untested,
    remarks_of,
    subject_and_differences,
)
from kgeval.base.errors import counted, first_few
from kgeval.base.notes import Note, in_json
from kgeval.base.tables.shown import Shown
from kgeval.base.tables.table import Cell, Figure, Table, number, p_text, written
from kgeval.metrics.metric import Metric
from kgeval.metrics.names import MetricName, parse, title_of
from kgeval.metrics.rank_summary import common_ties_of, shared_columns
from kgeval.metrics.summary import MODEL, Group, Spread, Value

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Summaries of several models on one dataset or more, and the differences of each pair on the rows they share."""

    summaries: Mapping[str, Mapping[str, ModelSummary]]
    """{dataset: {model: summary}}; if a model has several seeds, its summary has the means over them"""
    remarks_on: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """{dataset: remarks}, which say how the models' ranks differ, if their metrics do not compare, or may not"""
    pairs: tuple[PairedDifference, ...] = ()
    """a difference for each pair, metric, group of rows and dataset; empty if the models rank different rows"""
    options: DifferenceOptions = DEFAULT_DIFFERENCES
    """the options of the tests"""
    spread: Spread | None = None
    """what follows ± a mean over seeds; ``None`` if each model has one run on one dataset"""
    baselines: frozenset[str] = frozenset()
    """the models without random training, which need no seeds"""
    suite: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """groups of datasets by name, over which means are shown; datasets are then rows. Empty for few datasets"""
    of_runs: tuple[str, ...] = ()
    """notes on the runs that wrote the ranks: what has changed since, and which runs are left out"""

    @cached_property
    def datasets(self) -> tuple[str, ...]:
        """The names of the datasets."""
        return tuple(self.summaries)

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The names of the models."""
        fullest_first = sorted(self.summaries.values(), key=len, reverse=True)
        return tuple(dict.fromkeys(model for models in fullest_first for model in models))

    @property
    def by(self) -> tuple[str, ...]:
        """The columns whose values make the groups."""
        return self.first.by

    @property
    def ties(self) -> str:
        """The name of the tie policy of all metrics that name none."""
        return common_ties_of(self.every.values())

    @property
    def metrics(self) -> tuple[MetricName, ...]:
        """The metrics as they were requested."""
        return tuple(dict.fromkeys(self.first.requested))

    @property
    def records(self) -> tuple[Value, ...]:
        """All values, each with its dataset, group and model."""
        every = self.every.items()
        return tuple(value._replace(dataset=at[0], model=at[1]) for at, one in every for value in one.records)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Each dataset, and each group of its rows."""
        places = dict.fromkeys((dataset, group) for dataset, _, group in self.groups)
        return tuple(self.block(dataset, dict(group)) for dataset, group in places)

    def block(self, dataset: str, group: Mapping[str, Any]) -> Block:
        """Return the values and differences of the rows of a group of a dataset."""
        models, key = self.summaries[dataset], tuple(group.items())
        groups = {model: self.groups.get((dataset, model, key)) for model in models}
        of_models = {model: values for model, values in groups.items() if values is not None}
        pairs = self._pairs.get((dataset, key), [])
        pooled = next(iter(models.values())).pooled
        return Block(dataset, group, self.models, self.metrics, of_models, pairs, pooled, self.options.reference)

    def parts_of_rows(self) -> list[list[Mapping[str, Any]]]:
        """Return the groups of each table of numbers: all rows as a whole, then the groups of rows."""
        keys: list[Mapping[str, Any]] = [dict(group) for group in dict.fromkeys(place[2] for place in self.groups)]
        parts = [[key for key in keys if bool(key) == of_groups] for of_groups in (False, True)]
        return [part for part in parts if part] or [[]]

    def figures(
        self, dataset: str, metric: MetricName, groups: Sequence[Mapping[str, Any]], *, paper: bool
    ) -> list[Figure]:
        """Return a column's numbers; in papers and over seeds with the digits that spreads and differences justify."""
        blocks = [self.block(dataset, group) for group in groups]
        values = [block.value(model, metric) for block in blocks for model in self.models]
        if not paper and self.spread is None:
            return [value.figure for value in values]
        ends = [value.ends(self.spread or "interval") for value in values]
        decimals = [one.decimals for one in ends if one is not None]
        decimals += [pair.decimals for block in blocks for pair in block.pairs_by(metric) if pair.interval]
        digits = min(decimals, default=None)
        figures = [Figure(value.value, end, digits) for value, end in zip(values, ends, strict=True)]
        if not paper or metric.metric.increasing is None:
            return figures
        marks = [mark for block in blocks for mark in block.marks(metric)]
        return [figure._replace(best=best, near=near) for figure, (best, near) in zip(figures, marks, strict=True)]

    @cached_property
    def every(self) -> dict[tuple[str, str], ModelSummary]:
        """The summaries, by dataset and model."""
        summaries = self.summaries.items()
        return {(dataset, model): summary for dataset, models in summaries for model, summary in models.items()}

    @property
    def first(self) -> ModelSummary:
        """The summary of the first model on the first dataset."""
        return next(iter(self.every.values()))

    @cached_property
    def groups(self) -> dict[tuple[str, str, tuple[Any, ...]], Group]:
        """The values of each group of rows, by dataset, model and the items of its key."""
        every = self.every.items()
        return {(*place, tuple(group.key.items())): group for place, summary in every for group in summary.groups}

    @cached_property
    def _pairs(self) -> dict[tuple[str, tuple[Any, ...]], list[PairedDifference]]:
        pairs: dict[tuple[str, tuple[Any, ...]], list[PairedDifference]] = {}
        for pair in self.pairs:
            pairs.setdefault((pair.dataset, tuple(pair.group.items())), []).append(pair)
        return pairs

    @property
    def remarks(self) -> tuple[str, ...]:
        """How the models' ranks differ, if their metrics are not comparable, or perhaps not."""
        return tuple(remarks_of(self))

    def on_dataset(self, dataset: str) -> Comparison:
        """Return the part of one dataset."""
        pairs = tuple(pair for pair in self.pairs if pair.dataset == dataset)
        remarks = {dataset: self.remarks_on.get(dataset, ())}
        return replace(self, summaries={dataset: self.summaries[dataset]}, pairs=pairs, remarks_on=remarks)

    @property
    def family(self) -> int:
        """The number of pairs of models that each p-value is adjusted for; the largest one, if groups differ."""
        return max((pair.family for pair in self.pairs), default=0)

    @property
    def decisive(self) -> str:
        """The metric that decides which model is better: the first one; empty without differences."""
        return self.pairs[0].name if self.pairs else ""

    def of(self, model: str, name: str | Metric, /, *, dataset: str = "", **key: Any) -> float:
        """Return a metric of a model, by default on the first dataset, on all rows or, as in ``side="head"``, a group.

        Raises
        ------
        MetricError
            if there is no such metric or group, or if it is undefined
        """
        return self.summaries[dataset or self.datasets[0]][model].of(MODEL, name, **key)

    def best(self, name: str | Metric, **place: Any) -> str:
        """Name the model that is best by a metric (the first of equals).

        Raises
        ------
        MetricError
            if the metric says nothing about quality, was not requested, or is undefined for a model
        """
        also = [one.metric for one in self.first.requested]
        sign = 1 if parse(name, self.first.kind, also=also).highest_is_best else -1
        return max(self.models, key=lambda model: sign * self.of(model, name, **place))

    @cached_property
    def heads(self) -> tuple[str, ...]:
        """What the models have in common, what follows ±, and what speaks against the numbers, such as leaks."""
        return heads_of(self)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes: how ranks differ, the notes of the models, missing runs, and how differences were tested."""
        return (*self.notes_on_numbers, *notes_over_graphs(self), *notes_on_differences(self), *self.of_runs)

    @property
    def notes_on_numbers(self) -> tuple[str, ...]:
        """The notes that are not on tests; equal notes are one, which names its models and datasets."""
        return notes_on_numbers(self)

    def _brief(self) -> str:
        if self.spread is not None:
            models = counted(len(self.models), "model")
            return f"{models} on {first_few(self.datasets)}: {first_few(self.metrics)}"
        metric, on = self.first.requested[0], self.first.provenance.dataset
        if self.by:
            return f"{metric} on {on}: {first_few(self.models)}, by {', '.join(self.by)}"
        block = self.blocks[0]
        values = [f"{model} {number(block.value(model, self.metrics[0]).value, 3)}" for model in self.models]
        return f"{metric} on {on}: {first_few(values)}"

    # Tables

    def tables(self) -> tuple[Table, ...]:
        """Return the numbers, a row for each model in each group; then the differences.

        Over several seeds or datasets, the order of the models is shown in place of their differences. A metric without
        a side has one column: over both sides, or over the side that was ranked.
        """
        if self.suite:
            return tuple(tables_over_graphs(self))
        boards = [self._board(groups) for groups in self.parts_of_rows()]
        if self.spread is None:
            return (*boards, *self.differences().values())
        orders = [[block.title, metric.column, order] for block, metric, order in self._orders()]
        return (*boards, *([Table(["dataset", "metric", "order"], orders, prose=True)] if orders else []))

    def _orders(self) -> Iterator[tuple[Block, MetricName, str]]:
        for block, metric in product(self.blocks, self.metrics):
            if order := block.order(metric):
                yield block, metric, order

    def papers(self) -> tuple[Table, ...]:
        """Return the numbers for a paper: the best are bold, those not seen to differ from the best underlined."""
        parts = [] if self.suite else self.parts_of_rows()
        boards = [self._board(groups, paper=True) for groups in parts] or tables_over_graphs(self, paper=True)
        figures = [cell for board in boards for row in board.rows for cell in row if isinstance(cell, Figure)]
        notes = [*notes_on_marks(self, figures), *self.remarks, *notes_on_runs(self)]
        notes += [*notes_on_untested(self), *notes_over_graphs(self)] if self.spread is not None else []
        untested = (*notes_on_few_draws(self.pairs, self.options), *notes_on_missing(self.pairs))
        notes += [Note(note.kind, f"{note[:1].upper()}{note[1:]}") for note in untested if self.spread is None]
        boards[0] = replace(boards[0], title="; ".join(filter(None, [*self.heads, boards[0].title])))
        boards[-1] = replace(boards[-1], notes=notes)
        return tuple(boards)

    def csv_tables(self) -> tuple[Table, ...]:
        """Return the numbers with all digits; over several seeds or datasets, a column names its dataset and metric."""
        if self.spread is None:
            return tuple(self._board(groups) for groups in self.parts_of_rows())
        if self.suite:
            return (long_table(self),)
        rows = {(*map(str, dict(group).values()), model): self._numbers_of(group, model) for group, model in self._rows}
        cells: list[list[Cell]] = [[*key, *row.values()] for key, row in rows.items()]
        columns = [*self.by, "model", *map(" ".join, next(iter(rows.values()), ()))]
        return (Table(columns, cells, 1 + len(self.by), item="group" if self.by else "model"),)

    def differences(self) -> dict[str, Table]:
        """Return the differences by each metric, a row for each pair of models and group of rows."""
        keys = [*self.by, "model", "other", *(["ranks"] if self.by else [])]
        rows: dict[str, list[list[Cell]]] = {}
        for pair in self.pairs:
            of_group = [*(str(pair.group[name]) for name in self.by), pair.model, pair.other]
            ranks: list[Cell] = [pair.rows] if self.by else []
            rows.setdefault(pair.name, []).append([*of_group, *ranks, *_cells(pair)])
        further = [] if self.options.margin is None else ["equivalent", "effect"]
        return {
            name: Table(
                [*keys, "difference", "p", "detectable", "seen", *(further if name == self.decisive else [])],
                lines,
                2 + len(self.by),
                title=f"{name}{'' if name == self.decisive else ' (secondary)'}:",
                item="group" if self.by else "",
            )
            for name, lines in rows.items()
        }

    @property
    def _rows(self) -> list[tuple[tuple[Any, ...], str]]:
        groups = chain.from_iterable(self.parts_of_rows())
        return [(tuple(group.items()), model) for group, model in product(groups, self.models)]

    def _board(self, groups: Sequence[Mapping[str, Any]], *, paper: bool = False) -> Table:
        """Lay out a row for each model, in each group, and a column for each metric on each dataset."""
        by, (_, different) = list(groups[0] if groups else self.by), subject_and_differences(self)
        names = shared_columns(self.every.values(), by)
        # The column "count" is needed only here: with pairs, the table of differences has the number of ranks.
        if by and self.spread is None and not self.pairs and self.first.kind == "ranks":
            names = list(dict.fromkeys([*names, replace(parse("count"), side=names[0].side)]))
        titles = [title_of(name) if paper else name.column for name in names]
        columns = [self.figures(dataset, name, groups, paper=paper) for dataset in self.datasets for name in names]
        models = self.summaries[self.datasets[0]]
        rows: list[list[Cell]] = [
            [*map(str, group.values()), model, *(_text(getattr(models[model].provenance, name)) for name in different)]
            for group in groups
            for model in self.models
        ]
        keys = [name.capitalize() if paper else name for name in (*by, "model", *different)]
        several = len(self.datasets) > 1
        return Table(
            [*keys, *titles * len(self.datasets)],
            [[*row, *figures] for row, *figures in zip(rows, *columns, strict=True)],
            len(keys),
            [] if several or paper else [str(name.side) for name in names if name.side],
            heads=[dataset for dataset in self.datasets for _ in names] if several else [],
            item="group" if by else "model",
        )

    # Plain data

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, in full precision: a record for each value and for each difference."""
        ties = {place[:2]: group.ties for place, group in self.groups.items() if group.ties and not place[2]}
        return {
            "schema": 2,
            "models": [
                {"dataset": place[0], "model": place[1], "provenance": summary.provenance.to_dict()}
                | ({"tie_diagnosis": ties[place].to_dict()} if place in ties else {})
                for place, summary in self.every.items()
            ],
            **({"ties": self.ties} if self.ties else {}),
            **self.first.further_options,
            **({"by": list(self.by)} if self.by else {}),
            "values": [value.to_dict() for value in self.records],
            **(to_plain_data(self) if self.suite else {}),
            "orders": [
                {"dataset": block.dataset, "group": dict(block.group), "metric": metric.column, "order": order}
                for block, metric, order in self._orders()
            ],
            "differences": {
                **{name: getattr(self.options, name) for name in ("unit", "level")},
                **({"draws": self.options.draws, "seed": self.options.seed} if self.first.kind == "ranks" else {}),
                "decisive": self.decisive,
                "family": self.family,
                "family_of": "the pairs of models, by each metric in each group of rows of a dataset",
                "adjustment": "holm",
                "pairs": [{"dataset": pair.dataset, **pair.to_dict()} for pair in self.pairs],
            },
            **in_json(self.notes),
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each model, in each group, and a column for each metric and side.

        Over several seeds or datasets, there are the mean, standard deviation, interval and number of runs of each
        metric on each dataset.
        """
        import pandas as pd

        names_of_rows = [{**dict(group), "model": model} for group, model in self._rows]
        index = pd.DataFrame(names_of_rows, columns=(keys := [*self.by, "model"])).set_index(keys).index
        if self.spread is not None:
            rows = [self._numbers_of(*row) for row in self._rows]
            frame = pd.DataFrame([list(row.values()) for row in rows], index)
            names = rows[0] if rows else {}
            return frame.set_axis(pd.MultiIndex.from_tuples([*names], names=["dataset", "metric", ""]), axis=1)
        groups = [self.groups.get((self.datasets[0], model, group)) for group, model in self._rows]
        values = [{str(name): value for name, value in group.values.items()} if group else {} for group in groups]
        return pd.DataFrame(values, index)

    def differences_frame(self) -> pd.DataFrame:
        """Return one row per pair, metric and group of rows, with the columns of a :class:`PairedDifference`."""
        import pandas as pd

        several = len(self.datasets) > 1
        contents = [({"dataset": pair.dataset} if several else {}) | pair.to_dict() for pair in self.pairs]
        rows = [{**row.pop("group", {}), **row, "reason": row.get("reason", "")} for row in contents]
        return pd.DataFrame(rows)

    def _numbers_of(self, group: tuple[tuple[str, Any], ...], model: str) -> dict[tuple[str, str, str], float | None]:
        row: dict[tuple[str, str, str], float | None] = {}
        for dataset in self.datasets:
            block = self.block(dataset, dict(group))
            for metric in self.metrics:
                value = block.value(model, metric)
                ends = {name: getattr(value.interval, name, None) for name in ("low", "high")}
                numbers = {"mean": value.value, "sd": value.standard_deviation, **ends, "runs": len(value.runs)}
                row |= {(dataset, metric.column, name): each for name, each in numbers.items()}
        return row


def _cells(pair: PairedDifference) -> list[Cell]:
    """Make the cells of a difference, with the digits that its standard error justifies; with a margin, two more."""
    difference, least = Figure(pair.difference, pair.interval), pair.detectable
    p, effect = pair.equivalence_p, pair.effect_size
    further: list[Cell] = ["" if p is None else Figure(p, text=p_text(p))]
    further.append("" if effect is None else Figure(effect, digits=2))
    return [
        difference._replace(text=written(difference)),
        pair.p_text if pair.adjusted_p is None else Figure(pair.adjusted_p, text=pair.p_text),
        "" if least is None else Figure(least, text=number(least, pair.decimals)),
        pair.seen or "not tested",
        *(further if pair.margin is not None else []),
    ]


def _text(value: Any) -> str:
    return ", ".join(value) or "none" if isinstance(value, tuple) else "" if value is None else str(value)
