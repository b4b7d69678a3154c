"""Fixtures every layer's tests use."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

# No deadline: two noisy cores make single examples slow without anything being wrong (no timing assertions in tests).
settings.register_profile("tallystick", deadline=None, print_blob=True)
settings.load_profile("tallystick")


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The shared data beside the checkout; tests that need it are skipped, visibly, where it is missing."""
    folder = ROOT.parent / "shared"
    if not (folder / "data").is_dir():
        pytest.skip(f"no shared data beside the checkout ({folder.name}/data is missing)")
    return folder
