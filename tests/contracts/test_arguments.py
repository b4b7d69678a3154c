"""Arguments are checked by the tool's own JSON Schema and by the contract's exact types."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick import contracts
from tallystick.contracts.types import Tool

SCHEMA = {
    "type": "object",
    "required": ["invoice_id", "amount"],
    "properties": {
        "invoice_id": {"type": "string", "minLength": 1},
        "amount": {"type": ["string", "number"]},
        "note": {"type": "string", "enum": ["a", "b"]},
        "pin": {"type": "string"},
    },
    "additionalProperties": False,
}


def tool(**extra: Any) -> Tool:
    entry = {"effect": "write", "schema": SCHEMA, "args": {"amount": "money(EUR)"}, **extra}
    return contracts.build({"contract": "a/1", "tools": {"pay": entry}}).tools["pay"]


def problems(args: dict[str, Any], **extra: Any) -> list[tuple[str, str]]:
    return [(p.pointer, p.message) for p in contracts.validate_args(tool(**extra), args)]


def test_arguments_that_fit_have_no_problem() -> None:
    for amount in ("420.00", Decimal("420.00"), 420, "420.00 EUR"):
        assert problems({"invoice_id": "I-7", "amount": amount}) == []


@pytest.mark.parametrize(
    ("args", "pointers"),
    [
        ({"amount": "1.00"}, [""]),
        ({"invoice_id": "I-7"}, [""]),
        ({"invoice_id": 7, "amount": "1.00"}, ["/invoice_id"]),
        ({"invoice_id": "I-7", "amount": "1.299,00"}, ["/amount"]),
        ({"invoice_id": "I-7", "amount": "1.00 USD"}, ["/amount"]),
        ({"invoice_id": "I-7", "amount": True}, ["/amount"]),
        ({"invoice_id": "", "amount": "1", "note": "c", "x": 1}, ["", "/invoice_id", "/note"]),
        ({"invoice_id": "I-7", "amount": Decimal("NaN")}, ["/amount"]),
        ({"invoice_id": "I-7", "amount": "1", "note": {1, 2}}, [""]),
    ],
)
def test_every_argument_that_does_not_fit_is_named(args: dict[str, Any], pointers: list[str]) -> None:
    assert sorted(p for p, _ in problems(args)) == sorted(pointers)


def test_a_problem_never_repeats_a_value_of_a_schema_nor_a_declared_secret() -> None:
    for args in ({"invoice_id": "I-7", "amount": "1", "note": "hunter2"}, {"invoice_id": "I-7", "amount": "hunter2"}):
        found = problems(args, secrets=["/args/amount"])
        assert found
        assert all("hunter2" not in message for _, message in found)


def test_a_declared_argument_is_needed_unless_it_is_optional() -> None:
    entry = {"effect": "read", "args": {"a": "integer", "b": "optional integer", "price": "money(/currency)"}}
    made = contracts.build({"contract": "a/1", "tools": {"t": entry}}).tools["t"]
    assert [p.pointer for p in contracts.validate_args(made, {"price": "1", "currency": "EUR"})] == ["/a"]
    assert contracts.validate_args(made, {"a": 1, "b": None, "price": "1", "currency": "EUR"}) == []
    assert [p.pointer for p in contracts.validate_args(made, {"a": 1, "price": "1"})] == ["/price"]


def test_exact_arguments_are_exact_and_absent_ones_stay_absent() -> None:
    types = tool().args
    found = contracts.exact_args(types, {"invoice_id": "I-7", "amount": Decimal("1.10")})
    assert found["amount"].amount == Decimal("1.10")
    assert "note" not in found
    with pytest.raises(ValueError, match="argument `amount`"):
        contracts.exact_args(types, {"amount": "ten"})


@given(st.dictionaries(st.sampled_from(["invoice_id", "amount", "note", "x"]), st.none() | st.integers() | st.text()))
def test_any_arguments_get_an_answer(args: dict[str, Any]) -> None:
    found = contracts.validate_args(PAY, args)
    assert all(p.message for p in found)


PAY = tool()
