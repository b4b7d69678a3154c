"""The path of a call: decision, intent, tool, receipt; and what a caller gets instead."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tallystick import Guard, InputError, Outcome, Refusal, RefusedError, ToolResult
from tallystick.model.decision import Verdict, decision_of
from tallystick.model.events import Intent, Receipt
from tallystick.model.events import Refusal as Refused
from tests.runtime.shop import PAY, TASK, Clock, Shop, events_of, in_thread, kinds


def test_a_call_without_its_evidence_does_not_run_and_says_what_to_read(guard: Guard, shop: Shop) -> None:
    with guard.run(TASK) as run:
        outcome = run.call("pay", PAY)
        assert (outcome.refused, outcome.ran, outcome.recorded) == (True, False, False)
        assert outcome.decision.verdict is Verdict.HOLD
        assert outcome.decision.reasons[0].reads[0].tool == "get_invoice"
        assert shop.count("pay") == 0
        assert kinds(guard, run) == ["refusal"]
        assert "evidence.missing" in str(outcome.refusal())


def test_an_admitted_call_leaves_one_intent_and_one_receipt(guard: Guard, shop: Shop, clock: Clock) -> None:
    with guard.run(TASK) as run:
        read = run.call("get_invoice", {"invoice_id": "I-7"})
        outcome = run.call("pay", PAY, native_id="call_1", turn=2)
        assert outcome.result == {"status": "paid", **PAY}
        assert (outcome.call_id, outcome.receipt_id, outcome.in_doubt) == ("c2", "r2", False)
        assert shop.count("pay") == 1
        assert kinds(guard, run) == ["intent", "receipt", "intent", "receipt"]
        intent, receipt = (e.body for e in events_of(guard, run)[-2:])
        assert isinstance(intent, Intent)
        assert isinstance(receipt, Receipt)
        assert (intent.native_id, intent.turn, intent.now) == ("call_1", 2, "2026-03-11T09:00:00Z")
        assert intent.basis == [run.view.receipt(read.receipt_id or "").digest]  # type: ignore[union-attr]
        assert (receipt.outcome, receipt.call, receipt.source) == ("ok", "c2", "live")
        assert receipt.result is not None
        assert receipt.result.text == '{"status":"paid","invoice_id":"I-7","amount":"420.00"}'


def test_the_same_effect_again_hands_back_the_recorded_result(guard: Guard, shop: Shop) -> None:
    with guard.run(TASK) as run:
        run.call("get_invoice", {"invoice_id": "I-7"})
        run.call("pay", PAY)
        again = run.call("pay", {"amount": "420.00", "invoice_id": "I-7"}, native_id="another")
        assert (again.recorded, again.refused, again.receipt_id) == (True, False, "r2")
        assert again.result["status"] == "paid"
        assert again.to_json()["guard"] == "return_recorded"
        assert shop.count("pay") == 1


def test_a_new_wish_of_the_user_lets_an_equal_effect_happen_again(guard: Guard, shop: Shop) -> None:
    with guard.run(TASK) as run:
        run.call("order", {"sku": "A"})
        assert run.call("order", {"sku": "A"}).recorded
        run.wish("one more, please", tool="order")
        assert run.call("order", {"sku": "A"}).ran
        assert shop.count("order", "A") == 2


def test_of_two_identical_parallel_payments_one_runs_and_the_other_gets_its_result(guard: Guard, shop: Shop) -> None:
    with guard.run(TASK) as run:
        run.call("get_invoice", {"invoice_id": "I-7"})
        second: list[Any] = []
        shop.before = lambda: second.append(in_thread(lambda: run.call("pay", PAY)))
        first = run.call("pay", PAY)
        other: Outcome = second[0]()
        assert first.ran
        assert other.recorded
        assert other.receipt_id == first.receipt_id
        assert shop.count("pay") == 1


def test_an_identical_parallel_call_waits_only_so_long(shop: Shop, clock: Clock) -> None:
    guard = Guard(shop_contract(), tools=shop.tools(), clock=clock, patience=0)
    with guard.run(TASK) as run:
        run.call("get_invoice", {"invoice_id": "I-7"})
        second: list[Any] = []
        shop.before = lambda: second.append(in_thread(lambda: run.call("pay", PAY))())
        assert run.call("pay", PAY).ran
        assert second[0].decision.codes == ("effect.in_flight",)
        assert shop.count("pay") == 1


def shop_contract() -> Any:
    from tests.runtime.shop import CONTRACT

    return CONTRACT


def test_wrapped_tools_return_results_or_refusal_values(guard: Guard, shop: Shop) -> None:
    with guard.run(TASK) as run:
        get_invoice = run.tool(shop.get_invoice)
        pay = run.tool(shop.pay, name="pay")

        @run.tool(name="refund", on_refusal="raise")
        def refund(invoice_id: str) -> Any:
            return shop.refund(invoice_id)

        held = pay("I-7", "420.00")
        assert isinstance(held, Refusal)
        assert held.to_json()["reasons"][0]["what_would_help"]
        assert get_invoice(invoice_id="I-7")["status"] == "open"
        assert pay("I-7", amount="420.00")["status"] == "paid"
        assert pay("I-7", "420.00")["status"] == "paid"
        assert shop.count("pay") == 1
        refund("I-7")
        run.block("frozen", ("refund",), status="do not refund", prerequisite="an audit", authority="finance")
        with pytest.raises(RefusedError) as refused:
            refund("I-8")
        assert refused.value.refusal.decision.codes == ("condition.open",)
        assert pay.__name__ == "pay"


def test_what_a_wrapped_read_raises_is_recorded_and_raised_again(guard: Guard) -> None:
    with guard.run(TASK) as run:

        @run.tool(name="queue")
        def queue() -> None:
            raise ValueError("no queue today")

        with pytest.raises(ValueError, match="no queue today"):
            queue()
        receipt = events_of(guard, run)[-1].body
        assert isinstance(receipt, Receipt)
        assert (receipt.flag, receipt.outcome, receipt.error) == ("error", "no_effect", "ValueError: no queue today")
        assert not run.view.doubts


def test_arguments_a_callable_does_not_take_are_refused_before_anything_is_in_doubt(guard: Guard, shop: Shop) -> None:
    with guard.run(TASK) as run:
        run.call("get_invoice", {"invoice_id": "I-7"})
        outcome = run.call("refund", {"invoice_id": "I-7", "why": "x"})
        assert outcome.decision.codes == ("args.signature",)
        assert not run.view.doubts
        assert shop.count("refund") == 0


@pytest.mark.parametrize(
    ("args", "text", "code"),
    [
        ({"invoice_id": object()}, None, "args.not_json"),
        ({"invoice_id": float("nan")}, None, "args.not_json"),
        ({1: "I-7"}, None, "args.not_json"),
        ([1], None, "args.not_json"),
        ({"invoice_id": "\ud800"}, None, "args.not_json"),
        (None, '{"invoice_id": "I-7"', "args.not_json"),
        (None, '["I-7"]', "args.not_json"),
        (None, '{"invoice_id": "I-7", "invoice_id": "I-8"}', "args.not_json"),
        ({"invoice_id": "I-7"}, '{"invoice_id": "I-8"}', "args.mutated"),
        ({"invoice_id": "I-7"}, '{"invoice_id": "I-7"}{}', "args.unparseable"),
        ({"invoice_id": 7.5}, None, "args.invalid"),
        ({}, None, "args.invalid"),
    ],
)
def test_arguments_that_are_no_call_are_refused_and_recorded(guard: Guard, args: Any, text: str, code: str) -> None:
    with guard.run(TASK) as run:
        outcome = run.call("get_invoice", args, args_text=text)
        assert outcome.decision.codes[0] == code
        assert outcome.refused
        refusal = events_of(guard, run)[-1].body
        assert isinstance(refusal, Refused)
        assert decision_of(refusal.decision) == outcome.decision


def test_a_call_of_a_turn_that_was_cut_is_not_run(guard: Guard) -> None:
    with guard.run(TASK) as run:
        assert run.call("get_invoice", {"invoice_id": "I-7"}, complete=False).decision.codes == ("args.incomplete",)


def test_arguments_read_from_the_models_text_are_dispatched_exactly(guard: Guard) -> None:
    seen: list[Any] = []

    def queue(**given: Any) -> dict[str, Any]:
        seen.append(given)
        return {}

    with guard.run(TASK) as run:
        run.call("queue", fn=queue, args_text='{"amount": 1299.10, "n": 9007199254740993}')
        assert seen == [{"amount": Decimal("1299.10"), "n": 9007199254740993}]
        run.call("queue", {"amount": 0.1}, fn=queue)
        assert seen[1] == {"amount": 0.1}
        intent = events_of(guard, run)[-2].body
        assert isinstance(intent, Intent)
        assert intent.args.text == '{"amount":0.1}'


def test_a_tool_the_contract_does_not_mention_is_not_waved_through(guard: Guard) -> None:
    with guard.run(TASK) as run:
        assert run.call("drop_tables", {}, lambda: 1).decision.codes == ("tool.unmentioned",)


def test_a_tool_nobody_registered_is_refused(guard: Guard) -> None:
    with guard.run(TASK) as run:
        guard.tools.pop("queue")
    with guard.run(TASK) as run:
        assert run.call("queue").decision.codes == ("tool.unknown",)


async def _later() -> int:
    return 1


def test_a_coroutine_function_is_not_called_synchronously(guard: Guard) -> None:
    with guard.run(TASK) as run, pytest.raises(InputError, match="coroutine"):
        run.call("queue", {}, _later)


def test_a_batch_is_judged_item_by_item(guard: Guard, shop: Shop) -> None:
    with guard.run(TASK) as run:
        outcome = run.call("mail_all", {"to": ["a", "bad", "c"]})
        assert outcome.ran
        again = run.call("mail_all", {"to": ["a", "bad", "c"]})
        assert again.decision.codes == ("effect.duplicate",)
        assert "bad" in again.decision.reasons[0].reverses
        assert shop.count("mail", "a") == 1


def test_an_idempotency_key_is_minted_once_per_effect(guard: Guard, shop: Shop) -> None:
    with guard.run(TASK) as run:
        lost = [True]

        def lose() -> None:
            if lost.pop():
                raise ConnectionError("reset by peer")

        shop.after = lose
        first = run.call("order", {"sku": "A"}, args_text='{"sku": "A"}')
        assert first.in_doubt
        lost.append(False)
        shop.after = lambda: None
        retry = run.call("order", {"sku": "A"})
        assert retry.decision.codes == ("effect.retry_same_key",)
        assert retry.ran
        keys = {e.body.idempotency_key for e in events_of(guard, run) if isinstance(e.body, Intent)}
        assert len(keys) == 1
        assert shop.count("order", "A") == 1
        assert not run.view.doubts  # the retry carried the effect
        assert run.call("order", {"sku": "A"}).recorded
        run.wish("another one", tool="order")
        assert run.call("order", {"sku": "A"}).ran
        assert shop.count("order", "A") == 2


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ({"total": Decimal("10.00")}, '{"total":10.00}'),
        (("a", 1), '["a",1]'),
        ({"when": Clock().now}, '{"when":"2026-03-11T09:00:00+00:00"}'),
        ("plain words", "plain words"),
        (None, "null"),
    ],
)
def test_whatever_a_tool_returns_is_recorded_and_handed_on_unchanged(guard: Guard, value: Any, kept: str) -> None:
    with guard.run(TASK) as run:
        outcome = run.call("queue", {}, lambda: value)
        assert outcome.result is value
        receipt = events_of(guard, run)[-1].body
        assert isinstance(receipt, Receipt)
        assert receipt.result is not None
        assert receipt.result.text == kept


def test_a_result_with_two_channels_and_a_flag_keeps_both(guard: Guard) -> None:
    answer = ToolResult(value="it failed", structured={"code": 7}, flag="error", native_id="n1")
    with guard.run(TASK) as run:
        outcome = run.call("queue", {}, lambda: answer)
        receipt = events_of(guard, run)[-1].body
        assert isinstance(receipt, Receipt)
        assert outcome.result == "it failed"
        assert receipt.result is not None
        assert receipt.structured is not None
        assert (receipt.result.text, receipt.structured.text) == ("it failed", '{"code":7}')
        assert (receipt.flag, receipt.outcome, receipt.native_id) == ("error", "no_effect", "n1")


def test_a_result_that_nests_too_deep_is_recorded_and_says_nothing(guard: Guard) -> None:
    deep: Any = 1
    for _ in range(10_000):
        deep = [deep]
    with guard.run(TASK) as run:
        outcome = run.call("queue", {}, lambda: deep)
        assert outcome.ran
        assert kinds(guard, run) == ["intent", "receipt"]


def test_a_result_too_large_to_keep_is_in_doubt_not_lost(guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tallystick.runtime.receipts.MAX_RESULT_BYTES", 1000)
    with guard.run(TASK) as run:
        outcome = run.call(
            "refund", {"invoice_id": "I-7"}, lambda invoice_id: {"status": "refunded", "pad": "x" * 2000}
        )
        assert outcome.in_doubt
        receipt = events_of(guard, run)[-1].body
        assert isinstance(receipt, Receipt)
        assert receipt.truncated
        assert receipt.result is None


def test_a_run_of_that_name_is_started_once(guard: Guard) -> None:
    with guard.run(TASK, run_id="r"):
        pass
    with pytest.raises(InputError, match="exists"):
        guard.run(TASK, run_id="r")
