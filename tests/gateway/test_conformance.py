"""The gateway passes the conformance suite."""

from __future__ import annotations

import pytest

from tallystick.testing.conformance import AdapterConformance, Harness
from tests.gateway.harness import GatewayHarness, GatewayTextHarness


class TestGateway(AdapterConformance):
    """Every row."""

    @pytest.fixture
    def harness(self) -> Harness:
        return GatewayHarness()


class TestGatewayByText(AdapterConformance):
    """Every row, where the model gives the finish tool a text and no claims."""

    @pytest.fixture
    def harness(self) -> Harness:
        return GatewayTextHarness()
