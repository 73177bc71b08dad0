"""Changed tensors: every tensor in the files of a checkpoint, and what makes another of it that no framework wrote."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgeval.models.checkpoints.readers.ampligraph import read_bundle
from tests.models.checkpoints.layouts import libkges_own_class, save_bundle, torch

TRAINING = {"optimizer_state_dict", "lr_scheduler_state_dict", "optimizer"}
"""the parts of a file that only training needs"""

CHANGES: dict[str, Callable[[np.ndarray], np.ndarray | None]] = {
    "deleted": lambda array: None,
    "truncated": lambda array: array[:-1] if array.ndim else None,
    "narrowed": lambda array: array[..., :-1] if array.ndim > 1 else None,
    "flattened": lambda array: array.reshape(-1) if array.ndim > 1 else array[None],
    "int": lambda array: array.astype(np.int32),
    "bool": lambda array: array != 0,
    "complex": lambda array: array.astype(np.complex64),
    "infinite": lambda array: _with(array, np.inf),
    "minus infinite": lambda array: _with(array, -np.inf),
    "undefined": lambda array: _with(array, np.nan),
}
"""what becomes of a tensor; ``None`` where it goes"""


def _with(array: np.ndarray, value: float) -> np.ndarray:
    """Put a value first, where there is a place for it."""
    changed = np.array(array)
    if changed.dtype.kind == "f":
        changed.flat[0] = value
    return changed


@dataclass(frozen=True)
class Tensor:
    """A tensor in a file of a checkpoint."""

    name: str
    array: np.ndarray
    write: Callable[[np.ndarray | None], None]
    """write the file with another array in its place, or with none"""


def tensors(framework: str, folder: Path) -> Iterator[Tensor]:
    """Yield every tensor of a checkpoint, the files of which are written anew where one is changed."""
    kinds = {"marius": _scripted, "ampligraph": _bundled, "ampligraph1": _in_a_list}
    if framework in kinds:
        yield from kinds[framework](folder)
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and framework != "marius"):
        if path.suffix in {".pt", ".pth", ".pkl", ".ckpt", ".model"} or path.name == "checkpoint":
            yield from _pickled(path)
        elif path.suffix == ".npy" and framework in {"dglke", "dual-encoder", "rotate", "scores", "word2vec"}:
            yield Tensor(path.name, np.load(path), lambda array, path=path: _save(path, array))
        elif path.suffix == ".bern" or path.name == "vectors.txt":
            yield _written(path)
        elif path.suffix == ".npz":
            yield from _zipped(path)
        elif path.suffix == ".safetensors":
            yield from _safe(path)
        elif path.suffix == ".h5":
            yield from _hierarchical(path)
        elif path.suffix == ".json" and framework == "openke" and not path.name.startswith("expected"):
            yield from _listed(path)


def _save(path: Path, array: np.ndarray | None) -> None:
    path.unlink()
    if array is not None:
        np.save(path, array)


def _written(path: Path) -> Tensor:
    """A table of text, perhaps with a line of its sizes and a label before each row; what is not 2-d is one row."""
    rows = [line.split() for line in path.read_text("utf-8").splitlines()]
    sizes, labelled = rows[: len(rows[0]) == 2], len(rows[0]) == 2
    labels = [row[0] if labelled else "" for row in rows[labelled:]]
    table = np.array([row[labelled:] for row in rows[labelled:]], np.float64)

    def write(array: np.ndarray | None) -> None:
        path.unlink()
        if array is not None:
            numbers = np.atleast_2d(array).tolist()
            lines = [sizes[0], *([labels[row], *cells] for row, cells in enumerate(numbers))] if labelled else numbers
            path.write_text("".join(" ".join(map(str, line)) + "\n" for line in lines), "utf-8")

    return Tensor(path.name, table, write)


def _pickled(path: Path) -> Iterator[Tensor]:
    """What torch or pickle wrote: dictionaries of tensors, and modules, which hold such."""
    zipped, plain = (path.read_bytes()[:2] == beginning for beginning in (b"PK", b"\x80\x04"))
    with libkges_own_class(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        content = pickle.loads(path.read_bytes()) if plain else torch.load(path, "cpu", weights_only=False)

    def save() -> None:
        with libkges_own_class():
            if plain:
                path.write_bytes(pickle.dumps(content))
            else:
                torch.save(content, path, _use_new_zipfile_serialization=zipped)

    for prefix, held in _dictionaries(content):
        for name in [name for name, value in held.items() if isinstance(value, torch.Tensor)]:
            yield Tensor(f"{prefix}{name}", *_replaceable(held, name, save))


def _replaceable(held: dict[str, Any], name: str, save: Callable[[], None]) -> tuple[np.ndarray, Any]:
    """The array under a name, and what puts another there and saves what holds it."""
    before, order = held[name], list(held)

    def write(array: np.ndarray | None) -> None:
        if array is None:
            del held[name]
        else:
            made = torch.from_numpy(np.array(array))
            held[name] = torch.nn.Parameter(made, False) if isinstance(before, torch.nn.Parameter) else made
        save()
        held[name] = before
        for key in order:  # at its place again
            held[key] = held.pop(key)

    return before.detach().numpy(), write


def _dictionaries(value: Any, prefix: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Find the dictionaries that tensors are in, with what leads to them."""
    if isinstance(value, torch.nn.Module):
        for name, module in value.named_modules():
            for held in (module._parameters, module._buffers):
                yield f"{name}.", held
    elif isinstance(value, dict):
        yield prefix, value
        for name, part in value.items():
            if name not in TRAINING:
                yield from _dictionaries(part, f"{prefix}{name}/")
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _dictionaries(part, prefix)


def _zipped(path: Path) -> Iterator[Tensor]:
    with np.load(path) as opened:
        arrays = dict(opened)
    yield from _together(arrays, lambda kept: np.savez(path, **kept))


def _safe(path: Path) -> Iterator[Tensor]:
    from safetensors import safe_open
    from safetensors.numpy import save_file

    with safe_open(path, framework="np") as opened:
        arrays, metadata = {name: opened.get_tensor(name) for name in opened.keys()}, opened.metadata()  # noqa: SIM118
    yield from _together(arrays, lambda kept: save_file(kept, path, metadata))


def _bundled(folder: Path) -> Iterator[Tensor]:
    (place,) = folder.rglob("variables")
    arrays = {name: np.array(array) for name, array in read_bundle(place).items()}
    yield from _together(arrays, lambda kept: save_bundle(place, kept))


def _in_a_list(folder: Path) -> Iterator[Tensor]:
    """AmpliGraph 1's tables, the first and the second of a list."""
    (path,) = folder.glob("*.pkl")
    content = pickle.loads(path.read_bytes())
    arrays = {str(row): array for row, array in enumerate(content["model_params"])}

    def save(kept: dict[str, np.ndarray]) -> None:
        path.write_bytes(pickle.dumps({**content, "model_params": list(kept.values())}))

    yield from _together(arrays, save)


def _listed(path: Path) -> Iterator[Tensor]:
    """OpenKE's JSON: booleans are what no framework writes, and JSON has no complex numbers."""
    arrays = {name: np.float32(values) for name, values in json.loads(path.read_text("utf-8")).items()}
    text = {complex: "a+bi"}

    def save(kept: dict[str, np.ndarray]) -> None:
        content = {name: array.tolist() for name, array in kept.items()}
        path.write_text(json.dumps(content, default=lambda value: text[type(value)]), encoding="utf-8")

    yield from _together(arrays, save)


def _scripted(folder: Path) -> Iterator[Tensor]:
    """Marius's relations in TorchScript, and its nodes, of which there is no more than their bytes."""
    path, nodes = folder / "model.pt", folder / "embeddings.bin"
    arrays = {name: value.detach().numpy() for name, value in torch.jit.load(path).named_parameters()}

    def save(kept: dict[str, np.ndarray]) -> None:
        module = torch.nn.Module()
        for name, array in kept.items():
            module.register_parameter(name, torch.nn.Parameter(torch.from_numpy(np.array(array)), False))
        torch.jit.save(torch.jit.script(module), path)

    yield from _together(arrays, save)
    table = np.fromfile(nodes, np.float32).reshape(-1, next(iter(arrays.values())).shape[1])
    yield Tensor(nodes.name, table, lambda array: nodes.write_bytes(b"" if array is None else array.tobytes()))


def _hierarchical(path: Path) -> Iterator[Tensor]:
    h5py = pytest.importorskip("h5py")
    found: dict[str, np.ndarray] = {}
    with h5py.File(path, "r") as file:
        file.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)

    def write(name: str, array: np.ndarray | None) -> None:
        with h5py.File(path, "r+") as file:
            del file[name]
            if array is not None:
                file[name] = array

    for name, array in found.items():
        if not name.startswith("optimizer"):
            yield Tensor(f"{path.name}:{name}", array, lambda array, name=name: write(name, array))


def _together(arrays: dict[str, np.ndarray], save: Callable[[dict[str, np.ndarray]], None]) -> Iterator[Tensor]:
    """Arrays of a file that is written as a whole."""
    for name, array in arrays.items():

        def write(changed: np.ndarray | None, name: str = name) -> None:
            save({key: value for key, value in {**arrays, name: changed}.items() if value is not None})

        yield Tensor(name, array, write)
