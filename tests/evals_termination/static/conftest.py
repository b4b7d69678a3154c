"""The study's snapshots and its report, made once for all tests of a process."""

from __future__ import annotations

from typing import Any

import pytest

from tallystick.evals.termination.conditions import study
from tallystick.evals.termination.snapshot import Labelled
from tallystick.evals.termination.static import static


@pytest.fixture(scope="session")
def labelled() -> tuple[Labelled, ...]:
    return study()


@pytest.fixture(scope="session")
def told() -> dict[str, Any]:
    return static()
