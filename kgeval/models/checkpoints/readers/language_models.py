"""Answers of language models that re-rank a base, in the files that the code of KICGPT and of DIFT writes.

``load_checkpoint`` calls the readers: a path and the user's options become ``Predictions``, a scorer of lists. A base
is the model whose best answers the language model re-ranks. Both answer with names of entities, not with labels; the
option ``names`` looks them up. KICGPT writes a file for each side, with a line for each triple. DIFT writes one array:
the best answers of the base, and the name that the language model picked. ``ranks_in`` reads the ranks that DIFT and
SimKGC write beside their answers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from kgeval.base.errors import CheckpointError
from kgeval.data.columns import TRIPLE
from kgeval.data.dataset import Dataset
from kgeval.data.name_lookup import NameLookup
from kgeval.data.triples import SIDES
from kgeval.models.checkpoints.locate import first_lines, first_object, json_in
from kgeval.models.checkpoints.options import Options
from kgeval.models.checkpoints.readers import Reader
from kgeval.models.checkpoints.readers.prediction_model import CheckedLists, Predictions, files_in
from kgeval.models.checkpoints.readers.predictions import LISTED, SCORES, SIMKGC, add_list, objects_in, tail_first

ANSWERS = ("pred", "base")
"""the option ``answers``: a list of DIFT is the answer that the model picked, or the best answers of its base, with
scores"""

RANKS = ("rank", "pred_rank")
"""the keys of ranks in a record; in DIFT's records, the base's rank and a rank by a rule of DIFT"""


def read_kicgpt(path: Path, options: Options) -> Predictions:
    """Read lines of HeadEntity, Question (the relation), Answer (the tail) and Prediction: ``name | name | …``.

    The file's name (``output_tail.txt``) or the option ``side`` says the side. Names are in lower case: they are found
    with ``names=casefold``.
    """
    lists, named = CheckedLists(path, options), {*re.findall("(?<![a-z])(?:head|tail)(?![a-z])", path.name)}
    hint = options.hinted("side", next(iter(named)) if len(named) == 1 else None, path.name)
    side = options.require("side", hint, path.name, SIDES)
    for where, content in objects_in(path):
        if not isinstance(content, dict) or not isinstance(content.get("Prediction"), str):
            raise CheckpointError(f"{where}: expected an object whose Prediction is text, such as name | name.")
        names = content["Prediction"].split(" | ")
        triple = {"head": content.get("HeadEntity"), "relation": content.get("Question"), "tail": content.get("Answer")}
        add_list(where, {**triple, "side": side, LISTED: [name.strip() for name in names if name.strip()]}, lists)
    return lists.predictions("kicgpt")


def read_dift(path: Path, options: Options) -> Predictions:
    """Read the records of ``prediction.json``, or of the array in it; the option ``answers`` chooses what is listed."""
    lists, answers = CheckedLists(path, options), options.require("answers", None, str(path), ANSWERS, optional=True)
    for place, record in enumerate(records_of_dift(path), 1):
        best = {LISTED: record["topk_ents"], SCORES: record.get("topk_scores")}
        listed = best if answers == "base" else {LISTED: [record["pred"]] if record.get("pred") else []}
        add_list(f"{path}, record {place}", {**triple_of_dift(record), **listed}, lists)
    return lists.predictions("dift")


def records_of_dift(path: Path) -> list[dict[str, Any]]:
    content = json_in(path)
    records = content.get("prediction") if isinstance(content, dict) else content
    if not isinstance(records, list) or not all(map(_is_of_dift, records)):
        raise CheckpointError(f"{path}: expected records of triplet, inverse and topk_ents, as DIFT writes them.")
    return records


def triple_of_dift(record: Mapping[str, Any]) -> dict[str, Any]:
    """Take the triple and the side of a record; an inverse one has the tail first, and asks for the head."""
    anchor, relation, answer = record["triplet"]
    head, tail = (answer, anchor) if record.get("inverse") else (anchor, answer)
    return {"head": head, "relation": relation, "tail": tail, "side": "head" if record.get("inverse") else "tail"}


def ranks_in(path: Path, dataset: Dataset) -> pd.DataFrame:
    """Read the ranks that SimKGC (a file or its folder) or DIFT wrote, as a table of texts, with a row for each record.

    The texts of a triple become labels. Text that is no label is the name of an entity; if several entities have it,
    the one counts that makes a triple of the dataset.
    """
    if DIFT.recognises(path):
        rows = [_of_ranks(record | triple_of_dift(record)) for record in records_of_dift(path)]
    else:
        found = [content for file in files_in(path) for _, content in objects_in(file)]
        if not all(isinstance(content, dict) for content in found):
            raise CheckpointError(f"{path}: expected objects of head, relation, tail and ranks.")
        rows = [_of_ranks({"side": "tail"} | tail_first(it, dataset)) if SIMKGC in it else {**it} for it in found]
    lookup = NameLookup(dataset, casefold=True)
    for row in rows:
        triples = lookup.triples(*(str(row.get(name)) for name in TRIPLE))
        if len(triples) == 1:
            (head, relation, tail), entities = triples[0], dataset.entities
            row |= {"head": entities[head], "relation": dataset.relations[relation], "tail": entities[tail]}
    texts = [{key: str(it) for key, it in row.items() if isinstance(it, str | int | float)} for row in rows]
    return pd.DataFrame(texts)


def _of_ranks(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: record[name] for name in (*TRIPLE, "side", *RANKS) if name in record}


def _is_of_dift(record: Any) -> bool:
    return isinstance(record, dict) and "topk_ents" in record and len(record.get("triplet") or ()) == len("hrt")


KICGPT = Reader(
    name="kicgpt",
    summary="KICGPT's output_tail.txt or output_head.txt (lines of HeadEntity, Question, Answer and Prediction)",
    recognises=lambda path: all(f'"{key}"' in first_lines(path, 1)[0] for key in ("Question", "Prediction")),
    read=read_kicgpt,
)

DIFT = Reader(
    name="dift",
    summary="DIFT's prediction.json (records of triplet, inverse, topk_ents and pred)",
    recognises=lambda path: bool({"generation_config", "topk_ents"} & {*first_object(path)}),
    read=read_dift,
)
