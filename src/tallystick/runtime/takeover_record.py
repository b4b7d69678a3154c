"""What a successor's tenure leaves in the record: how many changes it made, and how it ended."""

from __future__ import annotations

from typing import Final

from tallystick.model.events import ResidualEnded
from tallystick.runtime.journal import RUNTIME, Journal, stamp
from tallystick.view import View
from tallystick.view.records import TakeoverRecord

COMPLETE: Final = "takeover.complete"
INTERRUPTED: Final = "takeover.interrupted"
STOP_REFUSED: Final = "takeover.stop_refused"
CALL_REFUSED: Final = "takeover.call_refused"
LOST: Final = "takeover.lost"
MISMATCH: Final = "takeover.mismatch"
INVALIDATED: Final = "takeover.invalidated"
INCOMPLETE: Final = "takeover.incomplete"
UNBOUND: Final = "takeover.unbound"
STALE: Final = "takeover.stale"
TENURE: Final = "takeover.tenure"
"""Code of the runtime's refusal of a write, or of a stop, while a successor's tenure is open."""


def writes_of(view: View, record: TakeoverRecord) -> int:
    """Return how many state-changing calls a tenure dispatched: while it is open, no other write runs.

    What ended in doubt counts; what was admitted and never reached its tool does not.
    """
    return sum(
        call.effect == "write" and call.seq > record.seq and call.outcome != "not_started"
        for call in view.calls.values()
    )


def end_tenure(journal: Journal, status: str, reason: str) -> ResidualEnded | None:
    """Record the end of the tenure that is open, if there is one. Call under the lock.

    Args:
        journal: the run's.
        status: `complete` or `bottom`.
        reason: stable dotted code.

    Raises:
        LedgerError: it cannot be recorded.
    """
    record = journal.view.tenure
    if record is None:
        return None
    at = stamp(journal.clock())
    body = ResidualEnded(
        tenure=record.frozen.tenure,
        status="complete" if status == "complete" else "bottom",
        reason=reason,
        writes=writes_of(journal.view, record),
        discharged=list(record.steps[-1].discharged) if record.steps else [],
        now=at,
    )
    journal.append(body, RUNTIME, durable=True, at=at)
    return body
