"""The derived stage of the recorded trajectories, per turn, against their labels."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, cli

__all__ = ["cli"]


@pytest.mark.shared
def test_the_stages_of_the_recorded_trajectories_against_their_labels(root: Path, shared: Path) -> None:
    """Where the record knows of something left, the state is mostly wrong; and nothing is called completed."""
    command = [sys.executable, "benchmarks/stages.py", str(shared / "data" / "state-bench"), "--json"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["trajectories"] == 200
    assert set(found["turns_by_stage"]) == {"ready_for_action", "post_observation_continue"}
    left = [row for row in found["rows"] if row["left"]]
    rest = [row for row in found["rows"] if not row["left"]]
    cells = found["confusion"]
    assert sum(cell["state_ok"] + cell["not_ok"] for cell in cells.values()) == 200
    assert left
    assert sum(r["state_ok"] for r in left) / len(left) < 0.5 < sum(r["state_ok"] for r in rest) / len(rest)


@pytest.mark.shared
def test_show_has_the_stage_of_a_recorded_trajectory_per_turn(cli: Cli, root: Path, shared: Path) -> None:
    """From the conversation's own events, under the domain's contract."""
    (file,) = (shared / "data" / "state-bench" / "trajectories" / "travel").glob("1-cancel*.json")
    told = cli("show", file, "--contract", root / "examples" / "state-bench" / "travel.yaml", "--json").json
    stages = [turn["stage"] for turn in told["turns"]]
    assert stages == ["ready_for_action"] * 2 + ["post_observation_continue"] * 3
    assert told["stage"]["stage"] == "post_observation_continue"
