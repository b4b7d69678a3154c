"""Declared types yield exact values or refuse; nothing is rounded and nothing is guessed."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.model.values import Money, Quantity, Type, date_of, decimal_of, exponent_of, instant_of, plain, same

EUR = Type(name="money", unit="EUR")
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**40), max_value=10**40)


@given(number=DECIMALS)
def test_a_decimal_is_what_its_plain_text_says(number: Decimal) -> None:
    assert decimal_of(plain(number)) == number
    assert decimal_of(number) == number


@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_its_shortest_text_and_nothing_else(number: float) -> None:
    assert float(decimal_of(number)) == number
    assert decimal_of(0.1) == Decimal("0.1")


@given(number=st.integers(-(10**15), 10**15), digits=st.integers(1, 4))
def test_grouped_thousands_with_decimals_are_read(number: int, digits: int) -> None:
    text = f"{number:,}.{'5' * digits}"
    assert decimal_of(text) == Decimal(f"{number}.{'5' * digits}")


@pytest.mark.parametrize("text", ["1,299.00", "12,345,678", "-1,000,000.5", " 420.00 ", "+3"])
def test_one_reading_is_taken(text: str) -> None:
    assert decimal_of(text) == Decimal(text.replace(",", "").strip())


@pytest.mark.parametrize(
    "bad",
    ["1,299", "1.299,00", "1 299", "1'299", "1.2.3", "12,34.5", "1e3", "NaN", "Infinity", "", ".", "1.", ".5", "0x1",
     "٣", "\uff11\uff12", "1_000", "--1", "€5", "5%", True, False, None, [], {}, float("nan"), float("inf"),
     Decimal("NaN"), Decimal("-Infinity"), "1" * 4_001],
    ids=str,
)  # fmt: skip
def test_two_readings_or_none_are_refused(bad: Any) -> None:
    with pytest.raises(ValueError):
        decimal_of(bad)


@given(amount=DECIMALS)
def test_money_is_exact_in_every_way_of_writing_it(amount: Decimal) -> None:
    for written in (amount, plain(amount), f"{plain(amount)} EUR", f"EUR {plain(amount)}"):
        assert EUR.parse(written) == Money(amount, "EUR")


@given(units=st.integers(-(10**30), 10**30), scale=st.integers(1, 6))
def test_minor_units_shift_the_point_and_never_round(units: int, scale: int) -> None:
    money = Type(name="money", unit="EUR", scale=scale).parse(units)
    assert Fraction(money.amount) * 10**scale == units


def test_even_the_longest_amounts_do_not_round() -> None:
    digits = 10**3_999 + 1
    assert plain(Type(name="money", unit="EUR", scale=2).parse(digits).amount).replace(".", "") == str(digits)


@pytest.mark.parametrize(
    "bad", ["5 USD", "5 EUR EUR", "5 eur", "EUR", "1,299", None, True, "five", Money(Decimal(1), "USD")]
)
def test_what_is_not_one_amount_in_that_currency_is_refused(bad: Any) -> None:
    with pytest.raises(ValueError):
        EUR.parse(bad)


def test_money_needs_a_currency_and_minor_units_are_whole() -> None:
    with pytest.raises(ValueError, match="currency"):
        Type(name="money").parse("5")
    with pytest.raises(ValueError, match="minor"):
        Type(name="money", unit="EUR", scale=2).parse("1.5")
    assert Type(name="money").parse("5", unit="JPY") == Money(Decimal(5), "JPY")
    assert [exponent_of(c) for c in ("EUR", "JPY", "KWD", "CLF")] == [2, 0, 3, 4]


def test_amounts_are_equal_by_value_and_currency_only() -> None:
    assert Money(Decimal("1.0"), "EUR") == Money(Decimal("1.00"), "EUR")
    assert hash(Money(Decimal("1.0"), "EUR")) == hash(Money(Decimal("1.00"), "EUR"))
    assert Money(Decimal(1), "EUR") != Money(Decimal(1), "USD")
    assert Money(Decimal(1), "EUR") != Decimal(1)
    assert Quantity(Decimal(1), "kg") != Quantity(Decimal(1), "g")


@given(when=st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1)),  # noqa: DTZ001 - zone added
       offset=st.integers(-1439, 1439))  # fmt: skip
def test_an_instant_is_the_same_in_every_zone(when: datetime, offset: int) -> None:
    utc = when.replace(tzinfo=UTC)
    there = utc.astimezone(timezone(timedelta(minutes=offset)))
    assert instant_of(there.isoformat()) == utc
    assert instant_of(there.isoformat(sep=" ")) == utc
    assert instant_of(utc.isoformat().replace("+00:00", "Z")).tzinfo is UTC


@pytest.mark.parametrize(
    "bad",
    ["2026-03-11", "2026-03-11T09:00:00", "2026-02-30T09:00:00Z", "2026-03-11T24:00:01Z", "20260311T090000Z",
     "2026-W11-3T09:00:00Z", "2026-03-11T09:00:00.1234567Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-01:00",
     "2026-03-11T09:00:60Z", "٢026-03-11T09:00:00Z", "yesterday", "", None, 1_741_683_600, "2026-03-11T09:00:00+0100",
     "2026-03-11T09:00:00 Z"],
    ids=str,
)  # fmt: skip
def test_what_is_no_instant_is_refused(bad: Any) -> None:
    with pytest.raises(ValueError):
        instant_of(bad)


def test_finer_zeros_and_missing_seconds_are_still_exact() -> None:
    nine = datetime(2026, 3, 11, 9, 0, tzinfo=UTC)
    for text in ("2026-03-11T09:00Z", "2026-03-11T09:00:00.000000000Z", "2026-03-11t10:00:00.0+01:00"):
        assert instant_of(text) == nine


@pytest.mark.parametrize("bad", ["2026-3-11", "11.03.2026", "2026-02-30", "2026-03-11T00:00:00Z", "", None, 20260311])
def test_what_is_no_civil_date_is_refused(bad: Any) -> None:
    assert date_of("2026-03-11") == date(2026, 3, 11)
    with pytest.raises(ValueError):
        date_of(bad)


@pytest.mark.parametrize(
    ("kind", "good", "value", "bad"),
    [
        ("string", "a", "a", 1),
        ("id", 42, "42", True),
        ("id", "042", "042", Decimal("42.0")),
        ("integer", Decimal("3.0"), 3, Decimal("3.5")),
        ("integer", 2**63, 2**63, "3"),
        ("boolean", False, False, 0),
        ("json", [1], [1], None),
    ],
)
def test_scalars(kind: str, good: Any, value: Any, bad: Any) -> None:
    assert Type(name=kind).parse(good) == value
    with pytest.raises(ValueError):
        Type(name=kind).parse(bad)
    assert Type(name=kind, optional=True).parse(None) is None


def test_containers() -> None:
    listed = Type(name="list", item=EUR)
    assert listed.parse(["1", 2]) == (Money(Decimal(1), "EUR"), Money(Decimal(2), "EUR"))
    assert Type(name="set", item=Type(name="id")).parse(["a", 1]) == frozenset({"a", "1"})
    record = Type(name="record", fields={"id": Type(name="id"), "due": Type(name="date", optional=True)})
    assert record.parse({"id": 1}) == {"id": "1", "due": None}
    for type_, bad in ((listed, "1"), (listed, [None]), (Type(name="set", item=Type(name="id")), ["1", 1]),
                       (record, {}), (record, {"id": 1, "x": 1}), (record, [])):  # fmt: skip
        with pytest.raises(ValueError):
            type_.parse(bad)


@given(value=st.recursive(st.none() | st.booleans() | st.integers() | st.text() | DECIMALS,
                          lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(), x, max_size=3)))  # fmt: skip
def test_a_value_is_the_same_as_itself_and_a_flag_is_no_number(value: Any) -> None:
    assert same(value, value)
    assert not same(value, [value])
    assert not same(True, 1)
    assert not same("1", 1)
    assert same(1, Decimal("1.0"))
    assert not same(Decimal("NaN"), Decimal("NaN"))
