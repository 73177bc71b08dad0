"""Comparisons: the metrics of several models on one dataset or more, in groups or not, and the differences of models.

Every form, text, paper, CSV, JSON and frame, is written from the values of the summaries and from the differences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.analysis.comparison.block import Block
from kgeval.analysis.comparison.paired_difference import (
    DEFAULT_DIFFERENCES,
    DifferenceOptions,
    PairedDifference,
    adjustment,
    by_reason,
    notes_on_tests,
)
from kgeval.base.errors import counted, first_few
from kgeval.base.provenance import LabelProvenance, Provenance, shared_description
from kgeval.base.tables.shown import Shown
from kgeval.base.tables.table import Cell, Figure, Table, number, written
from kgeval.metrics.intervals.interval import PLURAL
from kgeval.metrics.metric import Metric
from kgeval.metrics.names import MetricName, parse, title_of
from kgeval.metrics.rank_summary import RankSummary, common_ties_of, shared_columns
from kgeval.metrics.summary import FEWEST_SEEDS, MODEL, MOST_DATASETS, Group, Spread, Value, collected_notes
from kgeval.ranking.corruption.generator import size_range

if TYPE_CHECKING:
    import pandas as pd


MOST_MODELS = 6
"""the most models that a note names"""

ALL_ENTITIES = re.compile(r"all [\d,]+ entities")
"""the candidates of a dataset if all entities compete; datasets differ in their number"""


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Summaries of several models on one dataset or more, and the differences of each pair on the rows they share."""

    summaries: Mapping[str, Mapping[str, RankSummary]]
    """{dataset: {model: summary}}; of several seeds, the means over them"""
    remarks_on: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """by dataset: how the models' ranks differ, if their metrics do not compare, or may not"""
    pairs: tuple[PairedDifference, ...] = ()
    """a difference for each pair, metric, group of rows and dataset; empty if the models rank different rows"""
    options: DifferenceOptions = DEFAULT_DIFFERENCES
    """the options of the tests"""
    spread: Spread | None = None
    """what follows ± a mean over seeds; ``None`` if each model has one run on one dataset"""
    baselines: frozenset[str] = frozenset()
    """the models without random training, which need no seeds"""

    @cached_property
    def datasets(self) -> tuple[str, ...]:
        """The names of the datasets."""
        return tuple(self.summaries)

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The names of the models."""
        return tuple(dict.fromkeys(model for models in self.summaries.values() for model in models))

    @property
    def remarks(self) -> tuple[str, ...]:
        """How the models' ranks differ, if their metrics do not compare, or may not."""
        return tuple(collected_notes({(dataset, ""): of for dataset, of in self.remarks_on.items()}, named=True))

    def on_dataset(self, dataset: str) -> Comparison:
        """Return the part of one dataset."""
        pairs = tuple(pair for pair in self.pairs if pair.dataset == dataset)
        remarks = {dataset: self.remarks_on.get(dataset, ())}
        return replace(self, summaries={dataset: self.summaries[dataset]}, pairs=pairs, remarks_on=remarks)

    @property
    def by(self) -> tuple[str, ...]:
        """The columns whose values make the groups."""
        return self._first.by

    @property
    def ties(self) -> str:
        """The name of the tie policy of all metrics that name none."""
        return common_ties_of(self._every.values())

    @property
    def metrics(self) -> tuple[MetricName, ...]:
        """The metrics as they were requested."""
        return tuple(dict.fromkeys(self._first.requested))

    @property
    def family(self) -> int:
        """How many pairs of models each p-value is adjusted for; the largest number of all groups."""
        return max((pair.family for pair in self.pairs), default=0)

    @property
    def decisive(self) -> str:
        """The metric that decides which model is better: the first one; empty without differences."""
        return self.pairs[0].name if self.pairs else ""

    @property
    def records(self) -> tuple[Value, ...]:
        """All values, each with its dataset, group and model."""
        every = self._every.items()
        return tuple(
            value._replace(dataset=dataset, model=model) for (dataset, model), one in every for value in one.records
        )

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Each dataset, and each group of its rows."""
        places = dict.fromkeys((dataset, group) for dataset, _, group in self._groups)
        return tuple(self.block(dataset, dict(group)) for dataset, group in places)

    def block(self, dataset: str, group: Mapping[str, Any]) -> Block:
        """Return the values and differences of the rows of a group of a dataset."""
        models, key = self.summaries[dataset], tuple(group.items())
        groups = {model: self._groups.get((dataset, model, key)) for model in models}
        of_models = {model: values for model, values in groups.items() if values is not None}
        pairs = self._pairs.get((dataset, key), [])
        pooled = next(iter(models.values())).pooled
        return Block(dataset, group, self.models, self.metrics, of_models, pairs, pooled, self.options.reference)

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
        sign = 1 if parse(name, also=[one.metric for one in self._first.requested]).highest_is_best else -1
        return max(self.models, key=lambda model: sign * self.of(model, name, **place))

    @cached_property
    def _every(self) -> dict[tuple[str, str], RankSummary]:
        summaries = self.summaries.items()
        return {(dataset, model): summary for dataset, models in summaries for model, summary in models.items()}

    @property
    def _first(self) -> RankSummary:
        return next(iter(self._every.values()))

    @cached_property
    def _groups(self) -> dict[tuple[str, str, tuple[Any, ...]], Group]:
        every = self._every.items()
        return {(*place, tuple(group.key.items())): group for place, summary in every for group in summary.groups}

    @cached_property
    def _pairs(self) -> dict[tuple[str, tuple[Any, ...]], list[PairedDifference]]:
        pairs: dict[tuple[str, tuple[Any, ...]], list[PairedDifference]] = {}
        for pair in self.pairs:
            pairs.setdefault((pair.dataset or self.datasets[0], tuple(pair.group.items())), []).append(pair)
        return pairs

    # Words

    @cached_property
    def heads(self) -> tuple[str, ...]:
        """What the models have in common, what follows ±, and what speaks against the numbers, such as leaks."""
        head, _ = self._common_head
        unsaid: dict[str, Any] = {} if self.spread is None else {"intervals": None}  # said after ±
        further = {self._named(place): replace(one, **unsaid).heads[1:] for place, one in self._every.items()}
        lines = collected_notes(further, exact=len(self.datasets) <= MOST_DATASETS)
        return (f"{head}, ties: {self.ties}{self._spread_in_words()}", *lines)

    def _named(self, place: tuple[str, str]) -> tuple[str, str]:
        """Leave the name of the model out of a place where there is only one."""
        return place if len(self.models) > 1 else (place[0], "")

    @cached_property
    def _common_head(self) -> tuple[str, list[str]]:
        """Describe all models without what differs and, on one dataset, name what differs between them."""
        every = [replace(summary.provenance, model=model) for (_, model), summary in self._every.items()]
        if len(self.datasets) == 1:
            return common_head(every, self.models)
        different = [*differing_parts(every), "dataset", "triples"]
        sizes = [[one.provenance.triples for one in models.values()] for models in self.summaries.values()]
        listed = " and ".join(self.datasets)
        if len(sizes) > MOST_DATASETS:
            listed, sizes = f"{len(sizes)} datasets", [[one.triples for one in every]]
        triples = " and ".join(size_range(np.array(several)) for several in sizes)
        models = counted(len(self.models), "model") if len(self.models) > 1 else self.models[0]
        head = shared_description(f"{models} on {listed}", every[0], different, triples=triples)
        of_all = all(
            ALL_ENTITIES.fullmatch(one.candidates or "") and getattr(one, "competing", None) is None for one in every
        )
        return f"{head}{', candidates: all entities' if of_all and 'candidates' in different else ''}", []

    def _spread_in_words(self) -> str:
        if self.spread is None:
            return ""
        runs = self._most_runs
        up_to = "up to " if any(self._fewer_runs(dataset) for dataset in self.datasets) else ""
        mean = f"; mean of {up_to}{runs} seeds" if runs > 1 else "; one run of each model"
        if all(value.ends(self.spread) is None for value in self.records):
            return mean
        level, units = f"{100 * self.options.level:g} % interval", PLURAL[self.options.unit]
        after = {
            "sd": "standard deviation over seeds",
            "seeds": f"{level} (resampling seeds)",
            "interval": f"{level} (resampling {'seeds and ' if runs > 1 else ''}{units})",
        }
        return f"{mean} ± {after[self.spread]}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes: how ranks differ, the notes of the models, missing runs, and how differences were tested."""
        return (*self.notes_on_numbers, *self._notes_on_tests())

    @property
    def notes_on_numbers(self) -> tuple[str, ...]:
        """The notes without those on tests: one of each kind, which names the models and datasets that it is of."""
        whole = {place: group for place, group in self._groups.items() if not place[2]}
        notes = {
            self._named(place): [note for note in summary.notes if not whole or note not in summary.tie_notes]
            for place, summary in self._every.items()
        }
        return (*self.remarks, *collected_notes(notes), *self._notes_on_ties(whole), *self._notes_on_runs())

    def _notes_on_ties(self, whole: Mapping[tuple[str, str, Any], Group]) -> Iterator[str]:
        several = len(self.datasets) > 1
        serious = [
            f"{model!r}{f' on {dataset}' if several else ''} from {ties.pessimistic_mrr:.3f} (pessimistic) to "
            f"{ties.optimistic_mrr:.3f} (optimistic)"
            for (dataset, model, _), group in whole.items()
            if (ties := group.ties) is not None and ties.serious
        ]
        if serious:
            yield f"the tie policy alone moves the MRR: {first_few(serious, MOST_MODELS)}."

    @property
    def _most_runs(self) -> int:
        return max(max(self._runs(dataset).values()) for dataset in self.datasets)

    def _runs(self, dataset: str) -> dict[str, int]:
        models = self.summaries[dataset].items()
        return {model: max((len(value.runs) for value in summary.records), default=0) for model, summary in models}

    def _fewer_runs(self, dataset: str) -> list[str]:
        """The models other than baselines that have fewer runs than others, and how many."""
        counts = {model: count for model, count in self._runs(dataset).items() if model not in self.baselines}
        return [f"{model} {count}" for model, count in counts.items() if 0 < count < self._most_runs]

    def _notes_on_runs(self) -> Iterator[str]:
        notes: dict[tuple[str, str], list[str]] = {(dataset, ""): [] for dataset in self.datasets if self.spread}
        for (dataset, _), of_dataset in notes.items():
            if missing := [model for model in self.models if model not in self.summaries[dataset]]:
                of_dataset.append(f"no run of {', '.join(missing)}.")
            if fewer := self._fewer_runs(dataset):
                least = f"Intervals and tests need at least {FEWEST_SEEDS} seeds"
                of_dataset.append(f"fewer than {self._most_runs} seeds: {', '.join(fewer)}. {least}.")
        yield from collected_notes(notes, named=True)

    def _notes_on_tests(self) -> Iterator[str]:
        if self.spread is None:
            yield from notes_on_tests(self.pairs, self.options)
            return
        if test := self._test_in_words("≤"):
            yield f"order: A > B means a significant difference, A ≈ B no significant difference ({test})."
        yield from self._notes_on_untested()

    def _notes_on_untested(self) -> Iterator[str]:
        notes: dict[tuple[str, str], list[str]] = {(dataset, ""): [] for dataset in self.datasets}
        for (dataset, _), of_dataset in notes.items():
            pairs = [pair for pair in self.pairs if (pair.dataset or self.datasets[0]) == dataset and pair.p is None]
            of_dataset += [f"not tested (A, B): {reason}." for reason, _ in by_reason(pairs)]
        yield from collected_notes(notes)

    def _test_in_words(self, sign: str) -> str:
        """Describe the tests; empty if nothing was tested."""
        tested = [pair for pair in self.pairs if pair.p is not None]
        if not tested:
            return ""
        of_means = f"t test of means over seeds; seeds and {PLURAL[self.options.unit]} are random samples"
        kinds = dict.fromkeys(
            of_means if pair.over_seeds else f"sign-flip test, {pair.draws:,} draws per {pair.unit}" for pair in tested
        )
        each = ", for each dataset separately" if len(self.datasets) > 1 else ""
        how = f"p {sign} {self.options.alpha:.2g}; two-sided {' or '.join(kinds)}"
        return f"{how}; {adjustment(tested)}{each}"

    def _notes_on_marks(self, figures: Sequence[Figure]) -> Iterator[str]:
        if any(figure.best for figure in figures):
            yield f"Bold: the best in the column{' of its group' if self.by else ''}."
        if not (test := self._test_in_words(">")):
            return
        reference = self.options.reference
        against = "the best" if reference is None else f"{reference}, with which all others were compared,"
        if any(figure.near for figure in figures):
            yield f"Underlined: no significant difference to {against.rstrip(',')} ({test})."
        else:
            test = self._test_in_words("≤")
            equal = any(pair.seen == "none" and not round(pair.difference or 0, 12) for pair in self.pairs)
            result = "0 (equal values, all in bold) or significant" if equal else "significant"
            yield f"Nothing is underlined: every tested difference to {against} is {result} ({test})."

    def _brief(self) -> str:
        if self.spread is not None:
            models = counted(len(self.models), "model")
            return f"{models} on {first_few(self.datasets)}: {first_few(self.metrics)}"
        metric, on = self._first.requested[0], self._first.provenance.dataset
        if self.by:
            return f"{metric} on {on}: {first_few(self.models)}, by {', '.join(self.by)}"
        block = self.blocks[0]
        values = [f"{model} {number(block.value(model, self.metrics[0]).value, 3)}" for model in self.models]
        return f"{metric} on {on}: {first_few(values)}"

    # Tables

    def tables(self) -> tuple[Table, ...]:
        """Return the numbers, a row for each model in each group; then the differences.

        Of several seeds or datasets, the order of the models stands in place of their differences. A metric without a
        side has one column: of both sides, or of the one that was ranked.
        """
        boards = [self._board(groups) for groups in self._parts_of_rows()]
        if self.spread is None:
            return (*boards, *self.differences().values())
        orders = [[block.title, metric.column, order] for block, metric, order in self._orders()]
        return (*boards, *([Table(["dataset", "metric", "order"], orders, prose=True)] if orders else []))

    def _orders(self) -> Iterator[tuple[Block, MetricName, str]]:
        for block, metric in product(self.blocks, self.metrics):
            if order := block.order(metric):
                yield block, metric, order

    def papers(self) -> tuple[Table, ...]:
        """Return the numbers for a paper: the best are bold, and what is not seen to differ underlined."""
        boards = [self._board(groups, paper=True) for groups in self._parts_of_rows()]
        figures = [cell for board in boards for row in board.rows for cell in row if isinstance(cell, Figure)]
        notes = [*self._notes_on_marks(figures), *self.remarks, *self._notes_on_runs()]
        notes += self._notes_on_untested() if self.spread is not None else []
        boards[0] = replace(boards[0], title="; ".join(self.heads))
        boards[-1] = replace(boards[-1], notes=notes)
        return tuple(boards)

    def csv_tables(self) -> tuple[Table, ...]:
        """Return the numbers, with all digits; of several seeds or datasets, a column has its dataset and metric."""
        if self.spread is None:
            return tuple(self._board(groups) for groups in self._parts_of_rows())
        rows = [self._numbers_of(*row) for row in self._rows]
        keys = [[*map(str, dict(group).values()), model] for group, model in self._rows]
        cells: list[list[Cell]] = [[*key, *row.values()] for key, row in zip(keys, rows, strict=True)]
        columns = [*self.by, "model", *map(" ".join, rows[0] if rows else ())]
        return (Table(columns, cells, 1 + len(self.by), item="group" if self.by else "model"),)

    def differences(self) -> dict[str, Table]:
        """Return the differences by each metric, a row for each pair of models and group of rows."""
        keys = [*self.by, "model", "other", *(["ranks"] if self.by else [])]
        rows: dict[str, list[list[Cell]]] = {}
        for pair in self.pairs:
            of_group = [*(str(pair.group[name]) for name in self.by), pair.model, pair.other]
            ranks: list[Cell] = [pair.rows] if self.by else []
            rows.setdefault(pair.name, []).append([*of_group, *ranks, *_cells(pair)])
        return {
            name: Table(
                [*keys, "difference", "p", "detectable", "seen"],
                lines,
                2 + len(self.by),
                title=f"{name}{'' if name == self.decisive else ' (secondary)'}:",
                item="group" if self.by else "",
            )
            for name, lines in rows.items()
        }

    def _parts_of_rows(self) -> list[list[Mapping[str, Any]]]:
        """The groups of each table of numbers: all rows as a whole, then the groups of rows."""
        keys: list[Mapping[str, Any]] = [dict(group) for group in dict.fromkeys(place[2] for place in self._groups)]
        parts = [[key for key in keys if bool(key) == of_groups] for of_groups in (False, True)]
        return [part for part in parts if part] or [[]]

    @property
    def _rows(self) -> list[tuple[tuple[Any, ...], str]]:
        return [
            (tuple(group.items()), model)
            for groups in self._parts_of_rows()
            for group in groups
            for model in self.models
        ]

    def _board(self, groups: Sequence[Mapping[str, Any]], *, paper: bool = False) -> Table:
        """Lay out a row for each model, in each group, and a column for each metric on each dataset."""
        by, (_, different) = list(groups[0] if groups else self.by), self._common_head
        names = shared_columns(self._every.values(), by)
        if by and self.spread is None and not self.pairs:  # else the table of differences has the numbers of ranks
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
            [] if several or paper else [str(name.side) for name in names],
            heads=[dataset for dataset in self.datasets for _ in names] if several else [],
            item="group" if by else "model",
        )

    def figures(
        self, dataset: str, metric: MetricName, groups: Sequence[Mapping[str, Any]], *, paper: bool
    ) -> list[Figure]:
        """The numbers of a column: in papers and of seeds with the digits that its spreads and differences justify."""
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

    # Plain data

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, in full precision: a record for each value and for each difference."""
        ties = {place[:2]: group.ties for place, group in self._groups.items() if group.ties and not place[2]}
        return {
            "schema": 2,
            "models": [
                {"dataset": place[0], "model": place[1], "provenance": summary.provenance.to_dict()}
                | ({"tie_diagnosis": ties[place].to_dict()} if place in ties else {})
                for place, summary in self._every.items()
            ],
            "ties": self.ties,
            **self._first.further_options,
            **({"by": list(self.by)} if self.by else {}),
            "values": [value.to_dict() for value in self.records],
            "orders": [
                {"dataset": block.dataset, "group": dict(block.group), "metric": metric.column, "order": order}
                for block, metric, order in self._orders()
            ],
            "differences": {
                **{name: getattr(self.options, name) for name in ("unit", "level", "draws", "seed")},
                "decisive": self.decisive,
                "family": self.family,
                "family_of": "the pairs of models, by each metric in each group of rows of a dataset",
                "adjustment": "holm",
                "pairs": [{"dataset": pair.dataset, **pair.to_dict()} for pair in self.pairs],
            },
            "notes": list(self.notes),
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each model, in each group, and a column for each metric and side.

        Of several seeds or datasets, there are the mean, standard deviation, interval and number of runs of each metric
        on each dataset.
        """
        import pandas as pd

        names_of_rows = [{**dict(group), "model": model} for group, model in self._rows]
        index = pd.DataFrame(names_of_rows, columns=(keys := [*self.by, "model"])).set_index(keys).index
        if self.spread is not None:
            rows = [self._numbers_of(*row) for row in self._rows]
            frame = pd.DataFrame([list(row.values()) for row in rows], index)
            names = rows[0] if rows else {}
            return frame.set_axis(pd.MultiIndex.from_tuples([*names], names=["dataset", "metric", ""]), axis=1)
        groups = [self._groups.get((self.datasets[0], model, group)) for group, model in self._rows]
        values = [
            {} if group is None else {str(name): value for name, value in group.values.items()} for group in groups
        ]
        return pd.DataFrame(values, index)

    def differences_frame(self) -> pd.DataFrame:
        """Return one row per pair, metric and group of rows, with the columns of a :class:`PairedDifference`."""
        import pandas as pd

        several = len(self.datasets) > 1
        contents = [({"dataset": pair.dataset} if several else {}) | pair.to_dict() for pair in self.pairs]
        return pd.DataFrame(
            [{**content.pop("group", {}), **content, "reason": content.get("reason", "")} for content in contents]
        )

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


ModelGrid = Comparison
"""a comparison over datasets and seeds"""


def common_head(provenances: Sequence[Provenance | LabelProvenance], models: Sequence[str]) -> tuple[str, list[str]]:
    """Describe the provenance that several models have in common, and name its parts that differ."""
    first = provenances[0]
    subject = counted(len(models), "model")
    different = differing_parts(provenances)
    if not different:
        return str(replace(first, model=subject) if len(models) > 1 else first), []
    named = " and ".join(dict.fromkeys(one.dataset for one in provenances))
    return shared_description(f"{subject} on {named}", first, [*different, "dataset"]), different


def differing_parts(provenances: Sequence[Provenance | LabelProvenance]) -> list[str]:
    """Name the parts in which provenances differ, without the model."""
    first, *others = provenances
    names = [part.name for part in fields(first) if part.compare and part.name != "model"]
    return [name for name in names if any(getattr(other, name) != getattr(first, name) for other in others)]


def _cells(pair: PairedDifference) -> list[Cell]:
    """Print a difference, with as many digits as its standard error justifies."""
    difference, least = Figure(pair.difference, pair.interval), pair.detectable
    return [
        difference._replace(text=written(difference)),
        pair.p_text if pair.adjusted_p is None else Figure(pair.adjusted_p, text=pair.p_text),
        "" if least is None else Figure(least, text=number(least, pair.decimals)),
        pair.seen or "not tested",
    ]


def _text(value: Any) -> str:
    return ", ".join(value) or "none" if isinstance(value, tuple) else "" if value is None else str(value)
