"""One writer's turn at a run: append to the store, fold into the view, and know when neither can be trusted.

The order is store first, view second. If anything fails in between, what the store holds counts: before the next event
its head is read again, and where it moved, the view is folded anew from the first event.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, Protocol

from tallystick.contracts.types import Contract, Task
from tallystick.errors import LedgerError, StaleWriterError
from tallystick.ledger.store import Head, Lease, Store, stale
from tallystick.model.events import ENVELOPE_VERSION, GENESIS, Actor, AnyBody, Event, Sealed, seal
from tallystick.view import View

Clock = Callable[[], datetime]


class Follower(Protocol):
    """Something else that is folded from the run's events beside the view."""

    def reset(self) -> None:
        """Start anew: the run is folded again from its first event."""

    def take(self, sealed: Sealed, view: View) -> None:
        """Fold the next event, which `view` has folded already."""


RUNTIME: Final = Actor(role="runtime", id="guard")
EXECUTOR: Final = Actor(role="executor", id="guard")
HOST: Final = Actor(role="host", id="host")
AGENT: Final = Actor(role="agent", id="agent")


def stamp(now: datetime) -> str:
    """Return an instant as RFC 3339 text in UTC."""
    text = (now if now.tzinfo is UTC else now.astimezone(UTC)).isoformat()
    return text[:-6] + "Z"


class Journal:
    """The run's record, as its one writer sees it.

    Attributes:
        view: folded up to the last event.
        lock: held while deciding and appending, so that both are one critical section.
        broken: code of why nothing more may be proposed in this tenure (`lease.lost`, `ledger.broken`), else "".
        signatures: signatures of principals' events already in the record; the same letter never counts twice.
        follower: is folded along with the view, if there is one.
    """

    def __init__(
        self,
        store: Store,
        lease: Lease,
        contract: Contract,
        task: Task,
        clock: Clock,
        follower: Follower | None = None,
    ) -> None:
        self.store = store
        self.lease = lease
        self.run = lease.run
        self.clock = clock
        self.lock = threading.RLock()
        self.broken = ""
        self.signatures: set[str] = set()
        self.follower = follower
        self._contract = contract
        self._task = task
        self.view = View(contract, task, run=lease.run)
        self._seq, self._digest = 0, GENESIS
        self._unsure = False

    def load(self) -> None:
        """Fold the run from its first event.

        Raises:
            LedgerError: the store cannot be read, or what it holds is not a chain.
        """
        view = View(self._contract, self._task, run=self.run)
        head = Head()
        signatures: set[str] = set()
        if self.follower is not None:
            self.follower.reset()
        for sealed in self.store.events(self.run):
            view.apply(sealed)
            _note_signature(sealed.event.body, signatures)
            head = Head(seq=sealed.event.seq, digest=sealed.digest)
            if self.follower is not None:
                self.follower.take(sealed, view)
        self.view, self.signatures, self._unsure = view, signatures, False
        self._seq, self._digest = head.seq, head.digest

    def ready(self) -> None:
        """Make sure that view and store agree.

        Raises:
            LedgerError: the store cannot be read.
        """
        if self._unsure:
            head = self.store.head(self.run)
            if (head.seq, head.digest) == (self._seq, self._digest) and self.view.upto == head.seq:
                self._unsure = False
            else:
                self.load()

    def append(self, body: AnyBody, actor: Actor, *, durable: bool, at: str | None = None) -> Sealed:
        """Append one event and fold it; `at` is the instant it gets, RFC 3339, else the present one.

        Raises:
            InputError: the body cannot be written; nothing was appended.
            StaleWriterError: somebody took over; `broken` is set.
            LedgerError: the store cannot be written; the event counts as not appended until `ready` says otherwise.
        """
        with self.lock:
            if self._unsure:
                self.ready()
            event = Event(
                v=ENVELOPE_VERSION,
                run=self.run,
                seq=self._seq + 1,
                at=at or stamp(self.clock()),
                actor=actor,
                body=body,
                prev=self._digest,
            )
            sealed = seal(event)
            self._unsure = True  # until everything below has happened
            try:
                self.store.append(self.lease, sealed, durable)
            except StaleWriterError:
                self.broken = self.broken or "lease.lost"
                raise
            self.view.apply(sealed)
            if self.follower is not None:
                self.follower.take(sealed, self.view)
            _note_signature(body, self.signatures)
            self._seq, self._digest = event.seq, sealed.digest
            self._unsure = False
            return sealed

    def check_fence(self) -> None:
        """Ask the store whether this tenure still holds the run: a write must not start for one that was replaced.

        Raises:
            StaleWriterError: somebody took over, or the lease was given back; `broken` is set.
            LedgerError: the store cannot be read.
        """
        newest = self.store.lease(self.run)
        if newest is None or newest.epoch != self.lease.epoch:
            self.broken = self.broken or "lease.lost"
            raise stale(self.lease, newest.epoch if newest is not None else None)

    def renew(self, ttl_seconds: float) -> None:
        """Extend the lease; a writer that was replaced learns so here and stops."""
        try:
            self.lease = self.store.renew(self.lease, self.clock(), ttl_seconds)
        except StaleWriterError:
            self.broken = self.broken or "lease.lost"
        except LedgerError:
            pass  # tried again at the next beat; until then the lease runs on, and then may be taken over


def _note_signature(body: AnyBody, seen: set[str]) -> None:
    signature = getattr(body, "signature", "")
    if signature:
        seen.add(signature)
