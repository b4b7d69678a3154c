"""Small real runs for the ledger's tests."""

from __future__ import annotations

from datetime import UTC, datetime

from tallystick.ledger.store import Lease, Store
from tallystick.model.canonical import digest
from tallystick.model.events import (
    ENVELOPE_VERSION,
    GENESIS,
    SEMANTICS,
    Actor,
    AnyBody,
    Ended,
    Event,
    Intent,
    Receipt,
    Said,
    Sealed,
    Started,
    blob,
    seal,
)

NOW = datetime(2026, 3, 11, 9, 0, tzinfo=UTC)
AT = "2026-03-11T09:00:00Z"
CONTRACT = "contract: pay-invoice/1\n"


def started(parent: str | None = None) -> Started:
    return Started(
        semantics=SEMANTICS,
        contract=CONTRACT,
        contract_sha256=digest(CONTRACT.encode()),
        task="",
        task_sha256=digest(b""),
        parent=parent,
    )


BODIES: tuple[AnyBody, ...] = (
    started(),
    Said(role="user", text="pay I-7, please: 420,00 €"),
    Intent(call="c1", tool="pay_invoice", args=blob(b'{"invoice_id": "I-7"}'), effect_keys=["pay_invoice:I-7"]),
    Receipt(id="r1", call="c1", result=blob(b"\xff\x00 not text"), flag="ok", outcome="ok", observed_at=AT),
    Ended(status="CERTIFIED", outcome="acted"),
)


def chain(run: str, bodies: tuple[AnyBody, ...] = BODIES, *, after: Sealed | None = None) -> list[Sealed]:
    """Return the sealed events of `bodies`, continuing `after`."""
    out: list[Sealed] = []
    for body in bodies:
        last = out[-1] if out else after
        event = Event(
            v=ENVELOPE_VERSION,
            run=run,
            seq=last.event.seq + 1 if last else 1,
            at=AT,
            actor=Actor(role="runtime", id="guard"),
            body=body,
            prev=last.digest if last else GENESIS,
        )
        out.append(seal(event))
    return out


def words(run: str, count: int) -> list[Sealed]:
    """Return a run of `count` events: a start and then messages."""
    return chain(run, (started(), *(Said(role="assistant", text=f"message {n}") for n in range(count - 1))))


def filled(store: Store, run: str = "r", bodies: tuple[AnyBody, ...] = BODIES) -> tuple[Lease, list[Sealed]]:
    """Append `bodies` to a fresh run and return its lease and events."""
    lease = store.acquire(run, "test", NOW, 60)
    events = chain(run, bodies)
    store.append_many(lease, events, durable=False)
    return lease, events
