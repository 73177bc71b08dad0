"""A grid of results: models by datasets and metrics, each a mean over seeds, and the order that tests support."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kgeval.analysis.comparison.grid_block import Block
from kgeval.analysis.comparison.paired_difference import DifferenceOptions, adjustment
from kgeval.base.errors import counted, first_few
from kgeval.base.provenance import shared_description
from kgeval.base.tables.shown import Shown
from kgeval.base.tables.table import Cell, Figure, Table
from kgeval.metrics.intervals.interval import PLURAL
from kgeval.metrics.names import MetricName, title_of
from kgeval.metrics.summary import FEWEST_SEEDS, Spread, Value

if TYPE_CHECKING:
    import pandas as pd


ALL_ENTITIES = re.compile(r"all [\d,]+ entities")
"""the candidates of a dataset if all entities compete; datasets differ in their number"""


@dataclass(frozen=True, repr=False)
class ModelGrid(Shown):
    """Models by datasets, groups and metrics."""

    models: tuple[str, ...]
    metrics: tuple[MetricName, ...]
    blocks: tuple[Block, ...]
    baselines: frozenset[str] = frozenset()
    """the models without random training, which need no seeds"""
    spread: Spread = "sd"
    options: DifferenceOptions = field(default_factory=DifferenceOptions)
    ties: str = "realistic"
    """the name of the tie policy of all metrics that name none"""

    @property
    def datasets(self) -> tuple[str, ...]:
        """The names of the datasets."""
        return tuple(dict.fromkeys(block.dataset for block in self.blocks))

    @cached_property
    def heads(self) -> tuple[str, ...]:
        """The models, the datasets, and what all runs have in common."""
        provenances = [one for block in self.blocks for one in block.provenances]
        first = provenances[0]
        differing = {"dataset", "model", "triples"} | {
            name for name, value in vars(first).items() if any(vars(one)[name] != value for one in provenances)
        }
        first_blocks = {block.dataset: block for block in reversed(self.blocks)}
        sizes = {name: first_blocks[name].triples for name in self.datasets}
        _, _, rules = shared_description(len(self.models), first, differing).partition(", ")
        split, _, rules = rules.partition(", ")
        every = all(ALL_ENTITIES.fullmatch(one.candidates) and one.competing is None for one in provenances)
        parts = [
            f"{counted(len(self.models), 'model')} on {' and '.join(sizes)}",
            f"{' and '.join(sizes.values())} {split}",
            rules,
            "candidates: all entities" if every and "candidates" in differing else "",
            f"ties: {self.ties}",
        ]
        return (f"{', '.join(filter(None, parts))}{self._spread_in_words()}",)

    def _brief(self) -> str:
        models, datasets = counted(len(self.models), "model"), first_few(self.datasets)
        return f"{models} on {datasets}: {first_few(self.metrics)}"

    def _spread_in_words(self) -> str:
        if all(score.ends(self.spread) is None for block in self.blocks for score in block.scores.values()):
            return f"; {self._mean_in_words()}"
        level, units = f"{100 * self.options.level:g} % interval", PLURAL[self.options.unit]
        what = {
            "sd": "standard deviation over seeds",
            "seeds": f"{level} (resampling seeds)",
            "interval": f"{level} (resampling {'seeds and ' if self._most_runs > 1 else ''}{units})",
        }
        return f"; {self._mean_in_words()} ± {what[self.spread]}"

    def _mean_in_words(self) -> str:
        up_to = "up to " if any(self._fewer_runs(dataset) for dataset in self.datasets) else ""
        return f"mean of {up_to}{self._most_runs} seeds" if self._most_runs > 1 else "one run of each model"

    @property
    def _most_runs(self) -> int:
        return max(block.runs(model) for block in self.blocks for model in self.models)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes: how ranks differ, missing runs and seeds, undefined metrics, and how differences were tested."""
        return (*self._remarks(), *self._notes_on_runs(), *self._notes_on_undefined(), *self._notes_on_tests())

    def _notes_on_undefined(self) -> Iterator[str]:
        whose: dict[str, list[str]] = {}
        for block in self.blocks:
            for (model, metric), score in block.scores.items():
                if score.value is None:
                    whose.setdefault(f"{metric} is undefined: {score.reason}.", []).append(f"{model} on {block.title}")
        yield from (f"{', '.join(models)}: {note}" for note, models in whose.items())

    def _remarks(self) -> Iterator[str]:
        yield from dict.fromkeys(f"{block.title}: {remark}" for block in self.blocks for remark in block.remarks)

    def _runs(self, dataset: str) -> dict[str, int]:
        block = next(block for block in self.blocks if block.dataset == dataset)
        return {model: block.runs(model) for model in self.models}

    def _fewer_runs(self, dataset: str) -> list[str]:
        """The models other than baselines that have fewer runs than others, and how many."""
        counts = {model: count for model, count in self._runs(dataset).items() if model not in self.baselines}
        return [f"{model} {count}" for model, count in counts.items() if 0 < count < self._most_runs]

    def _notes_on_runs(self) -> Iterator[str]:
        for dataset in self.datasets:
            if missing := [model for model, count in self._runs(dataset).items() if not count]:
                yield f"{dataset}: no run of {', '.join(missing)}."
            if fewer := self._fewer_runs(dataset):
                what = f"{dataset}: fewer than {self._most_runs} seeds: {', '.join(fewer)}"
                yield f"{what}. Intervals and tests need at least {FEWEST_SEEDS} seeds."

    def _notes_on_tests(self) -> Iterator[str]:
        if test := self._test_in_words():
            yield f"order: A > B means a significant difference, A ≈ B no significant difference ({test})."
        yield from self._notes_on_untested()

    def _notes_on_untested(self) -> Iterator[str]:
        reasons = [pair.reason for block in self.blocks for pair in block.pairs if pair.reason and pair.p is None]
        yield from (f"not tested: {reason}." for reason in dict.fromkeys(reasons))

    def _test_in_words(self) -> str:
        """Describe the test; empty if nothing was tested."""
        tested = [pair for block in self.blocks for pair in block.pairs if pair.p is not None]
        if not tested:
            return ""
        of_means = f"t test of means over seeds; seeds and {PLURAL[self.options.unit]} are random samples"
        how = of_means if tested[0].over_seeds else f"sign-flip test, {tested[0].draws:,} draws per {tested[0].unit}"
        each = ", for each dataset separately" if len(self.datasets) > 1 else ""
        return f"p ≤ {self.options.alpha:.2g}; two-sided {how}; {adjustment(tested)}{each}"

    def tables(self) -> tuple[Table, ...]:
        """Return the numbers, a row for each model, and the order of the models on each dataset."""
        columns = [self._figures(block, metric) for block in self.blocks for metric in self.metrics]
        names = [metric.column for metric in self.metrics]
        rows = [[model, *cells] for model, *cells in zip(self.models, *columns, strict=True)]
        numbers = Table(["model", *names * len(self.blocks)], rows, heads=self._titles(), item="model")
        orders: list[list[Cell]] = [
            [block.title, name, order]
            for block in self.blocks
            for metric, name in zip(self.metrics, names, strict=True)
            if (order := block.order(metric))
        ]
        return (numbers, *([Table(["dataset", "metric", "order"], orders, prose=True)] if orders else []))

    def papers(self) -> tuple[Table, ...]:
        """Return the numbers for a paper: the best are bold; models not seen to differ from it are underlined."""
        columns = [self._figures(block, metric, marked=True) for block in self.blocks for metric in self.metrics]
        titles = [title_of(metric) for metric in self.metrics]
        rows = [[model, *cells] for model, *cells in zip(self.models, *columns, strict=True)]
        notes = ["Bold: the best in the column."] if any(cell.best for column in columns for cell in column) else []
        if any(cell.near for column in columns for cell in column):
            notes.append(f"Underlined: no significant difference to the best ({self._test_in_words()}).")
        notes += [*self._remarks(), *self._notes_on_runs(), *self._notes_on_undefined(), *self._notes_on_untested()]
        head = ["Model", *titles * len(self.blocks)]
        return (Table(head, rows, title=self.heads[0], notes=notes, heads=self._titles(), item="model"),)

    def _titles(self) -> list[str]:
        if len(self.blocks) == 1:
            return []
        alone = len(self.datasets) == 1
        titles = [" ".join(map(str, block.group.values())) if alone else block.title for block in self.blocks]
        return [title for title in titles for _ in self.metrics]

    def _figures(self, block: Block, metric: MetricName, *, marked: bool = False) -> list[Figure]:
        """The numbers of a column, with as many digits as its spreads and differences justify."""
        scores = {model: block.scores.get((model, metric), Value(metric)) for model in self.models}
        ends = {model: score.ends(self.spread) for model, score in scores.items()}
        own = [pair for pair in block.pairs if replace(pair.metric, side=metric.side) == metric]
        spreads = [one.decimals for one in ends.values() if one is not None]
        digits = min(spreads + [pair.decimals for pair in own if pair.interval], default=None)
        figures = {model: Figure(score.value, ends[model], digits) for model, score in scores.items()}
        if marked and metric.metric.increasing is not None and len(order := block.ranked(metric)) > 1:
            best = order[0]
            for model in order:
                equal = scores[model].value == scores[best].value
                near = not equal and block.seen(metric, best, model) == "none"
                figures[model] = figures[model]._replace(best=equal, near=near)
        return list(figures.values())

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each model: for each dataset and metric the mean, standard deviation, interval and runs."""
        import pandas as pd

        rows = [self._numbers_of(model) for model in self.models]
        columns = pd.MultiIndex.from_tuples(list(rows[0]), names=["dataset", "metric", ""])
        return pd.DataFrame([list(row.values()) for row in rows], pd.Index(self.models, name="model"), columns)

    def csv_tables(self) -> tuple[Table, ...]:
        """Return the frame, with all digits; the name of a column has its dataset, metric and number."""
        rows = [self._numbers_of(model) for model in self.models]
        cells: list[list[Cell]] = [[model, *row.values()] for model, row in zip(self.models, rows, strict=True)]
        return (Table(["model", *map(" ".join, rows[0])], cells, item="model"),)

    def _numbers_of(self, model: str) -> dict[tuple[str, str, str], float | None]:
        row: dict[tuple[str, str, str], float | None] = {}
        for block in self.blocks:
            for metric in self.metrics:
                score = block.scores.get((model, metric), Value(metric))
                ends = {name: getattr(score.interval, name, None) for name in ("low", "high")}
                found = {"mean": score.value, "sd": score.standard_deviation, **ends, "runs": len(score.runs)}
                row |= {(block.title, str(metric), name): value for name, value in found.items()}
        return row

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, in full precision."""
        return {
            "models": list(self.models),
            "metrics": list(map(str, self.metrics)),
            "blocks": [self._content(block) for block in self.blocks],
            "options": {name: getattr(self.options, name) for name in ("unit", "level", "draws", "seed")},
            "notes": list(self.notes),
        }

    def _content(self, block: Block) -> dict[str, Any]:
        scores: dict[str, dict[str, Any]] = {}
        for (model, metric), score in block.scores.items():
            intervals = {"seeds": score.of_seeds, "interval": score.interval}
            scores.setdefault(model, {})[str(metric)] = {
                "mean": score.value,
                "sd": score.standard_deviation,
                "values": list(score.runs),
                **{name: None if one is None else one.to_dict() for name, one in intervals.items()},
                **({"reason": score.reason} if score.reason else {}),
            }
        orders = {str(metric): block.order(metric) for metric in self.metrics}
        return {
            "dataset": block.dataset,
            **({"group": dict(block.group)} if block.group else {}),
            "scores": scores,
            "order": {name: order for name, order in orders.items() if order},
            "differences": [pair.to_dict() for pair in block.pairs],
        }
