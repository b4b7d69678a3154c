"""`mentions` and `covers`: whether a text names a value, by whole words and whole numbers as written."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick import contracts
from tallystick.contracts.expr.words import covers, mentions, mentions_any
from tallystick.errors import ContractError
from tallystick.model.values import Money

PRICES = st.decimals(min_value=1, max_value=10**7, places=2)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("It costs $1,250.00 in all.", 1250),
        ("It costs 1250.", Decimal("1250.00")),
        ("a fee of $18.5", Decimal("18.50")),
        ("a fee of $18.50, or less", Decimal("18.5")),
        ("-$20 in fare", -20),
        ("Is it $20?", Money(Decimal(20), "USD")),
        ("I want Next-day shipping", "next_day"),
        ("cancel BK-1000, please", "BK-1000"),
    ],
)
def test_a_value_is_found_however_it_is_usually_written(text: str, value: Any) -> None:
    assert mentions(text, value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("It costs $12,500.", 1250), ("It costs 1250.75", 1250), ("order 1250-A", 1250), ("order A-1250", 1250),
        ("It costs 0.18", 18), ("flight AA18", 18), ("BK-10001", "BK-1000"), ("nextday", "next_day"), ("anything", ""),
    ],
)  # fmt: skip
def test_part_of_a_longer_number_or_name_is_another(text: str, value: Any) -> None:
    assert not mentions(text, value)


@given(PRICES, PRICES)
def test_an_amount_is_found_in_a_sentence_only_if_it_is_that_amount(said: Decimal, wanted: Decimal) -> None:
    assert mentions(f"That comes to ${said:,f} in total.", wanted) == (said == wanted)


def test_a_phrase_that_ends_in_a_star_stands_for_every_word_that_begins_so() -> None:
    assert mentions_any("my mother had surgery", ["surger*", "doctor"])
    assert mentions_any("she passed  away in May", ["passed away"])
    assert not mentions_any("the insurgent doctors", ["surger*", "doctor"])
    assert not mentions_any("anything", [])
    assert not mentions("a star*", "nothing*")


def test_a_name_is_covered_by_the_share_of_its_words() -> None:
    assert covers("add the PixelShot webcams", "PixelShot Webcam 1080p") == 66
    assert covers("the case for the phone", "The Case") == 100
    assert covers("anything", "of the") == 0


def test_only_texts_and_numbers_can_be_looked_for() -> None:
    with pytest.raises(TypeError):
        mentions("a text", True)
    with pytest.raises(TypeError):
        mentions_any("a text", [1])


def test_talk_is_readable_where_a_call_is_judged_and_nowhere_else() -> None:
    text = """
contract: c/1
entities: {thing: {id: id}}
tools:
  use: {effect: write, args: {id: id}, target: thing(args.id), requires: [{id: a, fact: talk.user.mentions(args.id)}]}
"""
    assert contracts.parse(text).tools["use"].requires[0].expr is not None
    with pytest.raises(ContractError, match="unknown field `agent`"):
        contracts.parse(text.replace("talk.user", "talk.agent"))
    with pytest.raises(ContractError, match="unknown name `talk`"):
        contracts.parse(
            text + "conditions: [{id: x, when: 'talk.user == \"\"', removes: use, status: s, prerequisite: p}]"
        )
    with pytest.raises(ContractError, match="already means something"):
        contracts.parse(text.replace("thing", "talk"))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("  see: {effect: read, undone_by: use}", "a read has no effect"),
        ("  many: {effect: write, undone_by: use, batch: {arg: ids}}", "item by item"),
        ("  one: {effect: write, undone_by: us}", "unknown tool `us`"),
    ],
)
def test_what_cannot_be_undone_is_reported(line: str, said: str) -> None:
    with pytest.raises(ContractError, match=said):
        contracts.parse(f"contract: c/1\ntools:\n  use: {{effect: write}}\n{line}\n")


def test_a_duty_names_tools_that_exist() -> None:
    text = "contract: c/1\ntools:\n  use: {effect: write}\nduties: [{id: d, after: used, owes: use}]\n"
    with pytest.raises(ContractError, match="unknown tool `used`"):
        contracts.parse(text)
