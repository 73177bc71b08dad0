"""Hostile pickles: nothing of them runs, none changes what it was given, none reads beyond its numbers."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import pickletools
import sys
import zipfile
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from kgeval import load_checkpoint
from kgeval.base.errors import CheckpointError
from kgeval.base.pickled import read_pickled
from tests.models.checkpoints.memory import at_most
from tests.models.checkpoints.pickles import (
    BEGINNING,
    EMPTY,
    ORDERED,
    REBUILD,
    TEN,
    archive,
    called,
    dtype,
    filled,
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


@pytest.fixture
def target(tmp_path):
    """What a payload would create."""
    sentinel = tmp_path / "executed"
    yield sentinel
    assert not sentinel.exists()


# Names

COMMANDS = {
    "touch {}": ["os system", "posix system", "nt system", "subprocess Popen", "subprocess check_output"],
    "open('{}', 'w')": ["builtins eval", "builtins exec", "__builtin__ eval", "runpy _run_code"],
    "{}": ["os mkdir", "builtins open", "io open", "kgeval.base.storage write_text"],
    "antigravity": ["builtins __import__", "importlib import_module"],
    "N.": ["pickle loads", "copyreg _reconstructor", "copyreg __newobj__", "copy_reg _reconstructor"],
    "system": ["operator attrgetter", "types CodeType", "code InteractiveInterpreter"],
    "abc": ["builtins bytearray", "builtins list", "builtins set.__init__"],
}
"""what would be called, by what it would be called with"""


@pytest.mark.parametrize(("name", "command"), [(name, key) for key, names in COMMANDS.items() for name in names])
def test_a_name_that_no_model_needs_is_refused(file, target, name, command):
    """By its own instruction, and put together on the stack."""
    module, function = name.split()
    for asked in (named(module, function), value(module) + value(function) + b"\x93"):
        attack = program(called(asked, value(command.format(target))), protocol=4)
        refuse(archive(file, attack), "which no model needs. Nothing was executed")


@pytest.mark.parametrize("module", ["", ".", "torch\0", "os.torch", "_torch", "torchx", "..torch", "Torch"])
def test_a_name_that_only_looks_like_a_library_is_refused(file, module):
    refuse(archive(file, program(value(module) + value("load") + b"\x93", protocol=4)))


INERT = [
    *("torch.hub load", "torch load", "torch.jit load", "torch os.system", "torch.utils.cpp_extension load_inline"),
    *("torch.serialization os.system", "numpy.testing._private.utils runstring", "numpy load", "numpy.f2py compile"),
    *("pykeen.utils subprocess.Popen", "pathlib Path.touch", "functools partial", "functools reduce"),
    *("class_resolver os.system", "collections OrderedDict.__init__", "builtins getattr", "builtins set"),
]


@pytest.mark.parametrize("name", INERT)
def test_names_of_known_libraries_are_stand_ins_that_do_nothing(file, target, name):
    made_of = called(named(*name.split()), value(str(target)))
    result = read_pickled(archive(file, program(made_of)))
    assert (result.origin, result.args) == (name.replace(" ", "."), (str(target),))
    refuse(archive(file, program(called(made_of, value(f"touch {target}")))))


@pytest.mark.parametrize("stream", [False, True], ids=["archive", "stream"])
def test_what_calls_itself_a_module_does_nothing(file, target, stream):
    """A module of any name is a stand-in, and what it holds is refused by its own name."""
    state = mapping(_modules=mapping(), _parameters=mapping())
    kind = (
        row(value("module"), named("os", "mkdir"), value("os.py"), value("")) + b"Q" if stream else named("os", "mkdir")
    )
    call = b"(" + made(kind, state) + called(named("os", "mkdir"), value(str(target))) + b"t"
    for attack, refusal in ((call, None), (call + named("posix", "system") + b"\x86", "asks for posix.system")):
        whole = program(attack)
        if stream:
            file.write_bytes(BEGINNING + whole + program(value([])))
        else:
            archive(file, whole)
        if refusal:
            refuse(file, refusal)
        else:
            assert [stub.origin for stub in read_pickled(file)] == ["os.mkdir", "os.mkdir"]


def test_modules_in_modules_are_no_crash(file):
    """Each holds the others, and itself."""
    names = [f"m{index}" for index in range(30)]
    made_of = [made(named("net", "Net")) + f"q{chr(index)}".encode("latin1") + b"0" for index in range(30)]
    table = mapping(**{name: f"h{chr(index)}".encode("latin1") for index, name in enumerate(names)})
    states = [
        f"h{chr(index)}".encode("latin1") + mapping(_modules=table, _parameters=b"}") + b"b0" for index in range(30)
    ]
    archive(file, program(*made_of, *states, b"h\0"))
    refuse(file, "repeats a few values")
    chain = made(named("net", "Net"), mapping(_modules=b"}", _parameters=mapping(E=tensor(storage(), (2, 5), (5, 1)))))
    for _ in range(2000):
        chain = made(named("net", "Net"), mapping(_modules=mapping(m=chain), _parameters=b"}"))
    with pytest.raises(CheckpointError, match=r"holds (m\.)+m \[\]; expected"):
        load_checkpoint(archive(file, program(chain), TEN), format="state-dict")


def test_no_library_is_imported_by_being_named(file):
    read_pickled(archive(file, program(made(named("torch.utils.tensorboard.writer", "SummaryWriter")))))
    assert "torch.utils.tensorboard.writer" not in sys.modules


def test_a_pickle_that_was_made_by_python_itself_does_not_run(file, target):
    class Payload:
        def __reduce__(self):
            return os.system, (f"touch {target}",)

    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        refuse(archive(file, pickletools.optimize(pickle.dumps(Payload(), protocol))))


# Tables of attacks

LONG_AND_EMPTY = filled((10**9, 0), b"C\0")
"""an array that says it has a thousand million rows, and has no numbers"""

SHORT = filled((2,), value(bytes(8)))
FLOATS, ANY = named("torch", "FloatStorage"), named("torch", "x")

STATES = {
    "none": value(None),
    "number": value(5),
    "list": value(["DoubleStorage"]),
    "name": value({"name": "DoubleStorage"}),
    "numbers": mapping(numbers=LONG_AND_EMPTY),
    "short": mapping(numbers=SHORT),
    "slot": row(value(None), mapping(numbers=LONG_AND_EMPTY)),
    "defaults": row(value(None), mapping(__defaults__=value((1, 2, 3, 4)))),
}

ATTRIBUTE = called(named("builtins", "getattr"), REBUILD, value("__globals__"))


def of_shape(shape):
    return filled(shape, value(b"ab"), dtype("i1"))


REFUSED = {
    "which no model needs": {
        "INST": b"(ios\nsystem\n",
        "OBJ": b"(" + named("os", "system") + value("true") + b"o",
        "INST inert": b"(itorch\nload\n",
        "PERSID": b"Pkey\n",
        "EXT1": b"\x82\x01",
        "EXT2": b"\x83\x01\x01",
        "EXT4": b"\x84\x01\x01\x01\x01",
    },
    "tries to change an object": {
        f"{which} by {how}": thing + state + b"b"
        for which, thing in {"type": FLOATS, "function": REBUILD, "numbers": storage()}.items()
        for how, state in STATES.items()
    },
    "fills an array twice": {
        "twice": SHORT + row(value(1), value((1,)), dtype("f4"), value(False), value(bytes(4))) + b"b"
    },
    "read-only": {"item of an array": SHORT + value(0) + value(5.0) + b"s"},
    "describes the numbers of an array": {
        repr(state): dtype("f4") + value(state) + b"b" for state in ("<", {}, (3,), (3, 5), [3, "<"])
    },
    "an array of the shape": {repr(shape): of_shape(shape) for shape in ((-1, -2), 2, [2], None, (2.0,))}
    | {"of an array": filled((2,), value(b"ab"), dtype("i1")).replace(value((2,)), LONG_AND_EMPTY)},
    "an array of objects": {
        "list": filled((2,), value([1, 2])),
        "text as type": filled((2,), value(b"ab"), value("i1")),
        "array as type": filled((2,), value(b"ab"), LONG_AND_EMPTY),
    },
    "which are not plain numbers": {
        "objects": filled((2,), value(bytes(16)), dtype("O8")),
        "text": filled((2,), value(bytes(8)), dtype("U1")),
        "another byte order": filled((2,), value(bytes(16)), dtype("i8") + value((3, ">")) + b"b"),
    },
    "damaged": {
        "beyond all memory": of_shape((2**62, 2)),
        "too few numbers": of_shape((3,)),
        "short state": EMPTY + value((1, (2,))) + b"b",
        "number as state": EMPTY + value(5) + b"b",
        "array as state": EMPTY + LONG_AND_EMPTY + b"b",
        "state of a tensor": tensor(storage(), (2, 5), (5, 1)) + value((1, (5,), "f4", False, b"x" * 20)) + b"b",
        "state of a type of numbers": named("numpy", "dtype") + mapping(name=value("U9")) + b"b",
        "chain of getattr": called(ATTRIBUTE, value("os")),
        **{f"object of {part}": made(value(part)) for part in (5, "text")},
        "object of a function": made(REBUILD),
        "object of a type": made(FLOATS),
    },
    "that is not a storage": {
        repr(part): tensor(value(part), (2,), (1,)) for part in ([1.0] * 10, "0123456789", b"0123456789", None)
    }
    | {"stand-in": tensor(made(ANY), (2,), (1,)), "function": tensor(REBUILD, (2,), (1,))}
    # A stretched view says that it is long; taken for numbers, it would let the next one read beyond them.
    | {f"view from {at}": tensor(tensor(storage(), (10,), (0,), offset=9), (10 - at,), (1,), at) for at in (0, 9)},
    "": {
        f"reference: {name}": tensor(reference, (2,), (1,))
        for name, reference in {
            "too short": storage(count=11),
            "wrong key": storage(key="1"),
            "the pickle itself": storage(key="../data.pkl"),
            "traversal": storage(key="../../../../../../etc/passwd"),
            "absolute": storage(key="/etc/passwd"),
            "no key": storage(key=""),
            "untyped": storage(kind="UntypedStorage"),
            "unknown type": storage(kind="NoStorage"),
            "too wide": storage(kind="DoubleStorage"),
            "text count": storage(count="10"),
            "no count": storage(count=None),
            "text": value("0") + b"Q",
            "array": LONG_AND_EMPTY + b"Q",
            "short tuple": value(("storage",)) + b"Q",
            "text type": value(("storage", "FloatStorage", "0", "cpu", 10)) + b"Q",
            "other kind": row(value("module"), FLOATS, value("0"), value("cpu"), value(10)) + b"Q",
        }.items()
    },
}
"""(what is told, the attack): its instructions"""


@pytest.mark.parametrize(
    ("message", "attack"), [(message, name) for message, attacks in REFUSED.items() for name in attacks]
)
def test_an_attack_is_refused_by_its_reason(file, message, attack):
    with at_most(8):
        refuse(archive(file, program(REFUSED[message][attack], protocol=4), TEN), message or None)


@pytest.mark.parametrize(
    "state",
    [
        mapping(__class__=ANY),
        row(value(None), mapping(__class__=ANY)),
        row(mapping(__reduce__=ANY), mapping(__init__=ANY)),
        mapping(__dict__=value({})),
    ],
    ids=["class", "class as slot", "methods", "dict"],
)
@pytest.mark.parametrize(
    "thing",
    [called(ORDERED), ORDERED, REBUILD, named("builtins", "set"), FLOATS, ANY],
    ids=["dict", "dict class", "function", "set class", "storage type", "stand-in class"],
)
def test_a_state_can_be_set_on_nothing_that_matters(file, thing, state):
    """Not in this file, and not in the next."""
    before = {name: getattr(OrderedDict, name) for name in dir(OrderedDict)}
    with contextlib.suppress(CheckpointError):
        read_pickled(archive(file, program(thing + state + b"b")))
    assert {name: getattr(OrderedDict, name) for name in dir(OrderedDict)} == before
    numbers, empty = read_pickled(archive(file, program(row(tensor(storage(), (2, 5), (5, 1)), called(ORDERED))), TEN))
    assert numbers.tolist() == np.arange(10.0).reshape(2, 5).tolist()
    assert isinstance(empty, OrderedDict)
    assert vars(empty) == {}
    assert len(empty) == 0


@pytest.mark.parametrize("slot", [False, True], ids=["dict", "slot"])
def test_a_dictionary_keeps_its_methods(file, slot):
    """As torch writes them, dictionaries of tensors have a state: it must be read, and do nothing."""
    names = ("items", "get", "keys", "values", "__iter__", "__len__", "pop", "copy")
    state = mapping(**dict.fromkeys(names, value(5)), _metadata=called(ORDERED))
    state = row(value(None), state) if slot else state
    read = read_pickled(archive(file, program(called(ORDERED) + b"(" + value("a") + value(1) + b"u" + state + b"b")))
    assert isinstance(read, OrderedDict)
    assert list(read.items()) == [("a", 1)]
    assert read.get("a") == 1
    assert vars(read) == {}


# Views of numbers

LENGTHS = st.one_of(st.integers(-2, 12), st.sampled_from([2**31, 2**62, -(2**62)]))


def fits(size, stride, offset):
    """Whether a view is of no more than ten numbers, each among the ten."""
    if len(size) != len(stride) or min([*size, *stride, offset, 0]) < 0 or np.prod(size, dtype=object) > 10:
        return False
    indices = itertools.product(*map(range, size)) if all(size) else ()
    return all(0 <= offset + sum(i * step for i, step in zip(index, stride, strict=True)) < 10 for index in indices)


@settings(
    max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(size=st.lists(LENGTHS, max_size=3), stride=st.lists(LENGTHS, max_size=3), offset=LENGTHS)
@example(size=[2, 3], stride=[1, 2], offset=3)
@example(size=[2, 5], stride=[6, 1], offset=0)
@example(size=[], stride=[], offset=10)
@example(size=[11], stride=[0], offset=0)
@example(size=[2**62, 4], stride=[1, 1], offset=0)
@example(size=[1], stride=[2**62], offset=0)
def test_a_tensor_lies_within_its_numbers_or_is_refused(file, size, stride, offset):
    """Each of its numbers is the one that the strides lead to."""
    fitting = fits(size, stride, offset)
    assume(0 not in size or max(*size, *stride, 0) < 10)
    archive(file, program(tensor(storage(), tuple(size), tuple(stride), offset)), TEN)
    if not fitting:
        refuse(file)
        return
    read = read_pickled(file)
    assert read.shape == tuple(size)
    assert not read.flags.writeable
    for index in np.ndindex(*size):
        assert read[index] == offset + sum(i * step for i, step in zip(index, stride, strict=True))


@pytest.mark.parametrize(
    ("size", "stride", "offset"),
    [
        *(((2.0,), (1,), 0), (("2",), (1,), 0), ((2,), (None,), 0), ((2,), (1,), 0.5), ((2,), (1,), "0")),
        *((None, (1,), 0), (5, 1, 0), ((1,), (1,), 2**63), ((0, 2**62, 2**62), (0, 0, 0), 0)),
    ],
)
def test_what_is_no_shape_is_refused(file, size, stride, offset):
    refuse(archive(file, program(tensor(storage(), size, stride, offset)), TEN))


@pytest.mark.parametrize(
    "numbers",
    [
        called(REBUILD, storage(), value(0), LONG_AND_EMPTY, value((1,))),
        called(REBUILD, storage(), value(0), value((1,)), LONG_AND_EMPTY),
        called(named("numpy.core.numeric", "_frombuffer"), value(bytes(8)), dtype("f4"), LONG_AND_EMPTY, value("C")),
    ],
    ids=["size", "stride", "shape"],
)
def test_an_array_of_many_rows_is_no_shape(file, numbers):
    with at_most(8):
        refuse(archive(file, program(numbers), TEN), "an array of the shape")


def test_a_key_never_leads_out_of_the_archive(file, tmp_path):
    (tmp_path / "secret").write_bytes(bytes(40))
    refuse(archive(file, program(tensor(storage(key=f"../../{tmp_path}/secret"), (10,), (1,)))))


# Archives and streams

NONE = program(b"N")

ARCHIVES = {
    "nothing": ({}, "not a PyTorch file"),
    "no pickle": ({"archive/other.pkl": NONE}, "not a PyTorch file"),
    "two pickles": ({"a/data.pkl": NONE, "b/data.pkl": NONE}, "not a PyTorch file"),
    "big-endian": ({"archive/data.pkl": NONE, "archive/byteorder": b"big"}, "big-endian"),
    "compressed pickle": ({"archive/data.pkl": 2**26}, "compressed"),
    "compressed byte order": ({"archive/data.pkl": NONE, "archive/byteorder": 2**26}, "compressed"),
    "compressed numbers": (
        {"archive/data.pkl": program(tensor(storage(count=2**24), (2**24,), (1,))), "archive/data/0": 2**26},
        "compressed",
    ),
}
"""an archive's parts, a number for so many zeros that are compressed; what is told"""


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_that_torch_did_not_write_is_refused_unread(file, name):
    parts, message = ARCHIVES[name]
    with zipfile.ZipFile(file, "w") as pack:
        for part, content in parts.items():
            zeros = isinstance(content, int)
            pack.writestr(part, bytes(content) if zeros else content, zipfile.ZIP_DEFLATED if zeros else None)
    with at_most(8):
        refuse(file, message)


@pytest.mark.parametrize("content", [b"", b"junk" * 100], ids=range(2))
def test_what_is_no_pickle_is_refused(tmp_path, content):
    path = tmp_path / "trained_model.pkl"
    path.write_bytes(content)
    refuse(path, "not a PyTorch file" if content else "the file is empty")


def test_a_stream_that_announces_too_much_asks_for_no_memory(file):
    whole = tensor(storage("7", 2**40), (2**40,), (1,))
    file.write_bytes(BEGINNING + program(whole) + program(value(["7"])) + (2**40).to_bytes(8, "little"))
    with at_most(10):
        refuse(file, "holds 0 numbers where 1099511627776 are announced")


def test_streams_in_streams_are_no_crash(file):
    """Each holds the next as the bytes of a tensor."""
    content = b""
    while len(content) < 200_000:
        nested = called(named("torch.storage", "_load_from_bytes"), value(content))
        content = BEGINNING + program(nested) + program(value([]))
    file.write_bytes(content)
    refuse(file, "asks for __builtin__.bytes, which no model needs")


@pytest.mark.parametrize("deep", [b"(" * 30_000 + b"l" * 30_000, b")" + b"\x85" * 30_000, b"}" + b"}N\x86s" * 3])
def test_deep_nesting_is_no_crash(file, deep):
    with pytest.raises(CheckpointError, match=r"in no known checkpoint format|damaged"):
        load_checkpoint(archive(file, program(deep)))
