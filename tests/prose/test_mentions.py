"""Values are found in prose with their offsets and all their readings."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.model.values import Money, Quantity
from tallystick.prose.mentions import mentions
from tallystick.prose.numerals import number_of_words
from tallystick.prose.reading import MonthDay

CASES = [
    ("costs $52 today", "$52", "money", Money(Decimal(52), "USD")),
    ("costs **$1,234.50**.", "$1,234.50", "money", Money(Decimal("1234.50"), "USD")),
    ("USD 1,234.50 due", "USD 1,234.50", "money", Money(Decimal("1234.50"), "USD")),
    ("1.299,00 EUR", "1.299,00 EUR", "money", Money(Decimal("1299.00"), "EUR")),
    ("52 dollars", "52 dollars", "money", Money(Decimal(52), "USD")),
    ("fifty-two dollars", "fifty-two dollars", "money", Money(Decimal(52), "USD")),
    ("a refund of -$298.10", "-$298.10", "money", Money(Decimal("-298.10"), "USD")),
    ("- $30 fee", "$30", "money", Money(Decimal(30), "USD")),
    ("40% off", "40%", "percent", Decimal(40)),
    ("twenty-one items", "twenty-one", "number", Decimal(21)),
    ("1,299 seats", "1,299", "number", Decimal(1299)),
    ("the 2nd leg", "2nd", "ordinal", Decimal(2)),
    ("on 2026-06-20 then", "2026-06-20", "date", date(2026, 6, 20)),
    ("on June 20, 2026", "June 20, 2026", "date", date(2026, 6, 20)),
    ("on 20 June 2026", "20 June 2026", "date", date(2026, 6, 20)),
    ("on June 20", "June 20", "month_day", MonthDay(6, 20)),
    ("at 1:15 PM", "1:15 PM", "time", time(13, 15)),
    ("2026-06-20 1:15 PM", "2026-06-20 1:15 PM", "datetime", datetime.fromisoformat("2026-06-20T13:15:00")),
    ("2026-06-20T13:15:00Z", "2026-06-20T13:15:00Z", "instant", datetime(2026, 6, 20, 13, 15, tzinfo=UTC)),
    ("within 24 hours", "24 hours", "duration", timedelta(hours=24)),
    ("takes 2h 15m", "2h 15m", "duration", timedelta(hours=2, minutes=15)),
    ("5 business days", "5 business days", "quantity", Quantity(Decimal(5), "business day")),
    ("weighs 2.5 kg", "2.5 kg", "quantity", Quantity(Decimal("2.5"), "kg")),
    ("flight UA100.", "UA100", "id", "UA100"),
    ("order (ORD-42-B)", "ORD-42-B", "id", "ORD-42-B"),
    ("order #12345", "#12345", "id", "12345"),
    ("from ORD", "ORD", "code", "ORD"),
    ("the \u201cBlue Mug\u201d", "\u201cBlue Mug\u201d", "quoted", "Blue Mug"),
    ("it is canceled", "canceled", "status", "cancelled"),
]


@pytest.mark.parametrize(("text", "said", "kind", "value"), CASES, ids=[c[0] for c in CASES])
def test_a_value_is_found_where_it_stands(text, said, kind, value):
    found = mentions(text)
    assert [m.text for m in found] == [said]
    assert text[found[0].start : found[0].end] == said
    assert found[0].kind == kind
    assert found[0].readings[0].value == value


def test_an_ambiguous_text_keeps_all_its_readings():
    assert mentions("1,299 EUR")[0].values("money") == (Money(Decimal(1299), "EUR"), Money(Decimal("1.299"), "EUR"))
    assert mentions("on 6/7/2026")[0].values("date") == (date(2026, 6, 7), date(2026, 7, 6))
    assert {str(v) for v in mentions("$5")[0].values("money")} >= {"5 USD", "5 CAD", "5 AUD"}
    assert mentions("at 1:15")[0].values("time") == (time(1, 15), time(13, 15))
    assert mentions("June 20", years=[2025, 2026])[0].values("date") == (date(2025, 6, 20), date(2026, 6, 20))


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("June 10\u201314, 2026", date(2026, 6, 10), date(2026, 6, 14)),
        ("3-5 business days", Quantity(Decimal(3), "business day"), Quantity(Decimal(5), "business day")),
        ("$50-$100", Money(Decimal(50), "USD"), Money(Decimal(100), "USD")),
        ("10:00 AM \u2013 11:30 AM", time(10), time(11, 30)),
        ("between 5 and 7", Decimal(5), Decimal(7)),
    ],
)
def test_a_range_has_two_ends(text, low, high):
    one, two = mentions(text)
    assert (one.edge, two.edge) == ("low", "high")
    assert (one.readings[0].value, two.readings[0].value) == (low, high)


def test_hedges_counts_and_negations_are_marked():
    assert mentions("up to $100")[0].approximate == "most"
    assert mentions("over 30 days")[0].approximate == "least"
    assert mentions("about 5 kg")[0].approximate == "about"
    assert mentions("two more bags")[0].noun == "bag"
    assert mentions("not yet cancelled")[0].negated
    assert not mentions("cancelled")[0].negated


@given(
    st.decimals(min_value=0, max_value=10**9, places=2), st.sampled_from(["${:,.2f}", "USD {:.2f}", "{:,.2f} euros"])
)
def test_every_written_amount_is_read_back_exactly(amount, spelling):
    found = mentions(f"It is {spelling.format(amount)} now.")
    assert [m.kind for m in found] == ["money"]
    assert amount in found[0].numbers


@given(
    st.dates(min_value=date(1950, 1, 1), max_value=date(2090, 1, 1)),
    st.sampled_from(["%Y-%m-%d", "%B %d, %Y", "%d %b %Y", "%m/%d/%Y"]),
)
def test_every_written_date_is_read_back(day, spelling):
    found = mentions(f"It is {day.strftime(spelling)} now.")
    assert day in found[0].values("date")


@given(st.text(max_size=200))
def test_any_text_is_read_without_error_and_mentions_do_not_overlap(text):
    found = mentions(text)
    assert all(a.end <= b.start for a, b in pairwise(found))
    assert all(text[m.start : m.end] == m.text and m.readings for m in found)


def test_number_words_that_make_no_one_number_state_none() -> None:
    for words, number in (("two hundred and five", 205), ("twenty-one hundred", 2100), ("a thousand", 1000),
                          ("one million two hundred thousand and five", 1_200_005), ("zero", 0)):  # fmt: skip
        assert number_of_words(words) == number
    for words in ("one two three", "four twenty", "ten five", "twenty zero", "zero one", "hundred hundred",
                  "thousand million", "five million five million", "two both"):  # fmt: skip
        assert number_of_words(words) is None


@given(st.integers(0, 999_999_999))
def test_a_number_written_out_is_read_back(number: int) -> None:
    assert number_of_words(_written(number)) == number


def _written(number: int) -> str:
    ones = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ]
    tens = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
    if number < 20:
        return ones[number]
    if number < 100:
        return tens[number // 10 - 2] + (f"-{ones[number % 10]}" if number % 10 else "")
    for scale, word in ((1_000_000, "million"), (1_000, "thousand"), (100, "hundred")):
        if number >= scale:
            rest = number % scale
            return f"{_written(number // scale)} {word}" + (f" {_written(rest)}" if rest else "")
    raise AssertionError
