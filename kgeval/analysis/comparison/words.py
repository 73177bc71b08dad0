"""The words of a comparison: its heads and its notes, each said once, with the models and datasets that it is of.

``comparison.py`` calls these functions: heads are the lines above its tables, notes the lines below. A place is a pair
(dataset, model). The words on a test itself are in ``paired_difference.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.analysis.comparison.adjustment import adjustment
from kgeval.analysis.comparison.paired_difference import (
    PairedDifference,
    by_reason,
    equivalence_in_words,
    notes_on_few_draws,
    notes_on_tests,
)
from kgeval.base.collected_notes import MOST_DATASETS, collected_notes
from kgeval.base.errors import counted, first_few
from kgeval.base.notes import Note
from kgeval.base.tables.table import Figure, p_text
from kgeval.data.provenance import LabelProvenance, Provenance, is_of_all, shared_description
from kgeval.metrics.intervals.interval import FEWEST_SEEDS, PLURAL
from kgeval.metrics.summary import Group
from kgeval.ranking.corruption.generator import size_range

if TYPE_CHECKING:
    from kgeval.analysis.comparison.comparison import Comparison

MOST_MODELS = 6
"""the most models that a note names"""


def heads_of(compared: Comparison) -> tuple[str, ...]:
    """Say what the models have in common, what follows ±, and what speaks against the numbers, such as leaks."""
    head, _ = subject_and_differences(compared)
    unsaid: dict[str, Any] = {} if compared.spread is None else {"intervals": None}  # said after ±
    filters = {(dataset, ""): _filter_in_words(compared, dataset) for dataset in compared.datasets}
    further = {_named(compared, place): replace(one, **unsaid).heads[1:] for place, one in compared.every.items()}
    lines = collected_notes(further, exact=len(compared.datasets) <= MOST_DATASETS)
    lines += collected_notes(filters, named=True) if len({*map(str, filters.values())}) > 1 else []
    ties = f", ties: {compared.ties}" if compared.ties else ""
    return (f"{head}{ties}{_spread_in_words(compared)}", *lines)


def _filter_in_words(compared: Comparison, dataset: str) -> list[str]:
    names = next(iter(compared.summaries[dataset].values())).provenance.filter
    return [] if names is None else [f"filtered by {', '.join(names)}" if names else "unfiltered"]


def subject_and_differences(compared: Comparison) -> tuple[str, list[str]]:
    """Describe all models without what differs and, on one dataset, name what differs between them."""
    every = [replace(summary.provenance, model=model) for (_, model), summary in compared.every.items()]
    if len(compared.datasets) == 1:
        return common_head(every, compared.models)
    different = [*differing_parts(every), "dataset", "triples"]
    sizes = [[one.provenance.triples for one in models.values()] for models in compared.summaries.values()]
    listed = " and ".join(compared.datasets)
    if len(sizes) > MOST_DATASETS:
        listed, sizes = f"{len(sizes)} datasets", [[one.triples for one in every]]
    triples = " and ".join(size_range(np.array(several)) for several in sizes)
    models = counted(len(compared.models), "model") if len(compared.models) > 1 else compared.models[0]
    head = shared_description(f"{models} on {listed}", every[0], different, triples=triples)
    of_all = all(is_of_all(one.candidates) and getattr(one, "competing", None) is None for one in every)
    return f"{head}{', candidates: all entities' if of_all and 'candidates' in different else ''}", []


def _spread_in_words(compared: Comparison) -> str:
    if compared.spread is None:
        return ""
    runs, fewer = _most_and_fewer_runs(compared)
    up_to = "up to " if any(fewer.values()) else ""
    mean = f"; mean of {up_to}{runs} seeds" if runs > 1 else "; one run of each model"
    if all(value.ends(compared.spread) is None for value in compared.records):
        return mean
    level, units = f"{100 * compared.options.level:g} % interval", PLURAL[compared.options.unit]
    after = {
        "sd": "standard deviation over seeds",
        "seeds": f"{level} (resampling seeds)",
        "interval": f"{level} (resampling {'seeds and ' if runs > 1 else ''}{units})",
    }
    return f"{mean} ± {after[compared.spread]}"


def notes_on_numbers(compared: Comparison) -> tuple[str, ...]:
    """Say what a reader of the numbers should know: one note of each kind, which names its models and datasets."""
    whole = {place: group for place, group in compared.groups.items() if not place[2]}
    notes = {
        _named(compared, place): [note for note in summary.notes if not whole or note not in summary.tie_notes]
        for place, summary in compared.every.items()
    }
    collected = collected_notes(notes, joined=bool(compared.suite))
    return (*remarks_of(compared), *collected, *_notes_on_ties(compared, whole), *notes_on_runs(compared))


def remarks_of(compared: Comparison) -> list[Note]:
    """Say how the models' ranks differ, if their metrics are not comparable, or perhaps not."""
    return collected_notes({(dataset, ""): of for dataset, of in compared.remarks_on.items()}, named=True)


def _notes_on_ties(compared: Comparison, whole: Mapping[tuple[str, str, Any], Group]) -> Iterator[str]:
    several = len(compared.datasets) > 1
    serious = [
        f"{model!r}{f' on {dataset}' if several else ''} from {ties.pessimistic_mrr:.3f} (pessimistic) to "
        f"{ties.optimistic_mrr:.3f} (optimistic)"
        for (dataset, model, _), group in whole.items()
        if (ties := group.ties) is not None and ties.serious
    ]
    if serious:
        yield Note("ties", f"the tie policy alone moves the MRR: {first_few(serious, MOST_MODELS)}.")


def notes_on_runs(compared: Comparison) -> Iterator[str]:
    """Name the models that lack a run, or have fewer runs than others."""
    notes: dict[tuple[str, str], list[str]] = {(dataset, ""): [] for dataset in compared.datasets if compared.spread}
    most, fewer = _most_and_fewer_runs(compared)
    for (dataset, _), of_dataset in notes.items():
        if missing := [model for model in compared.models if model not in compared.summaries[dataset]]:
            of_dataset.append(Note("runs", f"no run of {', '.join(missing)}."))
        if fewer[dataset]:
            least = f"Intervals and tests need at least {FEWEST_SEEDS} seeds"
            of_dataset.append(Note("runs", f"fewer than {most} seeds: {', '.join(fewer[dataset])}. {least}."))
    yield from collected_notes(notes, named=True)


def notes_on_differences(compared: Comparison) -> Iterator[str]:
    """Say how differences were tested, and why some were not."""
    if compared.spread is None:
        if len(compared.models) == 1:
            yield Note("tests", f"{compared.models[0]} is the only model: there is no other to compare it with.")
        yield from notes_on_tests(compared.pairs, compared.options)
        return
    if (test := _test_in_words(compared, "≤")) and not compared.suite:  # tables of a suite have no orders
        yield Note("terms", f"order: A > B means a significant difference, A ≈ B no significant difference ({test}).")
    yield from _notes_on_seeds_needed(compared)
    equivalence = [(_pair_in_words(pair), pair.equivalence_p) for pair in compared.pairs]
    if tested := [f"{pair} {p_text(p)}" for pair, p in equivalence if p is not None]:
        hypothesis = equivalence_in_words(compared.options.margin or 0)
        yield Note("terms", f"equivalent: {'; '.join(tested)}: {hypothesis}.")
    yield from notes_on_untested(compared, "" if compared.suite else " (A, B)")


def _notes_on_seeds_needed(compared: Comparison) -> Iterator[str]:
    """Say of the pairs without a significant difference how many seeds would show one, by the metric that decides."""
    needed: dict[str, list[str]] = {}
    for pair in compared.pairs:
        if pair.seen == "none" and pair.seeds_needed is not None and pair.name == compared.pairs[0].name:
            enough = f"{pair.seeds_needed:,.0f}" if math.isfinite(pair.seeds_needed) else "no number (too few triples)"
            needed.setdefault(enough, []).append(_pair_in_words(pair))
    if needed:
        each = "; ".join(f"{first_few(names)}: {enough}" for enough, names in needed.items())
        as_here = "a true difference as large as the one seen here would be significant in 4 of 5 repetitions"
        yield Note("terms", f"{as_here} with this many seeds of each model: {each}.")


def _pair_in_words(pair: PairedDifference) -> str:
    """Name two models and the dataset, with the group of its rows, on which they were compared."""
    return f"{pair.model} and {pair.other} on {' '.join([pair.dataset, *map(str, pair.group.values())])}"


def notes_on_untested(compared: Comparison, sign: str = "") -> Iterator[str]:
    """Say why pairs of models were not tested; ``sign`` shows how an order writes such a pair, if orders are shown."""
    notes: dict[tuple[str, str], list[str]] = {(dataset, ""): [] for dataset in compared.datasets}
    for (dataset, _), of_dataset in notes.items():
        pairs = [pair for pair in compared.pairs if pair.dataset == dataset and pair.p is None]
        of_dataset += [Note("tests", f"not tested{sign}: {reason}.") for reason, _ in by_reason(pairs)]
    yield from notes_on_few_draws(compared.pairs, compared.options)
    yield from collected_notes(notes)


def notes_on_marks(compared: Comparison, figures: Sequence[Figure]) -> Iterator[str]:
    """Say what bold and underlined numbers of a paper's table mean."""
    if any(figure.best for figure in figures):
        place = "row" if compared.suite else "column of its group" if compared.by else "column"
        yield Note("terms", f"Bold: the best in the {place}.")
    if not (test := _test_in_words(compared, ">")):
        return
    if compared.first.kind == "classification" and len(compared.baselines) > 1:
        yield Note("terms", "Baselines are not tested against each other.")
    reference = compared.options.reference
    against = "the best" if reference is None else f"{reference}, with which all others were compared,"
    if any(figure.near for figure in figures):
        yield Note("terms", f"Underlined: no significant difference to {against.rstrip(',')} ({test}).")
    else:
        test = _test_in_words(compared, "≤")
        equal = any(pair.seen == "none" and not round(pair.difference or 0, 12) for pair in compared.pairs)
        result = "0 (equal values, all in bold) or significant" if equal else "significant"
        yield Note("terms", f"Nothing is underlined: every tested difference to {against} is {result} ({test}).")


def _test_in_words(compared: Comparison, sign: str) -> str:
    """Describe the tests; empty if nothing was tested."""
    if not (tested := [pair for pair in compared.pairs if pair.seen]):
        return ""
    of_means = f"t test of means over seeds; seeds and {PLURAL[compared.options.unit]} are random samples"
    kinds = dict.fromkeys(of_means if pair.over_seeds else pair.test for pair in tested)
    each = ", for each dataset separately" if len(compared.datasets) > 1 else ""
    how = f"p {sign} {compared.options.alpha:.2g}; two-sided {' or '.join(kinds)}"
    return f"{how}; {adjustment(tested)}{each}"


def _named(compared: Comparison, place: tuple[str, str]) -> tuple[str, str]:
    """Leave the name of the model out of a place if the comparison has only one model."""
    return place if len(compared.models) > 1 else (place[0], "")


def _most_and_fewer_runs(compared: Comparison) -> tuple[int, dict[str, list[str]]]:
    """Return the most runs of a model and, by dataset, the models (no baselines) that have fewer, with how many."""
    every = compared.every.items()
    counts = {place: max((len(value.runs) for value in one.records), default=0) for place, one in every}
    most, fewer = max(counts.values()), {dataset: list[str]() for dataset in compared.datasets}
    for (dataset, model), count in counts.items():
        if 0 < count < most and model not in compared.baselines:
            fewer[dataset].append(f"{model} {count}")
    return most, fewer


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
