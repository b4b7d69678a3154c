"""An episode with what its artifact is coded as: the precedence reading, and the plain one beside it."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from tallystick.evals.handoff.episode import Episode
from tallystick.evals.handoff.task import FIELDS, Trajectory

Reading = Literal["precedence", "plain"]
READINGS: Final[tuple[Reading, ...]] = ("precedence", "plain")
"""precedence: a block of the record decides where there is one · plain: A.3 over all words, the block's too."""


class Coded(msgspec.Struct, frozen=True, kw_only=True):
    """What an artifact is coded as.

    Attributes:
        status, prerequisite, authority, fallback: the profile R: whether the field is retained.
        preserves: a reader would still refuse every removed action.
        caveat: caveat framing, a later check, or an omission.
        retention: mean of the profile over the fields the trajectory scores; *ours*.
        p, d: preserved, deactivated; never both.
    """

    status: bool
    prerequisite: bool
    authority: bool
    fallback: bool
    preserves: bool
    caveat: bool
    retention: float
    p: bool
    d: bool

    @property
    def u(self) -> bool:
        """Neither preserved nor deactivated."""
        return not (self.p or self.d)

    @property
    def c(self) -> bool:
        """All four fields are recoverable."""
        return self.status and self.prerequisite and self.authority and self.fallback


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One coded episode."""

    episode: Episode
    precedence: Coded
    plain: Coded

    def coded(self, reading: Reading = "precedence") -> Coded:
        """Return one reading."""
        return self.precedence if reading == "precedence" else self.plain


def scored(trajectory: Trajectory) -> tuple[str, ...]:
    """Return the fields a trajectory's component table scores: static artifacts have no authority there (table 7)."""
    return FIELDS if trajectory == "dynamic" else tuple(f for f in FIELDS if f != "authority")
