"""Hostile pickles: nothing of them runs, none reads beyond its numbers, none asks for memory out of proportion."""

from __future__ import annotations

import contextlib
import os
import pickle
import pickletools
import zipfile

import numpy as np
import pytest

from kgeval.errors import CheckpointError
from kgeval.pickles.pickled import read_any, read_torch
from kgeval.pickles.unpickle import StubObject
from tests.checkpoints.memory import at_most
from tests.checkpoints.pickles import (
    archive,
    called,
    made,
    mapping,
    named,
    program,
    refuse,
    row,
    storage,
    tensor,
    value,
)

TEN = {"0": np.arange(10, dtype=np.float32).tobytes()}

ORDERED = named("collections", "OrderedDict")
REBUILD = named("torch._utils", "_rebuild_tensor_v2")


@pytest.fixture
def target(tmp_path):
    """What a payload would create."""
    sentinel = tmp_path / "executed"
    yield sentinel
    assert not sentinel.exists()


@pytest.fixture
def file(tmp_path):
    return tmp_path / "model.pkl"


def commands(target):
    return {
        "os.system": ("os", "system", f"touch {target}"),
        "posix.system": ("posix", "system", f"touch {target}"),
        "nt.system": ("nt", "system", f"type nul > {target}"),
        "os.mkdir": ("os", "mkdir", str(target)),
        "subprocess.Popen": ("subprocess", "Popen", ["touch", str(target)]),
        "subprocess.check_output": ("subprocess", "check_output", ["touch", str(target)]),
        "builtins.eval": ("builtins", "eval", f"open({str(target)!r}, 'w')"),
        "builtins.exec": ("builtins", "exec", f"open({str(target)!r}, 'w')"),
        "__builtin__.eval": ("__builtin__", "eval", f"open({str(target)!r}, 'w')"),
        "builtins.open": ("builtins", "open", str(target)),
        "io.open": ("io", "open", str(target)),
        "builtins.__import__": ("builtins", "__import__", "antigravity"),
        "importlib.import_module": ("importlib", "import_module", "antigravity"),
        "runpy._run_code": ("runpy", "_run_code", f"open({str(target)!r}, 'w')"),
        "code.InteractiveInterpreter": ("code", "InteractiveInterpreter", {}),
        "pickle.loads": ("pickle", "loads", b"N."),
        "copyreg._reconstructor": ("copyreg", "_reconstructor", None),
        "copyreg.__newobj__": ("copyreg", "__newobj__", None),
        "copy_reg._reconstructor": ("copy_reg", "_reconstructor", None),
        "operator.attrgetter": ("operator", "attrgetter", "system"),
        "types.CodeType": ("types", "CodeType", 0),
        "builtins.bytearray": ("builtins", "bytearray", 2**31),
        "builtins.list": ("builtins", "list", range(3)),
        "builtins.set.__init__": ("builtins", "set.__init__", None),
        "kgeval": ("kgeval.storage.atomic", "write_text", str(target)),
    }


NAMES = list(commands(""))


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_no_model_needs_is_refused(file, target, name):
    module, function, argument = commands(target)[name]
    argument = value(list(argument) if isinstance(argument, range) else argument)
    refuse(archive(file, program(called(named(module, function), argument))), "It was refused; nothing was executed")


@pytest.mark.parametrize("name", ["os.system", "builtins.eval", "subprocess.Popen"])
def test_a_name_on_the_stack_is_refused_too(file, target, name):
    """STACK_GLOBAL of protocol 4: the name is made while the pickle runs."""
    module, function, argument = commands(target)[name]
    name = value(module) + value(function) + b"\x93"
    refuse(archive(file, program(called(name, value(argument)), protocol=4)), "It was refused; nothing was executed")


@pytest.mark.parametrize("module", ["", ".", "torch\0", "os.torch", "_torch", "torchx", "..torch", "Torch"])
def test_a_name_that_only_looks_like_a_library_is_refused(file, module):
    refuse(archive(file, program(value(module) + value("load") + b"\x93", protocol=4)))


INERT = [
    ("torch.hub", "load"),
    ("torch", "load"),
    ("torch.jit", "load"),
    ("torch", "os.system"),
    ("torch.utils.cpp_extension", "load_inline"),
    ("torch.serialization", "os.system"),
    ("numpy.testing._private.utils", "runstring"),
    ("numpy", "load"),
    ("numpy.f2py", "compile"),
    ("pykeen.utils", "subprocess.Popen"),
    ("pathlib", "Path.touch"),
    ("functools", "partial"),
    ("functools", "reduce"),
    ("class_resolver", "os.system"),
    ("collections", "OrderedDict.__init__"),
    ("builtins", "getattr"),
]


@pytest.mark.parametrize(("module", "name"), INERT)
def test_names_of_known_libraries_are_stand_ins_that_do_nothing(file, target, module, name):
    result = read_torch(archive(file, program(called(named(module, name), value(str(target))))))
    assert isinstance(result, StubObject)
    assert result.origin == f"{module}.{name}"
    assert result.args == (str(target),)


@pytest.mark.parametrize(("module", "name"), INERT)
def test_what_a_stand_in_gives_cannot_be_called(file, target, module, name):
    function = called(named(module, name), value("os"), value("system"))
    refuse(archive(file, program(called(function, value(f"touch {target}")))))


def test_a_chain_of_getattr_leads_nowhere(file, target):
    def attribute(owner, name):
        return called(named("builtins", "getattr"), owner, value(name))

    system = attribute(attribute(attribute(REBUILD, "__globals__"), "os"), "system")
    refuse(archive(file, program(called(system, value(f"touch {target}")))))


def test_no_library_is_imported_by_being_named(file):
    import sys

    read_torch(archive(file, program(made(named("torch.utils.tensorboard.writer", "SummaryWriter")))))
    assert "torch.utils.tensorboard.writer" not in sys.modules


@pytest.mark.parametrize(
    "instruction",
    [
        b"(ios\nsystem\n",
        b"(" + named("os", "system") + value("true") + b"o",
        b"(itorch\nload\n",
        b"Pkey\n",
        b"\x82\x01",
        b"\x83\x01\x01",
        b"\x84\x01\x01\x01\x01",
    ],
    ids=["INST", "OBJ", "INST inert", "PERSID", "EXT1", "EXT2", "EXT4"],
)
def test_instructions_that_torch_never_writes_are_refused(file, instruction):
    refuse(archive(file, program(instruction)))


# BUILD: what can be done to the few objects that are real


@pytest.mark.parametrize(
    "state",
    [
        mapping(__class__=named("torch", "x")),
        row(value(None), mapping(__class__=named("torch", "x"))),
        row(mapping(__reduce__=named("torch", "x")), mapping(__init__=named("torch", "x"))),
        mapping(__dict__=value({})),
    ],
    ids=["class", "class as slot", "methods", "dict"],
)
@pytest.mark.parametrize(
    "thing",
    [called(ORDERED), ORDERED, REBUILD, named("builtins", "set"), named("torch", "FloatStorage"), named("torch", "x")],
    ids=["dict", "dict class", "function", "set class", "storage type", "stand-in class"],
)
def test_a_state_can_be_set_on_nothing_that_matters(file, thing, state):
    from collections import OrderedDict

    before = {name: getattr(OrderedDict, name) for name in dir(OrderedDict)}
    with contextlib.suppress(CheckpointError):
        read_torch(archive(file, program(thing + state + b"b")))
    assert {name: getattr(OrderedDict, name) for name in dir(OrderedDict)} == before
    sound = program(
        row(tensor(storage(), (2, 5), (5, 1)), called(ORDERED), called(named("builtins", "set"), value([1])))
    )
    numbers, empty, _ = read_torch(archive(file, sound, TEN))
    assert numbers.tolist() == np.arange(10.0).reshape(2, 5).tolist()
    assert isinstance(empty, OrderedDict)
    assert vars(empty) == {}
    assert len(empty) == 0


@pytest.mark.parametrize("slot", [False, True], ids=["dict", "slot"])
def test_one_file_leaves_no_trace_for_the_next(file, slot):
    function = named("torch._utils", "_rebuild_parameter")
    mark = mapping(marked=value("yes"))
    refuse(
        archive(file, program(function + (row(value(None), mark) if slot else mark) + b"b")),
        "tries to change an object",
    )
    assert not hasattr(read_torch(archive(file, program(function))), "marked")


def test_the_defaults_of_a_function_cannot_be_changed(file):
    state = row(value(None), mapping(__defaults__=value((1, 2, 3, 4))))
    refuse(archive(file, program(REBUILD + state + b"b")), "tries to change an object")
    assert getattr(read_torch(archive(file, program(REBUILD))), "__defaults__", None) is None


@pytest.mark.parametrize(
    "state", [value((1, (5,), "f4", False, b"x" * 20)), value({}), value(((5,), "f4", False, b""))]
)
def test_the_state_of_an_array_cannot_be_set(file, state):
    refuse(archive(file, program(tensor(storage(), (2, 5), (5, 1)) + state + b"b"), TEN))


@pytest.mark.parametrize("thing", [REBUILD, named("torch", "FloatStorage"), value(5), value("text")])
def test_only_classes_make_objects(file, thing):
    refuse(archive(file, program(made(thing))))


# Archives


def test_a_compressed_archive_is_refused(file):
    refuse(archive(file, program(b"N"), compression=zipfile.ZIP_DEFLATED), "its archive is compressed")


def test_compressed_numbers_are_refused_unread(file):
    with zipfile.ZipFile(file, "w") as pack:
        pack.writestr("archive/data.pkl", program(tensor(storage(count=2**24), (2**24,), (1,))))
        pack.writestr("archive/data/0", bytes(2**26), zipfile.ZIP_DEFLATED)
    with at_most(8):
        refuse(file, "compressed")


@pytest.mark.parametrize("names", [[], ["archive/other.pkl"], ["a/data.pkl", "b/data.pkl"]])
def test_an_archive_without_one_pickle_is_refused(file, names):
    with zipfile.ZipFile(file, "w") as pack:
        for name in names:
            pack.writestr(name, program(b"N"))
    refuse(file, "not a PyTorch file")


def test_numbers_of_another_byte_order_are_refused(file):
    with zipfile.ZipFile(file, "w") as pack:
        pack.writestr("archive/data.pkl", program(b"N"))
        pack.writestr("archive/byteorder", "big")
    refuse(file, "big-endian")


@pytest.mark.parametrize("content", [b"", b"\x80\x02N.", pickle.dumps({}), b"junk" * 100], ids=range(4))
def test_a_bare_pickle_is_no_pytorch_file(tmp_path, content):
    path = tmp_path / "trained_model.pkl"
    path.write_bytes(content)
    refuse(path, "not a PyTorch file" if content else "the file is empty")


def test_a_pickle_that_was_made_by_python_itself_does_not_run(file, target):
    class Payload:
        def __reduce__(self):
            return os.system, (f"touch {target}",)

    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        refuse(archive(file, pickletools.optimize(pickle.dumps(Payload(), protocol))))


# Streams (torch.save before version 1.6), and tensors that are pickled as streams


def stream(*programs):
    """What torch wrote before version 1.6, of these pickles."""
    return b"".join(programs)


BEGINNING = [program(value(0x1950A86A20F9469CFC6C)), program(value(1001)), program(value({"little_endian": True}))]


def test_a_stream_is_read(tmp_path):
    path = tmp_path / "m.pt"
    numbers = np.arange(6, dtype=np.float32)
    whole = tensor(storage("7", 6), (2, 3), (3, 1))
    rest = (6).to_bytes(8, "little") + numbers.tobytes()
    path.write_bytes(stream(*BEGINNING, program(mapping(a=whole)), program(value(["7"]))) + rest)
    assert read_torch(path)["a"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_stream_that_announces_too_much_asks_for_no_memory(tmp_path):
    path = tmp_path / "m.pt"
    whole = tensor(storage("7", 2**40), (2**40,), (1,))
    path.write_bytes(stream(*BEGINNING, program(whole), program(value(["7"]))) + (2**40).to_bytes(8, "little"))
    with at_most(10), pytest.raises(CheckpointError, match="holds 0 numbers where 1099511627776 are announced"):
        read_torch(path)


def test_streams_in_streams_are_no_crash(tmp_path):
    """Each holds the next as the bytes of a tensor."""
    content = b""
    for _ in range(60):
        nested = called(named("torch.storage", "_load_from_bytes"), value(content))
        content = stream(*BEGINNING, program(nested), program(value([])))
        if len(content) > 200_000:
            break
    path = tmp_path / "m.pt"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"asks for __builtin__.bytes, which no model needs"):
        read_torch(path)


@pytest.mark.parametrize("module", ["numpy.core.multiarray", "numpy._core.multiarray"])
def test_a_scalar_of_numpy_is_a_text_or_a_number_or_refused(file, module):
    def scalar(kind, content):
        dtype = called(named("numpy", "dtype"), value(kind), value(False), value(True))
        return archive(file, program(called(named(module, "scalar"), dtype, value(content))))

    assert read_torch(scalar("U3", "abc".encode("utf-32-le"))) == "abc"
    for number in (np.float64(0.1), np.float32(3), np.int64(-5), np.uint8(200), np.bool_(True)):
        found = read_torch(scalar(number.dtype.str[1:], number.tobytes()))
        assert (found, type(found)) == (number.item(), type(number.item()))
    refuse(scalar("f8", bytes(16)), "a numpy scalar of f8 that is made of 16 bytes")
    refuse(scalar("i4", bytes(3)), "made of 3 bytes")
    for kind in ("O", "V8", "M8", "S3"):
        refuse(scalar(kind, bytes(8)), "no plain numbers")


def test_numpys_own_pickles_of_scalars_are_read(tmp_path):
    """AmpliGraph 1 keeps what it drew and calibrated, and labels of a graph of numbers, as numpy's scalars."""
    content = {np.str_("ant"): np.int64(3), "norm": np.float64(0.25), "flags": [np.bool_(False), np.float32(2)]}
    for protocol in (2, 4, 5):
        (tmp_path / "m.pkl").write_bytes(pickle.dumps(content, protocol=protocol))
        assert read_any(tmp_path / "m.pkl") == {"ant": 3, "norm": 0.25, "flags": [False, 2.0]}


def test_the_state_of_a_dtype_leaves_no_trace(file):
    program_ = program(named("numpy", "dtype"), mapping(name=value("U9")), b"b")
    refuse(archive(file, program_))
