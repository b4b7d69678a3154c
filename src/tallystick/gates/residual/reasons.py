"""The reasons of the takeover gate: a code `residual.…`, a sentence, what would reverse it."""

from __future__ import annotations

from tallystick.model.decision import Read, Reason


def no(code: str, message: str, reverses: str, where: str = "", reads: tuple[Read, ...] = ()) -> Reason:
    """Return the reason of that code; `where` names the call, slot or obligation it is about."""
    return Reason(code=code, message=message, reverses=reverses, where=where, reads=reads)
