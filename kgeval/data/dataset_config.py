"""The block of a configuration that names a graph: a folder, or a dataset of PyKEEN.

``kgeval run`` reads it as the key ``dataset``, and calls :meth:`DatasetConfig.load`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator

from kgeval.base.errors import NoPathError
from kgeval.base.files import exists_safely, suggest_paths
from kgeval.base.setting_problems import short_repr
from kgeval.base.settings import PathText, Settings, as_validation_error, existing, listed, or_text
from kgeval.data.columns import ColumnNames, Columns
from kgeval.data.dataset import Dataset
from kgeval.data.human_names import with_names
from kgeval.data.layouts.labelled import LABELLED_ENDINGS
from kgeval.data.layouts.pykeen import read_named, refuse_unknown_name
from kgeval.data.loading import PYKEEN, load_dataset, recognised, refuse_unknown_layout
from kgeval.data.text import first_line


def readable(path: str) -> str:
    """Refuse a missing or damaged file before any work is done."""
    with as_validation_error():
        first_line(Path(existing(path)))
    return path


ReadableFile = Annotated[PathText, AfterValidator(readable)]


def in_suite(info: ValidationInfo) -> bool:
    """Whether the graph is one of several in a suite: if it cannot be read, it fails alone when its turn comes."""
    return bool(info.context and info.context.get("suite"))


def _folder_or_table(path: str, info: ValidationInfo) -> str:
    if in_suite(info):
        return path
    if not exists_safely(Path(path)):
        raise NoPathError(f"no such folder {short_repr(path)}. {suggest_paths(Path(path))}".strip())
    if Path(path).is_file() and not path.lower().endswith(LABELLED_ENDINGS):
        raise ValueError(f"{short_repr(path)} is a file, and no table of triples. Give a folder, or such a table")
    return path


def _known_layout(name: str) -> str:
    with as_validation_error():
        refuse_unknown_layout(name)
    return name


def _columns(value: Any) -> Any:
    """Check the setting ``columns``: a text, a block or a list."""
    if not isinstance(value, str | dict | list | tuple | None):
        raise ValueError(f"expected columns such as {{head: gene, tail: drug}}, found {value!r:.60}")  # noqa: TRY004
    with as_validation_error():
        Columns.of(value).check()
    return {role: str(column) for role, column in value.items()} if isinstance(value, dict) else value


def dataset_block(value: Any) -> Any:
    """Return the block for a bare string: the path of a folder, or a PyKEEN name."""
    if not isinstance(value, str):
        return value
    return {"path": value} if exists_safely(Path(value)) or len(Path(value).parts) > 1 else {"name": value}


class DatasetConfig(Settings):
    """The graph: a folder, a file with a column ``split``, or a PyKEEN name. A bare string is any of them."""

    model_config = ConfigDict(json_schema_extra=or_text)

    path: Annotated[PathText, AfterValidator(_folder_or_table)] | None = None
    """a folder in any known layout, or a file of triples with a column ``split``"""
    name: str | None = None
    """a PyKEEN dataset"""
    title: Annotated[str, Field(min_length=1)] | None = None
    """what results call it; by default the name of the folder, or PyKEEN's"""
    layout: Annotated[str, AfterValidator(_known_layout)] = "auto"
    """the layout of the folder, by default recognised by its files; ``kgeval list datasets`` shows all"""
    options: dict[str, Any] = Field(default_factory=dict)
    """arguments of the PyKEEN dataset"""
    names: Annotated[
        tuple[ReadableFile, ...],
        BeforeValidator(listed, json_schema_input_type=str | tuple[str, ...]),
        Field(strict=False),
    ] = ()
    """files of rows ``label<TAB>name``: what people call entities and relations, which messages and tables show; by
    default ``entity2text.txt`` and ``relation2text.txt`` in the folder"""

    columns: Annotated[Any, BeforeValidator(_columns, json_schema_input_type=ColumnNames | None)] = None
    """which column of the files holds what: head=…,relation=…,tail=…; or in their order, without a header"""

    @model_validator(mode="before")
    @classmethod
    def _from_string(cls, value: Any) -> Any:
        return dataset_block(value)

    @model_validator(mode="after")
    def _one_source(self, info: ValidationInfo) -> DatasetConfig:
        if (self.path is None) == (self.name is None):
            raise ValueError("give either path (a folder) or name (a PyKEEN dataset)")
        if self.name is not None and self.columns is not None:
            raise ValueError("columns are for files of triples; a PyKEEN dataset has its own")
        if self.path is not None and self.options:
            raise ValueError("options are for a PyKEEN dataset, given by name; a folder has none")
        if self.path is not None and self.layout == PYKEEN:
            raise ValueError(f"layout {PYKEEN!r} takes a PyKEEN name, and this is a folder. Give another layout")
        if self.name is not None and self.layout not in ("auto", PYKEEN):
            missing = f"layout {short_repr(self.layout)} is for folders, but there is no folder {short_repr(self.name)}"
            raise ValueError(f"{missing}. For the PyKEEN dataset of that name, leave the layout out")
        with as_validation_error():
            if self.name is not None:
                refuse_unknown_name(self.name)
            elif self.layout == "auto" and Path(str(self.path)).is_dir() and not in_suite(info):
                recognised(Path(str(self.path)))
        return self

    def load(self) -> Dataset:
        if self.path is not None:
            dataset = load_dataset(self.path, layout=self.layout, names=self.names, columns=self.columns)
        else:
            dataset = read_named(str(self.name), **self.options)
            dataset = with_names(dataset, self.names) if self.names else dataset
        return dataset if self.title is None else replace(dataset, name=self.title)
