"""No binary float ever stands for money on the way from a receipt to a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.contracts import parse
from tallystick.gates.act import may_act
from tallystick.model import jsontext
from tallystick.model.decision import Decision
from tallystick.model.proposal import Call
from tallystick.model.values import instant_of
from tallystick.view import View, effect_keys
from tests.gates.worlds_kit import Log

DESK = parse("""
contract: desk/1
entities:
  invoice: {id: id, amount_due: money(EUR)}
tools:
  get:
    effect: read
    args: {id: id}
    target: invoice(args.id)
    yields: {invoice: {id: /id, amount_due: /amount_due}}
  pay:
    effect: write
    args: {id: id, amount: money(EUR)}
    target: invoice(args.id)
    requires:
      - {id: amount, fact: args.amount == invoice.amount_due}
  top_up:
    effect: write
    args: {id: id, amount: money(EUR), fee: money(EUR)}
    target: invoice(args.id)
    requires:
      - {id: sum, fact: args.amount + args.fee <= invoice.amount_due}
  send:
    effect: write
    args: {id: id, amount: money(EUR)}
    target: invoice(args.id)
    requires:
      - {id: same, arg: amount, equals: pay./amount}
""")
NOW = instant_of("2026-11-30T11:00:00Z")


def ask(due: str, tool: str, args: str) -> Decision:
    """Read an invoice whose amount the receipt writes as `due`, then propose a call with the argument text `args`."""
    log = Log()
    log.done("c1", "get", {"id": "I-1"}, '{"id": "I-1", "amount_due": ' + due + "}")
    view = View(DESK)
    for event in log.events:
        view.apply(event)
    assert_no_float(vars(view), set())
    value = jsontext.loads(args)
    return may_act(view, DESK, Call(tool=tool, args=value, now=NOW, args_text=args))


def assert_no_float(value: Any, seen: set[int]) -> None:
    """No float anywhere in what a view holds."""
    assert not isinstance(value, float)
    if id(value) in seen or isinstance(value, (str, bytes, int, Decimal, type)):
        return
    seen.add(id(value))
    if isinstance(value, Mapping):
        for key, item in value.items():
            assert_no_float(key, seen)
            assert_no_float(item, seen)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            assert_no_float(item, seen)
    elif type(value).__module__.startswith("tallystick.view"):
        for name in getattr(value, "__slots__", None) or vars(value):
            assert_no_float(getattr(value, name), seen)


@pytest.mark.parametrize(
    ("due", "amount", "verdict"),
    [
        ('"420.00"', "420", "admit"),
        ("420.00", '"420.00"', "admit"),
        ("4.2e2", "420", "admit"),
        ("100", "1e2", "admit"),
        ('"1,420.00"', "1420", "admit"),
        ('"420.00 EUR"', "420.0", "admit"),
        ("0.30", "0.3", "admit"),
        ("0.3", "0.30000000000000004", "refuse"),  # what 0.1 + 0.2 gives in binary
        ("420.00", "420.0000000000000001", "refuse"),  # one float away from equal
        ("9007199254740993", "9007199254740992", "refuse"),  # 2^53 + 1
        ("9223372036854775808", "9223372036854775808", "admit"),  # 2^63
        ("123456789012345678901234567890.12", "123456789012345678901234567890.13", "refuse"),  # beyond 28 digits
        ('"420.00 USD"', "420.00", "hold"),  # another currency is no amount in EUR
        ('"420,00"', "420.00", "hold"),  # ambiguous
        ("true", "1", "hold"),
        ("null", "0", "hold"),
    ],
)
def test_amounts_are_compared_exactly(due: str, amount: str, verdict: str) -> None:
    assert ask(due, "pay", '{"id": "I-1", "amount": ' + amount + "}").verdict == verdict


def test_sums_of_amounts_never_round() -> None:
    assert ask("0.3", "top_up", '{"id": "I-1", "amount": 0.1, "fee": 0.2}').positive
    assert not ask(
        "0.3", "top_up", '{"id": "I-1", "amount": 0.1, "fee": 0.2000000000000000000000000000000001}'
    ).positive
    big = "1" + "0" * 40
    assert ask(big + ".01", "top_up", '{"id": "I-1", "amount": ' + big + ', "fee": 0.01}').positive
    assert not ask(big, "top_up", '{"id": "I-1", "amount": ' + big + ', "fee": 0.01}').positive


@pytest.mark.parametrize("amount", [0.1 + 0.2, 0.30000000000000004])
def test_a_callers_own_float_stands_for_its_digits_and_no_more(amount: float) -> None:
    log = Log()
    log.done("c1", "get", {"id": "I-1"}, '{"id": "I-1", "amount_due": 0.3}')
    view = View(DESK)
    for event in log.events:
        view.apply(event)
    assert not may_act(view, DESK, Call(tool="pay", args={"id": "I-1", "amount": amount}, now=NOW)).positive
    assert may_act(view, DESK, Call(tool="pay", args={"id": "I-1", "amount": 0.3}, now=NOW)).positive


@pytest.mark.parametrize(
    ("said", "given_", "verdict"),
    [("420.00", "420", "admit"), ('"420.00"', "4.2E2", "admit"), ("0.3", "0.30000000000000004", "refuse")],
)
def test_a_predecessors_amount_is_compared_exactly(said: str, given_: str, verdict: str) -> None:
    log = Log()
    log.done("c1", "pay", {"id": "I-1", "amount": 1}, '{"ok": true, "amount": ' + said + "}")
    view = View(DESK)
    for event in log.events:
        view.apply(event)
    args = jsontext.loads('{"id": "I-1", "amount": ' + given_ + "}")
    assert may_act(view, DESK, Call(tool="send", args=args, now=NOW)).verdict == verdict


amounts = st.decimals(allow_nan=False, allow_infinity=False, min_value=0, max_value=10**40, places=6)


@settings(max_examples=200)
@given(amounts, amounts)
def test_two_amounts_share_an_effect_key_exactly_where_they_are_equal(left: Decimal, right: Decimal) -> None:
    tool = DESK.tools["pay"]
    keys = [effect_keys(tool, {"id": "I-1", "amount": a}) for a in (left, right, format(left, "f"))]
    assert (keys[0] == keys[1]) == (left == right)
    assert keys[0] == keys[2]
