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


READERS = ("verify", "show", "recheck")
SPOIL = {
    "forged": lambda raw: raw.replace(b"please", b"pleasE"),
    "no event": lambda raw: raw.replace(b'"actor"', b'"acto"'),
    "event missing": lambda raw: b"".join(raw.splitlines(keepends=True)[i] for i in (0, 1, 3, 4, 5, 6)),
    "cut off": lambda raw: raw[: len(raw) // 2],
    "no end": lambda raw: raw[: raw.rindex(b'{"checkpoint":')],
    "first line": lambda raw: raw.replace(b"{", b"[", 1),
}


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize("how", SPOIL)
def test_a_spoilt_export_is_1_to_every_reader(cli: Cli, ledger: Path, how: str, command: str) -> None:
    """With `--json` too, where stdout is one object."""
    out = ledger.with_name("r.jsonl")
    cli("export", ledger, "r", "-o", out)
    spoilt = SPOIL[how](out.read_bytes())
    assert spoilt != out.read_bytes()
    out.write_bytes(spoilt)
    assert cli(command, out).code == 1
    found = cli(command, out, "--json")
    assert found.code == 1
    assert isinstance(found.json, dict)


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize("table", ["event", "sqlite_schema"])
def test_a_damaged_ledger_is_1_to_every_reader(cli: Cli, ledger: Path, table: str, command: str) -> None:
    """Whether the events or the schema cannot be read."""
    start, size = page_of(ledger, table) if table == "event" else (100, 1000)
    overwrite(ledger, start, start + size)
    assert cli(command, ledger).code == 1
    found = cli(command, ledger, "--json")
    assert found.code == 1
    assert isinstance(found.json, dict)


@pytest.mark.parametrize("command", READERS)
def test_a_forged_event_in_a_ledger_is_1_to_every_reader(cli: Cli, ledger: Path, command: str) -> None:
    """Bytes of an event changed where they lie."""
    raw = ledger.read_bytes()
    assert b"please" in raw
    ledger.write_bytes(raw.replace(b"please", b"pleasE"))
    assert cli(command, ledger).code == 1
    assert cli(command, ledger, "--json").code == 1
