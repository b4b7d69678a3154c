"""A store in memory, for tests, demos and runs nobody needs to keep."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice

from tallystick.errors import LedgerError
from tallystick.ledger.store import (
    Head,
    Lease,
    Letter,
    RunRow,
    check_batch,
    check_follows,
    check_letter,
    check_read,
    expiry,
    held,
    row_of,
    stale,
)
from tallystick.model.events import Ended, Sealed


@dataclass(slots=True)
class _Run:
    events: list[Sealed] = field(default_factory=list)
    epoch: int = 0
    lease: Lease | None = None
    inbox: list[Letter] = field(default_factory=list)
    letters: int = 0

    @property
    def head(self) -> Head:
        if not self.events:
            return Head()
        last = self.events[-1]
        return Head(seq=last.event.seq, digest=last.digest)


class MemoryStore:
    """A `Store` that forgets everything with the process; `durable` therefore promises nothing here.

    After a fork only the process that made it can write: two copies of one memory would know nothing of each other.
    """

    def __init__(self) -> None:
        self._runs: dict[str, _Run] = {}
        self._lock = threading.Lock()
        self._pid = os.getpid()

    def acquire(self, run: str, holder: str, now: datetime, ttl_seconds: float, force: bool = False) -> Lease:
        """See `Store.acquire`."""
        expires = expiry(run, holder, now, ttl_seconds)
        with self._lock:
            found = self._runs.setdefault(run, _Run())
            if found.lease is not None and found.lease.expires > now.astimezone(UTC) and not force:
                raise held(run, found.lease.holder, found.lease.expires)
            found.epoch += 1
            found.lease = Lease(run=run, epoch=found.epoch, holder=holder, expires=expires)
            return found.lease

    def renew(self, lease: Lease, now: datetime, ttl_seconds: float) -> Lease:
        """See `Store.renew`."""
        expires = expiry(lease.run, lease.holder, now, ttl_seconds)
        with self._lock:
            found = self._owned(lease)
            found.lease = Lease(run=lease.run, epoch=lease.epoch, holder=lease.holder, expires=expires)
            return found.lease

    def release(self, lease: Lease) -> None:
        """See `Store.release`."""
        with self._lock:
            found = self._runs.get(lease.run)
            if found is not None and found.lease is not None and found.lease.epoch == lease.epoch:
                found.lease = None

    def lease(self, run: str) -> Lease | None:
        """See `Store.lease`."""
        found = self._runs.get(run)
        return found.lease if found is not None else None

    def append(self, lease: Lease, sealed: Sealed, durable: bool) -> None:
        """See `Store.append`."""
        self.append_many(lease, (sealed,), durable)

    def append_many(self, lease: Lease, sealed: Sequence[Sealed], durable: bool) -> None:  # noqa: ARG002 - port
        """See `Store.append_many`."""
        check_batch(lease.run, sealed)
        with self._lock:
            found = self._owned(lease)
            if sealed:
                check_follows(sealed[0], found.head)
                found.events.extend(sealed)

    def events(self, run: str, after: int = 0) -> Iterator[Sealed]:
        """See `Store.events`."""
        found = self._runs.get(run)
        if found is None:
            return
        head = Head() if after <= 0 else None
        # The list only grows, so reading it while another thread appends is safe; new events are seen.
        for item in islice(found.events, max(after - 1, 0), None):
            if head is not None:
                check_read(run, item, item.digest, head)
                yield item
            head = Head(seq=item.event.seq, digest=item.digest)

    def head(self, run: str) -> Head:
        """See `Store.head`."""
        found = self._runs.get(run)
        return found.head if found is not None else Head()

    def runs(self) -> tuple[RunRow, ...]:
        """See `Store.runs`."""
        with self._lock:
            listed = [tuple(found.events) for found in self._runs.values() if found.events]
        return tuple(
            row_of(events[0], len(events), next((e for e in reversed(events) if isinstance(e.event.body, Ended)), None))
            for events in listed
        )

    def post(self, run: str, raw: bytes) -> int:
        """See `Store.post`."""
        with self._lock:
            found = self._runs.get(run)
            check_letter(run, found is not None, raw)
            assert found is not None
            found.letters += 1
            found.inbox.append(Letter(number=found.letters, raw=raw))
            return found.letters

    def posted(self, run: str) -> tuple[Letter, ...]:
        """See `Store.posted`."""
        found = self._runs.get(run)
        return tuple(found.inbox) if found is not None else ()

    def drop(self, lease: Lease, upto: int) -> None:
        """See `Store.drop`."""
        with self._lock:
            found = self._owned(lease)
            found.inbox = [letter for letter in found.inbox if letter.number > upto]

    def close(self) -> None:
        """See `Store.close`. Nothing is held open."""

    def _owned(self, lease: Lease) -> _Run:
        if self._pid != os.getpid():  # a copy the other process never sees: both would admit the same call
            raise LedgerError(
                "the ledger is in the memory of another process", fix="after fork, use a ledger in a file, opened there"
            )
        found = self._runs.get(lease.run)
        current = found.lease if found is not None else None
        if found is None or current is None or current.epoch != lease.epoch:
            raise stale(lease, current.epoch if current is not None else None)
        return found
