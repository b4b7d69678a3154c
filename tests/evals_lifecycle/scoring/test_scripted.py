"""Scripted reporters are measured back: what they were told to do is what the scorer finds."""

from __future__ import annotations

from functools import cache

import pytest

from tallystick.evals.lifecycle import measures as m
from tallystick.evals.lifecycle.columns import columns
from tallystick.evals.lifecycle.measures import Cell
from tallystick.evals.lifecycle.stated import stated
from tallystick.evals.lifecycle.suite.kept import rows
from tallystick.evals.lifecycle.suite.reporters import BEHAVIOURS, Scripted, scripted
from tallystick.evals.lifecycle.suite.run import answered
from tallystick.evals.lifecycle.suite.studies import items

PLANS = {"main": 4, "thinking": 8}
"""Studies that have every checkpoint and every negative between them, and repetitions that give narrow intervals."""
CERTAIN = ("truthful", "silent", "acts", "garbles", "stale", "premature", "alarms")
MIXED = (
    "lost",
    "lost:0.5",
    "stale:0.3",
    "premature:0.25",
    "silent:0.4",
    "acts:0.15",
    "garbles:0.6",
    "alarms:0.35",
    "drops:0.2",
)


@cache
def measured(study: str, who: str) -> list[tuple[str, float | None, Cell]]:
    """(measure, stated, measured) of a reporter in a study."""
    reporter, found = scripted(f"scripted:{who}"), items(study)
    c = columns(rows(found, answered(found, reporter, PLANS[study])))
    want = stated(reporter, found)
    got = {**m.tally(c), **{f"theta@{p}": one for p, one in m.by_checkpoint(c).items()}}
    return [(name, want.get(name), one) for name, one in got.items()]


@pytest.mark.parametrize("who", CERTAIN)
@pytest.mark.parametrize("study", PLANS)
def test_certain_behaviour_is_measured_exactly(study: str, who: str) -> None:
    """Probability 1 leaves nothing to chance: every measure is the stated one."""
    for name, want, one in measured(study, who):
        assert one.value == pytest.approx(want), name


def test_stated_rates_are_within_intervals() -> None:
    """θ by checkpoint, φ, ω, μ, ν and failures: 95% intervals hold the stated value as often as they say."""
    found = [x for study in PLANS for who in MIXED for x in measured(study, who) if x[2].of]
    held = sum(one.wilson[0] - 1e-9 <= want <= one.wilson[1] + 1e-9 for _, want, one in found)  # type: ignore[index, operator]
    assert len(found) > 200
    assert held / len(found) > 0.92
    # The draws are fixed, so these are facts and not chances: none is far out, and the primary measure never is.
    for name, want, one in found:
        assert one.wilson is not None
        assert want is not None
        middle, half = sum(one.wilson) / 2, (one.wilson[1] - one.wilson[0]) / 2
        assert abs(want - middle) <= 2 * half + 1e-9, name


def test_what_has_no_denominator_is_stated_as_such() -> None:
    """A reporter that drops every reply has no measure at all, and one that never reports no nu."""
    assert all(want is None and not one.of for _, want, one in measured("main", "drops"))
    silent = {name: (want, one.value) for name, want, one in measured("main", "silent")}
    assert silent["nu"] == (None, None)


def test_a_reporter_with_other_rates_is_told_apart() -> None:
    """The comparison can fail: the rates of one reporter are outside the intervals of another."""
    found = items("main")
    other = stated(Scripted(behaviour="lost", rates=BEHAVIOURS["lost"], scale=0.7), found)
    out = [
        name for name, _, one in measured("main", "lost")
        if one.wilson and other.get(name) is not None and not one.wilson[0] <= other[name] <= one.wilson[1]  # type: ignore[operator]
    ]  # fmt: skip
    assert {"theta", "phi", "divergence"} <= set(out)
