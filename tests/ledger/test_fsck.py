"""Damage to the file of a ledger that no event is read from."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from tallystick.errors import DamagedError
from tallystick.ledger.fsck import fsck
from tallystick.ledger.sqlite import SQLiteStore
from tests.ledger.samples import NOW, filled, words


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """A ledger of two runs, with no log beside it."""
    file = tmp_path / "runs.db"
    store = SQLiteStore(file)
    filled(store, "r")
    store.append_many(store.acquire("s", "h", NOW, 60), words("s", 200), durable=False)
    store.close()
    return file


def page_of(file: Path, name: str) -> tuple[int, int]:
    """The root page of a table or an index: where it starts, and the page size."""
    with contextlib.closing(sqlite3.connect(file)) as sql:
        [(size,)] = sql.execute("PRAGMA page_size").fetchall()
        [(root,)] = sql.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchall()
    return (root - 1) * size, size


def test_a_sound_file_has_a_result_for_each_run_and_no_other(ledger: Path) -> None:
    """Nothing is said of the file where nothing is wrong with it, and nothing is written."""
    before = ledger.read_bytes()
    assert [(r.run, r.ok) for r in fsck(ledger)] == [("r", True), ("s", True)]
    assert ledger.read_bytes() == before
    assert [p.name for p in ledger.parent.iterdir()] == [ledger.name]


def test_a_damaged_page_that_no_event_is_read_from_is_found(ledger: Path) -> None:
    """The inbox's page is damaged: each run is intact, and the ledger is not."""
    start, size = page_of(ledger, "inbox")
    raw = bytearray(ledger.read_bytes())
    raw[start : start + size] = b"\xff" * size
    ledger.write_bytes(raw)
    damage, *runs = fsck(ledger)
    assert (damage.ok, damage.run, {p.code for p in damage.problems}) == (False, None, {"file.damaged"})
    assert [(r.run, r.ok) for r in runs] == [("r", True), ("s", True)]


def test_a_file_too_damaged_to_look_into_is_damage_and_no_other_error(ledger: Path) -> None:
    """The page of the schema."""
    raw = bytearray(ledger.read_bytes())
    raw[100:4096] = b"\xff" * (4096 - 100)
    ledger.write_bytes(raw)
    with pytest.raises(DamagedError, match="malformed"):
        fsck(ledger)
