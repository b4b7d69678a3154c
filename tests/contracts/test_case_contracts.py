"""Ten of the reliability cases, each written as a contract by hand: the syntax can say what the cases declare."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tallystick import contracts
from tallystick.contracts.types import Contract, Tool
from tallystick.model.values import Money

FILES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[str, Any]:
    lines = (shared / "cases/cases.jsonl").read_text(encoding="utf-8").splitlines()
    return {case["id"]: case for case in map(json.loads, lines)}


def test_there_are_ten() -> None:
    assert len(FILES) == 10


@pytest.mark.shared
@pytest.mark.parametrize("path", FILES, ids=[p.stem for p in FILES])
def test_a_contract_says_what_its_case_declares(path: Path, cases: dict[str, Any]) -> None:
    """Each attribute of each tool in the case has its counterpart in the compiled tool."""
    contract = contracts.load(path)
    for declared in cases[path.stem]["tools"]:
        assert_says(contract.tools[declared["name"]], declared, contract)


def assert_says(tool: Tool, declared: dict[str, Any], contract: Contract) -> None:
    assert tool.effect == declared["effect"]
    if declared["entity_arg"] is not None and tool.target:
        assert tool.target[0].id.source == f"args.{declared['entity_arg']}"
    if tool.effect == "write":
        assert {e.source.removeprefix("args.") for e in tool.once_per} == {
            key.removesuffix("[]") for key in declared["effect_key"]
        }
    assert tool.idempotency_arg == declared["idempotency_arg"]
    assert (tool.needs_approval is not None) is declared["needs_approval"]
    assert tool.dedupes_by_key is declared.get("dedupes_by_key", False)
    assert tool.volatile is declared.get("volatile", False)
    assert tool.lag_seconds == declared.get("lag_s", 0)
    assert list(tool.terminal) == declared.get("terminal_states", [])
    assert (tool.batch.arg if tool.batch else None) == declared.get("batch_arg")
    complete = tool.complete
    assert (complete.page_arg if complete else None) == declared.get("page_arg")
    assert (complete.page_size if complete else None) == declared.get("page_size")
    if "units" in declared:
        assert contract.entities["transaction"].fields["amount"].scale == declared["units"]["scale"]


def test_milliunits_are_read_exactly() -> None:
    contract = contracts.load(next(p for p in FILES if p.stem == "c085"))
    assert contract.entities["transaction"].fields["amount"].parse(3250) == Money(Decimal("3.25"), "USD")
