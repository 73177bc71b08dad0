"""The budget for decoding one file: bytes and steps in proportion to its size, and within the free memory."""

from __future__ import annotations

from pathlib import Path

from kgeval.errors import FileError

LEAST = 64 * 2**20
"""bytes that may be decoded from any file, however small"""

STEPS = 4
"""the most instructions for each byte of a file"""

LEAST_STEPS = 10_000

MOST_STEPS = 2**25
"""the most instructions of any file, which take about a minute"""

STEP = 256
"""bytes that a single instruction may take"""


def free_memory() -> int:
    """Return the bytes of memory that are free."""
    import psutil

    return int(psutil.virtual_memory().available)


class Budget:
    """The remaining bytes and steps for decoding a file.

    Parameters
    ----------
    path
        the file
    times
        the most bytes that may be decoded from each of its bytes
    least
        the bytes that may be decoded from any file; by default ``LEAST``

    Examples
    --------
    >>> budget = Budget(Path("README.md"), times=2, least=100_000)
    >>> budget.take(100_000)
    >>> budget.take(50_000)
    Traceback (most recent call last):
    kgeval.errors.FileError: README.md: it unpacks to more than 100000 bytes, as no sound file of ... bytes does. It ...
    """

    def __init__(self, path: Path, *, times: int, least: int | None = None) -> None:
        self._path, self._size = path, path.stat().st_size
        free = free_memory()
        self._most = min(max(LEAST if least is None else least, times * self._size), free)
        self._left = self._most
        self._steps = min(max(LEAST_STEPS, STEPS * self._size), MOST_STEPS, free // STEP)

    def take(self, count: int) -> None:
        """Account for bytes before they are decoded.

        Raises
        ------
        FileError
            if fewer are left
        """
        self._left -= count
        if self._left < 0:
            raise FileError(
                f"{self._path}: it unpacks to more than {self._most} bytes, as no sound file of {self._size} bytes "
                "does. It was refused."
            )

    def step(self) -> None:
        """Account for an instruction before it is executed.

        Raises
        ------
        FileError
            if none is left
        """
        self._steps -= 1
        if self._steps < 0:
            raise FileError(
                f"{self._path}: it takes more steps to read than a sound file of {self._size} bytes. It was refused."
            )
