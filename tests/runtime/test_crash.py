"""SIGKILL at twenty fixed points of a live run: nothing lost, nothing repeated, nothing certified while in doubt.

The run, the kill and the second process are those of `benchmarks/crash.py`, which does the same at random points.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.kills import killed_at

pytestmark = pytest.mark.xdist_group("crash")  # one worker kills, once for all of them
POINTS = (1, 2, 3, 4, 5, 6, 9, 11, 12, 13, 14, 15, 16, 21, 25, 26, 27, 28, 37, 40)
"""Steps at which the process kills itself. A call takes six: append the intent (before, after), run the tool (before,
after its effect), append the receipt (before, after). Steps 1 to 4 are the start, 11 to 16 are the payment."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Any]]:
    return killed_at(POINTS, "crash", 11, tmp_path_factory.mktemp("crash"))


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_run_is_taken_up_without_loss_and_without_repetition(
    found: dict[int, dict[str, Any]], point: int
) -> None:
    killed = found[point]
    assert killed["lost"] == 0
    assert not killed["certified_in_doubt"]
    assert (killed["payments"], killed["deliveries"], killed["status"]) == (1, 1, "CERTIFIED")
    assert killed["recheck"]


def test_the_points_lie_on_both_sides_of_every_step_of_a_payment(found: dict[int, dict[str, Any]]) -> None:
    where = {point: killed["where"] for point, killed in found.items()}
    assert where[1] == "before the start"
    assert where[2] == "after run.started"
    assert where[11] != "after the intent of pay_invoice"
    assert [where[p] for p in (12, 13, 14, 15)] == ["after the intent of pay_invoice"] * 4
    assert where[16] == "after a receipt"
