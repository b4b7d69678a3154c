"""Pydantic AI passes the conformance suite."""

from __future__ import annotations

import pytest

pytest.importorskip("pydantic_ai", reason="the extra `pydantic-ai` is not installed")

from tallystick.testing.conformance import AdapterConformance, Harness
from tests.adapters.pydantic_harness import PydanticFinishHarness, PydanticHarness, PydanticTextHarness


class TestPydanticAi(AdapterConformance):
    """Every row."""

    @pytest.fixture
    def harness(self) -> Harness:
        return PydanticHarness()


class TestPydanticAiByText(AdapterConformance):
    """Every row, where nobody says what the texts state."""

    @pytest.fixture
    def harness(self) -> Harness:
        return PydanticTextHarness()


class TestPydanticAiFinishOutput(AdapterConformance):
    """Every row, where the output is the finish tool."""

    @pytest.fixture
    def harness(self) -> Harness:
        return PydanticFinishHarness()
