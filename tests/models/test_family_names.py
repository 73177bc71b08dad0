"""The package of families has every family, and no other name."""

from __future__ import annotations

from kgeval.models import families
from kgeval.models.family import families as registered


def test_the_package_has_every_family_of_its_modules():
    own = {family for family in registered().values() if family.__module__.startswith(families.__name__)}
    assert {getattr(families, name) for name in families.__all__} == own
