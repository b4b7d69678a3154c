"""The frozen suite, built once for all tests of a process."""

from __future__ import annotations

import pytest

from tallystick.evals.evidence.case import Case
from tallystick.evals.evidence.manifest import suite


@pytest.fixture(scope="session")
def cases() -> tuple[Case, ...]:
    return suite()


@pytest.fixture(scope="session")
def by_id(cases: tuple[Case, ...]) -> dict[str, Case]:
    return {c.id: c for c in cases}
