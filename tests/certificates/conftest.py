"""One certified run of the desk, shared by the tests that only read its files."""

from __future__ import annotations

import pytest

from tests.certificates.desk import Certified, certified


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Certified:
    """A certified run."""
    return certified(tmp_path_factory.mktemp("desk"))
