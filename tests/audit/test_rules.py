"""Each rule: what it finds, and what it leaves alone. Nothing here comes from recorded data."""

from __future__ import annotations

import json

import pytest

from tallystick.audit import audit_trace
from tallystick.traces import parse
from tests.audit.build import ASK, ORDER, agent, audited, did, found, user

CANCEL = did("cancel_order", {"order_id": "O-17"}, {"status": "cancelled", "order_id": "O-17"})
REJECTED = did("cancel_order", {"order_id": "O-17"}, {"status": "rejected", "reason": "already shipped"})
BROKEN = did("cancel_order", {"order_id": "O-17"}, {"error": "upstream timeout"})
PREVIEW = did("cancel_order", {"order_id": "O-17", "confirm": False}, {"status": "preview", "fee": 5})
COMMIT = did("cancel_order", {"order_id": "O-17", "confirm": True}, {"status": "cancelled", "order_id": "O-17"})


def test_a_clean_conversation_has_no_findings() -> None:
    report = audited(ASK, agent("Shall I?", ORDER), user("Yes."), agent("Done - I've cancelled O-17.", CANCEL))
    assert found(report) == []
    assert (report.calls, report.paired, report.flagged) == (2, 2, False)


# ---- the same write twice


def test_the_same_write_succeeding_twice_with_nothing_between_is_an_error() -> None:
    assert found(audited(ASK, agent("Done.", CANCEL, CANCEL))) == [("write.repeated", "error")]


def test_the_same_write_after_the_user_spoke_or_after_another_write_is_a_warning() -> None:
    spoke = audited(ASK, agent("Done.", CANCEL), user("Cancel O-17 again."), agent("Done.", CANCEL))
    assert found(spoke) == [("write.repeated", "warning")]
    other = did("restore_order", {"order_id": "O-17"}, {"status": "restored"})
    assert found(audited(ASK, agent("Done.", CANCEL, other, CANCEL))) == [("write.repeated", "warning")]


def test_idempotency_keys_and_the_order_of_arguments_do_not_make_another_write() -> None:
    one = did("pay", {"invoice_id": "O-17", "request_id": "a", "note": "x"}, {"status": "paid"})
    two = did("pay", {"note": "x", "request_id": "b", "invoice_id": "O-17"}, {"status": "paid"})
    assert ("write.repeated", "error") in found(audited(ASK, agent("Done.", one, two)))
    three = did("pay", {"note": "y", "invoice_id": "O-17"}, {"status": "paid"})
    assert ("write.repeated", "error") not in found(audited(ASK, agent("Done.", one, three)))


# ---- rejected, in doubt


def test_a_rejected_write_sent_again_unchanged_is_one_error_however_often() -> None:
    report = audited(ASK, agent("It was rejected.", REJECTED, REJECTED, ORDER, REJECTED))
    assert found(report) == [("write.rejected_again", "error")]
    assert report.findings[0].evidence == ("m1.c0", "m1.c1", "m1.c3")
    after = audited(ASK, agent("Rejected.", REJECTED), user("Try again."), agent("Still rejected.", REJECTED))
    assert found(after) == []


def test_a_write_that_ended_in_an_error_is_not_sent_again_blindly() -> None:
    assert found(audited(ASK, agent("Done.", BROKEN, CANCEL))) == [("write.retried_in_doubt", "error")]
    assert found(audited(ASK, agent("It failed.", BROKEN, BROKEN))) == [("write.retried_in_doubt", "warning")]
    assert found(audited(ASK, agent("Done.", BROKEN, ORDER, CANCEL))) == []
    assert found(audited(ASK, agent("It failed.", BROKEN), user("Again."), agent("Done.", CANCEL))) == []


# ---- preview and commit


def test_a_preview_committed_before_the_user_could_see_it_is_a_warning() -> None:
    assert found(audited(ASK, agent("Done.", PREVIEW, COMMIT))) == [("preview.unseen", "warning")]
    seen = audited(ASK, agent("The fee is 5.", PREVIEW), user("Yes."), agent("Done.", COMMIT))
    assert found(seen) == []


def test_a_preview_that_took_effect_is_an_error() -> None:
    surprise = did("cancel_order", {"order_id": "O-17", "confirm": False}, {"status": "cancelled"})
    assert found(audited(ASK, agent("Here is the preview.", surprise))) == [("preview.took_effect", "error")]
    dry = did("cancel_order", {"order_id": "O-17", "dry_run": True}, {"status": "cancelled"})
    assert found(audited(ASK, agent("Here is the preview.", dry))) == [("preview.took_effect", "error")]


def test_a_commit_that_no_preview_showed_is_a_warning() -> None:
    preview = did("change", {"order_id": "O-17", "speed": "slow", "confirm": False}, {"status": "preview"})
    commit = did("change", {"order_id": "O-17", "speed": "fast", "confirm": True}, {"status": "changed"})
    report = audited(user("Make O-17 fast or slow."), agent("?", preview), user("Fast."), agent("Done.", commit))
    assert found(report) == [("preview.differs", "warning")]
    assert report.findings[0].pointer == "/args/speed"


def test_values_tried_until_one_serves_are_an_error() -> None:
    def change(reason: str, confirm: bool) -> dict[str, object]:
        args = {"order_id": "O-17", "reason": reason, "confirm": confirm}
        return did("change", args, {"status": "changed" if confirm else "preview", "order_id": "O-17"})

    report = audited(ASK, agent("Done.", change("mood", False), change("illness", False), change("illness", True)))
    assert ("args.tried", "error") in found(report)
    said = audited(
        user("Change O-17, I have an illness."),
        agent("Done.", change("mood", False), change("illness", False), change("illness", True)),
    )
    assert ("args.tried", "error") not in found(said)


def test_success_that_applied_nothing_is_a_warning() -> None:
    empty = did("update_order", {"order_id": "O-17"}, {"status": "updated", "changes_applied": []})
    assert found(audited(ASK, agent("Done.", empty))) == [("result.nothing_applied", "warning")]


def test_a_result_about_another_thing_is_an_error() -> None:
    other = did("cancel_order", {"order_id": "O-17"}, {"status": "cancelled", "order_id": "O-18"})
    assert found(audited(ASK, agent("Done.", other))) == [("result.other_entity", "error")]


# ---- values from nowhere


def test_an_identifier_nobody_said_is_an_error_in_a_write_that_took_effect() -> None:
    invented = did("cancel_order", {"order_id": "O-99"}, {"status": "cancelled", "order_id": "O-99"})
    assert found(audited(ASK, agent("Done.", invented))) == [("args.unsupported_id", "error")]
    failed = did("cancel_order", {"order_id": "O-99"}, {"error": "no such order"})
    assert found(audited(ASK, agent("That failed.", failed))) == [("args.unsupported_id", "warning")]


def test_a_longer_or_shorter_identifier_is_another_one() -> None:
    short = did("cancel_order", {"order_id": "O-1"}, {"status": "cancelled"})
    long = did("cancel_order", {"order_id": "O-177"}, {"status": "cancelled"})
    assert found(audited(ASK, agent("Done.", short, long))) == [("args.unsupported_id", "error")] * 2


def test_a_write_that_repeats_its_own_argument_does_not_support_it() -> None:
    preview = did("refund", {"order_id": "O-17", "amount": 77, "confirm": False}, {"status": "preview", "amount": 77})
    commit = did("refund", {"order_id": "O-17", "amount": 77, "confirm": True}, {"status": "refunded", "amount": 77})
    report = audited(ASK, agent("Done.", preview, commit))
    assert [c for c, _ in found(report)] == ["args.unsupported_amount", "preview.unseen"]


def test_amounts_that_follow_from_what_was_said_are_told_apart_from_invented_ones() -> None:
    def pay(amount: int) -> dict[str, object]:
        return did("refund", {"order_id": "O-17", "amount": amount}, {"status": "refunded"})

    costs = did("get_order", {"order_id": "O-17"}, {"price": 35, "fee": 8})
    assert found(audited(ASK, agent("Done.", costs, pay(35)))) == []
    assert found(audited(ASK, agent("Done.", costs, pay(43)))) == [("args.derived_amount", "info")]
    assert found(audited(ASK, agent("Done.", costs, pay(612)))) == [("args.unsupported_amount", "error")]


@pytest.mark.parametrize("words", ["1,299", "1299", "$1,299.00", "1299.0"])
def test_one_amount_in_several_spellings_is_one_amount(words: str) -> None:
    paid = did("refund", {"order_id": "O-17", "amount": 1299}, {"status": "refunded"})
    assert found(audited(user(f"Refund O-17: {words}."), agent("Done.", paid))) == []
    assert found(audited(user("Refund O-17: 12990 and 11299."), agent("Done.", paid))) != []


def test_the_final_answer_states_nothing_the_record_does_not_support() -> None:
    asked = user("What does O-17 cost?")
    assert found(audited(asked, agent("O-17 costs $40.", ORDER))) == []
    assert found(audited(asked, agent("O-17 costs $41.", ORDER))) == [("answer.unsupported_amount", "warning")]
    assert found(audited(asked, agent("See order O-18.", ORDER))) == [("answer.unsupported_id", "error")]
    two = did("get_fees", {}, {"fee": 12})
    assert found(audited(asked, agent("$40 + $12 = $52.", ORDER, two))) == []


# ---- words against the record


@pytest.mark.parametrize(
    "result",
    [
        {"error": "timeout"},
        {"status": "rejected", "reason": "already shipped"},
        {"status": "ok", "data": {"items": [{"error": {"code": 500}}]}},
        {"success": False},
        {"Error": "no"},
        {"status": "ok", "timedOut": True},
        {"data": {"timed_out": True}},
        {"status": "ok", "steps": [{"status": "denied"}]},
        "Error: connection reset",
    ],
)
def test_success_claimed_over_a_failed_write_is_an_error(result: object) -> None:
    failed = did("cancel_order", {"order_id": "O-17"}, result)
    report = audited(ASK, agent("Done - your order has been cancelled.", ORDER, failed))
    assert found(report) == [("claim.over_failure", "error")]
    assert report.findings[0].guess
    assert found(audited(ASK, agent("I couldn't cancel it, sorry.", ORDER, failed))) == []


@pytest.mark.parametrize(
    "words",
    [
        "Your order is cancelled.",
        "Order O-17 has been successfully cancelled.",
        "It's cancelled. Your refund is pending.",
        "The cancellation is complete.",
        "Your cancellation went through!",
        "Order O-17 canceled.",
        "Order O-17: cancelled",
        "I was able to cancel order O-17.",
        "The system has cancelled your order, and you will get a mail once the refund is there.",
        "You're all set!",
    ],
)
@pytest.mark.parametrize(
    "result",
    [
        {"status": "rejected", "error": "already shipped"},
        {"ok": True, "result": {"error": "locked"}},
        {"ok": False},
        "Error: no",
    ],
    ids=str,
)
def test_success_in_any_person_and_voice_over_a_failed_write_is_an_error(words: str, result: object) -> None:
    failed = did("cancel_order", {"order_id": "O-17"}, result)
    assert found(audited(ASK, agent(words, ORDER, failed))) == [("claim.over_failure", "error")]


@pytest.mark.parametrize(
    "words",
    [
        "Your order is not cancelled.",
        "Unfortunately it was not cancelled.",
        "If your order is cancelled, you get a refund.",
        "Once it is cancelled I will tell you.",
        "The order can be cancelled within a day.",
        "Would you like to see it cancelled?",
        "You asked to have O-17 cancelled.",
        "Your order was placed yesterday, and has shipped.",
        "The shop rejected it.",
    ],
)
def test_conditions_negations_and_other_verbs_claim_no_success(words: str) -> None:
    failed = did("cancel_order", {"order_id": "O-17"}, {"status": "rejected", "reason": "already shipped"})
    assert found(audited(ASK, agent(words, ORDER, failed))) == []


def test_a_claim_that_a_result_bears_out_is_none_over_a_failure() -> None:
    twice = did("cancel_order", {"order_id": "O-17"}, {"error": "it has already been cancelled"})
    assert found(audited(ASK, agent("Order O-17 is cancelled.", ORDER, twice))) == []
    broken = did("cancel_order", {"order_id": "O-17"}, {"error": "timeout"})
    seen = did("get_order", {"order_id": "O-17"}, {"order_id": "O-17", "status": "cancelled"})
    assert found(audited(ASK, agent("Order O-17 is cancelled.", ORDER, broken, seen))) == []
    asked = user("Cancel O-17 and O-18.")
    other = did("cancel_order", {"order_id": "O-18"}, {"status": "cancelled", "order_id": "O-18"})
    assert found(audited(asked, agent("Order O-18 is cancelled.", broken, other))) == []
    assert found(audited(asked, agent("Order O-17 is cancelled.", broken, other))) == [("claim.over_failure", "error")]


def test_a_failed_write_stays_open_in_later_messages_and_turns() -> None:
    call = {"id": "1", "function": {"name": "cancel_order", "arguments": '{"order_id": "O-17"}'}}
    messages = [
        {"role": "user", "content": "Please cancel O-17."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": '{"status": "rejected", "error": "shipped"}'},
        {"role": "assistant", "content": "One moment."},
        {"role": "user", "content": "And?"},
        {"role": "assistant", "content": "Your order is cancelled."},
    ]
    (trace,) = parse(json.dumps(messages).encode(), name="t")
    assert [(f.code, f.at) for f in audit_trace(trace).findings] == [("claim.over_failure", 5)]
    honest = {"role": "assistant", "content": "It could not be cancelled."}
    (trace,) = parse(json.dumps([*messages[:5], honest]).encode(), name="t")
    assert found(audit_trace(trace)) == []


def test_an_effect_claimed_without_any_write_is_an_error() -> None:
    assert found(audited(ASK, agent("I've cancelled your order.", ORDER))) == [("claim.without_effect", "error")]
    shown = audited(ASK, agent("Done - it has been cancelled.", PREVIEW))
    assert found(shown) == [("claim.without_effect", "error")]
    for text in ("I could cancel it.", "I've checked the order.", "I haven't cancelled it.", "I've left it unchanged."):
        assert found(audited(ASK, agent(text, ORDER))) == []


def test_a_tool_of_unknown_effect_may_have_done_it() -> None:
    odd = did("frobnicate", {"order_id": "O-17"}, {"ok": True})
    report = audited(ASK, agent("I've cancelled your order.", odd))
    assert found(report) == []
    assert report.tools["frobnicate"].effect == "unknown"


def test_an_effect_the_user_objects_to_or_the_agent_regrets_is_an_error() -> None:
    objected = audited(ASK, agent("Done.", CANCEL), user("Hold on, that's not what I asked."), agent("Oh."))
    assert found(objected) == [("effect.disputed", "error")]
    regretted = audited(ASK, agent("Done.", CANCEL), user("Why?"), agent("I should have asked you first."))
    assert found(regretted) == [("effect.regretted", "error")]
    unwished = audited(ASK, agent("Done.", CANCEL), user("Please don't cancel it."))
    assert found(unwished) == [("effect.disputed", "error")]
    before = audited(ASK, agent("Shall I?", ORDER), user("Hold on, that's not what I asked."))
    assert found(before) == []
    happy = audited(ASK, agent("Done.", CANCEL), user("That's right, I can't wait, thanks."))
    assert found(happy) == []


# ---- the record itself


def test_a_write_without_result_is_an_error_and_a_read_a_warning() -> None:
    assert found(audited(ASK, agent("One moment.", did("cancel_order", {"order_id": "O-17"})))) == [
        ("call.unanswered", "error")
    ]
    assert found(audited(ASK, agent("One moment.", did("get_order", {"order_id": "O-17"})))) == [
        ("call.unanswered", "warning")
    ]


def test_ambiguous_pairing_quarantines() -> None:
    calls = [{"id": "x", "function": {"name": "cancel_order", "arguments": "{}"}} for _ in range(2)]
    messages = [
        {"role": "user", "content": "cancel both"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "x", "content": '{"cancelled": true}'},
    ]
    (trace,) = parse(json.dumps(messages).encode(), name="t")
    report = audit_trace(trace)
    assert ("pairing.ambiguous", "error") in found(report)
    assert report.quarantined
    assert (report.calls, report.paired) == (2, 0)


def test_a_cut_answer_is_a_warning() -> None:
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "X has", "finish_reason": "length"}]
    (trace,) = parse(json.dumps(messages).encode(), name="t")
    assert found(audit_trace(trace)) == [("answer.truncated", "warning")]


def test_calls_in_circles_are_worth_knowing() -> None:
    assert found(audited(ASK, agent("Hm.", ORDER, ORDER, ORDER, ORDER))) == [("call.repeated", "info")]


def test_parallel_calls_do_not_support_each_other() -> None:
    calls = [
        {"id": "1", "function": {"name": "create_order", "arguments": "{}"}},
        {"id": "2", "function": {"name": "cancel_order", "arguments": '{"order_id": "O-55"}'}},
    ]
    messages = [
        {"role": "user", "content": "order and cancel"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "1", "content": '{"status": "created", "order_id": "O-55"}'},
        {"role": "tool", "tool_call_id": "2", "content": '{"status": "cancelled"}'},
    ]
    (trace,) = parse(json.dumps(messages).encode(), name="t")
    assert ("args.unsupported_id", "error") in found(audit_trace(trace))
