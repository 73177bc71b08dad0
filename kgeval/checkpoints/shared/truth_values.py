"""Truth values of configurations: true or false, and never a text that is taken for true because it is one."""

from __future__ import annotations

from typing import Any

from kgeval.errors import CheckpointError


def truth_value(where: object, name: str, value: Any) -> bool:
    """Take a setting that is true or false, and false where it is not said.

    Parameters
    ----------
    where
        the file that says it, for the message
    name
        what it is called there
    value
        what it is there, ``None`` where it is not said

    Raises
    ------
    CheckpointError
        if it is anything else

    Examples
    --------
    >>> truth_value("config.json", "bias", "no")
    Traceback (most recent call last):
    kgeval.errors.CheckpointError: config.json: its bias is 'no', which is neither true nor false.
    """
    if value is not None and not isinstance(value, bool):
        raise CheckpointError(f"{where}: its {name} is {value!r:.60}, which is neither true nor false.")
    return bool(value)
