"""SIGKILL at a dozen points of a live tenure: no effect twice, doubt reported, a fresh contract, CERTIFIED in the end.

The tenure, the kill and the second process are those of `benchmarks/takeover_kills.py`, which does it at random points.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.kills import killed_at

pytestmark = pytest.mark.xdist_group("crash")  # one worker kills, once for all of them
POINTS = (1, 2, 5, 9, 12, 15, 17, 18, 19, 20, 21, 23, 26)
"""Steps at which the process kills itself: before and after each append and each call, live or on the replica."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Any]]:
    return killed_at(POINTS, "takeover_kills", 3, tmp_path_factory.mktemp("kills"))


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_tenure_repeats_nothing_reports_doubt_and_its_run_is_certified_under_a_fresh_contract(
    found: dict[int, dict[str, Any]], point: int
) -> None:
    killed = found[point]
    assert (killed["payments"], killed["deliveries"], killed["lost"]) == (1, 1, 0)
    assert killed["open_writes"] == killed["doubted"]
    assert killed["open_tenure"] == killed["interrupted"]
    assert killed["fresh"]
    assert killed["status"] == "CERTIFIED"
    assert killed["recheck"]
    assert killed["right"]


def test_the_points_lie_on_both_sides_of_the_steps_of_a_tenure(found: dict[int, dict[str, Any]]) -> None:
    where = [killed["where"] for killed in found.values()]
    assert {"takeover.frozen", "takeover.judged", "takeover.step", "intent", "receipt"} <= set(where)
    assert any(killed["open_writes"] for killed in found.values())
    assert any(not killed["open_tenure"] for killed in found.values())
