"""The six families, in the order tasks are numbered."""

from __future__ import annotations

from typing import Final, cast

from tallystick.evals.termination.families import batch, confirm, join, lookup, pages, period
from tallystick.evals.termination.family import Family

FAMILIES: Final[tuple[Family, ...]] = tuple(cast("Family", m) for m in (lookup, pages, join, period, confirm, batch))


def family_of(name: str) -> Family:
    """Return a family by name."""
    return next(f for f in FAMILIES if name == f.NAME)
