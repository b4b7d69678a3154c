"""SIGKILL at twenty fixed points of a live run: nothing lost, nothing repeated, nothing certified while in doubt.

The run, the kill and the second process are those of `benchmarks/crash.py`, which does the same at random points.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.xdist_group("crash")  # one worker kills, once for all of them
ROOT = Path(__file__).resolve().parents[2]
POINTS = (1, 2, 3, 4, 5, 6, 9, 11, 12, 13, 14, 15, 16, 21, 25, 26, 27, 28, 37, 40)
"""Steps at which the process kills itself. A call takes six: append the intent (before, after), run the tool (before,
after its effect), append the receipt (before, after). Steps 1 to 4 are the start, 11 to 16 are the payment."""
SCRIPT = """
import json, pathlib, sys, dataclasses
sys.path.insert(0, sys.argv[1])
import crash
found = []
for point in json.loads(sys.argv[3]):
    folder = pathlib.Path(sys.argv[2]) / str(point)
    folder.mkdir()
    found.append(dataclasses.asdict(crash.kill_one(folder, 11, steps=0, seconds=0, at=point)))
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Any]]:
    if not hasattr(os, "fork"):
        pytest.skip("no fork on this system")
    command = [sys.executable, "-c", SCRIPT, str(ROOT / "benchmarks"), str(tmp_path_factory.mktemp("crash"))]
    done = subprocess.run([*command, json.dumps(POINTS)], check=False, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return dict(zip(POINTS, json.loads(done.stdout), strict=True))


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
