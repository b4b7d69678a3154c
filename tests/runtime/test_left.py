"""Runs that nobody left: the program's end gives them back, and a listing says what stands open meanwhile."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tallystick import Guard
from tallystick.errors import LeaseHeldError
from tallystick.ledger.sqlite import SQLiteStore
from tallystick.runtime.listing import listed, standing_text, unanswered
from tests.runtime.shop import CONTRACT, PAY, TASK, Shop, in_thread

SCRIPT = """
import os, sys
from tallystick import Guard
from tests.runtime.shop import CONTRACT, TASK
guard = Guard(CONTRACT, sys.argv[1], tools={"refund": lambda invoice_id: os._exit(9)})
run = guard.run(TASK, run_id="r")
if sys.argv[2] == "killed":
    run.call("refund", {"invoice_id": "I-7"})
if sys.argv[2] == "forked" and os.fork() == 0:
    sys.exit(0)
if sys.argv[2] == "forked":
    os.wait()
    from datetime import UTC, datetime
    print(guard.store.lease("r") is not None)
    run.suspend()
"""


def program(ledger: Path, how: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", SCRIPT, str(ledger), how]
    root = Path(__file__).resolve().parents[2]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=root)


def test_a_program_that_just_ends_says_so_and_gives_its_run_back(tmp_path: Path, shop: Shop) -> None:
    said = program(tmp_path / "l.db", "ended")
    assert said.returncode == 0
    assert "left run `r` open" in said.stderr
    with Guard(CONTRACT, tmp_path / "l.db", tools=shop.tools()) as guard, guard.resume("r") as run:
        assert run.call("get_invoice", {"invoice_id": "I-7"}).ran


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forks_end_gives_nothing_back_that_is_its_parents(tmp_path: Path) -> None:
    assert program(tmp_path / "l.db", "forked").stdout == "True\n"


def test_a_killed_programs_run_is_listed_with_its_lease_and_its_calls_without_receipt(tmp_path: Path) -> None:
    assert program(tmp_path / "l.db", "killed").returncode == 9
    with contextlib.closing(SQLiteStore(tmp_path / "l.db", read_only=True)) as store:
        (one,) = listed(store, datetime.now(UTC))
        assert one.standing == "live"
        assert one.expires is not None
        assert standing_text(one).startswith("live; lease until 20")
        assert [(u.call, u.tool) for u in unanswered(store, "r")] == [("c1", "refund")]
    with Guard(CONTRACT, tmp_path / "l.db") as guard, pytest.raises(LeaseHeldError, match="a killed process"):
        guard.resume("r")


def test_a_call_at_work_is_unanswered_and_an_answered_one_is_not(guard: Guard, shop: Shop) -> None:
    go, at_work = threading.Event(), threading.Event()

    def before() -> None:
        at_work.set()
        go.wait(30)

    shop.before = before
    with guard.run(TASK) as run:
        run.call("get_invoice", {"invoice_id": "I-7"})
        paying = in_thread(lambda: run.call("pay", PAY))
        assert at_work.wait(30)
        assert [u.tool for u in unanswered(guard.store, run.id)] == ["pay"]
        go.set()
        assert paying().ran
        assert unanswered(guard.store, run.id) == ()
