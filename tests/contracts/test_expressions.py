"""What expressions mean over exact values, and what is refused when a contract is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.contracts.expr import JSON, ExpressionProblem, compile_expression, record_of
from tallystick.contracts.expr.kinds import INSTANT
from tallystick.contracts.typetext import type_of
from tallystick.errors import ExpressionError
from tallystick.model.values import Money, Quantity

SCOPE = {
    "args": record_of(
        {k: type_of(t) for k, t in {"amount": "money(EUR)", "n": "integer", "paid": "optional money(EUR)",
                                    "confirm": "optional boolean", "rate": "decimal", "dollars": "money(USD)",
                                    "price": "money(/currency)", "tags": "list(string)", "ids": "set(id)",
                                    "lines": "list(money(EUR))", "weight": "quantity(kg)"}.items()},
        open_=True,
    ),
    "invoice": record_of({k: type_of(t) for k, t in {"amount_due": "money(EUR)", "status": "string", "due": "date",
                                                     "delivered": "boolean", "sent": "instant"}.items()}),
    "result": JSON,
    "now": INSTANT,
}  # fmt: skip


def eur(text: str) -> Money:
    return Money(Decimal(text), "EUR")


ENV: Mapping[str, Any] = {
    "args": {"amount": eur("420.00"), "n": 3, "paid": None, "rate": Decimal("0.15"),
             "dollars": Money(Decimal(1), "USD"), "price": Money(Decimal(5), "USD"), "tags": ("a", "b"),
             "ids": frozenset({"I-1", "I-2"}),
             "lines": (eur("1.10"), eur("2.20")), "weight": Quantity(Decimal("1.5"), "kg"), "other": 7},
    "invoice": {"amount_due": eur("420"), "status": "open", "due": date(2026, 12, 3), "delivered": False,
                "sent": datetime(2026, 11, 30, 12, tzinfo=UTC)},
    "result": {"status": "paid", "count": 2, "amount": "420.00", "items": [{"n": 1}, {"n": 2}], "big": 2**70},
    "now": datetime(2026, 12, 1, 12, tzinfo=UTC),
}  # fmt: skip

HOLD = [
    "args.amount == invoice.amount_due",
    "args.amount >= 420.00 && args.amount <= 420",
    "10000.00 > invoice.amount_due",
    "invoice.amount_due + 0.01 > args.amount",
    "args.amount * 2 == invoice.amount_due + args.amount",
    "args.amount * args.rate == 63.00",
    "args.amount / invoice.amount_due == 1.0",
    "-args.amount < 0.00",
    "args.paid == null && args.paid != args.amount",
    "args.price == 5 && args.price > 4.99",
    "0.1 + 0.2 == 0.3",
    "1.0 == 1 && args.rate < 1",
    "decimal(args.n) * 1.5 == 4.5",
    "sum(args.lines) == 3.30",
    "args.lines.exists(l, l > 2.00) && args.lines.map(l, l * 2)[0] == 2.20",
    'money(result.amount, "EUR") == args.amount',
    "decimal(result.amount) == 420.0 && int(result.count) > 1",
    'args.weight > 1.4 && quantity("0.5", "kg") < args.weight',
    '"I-1" in args.ids && !("I-3" in args.ids) && size(args.ids) == 2',
    'invoice.status in ["open", "part-paid"]',
    "args.other == 7 && result.count == int(args.other) - 5",
    'now - invoice.sent == duration("24h")',
    'invoice.due - date(now, "UTC") == duration("48h") && invoice.due > date("2026-12-02")',
    "!has(args.confirm) && has(args.n) && !has(result.absent)",
    "result.items.all(i, int(i.n) > 0) && result.items.size() == 2",
    'result.absent == 1 || result.status == "paid"',
    'result["status"] == "paid"',
    "result.big == result.big",
    'abs(args.amount - 421.00) == money("1", "EUR")',
    "(args.n > 2 ? args.amount : invoice.amount_due) == 420.00",
    'string(args.rate) + "!" == "0.15!"',
]


@pytest.mark.parametrize("text", HOLD)
def test_it_holds(text: str) -> None:
    assert compile_expression(text, SCOPE, boolean=True).evaluate(ENV) is True


ERRORS = [
    ("result.absent == 1", "nothing is known at `result.absent`"),
    ('result.absent == 1 && result.status == "paid"', "nothing is known"),
    ("args.n + 9223372036854775807 > 0", "overflow"),
    ("args.n / (args.n - 3) > 0", "division by zero"),
    ("args.rate / 0.00 > 1.0", "division by zero"),
    ("args.rate / 7.0 > 0.0", "cannot be written exactly"),
    ("args.paid > 1.00", "got null"),
    ("args.price == args.amount", "USD and EUR"),
    ("args.price + args.amount == args.price", "cannot be combined"),
    ("args.confirm", "nothing is known at `args.confirm`"),
    ("result.status", "expected true or false"),
    ("result.items[2].n == 1", "nothing is at this index"),
    ("int(result.status) > 1", "not a whole number"),
    ("timestamp(result.status) < now", "RFC 3339"),
    ("result.status.x == 1", "nothing is known at `result.status.x`"),
]


@pytest.mark.parametrize(("text", "words"), ERRORS)
def test_an_error_is_an_expression_error_and_says_what_is_wrong(text: str, words: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_expression(text, SCOPE, boolean=True).evaluate(ENV)
    assert words in str(caught.value)


REFUSED = [
    ("args.amount == args.dollars", 12, "never comparable"),
    ("args.amount > args.dollars", 12, "never comparable"),
    ("args.amount == result.amount", 12, "nothing was declared"),
    ("result.count > 1", 13, "no order"),
    ("result.count + 1 == 2", 13, "cannot be calculated with"),
    ("args.amount == args.n", 12, "no currency"),
    ("args.amount + args.rate == 1.00", 12, "not defined"),
    ("args.n + args.rate == 1.0", 7, "not mixed silently"),
    ("args.amount * args.amount > 1.00", 12, "not defined"),
    ('invoice.status == 1', 15, "never comparable"),
    ("invoice.status == null", 15, "never null"),
    ("invoice.stat == 'x'", 8, "unknown field `stat`"),
    ("args.ammount == 1", 5, "not declared"),
    ("invioce.status == 'x'", 0, "unknown name `invioce`"),
    ("invoice.status", 8, "expected true or false"),
    ("'x' in invoice.status", 4, "lists and maps"),
    ("args.amount in args.tags", 12, "never comparable"),
    ("420.00 in args.lines", 7, "bare number"),
    ("sizes(args.tags) > 1", 0, "unknown function"),
    ("double(args.n) > 1.0", 0, "not part of the contract language"),
    ("args.tags.all(1, true)", 14, "is the variable"),
    ("args.ids.map(i, i).size() > 0", 9, "no order"),
    ("invoice.status.matches('(')", 23, "not a usable pattern"),
    ("true ? args.amount : args.n", 5, "the branches"),
    ("[1, 'a'].size() > 0", 0, "the items"),
    ("1u == 1", 0, "unsigned"),
    ("9223372036854775808 > 1", 0, "out of the range"),
    ("args.paid + 1.00 > 0.00", 10, "cannot be calculated"),
    ("invoice.due > now", 12, "never comparable"),
    ("a" * 4001, 0, "4001 characters"),
    ("(" * 40 + "1" + ")" * 40, 32, "nested deeper"),
    ("!" * 3000 + "true", 0, ""),
    ("1" + "+1" * 600 + " > 0", 513, "more than 256 operators"),
    ("[" * 3000, 32, "nested deeper"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "at", "words"), REFUSED, ids=[t[0][:40] for t in REFUSED])
def test_what_could_surprise_is_refused_at_load_with_its_place(text: str, at: int, words: str) -> None:
    if not words:  # a run of `!` is legal CEL, however long
        compile_expression(text, SCOPE, boolean=True)
        return
    with pytest.raises(ExpressionProblem) as caught:
        compile_expression(text, SCOPE, boolean=True)
    assert words in caught.value.message
    assert caught.value.at == at


def test_refs_name_every_path_read_and_no_macro_variable() -> None:
    text = "args.n > 1 && result.items.all(i, i.n == args.other) && has(invoice.due) && result.items[0].n == args.n"
    refs = compile_expression(text, SCOPE, boolean=True).refs
    assert refs == (("args", "n"), ("result", "items"), ("args", "other"), ("invoice", "due"))


def test_evaluation_is_bounded_whatever_the_lists_hold() -> None:
    big = {**ENV, "result": {"items": list(range(2000))}}
    text = "result.items.all(a, result.items.all(b, result.items.all(c, true)))"
    with pytest.raises(ExpressionError, match="macro steps"):
        compile_expression(text, SCOPE, boolean=True).evaluate(big)


amounts = st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-(10**12), max_value=10**12)


@given(amounts, amounts)
def test_no_float_ever_stands_for_money(x: Decimal, y: Decimal) -> None:
    """Sums, differences and comparisons of amounts are those of exact decimals, and every result is exact."""
    env = {**ENV, "args": {"amount": Money(x, "EUR")}, "invoice": {"amount_due": Money(y, "EUR")}}

    def value(text: str) -> Any:
        return compile_expression(text, SCOPE).evaluate(env)

    assert value("args.amount == invoice.amount_due") is (x == y)
    assert value("args.amount < invoice.amount_due") is (x < y)
    assert value(f"args.amount == {abs(x):f}") is (x == abs(x))
    total = value("args.amount + invoice.amount_due")
    assert total == Money(x + y, "EUR")
    assert type(total.amount) is Decimal
    product = value("args.amount * 1.10 - invoice.amount_due * 3")
    assert type(product.amount) is Decimal
    assert product.amount == x * Decimal("1.10") - y * 3


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_a_binary_float_in_place_of_an_exact_value_is_an_error(bad: float) -> None:
    for text in ("args.amount == invoice.amount_due", "args.rate == 0.5", "args.n > 1", "args.amount > 1.00"):
        env = {**ENV, "args": {"amount": bad, "rate": bad, "n": bad}}
        with pytest.raises(ExpressionError):
            compile_expression(text, SCOPE, boolean=True).evaluate(env)


def test_a_boolean_is_no_integer_and_an_instant_is_no_date() -> None:
    for text, env in (
        ("args.n == 1", {"args": {"n": True}}),
        ("invoice.due == date('2026-12-03')", {"invoice": {"due": datetime(2026, 12, 3, tzinfo=UTC)}}),
        ("now - invoice.sent > duration('1h')", {**ENV, "now": timedelta(1)}),
    ):
        with pytest.raises(ExpressionError):
            compile_expression(text, SCOPE, boolean=True).evaluate(env)


@given(st.text(max_size=40))
def test_any_text_is_an_expression_or_one_problem(text: str) -> None:
    try:
        problem = None
        compile_expression(text, SCOPE)
    except ExpressionProblem as bad:
        problem = bad
    assert problem is None or 0 <= problem.at <= len(text)
