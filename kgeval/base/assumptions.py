"""Assumptions: what was inferred of an input where another reading is possible, and the option that decides it.

Readers of graphs, models and ranks make an :class:`Assumption` for each reading that they take. Results show those that
custom decided in one line (:func:`read_as`); manifests, JSON and ``kgeval inspect`` have all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, TypeVar

from kgeval.base.errors import InputError, refuse_unknown

Taken = TypeVar("Taken")

Basis = Literal["said", "only", "usual"]
"""why a reading is taken: the user says it; nothing else fits; or it is the custom of the field"""


class Assumption(NamedTuple):
    """A reading that was taken, and why."""

    about: str
    """what was read, such as ``columns`` or ``ids``"""
    taken: str
    basis: Basis
    why: str = ""
    """the evidence"""
    otherwise: str = ""
    """the option that takes another reading"""

    def __str__(self) -> str:
        """Write it as the line does.

        >>> str(Assumption("time", "date", "usual", "by its name", "--columns date=_"))
        'time: date (by its name; if not: --columns date=_)'
        """
        reasons = [self.why, self.otherwise and f"if not: {self.otherwise}"]
        return f"{self.about}: {self.taken}" + (f" ({'; '.join(filter(None, reasons))})" if any(reasons) else "")


def choose(
    about: str,
    fitting: Mapping[str, Taken],
    option: str,
    *,
    said: str | None = None,
    usual: str | None = None,
    why: str = "",
    where: object = "",
    error: type[InputError] = InputError,
) -> tuple[Taken, Assumption]:
    """Take the reading that the user said, or the only one that fits, or the usual one; ask about several others.

    >>> choose("layout", {"labels": 1}, "--layout NAME", why="by train.txt")[1]
    Assumption(about='layout', taken='labels', basis='only', why='by train.txt', otherwise='')
    >>> choose("layout", {"labels": 1, "openke": 2}, "--layout NAME", where="folder g")
    Traceback (most recent call last):
    kgeval.base.errors.InputError: folder g: layout: labels and openke fit. Say which: --layout NAME.
    """
    if said is not None:
        refuse_unknown(f"{where}: {about}", said, fitting, error)
    if said in fitting or len(fitting) == 1:
        taken = said if said in fitting else next(iter(fitting))
        return fitting[str(taken)], Assumption(about, str(taken), "said" if said in fitting else "only", why)
    if usual in fitting:
        return fitting[str(usual)], Assumption(about, str(usual), "usual", why, option)
    raise error(f"{where}: {about}: {' and '.join(fitting)} fit{why and f' ({why})'}. Say which: {option}.")


def read_as(assumptions: Iterable[Assumption]) -> str:
    """Write the line of what custom decided; it is empty if nothing was.

    >>> read_as([Assumption("time", "date", "usual", "by its name"), Assumption("layout", "labels", "only")])
    'read as: time: date (by its name)'
    """
    shown = [str(one) for one in dict.fromkeys(assumptions) if one.basis == "usual"]
    return f"read as: {'; '.join(shown)}" if shown else ""
