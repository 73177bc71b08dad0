"""TLogic's candidates (``…_cands_….json``): for each query of a split an object of the scores of some entities.

``load_checkpoint`` calls the reader: a path and the user's options become ``Predictions``, a scorer of lists. Queries
are numbered in the order of the split's file: first all queries for the tails of its facts, then as many for the heads.
Entities are the ids of ``entity2id.json``. The rules of TITer, xERTE and others are no such files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kgeval.base.errors import CheckpointError, UsageError
from kgeval.models.checkpoints.labels import find_labels
from kgeval.models.checkpoints.locate import first_lines, json_in
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.readers import Reader
from kgeval.models.checkpoints.readers.prediction_model import CheckedLists, Predictions
from kgeval.models.checkpoints.readers.predictions import LISTED, add_list

BEGINNING = re.compile(r'\s*\{\s*"\d+":\s*\{\s*(\}|"\d+":)')


def read(path: Path, options: Options) -> Predictions:
    """Read the candidates of the queries of the split that the option ``split`` names, by default test.

    ``entity2id.json`` lies beside the file, or in the folder that the option ``labels`` names.
    """
    lists = CheckedLists(path, options)
    for where, content in _queries(path, lists, options):
        add_list(where, content, lists)
    return lists.predictions("tlogic")


READER = Reader(
    name="tlogic",
    summary="a file of TLogic's candidates (…_cands_….json: number of a query, scores of entities by their ids)",
    recognises=lambda path: BEGINNING.match(first_lines(path, 1)[0]) is not None,
    read=read,
)


def _queries(path: Path, lists: CheckedLists, options: Options) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the candidates of each query as the list of one triple; before them, their place, for messages."""
    dataset, split, content = lists.dataset, str(options.resolve("split", None, "") or "test"), json_in(path)
    labels, facts = find_labels(path.parent, options).entities, dataset.split(split)
    if labels is None:
        raise UsageError(f"{path}: its entities are ids. Name the folder of entity2id.json: --option labels=FOLDER.")
    names, count = {str(entity): label for entity, label in enumerate(labels)}, len(facts)
    entities, times = dataset.entities, dataset.times
    if not isinstance(content, dict) or {*content} != {*map(str, range(2 * count))}:
        expected = f"queries 0 to {2 * count - 1}, for the tails and the heads of the {count} {split} facts"
        cure = "Is it the right dataset? Another split: --option split=…"
        if dataset.multiplicity_of(split) is not None:
            cure = f"Some {split} facts are repeated, and TLogic counts each time. Run it on files without repetitions."
        raise CheckpointError(f"{path}: expected {expected}. {cure}")
    for number, scores in content.items():
        where, (asked, row) = f"{path}, query {number}", divmod(int(number), count)
        if not isinstance(scores, dict) or not {*scores} <= names.keys():
            raise CheckpointError(f"{where}: expected an object of scores by ids of entities, 0 to {len(names) - 1}.")
        head, relation, tail = facts.ids[row].tolist()
        query = {"head": entities[head], "relation": dataset.relations[relation], "tail": entities[tail]}
        time = {"time": times[int(facts.contexts[row])]} if times and facts.contexts is not None else {}
        side = ("tail", "head")[asked]
        yield where, {**query, **time, "side": side, LISTED: {names[key]: score for key, score in scores.items()}}
