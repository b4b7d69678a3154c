"""Doubt: made by lost answers, kept until settled, never repeated blindly, never CERTIFIED over."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tallystick import Guard, Principal
from tallystick.ledger.keys import public_bytes
from tallystick.model.decision import Verdict
from tallystick.model.events import DoubtSettled, Receipt
from tallystick.runtime.principals import signed_settlement
from tests.runtime.shop import CONTRACT, PAY, TASK, Clock, Shop, events_of, kinds


def lose_answers(shop: Shop) -> None:
    def lose() -> None:
        raise ConnectionError("reset by peer")

    shop.after = lose


def test_a_lost_answer_of_a_write_is_doubt_and_of_a_read_is_nothing(guard: Guard, shop: Shop) -> None:
    with guard.run(TASK) as run:
        run.call("get_invoice", {"invoice_id": "I-7"})
        lose_answers(shop)
        outcome = run.call("pay", PAY)
        assert outcome.in_doubt
        assert isinstance(outcome.error, ConnectionError)
        assert "in_doubt" in outcome.to_json()
        receipt = events_of(guard, run)[-1].body
        assert isinstance(receipt, Receipt)
        assert (receipt.outcome, receipt.error) == ("unknown", "ConnectionError: reset by peer")
        assert list(run.view.doubts) == ["c2"]


def test_the_guard_makes_the_status_query_itself_and_hands_back_the_effect(guard: Guard, shop: Shop) -> None:
    with guard.run(TASK) as run:
        run.call("get_invoice", {"invoice_id": "I-7"})
        lose_answers(shop)
        run.call("pay", PAY)
        again = run.call("pay", PAY)
        assert again.recorded
        assert shop.count("pay") == 1
        assert kinds(guard, run)[-4:] == ["intent", "receipt", "doubt.settled", "refusal"]
        assert run.finish("paid").accepted


def test_an_effect_that_did_not_happen_is_settled_as_such_and_may_then_happen(guard: Guard, shop: Shop) -> None:
    def fail() -> None:
        raise ConnectionError("no route to host")

    with guard.run(TASK) as run:
        run.call("get_invoice", {"invoice_id": "I-7"})
        shop.before = fail
        assert run.call("pay", PAY).in_doubt
        shop.before = lambda: None
        # The query shows that nothing was booked; the facts read before the attempt are void, so they are read again.
        held = run.call("pay", PAY)
        assert held.decision.verdict is Verdict.HOLD
        assert held.decision.codes[0] == "evidence.stale"
        run.call("get_invoice", {"invoice_id": "I-7"})
        assert run.call("pay", PAY).ran
        assert shop.count("pay") == 1


def test_any_later_read_that_shows_it_settles_the_doubt(guard: Guard, shop: Shop) -> None:
    with guard.run(TASK) as run:
        run.call("get_invoice", {"invoice_id": "I-7"})
        lose_answers(shop)
        run.call("pay", PAY)
        run.call("payments", {"invoice_id": "I-7"})
        assert not run.view.doubts


def test_finishing_asks_the_status_query_first(guard: Guard, shop: Shop) -> None:
    with guard.run(TASK) as run:
        run.call("get_invoice", {"invoice_id": "I-7"})
        lose_answers(shop)
        run.call("pay", PAY)
        assert run.finish("paid").accepted


def test_without_a_way_to_settle_nothing_is_repeated_and_nothing_certified(guard: Guard, shop: Shop) -> None:
    with guard.run(TASK) as run:
        lose_answers(shop)
        assert run.call("refund", {"invoice_id": "I-7"}).in_doubt
        shop.after = lambda: None
        again = run.call("refund", {"invoice_id": "I-7"})
        assert again.decision.verdict is Verdict.RECONCILE
        assert again.decision.in_doubt == "c1"
        assert again.refused
        assert "doubt.open" in run.finish("done").decision.codes
        assert shop.count("refund") == 1
    assert run.status == "IN_DOUBT"


@pytest.mark.parametrize(("outcome", "effects"), [("ok", 1), ("no_effect", 2)])
def test_a_person_settles_a_doubt_and_only_with_a_key(guard: Guard, shop: Shop, outcome: Any, effects: int) -> None:
    key = Ed25519PrivateKey.generate()
    with guard.run(TASK, principals=[Principal(id="ann", role="finance", public_key=public_bytes(key))]) as run:
        lose_answers(shop)
        run.call("refund", {"invoice_id": "I-7"})
        shop.after = lambda: None
        run.deliver(signed_settlement(run.id, "ann", Ed25519PrivateKey.generate(), "c1", outcome))
        assert run.call("refund", {"invoice_id": "I-7"}).decision.verdict is Verdict.RECONCILE
        run.deliver(signed_settlement("another-run", "ann", key, "c1", outcome))
        run.call("queue")
        assert run.view.doubts
        run.deliver(signed_settlement(run.id, "ann", key, "c1", outcome, note="asked the bank"))
        run.call("refund", {"invoice_id": "I-7"})
        assert not run.view.doubts
        assert shop.count("refund") == effects
        assert sum(isinstance(e.body, DoubtSettled) for e in events_of(guard, run)) == 1
        assert kinds(guard, run).count("damage") == 2  # the two that had no force are in the record too


def test_a_timeout_is_doubt_and_the_late_result_is_recorded(shop: Shop) -> None:
    guard = Guard(CONTRACT, tools=shop.tools(), timeout=0.05)
    go, ran = threading.Event(), threading.Event()
    with guard.run(TASK) as run:
        run.call("get_invoice", {"invoice_id": "I-7"})
        shop.before = lambda: go.wait(10) and None
        shop.after = ran.set
        outcome = run.call("pay", PAY)
        assert isinstance(outcome.error, TimeoutError)
        assert outcome.in_doubt
        # Its thread is still at work: that the books do not show it yet settles nothing.
        again = run.call("pay", PAY)
        assert again.decision.verdict is Verdict.RECONCILE
        go.set()
        assert ran.wait(10)
        for _ in range(500):
            if not run.view.doubts:
                break
            threading.Event().wait(0.01)
        late = events_of(guard, run)[-1].body
        assert isinstance(late, Receipt)
        assert late.late
        assert late.outcome == "ok"
        assert run.call("pay", PAY).recorded
        assert shop.count("pay") == 1


def test_a_late_result_after_the_end_is_recorded_and_never_improves_the_status(shop: Shop) -> None:
    guard = Guard(CONTRACT, tools=shop.tools(), timeout=0.05)
    go = threading.Event()
    with guard.run(TASK) as run:
        shop.before = lambda: go.wait(10) and None
        run.call("refund", {"invoice_id": "I-7"})
    assert run.status == "IN_DOUBT"
    assert guard.store.lease(run.id) is not None  # kept for the late result
    go.set()
    for _ in range(500):
        if guard.store.lease(run.id) is None:
            break
        threading.Event().wait(0.01)
    assert guard.store.lease(run.id) is None
    late = events_of(guard, run)[-1].body
    assert isinstance(late, Receipt)
    assert late.late
    assert run.view.ended is not None
    assert run.view.ended.status == "IN_DOUBT"


def test_not_finished_yet_is_never_read_as_never(guard: Guard, shop: Shop, clock: Clock) -> None:
    with guard.run(TASK) as run:
        run.call("get_invoice", {"invoice_id": "I-7"})
        outcome = run.call("pay", PAY, lambda invoice_id, amount: {"status": "queued"})
        assert outcome.in_doubt
        clock.move(3600)
        run.call("payments", {"invoice_id": "I-7"})  # not booked yet
        assert run.view.doubts
        assert not run.call("pay", PAY).ran


def test_an_interrupt_inside_a_tool_is_recorded_before_it_goes_on(guard: Guard, shop: Shop) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    run = guard.run(TASK)
    shop.after = interrupt
    with pytest.raises(KeyboardInterrupt), run:
        run.call("refund", {"invoice_id": "I-7"})
    receipt = next(e.body for e in events_of(guard, run) if isinstance(e.body, Receipt))
    assert receipt.error == "interrupted: KeyboardInterrupt:"
    assert receipt.outcome == "unknown"
    assert run.status == "IN_DOUBT"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"id": "I-7", "amount_due": "420.00"}, "the last answer of get_invoice (receipt r1) has no status at /status"),
        ({"ID": "I-7", "status": "open"}, "has no id (invoice) at /id"),
        ({"id": "I-8", "amount": "1.00"}, "is about invoice(I-8)"),
        ({"error": "locked"}, "is no evidence: result.nested_error"),
    ],
)
def test_a_read_that_did_not_help_says_what_it_lacked(guard: Guard, answer: Any, said: str) -> None:
    with guard.run(TASK) as run:
        assert "the last answer" not in run.call("pay", PAY).text()
        run.call("get_invoice", {"invoice_id": "I-7"}, lambda invoice_id: answer)
        reasons = run.call("pay", PAY).decision.reasons
        assert any(said in r.message for r in reasons), reasons
