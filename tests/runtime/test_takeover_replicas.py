"""Replicas: what is tried there stays there, is recorded, and its errors are observations."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tallystick.contracts import build, load
from tallystick.demo.desk import Desk, Faults
from tallystick.errors import InputError
from tallystick.runtime.replicas import MAX_CALLS, Replica, deepcopy_replica, sqlite_replica

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = load(ROOT / "examples" / "invoice-desk.yaml")
NOW = datetime(2026, 12, 1, tzinfo=UTC)


def replica(tools: Any, contract: Any = CONTRACT, key: bytes | None = None) -> Replica:
    return Replica(tools, contract, key, lambda: NOW)


def test_a_write_on_an_sqlite_replica_never_reaches_the_live_file_and_the_copy_is_deleted(tmp_path: Path) -> None:
    desk = Desk.create(tmp_path / "desk.db")
    before = desk.truth("I-7")
    with sqlite_replica(desk.path, lambda path: Desk(path).tools())() as tools:
        mine = tools["pay_invoice"].__self__.path
        assert replica(tools).call("pay_invoice", {"invoice_id": "I-7", "amount": "420.00"})["status"] == "paid"
        assert mine.is_file()
        assert mine != desk.path
    assert not mine.parent.exists()
    assert desk.truth("I-7") == before


def test_an_sqlite_replica_is_deleted_where_its_user_fails(tmp_path: Path) -> None:
    desk = Desk.create(tmp_path / "desk.db")
    seen: list[Path] = []
    with pytest.raises(ZeroDivisionError), sqlite_replica(desk.path, lambda p: seen.append(p) or {})():
        raise ZeroDivisionError
    assert seen
    assert not seen[0].exists()


def test_an_sqlite_replica_holds_what_was_committed_while_another_writes(tmp_path: Path) -> None:
    desk = Desk.create(tmp_path / "desk.db")
    writer = sqlite3.connect(desk.path, isolation_level=None)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("INSERT INTO payment (invoice, cents) VALUES ('I-7', 1)")
    with sqlite_replica(desk.path, lambda path: Desk(path).tools())() as tools:
        assert replica(tools).call("payments", {"invoice_id": "I-7"})["count"] == 0
    writer.execute("ROLLBACK")
    writer.close()


def test_a_file_that_is_not_there_is_no_replica(tmp_path: Path) -> None:
    with pytest.raises(InputError), sqlite_replica(tmp_path / "none.db", lambda p: {})():
        pass


def test_a_deepcopied_environment_is_another_one_and_is_closed() -> None:
    class World:
        def __init__(self) -> None:
            self.paid: list[str] = []
            self.closed = False

        def close(self) -> None:
            self.closed = True

    live = World()
    kept: list[World] = []

    def tools(world: World) -> dict[str, Any]:
        kept.append(world)
        return {"pay_invoice": lambda invoice_id, amount: world.paid.append(invoice_id)}

    with deepcopy_replica(live, tools)() as on:
        replica(on).call("pay_invoice", {"invoice_id": "I-7", "amount": "420.00"})
    assert (live.paid, kept[0].paid, kept[0].closed, live.closed) == ([], ["I-7"], True, False)


def test_what_a_replica_tool_raises_is_an_observed_error_and_is_recorded(tmp_path: Path) -> None:
    desk = Desk.create(tmp_path / "desk.db", Faults(timeout=True))
    with sqlite_replica(desk.path, lambda path: Desk(path).tools())() as tools:
        tried = replica(tools)
        said = tried.call("pay_invoice", {"invoice_id": "I-7", "amount": "420.00"})
        assert said["error"].startswith("TimeoutError")
        assert "error" in tried.call("no_such_tool", {})
        assert "error" in tried.call("payments", {"invoice": "I-7"})
    assert [(c.id, c.tool, c.result) for c in tried.calls] == [
        ("replica-1", "pay_invoice", None), ("replica-2", "no_such_tool", None), ("replica-3", "payments", None),
    ]  # fmt: skip
    assert all(c.error for c in tried.calls)


def test_a_handed_in_replica_takes_no_more_calls_and_an_endless_trial_is_stopped() -> None:
    tried = replica({"payments": lambda invoice_id: {}})
    for _ in range(MAX_CALLS):
        tried.call("payments", {"invoice_id": "I-7"})
    with pytest.raises(InputError):
        tried.call("payments", {"invoice_id": "I-7"})
    tried = replica({"payments": lambda invoice_id: {}})
    tried.close()
    with pytest.raises(InputError):
        tried.call("payments", {"invoice_id": "I-7"})
    assert not tried.calls


def test_asynchronous_tools_of_a_replica_are_awaited_and_plain_ones_leave_the_loop_alone() -> None:
    where: list[int] = []

    async def payments(invoice_id: str) -> Any:
        await asyncio.sleep(0)
        where.append(threading.get_ident())
        return {"count": 1}

    def pay_invoice(invoice_id: str, amount: str) -> Any:
        where.append(threading.get_ident())
        raise OSError("no")

    async def main() -> None:
        tried = replica({"payments": payments, "pay_invoice": pay_invoice})
        assert await tried.acall("payments", {"invoice_id": "I-7"}) == {"count": 1}
        assert "error" in await tried.acall("pay_invoice", {"invoice_id": "I-7", "amount": "1.00"})
        assert "error" in tried.call("payments", {"invoice_id": "I-7"})
        assert len(tried.calls) == 3

    asyncio.run(main())
    assert where[0] == threading.get_ident() != where[1]


def test_secrets_of_a_replica_are_recorded_as_marks() -> None:
    contract = build(
        {
            "contract": "vault/1",
            "tools": {
                "open_vault": {
                    "effect": "write", "args": {"code": "string"}, "secrets": ["/args/code", "/result/token"],
                }
            },
        }
    )  # fmt: skip
    tried = replica({"open_vault": lambda code: {"token": "s3cr3t"}}, contract, b"k" * 32)
    assert tried.call("open_vault", {"code": "1234"}) == {"token": "s3cr3t"}
    kept = tried.calls[0]
    assert "1234" not in (kept.args.text or "")
    assert kept.result is not None
    assert "s3cr3t" not in (kept.result.text or "")
