"""The port every ledger driver implements: leases with fencing epochs, appends, reads. Time is passed in.

The rules live here as plain functions, so that each driver refuses the same things with the same words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from tallystick.errors import ForgedEventError, InputError, LeaseHeldError, LedgerError, StaleWriterError
from tallystick.model.canonical import digest
from tallystick.model.events import GENESIS, Ended, Sealed, Started

MAX_LETTER_BYTES: Final = 1024 * 1024
"""Largest letter an inbox takes."""
MAX_EVENT_BYTES: Final = 256 * 1024 * 1024
"""Largest event a store keeps, so that `verify` can read any export line by line in bounded memory."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lease:
    """The right to append to one run.

    Attributes:
        epoch: fencing number; each acquisition of a run gets a higher one, and only the newest may append.
        holder: who holds it, for people (`host:pid` or a worker's name).
        expires: UTC instant from which another holder may take over.
    """

    run: str
    epoch: int
    holder: str
    expires: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """Where a run's chain ends: `seq` of its last event and that event's digest. An empty run: 0 and `GENESIS`."""

    seq: int = 0
    digest: str = GENESIS


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRow:
    """One run in a listing.

    Attributes:
        started_at: RFC 3339 instant of its first event.
        events: how many events it has.
        status: status of its last `run.ended`, or `None` while there is none.
        parent: run id of its parent, or `None`.
    """

    run: str
    started_at: str
    events: int
    status: str | None
    parent: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Letter:
    """Something posted for a run by somebody who does not hold its lease; no event until its writer appends it.

    Attributes:
        number: position in the inbox; numbers of one run only grow.
        raw: the bytes as posted.
    """

    number: int
    raw: bytes


class Store(Protocol):
    """An append-only store of runs. Safe to use from several threads."""

    def acquire(self, run: str, holder: str, now: datetime, ttl_seconds: float, force: bool = False) -> Lease:
        """Return the lease of `run`, with a higher epoch than any before it.

        A run that does not exist yet is acquired in the same way; it is listed once it has an event.

        Raises:
            LeaseHeldError: another lease of the run is live at `now` and `force` is false.
            LedgerError: the store cannot be written.
            InputError: an empty run or holder, a time to live that is not positive, a `now` without a time zone.
        """
        ...

    def renew(self, lease: Lease, now: datetime, ttl_seconds: float) -> Lease:
        """Return `lease` with a later expiry; also after it has expired, as long as nobody took over.

        Raises:
            StaleWriterError: somebody took over, or it was released.
        """
        ...

    def release(self, lease: Lease) -> None:
        """Give the lease back. Nothing happens where somebody already took over."""
        ...

    def lease(self, run: str) -> Lease | None:
        """Return the lease somebody holds on `run`, live or expired; None where it was released or never taken."""
        ...

    def append(self, lease: Lease, sealed: Sealed, durable: bool) -> None:
        """Append one event, all or nothing.

        Args:
            lease: the writer's lease; its epoch must be the run's newest.
            sealed: the event; its `seq` must be the head's plus one and its `prev` the head's digest.
            durable: whether the event must survive a power cut once this returns. Where false, it survives the death
                of the process, and becomes durable with the next durable append.

        Raises:
            StaleWriterError: the epoch is not the newest.
            LedgerError: the event does not continue the chain, or the store cannot be written.
        """
        ...

    def append_many(self, lease: Lease, sealed: Sequence[Sealed], durable: bool) -> None:
        """Append consecutive events of one run in one commit, all or nothing; as `append` otherwise."""
        ...

    def events(self, run: str, after: int = 0) -> Iterator[Sealed]:
        """Yield the run's events with `seq > after`, in order, each checked against its digest and its predecessor.

        Raises:
            ForgedEventError: stored bytes do not match their digest or the chain.
            LedgerError: the store cannot be read.
        """
        ...

    def head(self, run: str) -> Head:
        """Return where the run's chain ends."""
        ...

    def runs(self) -> tuple[RunRow, ...]:
        """Return the runs that have events, oldest first."""
        ...

    def post(self, run: str, raw: bytes) -> int:
        """Put `raw` into the inbox of `run`, durably, without its lease, and return its number.

        The run's writer reads the inbox before each decision and appends what it accepts. Nothing here checks who
        posts: what a letter is worth is decided by the signature inside.

        Raises:
            LedgerError: no such run, larger than `MAX_LETTER_BYTES`, or the store cannot be written.
        """
        ...

    def posted(self, run: str) -> tuple[Letter, ...]:
        """Return the letters in the inbox of `run`, oldest first."""
        ...

    def drop(self, lease: Lease, upto: int) -> None:
        """Remove the letters numbered up to `upto`, once their events are appended (or they were rejected).

        Raises:
            StaleWriterError: the epoch is not the newest.
        """
        ...

    def close(self) -> None:
        """Release files and connections. The store cannot be used afterwards."""
        ...


def expiry(run: str, holder: str, now: datetime, ttl_seconds: float) -> datetime:
    """Check the arguments of an acquisition or renewal and return the instant the lease expires, UTC."""
    for name, text in (("run id", run), ("holder", holder)):
        if not text or not text.isprintable() or len(text) > 500:
            raise InputError(f"the {name} `{text[:60]!r}` is empty, longer than 500 characters or not printable")
    if now.tzinfo is None:
        raise InputError("the current time has no time zone", fix="pass an aware datetime, in UTC")
    if not 0 < ttl_seconds <= 10 * 365 * 86_400:
        raise InputError(f"a lease of `{ttl_seconds}` seconds", fix="more than 0 and less than ten years")
    return now.astimezone(UTC) + timedelta(seconds=ttl_seconds)


def held(run: str, holder: str, until: datetime) -> LeaseHeldError:
    """Return the error for a newcomer while `holder` has the run's lease."""
    return LeaseHeldError(
        f"held by `{holder}` until {until.isoformat()}",
        where=f"run `{run}`",
        fix="wait until then (a killed process keeps it no longer), stop that process if it still runs, or take over "
        "by force (its open intents become doubtful)",
    )


def stale(lease: Lease, newest: int | None) -> StaleWriterError:
    """Return the error for a writer whose epoch is not the newest; `newest` is `None` where nobody holds the run."""
    now_at = "nobody holds the run now" if newest is None else f"the newest epoch is {newest}"
    return StaleWriterError(
        f"`{lease.holder}` writes with epoch {lease.epoch}, but {now_at}",
        where=f"run `{lease.run}`",
        fix="stop this writer; acquire the run again before appending",
    )


def check_letter(run: str, exists: bool, raw: bytes) -> None:
    """Refuse a letter nobody will ever read.

    Raises:
        LedgerError: there is no such run, or the letter is too large.
    """
    if not exists:
        raise LedgerError("there is no such run to post to", where=f"run `{run}`", fix="check the run id")
    if len(raw) > MAX_LETTER_BYTES:
        raise LedgerError(f"a letter of {len(raw):,} bytes, more than {MAX_LETTER_BYTES:,}", where=f"run `{run}`")


def check_batch(run: str, sealed: Sequence[Sealed]) -> None:
    """Refuse events that are not one consecutive piece of the chain of `run`.

    Raises:
        LedgerError: another run, a gap, a broken chain, bytes that do not match their digest, or a `run.started`
            anywhere but first.
    """
    before: Sealed | None = None
    for item in sealed:
        check_event(run, item)
        if before is not None and (item.event.prev != before.digest or item.event.seq != before.event.seq + 1):
            check_follows(item, Head(seq=before.event.seq, digest=before.digest))
        before = item


def check_event(run: str, item: Sealed) -> None:
    """Refuse an event that cannot stand in `run` at all.

    Raises:
        LedgerError: as `check_batch`, but for the chain.
    """
    event, raw = item.event, item.raw
    if event.run != run:
        raise LedgerError(f"an event of run `{event.run}` is appended under the lease of `{run}`")
    if digest(raw) != item.digest:
        raise LedgerError("the event's bytes do not match its digest", where=f"run `{run}` event {event.seq}")
    if len(raw) > MAX_EVENT_BYTES:
        raise LedgerError(
            f"the event has {len(raw):,} bytes, more than {MAX_EVENT_BYTES:,}",
            where=f"run `{run}` event {event.seq}",
            fix="let the tool return less, or a reference to a file",
        )
    if (event.seq == 1) is not isinstance(event.body, Started):
        raise LedgerError(
            f"the first event of a run, and no other, is `run.started`, got `{event.kind}`",
            where=f"run `{run}` event {event.seq}",
        )


def check_follows(item: Sealed, head: Head) -> None:
    """Refuse an event that does not continue the chain at `head`.

    Raises:
        LedgerError: `seq` is not the head's plus one, or `prev` is not the head's digest.
    """
    event = item.event
    if event.seq != head.seq + 1:
        raise LedgerError(
            f"event {event.seq} cannot follow event {head.seq}",
            where=f"run `{event.run}`",
            fix="read the head again; another writer may have appended",
        )
    if event.prev != head.digest:
        raise LedgerError("`prev` is not the digest of the event before", where=f"run `{event.run}` event {event.seq}")


def check_read(run: str, item: Sealed, stored_digest: str, head: Head) -> None:
    """Refuse a stored event that does not match its digest or the event before it (`head`).

    Raises:
        ForgedEventError: the store's content was changed.
    """
    event = item.event
    where = f"run `{run}` event {head.seq + 1}"
    if item.digest != stored_digest:
        raise ForgedEventError("its bytes do not match its digest", where=where)
    if event.run != run or event.seq != head.seq + 1:
        raise ForgedEventError(f"event {event.seq} of run `{event.run}` is stored in its place", where=where)
    if event.prev != head.digest:
        raise ForgedEventError("it does not continue the event before it", where=where)


def row_of(first: Sealed, events: int, ended: Sealed | None) -> RunRow:
    """Return the listing row of a run from its first event, its length and its last `run.ended`."""
    body = first.event.body
    end = ended.event.body if ended is not None else None
    return RunRow(
        run=first.event.run,
        started_at=first.event.at,
        events=events,
        status=end.status if isinstance(end, Ended) else None,
        parent=body.parent if isinstance(body, Started) else None,
    )
