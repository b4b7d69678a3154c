"""Fixtures of the guard's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tallystick.runtime.guard import Guard
from tests.runtime.shop import CONTRACT, Clock, Shop


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A shop of its own."""
    return Shop(tmp_path / "shop.db")


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still."""
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
def guard(request: pytest.FixtureRequest, tmp_path: Path, shop: Shop, clock: Clock) -> Iterator[Guard]:
    """A guard over the shop, on each driver."""
    ledger = None if request.param == "memory" else tmp_path / "ledger.db"
    made = Guard(CONTRACT, ledger, tools=shop.tools(), clock=clock)
    yield made
    made.close()
