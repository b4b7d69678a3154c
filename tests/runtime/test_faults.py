"""The table "Failure semantics", row by row, by injected faults. (Kills are in test_crash.py.)"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tallystick import ContractError, Guard, InputError
from tallystick.errors import ForgedEventError, LeaseHeldError, LedgerError, StaleWriterError
from tallystick.ledger.memory import MemoryStore
from tallystick.ledger.sqlite import SQLiteStore
from tallystick.ledger.store import Lease
from tallystick.model.decision import Verdict
from tallystick.model.events import Receipt, Sealed, Tenure
from tallystick.runtime.drivers import Step, Steps, Write, drive
from tallystick.runtime.execution import Execution
from tallystick.runtime.outcome import Outcome
from tests.runtime.shop import CONTRACT, PAY, TASK, Clock, Faulty, Shop, events_of, kinds

READ = {"invoice_id": "I-7"}


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Faulty]:
    made = Faulty(MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "ledger.db"))
    yield made
    made.close()


@pytest.fixture
def guard(store: Faulty, shop: Shop, clock: Clock) -> Guard:
    return Guard(CONTRACT, store, tools=shop.tools(), clock=clock)


# ------------------------------------------------------------------ the ledger cannot write


def test_a_ledger_that_cannot_write_the_intent_means_nothing_runs(guard: Guard, store: Faulty, shop: Shop) -> None:
    with guard.run(TASK) as run:
        run.call("get_invoice", READ)
        store.fails = {"intent"}
        outcome = run.call("pay", PAY)
        assert outcome.decision.codes == ("ledger.unavailable",)
        assert "free some space" in outcome.decision.reasons[0].reverses
        assert shop.count("pay") == 0
        store.fails = set()
        assert run.call("pay", PAY).ran  # nothing happened, so it may be proposed again
        assert shop.count("pay") == 1


def test_an_intent_that_was_stored_although_the_append_failed_counts_as_never_started(
    guard: Guard, store: Faulty, shop: Shop
) -> None:
    with guard.run(TASK) as run:
        run.call("get_invoice", READ)
        store.fails, store.stored = {"intent"}, True
        assert run.call("pay", PAY).decision.codes == ("ledger.unavailable",)
        store.fails = set()
        run.call("get_invoice", READ)
        assert not run.view.doubts
        assert run.call("pay", PAY).ran
        assert shop.count("pay") == 1
        receipts = [e.body for e in events_of(guard, run) if isinstance(e.body, Receipt)]
        assert [r.outcome for r in receipts] == ["ok", "not_started", "ok", "ok"]


def test_a_ledger_that_cannot_write_the_receipt_ends_what_the_tenure_may_do(
    guard: Guard, store: Faulty, shop: Shop
) -> None:
    with guard.run(TASK) as run:
        run.call("get_invoice", READ)
        store.fails = {"receipt"}
        outcome = run.call("pay", PAY)
        assert outcome.ran
        assert outcome.in_doubt
        assert outcome.receipt_id is None
        assert run.call("queue").decision.codes == ("ledger.broken",)
        assert not run.finish("paid").accepted
    assert run.status == "IN_DOUBT"
    assert shop.count("pay") == 1
    assert "run.ended" in kinds(guard, run)


def test_a_receipt_the_ledger_would_not_take_is_appended_when_it_can(guard: Guard, store: Faulty) -> None:
    with guard.run(TASK) as run:
        run.call("get_invoice", READ)
        store.fails = {"receipt"}
        run.call("pay", PAY)
        store.fails = set()
    late = next(e.body for e in events_of(guard, run)[-2:] if isinstance(e.body, Receipt))
    assert late.late
    assert late.outcome == "ok"
    assert run.status == "UNCERTIFIED"  # nothing is in doubt any more, but this run was not accepted


def test_a_receipt_that_was_stored_although_the_append_failed_is_not_written_twice(guard: Guard, store: Faulty) -> None:
    with guard.run(TASK) as run:
        run.call("get_invoice", READ)
        store.fails, store.stored = {"receipt"}, True
        run.call("pay", PAY)
        store.fails = set()
    assert kinds(guard, run).count("receipt") == 2


def test_a_ledger_that_cannot_be_read_either_refuses_everything(guard: Guard, store: Faulty, shop: Shop) -> None:
    with guard.run(TASK) as run:
        run.call("get_invoice", READ)
        store.fails, store.unreadable = {"intent"}, True
        run.call("pay", PAY)
        store.fails = set()
        assert run.call("pay", PAY).decision.codes == ("ledger.unavailable",)
        assert shop.count("pay") == 0
        store.unreadable = False
        assert run.call("pay", PAY).ran


def test_a_refusal_that_cannot_be_recorded_is_a_refusal_all_the_same(guard: Guard, store: Faulty, shop: Shop) -> None:
    with guard.run(TASK) as run:
        store.fails = {"refusal"}
        assert run.call("pay", PAY).refused
        assert shop.count("pay") == 0


def test_a_stop_that_cannot_be_recorded_is_not_accepted(guard: Guard, store: Faulty) -> None:
    with guard.run(TASK) as run:
        run.call("get_invoice", READ)
        run.call("pay", PAY)
        store.fails = {"stop.decided"}
        assert run.finish("paid").decision.codes == ("ledger.unavailable",)
        store.fails = set()
        assert run.finish("paid").accepted


def test_a_real_full_disk_is_a_refusal(tmp_path: Path, shop: Shop) -> None:
    store = SQLiteStore(tmp_path / "ledger.db")
    guard = Guard(CONTRACT, store, tools=shop.tools())
    with guard.run(TASK) as run:
        run.call("get_invoice", READ)
        store._writer.execute(f"PRAGMA max_page_count = {store._writer.execute('PRAGMA page_count').fetchone()[0]}")  # type: ignore[union-attr]
        outcomes = [run.call("order", {"sku": "x" * 3000}) for _ in range(3)]
        assert outcomes[-1].decision.codes == ("ledger.unavailable",)
        ran = sum(o.ran for o in outcomes)
        assert shop.count("order", "x" * 3000) == ran
        store._writer.execute("PRAGMA max_page_count = 1000000")  # type: ignore[union-attr]
    store.close()


# ------------------------------------------------------------------ invalid contract, our own errors


def test_a_run_under_an_invalid_contract_is_never_started(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("contract: bad/1\ntools:\n  pay: {effect: sometimes}\n", encoding="utf-8")
    with pytest.raises(ContractError):
        Guard(file)


def test_a_task_that_does_not_fit_the_contract_starts_nothing(guard: Guard) -> None:
    with pytest.raises(ContractError):
        guard.run({"bindings": {}})
    assert guard.store.runs() == ()


def test_our_own_exception_is_a_refusal(guard: Guard, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError

    with guard.run(TASK) as run:
        run.call("get_invoice", READ)
        with monkeypatch.context() as patch:
            patch.setattr("tallystick.gates.act._decide", broken)
            assert run.call("pay", PAY).decision.codes == ("gate.error",)
        with monkeypatch.context() as patch:
            patch.setattr("tallystick.runtime.calls.may_act", broken)
            assert run.call("pay", PAY).decision.codes == ("guard.error",)
        assert shop.count("pay") == 0


def test_our_own_exception_after_the_tool_ran_leaves_a_receipt(
    guard: Guard, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError

    with guard.run(TASK) as run:
        run.call("get_invoice", READ)
        with monkeypatch.context() as patch:
            patch.setattr("tallystick.runtime.receipts.result_bytes", broken)
            assert run.call("pay", PAY).in_doubt
        assert kinds(guard, run)[-2:] == ["intent", "receipt"]
        assert run.call("pay", PAY).recorded  # settled by the status query
        assert shop.count("pay") == 1


# ------------------------------------------------------------------ a second process


def test_a_second_guard_on_a_live_run_is_refused(guard: Guard, store: Faulty, shop: Shop, clock: Clock) -> None:
    with guard.run(TASK, run_id="r") as run:
        other = Guard(CONTRACT, store, tools=shop.tools(), clock=clock)
        with pytest.raises(LeaseHeldError):
            other.resume("r")
        assert run.call("get_invoice", READ).ran


def test_a_writer_that_was_replaced_runs_nothing_more(guard: Guard, store: Faulty, shop: Shop, clock: Clock) -> None:
    old = guard.run(TASK, run_id="r")
    old.call("get_invoice", READ)
    new = Guard(CONTRACT, store, tools=shop.tools(), clock=clock).resume("r", force=True)
    assert old.call("pay", PAY).decision.codes == ("lease.lost",)
    assert old.call("pay", PAY).decision.codes == ("lease.lost",)
    assert old.finish("paid").decision.codes == ("lease.lost",)
    assert old.close() is None
    assert shop.count("pay") == 0
    assert new.call("pay", PAY).ran
    assert new.finish("paid").accepted
    tenures = [e.body for e in events_of(guard, "r") if isinstance(e.body, Tenure)]
    assert [(t.epoch, t.forced) for t in tenures] == [(1, False), (2, True)]


def _from(steps: Steps[Outcome], step: Step) -> Steps[Outcome]:
    """Go on with steps of which one is in hand."""
    value = yield step
    while True:
        try:
            step = steps.send(value)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]  # a generator's return value is untyped
        value = yield step


def test_a_writer_replaced_between_intent_and_tool_does_not_start_it(
    guard: Guard, store: Faulty, shop: Shop, clock: Clock
) -> None:
    old = guard.run(TASK, run_id="r")
    old.call("get_invoice", READ)
    steps = old.steps("pay", PAY)
    step = next(steps)
    while not isinstance(step, Execution):
        assert isinstance(step, Write)
        step = steps.send(step.do())
    new = Guard(CONTRACT, store, tools=shop.tools(), clock=clock).resume("r", force=True)
    assert new.settle_by_query() == ()
    new.call("get_invoice", READ)
    assert new.call("pay", PAY).ran
    assert new.finish("paid").accepted
    outcome = drive(_from(steps, step))  # the old writer wakes up
    assert outcome.refused
    assert outcome.decision.codes == ("lease.lost",)
    assert shop.count("pay") == 1


def test_a_write_does_not_start_while_nobody_can_say_who_holds_the_run(
    guard: Guard, store: Faulty, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = guard.run(TASK)
    run.call("get_invoice", READ)

    def unreadable(run: str) -> Lease | None:
        raise LedgerError("reading the disk failed")

    monkeypatch.setattr(store, "lease", unreadable)
    outcome = run.call("pay", PAY)
    assert outcome.refused
    assert outcome.decision.codes == ("ledger.unavailable",)
    assert shop.count("pay") == 0
    monkeypatch.undo()
    assert not run.view.doubts
    run.call("get_invoice", READ)  # an earlier write, even one that never started, makes evidence stale
    assert run.call("pay", PAY).ran
    assert run.finish("paid").accepted


def test_an_asynchronous_writer_is_fenced_too(guard: Guard, store: Faulty, clock: Clock) -> None:
    run = guard.run(TASK, run_id="r")
    run.call("get_invoice", READ)
    started: list[str] = []

    async def pay(invoice_id: str, amount: str) -> dict[str, str]:
        started.append(f"{invoice_id} {amount}")
        return {"status": "paid"}

    append = store.append

    def then_taken_over(lease: Lease, sealed: Sealed, durable: bool) -> None:
        append(lease, sealed, durable)
        store.append = append  # type: ignore[method-assign]  # once
        Guard(CONTRACT, store, clock=clock).resume("r", force=True)

    store.append = then_taken_over  # type: ignore[method-assign]  # the instant between intent and tool
    outcome = asyncio.run(run.acall("pay", PAY, pay))
    assert outcome.decision.codes == ("lease.lost",)
    assert not started


def test_a_replaced_writers_result_is_not_recorded_and_its_call_is_in_doubt(
    guard: Guard, store: Faulty, shop: Shop, clock: Clock
) -> None:
    old = guard.run(TASK, run_id="r")
    old.call("get_invoice", READ)
    taken: list[Any] = []
    shop.after = lambda: taken.append(Guard(CONTRACT, store, tools=shop.tools(), clock=clock).resume("r", force=True))
    outcome = old.call("pay", PAY)
    assert outcome.in_doubt
    new = taken[0]
    assert list(new.view.doubts) == ["c2"]
    assert new.call("pay", PAY).recorded
    assert shop.count("pay") == 1
    with pytest.raises(StaleWriterError):
        store.append(old._journal.lease, next(iter(store.events("r"))), durable=True)


def test_after_the_lease_has_expired_another_may_take_over(store: Faulty, shop: Shop, clock: Clock) -> None:
    guard = Guard(CONTRACT, store, tools=shop.tools(), clock=clock, lease_seconds=10)
    guard.run(TASK, run_id="r").call("get_invoice", READ)
    clock.move(11)
    with Guard(CONTRACT, store, tools=shop.tools(), clock=clock).resume("r") as run:
        assert run.call("pay", PAY).ran  # what was read in the earlier tenure still counts


def test_leases_of_live_runs_are_renewed(store: Faulty, shop: Shop) -> None:
    guard = Guard(CONTRACT, store, tools=shop.tools(), lease_seconds=0.3)
    with guard.run(TASK, run_id="r") as run:
        before = store.lease("r")
        for _ in range(500):
            if store.lease("r") != before:
                break
            import threading

            threading.Event().wait(0.01)
        after = store.lease("r")
        assert before is not None
        assert after is not None
        assert after.expires > before.expires
        assert run.call("queue").ran
    assert store.lease("r") is None


# ------------------------------------------------------------------ resuming


def test_calls_without_a_receipt_are_in_doubt_after_resuming(
    guard: Guard, store: Faulty, shop: Shop, clock: Clock
) -> None:
    run = guard.run(TASK, run_id="r")
    run.call("get_invoice", READ)
    store.fails = {"receipt"}
    run.call("pay", PAY)
    store.fails = set()
    new = Guard(CONTRACT, store, tools=shop.tools(), clock=clock).resume("r", force=True)
    assert list(new.view.doubts) == ["c2"]
    assert new.finish("paid").accepted  # by the status query
    assert shop.count("pay") == 1


def test_resuming_needs_a_run_that_is_there_and_not_over(guard: Guard) -> None:
    with pytest.raises(InputError, match="no run"):
        guard.resume("nobody")
    with guard.run(TASK, run_id="r"):
        pass
    with pytest.raises(InputError, match="has ended: UNCERTIFIED"):
        guard.resume("r")


def test_a_resumed_run_is_judged_by_the_contract_it_was_started_with(store: Faulty, shop: Shop, clock: Clock) -> None:
    from tallystick.contracts import parse

    lax = parse("contract: lax/1\ntools:\n  pay: {effect: write, args: {invoice_id: id, amount: string}}\n")
    Guard(CONTRACT, store, tools=shop.tools(), clock=clock).run(TASK, run_id="r").suspend()
    other = Guard(lax, store, tools={"pay": shop.pay}, clock=clock)
    with pytest.raises(InputError, match=r"started under `shop/1`.*this guard has `lax/1`"):
        other.resume("r")
    with other.resume("r", frozen=True) as run:
        assert run.contract.name == "shop"
        assert run.call("pay", PAY).decision.verdict is Verdict.HOLD


def test_a_ledger_whose_bytes_were_changed_is_not_resumed(tmp_path: Path, shop: Shop) -> None:
    file = tmp_path / "ledger.db"
    with Guard(CONTRACT, file, tools=shop.tools()) as guard:
        run = guard.run(TASK, run_id="r")
        run.call("get_invoice", READ)
        run.suspend()
    sql = sqlite3.connect(file)
    sql.execute("DROP TRIGGER event_no_update")
    sql.execute("UPDATE event SET raw = replace(raw, '420.00', '999.00') WHERE kind = 'receipt'")
    sql.commit()
    sql.close()
    with Guard(CONTRACT, file, tools=shop.tools()) as guard, pytest.raises(ForgedEventError):
        guard.resume("r")
