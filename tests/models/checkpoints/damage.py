"""Damage to the files of a checkpoint: to bytes, to what a container holds, to values; and files that are bombs."""

from __future__ import annotations

import gzip
import io
import pickletools
import re
import shutil
import struct
import zipfile
from itertools import pairwise
from pathlib import Path

VALUES = [
    *(b"-1", b"0", b"1", b"2", b"3", b"1e999", b"NaN", b"-Infinity", b"99999999999999999999", b"9" * 5000, b"1.5"),
    *(b"null", b"true", b"[]", b"{}", b'""', b'"x"', b'"../../x"', b"[1, 2]", b'{"x": 1}', b"[" * 5000, b"\xff", b"\0"),
]
"""what a word or number of a text file becomes"""

WORD = re.compile(rb'"[^"\n]*"|-?[0-9]+(?:\.[0-9]+)?|\w+')

NUMBERS = [0, 1, 2, 3, -1, 5, 46, 92, 135, 136, 255, 65535, 2**31 - 1, -(2**31)]
"""what a number in a pickle becomes"""


# Bytes


def flip(rng, content):
    """Change some bits."""
    damaged = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8, 64])):
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def cut(rng, content):
    """Leave the rest out."""
    return content[: rng.randrange(len(content))]


def overwrite(rng, content):
    """Write the same byte over a stretch."""
    start = rng.randrange(len(content))
    length = min(rng.choice([1, 4, 8, 64, 4096]), len(content) - start)
    return content[:start] + rng.choice([b"\0", b"\xff", b"\x7f", b"9"]) * length + content[start + length :]


def splice(rng, content):
    """Say a stretch twice, or not at all."""
    start, end = sorted(rng.randrange(len(content)) for _ in range(2))
    return content[:end] + content[start:] if rng.random() < 0.5 else content[:start] + content[end:]


def announce(rng, content):
    """Write a huge or negative number over some bytes."""
    number = struct.pack("<Q", rng.choice([2**31, 2**32 - 1, 2**40, 2**62, 2**63, 2**64 - 1]))[: rng.choice([4, 8])]
    start = rng.randrange(max(1, min(len(content), rng.choice([16, 256, len(content)]))))
    return content[:start] + number + content[start + len(number) :]


BYTES = (flip, cut, overwrite, splice, announce)


# Values


def reword(rng, content):
    """Put another value in the place of a word or number of a text."""
    words = list(WORD.finditer(content[:20_000]))
    if not words:
        return flip(rng, content)
    word = rng.choice(words)
    other = rng.choice([*VALUES, rng.choice(words).group()])
    return content[: word.start()] + other + content[word.end() :]


def unnumber(rng, content):
    """Put values that are not finite, or enormous, in the place of float32 numbers."""
    start = 4 * rng.randrange(max(1, len(content) // 4))
    value = rng.choice([float("nan"), float("inf"), 3e38, -3e38, 1e-42])
    return content[:start] + struct.pack("<f", value) * rng.choice([1, 16]) + content[start + 4 :]


def reprogram(rng, content):
    """Change what a pickle says: a number, or a name into one that would run something."""
    said = [(*entry, end[2]) for entry, end in _neighbours(content)]
    numbers = [part for part in said if part[0].name in {"BININT", "BININT1", "BININT2"}]
    names = [part for part in said if part[0].name == "GLOBAL"]
    if names and rng.random() < 0.3:
        _, _, start, end = rng.choice(names)
        other = rng.choice([b"cos\nsystem\n", b"cbuiltins\neval\n", b"ctorch\nFloatStorage\n", b"cpykeen.x\nY\n"])
    elif numbers:
        _, _, start, end = rng.choice(numbers)
        other = b"J" + struct.pack("<i", rng.choice(NUMBERS))
    else:
        return flip(rng, content)
    return content[:start] + other + content[end:]


def _neighbours(content):
    said = list(pickletools.genops(content))
    return pairwise(said)


# Containers


def inside(rng, content):
    """Damage what a file holds, and leave its container sound."""
    if content[:2] == b"PK":
        return _archive(rng, content)
    if content[:2] == b"\x1f\x8b":
        return gzip.compress(rng.choice([flip, cut, reword, splice])(rng, gzip.decompress(content)))
    if content[:1] == b"\x80":
        return reprogram(rng, content)
    if content[:6] == b"\x93NUMPY":
        return reword(rng, content[:128])[:128].ljust(128) + content[128:]
    if b"\0" in content[:512]:
        return unnumber(rng, content)
    return reword(rng, content)


def _archive(rng, content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    chosen = rng.choice(list(members))
    if chosen.endswith("data.pkl") or rng.random() < 0.5:
        chosen = next(name for name in members if name.endswith("data.pkl"))
        members[chosen] = rng.choice([reprogram, reprogram, reprogram, flip, cut])(rng, members[chosen])
    elif members[chosen]:
        members[chosen] = rng.choice([*BYTES, unnumber, unnumber])(rng, members[chosen])
    if rng.random() < 0.1:
        del members[rng.choice(list(members))]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


# Bombs

NESTED = b"\x80\x02" + b")" + b"".join(b"q%c(" % i + b"h%c" % i * 9 + b"t" for i in range(60))
"""a tuple of tuples of tuples …, nine each: sixty instructions, 9⁶⁰ leaves"""


def _alias_bomb():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)]
    return "\n".join([*lines, "model: {decoder: {type: *a29, options: *a29}}"]).encode()


def _zip_bomb(name):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, bytes(2**26))
    return file.getvalue()


BOMBS = [
    b"",
    b"\0" * 1000,
    b"cos\nsystem\n(S'touch executed'\ntR.",
    b"\x80\x02cos\nsystem\nX\x0e\0\0\0touch executed\x85R.",
    NESTED + b".",
    NESTED + b"q\xff}h\xffNs.",
    NESTED + b"q\xff}h\xffK\0s.",
    NESTED + b"q\xff}K\0h\xffs.",
    b"\x80\x02" + b"I" + b"9" * 4000 + b"\n.",
    b"\x80\x02]" + b"q\1h\1a" + b".",
    b"\x80\x02}" + b"q\1X\1\0\0\0ah\1s" + b".",
    b"[" * 100_000,
    b'{"a":' * 50_000,
    _alias_bomb(),
    gzip.compress(bytes(2**22)) * 64,
    gzip.compress(b"\x93NUMPY\x01\0v\0" + bytes(2**22)) + gzip.compress(bytes(2**22)) * 63,
    _zip_bomb("data.pkl"),
    _zip_bomb("archive/data.pkl"),
    b"\x93NUMPY\x01\0v\0{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 1048576), }".ljust(127)
    + b"\n",
    b"\x89HDF\r\n\x1a\n" + bytes(range(256)) * 8,
]
"""contents of whole files that ask for memory, time or trust out of proportion"""


# A whole checkpoint


def damage(rng, folder: Path, others: list[Path]):
    """Damage one file of a checkpoint's folder; ``others`` are files of other frameworks. Return what was done."""
    path = rng.choice(sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size))
    kind = rng.choices(["bytes", "inside", "bomb", "swap", "foreign", "missing", "folder"], [30, 40, 12, 8, 6, 3, 1])[0]
    said = f"{kind} {path.relative_to(folder)}"
    if kind == "bytes":
        how = rng.choice(BYTES)
        path.write_bytes(how(rng, path.read_bytes()))
        return f"{said} {how.__name__}"
    if kind == "inside":
        path.write_bytes(inside(rng, path.read_bytes()))
    elif kind == "bomb":
        number = rng.randrange(len(BOMBS))
        path.write_bytes(BOMBS[number])
        return f"{said} {number}"
    elif kind == "swap":
        other = rng.choice(sorted(other for other in folder.rglob("*") if other.is_file()))
        content = path.read_bytes()
        path.write_bytes(other.read_bytes())
        other.write_bytes(content)
        return f"{said} {other.relative_to(folder)}"
    elif kind == "foreign":
        shutil.copyfile(rng.choice(others), path)
    else:
        path.unlink()
        if kind == "folder":
            path.mkdir()
    return said
