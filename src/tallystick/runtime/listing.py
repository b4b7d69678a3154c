"""Which runs a ledger holds, and where each stands; for people and the command line."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from tallystick.ledger.store import RunRow, Store

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
    """

    row: RunRow
    standing: Standing
    holder: str | None
    letters: int


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
            )
        )
    return tuple(found)
