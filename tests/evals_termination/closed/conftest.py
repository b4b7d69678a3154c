"""The study with scripted agents, run once for all tests of a process."""

from __future__ import annotations

from typing import Any

import pytest

from tallystick.evals.termination.closed import study


@pytest.fixture(scope="session")
def told() -> dict[str, Any]:
    return study()
