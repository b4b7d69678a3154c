"""Wilson's interval against published values and its own inverse; the chance that two draws share nothing."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.drafting.counts import Seen, Tally, Z, none_by_chance, wilson


@pytest.mark.parametrize(
    ("held", "of", "low", "high"),
    [  # Newcombe 1998, table I, method 3 (score without correction)
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_the_published_intervals(held: int, of: int, low: float, high: float) -> None:
    """Newcombe's worked examples, to four digits."""
    found = wilson(held, of)
    assert (round(found[0], 4), round(found[1], 4)) == (low, high)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_ends_are_where_the_score_test_changes_its_mind(case: tuple[int, int]) -> None:
    """At either end, the observed rate is exactly Z standard errors away."""
    held, of = case
    for end in wilson(held, of):
        gap = (held / of - end) ** 2
        assert abs(gap - Z * Z * end * (1 - end) / of) < 1e-9


@given(st.integers(1, 8), st.integers(0, 8), st.integers(0, 8))
def test_the_chance_of_sharing_nothing_is_what_counting_all_draws_gives(of: int, a: int, b: int) -> None:
    """All ways to draw `b` of `of` beside a fixed `a`, counted one by one."""
    a, b = min(a, of), min(b, of)
    draws = list(combinations(range(of), b))
    apart = sum(not set(d) & set(range(a)) for d in draws)
    assert abs(none_by_chance(of, a, b) - apart / len(draws)) < 1e-9


def test_a_trajectory_with_a_case_against_is_no_support() -> None:
    """A trajectory counts once: with two cases for and one against, it is against."""
    tally = Tally()
    for call, holds in (("m1.c0", True), ("m2.c0", True), ("m3.c0", False)):
        tally.add(Seen(trace="a", message=1, call=call), holds)
    tally.add(Seen(trace="b", message=1, call="m1.c0"), True)
    assert (tally.support, tally.counter) == (1, 1)
    assert tally.words() == "1 of 2 trajectories (9% or more)"
    assert tally.examples() == "a m3.c0"
