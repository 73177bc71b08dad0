"""Paths from users: whether they exist, and which existing paths are similar to a wrong one."""

from __future__ import annotations

import stat
from pathlib import Path

from kgeval.base.errors import nearest

MANIFEST, METRICS = "manifest.json", "metrics.json"
"""the files of a run by which its folder is known"""

STAGE, LOCK = ".kgeval.partial", ".kgeval.lock"
"""the hidden folder that a run is written in until it is complete, and the file that one process at a time has"""


SPECIAL = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


def special(path: Path) -> str:
    """What a path is that is neither a file nor a folder, such as a device; nothing for any other."""
    try:
        return SPECIAL.get(stat.S_IFMT(path.stat().st_mode), "")
    except (OSError, ValueError, RuntimeError):
        return ""


def exists_safely(path: Path) -> bool:
    """Whether there is a file or a folder; no path raises, however odd."""
    try:
        return path.is_file() or path.is_dir()
    except (OSError, ValueError):
        return False


def is_plain_name(name: object) -> bool:
    """Whether a text is the name of one file or folder, which leads nowhere else.

    >>> is_plain_name("ranks.parquet"), is_plain_name("../secret"), is_plain_name("/etc"), is_plain_name("..")
    (True, False, False, False)
    """
    return (
        isinstance(name, str)
        and name not in {"", ".", ".."}
        and not set(name) & set("/\\")
        and name.isprintable()
        and len(name.encode(errors="replace")) <= 255  # bytes that file systems allow
    )


def suggest_paths(path: Path) -> str:
    """Name existing paths that are similar to a wrong one."""
    try:
        entries = [entry for entry in path.parent.iterdir() if not entry.name.startswith(".")]
    except (OSError, ValueError):
        return ""
    near = {entry.name: entry for entry in entries if entry.name != path.name}
    names = nearest(path.name, near)
    return f"Nearby: {', '.join(repr(str(near[name])) for name in names)}." if names else ""


def no_file(path: Path) -> str:
    """Return the message for a path that is not a file."""
    if exists_safely(path) and path.is_dir():
        return f"{str(path)!r} is a folder; a file is expected."
    return f"no such file {str(path)!r}. {suggest_paths(path)}".strip()
