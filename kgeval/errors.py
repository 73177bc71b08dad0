"""The public exceptions, without the functions that kgeval words its messages with."""

from kgeval.base.errors import *  # noqa: F403
