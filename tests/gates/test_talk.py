"""What was said, as requirements read it; what undoes an effect; and duties that follow from a call."""

from __future__ import annotations

from typing import Any

import pytest

from tallystick import contracts
from tallystick.contracts.types import Contract, Task
from tallystick.gates.act import may_act
from tallystick.gates.stop import may_stop
from tallystick.model import events as e
from tallystick.model.decision import Decision, Verdict
from tallystick.model.proposal import Call, Stop
from tallystick.view import Talk, View
from tests.gates.claim_worlds import NOW, folded, intent, receipt, sealed

CONTRACT = contracts.parse(
    """
contract: shop/1
entities:
  cart: {id: id, code: optional string}
tools:
  get_cart: {effect: read, args: {cart: id}, target: cart(args.cart), yields: {cart: {id: /id, code: /code}}}
  redeem:
    effect: write
    args: {cart: id, points: integer}
    target: cart(args.cart)
    once_per: args.cart
    undone_by: cancel
    ok: result.status == "done"
    requires:
      - {id: settled, fact: talk.heard.mentions(args.points)}
  cancel: {effect: write, args: {cart: id}, target: cart(args.cart), undone_by: redeem, ok: result.status == "done"}
  swap: {effect: write, args: {cart: id}, target: cart(args.cart), ok: result.status == "done"}
  add: {effect: write, args: {cart: id}, target: cart(args.cart), ok: result.status == "done"}
  check_code: {effect: read, args: {code: string}}
exclusive:
  - {id: one-discount, tools: [redeem, swap], per: args.cart}
duties:
  - id: code-checked
    after: get_cart
    when: result.code != null
    owes: check_code
    with: args.code == "WELCOME"
    ever: true
  - id: looked-again
    after: add
    when: cart.code != null
    owes: get_cart
    with: args.cart == call.cart
"""
)
Bodies = list[tuple[e.AnyBody, e.Role]]


def said(role: str, text: str, by: e.Role = "importer") -> tuple[e.AnyBody, e.Role]:
    return e.Said(role=role, text=text), by


def did(call: str, tool: str, args: dict[str, Any], result: dict[str, Any]) -> Bodies:
    return [intent(call, tool, args), receipt(f"r-{call}", call, result)]


def view(*bodies: tuple[e.AnyBody, e.Role]) -> View:
    return folded(sealed(bodies), CONTRACT, Task())


def redeem(points: int, *bodies: tuple[e.AnyBody, e.Role]) -> Decision:
    return may_act(view(*bodies), CONTRACT, Call(tool="redeem", args={"cart": "C", "points": points}, now=NOW))


def stop(*bodies: tuple[e.AnyBody, e.Role]) -> list[str]:
    decision = may_stop(view(*bodies), CONTRACT, Stop(text="done", now=NOW))
    return [r.where for r in decision.reasons if r.code == "duty.open"]


def test_what_the_user_named_is_settled() -> None:
    assert redeem(500, said("user", "Use 500 points.")).verdict is Verdict.ADMIT


def test_what_the_agent_said_counts_once_the_user_has_answered() -> None:
    offer = said("assistant", "I could redeem 500 points.")
    assert redeem(500, said("user", "What can I save?"), offer).verdict is Verdict.REFUSE
    assert redeem(500, said("user", "What can I save?"), offer, said("user", "Do that.")).verdict is Verdict.ADMIT


def test_an_agent_cannot_speak_for_the_user() -> None:
    assert redeem(500, said("user", "Use 500 points.", by="agent")).verdict is Verdict.REFUSE


def test_the_parts_of_the_talk() -> None:
    talk = Talk(view(said("user", "one"), said("assistant", "two"), said("user", "three"), said("assistant", "four")))
    assert dict(talk) == {"user": "one\nthree", "last": "three", "shown": "two", "heard": "one\ntwo\nthree"}
    assert dict(Talk(view(said("assistant", "hello")))) == {"user": "", "last": "", "shown": "", "heard": ""}
    assert len(talk) == 4
    with pytest.raises(KeyError):
        talk["agent"]


REDEEMED = did("c1", "redeem", {"cart": "C", "points": 500}, {"status": "done"})
CANCELLED = did("c2", "cancel", {"cart": "C"}, {"status": "done"})
ASKED = [said("user", "Use 500 points.")]


def test_what_was_undone_may_be_done_again() -> None:
    assert redeem(500, *ASKED, *REDEEMED).verdict is Verdict.RETURN_RECORDED
    assert redeem(500, *ASKED, *REDEEMED, *CANCELLED).verdict is Verdict.ADMIT


def test_undoing_the_effect_on_something_else_undoes_nothing_here() -> None:
    other = did("c2", "cancel", {"cart": "D"}, {"status": "done"})
    failed = did("c2", "cancel", {"cart": "C"}, {"status": "sorry"})
    earlier = did("c0", "cancel", {"cart": "C"}, {"status": "done"})
    assert redeem(500, *ASKED, *REDEEMED, *other).verdict is Verdict.RETURN_RECORDED
    assert redeem(500, *ASKED, *REDEEMED, *failed).verdict is Verdict.RETURN_RECORDED
    assert redeem(500, *ASKED, *earlier, *REDEEMED).verdict is Verdict.RETURN_RECORDED


def test_what_was_undone_excludes_nothing() -> None:
    swap = Call(tool="swap", args={"cart": "C"}, now=NOW)
    assert may_act(view(*ASKED, *REDEEMED), CONTRACT, swap).codes == ("exclusion.taken",)
    assert may_act(view(*ASKED, *REDEEMED, *CANCELLED), CONTRACT, swap).verdict is Verdict.ADMIT


CART = did("c1", "get_cart", {"cart": "C"}, {"id": "C", "code": "WELCOME"})
CHECKED = did("c2", "check_code", {"code": "WELCOME"}, {"valid": True})


def test_a_duty_bars_the_end_until_it_is_discharged() -> None:
    assert stop(*CART) == ["code-checked"]
    assert stop(*CART, *CHECKED) == []
    assert stop(*CHECKED, *CART) == []  # `ever`
    assert stop(*CART, *did("c2", "check_code", {"code": "OTHER"}, {"valid": True})) == ["code-checked"]
    assert stop(*did("c1", "get_cart", {"cart": "C"}, {"id": "C", "code": None})) == []


def test_without_ever_only_what_came_after_discharges_a_duty() -> None:
    added = did("c3", "add", {"cart": "C"}, {"status": "done"})
    again = did("c4", "get_cart", {"cart": "C"}, {"id": "C", "code": "WELCOME"})
    assert stop(*CART, *CHECKED, *added) == ["looked-again"]
    assert stop(*CART, *CHECKED, *added, *again) == []
    failed = did("c3", "add", {"cart": "C"}, {"status": "no"})
    assert stop(*CART, *CHECKED, *failed) == []


def test_a_duty_whose_condition_cannot_be_told_stands() -> None:
    """Nothing is known of the cart, so whether a code is in it is not known either."""
    assert stop(*did("c3", "add", {"cart": "C"}, {"status": "done"})) == ["looked-again"]


def test_an_effect_that_was_undone_brings_no_duty() -> None:
    text = CONTRACT.text.replace("  add: {effect: write,", "  add: {undone_by: cancel, effect: write,")
    contract: Contract = contracts.parse(text)
    added = [*CART, *CHECKED, *did("c3", "add", {"cart": "C"}, {"status": "done"})]
    undone = [*added, *did("c4", "cancel", {"cart": "C"}, {"status": "done"})]

    def left(bodies: Bodies) -> list[str]:
        decision = may_stop(folded(sealed(bodies), contract, Task()), contract, Stop(text="done", now=NOW))
        return [r.where for r in decision.reasons if r.code == "duty.open"]

    assert left(added) == ["looked-again"]
    assert left(undone) == []
