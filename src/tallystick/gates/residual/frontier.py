"""Frontier rules: when is it time to hand over? Fixed rules over the record; a model's opinion is none of them.

The source fixes one rule, the supported frontier; the others are ours.
Source: residual completion, section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from tallystick.contracts.types import Contract
from tallystick.errors import InputError
from tallystick.gates.residual.construct import construct
from tallystick.view import View


class Frontier(Protocol):
    """A frontier rule."""

    @property
    def name(self) -> str:
        """Its name, as it is recorded."""

    def fires(self, view: View, contract: Contract) -> bool:
        """Return whether the record has reached the frontier."""


@dataclass(frozen=True, slots=True)
class Supported:
    """The state reached supports a residual contract: something is fixed, something is owed, nothing is in doubt."""

    name: str = "supported"

    def fires(self, view: View, contract: Contract) -> bool:
        """Return whether a contract would freeze."""
        return construct(view, contract, tenure=self.name)[0] is not None


@dataclass(frozen=True, slots=True)
class ErrorStreak:
    """The last `n` proposals came to nothing: refused, or answered with an error. What is under way does not count."""

    n: int = 3
    name: str = "error_streak"

    def __post_init__(self) -> None:
        _at_least_one(self.n, "ErrorStreak")

    def fires(self, view: View, contract: Contract) -> bool:  # noqa: ARG002 - every rule is asked alike
        """Return whether the newest `n` answers are all errors."""
        came = [(seq, True) for seq, _ in view.refusals[-self.n :]]
        answered = [r for r in view.receipts[-self.n :] if r.call is not None and r.outcome != "in_flight"]
        came.extend((r.seq, r.outcome in ("no_effect", "unknown", "not_started")) for r in answered)
        newest = sorted(came)[-self.n :]
        return len(newest) == self.n and all(bad for _, bad in newest)


@dataclass(frozen=True, slots=True)
class Spent:
    """A budget is spent: so many calls were made, or so many proposals refused; 0 sets no limit."""

    calls: int = 0
    refusals: int = 0
    name: str = "spent"

    def __post_init__(self) -> None:
        _at_least_one(max(self.calls, self.refusals), "Spent")

    def fires(self, view: View, contract: Contract) -> bool:  # noqa: ARG002 - every rule is asked alike
        """Return whether one of the limits is reached."""
        return (0 < self.calls <= len(view.calls)) or (0 < self.refusals <= len(view.refusals))


@dataclass(frozen=True, slots=True)
class Explicit:
    """The host asked for it."""

    name: str = "explicit"

    def fires(self, view: View, contract: Contract) -> bool:  # noqa: ARG002 - every rule is asked alike
        """Return True: whoever asks has decided."""
        return True


def at_frontier(view: View, contract: Contract, rules: Iterable[Frontier]) -> str | None:
    """Return the name of the first rule that fires, or None where the run goes on as it is."""
    return next((rule.name for rule in rules if rule.fires(view, contract)), None)


def _at_least_one(number: int, where: str) -> None:
    if number < 1:
        raise InputError(f"a limit of {number} would never be reached, or always", where=where, fix="1 or more")
