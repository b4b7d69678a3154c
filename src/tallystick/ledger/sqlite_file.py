"""The SQLite file itself: opening, schema, recognising what is not a ledger, and SQLite's errors in words."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from tallystick.errors import LedgerError

APPLICATION_ID: Final = 0x54414C59
"""`TALY`, in the file's header, so that another SQLite file is never taken for a ledger."""
SCHEMA_VERSION: Final = 1

_SCHEMA: Final = (
    """CREATE TABLE run (
  no INTEGER PRIMARY KEY,
  run TEXT NOT NULL UNIQUE,
  epoch INTEGER NOT NULL,   -- newest fencing epoch
  holder TEXT,              -- NULL: nobody holds the lease
  expires INTEGER           -- microseconds since 1970-01-01 UTC
)""",
    """CREATE TABLE event (
  id INTEGER PRIMARY KEY,   -- run.no * 2^40 + seq
  kind TEXT NOT NULL,
  digest TEXT NOT NULL,     -- hex SHA-256 of raw
  raw BLOB NOT NULL         -- RFC 8785 bytes of the envelope
)""",
    """CREATE TABLE inbox (
  no INTEGER PRIMARY KEY AUTOINCREMENT,   -- a number is never given twice
  run INTEGER NOT NULL,     -- run.no
  raw BLOB NOT NULL         -- what a principal posted; the run's writer appends it as an event
)""",
    "CREATE INDEX inbox_run ON inbox (run)",
    "CREATE INDEX event_ended ON event (id) WHERE kind = 'run.ended'",
    # Against slips in the sqlite3 shell; whoever can write the file can drop them, which is what `verify` is for.
    "CREATE TRIGGER event_no_update BEFORE UPDATE ON event BEGIN SELECT raise(ABORT, 'the ledger is append-only'); END",
    "CREATE TRIGGER event_no_delete BEFORE DELETE ON event BEGIN SELECT raise(ABORT, 'the ledger is append-only'); END",
)

_TABLES: Final = ("run", "event", "inbox")
_OWN: Final = frozenset({("trigger", "event_no_update"), ("trigger", "event_no_delete")})

_FIXES: Final = {
    sqlite3.SQLITE_BUSY: ("locked by another process", "close the other process, or wait and try again"),
    sqlite3.SQLITE_LOCKED: ("locked by another process", "close the other process, or wait and try again"),
    sqlite3.SQLITE_CORRUPT: ("the file is damaged", "restore it from a backup; do not append to it"),
    sqlite3.SQLITE_NOTADB: ("not a ledger", "give the path of a ledger file"),
    sqlite3.SQLITE_READONLY: ("the file cannot be written", "check its permissions and the disk's"),
    sqlite3.SQLITE_PERM: ("the file cannot be opened with these permissions", "check its permissions"),
    sqlite3.SQLITE_CANTOPEN: ("the file cannot be opened", "check that its folder exists and its permissions"),
    sqlite3.SQLITE_FULL: ("the disk is full", "free some space; the event was not appended"),
    sqlite3.SQLITE_IOERR: ("reading or writing the disk failed", "check the disk; the event counts as not appended"),
    sqlite3.SQLITE_TOOBIG: ("the event is larger than SQLite allows", "let the tool return less"),
}


@contextmanager
def speak(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into `LedgerError`s that say what is wrong with the file and what would help."""
    try:
        yield
    except sqlite3.Error as bad:
        raise error_of(bad, path) from bad


def error_of(bad: sqlite3.Error, path: Path) -> LedgerError:
    """Return what SQLite's error means for the ledger at `path`."""
    code = getattr(bad, "sqlite_errorcode", None)
    what, fix = _FIXES.get(code & 0xFF if isinstance(code, int) else -1, ("the ledger cannot be used", None))
    said = "" if code == sqlite3.SQLITE_NOTADB else f" ({bad})"  # which only says the same
    return LedgerError(f"{what}{said}", where=str(path), fix=fix)


def open_for_writing(path: Path, *, busy_seconds: float) -> sqlite3.Connection:
    """Return an autocommit connection to `path`, made an empty ledger when missing. The caller closes it.

    Raises:
        LedgerError: as the constructor of `SQLiteStore` says.
    """
    if path.is_dir():
        raise LedgerError("is a folder, not a ledger", where=str(path))
    with speak(path):
        sql = _connect(path, "rwc", busy_seconds)
        try:
            _create_schema(sql, path, busy_seconds=busy_seconds)
        except BaseException:
            sql.close()
            raise
    return sql


def _connect(path: Path, mode: str, busy_seconds: float) -> sqlite3.Connection:
    # A `file:` URI with every special character of the path escaped, so that `?` in a name is no option.
    uri = f"file:{quote(os.fsencode(path.absolute()))}?mode={mode}"
    return sqlite3.connect(uri, uri=True, timeout=busy_seconds, isolation_level=None, check_same_thread=False)


class ReadOnlyFile:
    """Queries on a ledger file that never create or change a file.

    SQLite makes `-wal` and `-shm` beside any WAL file it reads, unless it is told that the file cannot change
    (`immutable`). Where no log lies beside the file, nobody is writing, so it is told that; and since a writer may come
    at any time, an answer counts only if the file was still the same afterwards. Else it is opened and asked again.
    """

    def __init__(self, path: Path, *, busy_seconds: float) -> None:
        if path.is_dir():
            raise LedgerError("is a folder, not a ledger", where=str(path))
        if not path.exists():
            raise LedgerError("there is no such ledger", where=str(path), fix="check the path")
        self._path = path
        self._busy_seconds = busy_seconds
        self._state: tuple[int, ...] | None = None
        self._sql: sqlite3.Connection | None = None

    def query(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of one SELECT.

        Raises:
            LedgerError: the file is no ledger, is damaged, or keeps changing.
        """
        failed: LedgerError | None = None
        for _ in range(100):
            before = self._state_now()
            try:
                with speak(self._path):
                    if self._sql is None or before != self._state:
                        self.close()
                        self._sql = _connect(
                            self._path, "ro" if before == _LIVE else "ro&immutable=1", self._busy_seconds
                        )
                        check_file(self._sql, self._path)
                        self._state = before
                    rows = self._sql.execute(statement, values).fetchall()
            except LedgerError as bad:
                self.close()
                failed = bad
                rows = []
            if self._state_now() == before:
                if failed is not None:
                    raise failed
                return rows
            failed = None
        raise LedgerError("the file keeps changing while it is read", where=str(self._path), fix="try again")

    def close(self) -> None:
        """Close the connection."""
        if self._sql is not None:
            self._sql.close()
        self._sql = self._state = None

    def _state_now(self) -> tuple[int, ...]:
        if self._path.with_name(self._path.name + "-wal").exists():
            return _LIVE  # SQLite's own locks and snapshots keep the answer consistent
        try:
            found = self._path.stat()
        except OSError as bad:
            raise LedgerError(f"cannot be read: {bad.strerror}", where=str(self._path)) from None
        return (found.st_ino, found.st_size, found.st_mtime_ns)


_LIVE: Final = ()


def _create_schema(sql: sqlite3.Connection, path: Path, *, busy_seconds: float) -> None:
    """Make an empty file a ledger, and put it in WAL mode. Safe when several processes do it at once.

    Raises:
        LedgerError: the file system has no WAL mode (some network file systems).
        sqlite3.Error: anything SQLite says.
    """
    if sql.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        sql.execute("BEGIN IMMEDIATE")
        try:
            empty = sql.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
            if empty and sql.execute("PRAGMA application_id").fetchone()[0] == 0:
                for statement in _SCHEMA:
                    sql.execute(statement)
                sql.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                sql.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            sql.execute("COMMIT")
        finally:
            if sql.in_transaction:
                sql.execute("ROLLBACK")
    check_file(sql, path)
    # SQLite does not wait for other processes while it changes the journal mode, so waiting is done here.
    for left in range(max(1, int(busy_seconds * 100)), -1, -1):
        try:
            mode = sql.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError:
            if not left:
                raise
            time.sleep(0.01)
        else:
            if mode != "wal":
                raise LedgerError(f"the file system allows no write-ahead log (journal mode `{mode}`)", where=str(path))
            return


def check_file(sql: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that is no ledger, or one of a newer version.

    Raises:
        LedgerError: as said.
        sqlite3.Error: anything SQLite says, such as "file is not a database".
    """
    application = sql.execute("PRAGMA application_id").fetchone()[0]
    if application != APPLICATION_ID:
        raise LedgerError("an SQLite file, but not a ledger", where=str(path), fix="give the path of a ledger file")
    # A view in a table's place could compute rows without end, and a trigger of somebody else's could take back what
    # was appended. Our own triggers only guard against slips, so they may be gone.
    found = {(kind, name) for kind, name in sql.execute("SELECT type, name FROM sqlite_master")}
    odd = [name for kind, name in found if kind in ("view", "trigger") and (kind, name) not in _OWN]
    lost = [name for name in _TABLES if ("table", name) not in found]
    if odd or lost:
        what = f"`{odd[0]}` is none of its own" if odd else f"the table `{lost[0]}` is missing"
        raise LedgerError(f"the file is damaged: {what}", where=str(path), fix="restore it from a backup")
    version = sql.execute("PRAGMA user_version").fetchone()[0]
    if version != SCHEMA_VERSION:
        newer = version > SCHEMA_VERSION
        raise LedgerError(
            f"the ledger has schema version {version}, this version reads {SCHEMA_VERSION}",
            where=str(path),
            fix="use a newer tallystick" if newer else "the file is damaged",
        )
