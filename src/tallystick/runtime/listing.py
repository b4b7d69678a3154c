"""Which runs a ledger holds, and where each stands; for people and the command line."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from tallystick.ledger.store import RunRow, Store
from tallystick.model.events import DoubtSettled, Intent, Receipt
from tallystick.runtime.journal import stamp

Standing = Literal["ended", "live", "lost", "left"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """One run.

    Attributes:
        row: what the ledger lists.
        standing: ended; live (a writer holds it); lost (its writer's lease has expired: killed, or cut off); left
            (given back without an end, to be resumed).
        holder: who holds, or lost, the lease.
        letters: events of principals that wait to be taken in.
        expires: when its lease runs out, where one is held: of a killed process, when the run can be taken over.
    """

    row: RunRow
    standing: Standing
    holder: str | None
    letters: int
    expires: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Unanswered:
    """A call whose intent is recorded and whose receipt is not: at work now, or lost with the process that made it."""

    call: str
    tool: str
    at: str


def unanswered(store: Store, run: str) -> tuple[Unanswered, ...]:
    """Return the calls of `run` without a receipt so far, oldest first.

    Of a run whose writer was killed they are in doubt from its next tenure on; until its lease expires nobody can tell
    such a writer from one that works, so a listing says both: the lease's end, and these calls.

    Raises:
        LedgerError: the store cannot be read.
    """
    found: dict[str, Unanswered] = {}
    for sealed in store.events(run):
        body = sealed.event.body
        if isinstance(body, Intent):
            found[body.call] = Unanswered(call=body.call, tool=body.tool, at=sealed.event.at)
        elif isinstance(body, (Receipt, DoubtSettled)) and body.call is not None:
            found.pop(body.call, None)
    return tuple(found.values())


def standing_text(one: Listed) -> str:
    """Return where a run stands in words, e.g. `live; lease until 2026-11-30T22:10:00Z`."""
    if one.standing != "live" or one.expires is None:
        return one.standing
    return f"live; lease until {stamp(one.expires)}"


def listed(store: Store, now: datetime) -> tuple[Listed, ...]:
    """Return every run with where it stands at `now`, oldest first."""
    found = []
    for row in store.runs():
        lease = store.lease(row.run)
        standing: Standing = "left"
        if row.status is not None:
            standing = "ended"
        elif lease is not None:
            standing = "live" if lease.expires > now.astimezone(UTC) else "lost"
        found.append(
            Listed(
                row=row,
                standing=standing,
                holder=lease.holder if lease is not None else None,
                letters=len(store.posted(row.run)),
                expires=lease.expires if lease is not None else None,
            )
        )
    return tuple(found)
