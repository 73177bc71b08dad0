"""The grid of a configuration: with several datasets or seeds, one file gives a configuration for each dataset.

``load_configs`` gives :class:`Grid` what was read from a file, unchecked. Out come, for each dataset, the same keys
with this one dataset and with every model once for each seed; and the problems of the grid itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from kgeval.base.errors import ConfigError, did_you_mean
from kgeval.base.setting_problems import Problem
from kgeval.data.dataset_config import dataset_block
from kgeval.runs.config.models import model_block
from kgeval.runs.config.yaml_document import Document, Place
from kgeval.stored.contents import is_folder_name

SEEDS = "seeds"

KEYS = ("datasets", "suite", SEEDS)
"""a configuration with any of these keys is a grid; so is one with seeds of a single model"""

PARTS = ("dataset", "model", "seed")
"""the names that ``--only`` takes"""


@dataclass(frozen=True)
class Grid:
    """A configuration with several datasets or seeds, and the mistakes in these."""

    document: Document
    only: Mapping[str, set[str]]
    """by part (``dataset``, ``model``, ``seed``), the values that are run; all are run of a part that is not named"""
    problems: list[Problem] = field(default_factory=list)
    """the mistakes, which :meth:`expand` finds"""

    def expand(self) -> dict[str, Document]:
        """Make a configuration for each dataset; names of models end with the seed, such as ``TransE/0``."""
        content = self.document.content
        datasets, models = self._datasets(), self._models()
        common = self._seeds(content[SEEDS], (SEEDS,)) if SEEDS in content else []
        runs = [run for model, written in models.items() for run in self._runs_of(model, *written, common)]
        if not self.problems:
            seeds = [str(seed) for seed in (*common, *(run.seed for run in runs)) if seed is not None]
            self._refuse_unknown({"dataset": [*datasets], "model": [*models], "seed": seeds})
        runs = [run for run in runs if self._is_run("model", run.model) and self._is_run("seed", run.seed)]
        origins: dict[Place, Place] = {("models", run.name): models[run.model][0] for run in runs}
        origins |= {("models", run.name, "path"): run.path_place for run in runs}
        rest = {key: value for key, value in content.items() if key not in (*KEYS, "dataset", "model", "models")}
        rest |= self._groups([*datasets])
        output = content.get("output") or str(Path("runs") / Path(self.document.source).stem)
        documents = {}
        for name, (place, block) in datasets.items():
            if self._is_run("dataset", name):
                fill = partial(self.document.fill, word="{dataset}", value=name)
                models_of_part = {run.name: fill(run.block) for run in runs}
                folder = str(Path(output) / name) if isinstance(output, str) else output
                part = {**rest, "dataset": block, "models": models_of_part, "output": folder}
                documents[name] = replace(self.document, content=part, origins={**origins, ("dataset",): place})
        if not (documents and (runs or self.problems)):
            raise ConfigError("--only: no run matches all of these values.")
        return documents

    def _datasets(self) -> dict[str, tuple[Place, Any]]:
        """The blocks of datasets by name, and their places in the configuration."""
        content = self.document.content
        graphs = _block(content.get("suite")).get("graphs")
        keys: Place = ("datasets",) if graphs is None else ("suite", "graphs")
        listed = content.get("datasets", [content.get("dataset")]) if graphs is None else graphs
        entries: list[tuple[Any, Place, Any]] = []
        how = "Name it in datasets: {NAME: BLOCK}."
        if ("dataset" in content) + ("datasets" in content) + (graphs is not None) != 1:
            self._refuse(keys, "give either dataset (one), or datasets or suite.graphs (several)")
        elif isinstance(listed, Mapping):
            entries = [(name, (*keys, name), block) for name, block in listed.items()]
            how = "A name is not empty, has no slash and is no file of a run."
        elif isinstance(listed, list) and listed:
            places: list[Place] = [
                ("dataset",) if "dataset" in content else (*keys, str(at)) for at in range(len(listed))
            ]
            entries = [(_name_of(block), place, block) for place, block in zip(places, listed, strict=True)]
        else:
            self._refuse(keys, "expected a list of datasets, or datasets by name")
        for name, place, _ in entries:
            if not is_folder_name(name):
                self._refuse(place, f"the name {name!r:.60} cannot be the name of a folder", how)
        self._refuse_alike(keys, [(str(name), block) for name, _, block in entries])
        is_named = isinstance(listed, Mapping) or "suite" in content
        parts = {
            str(name): (place, _titled(block, str(name), even="suite" in content) if is_named else block)
            for name, place, block in entries
        }
        return parts or {"": (keys, None)}

    def _refuse_alike(self, keys: Place, named: Sequence[tuple[str, Any]]) -> None:
        """Refuse different names that results would take for the same one."""
        from kgeval.analysis.comparison.comparable import bare_name

        keys_of = [bare_name(name) or name for name, _ in named]
        for key in {key for key in keys_of if keys_of.count(key) > 1}:
            same = [one for one, other in zip(named, keys_of, strict=True) if other == key]
            listed = ", ".join(f"{name}-{at}: {_spelled(block)}" for at, (name, block) in enumerate(same, 1))
            called = " or ".join(dict.fromkeys(f"{name!r:.60}" for name, _ in same))
            self._refuse(keys, f"{len(same)} datasets are called {called}", f"Name them, as in datasets: {{{listed}}}.")

    def _groups(self, datasets: Sequence[str]) -> dict[str, Any]:
        """The block ``suite`` that each dataset gets: the groups of datasets, and one group with all of them."""
        from kgeval.analysis.comparison.over_graphs import ALL

        suite = _block(self.document.content.get("suite"))
        groups = suite.get("groups", {})
        if ALL in _block(groups):
            self._refuse(("suite", "groups", ALL), "the group of all graphs is always there", "Leave it out.")
        for name, graphs in _block(groups).items():
            for graph in graphs if isinstance(graphs, list) else ():
                if graph not in datasets:
                    why = f"there is no graph called {graph!r:.60}"
                    self._refuse(("suite", "groups", str(name)), why, did_you_mean(str(graph), datasets))
        if not suite:
            return {}
        rest = {key: value for key, value in suite.items() if key != "graphs"}
        return {"suite": {**rest, "groups": {**groups, ALL: [*datasets]} if isinstance(groups, Mapping) else groups}}

    def _models(self) -> dict[str, tuple[Place, Any]]:
        """The blocks of models by name, and their places in the configuration."""
        content = self.document.content
        if "models" not in content and "model" in content:
            block = _block(model_block(content["model"]))
            name = block.get("model") or block.get("baseline") or "model"
            return {str(name): (("model",), content["model"])}
        models = _block(content.get("models"))
        if not models:
            self._refuse(("models",), "datasets and seeds need models by name")
        for name in models:
            if not is_folder_name(name):
                why = f"a model's name becomes the name of its folder, so it cannot be {name!r:.60}"
                self._refuse(("models", name), why)
        return {str(name): (("models", str(name)), block) for name, block in models.items()}

    def _seeds(self, value: Any, place: Place) -> list[int]:
        """Take the whole numbers of a list, or of the keys of a block."""
        listed = [*value] if isinstance(value, list | Mapping) else []
        seeds = [seed for seed in listed if isinstance(seed, int) and not isinstance(seed, bool)]
        if not seeds or len({*seeds}) < len(listed):
            self._refuse(place, "expected a list of different whole numbers, such as [0, 1, 2]")
        return [*dict.fromkeys(seeds)]

    def _runs_of(self, model: str, place: Place, value: Any, common: list[int]) -> Iterator[_Run]:
        """Yield the runs of a model: with its own seeds or the common ones, or without a seed."""
        block = model_block(value)
        keys = _block(block)
        trained, by_seed = keys.get("kind") == "pykeen", keys.get(SEEDS)
        fixed = next((key for key in ("random_seed", "seed") if key in keys), None)
        seeds = self._seeds(by_seed, (*place, SEEDS)) if SEEDS in keys else common
        takes_seed = trained or "{seed}" in str(block) or isinstance(by_seed, Mapping)
        if fixed and seeds and (takes_seed or SEEDS in keys):
            self._refuse(place, f"it has a {fixed}, and there are {SEEDS} too", f"Leave out {fixed} or {SEEDS}.")
        elif isinstance(by_seed, Mapping) and (trained or "path" in keys):
            why = "a path for each seed is for a checkpoint, instead of its path"
            self._refuse((*place, SEEDS), why, "Write a list of seeds.")
        elif SEEDS in keys and not takes_seed:
            cure = f"Write {{seed}} in the path, or a path for each seed, as in {SEEDS}: {{0: PATH, 1: PATH}}."
            self._refuse((*place, SEEDS), "all of these seeds would be one model", cure)
        rest = {key: setting for key, setting in keys.items() if key != SEEDS}
        if not seeds or not takes_seed:
            yield _Run(model, None, rest or block, (*place, "path"))
            return
        for seed in seeds:
            path_place, path = (*place, "path"), {}
            if isinstance(by_seed, Mapping):
                path_place, path = (*place, SEEDS, str(seed)), {"path": by_seed[seed]}
            filled = self.document.fill({**rest, **path}, "{seed}", str(seed))
            yield _Run(model, seed, {**filled, "random_seed" if trained else "seed": seed}, path_place)

    def _refuse_unknown(self, known: Mapping[str, Sequence[str]]) -> None:
        for name, values in self.only.items():
            for value in sorted(values - {*known[name]}):
                raise ConfigError(f"--only {name}={value}: no such {name}. {did_you_mean(value, known[name])}")

    def _is_run(self, part: str, value: str | int | None) -> bool:
        return value is None or str(value) in self.only.get(part, {str(value)})

    def _refuse(self, place: Place, why: str, cure: str = "") -> None:
        self.problems.append(Problem(place, why, cure))


class _Run(NamedTuple):
    """A model with one seed, or with none."""

    model: str
    seed: int | None
    block: Any
    path_place: Place
    """where the path of a checkpoint stands in the file"""

    @property
    def name(self) -> str:
        return self.model if self.seed is None else f"{self.model}/{self.seed}"


def _block(value: Any) -> Mapping[str, Any]:
    """The keys of a block; none of anything else."""
    return value if isinstance(value, Mapping) else {}


def _name_of(block: Any) -> str:
    """What results call a dataset, if its block has no title."""
    content = dataset_block(block)
    named = _block(content).get("title") or _block(content).get("name") or _block(content).get("path")
    return Path(str(named or "dataset")).name if isinstance(content, Mapping) else str(block)


def _titled(block: Any, name: str, *, even: bool) -> Any:
    """Give a dataset the name that it has in the configuration; ``even`` if its path, perhaps a link, ends in it."""
    content = dataset_block(block)
    is_named = name == "" or (name == _name_of(block) and not even)
    return block if not isinstance(content, Mapping) or is_named else {**content, "title": name}


def _spelled(block: Any) -> str:
    """Spell a dataset in a message: by its path, if it has one."""
    return str(_block(dataset_block(block)).get("path", block))


def is_grid(document: Document) -> bool:
    """Whether a configuration has several datasets, or seeds."""
    content = document.content
    blocks = [content.get("model"), *_block(content.get("models")).values()]
    return any(key in content for key in KEYS) or any(SEEDS in _block(block) for block in blocks)


def chosen_parts(texts: Sequence[str]) -> dict[str, set[str]]:
    """Read the values of ``--only`` by name, as in ``dataset=umls,model=TransE``."""
    chosen: dict[str, set[str]] = {}
    for text in (part for listed in texts for part in listed.split(",")):
        name, equals, value = text.partition("=")
        if not equals or not value or name not in PARTS:
            raise ConfigError(f"--only {text}: expected dataset=NAME, model=NAME or seed=NUMBER.")
        chosen.setdefault(name, set()).add(value)
    return chosen
