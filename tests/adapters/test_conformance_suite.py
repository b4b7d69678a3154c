"""The suite tests what it says: a careful loop passes it, and each careless one is caught by the row named for it."""

from __future__ import annotations

import pytest

from tallystick.testing.conformance import AdapterConformance, Harness
from tests.adapters.plain_harness import FAULTY, PlainFinishHarness, PlainHarness, PlainTextHarness


class TestPlainLoop(AdapterConformance):
    """The reference loop passes every row it can."""

    @pytest.fixture
    def harness(self) -> Harness:
        return PlainHarness()


class TestPlainLoopThatReadsTheText(AdapterConformance):
    """So does the loop whose model states no claims."""

    @pytest.fixture
    def harness(self) -> Harness:
        return PlainTextHarness()


class TestPlainLoopWithTheFinishTool(AdapterConformance):
    """And the one whose model says "done" through the finish tool."""

    @pytest.fixture
    def harness(self) -> Harness:
        return PlainFinishHarness()


@pytest.mark.parametrize("faulty", FAULTY, ids=lambda f: f.__name__)
def test_a_careless_loop_is_caught(faulty: type[PlainHarness]) -> None:
    row = getattr(AdapterConformance(), FAULTY[faulty])
    row(PlainHarness())
    with pytest.raises(AssertionError):
        row(faulty())


def test_every_row_has_one_true_sentence() -> None:
    rows = [getattr(AdapterConformance, name) for name in dir(AdapterConformance) if name.startswith("test_")]
    assert len(rows) >= 15
    assert all(row.__doc__ for row in rows)
