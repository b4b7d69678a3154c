"""Wilson's interval and the bootstrap over scenarios."""

from __future__ import annotations

import builtins
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.errors import InputError
from tallystick.evals.common.draw import Draw
from tallystick.evals.common.intervals import bootstrap, wilson


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [(0, 10, 0.0, 0.27754), (10, 10, 0.72246, 1.0), (5, 10, 0.23659, 0.76341), (81, 263, 0.2553, 0.3662)],
)
def test_wilson_gives_the_published_values(hits: int, of: int, low: float, high: float) -> None:
    """The last row is the worked example of R. G. Newcombe, "Two-sided confidence intervals", 1998, method 3."""
    found = wilson(hits, of)
    assert found is not None
    assert found == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


@given(st.integers(1, 500), st.data())
def test_an_interval_holds_its_share(of: int, data: st.DataObject) -> None:
    """The share lies in its interval, and the interval in 0 to 1."""
    hits = data.draw(st.integers(0, of))
    found = wilson(hits, of)
    assert found is not None
    assert 0 <= found[0] <= hits / of <= found[1] <= 1
    assert wilson(0, 0) is None


def test_the_bootstrap_resamples_scenarios_and_not_episodes() -> None:
    """Ten copies of every episode in its scenario change nothing; as new scenarios they would."""
    sums = [(i % 3 == 0, 1) for i in range(60)]
    once = bootstrap([(int(h), n) for h, n in sums])
    copied = bootstrap([(int(h) * 10, n * 10) for h, n in sums])
    apart = bootstrap([(int(h), n) for h, n in sums] * 10)
    assert once == copied
    assert once is not None
    assert apart is not None
    assert apart[1] - apart[0] < (once[1] - once[0]) / 2


def test_the_bootstrap_agrees_with_resampling_by_hand() -> None:
    """A plain resampling loop over the same scenarios gives the same interval within its noise."""
    draw = Draw("by hand")
    sums = [(draw.below(4), 3 + draw.below(3)) for _ in range(40)]
    shares = []
    for _ in range(4000):
        picked = [draw.pick(sums) for _ in sums]
        shares.append(sum(h for h, _ in picked) / sum(n for _, n in picked))
    shares.sort()
    found = bootstrap(sums)
    assert found == (pytest.approx(shares[100], abs=0.02), pytest.approx(shares[3899], abs=0.02))


def test_without_numpy_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The core installs without numpy; who needs it is told what to install."""
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "numpy":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match="numpy") as bad:
        bootstrap([(1, 2)])
    assert "tallystick[evals]" in (bad.value.fix or "")


@given(st.text(max_size=20), st.integers(1, 60))
def test_draws_are_repeatable_and_shuffles_lose_nothing(seed: str, size: int) -> None:
    """One seed and path, one stream; a shuffle is a permutation."""
    assert Draw(seed, "a").shuffled(range(size)) == Draw(seed, "a").shuffled(range(size))
    assert sorted(Draw(seed, "b").shuffled(range(size))) == list(range(size))
    assert 0 <= Draw(seed, "c").below(size) < size
