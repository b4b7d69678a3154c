"""LangChain's agents and graphs drawn by hand pass the conformance suite."""

from __future__ import annotations

import pytest

pytest.importorskip("langchain", reason="the extra `langchain` is not installed")

from tallystick.testing.conformance import AdapterConformance, Harness
from tests.adapters.langchain_harness import (
    LangChainAsyncHarness,
    LangChainFinishHarness,
    LangChainHarness,
    LangChainTextHarness,
    LangGraphAsyncHarness,
    LangGraphHarness,
)


class TestLangChain(AdapterConformance):
    """Every row."""

    @pytest.fixture
    def harness(self) -> Harness:
        return LangChainHarness()


class TestLangChainAsync(AdapterConformance):
    """Every row, in asynchronous code."""

    @pytest.fixture
    def harness(self) -> Harness:
        return LangChainAsyncHarness()


class TestLangChainByText(AdapterConformance):
    """Every row, where nobody says what the texts state."""

    @pytest.fixture
    def harness(self) -> Harness:
        return LangChainTextHarness()


class TestLangChainFinishOutput(AdapterConformance):
    """Every row, where the output is the finish tool."""

    @pytest.fixture
    def harness(self) -> Harness:
        return LangChainFinishHarness()


class TestLangGraph(AdapterConformance):
    """Every row that a graph drawn by hand allows."""

    @pytest.fixture
    def harness(self) -> Harness:
        return LangGraphHarness()


class TestLangGraphAsync(AdapterConformance):
    """Every row that a graph drawn by hand allows, in asynchronous code."""

    @pytest.fixture
    def harness(self) -> Harness:
        return LangGraphAsyncHarness()
