"""What one requirement answers: met, missing (the gate holds) or violated (the gate refuses)."""

from __future__ import annotations

from dataclasses import dataclass

from tallystick.model.decision import Reason


@dataclass(frozen=True, slots=True)
class Met:
    """The evidence is there; `digests` are the events it rests on, `notes` what an admission should mention."""

    digests: tuple[str, ...] = ()
    notes: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class Missing:
    """Evidence that could be obtained is not there."""

    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Violated:
    """The evidence is there and says no."""

    reasons: tuple[Reason, ...]
    digests: tuple[str, ...] = ()


Answer = Met | Missing | Violated
