"""What one requirement answers: met, missing (the gate holds) or violated (the gate refuses)."""

from __future__ import annotations

import msgspec

from tallystick.model.decision import Reason


class Met(msgspec.Struct, frozen=True):
    """The evidence is there; `digests` are the events it rests on, `notes` what an admission should mention."""

    digests: tuple[str, ...] = ()
    notes: tuple[Reason, ...] = ()


class Missing(msgspec.Struct, frozen=True):
    """Evidence that could be obtained is not there."""

    reasons: tuple[Reason, ...]


class Violated(msgspec.Struct, frozen=True):
    """The evidence is there and says no."""

    reasons: tuple[Reason, ...]
    digests: tuple[str, ...] = ()


Answer = Met | Missing | Violated
