"""What episodes cost: the agent's requests, at the prices of a dated table, whatever a cache served."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tallystick.errors import InputError
from tallystick.evals.takeover.costs import Usage, cost_of, cost_percent, prices

TABLE = """
date: 2026-12-01
models:
  cheap: {input: "0.10", output: "0.40"}
  strong: {input: "2.50", output: "10.00"}
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A price table of a user's."""
    file = tmp_path / "prices.yaml"
    file.write_text(TABLE, encoding="utf-8")
    return file


def test_cost_is_split_by_phase_and_adds_up(table: Path) -> None:
    """Cheap prefix, contract construction, residual; exact decimals."""
    usages = [
        Usage(model="cheap", phase="prefix", input=1_000, output=100),
        Usage(model="strong", phase="rscc", input=200, output=10),
        Usage(model="strong", phase="residual", input=3_000, output=300),
    ]
    cost = cost_of(usages, prices(table))
    assert cost.split == {"prefix": Decimal("0.00014"), "rscc": Decimal("0.0006"), "residual": Decimal("0.0105")}
    assert cost.total == sum((one for one in cost.split.values() if one is not None), Decimal(0))
    assert cost.to_json()["usd"] == "0.011240"


def test_user_simulator_and_evaluator_cost_nothing(table: Path) -> None:
    """They are not the agent's."""
    usages = [
        Usage(model="strong", phase="prefix", input=1_000, output=1_000, role="user_simulator"),
        Usage(model="strong", phase="prefix", input=1_000, output=1_000, role="evaluator"),
    ]
    assert cost_of(usages, prices(table)).total == 0


def test_a_model_without_a_price_makes_no_cost_up(table: Path) -> None:
    """None, and named, rather than 0."""
    cost = cost_of([Usage(model="other", phase="prefix", input=1, output=1)], prices(table))
    assert cost.total is None
    assert cost.unpriced == ("other",)


def test_a_stand_in_price_says_so() -> None:
    """Local models have no provider; the shipped table says what its figures for them are."""
    shipped = prices()
    cost = cost_of([Usage(model="local:smollm2-135m", phase="prefix", input=1_000_000, output=0)], shipped)
    assert cost.total == Decimal("0.135")
    assert cost.stand_in
    assert shipped.date == "2026-12-01"


def test_surfaces_a_method_was_not_run_on_do_not_count() -> None:
    """The mean is over its own surfaces."""
    anchor = {"a": Decimal(10), "b": Decimal(10)}
    assert cost_percent({"a": Decimal(1), "b": None}, anchor) == 10
    assert cost_percent({"a": Decimal(1), "b": Decimal(3)}, anchor) == 20
    assert cost_percent({"c": Decimal(1)}, anchor) is None


@pytest.mark.parametrize(
    "text",
    ["", "date: x", "date: x\nmodels: {m: {input: 1}}", "date: x\nmodels: {m: {input: a, output: 1}}",
     "date: x\nmodels: {m: {input: -1, output: 1}}", "date: x\ncurrency: EUR\nmodels: {}", "{"],
)  # fmt: skip
def test_a_table_that_is_none_is_one_clear_error(tmp_path: Path, text: str) -> None:
    """With its place."""
    file = tmp_path / "prices.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        prices(file)
    assert str(file) in str(caught.value)
