"""`matches` finds what RE2 finds, and ends soon on patterns that make a backtracking engine hang."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.contracts.expr.regex import Pattern, StepsExceededError

ATOMS = [
    "a",
    "b",
    ".",
    "[ab]",
    "[^a]",
    r"\d",
    r"\W",
    "(a|b)",
    "(?:ab)",
    "^",
    "$",
    r"\b",
    "a{2}",
    "(?i:A)",
    "[a-c]",
    "(a|)",
]
patterns = st.lists(st.tuples(st.sampled_from(ATOMS), st.sampled_from(["", "", "*", "+", "?", "*?"])), max_size=5).map(
    lambda parts: "".join(a + (q if a not in ("^", "$", r"\b") else "") for a, q in parts)
)


@settings(max_examples=300)
@given(patterns, patterns, st.text("abcA1 _", max_size=8))
def test_a_search_finds_what_pythons_re_finds(left: str, right: str, text: str) -> None:
    pattern = f"{left}|{right}" if right else left
    if re.search(r"\{2\}[*+?]", pattern):
        return  # a possessive repetition for Python, an error for RE2
    expected = re.search(pattern.replace("$", r"\Z"), text, re.ASCII) is not None
    assert Pattern(pattern).search(text) is expected


def test_nested_repetitions_do_not_hang() -> None:
    assert Pattern("^(a+)+$").search("a" * 5_000 + "!") is False
    assert Pattern("(x+x+)+y").search("x" * 5_000) is False


def test_nothing_repeated_a_thousand_times_a_thousand_times_is_nothing() -> None:
    assert Pattern("(?:(?:(?:(?:(?:){1000}){1000}){1000}){1000}){1000}b").search("ab")
    assert not Pattern("(?:(?:(?:x{0}){1000}){1000}){1000}b").search("a")


def test_a_search_that_would_take_too_long_says_so() -> None:
    with pytest.raises(StepsExceededError):
        Pattern("(.?){300}!").search("a" * 100_000)


@pytest.mark.parametrize(
    "bad", ["(", ")", "[a", "a**", "*a", r"\p{L}", "(?=a)", r"\1", "a{2000}", "(a{100}){100}", "[b-a]"]
)
def test_a_pattern_that_is_not_re2_is_refused(bad: str) -> None:
    with pytest.raises(ValueError):
        Pattern(bad)


@given(st.text(max_size=12))
def test_any_text_is_a_pattern_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        Pattern(text).search("some text")
