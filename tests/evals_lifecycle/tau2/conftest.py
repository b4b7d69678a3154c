"""Everything here needs the `tau2` extra, and is skipped, visibly, without it."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="session")
def benchmark_package() -> None:
    pytest.importorskip("inspect_evals", reason="the `tau2` extra is not installed")
