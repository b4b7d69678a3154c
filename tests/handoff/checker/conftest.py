"""The task and the artifacts of this folder, written for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

CASES: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "artifacts.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def task() -> dict[str, Any]:
    found: dict[str, Any] = CASES["task"]
    return found
