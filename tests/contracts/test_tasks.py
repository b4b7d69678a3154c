"""A task is read exactly under its contract's inputs, and its stored text gives the same task back."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick import contracts
from tallystick.contracts.types import Principal, Task
from tallystick.errors import ContractError
from tallystick.model.values import Money, Quantity

TYPES = {
    "invoice": "id", "limit": "money(EUR)", "cents": "optional money(JPY minor)", "weight": "optional quantity(kg)",
    "when": "optional instant", "due": "optional date", "rate": "optional decimal", "n": "optional integer",
    "ids": "optional list(id)", "tags": "optional set(string)", "raw": "optional json", "go": "optional boolean",
    "spot": "optional record(x: integer, m: money(EUR))",
}  # fmt: skip
CONTRACT = contracts.build({"contract": "t/1", "task": {"inputs": TYPES}})
decimals = st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**9), max_value=10**9)
words = st.text(st.characters(blacklist_categories=["Cs"]), max_size=8)
optional: dict[str, st.SearchStrategy[Any]] = {
    "cents": st.builds(Money, st.integers(0, 10**6).map(Decimal), st.just("JPY")),
    "weight": st.builds(Quantity, decimals, st.just("kg")),
    "when": st.datetimes(timezones=st.just(UTC)),
    "due": st.dates(),
    "rate": decimals,
    "n": st.integers(-(2**70), 2**70),
    "ids": st.lists(words).map(tuple),
    "tags": st.frozensets(words),
    "raw": st.recursive(st.none() | st.booleans() | words, lambda i: st.lists(i) | st.dictionaries(words, i)),
    "go": st.booleans(),
    "spot": st.fixed_dictionaries({"x": st.integers(), "m": st.builds(Money, decimals, st.just("EUR"))}),
}
PRINCIPALS = st.builds(
    Principal, id=words.filter(str.strip), role=words.filter(str.strip), public_key=st.binary(min_size=32, max_size=32)
)
tasks = st.builds(
    Task,
    request=words,
    bindings=st.fixed_dictionaries(
        {"invoice": words, "limit": st.builds(Money, decimals, st.just("EUR"))}, optional=optional
    ),
    principals=st.lists(PRINCIPALS, max_size=2, unique_by=lambda p: p.id).map(tuple),
    need_answer=st.booleans(),
)  # fmt: skip


@given(tasks)
def test_the_text_of_a_task_gives_the_task_back(task: Task) -> None:
    assert contracts.load_task(contracts.task_text(task), CONTRACT) == task


def test_a_task_from_a_file_a_text_and_python_is_the_same(tmp_path: Path) -> None:
    text = (
        'request: pay it\nbindings: {invoice: I-7, limit: 420.00, due: 2026-12-03, when: "2026-11-30T12:00:00+01:00"}\n'
    )
    path = tmp_path / "task.yaml"
    path.write_text(text, encoding="utf-8")
    task = contracts.load_task(path, CONTRACT)
    assert task == contracts.load_task(text, CONTRACT)
    assert task.bindings == {
        "invoice": "I-7", "limit": Money(Decimal("420.00"), "EUR"), "due": date(2026, 12, 3),
        "when": datetime(2026, 11, 30, 11, tzinfo=UTC),
    }  # fmt: skip
    bindings = {"invoice": "I-7", "limit": "420.00", "due": "2026-12-03", "when": "2026-11-30T11:00:00Z"}
    assert task == contracts.load_task({"request": "pay it", "bindings": bindings}, CONTRACT)


def test_the_empty_text_is_the_empty_task() -> None:
    assert contracts.load_task("", contracts.EMPTY) == Task()


def test_a_file_name_in_place_of_a_text_says_how_to_name_a_file() -> None:
    with pytest.raises(ContractError, match=r"pathlib\.Path"):
        contracts.load_task("task.yaml", CONTRACT)


def test_every_problem_of_a_task_is_reported_at_once() -> None:
    text = 'bindings: {limit: "ten", due: 3.12., invoce: I-7}\nprincipals: [{id: ann, role: finance, public_key: xyz}]'
    with pytest.raises(ContractError) as caught:
        contracts.load_task(text, CONTRACT)
    assert [p.pointer for p in caught.value.problems] == ["/principals/0/public_key"]
    with pytest.raises(ContractError) as caught:
        contracts.load_task(text.splitlines()[0], CONTRACT)
    assert [(p.line, p.pointer) for p in caught.value.problems] == [
        (1, "/bindings"), (1, "/bindings/limit"), (1, "/bindings/due"), (1, "/bindings/invoce"),
    ]  # fmt: skip
    assert caught.value.problems[-1].fix == "did you mean `invoice`?"
