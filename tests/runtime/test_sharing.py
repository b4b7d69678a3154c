"""What is judged, recorded and dispatched is one thing, and nobody outside holds any part of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tallystick.contracts import parse
from tallystick.ledger.store import Lease
from tallystick.model.events import Sealed
from tallystick.runtime.copies import copied
from tallystick.runtime.guard import Guard
from tallystick.runtime.run import Run

CONTRACT = parse("""
contract: nested/1
tools:
  pay:
    effect: write
    args: {invoice_id: id}
    once_per: args.invoice_id
    ok: result.status == "paid"
  send:
    effect: write
    args: {to: json}
    batch: {arg: to, results: /answers, result_key: /to, ok: item.sent}
task:
  owes: [{id: paid, by: pay}]
  answer: [{slot: amount, type: string, derive: pay./nested/x}]
""")


class World:
    """Mail that went out, and tools that do what they like with what they were given."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.answer: dict[str, Any] = {"status": "paid", "nested": {"x": "420"}}

    def pay(self, invoice_id: str) -> dict[str, Any]:
        return self.answer

    def send(self, to: list[str]) -> dict[str, Any]:
        self.sent.extend(to)
        answers = [{"to": one, "sent": True} for one in to]
        to[:] = ["somebody else"]
        return {"answers": answers}


def start(path: Path | None = None) -> tuple[World, Guard, Run]:
    world = World()
    guard = Guard(CONTRACT, path, tools={"pay": world.pay, "send": world.send})
    return world, guard, guard.run({})


@pytest.mark.parametrize("how", ["args", "args_text"])
def test_a_tool_that_changes_its_arguments_changes_nothing_that_was_judged(how: str) -> None:
    world, guard, run = start()
    for _ in range(2):
        if how == "args":
            run.call("send", {"to": ["a", "b"]})
        else:
            run.call("send", args_text='{"to":["a","b"]}')
    assert world.sent == ["a", "b"]
    assert [call.args for call in run.view.calls.values()] == [{"to": ["a", "b"]}]
    run.suspend()
    guard.close()


def test_what_the_caller_changes_after_the_intent_is_not_dispatched() -> None:
    world, guard, run = start()
    to = ["a"]
    append = guard.store.append

    def meanwhile(lease: Lease, sealed: Sealed, durable: bool) -> None:
        append(lease, sealed, durable)
        to[:] = ["somebody else"]

    guard.store.append = meanwhile  # type: ignore[method-assign]  # the instant between intent and tool
    run.call("send", {"to": to})
    assert world.sent == ["a"]
    run.suspend()


def test_a_changed_result_changes_no_later_verdict() -> None:
    world, _, run = start()
    first = run.call("pay", {"invoice_id": "I-7"})
    first.result["nested"]["x"] = "9999"
    world.answer["nested"]["x"] = "9999"
    again = run.call("pay", {"invoice_id": "I-7"})
    assert again.recorded
    assert again.result["nested"]["x"] == "420"
    again.result["nested"]["x"] = "9999"
    assert not run.finish("done", {"amount": "9999"}).accepted
    assert run.finish("done", {"amount": "420"}).accepted


def test_only_containers_are_copied() -> None:
    leaf = object()
    given: dict[str, Any] = {"a": [leaf, (leaf, {"b": 1.5})]}
    mine = copied(given)
    assert mine == given
    assert mine["a"][0] is leaf
    assert mine["a"] is not given["a"]
    assert mine["a"][1][1] is not given["a"][1][1]
