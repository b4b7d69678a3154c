"""Checking a SQLite ledger where it lies, with the verifier's code and nothing of the store's.

It finds what `verify` finds in an export of each run, columns that disagree with the events they describe, and what
SQLite's own `integrity_check` finds: pages, also of indexes and of free space, that no event is read from. There is no
signature in a ledger: whoever can write the file can rewrite it consistently. Only a signed export, or a checkpoint
kept elsewhere, shows that.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Final
from urllib.parse import quote

from tallystick.errors import DamagedError, InputError, LedgerError
from tallystick.ledger.verify import MAX_PROBLEMS, Chain, Verification

_APPLICATION_ID: Final = 0x54414C59
_SHIFT: Final = 40


def fsck(path: str | os.PathLike[str]) -> tuple[Verification, ...]:
    """Check the file and every run of the ledger at `path`, oldest first. Nothing is written.

    Damage to the file is a result of its own, before those of the runs, with `run` None and the code `file.damaged`;
    the runs that can still be read follow.

    Raises:
        InputError: there is no such file, or it is no ledger.
        DamagedError: it is too damaged for SQLite to look into.
        LedgerError: SQLite cannot read it for another reason.
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
            results = _damage(sql)
            try:
                _check(sql, results)
            except sqlite3.Error as bad:
                if not results or not _is_damage(bad):  # else it is told already, and some runs cannot be read
                    raise
            return tuple(results)
        finally:
            sql.close()
    except sqlite3.Error as bad:
        kind = DamagedError if _is_damage(bad) else LedgerError
        raise kind(f"cannot be read: {bad}", where=str(file), fix="restore it from a backup") from None


def _is_damage(bad: sqlite3.Error) -> bool:
    code = getattr(bad, "sqlite_errorcode", None)
    return isinstance(code, int) and code & 0xFF == sqlite3.SQLITE_CORRUPT


def _damage(sql: sqlite3.Connection) -> list[Verification]:
    """Return a result with what SQLite finds wrong with the file, or none (sqlite.org/pragma.html, integrity_check)."""
    found = []
    try:
        for (text,) in sql.execute(f"PRAGMA integrity_check({MAX_PROBLEMS})"):
            found.append(text)
    except sqlite3.Error as bad:  # it gives up where even the page's kind cannot be told
        if not _is_damage(bad):
            raise
        found.append(bad)
    if found == ["ok"]:
        return []
    file = Chain(None)
    for text in found:
        file.flaw(0, "file.damaged", " ".join(str(text).split()))
    return [file.result()]


def _check(sql: sqlite3.Connection, results: list[Verification]) -> None:
    """Add a result for each run to `results`."""
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


def _kind(event: dict[str, object]) -> object:
    body = event.get("body")
    return body.get("kind") if isinstance(body, dict) else None
