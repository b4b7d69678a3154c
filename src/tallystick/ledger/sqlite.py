"""The default store: one SQLite file, many runs, many threads and processes, one writer per run.

WAL journal. A durable append commits with `synchronous=FULL`: SQLite returns after fdatasync of the log, which makes
earlier appends durable too. Others commit with `synchronous=NORMAL`: they survive a kill of the process, not a power
cut.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from tallystick.errors import ForgedEventError, InputError, LedgerError
from tallystick.ledger.sqlite_file import ReadOnlyFile, error_of, open_for_writing, speak
from tallystick.ledger.store import (
    Head,
    Lease,
    Letter,
    RunRow,
    check_batch,
    check_event,
    check_follows,
    check_letter,
    check_read,
    expiry,
    held,
    row_of,
    stale,
)
from tallystick.model.events import Sealed, unseal

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SHIFT: Final = 40
"""An event's row id is its run's number times 2^40 plus its seq: one b-tree, and no second index to write."""
_PAGE: Final = 32
"""Rows read at a time: no reader keeps a transaction open while its consumer works, and memory stays bounded."""
_INSERT_FENCED: Final = """
INSERT INTO event (id, kind, digest, raw)
SELECT ?, ?, ?, ? FROM run WHERE no = ? AND epoch = ? AND holder IS NOT NULL
"""


class _Writer:
    """What this process knows of a run it appends to: where the chain ends, under which epoch. Never trusted alone."""

    __slots__ = ("digest", "epoch", "number", "seq")

    def __init__(self, number: int, epoch: int, seq: int, digest: str) -> None:
        self.number = number
        self.epoch = epoch
        self.seq = seq
        self.digest = digest


class SQLiteStore:
    """A `Store` in one SQLite file.

    Args:
        path: the file; made when missing, unless `read_only`.
        read_only: open for reading only; a missing file is an error and nothing is ever created or changed.
        busy_seconds: how long to wait for another process that is writing before giving up.

    Raises:
        LedgerError: the file is missing (read only), cannot be opened, is no ledger, is damaged, or was written by a
            newer version.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False, busy_seconds: float = 5.0) -> None:
        self.path = Path(path)
        self.read_only = read_only
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._closed = False
        self._numbers: dict[str, int] = {}
        self._writers: dict[str, _Writer] = {}
        self._synchronous = ""
        self._reader: ReadOnlyFile | None = None
        self._writer: sqlite3.Connection | None = None
        if read_only:
            self._reader = ReadOnlyFile(self.path, busy_seconds=busy_seconds)
            self._reader.query("SELECT 1")
        else:
            self._writer = open_for_writing(self.path, busy_seconds=busy_seconds)

    # --- leases

    def acquire(self, run: str, holder: str, now: datetime, ttl_seconds: float, force: bool = False) -> Lease:
        """See `Store.acquire`."""
        expires = expiry(run, holder, now, ttl_seconds)
        # A power cut ends every writer of the file, so an epoch that is lost with it fenced nobody.
        with self._writing(durable=False) as sql:
            row = sql.execute("SELECT no, epoch, holder, expires FROM run WHERE run = ?", (run,)).fetchone()
            if row is None:
                sql.execute(
                    "INSERT INTO run (run, epoch, holder, expires) VALUES (?, 1, ?, ?)", (run, holder, _micros(expires))
                )
                return Lease(run=run, epoch=1, holder=holder, expires=expires)
            number, epoch, current, until = row
            if current is not None and not force and _instant(until) > now:
                raise held(run, current, _instant(until))
            sql.execute(
                "UPDATE run SET epoch = ?, holder = ?, expires = ? WHERE no = ?",
                (epoch + 1, holder, _micros(expires), number),
            )
            return Lease(run=run, epoch=epoch + 1, holder=holder, expires=expires)

    def renew(self, lease: Lease, now: datetime, ttl_seconds: float) -> Lease:
        """See `Store.renew`."""
        expires = expiry(lease.run, lease.holder, now, ttl_seconds)
        with self._writing(durable=False) as sql:
            number = self._owned(lease)
            sql.execute("UPDATE run SET expires = ? WHERE no = ?", (_micros(expires), number))
        return Lease(run=lease.run, epoch=lease.epoch, holder=lease.holder, expires=expires)

    def release(self, lease: Lease) -> None:
        """See `Store.release`."""
        with self._writing(durable=False) as sql:
            sql.execute(
                "UPDATE run SET holder = NULL, expires = NULL WHERE run = ? AND epoch = ?", (lease.run, lease.epoch)
            )
            self._writers.pop(lease.run, None)

    def lease(self, run: str) -> Lease | None:
        """See `Store.lease`."""
        rows = self._read("SELECT epoch, holder, expires FROM run WHERE run = ? AND holder IS NOT NULL", (run,))
        if not rows:
            return None
        epoch, holder, until = rows[0]
        return Lease(run=run, epoch=epoch, holder=holder, expires=_instant(until))

    # --- appending

    def append(self, lease: Lease, sealed: Sealed, durable: bool) -> None:
        """See `Store.append`."""
        event = sealed.event
        check_event(lease.run, sealed)
        with self._lock:
            known = self._writers.pop(lease.run, None)  # put back once it is known what happened
            if known is None or known.epoch != lease.epoch or known.seq + 1 != event.seq or known.digest != event.prev:
                self.append_many(lease, (sealed,), durable)  # which says what is wrong, if anything is
                return
            # The hot path. Only the holder of this epoch can have appended since, so the statement checks the epoch
            # alone; should two processes share one lease, the primary key refuses the second event.
            sql = self._ready(durable=durable)
            number = known.number
            row = ((number << _SHIFT) + event.seq, event.kind, sealed.digest, sealed.raw, number, lease.epoch)
            try:
                inserted = sql.execute(_INSERT_FENCED, row).rowcount
            except sqlite3.Error as bad:
                raise _append_failed(bad, self.path) from bad
            if inserted != 1:
                raise stale(lease, self._newest(lease.run))
            known.seq, known.digest = event.seq, sealed.digest
            self._writers[lease.run] = known

    def append_many(self, lease: Lease, sealed: Sequence[Sealed], durable: bool) -> None:
        """See `Store.append_many`."""
        check_batch(lease.run, sealed)
        with self._lock:
            self._writers.pop(lease.run, None)
            with self._writing(durable=durable) as sql:
                number = self._owned(lease)
                if not sealed:
                    return
                check_follows(sealed[0], self._head(number))
                rows = [((number << _SHIFT) + s.event.seq, s.event.kind, s.digest, s.raw) for s in sealed]
                sql.executemany("INSERT INTO event (id, kind, digest, raw) VALUES (?, ?, ?, ?)", rows)
            last = sealed[-1]
            self._writers[lease.run] = _Writer(number, lease.epoch, last.event.seq, last.digest)

    # --- reading

    def events(self, run: str, after: int = 0) -> Iterator[Sealed]:
        """See `Store.events`."""
        number = self._number(run)
        if number is None:
            return
        head = Head() if after <= 0 else self._head_at(number, run, after)
        while head is not None:
            rows = self._read(
                "SELECT id, digest, raw FROM event WHERE id > ? AND id < ? ORDER BY id LIMIT ?",
                ((number << _SHIFT) + head.seq, (number + 1) << _SHIFT, _PAGE),
            )
            for position, stored, raw in rows:
                item = _unseal(run, head.seq + 1, raw)
                if position != (number << _SHIFT) + head.seq + 1:
                    raise ForgedEventError("it is missing or was moved", where=f"run `{run}` event {head.seq + 1}")
                check_read(run, item, stored, head)
                yield item
                head = Head(seq=item.event.seq, digest=item.digest)
            if len(rows) < _PAGE:
                return

    def head(self, run: str) -> Head:
        """See `Store.head`."""
        number = self._number(run)
        if number is None:
            return Head()
        return self._head(number)

    def runs(self) -> tuple[RunRow, ...]:
        """See `Store.runs`."""
        found = []
        for number, run in self._read("SELECT no, run FROM run ORDER BY no", ()):
            low, high = number << _SHIFT, (number + 1) << _SHIFT
            first = self._read("SELECT raw FROM event WHERE id = ?", (low + 1,))
            if not first:
                continue
            [(last,)] = self._read("SELECT max(id) FROM event WHERE id > ? AND id < ?", (low, high))
            ended = self._read(
                "SELECT id, raw FROM event WHERE kind = 'run.ended' AND id > ? AND id < ? ORDER BY id DESC LIMIT 1",
                (low, high),
            )
            found.append(
                row_of(
                    _unseal(run, 1, first[0][0]),
                    last - low,
                    _unseal(run, ended[0][0] - low, ended[0][1]) if ended else None,
                )
            )
        return tuple(found)

    # --- the inbox

    def post(self, run: str, raw: bytes) -> int:
        """See `Store.post`."""
        number = self._number(run)
        check_letter(run, number is not None, raw)
        with self._writing(durable=True) as sql:
            return int(
                sql.execute("INSERT INTO inbox (run, raw) VALUES (?, ?) RETURNING no", (number, raw)).fetchone()[0]
            )

    def posted(self, run: str) -> tuple[Letter, ...]:
        """See `Store.posted`."""
        number = self._number(run)
        if number is None:
            return ()
        rows = self._read("SELECT no, raw FROM inbox WHERE run = ? ORDER BY no", (number,))
        return tuple(Letter(number=no, raw=bytes(raw)) for no, raw in rows)

    def drop(self, lease: Lease, upto: int) -> None:
        """See `Store.drop`."""
        with self._writing(durable=False) as sql:
            number = self._owned(lease)
            sql.execute("DELETE FROM inbox WHERE run = ? AND no <= ?", (number, upto))

    def close(self) -> None:
        """See `Store.close`."""
        with self._lock:
            if self._pid != os.getpid():
                return  # a connection inherited over fork belongs to the parent
            if self._reader is not None:
                self._reader.close()
            if self._writer is not None:
                self._writer.close()
            self._closed = True

    # --- inside

    def _usable(self) -> None:
        if self._pid != os.getpid():
            raise LedgerError(
                "opened in another process",
                where=str(self.path),
                fix="open the ledger again after fork; SQLite connections cannot be inherited",
            )
        if self._closed:
            raise LedgerError("the ledger was closed", where=str(self.path))

    def _ready(self, *, durable: bool) -> sqlite3.Connection:
        self._usable()
        if self._writer is None:
            raise LedgerError("opened for reading only", where=str(self.path), fix="open it without `read_only`")
        wanted = "FULL" if durable else "NORMAL"
        if self._synchronous != wanted:
            with speak(self.path):
                self._writer.execute(f"PRAGMA synchronous = {wanted}")
            self._synchronous = wanted
        return self._writer

    @contextmanager
    def _writing(self, *, durable: bool) -> Iterator[sqlite3.Connection]:
        """One write transaction: committed at the end, rolled back on any error."""
        with self._lock, speak(self.path):
            sql = self._ready(durable=durable)
            sql.execute("BEGIN IMMEDIATE")
            try:
                yield sql
                sql.execute("COMMIT")
            finally:
                if sql.in_transaction:
                    sql.execute("ROLLBACK")

    def _read(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            self._usable()
            if self._reader is not None:
                return self._reader.query(statement, values)
            assert self._writer is not None
            with speak(self.path):
                return self._writer.execute(statement, values).fetchall()

    def _number(self, run: str) -> int | None:
        known = self._numbers.get(run)
        if known is None:
            rows = self._read("SELECT no FROM run WHERE run = ?", (run,))
            if not rows:
                return None
            known = self._numbers[run] = int(rows[0][0])
        return known

    def _owned(self, lease: Lease) -> int:
        rows = self._read("SELECT no, epoch, holder FROM run WHERE run = ?", (lease.run,))
        if not rows or rows[0][1] != lease.epoch or rows[0][2] is None:
            raise stale(lease, self._newest(lease.run))
        return int(rows[0][0])

    def _newest(self, run: str) -> int | None:
        rows = self._read("SELECT epoch FROM run WHERE run = ? AND holder IS NOT NULL", (run,))
        return int(rows[0][0]) if rows else None

    def _head(self, number: int) -> Head:
        low = number << _SHIFT
        rows = self._read(
            "SELECT id, digest FROM event WHERE id > ? AND id < ? ORDER BY id DESC LIMIT 1", (low, low + (1 << _SHIFT))
        )
        return Head(seq=rows[0][0] - low, digest=rows[0][1]) if rows else Head()

    def _head_at(self, number: int, run: str, seq: int) -> Head | None:
        rows = self._read("SELECT raw FROM event WHERE id = ?", ((number << _SHIFT) + seq,))
        return Head(seq=seq, digest=_unseal(run, seq, rows[0][0]).digest) if rows else None


def _unseal(run: str, seq: int, raw: object) -> Sealed:
    try:
        return unseal(raw if isinstance(raw, bytes) else b"")
    except InputError as bad:
        raise ForgedEventError(
            f"the stored bytes are no event: {bad.message}", where=f"run `{run}` event {seq}"
        ) from None


def _append_failed(bad: sqlite3.Error, path: Path) -> LedgerError:
    if isinstance(bad, sqlite3.IntegrityError):
        return LedgerError(
            "an event with this number is there already: two writers use one lease",
            where=str(path),
            fix="stop one of them; read the head again",
        )
    return error_of(bad, path)


def _micros(instant: datetime) -> int:
    return (instant.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1)


def _instant(micros: int) -> datetime:
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except (OverflowError, TypeError):
        raise LedgerError(
            "the file is damaged: a lease does not say when it ends", fix="restore it from a backup"
        ) from None
