"""What a contract adds to an audit: the record held against itself, effects undone, duties left, users left alone."""

from __future__ import annotations

from typing import Any

import pytest

from tallystick.audit import Report
from tallystick.contracts import Contract, parse
from tests.audit.build import agent, audited, did, found, user

DESK = """
contract: desk/1
entities:
  order: {id: id, status: string, total: money(USD)}
tools:
  get_order:
    effect: read
    args: {order_id: id}
    target: order(args.order_id)
    yields: {order: {id: /order_id, status: /status, total: /total}}
  refund_order:
    effect: preview unless args.confirm
    args: {order_id: id, amount: money(USD)}
    target: order(args.order_id)
    once_per: args.order_id
    ok: result.status in ["preview", "refunded"]
    no_effect: has(result.error) || result.status == "rejected"
    requires:
      - {id: order-read, known: order}
  hold_order:
    effect: write                     # whatever its `confirm` says
    args: {order_id: id}
    target: order(args.order_id)
    undone_by: release_order
    ok: result.status == "reserved"
    requires:
      - {id: asked, fact: 'talk.user.mentions(["hold"])'}
  release_order: {effect: write, args: {order_id: id}, target: order(args.order_id), ok: result.status == "released"}
duties:
  - {id: receipt-sent, after: release_order, owes: get_order, message: look at it again}
"""
ASK = user("What about order O-17?")


@pytest.fixture(scope="module")
def contract() -> Contract:
    return parse(DESK)


def order(status: str = "open", total: int = 40) -> dict[str, Any]:
    return did("get_order", {"order_id": "O-17"}, {"order_id": "O-17", "status": status, "total": total})


def refund(confirm: bool, amount: int = 40, **result: Any) -> dict[str, Any]:
    said = {"status": "refunded" if confirm else "preview", "order_id": "O-17", "refund": amount, **result}
    return did("refund_order", {"order_id": "O-17", "amount": amount, "confirm": confirm}, said)


def hold(confirm: bool = True) -> dict[str, Any]:
    return did("hold_order", {"order_id": "O-17", "confirm": confirm}, {"status": "reserved"})


RELEASE = did("release_order", {"order_id": "O-17"}, {"status": "released"})


def codes(report: Report) -> list[tuple[str, str]]:
    return [f for f in found(report) if f[0] not in ("preview.unseen", "args.derived_amount")]


def test_a_receipt_unlike_its_preview_is_reported(contract: Contract) -> None:
    kept = audited(ASK, agent("Refunded.", order(), refund(False), refund(True)), contract=contract)
    other = audited(ASK, agent("Refunded.", order(), refund(False), refund(True, refund=38)), contract=contract)
    assert codes(kept) == []
    assert codes(other) == [("preview.contradicted", "warning")]


def test_an_effect_must_show_in_the_next_read(contract: Contract) -> None:
    steps = [order(), refund(False), refund(True)]
    seen = audited(ASK, agent("Refunded.", *steps, order("refunded", 0)), contract=contract)
    unseen = audited(ASK, agent("Refunded.", *steps, order()), contract=contract)
    assert codes(seen) == []
    assert codes(unseen) == [("effect.not_visible", "warning")]


def test_a_preview_must_change_nothing(contract: Contract) -> None:
    report = audited(ASK, agent("That would be $40.", order(), refund(False), order("refunded", 0)), contract=contract)
    same = audited(ASK, agent("That would be $40.", order(), refund(False), order()), contract=contract)
    assert codes(report) == [("effect.unannounced", "warning")]
    assert codes(same) == []


def test_a_last_write_that_was_turned_down_and_left_so_is_reported(contract: Contract) -> None:
    turned_down = did("refund_order", {"order_id": "O-17", "amount": 40, "confirm": True}, {"status": "rejected"})
    left = audited(ASK, agent("It cannot be refunded.", order(), turned_down), contract=contract)
    followed = audited(ASK, agent("Refunded.", order(), turned_down, refund(False), refund(True)), contract=contract)
    assert codes(left) == [("write.left_rejected", "warning")]
    assert codes(followed) == []


def test_what_was_undone_is_an_anomaly_and_no_error(contract: Contract) -> None:
    stands = audited(ASK, agent("It is held.", order(), hold()), contract=contract)
    undone = audited(ASK, agent("It is held.", order(), hold(), RELEASE, order()), contract=contract)
    assert ("act.refuse", "error") in codes(stands)
    assert ("act.refuse", "warning") in codes(undone)
    assert not undone.flagged


def test_a_duty_left_open_is_an_error(contract: Contract) -> None:
    done = audited(ASK, agent("Released.", order(), RELEASE, order("released")), contract=contract)
    left = audited(ASK, agent("Released.", order(), RELEASE), contract=contract)
    assert codes(done) == []
    assert codes(left) == [("duty.open", "error")]


def test_what_the_contract_calls_a_write_was_no_preview(contract: Contract) -> None:
    ask = user("Please hold order O-17.")
    assert ("preview.took_effect", "error") in codes(audited(ask, agent("It is held.", order(), hold(False))))
    assert codes(audited(ask, agent("It is held.", order(), hold(False)), contract=contract)) == []


def test_an_agent_that_looked_after_a_failure_may_speak_of_what_it_saw(contract: Contract) -> None:
    failed = did("refund_order", {"order_id": "O-17", "amount": 40, "confirm": True}, {"error": "timed out"})
    blind = audited(ASK, agent("I've refunded it.", order(), failed), contract=contract)
    looked = audited(ASK, agent("I've refunded it.", order(), failed, order("refunded", 0)), contract=contract)
    assert ("claim.over_failure", "error") in codes(blind)
    assert ("claim.over_failure", "warning") in codes(looked)


def test_a_user_left_alone_twice_is_an_error_and_once_is_not() -> None:
    once = [ASK, agent("", order()), user("And?"), agent("")]
    assert found(audited(*once, user("Hello?"), agent("Sorry: it is open."))) == []
    assert found(audited(*once, user("Hello?"), agent(""))) == [("message.empty", "error")]
