"""Runs a benchmark's kills in a process of its own: the process that is killed forks, and must hold no threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import dataclasses, importlib, json, pathlib, sys
sys.path.insert(0, sys.argv[1])
kills = importlib.import_module(sys.argv[3])
found = []
for point in json.loads(sys.argv[5]):
    folder = pathlib.Path(sys.argv[2]) / str(point)
    folder.mkdir()
    killed = kills.kill_one(folder, int(sys.argv[4]), steps=0, seconds=0, at=point)
    found.append(dict(dataclasses.asdict(killed), right=killed.right))
print(json.dumps(found))
"""


def killed_at(points: Sequence[int], benchmark: str, seed: int, folder: Path) -> dict[int, dict[str, Any]]:
    """Kill a run of a benchmark at each of these steps; return step → what was found afterwards."""
    if not hasattr(os, "fork"):
        pytest.skip("no fork on this system")
    command = [sys.executable, "-c", SCRIPT, str(ROOT / "benchmarks"), str(folder), benchmark, str(seed)]
    done = subprocess.run([*command, json.dumps(points)], check=False, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return dict(zip(points, json.loads(done.stdout), strict=True))
