"""Pydantic AI passes the conformance suite."""

from __future__ import annotations

import pytest

pytest.importorskip("pydantic_ai", reason="the extra `pydantic-ai` is not installed")

from tallystick.testing.conformance import AdapterConformance, Harness
from tests.adapters.pydantic_harness import PydanticHarness


class TestPydanticAi(AdapterConformance):
    """Every row."""

    @pytest.fixture
    def harness(self) -> Harness:
        return PydanticHarness()
