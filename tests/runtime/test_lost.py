"""What is handed back of an effect whose own answer was lost: that it happened, and what shows it, never another's."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tallystick import Guard, InputError, Principal, Refusal, RefusedError, Run
from tallystick.ledger.keys import public_bytes
from tallystick.runtime.lost import LostAnswer, LostAnswerError
from tallystick.runtime.principals import signed_settlement
from tallystick.runtime.recheck import recheck
from tests.runtime.shop import PAY, TASK, Shop

READ = {"invoice_id": "I-7"}


def lost_payment(run: Run, shop: Shop) -> None:
    def lose() -> None:
        shop.after = lambda: None
        raise ConnectionError("gone")

    run.call("get_invoice", READ)
    shop.after = lose
    assert run.call("pay", PAY).in_doubt


def test_the_status_querys_answer_is_never_passed_off_as_the_tools_own(guard: Guard, shop: Shop) -> None:
    with guard.run(TASK) as run:
        lost_payment(run, shop)
        again = run.call("pay", PAY)
        assert (again.recorded, again.receipt_id) == (True, None)
        assert isinstance(again.result, LostAnswer)
        assert again.result == {
            "happened": True, "answer_lost": True, "tool": "pay", "call": "c2", "settled_by": "query",
            "evidence": {"tool": "payments", "receipt": "r3", "result": {"count": 1}},
        }  # fmt: skip
        assert "payments (receipt r3) shows that it happened, its own answer was lost" in again.text()
        assert "handed back" not in again.text()
        assert json.loads(again.text())["result"]["answer_lost"] is True
        assert run.finish("paid").accepted
    assert recheck(guard.store.events(run.id)).reproduces


def test_a_wrapped_tool_returns_it_marked_and_says_why_a_field_is_not_there(guard: Guard, shop: Shop) -> None:
    with guard.run(TASK) as run:
        pay = run.tool(shop.pay)
        lost_payment(run, shop)
        answer = pay(**PAY)
        assert isinstance(answer, LostAnswer)
        assert "took effect (call c2), as payments (receipt r3) showed" in str(answer)
        with pytest.raises(LostAnswerError, match="its own answer was lost"):
            answer["status"]


def test_a_persons_word_is_marked_as_one(guard: Guard, shop: Shop) -> None:
    def lose() -> None:
        raise ConnectionError("gone")

    key = Ed25519PrivateKey.generate()
    with guard.run(TASK, principals=[Principal(id="ann", role="finance", public_key=public_bytes(key))]) as run:
        shop.after = lose
        run.call("refund", READ)
        run.deliver(signed_settlement(run.id, "ann", key, "c1", "ok"))
        again = run.call("refund", READ)
        assert again.recorded
        assert again.result["settled_by"] == "principal"
        assert "as a person showed" in str(again.result)


def test_its_own_answer_is_handed_back_even_when_it_came_late(guard: Guard, shop: Shop) -> None:
    with guard.run(TASK) as run:
        run.call("get_invoice", READ)
        own = run.call("pay", PAY).result
        run.call("payments", READ)
        again = run.call("pay", PAY)
        assert (again.result, again.receipt_id) == (own, "r2")


def test_a_refusal_is_false_and_says_so_when_a_result_is_read_out_of_it(guard: Guard, shop: Shop) -> None:
    with guard.run(TASK) as run:
        refused: Any = run.tool(shop.pay)(**PAY)
        assert isinstance(refused, Refusal)
        assert not refused
        for read in (lambda: refused["status"], lambda: list(refused), lambda: "status" in refused):
            with pytest.raises(RefusedError, match="pay was not run"):
                read()


def test_doubt_says_which_predicate_was_false_and_where(guard: Guard, shop: Shop) -> None:
    def misspelt(invoice_id: str, amount: str) -> dict[str, Any]:
        return {"status": "payd"}

    with guard.run(TASK) as run:
        run.call("get_invoice", READ)
        outcome = run.call("pay", PAY, misspelt)
        assert outcome.why_in_doubt == '`ok: result.status == "paid"` is not true: /status is "payd"'
        assert outcome.why_in_doubt in outcome.to_json()["in_doubt"]
        run.call("refund", READ, lambda invoice_id: {"done": True})
        (reason,) = run.call("refund", READ).decision.reasons
        assert '`ok: result.status == "refunded"` is not true: /status is missing' in reason.message
        stop = run.finish("done")
        assert "/status is missing" in str(stop)


@pytest.mark.parametrize("given", ["gave_up", "", None, "Acted", 1])
def test_a_run_ends_as_one_of_three_outcomes(guard: Guard, given: Any) -> None:
    with guard.run(TASK) as run:
        run.call("get_invoice", READ)
        run.call("pay", PAY)
        with pytest.raises(InputError, match="is no outcome of a run"):
            run.finish("x", outcome=given)
        assert run.finish("x").accepted
    assert recheck(guard.store.events(run.id)).reproduces
