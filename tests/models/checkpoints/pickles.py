"""Write pickles by hand, instruction by instruction, into files that look like those of ``torch.save``."""

from __future__ import annotations

import pickle
import pickletools
import zipfile

import numpy as np
import pytest

from kgeval import load_checkpoint
from kgeval.base.errors import CheckpointError
from kgeval.base.pickled import read_pickled

PREFIX = "archive"


def value(content):
    """A plain Python value."""
    return pickletools.optimize(pickle.dumps(content, 2))[2:-1]


def named(module, name):
    """A class or function."""
    return f"c{module}\n{name}\n".encode()


def row(*parts):
    """A tuple."""
    return b"(" + b"".join(parts) + b"t"


def called(function, *arguments):
    """A function's result (REDUCE)."""
    return function + row(*arguments) + b"R"


def made(kind, state=None):
    """An object of a class (NEWOBJ), its state set if there is one (BUILD)."""
    return kind + b")\x81" + (b"" if state is None else state + b"b")


def mapping(**parts):
    """A dictionary."""
    return b"}(" + b"".join(value(key) + part for key, part in parts.items()) + b"u"


def storage(key="0", count=10, kind="FloatStorage"):
    """A reference to the numbers of a file in the archive."""
    return row(value("storage"), named("torch", kind), value(key), value("cpu"), value(count)) + b"Q"


def tensor(numbers, size, stride, offset=0):
    """A view of numbers."""
    return called(REBUILD, numbers, value(offset), value(size), value(stride), value(False), called(ORDERED))


def matrix(key, rows, columns, kind="FloatStorage"):
    """A matrix that is the whole of a storage."""
    return tensor(storage(key, rows * columns, kind), (rows, columns), (columns, 1))


ORDERED = named("collections", "OrderedDict")
REBUILD = named("torch._utils", "_rebuild_tensor_v2")
EMPTY = called(named("numpy.core.multiarray", "_reconstruct"), named("numpy", "ndarray"), value((0,)), value(b"b"))

TEN = {"0": np.arange(10, dtype=np.float32).tobytes()}
"""the numbers of the storage that is named where no other is"""


def module(kind, *, modules=None, parameters=None, buffers=None, **attributes):
    """A PyTorch module."""
    tables = {"_modules": modules or {}, "_parameters": parameters or {}, "_buffers": buffers or {}}
    state = mapping(**{name: mapping(**table) for name, table in tables.items()}, **attributes)
    return made(named(*kind.rsplit(".", 1)), state)


def embedding(weight, **attributes):
    """PyKEEN's representation module around PyTorch's embedding."""
    table = module("torch.nn.modules.sparse.Embedding", parameters={"weight": weight}, max_norm=value(None))
    return module("pykeen.nn.representation.Embedding", modules={"_embeddings": table}, **attributes)


def dtype(kind):
    """A type of numpy's numbers."""
    return called(named("numpy", "dtype"), value(kind), value(False), value(True))


def filled(shape, content, kind=None):
    """An array of numpy's with these numbers, of float32 unless another type is given."""
    kind = dtype("f4") if kind is None else kind
    return EMPTY + row(value(1), value(shape), kind, value(False), content) + b"b"


def model(interaction, entity, *relations, **attributes):
    """A PyKEEN model."""
    lists = {
        f"{kind}_representations": module(
            "torch.nn.modules.container.ModuleList", modules={str(index): part for index, part in enumerate(parts)}
        )
        for kind, parts in (("entity", [entity]), ("relation", relations))
    }
    return module("pykeen.models.unimodal.Any", modules={"interaction": interaction, **lists}, **attributes)


def interaction(name, **parts):
    """A PyKEEN interaction."""
    return module(f"pykeen.nn.modules.{name}Interaction", **parts)


def program(*instructions, protocol=2):
    """A whole pickle."""
    return b"\x80" + bytes([protocol]) + b"".join(instructions) + b"."


BEGINNING = b"".join(map(program, map(value, (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}))))
"""how a file begins that torch wrote before version 1.6"""


def archive(path, pickled, storages=None, *, compression=zipfile.ZIP_STORED):
    """Put a pickle and its numbers into a file, as ``torch.save`` does."""
    with zipfile.ZipFile(path, "w", compression) as file:
        file.writestr(f"{PREFIX}/data.pkl", pickled)
        file.writestr(f"{PREFIX}/byteorder", "little")
        for key, numbers in (storages or {}).items():
            file.writestr(f"{PREFIX}/data/{key}", numbers)
    return path


def refuse(path, message=None):
    """Both ways in refuse the file, with its name."""
    for reading in (read_pickled, load_checkpoint):
        with pytest.raises(CheckpointError, match=message) as refusal:
            reading(path)
        assert str(path) in str(refusal.value)
