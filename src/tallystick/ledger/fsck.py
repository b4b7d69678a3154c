"""Checking a SQLite ledger where it lies, with the verifier's code and nothing of the store's.

It finds what `verify` finds in an export of each run, and columns that disagree with the events they describe. There is
no signature in a ledger: whoever can write the file can rewrite it consistently. Only a signed export, or a checkpoint
kept elsewhere, shows that.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Final
from urllib.parse import quote

from tallystick.errors import InputError, LedgerError
from tallystick.ledger.verify import MAX_PROBLEMS, Chain, Verification

_APPLICATION_ID: Final = 0x54414C59
_SHIFT: Final = 40


def fsck(path: str | os.PathLike[str]) -> tuple[Verification, ...]:
    """Check every run of the ledger at `path`, oldest first. Nothing is written.

    Raises:
        InputError: there is no such file, or it is no ledger.
        LedgerError: SQLite cannot read it.
    """
    file = Path(path)
    if not file.is_file():
        raise InputError("there is no such ledger", where=str(file), fix="check the path")
    # Without a log beside it nobody writes the file; see `sqlite_file.ReadOnlyFile` on `immutable`.
    quiet = not file.with_name(file.name + "-wal").exists()
    uri = f"file:{quote(os.fsencode(file.absolute()))}?mode=ro{'&immutable=1' if quiet else ''}"
    try:
        sql = sqlite3.connect(uri, uri=True, isolation_level=None)
        try:
            if sql.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION_ID:
                raise InputError("not a ledger", where=str(file))
            # A view in a table's place could compute rows without end.
            if {"run", "event"} - {n for (n,) in sql.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}:
                raise LedgerError("a table is missing", where=str(file), fix="restore it from a backup")
            sql.execute("BEGIN")  # one snapshot, also while a run goes on
            return _check(sql)
        finally:
            sql.close()
    except sqlite3.Error as bad:
        raise LedgerError(f"cannot be read: {bad}", where=str(file), fix="restore it from a backup") from None


def _check(sql: sqlite3.Connection) -> tuple[Verification, ...]:
    results = []
    known = 0
    for number, run in sql.execute("SELECT no, run FROM run ORDER BY no").fetchall():
        chain = Chain(run if isinstance(run, str) else None)
        if chain.run is None:
            chain.flaw(0, "row.columns", "the run's name is not a text")
        low, high = number << _SHIFT, (number + 1) << _SHIFT
        rows = sql.execute("SELECT id, kind, digest, raw FROM event WHERE id > ? AND id < ? ORDER BY id", (low, high))
        for position, kind, stored, raw in rows:
            seq = position - low
            if not isinstance(raw, bytes):
                chain.flaw(0, "row.raw", "the stored event is not bytes", event=seq)
                continue
            known += 1
            found = chain.feed(raw, 0)
            if stored != chain.head:
                chain.flaw(0, "row.digest", "the stored digest is not that of the bytes", event=seq)
            if found is not None and (found.get("seq") != seq or _kind(found) != kind):
                chain.flaw(0, "row.columns", "the columns do not describe the event", event=seq)
            if len(chain.flaws) >= MAX_PROBLEMS:
                break
        if chain.events or chain.flaws:
            results.append(chain.result())
    [(total,)] = sql.execute("SELECT count(*) FROM event").fetchall()
    if total != known and all(r.ok for r in results):
        stray = Chain(None)
        stray.flaw(0, "row.stray", f"{total - known} events belong to no run")
        results.append(stray.result())
    return tuple(results)


def _kind(event: dict[str, object]) -> object:
    body = event.get("body")
    return body.get("kind") if isinstance(body, dict) else None
