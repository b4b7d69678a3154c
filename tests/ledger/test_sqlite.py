"""The SQLite file: one clear error for each way it can be unusable, several processes, checking it where it lies."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tallystick.errors import ForgedEventError, InputError, LedgerError, StaleWriterError
from tallystick.ledger.fsck import fsck
from tallystick.ledger.sqlite import SQLiteStore
from tallystick.model.events import Said, blob
from tests.ledger.samples import NOW, chain, filled, words


def more(last, text: str = "more"):  # type: ignore[no-untyped-def]
    return chain("r", (Said(role="user", text=text),), after=last)[0]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def files(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_a_ledger_is_read_again_after_closing(path: Path) -> None:
    store = SQLiteStore(path)
    _, events = filled(store)
    store.close()
    assert files(path.parent) == ["ledger.sqlite"]
    again = SQLiteStore(path)
    assert list(again.events("r")) == events
    again.close()


def test_a_new_epoch_is_higher_in_another_process_too(path: Path) -> None:
    first = SQLiteStore(path)
    lease, events = filled(first)
    second = SQLiteStore(path)
    newer = second.acquire("r", "b", NOW, 60, force=True)
    assert newer.epoch > lease.epoch
    with pytest.raises(StaleWriterError, match="newest epoch is 2"):
        first.append(lease, more(events[-1]), durable=True)
    second.append(newer, more(events[-1]), durable=True)
    assert first.head("r") == second.head("r")


def test_two_processes_sharing_one_lease_cannot_both_append_the_same_seq(path: Path) -> None:
    first, second = SQLiteStore(path), SQLiteStore(path)
    lease, events = filled(first)
    first.append(lease, more(events[-1]), durable=False)
    last = list(first.events("r"))[-1]
    second.append(lease, more(last), durable=False)
    with pytest.raises(LedgerError, match="two writers use one lease"):
        first.append(lease, more(last, "other"), durable=False)
    first.append(lease, more(list(second.events("r"))[-1]), durable=False)
    assert first.head("r").seq == 8


@pytest.mark.parametrize("durable", [True, False])
def test_the_commit_mode_is_the_one_asked_for(path: Path, durable: bool) -> None:
    store = SQLiteStore(path)
    lease, events = filled(store)
    store.append(lease, more(events[-1]), durable=durable)
    assert store._writer is not None
    assert store._writer.execute("PRAGMA synchronous").fetchone() == ((2,) if durable else (1,))
    assert store._writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)


WRITE = """
import sys
from tallystick.ledger.sqlite import SQLiteStore
from tests.ledger.samples import *
sys.stdin.readline()
store = SQLiteStore(sys.argv[1]); lease = store.acquire(sys.argv[2], "child", NOW, 60)
for event in words(sys.argv[2], 60):
    store.append(lease, event, durable=event.event.seq % 2 == 0)
"""


def test_processes_may_make_and_fill_one_ledger_at_the_same_time(path: Path, root: Path) -> None:
    children = [
        subprocess.Popen([sys.executable, "-c", WRITE, str(path), f"run-{n}"], stdin=subprocess.PIPE, cwd=root)
        for n in range(4)
    ]
    for child in children:
        assert child.stdin is not None
        child.stdin.write(b"go\n")
        child.stdin.close()
    assert [child.wait(timeout=60) for child in children] == [0, 0, 0, 0]
    store = SQLiteStore(path, read_only=True)
    for n in range(4):
        assert list(store.events(f"run-{n}")) == words(f"run-{n}", 60)
    assert all(r.ok for r in fsck(path))


# --- reading only


def test_reading_a_missing_ledger_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="no such ledger"):
        SQLiteStore(tmp_path / "none.sqlite", read_only=True)
    with pytest.raises(InputError, match="no such ledger"):
        fsck(tmp_path / "none.sqlite")
    assert files(tmp_path) == []


def test_reading_changes_and_creates_nothing(path: Path) -> None:
    store = SQLiteStore(path)
    _, events = filled(store)
    store.close()
    before = path.read_bytes()
    reader = SQLiteStore(path, read_only=True)
    assert list(reader.events("r")) == events
    assert reader.runs()[0].events == 5
    assert reader.head("r").seq == 5
    assert [r.ok for r in fsck(path)] == [True]
    assert files(path.parent) == ["ledger.sqlite"]
    reader.close()
    assert files(path.parent) == ["ledger.sqlite"]
    assert path.read_bytes() == before


def test_a_reader_writes_nothing(path: Path) -> None:
    store = SQLiteStore(path)
    lease, events = filled(store)
    reader = SQLiteStore(path, read_only=True)
    for attempt in (
        lambda: reader.append(lease, more(events[-1]), durable=False),
        lambda: reader.append_many(lease, [more(events[-1])], durable=False),
        lambda: reader.acquire("s", "h", NOW, 60),
        lambda: reader.renew(lease, NOW, 60),
        lambda: reader.release(lease),
    ):
        with pytest.raises(LedgerError, match="reading only"):
            attempt()


def test_a_reader_sees_what_a_writer_appends_meanwhile(path: Path) -> None:
    store = SQLiteStore(path)
    lease, events = filled(store)
    store.close()
    reader = SQLiteStore(path, read_only=True)  # no log yet: it is told that nobody writes
    assert reader.head("r").seq == 5
    store = SQLiteStore(path)
    store.append(lease, more(events[-1]), durable=False)
    assert reader.head("r").seq == 6
    store.append(lease, more(list(store.events("r"))[-1]), durable=False)
    assert reader.head("r").seq == 7
    store.close()
    assert reader.head("r").seq == 7
    assert len(list(reader.events("r"))) == 7


def test_reading_beside_a_busy_writer_is_always_consistent(path: Path) -> None:
    store = SQLiteStore(path)
    lease, events = filled(store)
    store.close()

    def write() -> None:
        last = events[-1]
        for _ in range(60):
            writer = SQLiteStore(path)  # opening and closing makes and removes the log, which is the hard case
            for _ in range(5):
                last = more(last, "x" * 3_000)
                writer.append(lease, last, durable=False)
            writer.close()

    thread = threading.Thread(target=write)
    thread.start()
    reader, lengths = SQLiteStore(path, read_only=True), [0]
    while thread.is_alive() or lengths[-1] < 305:
        lengths.append(len(list(reader.events("r"))))
    thread.join()
    assert lengths == sorted(lengths)
    assert lengths[-1] == 305


# --- files that cannot be used


def test_another_sqlite_file_is_not_taken_for_a_ledger(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE invoices (id)")
    other.commit()
    other.close()
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(LedgerError, match="not a ledger"):
            SQLiteStore(path, read_only=read_only)
    with pytest.raises(InputError, match="not a ledger"):
        fsck(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"a text file\n" * 100, b"\x00" * 5_000, b"{}"], ids=range(3))
def test_a_file_that_is_no_sqlite_file_is_not_taken_for_a_ledger(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for read_only in (False, True):
        with pytest.raises(LedgerError, match="not a ledger"):
            SQLiteStore(path, read_only=read_only)
    assert path.read_bytes() == content


def test_an_empty_file_becomes_a_ledger_but_is_none_to_a_reader(path: Path) -> None:
    path.touch()
    with pytest.raises(LedgerError, match="not a ledger"):
        SQLiteStore(path, read_only=True)
    store = SQLiteStore(path)
    filled(store)
    store.close()


def test_a_newer_schema_is_refused(path: Path) -> None:
    SQLiteStore(path).close()
    sql = sqlite3.connect(path)
    sql.execute("PRAGMA user_version = 2")
    sql.close()
    for read_only in (False, True):
        with pytest.raises(LedgerError, match=r"schema version 2.*newer tallystick"):
            SQLiteStore(path, read_only=read_only)


def test_a_folder_or_a_missing_folder_is_refused(tmp_path: Path) -> None:
    for read_only in (False, True):
        with pytest.raises(LedgerError, match="folder"):
            SQLiteStore(tmp_path, read_only=read_only)
    with pytest.raises(LedgerError, match="cannot be opened"):
        SQLiteStore(tmp_path / "no" / "ledger.sqlite")
    assert files(tmp_path) == []


def test_a_name_with_special_characters_is_only_a_name(tmp_path: Path) -> None:
    for name in ("a?mode=memory", "b#c", "d%41", "é €"):
        store = SQLiteStore(tmp_path / name)
        filled(store)
        store.close()
        assert (tmp_path / name).is_file()
        assert SQLiteStore(tmp_path / name, read_only=True).head("r").seq == 5
    assert len(files(tmp_path)) == 4


def test_a_locked_ledger_is_one_clear_error_and_nothing_is_written(path: Path) -> None:
    store = SQLiteStore(path, busy_seconds=0.05)
    lease, events = filled(store)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for attempt in (
        lambda: store.append(lease, more(events[-1]), durable=True),
        lambda: store.append_many(lease, [more(events[-1])], durable=True),
        lambda: store.acquire("s", "h", NOW, 60),
    ):
        with pytest.raises(LedgerError, match="locked by another process"):
            attempt()
    other.execute("ROLLBACK")
    other.close()
    assert store.head("r").seq == 5
    store.append(lease, more(events[-1]), durable=True)


def test_a_full_disk_is_one_clear_error_and_the_ledger_goes_on_afterwards(path: Path) -> None:
    store = SQLiteStore(path)
    lease, events = filled(store)
    assert store._writer is not None
    pages = store._writer.execute("PRAGMA page_count").fetchone()[0]
    store._writer.execute(f"PRAGMA max_page_count = {pages}")
    for _ in range(2):
        with pytest.raises(LedgerError, match="disk is full"):
            store.append(lease, more(events[-1], "x" * 20_000), durable=True)
        with pytest.raises(LedgerError, match="disk is full"):
            store.append_many(lease, [more(events[-1], "x" * 20_000)], durable=True)
    assert list(store.events("r")) == events
    store._writer.execute("PRAGMA max_page_count = 1000000")
    store.append(lease, more(events[-1], "x" * 20_000), durable=True)
    assert store.head("r").seq == 6


FULL_DISK = """
import resource, sys
from tallystick.errors import LedgerError
from tallystick.ledger.sqlite import SQLiteStore
from tests.ledger.samples import *
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = SQLiteStore(sys.argv[1]); lease, events = filled(store)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
last, kept = events[-1], 5
try:
    while True:
        [last] = chain("r", (Said(role="user", text="x" * 5_000),), after=last)
        store.append(lease, last, durable=True)
        kept += 1
except LedgerError as bad:
    print(kept, bad)
"""


def test_a_write_the_system_refuses_is_a_ledger_error_and_what_was_acknowledged_is_there(
    path: Path, root: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path)], check=True, capture_output=True, text=True, cwd=root
    )
    kept = int(done.stdout.split()[0])
    store = SQLiteStore(path)
    assert store.head("r").seq >= kept > 5
    assert [r.ok for r in fsck(path)] == [True]


def test_a_file_without_write_permission_is_one_clear_error(path: Path, tmp_path: Path) -> None:
    store = SQLiteStore(path)
    lease, events = filled(store)
    store.close()
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        if os.access(path, os.W_OK):
            pytest.skip("this user may write everything")
        with pytest.raises(LedgerError, match=r"cannot be (written|opened)"):
            SQLiteStore(path).append(lease, more(events[-1]), durable=True)
        assert SQLiteStore(path, read_only=True).head("r").seq == 5
    finally:
        tmp_path.chmod(0o755)


def test_damaged_pages_are_a_ledger_error(path: Path) -> None:
    store = SQLiteStore(path)
    lease = store.acquire("r", "h", NOW, 60)
    store.append_many(lease, words("r", 200), durable=False)
    store.close()
    raw = bytearray(path.read_bytes())
    raw[4096 * 3 :] = b"\xff" * (len(raw) - 4096 * 3)
    path.write_bytes(raw)
    with pytest.raises(LedgerError):
        list(SQLiteStore(path, read_only=True).events("r"))
    assert "file.damaged" in [flaw.code for flaw in fsck(path)[0].problems]


def test_a_store_inherited_over_fork_refuses_to_work(path: Path) -> None:
    store = SQLiteStore(path)
    lease, events = filled(store)
    child = os.fork()
    if child == 0:  # pragma: no cover - the child
        try:
            store.append(lease, more(events[-1]), durable=False)
        except LedgerError:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    store.append(lease, more(events[-1]), durable=False)


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TRIGGER t AFTER INSERT ON event BEGIN DELETE FROM event WHERE id = new.id; END",
        "ALTER TABLE inbox RENAME TO letters",
        """ALTER TABLE event RENAME TO old; CREATE VIEW event AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL
           SELECT n + 1 FROM c) SELECT n + 1099511627776 AS id, 'run.started' AS kind, '' AS digest, x'' AS raw
           FROM c""",
    ],
)
def test_a_file_with_tables_of_somebody_elses_making_is_damaged(path: Path, change: str) -> None:
    store = SQLiteStore(path)
    filled(store)
    store.close()
    with contextlib.closing(sqlite3.connect(path)) as sql:
        sql.executescript(change)
    for read_only in (True, False):
        with pytest.raises(LedgerError, match="damaged"):
            SQLiteStore(path, read_only=read_only)
    if "VIEW" in change:
        with pytest.raises(LedgerError, match="a table is missing"):
            fsck(path)


@pytest.mark.parametrize("until", ["9223372036854775807", "'soon'"])
def test_a_lease_without_an_end_is_damage(path: Path, until: str) -> None:
    store = SQLiteStore(path)
    filled(store)
    with contextlib.closing(sqlite3.connect(path)) as sql, sql:
        sql.execute(f"UPDATE run SET expires = {until}")
    with pytest.raises(LedgerError, match="lease"):
        store.lease("r")
    with pytest.raises(LedgerError, match="lease"):
        store.acquire("r", "other", NOW, 60)
    assert store.acquire("r", "other", NOW, 60, force=True).epoch == 2


def test_a_run_whose_name_is_no_text_is_a_flaw(path: Path) -> None:
    store = SQLiteStore(path)
    filled(store)
    store.close()
    with contextlib.closing(sqlite3.connect(path)) as sql, sql:
        sql.execute("UPDATE run SET run = x'ff'")
    [found] = fsck(path)
    assert not found.ok
    assert "row.columns" in [flaw.code for flaw in found.problems]


def test_a_closed_store_says_so(path: Path) -> None:
    store = SQLiteStore(path)
    lease, events = filled(store)
    store.close()
    store.close()
    with pytest.raises(LedgerError, match="closed"):
        store.append(lease, more(events[-1]), durable=False)
    with pytest.raises(LedgerError, match="closed"):
        store.head("r")


def test_a_large_result_is_kept_whole(path: Path) -> None:
    store = SQLiteStore(path)
    lease, events = filled(store)
    large = blob(b"x" * 20_000_000)
    from tallystick.model.events import Receipt

    [event] = chain("r", (Receipt(id="r9", call="c1", result=large),), after=events[-1])
    store.append(lease, event, durable=False)
    assert list(store.events("r", 5)) == [event]
    assert fsck(path)[0].ok


def test_an_event_beyond_the_limit_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tallystick.ledger.store.MAX_EVENT_BYTES", 1_000)
    store = SQLiteStore(path)
    lease, events = filled(store)
    with pytest.raises(LedgerError, match="more than 1,000"):
        store.append(lease, more(events[-1], "x" * 1_000), durable=False)


# --- tampering


def tampered(path: Path, statement: str, values: tuple[object, ...] = ()) -> None:
    sql = sqlite3.connect(path, isolation_level=None)
    for trigger in ("event_no_update", "event_no_delete"):
        sql.execute(f"DROP TRIGGER {trigger}")
    sql.execute(statement, values)
    sql.close()


ID = 1 << 40
TAMPER: dict[str, tuple[str, Callable[[list], tuple[object, ...]]]] = {  # type: ignore[type-arg]
    "bytes": ("UPDATE event SET raw = ? WHERE id = ?", lambda e: (e[1].raw.replace(b"I-7", b"I-8"), ID + 2)),
    "bytes and digest": (
        "UPDATE event SET raw = ?, digest = ? WHERE id = ?",
        lambda e: (x := chain("r", (Said(role="user", text="pay I-8"),), after=e[0])[0]) and (x.raw, x.digest, ID + 2),
    ),
    "digest": ("UPDATE event SET digest = ? WHERE id = ?", lambda e: ("a" * 64, ID + 3)),
    "not bytes": ("UPDATE event SET raw = 'text' WHERE id = ?", lambda e: (ID + 3,)),
    "not an event": ("UPDATE event SET raw = x'7b7d' WHERE id = ?", lambda e: (ID + 3,)),
    "deleted": ("DELETE FROM event WHERE id = ?", lambda e: (ID + 3,)),
    "first deleted": ("DELETE FROM event WHERE id = ?", lambda e: (ID + 1,)),
    "moved": ("UPDATE event SET id = id + 10 WHERE id = ?", lambda e: (ID + 5,)),
}


@pytest.mark.parametrize("name", TAMPER)
def test_a_changed_row_is_found_by_reading_and_by_fsck(path: Path, name: str) -> None:
    store = SQLiteStore(path)
    _, events = filled(store)
    filled(store, "s")
    store.close()
    statement, values = TAMPER[name]
    tampered(path, statement, values(events))
    with pytest.raises(ForgedEventError, match="run `r`"):
        list(SQLiteStore(path, read_only=True).events("r"))
    results = {r.run: r for r in fsck(path)}
    assert not results["r"].ok
    assert results["s"].ok


def test_a_wrong_kind_column_and_a_stray_event_are_found_by_fsck(path: Path) -> None:
    store = SQLiteStore(path)
    _, events = filled(store)
    store.close()
    copy = path.with_name("copy.sqlite")
    shutil.copy(path, copy)
    tampered(path, "UPDATE event SET kind = 'run.ended' WHERE id = ?", (ID + 2,))
    assert [p.code for p in fsck(path)[0].problems] == ["row.columns"]
    tampered(copy, "INSERT INTO event VALUES (?, 'message', ?, ?)", (7 * ID + 1, events[1].digest, events[1].raw))
    assert [p.code for r in fsck(copy) for p in r.problems] == ["row.stray"]


def test_the_table_refuses_slips(path: Path) -> None:
    store = SQLiteStore(path)
    filled(store)
    sql = sqlite3.connect(path)
    for slip in ("DELETE FROM event", "UPDATE event SET kind = 'x'"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            sql.execute(slip)
    sql.close()


def test_an_event_sealed_by_hand_with_other_bytes_is_refused(path: Path) -> None:
    store = SQLiteStore(path)
    lease, events = filled(store)
    good = more(events[-1])
    with pytest.raises(LedgerError, match="digest"):
        store.append(lease, msgspec.structs.replace(good, raw=good.raw + b" "), durable=False)
