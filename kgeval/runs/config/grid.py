"""A grid of runs: a configuration with several datasets or seeds becomes an ordinary one for each dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kgeval.base.errors import ConfigError, did_you_mean
from kgeval.base.settings import Problem
from kgeval.data.dataset_config import dataset_block
from kgeval.ranking.run_directory.contents import is_folder_name
from kgeval.runs.config.models import model_block
from kgeval.runs.config.variables import Place
from kgeval.runs.config.yaml_document import Document

SEEDS = "seeds"

KEYS = ("datasets", SEEDS)

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

    def __call__(self, name: str, value: str | int | None) -> bool:
        return value is None or str(value) in self.chosen.get(name, {str(value)})


def is_grid(document: Document) -> bool:
    content = document.content
    blocks = [content.get("model"), *_blocks(content.get("models")).values()]
    return any(key in content for key in KEYS) or any(SEEDS in _blocks(block) for block in blocks)


@dataclass(frozen=True)
class Grid:
    """The parts of a configuration, and the mistakes by which it has others than were meant."""

    document: Document
    problems: list[Problem] = field(default_factory=list)

    def expand(self, only: Only) -> dict[str, Document]:
        """Make a configuration for each dataset; names of models end with the seed, such as ``TransE/0``."""
        content = self.document.content
        datasets, models = self._datasets(), self._models()
        common = self._seeds(content.get(SEEDS), (SEEDS,)) if SEEDS in content else []
        runs = {
            (model, seed): (place, path, block)
            for model, (place, written) in models.items()
            for seed, path, block in self._runs_of(place, written, common)
        }
        if not self.problems:
            seeds = [str(seed) for seed in (*common, *(seed for _, seed in runs)) if seed is not None]
            only.refuse_unknown({"dataset": [*datasets], "model": [*models], "seed": seeds})
        runs = {run: found for run, found in runs.items() if only("model", run[0]) and only("seed", run[1])}
        origins: dict[Place, Place] = {}
        for run, (place, path, _) in runs.items():
            origins |= {("models", run_name(*run)): place, ("models", run_name(*run), "path"): path}
        rest = {key: value for key, value in content.items() if key not in (*KEYS, "dataset", "model", "models")}
        output = content.get("output") or str(Path("runs") / Path(self.document.source).stem)
        documents = {}
        for name, (place, block) in datasets.items():
            if only("dataset", name):
                blocks = {run_name(*run): _filled(own, "{dataset}", name) for run, (*_, own) in runs.items()}
                folder = str(Path(output) / name) if isinstance(output, str) else output
                own_content = {**rest, "dataset": block, "models": blocks, "output": folder}
                own_origins = {**origins, ("dataset",): place}
                documents[name] = replace(self.document, content=own_content, origins=own_origins)
        if not (documents and (runs or self.problems)):
            raise ConfigError("--only: no run matches all of these values.")
        return documents

    def _refuse(self, place: Place, why: str, cure: str = "") -> None:
        self.problems.append(Problem(place, why, cure))

    def _datasets(self) -> dict[str, tuple[Place, Any]]:
        """The blocks of datasets by name, and their places in the configuration."""
        content = self.document.content
        given = content.get("datasets", [content.get("dataset")])
        found: list[tuple[Any, Place, Any]] = []
        how = "Name it in datasets: {NAME: BLOCK}."
        if ("dataset" in content) == ("datasets" in content):
            self._refuse(("datasets",), "give either dataset (one) or datasets (several)")
        elif isinstance(given, Mapping):
            found = [(name, ("datasets", name), _titled(block, name)) for name, block in given.items()]
            how = "A name is not empty, has no slash and is no file of a run."
        elif isinstance(given, list) and given:
            places: list[Place] = [("datasets", str(at)) for at in range(len(given))]
            places = places if "datasets" in content else [("dataset",)]
            found = [(_name_of(block), place, block) for place, block in zip(places, given, strict=True)]
        else:
            self._refuse(("datasets",), "expected a list of datasets, or datasets by name")
        for name, place, _ in found:
            if not is_folder_name(name):
                self._refuse(place, f"the name {name!r:.60} cannot be the name of a folder", how)
        for name, count in Counter(name for name, *_ in found).items():
            if count > 1:
                blocks = (block for own, _, block in found if own == name)
                named = ", ".join(f"{name}-{at}: {_spelled(block)}" for at, block in enumerate(blocks, 1))
                why, cure = f"{count} datasets are called {name!r:.60}", f"Name them, as in datasets: {{{named}}}."
                self._refuse(("datasets",), why, cure)
        return {str(name): (place, block) for name, place, block in found} or {"": (("datasets",), None)}

    def _models(self) -> dict[str, tuple[Place, Any]]:
        """The blocks of models by name, and their places in the configuration."""
        content = self.document.content
        if "models" not in content and "model" in content:
            value = content["model"]
            block = _blocks(model_block(value))
            name = block.get("model") or block.get("baseline") or "model"
            return {str(name): (("model",), value)}
        models = content.get("models")
        if not isinstance(models, Mapping) or not models:
            self._refuse(("models",), "datasets and seeds need models by name")
        for name in _blocks(models):
            if not is_folder_name(name):
                why = f"a model's name becomes the name of its folder, so it cannot be {name!r:.60}"
                self._refuse(("models", name), why)
        return {str(name): (("models", str(name)), block) for name, block in _blocks(models).items()}

    def _seeds(self, given: Any, place: Place) -> list[int]:
        """Take the whole numbers of a list, or of the keys of a block."""
        listed = [*given] if isinstance(given, list | Mapping) else []
        seeds = [seed for seed in listed if isinstance(seed, int) and not isinstance(seed, bool)]
        if not seeds or len({*seeds}) < len(listed):
            self._refuse(place, "expected a list of different whole numbers, such as [0, 1, 2]")
        return [*dict.fromkeys(seeds)]

    def _runs_of(self, place: Place, value: Any, common: list[int]) -> Iterator[tuple[int | None, Place, Any]]:
        """Yield the seeds of a model, its own or the common ones; where the path of each stands; and its block."""
        block = model_block(value)
        own = _blocks(block)
        trained, by_seed = own.get("kind") == "pykeen", own.get(SEEDS)
        fixed = next((key for key in ("random_seed", "seed") if key in own), None)
        seeds = self._seeds(by_seed, (*place, SEEDS)) if SEEDS in own else common
        takes_seed = trained or "{seed}" in str(block) or isinstance(by_seed, Mapping)
        if fixed and seeds and (takes_seed or SEEDS in own):
            self._refuse(place, f"it has a {fixed}, and there are {SEEDS} too", f"Leave out {fixed} or {SEEDS}.")
        elif isinstance(by_seed, Mapping) and (trained or "path" in own):
            why = "a path for each seed is for a checkpoint, instead of its path"
            self._refuse((*place, SEEDS), why, "Write a list of seeds.")
        elif SEEDS in own and not takes_seed:
            cure = f"Write {{seed}} in the path, or a path for each seed, as in {SEEDS}: {{0: PATH, 1: PATH}}."
            self._refuse((*place, SEEDS), "all of these seeds would be one model", cure)
        rest = {key: it for key, it in own.items() if key != SEEDS}
        if not seeds or not takes_seed:
            yield None, (*place, "path"), rest or block
            return
        for seed in seeds:
            at, path = (*place, "path"), {}
            if isinstance(by_seed, Mapping):
                at, path = (*place, SEEDS, str(seed)), {"path": by_seed[seed]}
            yield seed, at, {**_filled({**rest, **path}, "{seed}", str(seed)), SEED[trained]: seed}


SEED = {True: "random_seed", False: "seed"}
"""the key of the seed of a model, by whether it is trained"""


def run_name(model: str, seed: int | None) -> str:
    return model if seed is None else f"{model}/{seed}"


def _blocks(value: Any) -> Mapping[str, Any]:
    """The keys of a block; none of anything else."""
    return value if isinstance(value, Mapping) else {}


def _name_of(block: Any) -> str:
    """What results call a dataset, if its block has no title."""
    content = dataset_block(block)
    named = _blocks(content).get("title") or _blocks(content).get("name") or _blocks(content).get("path")
    return Path(str(named or "dataset")).name if isinstance(content, Mapping) else str(block)


def _titled(block: Any, name: Any) -> Any:
    """Give a dataset the name that it has in the configuration, unless it is called so anyway."""
    content = dataset_block(block)
    return block if not isinstance(content, Mapping) or name in ("", _name_of(block)) else {**content, "title": name}


def _spelled(block: Any) -> str:
    return str(_blocks(dataset_block(block)).get("path", block))


def _filled(value: Any, word: str, filled: str) -> Any:
    """Replace ``{dataset}`` or ``{seed}`` in all texts of a block."""
    if isinstance(value, Mapping):
        return {key: _filled(inner, word, filled) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, word, filled) for inner in value]
    return value.replace(word, filled) if isinstance(value, str) else value
