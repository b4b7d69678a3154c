"""Counting honestly: support, counter-examples, and what so few cases can show.

A trajectory is the unit: calls inside one trajectory repeat each other. `lower` is the lower end of Wilson's score
interval (Wilson 1927) at 95%: the rate at which a rule may be expected to hold elsewhere, no better than that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

Z: Final = 1.959963984540054
"""The standard normal quantile of a two-sided 95% interval."""

SURE: Final = 0.9
"""What Wilson's lower bound must reach before what never happened is forbidden, or words are demanded.

A read or a preview that came first shows something; that two things never met does not: they may not have been asked
for together yet.
"""


def wilson(held: int, of: int) -> tuple[float, float]:
    """Return Wilson's 95% interval of the rate `held / of`; (0, 1) where there is no case."""
    if of <= 0:
        return 0.0, 1.0
    rate = held / of
    middle = rate + Z * Z / (2 * of)
    spread = Z * math.sqrt(rate * (1 - rate) / of + Z * Z / (4 * of * of))
    scale = 1 + Z * Z / of
    # Exact at the ends: where every case held, rounding must not leave the upper end a hair below one.
    low = 0.0 if held == 0 else max(0.0, (middle - spread) / scale)
    high = 1.0 if held == of else min(1.0, (middle + spread) / scale)
    return low, high


def none_by_chance(of: int, a: int, b: int) -> float:
    """Return the chance that `a` and `b` drawn independently among `of` share nothing (hypergeometric)."""
    if a + b > of:
        return 0.0
    return math.exp(_log_choose(of - a, b) - _log_choose(of, b))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


@dataclass(frozen=True, kw_only=True, order=True)
class Seen:
    """One call that taught something, or stands against it."""

    trace: str
    message: int
    call: str

    def __str__(self) -> str:
        return f"{self.trace} {self.call}"


@dataclass(kw_only=True)
class Tally:
    """The cases for and against one rule."""

    held: list[Seen] = field(default_factory=list)
    broke: list[Seen] = field(default_factory=list)

    def add(self, seen: Seen, holds: bool) -> None:
        """Count one case."""
        (self.held if holds else self.broke).append(seen)

    def extend(self, other: Tally) -> None:
        """Count the cases of another tally as well."""
        self.held.extend(other.held)
        self.broke.extend(other.broke)

    @property
    def support(self) -> int:
        """In how many trajectories it came up and always held."""
        return len({s.trace for s in self.held} - self._against)

    @property
    def counter(self) -> int:
        """In how many trajectories it did not hold."""
        return len(self._against)

    @property
    def _against(self) -> set[str]:
        return {s.trace for s in self.broke}

    @property
    def lower(self) -> float:
        """The lower end of Wilson's interval over trajectories."""
        return wilson(self.support, self.support + self.counter)[0]

    def words(self) -> str:
        """Return the count for a remark: `23 of 23 trajectories (86% or more)`."""
        of = self.support + self.counter
        return f"{self.support} of {of} trajector{'y' if of == 1 else 'ies'} ({math.floor(self.lower * 100)}% or more)"

    def examples(self, most: int = 2) -> str:
        """Return some of the calls behind it, first those against."""
        listed = sorted(set(self.broke or self.held))
        first = list({s.trace: s for s in reversed(listed)}.values())[::-1][:most]
        return ", ".join(str(s) for s in first) + (", …" if most > 1 and len({s.trace for s in listed}) > most else "")

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        low, high = wilson(self.support, self.support + self.counter)
        return {
            "support": {"trajectories": self.support, "calls": len(self.held)},
            "counter_examples": {"trajectories": self.counter, "calls": len(self.broke)},
            "wilson_95": [_digits(low), _digits(high)],
            "taught_by": _listed(self.held),
            "against": _listed(self.broke),
        }


def _listed(cases: Iterable[Seen]) -> list[dict[str, Any]]:
    return [{"trace": s.trace, "message": s.message, "call": s.call} for s in sorted(set(cases))]


def _digits(rate: float) -> str:
    return f"{rate:.4f}"
