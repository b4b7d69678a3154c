"""SIGKILL at a dozen points of a live tenure: no effect twice, doubt reported, a fresh contract, CERTIFIED in the end.

The tenure, the kill and the second process are those of `benchmarks/takeover_kills.py`, which does it at random points.
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
POINTS = (1, 2, 5, 9, 12, 15, 17, 18, 19, 20, 21, 23, 26)
"""Steps at which the process kills itself: before and after each append and each call, live or on the replica."""
SCRIPT = """
import json, pathlib, sys, dataclasses
sys.path.insert(0, sys.argv[1])
import takeover_kills
found = []
for point in json.loads(sys.argv[3]):
    folder = pathlib.Path(sys.argv[2]) / str(point)
    folder.mkdir()
    killed = takeover_kills.kill_one(folder, 3, steps=0, seconds=0, at=point)
    found.append(dict(dataclasses.asdict(killed), right=killed.right))
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Any]]:
    if not hasattr(os, "fork"):
        pytest.skip("no fork on this system")
    command = [sys.executable, "-c", SCRIPT, str(ROOT / "benchmarks"), str(tmp_path_factory.mktemp("kills"))]
    done = subprocess.run([*command, json.dumps(POINTS)], check=False, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return dict(zip(POINTS, json.loads(done.stdout), strict=True))


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
