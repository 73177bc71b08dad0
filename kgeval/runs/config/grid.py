"""A grid of runs: a configuration with several datasets or seeds becomes an ordinary one for each dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kgeval.data.dataset_config import dataset_block
from kgeval.errors import ConfigError, did_you_mean
from kgeval.run_directory.contents import is_folder_name
from kgeval.runs.config.models import model_block
from kgeval.runs.config.variables import Expanded, Place
from kgeval.runs.config.yaml_document import Document
from kgeval.settings.messages import Problem

KEYS = ("datasets", "seeds")

PARTS = ("dataset", "model", "seed")
"""the names that ``--only`` takes"""


@dataclass(frozen=True)
class Only:
    """The runs of a grid to run; by default all."""

    chosen: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, texts: Sequence[str]) -> Only:
        """Read ``dataset=umls,model=TransE``."""
        chosen: dict[str, set[str]] = {}
        for text in (part for one in texts for part in one.split(",")):
            name, equals, value = text.partition("=")
            if not equals or not value or name not in PARTS:
                raise ConfigError(f"--only {text}: expected dataset=NAME, model=NAME or seed=NUMBER.")
            chosen.setdefault(name, set()).add(value)
        return cls({name: frozenset(values) for name, values in chosen.items()})

    def refuse_unknown(self, known: Mapping[str, Sequence[str]]) -> None:
        for name, values in self.chosen.items():
            for value in sorted(values):
                if value not in known[name]:
                    raise ConfigError(f"--only {name}={value}: no such {name}. {did_you_mean(value, known[name])}")

    def __call__(self, name: str, value: str) -> bool:
        return value in self.chosen.get(name, {value})


def is_grid(document: Document) -> bool:
    return any(key in document.content for key in KEYS)


def expand(document: Document, only: Only) -> dict[str, Document]:
    """Make a configuration for each dataset; names of models end with the seed, such as ``TransE/0``."""
    content = document.content
    datasets, models, seeds = _datasets(document), _models(document), _seeds(document)
    only.refuse_unknown({"dataset": [*datasets], "model": [*models], "seed": [str(seed) for seed in seeds]})
    rest = {key: value for key, value in content.items() if key not in (*KEYS, "dataset", "model", "models", "output")}
    given = content.get("output") or str(Path("runs") / Path(document.source).stem)
    if not isinstance(given, str):
        raise _refuse(document, "output", f"expected the path of a folder, found {given!r:.60}")
    output = Path(given)
    documents = {}
    for name, (place, block) in datasets.items():
        if not only("dataset", name):
            continue
        lines = {key: line for key, line in document.lines.items() if key[0] in rest or key[0] == "output"}
        lines |= _moved(document.lines, place, ("dataset",))
        runs: dict[str, Any] = {}
        for model, (origin, value) in models.items():
            for run, own in _runs_of(document, model, value, name, seeds):
                if only("model", model) and (run == model or only("seed", run.rpartition("/")[2])):
                    runs[run] = own
                    lines |= _moved(document.lines, origin, ("models", run))
        if runs:
            own_content = {**rest, "dataset": block, "models": runs, "output": str(output / name)}
            documents[name] = replace(document, content=own_content, lines=lines)
    if not documents:
        raise ConfigError("--only: no run matches all of these values.")
    return documents


def _refuse(document: Document, key: str, why: str, cure: str = "") -> ConfigError:
    return document.refusal([Problem((key,), why, cure)])


def _datasets(document: Document) -> dict[str, tuple[Place, Any]]:
    """The blocks of datasets by name, and their places in the configuration."""
    content = document.content
    if ("dataset" in content) == ("datasets" in content):
        raise _refuse(document, "datasets", "give either dataset (one) or datasets (several)")
    given = content.get("datasets", [content.get("dataset")])
    if isinstance(given, Mapping):
        found: list[tuple[Any, Place, Any]] = [(name, ("datasets", name), block) for name, block in given.items()]
    elif isinstance(given, list) and given:
        of_one = "datasets" not in content
        places: list[Place] = [("dataset",) if of_one else ("datasets", str(at)) for at in range(len(given))]
        found = [(_name_of(block), place, block) for place, block in zip(places, given, strict=True)]
    else:
        raise _refuse(document, "datasets", "expected a list of datasets, or datasets by name")
    for name, _, _ in found:
        if not is_folder_name(name):
            raise _refuse(
                document, "datasets", f"the name {name!r:.60} cannot be the name of a folder", "Write NAME: block."
            )
    if len({name for name, _, _ in found}) < len(found):
        raise _refuse(document, "datasets", "two datasets have the same name", "Name them, as in datasets: {a: PATH}.")
    return {str(name): (place, block) for name, place, block in found}


def _name_of(block: Any) -> str:
    content = dataset_block(block)
    named = content.get("name") or content.get("path") if isinstance(content, Mapping) else None
    return Path(str(named or "dataset")).name if isinstance(content, Mapping) else str(block)


def _models(document: Document) -> dict[str, tuple[Place, Any]]:
    """The blocks of models by name, and their places in the configuration."""
    content = document.content
    if "models" not in content and "model" in content:
        value = content["model"]
        block = model_block(value)
        name = block.get("model") or block.get("baseline") or "model" if isinstance(block, Mapping) else "model"
        return {str(name): (("model",), value)}
    models = content.get("models")
    if not isinstance(models, Mapping) or not models:
        raise _refuse(document, "models", "datasets and seeds need models by name")
    for name in models:
        if not is_folder_name(name):
            why = f"a model's name becomes the name of its folder, so it cannot be {name!r:.60}"
            raise _refuse(document, "models", why)
    return {str(name): (("models", str(name)), block) for name, block in models.items()}


def _seeds(document: Document) -> list[int]:
    seeds = document.content.get("seeds", [])
    whole = isinstance(seeds, list) and all(isinstance(seed, int) and not isinstance(seed, bool) for seed in seeds)
    if not whole or ("seeds" in document.content and not seeds) or len(set(seeds)) < len(seeds):
        raise _refuse(document, "seeds", "expected a list of different whole numbers, such as [0, 1, 2]")
    return list(seeds)


def _runs_of(
    document: Document, name: str, value: Any, dataset: str, seeds: Sequence[int]
) -> Iterator[tuple[str, Any]]:
    """Yield the runs of a model on a dataset: one for each seed, if the model is trained or names the seed."""
    block = model_block(value)
    trained = isinstance(block, Mapping) and block.get("kind") == "pykeen"
    if trained and seeds and "random_seed" in block:
        raise _refuse(document, "seeds", f"models.{name} also has a random_seed", "Leave out seeds or random_seed.")
    if not seeds or not (trained or "{seed}" in str(block)):
        yield name, _filled(block, {"{dataset}": dataset})
        return
    for seed in seeds:
        own = _filled(block, {"{dataset}": dataset, "{seed}": str(seed)})
        yield f"{name}/{seed}", {**own, "random_seed" if trained else "seed": seed}


def _filled(value: Any, words: Mapping[str, str]) -> Any:
    """Replace ``{dataset}`` and ``{seed}`` in all texts of a block."""
    if isinstance(value, Mapping):
        return {key: _filled(inner, words) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, words) for inner in value]
    if not isinstance(value, str):
        return value
    text = str(value)
    for word, filled in words.items():
        text = text.replace(word, filled)
    if not isinstance(value, Expanded):
        return text
    found = type(value)(text)
    written = value.expansion.written
    for word, filled in words.items():
        written = written.replace(word, filled)
    found.plain, found.expansion = text, replace(value.expansion, text=text, written=written)
    return found


def _moved(lines: Mapping[Place, str], old: Place, new: Place) -> dict[Place, str]:
    """Move the lines of a block to another place."""
    return {(*new, *place[len(old) :]): line for place, line in lines.items() if place[: len(old)] == old}
