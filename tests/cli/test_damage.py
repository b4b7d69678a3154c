"""One rule for what is recorded: where it is damaged, cut off or changed, the exit code is 1, whoever reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tallystick.ledger.sqlite import SQLiteStore
from tests.cli.conftest import Cli
from tests.ledger.samples import filled
from tests.ledger.test_fsck import page_of


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """A ledger of one run."""
    file = tmp_path / "runs.db"
    store = SQLiteStore(file)
    filled(store, "r")
    store.close()
    return file


def overwrite(file: Path, start: int, end: int) -> None:
    """Put bytes there that no page holds."""
    raw = bytearray(file.read_bytes())
    raw[start:end] = b"\xff" * (end - start)
    file.write_bytes(raw)


def test_verify_finds_a_damaged_page_beside_intact_runs(cli: Cli, ledger: Path) -> None:
    """The file is named as damaged, and the runs in it are still told."""
    start, size = page_of(ledger, "inbox")
    overwrite(ledger, start, start + size)
    done = cli("verify", ledger)
    assert done.code == 1
    assert done.out.startswith("does not verify: the file is damaged\n  ")
    assert "intact, unauthenticated: run r" in done.out
    found = cli("verify", ledger, "--json")
    assert (found.code, found.json["ok"], [r["ok"] for r in found.json["runs"]]) == (1, False, [False, True])
