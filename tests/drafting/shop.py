"""A small shop whose good trajectories follow rules that are planted here, so that what is mined can be compared.

Planted: before an item is refunded, its order was read, the refund policy was read, the item was delivered, a preview
of the same arguments came first, and the amount is what that preview said. An item is refunded or replaced, never both.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tallystick.model.trace import Trace
from tallystick.traces import parse

WRITES = {"write_tools": ["refund", "replace"], "tools": [
    {"name": "get_order", "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}},
                                         "required": ["order_id"]}},
    {"name": "get_policy", "parameters": {"type": "object", "properties": {"topic": {"type": "string"}},
                                          "required": ["topic"]}},
    {"name": "refund", "parameters": {"type": "object", "properties": {
        "item_id": {"type": "string"}, "amount": {"type": "integer"}, "confirm": {"type": "boolean"}},
        "required": ["item_id"]}},
    {"name": "replace", "parameters": {"type": "object", "properties": {"item_id": {"type": "string"}},
                                       "required": ["item_id"]}},
]}  # fmt: skip


@dataclass(kw_only=True)
class Run:
    """One conversation being written; `skip` names what the agent leaves out."""

    n: int
    skip: frozenset[str] = frozenset()
    turns: list[dict[str, Any]] = field(default_factory=list)

    def say(self, role: str, text: str) -> None:
        """Add words."""
        self.turns.append({"role": role, "content": text})

    def do(self, *calls: tuple[str, dict[str, Any], Any], text: str = "One moment.") -> None:
        """Add a turn of calls with their results."""
        listed = [{"name": name, "arguments": args, "result": result} for name, args, result in calls]
        self.turns.append({"role": "assistant", "content": text, "tool_calls": listed})

    @property
    def items(self) -> list[dict[str, Any]]:
        """The items of the order: the first is delivered, the second is on its way, the third is lost."""
        return [
            {"item_id": f"IT-{self.n}{i}", "state": state, "price": 100 + 7 * self.n + i}
            for i, state in enumerate(("delivered", "shipped", "lost"))
        ]

    def order(self) -> None:
        """Read the order, unless that is skipped."""
        if "order" not in self.skip:
            result = {"order_id": f"OR-{self.n}", "items": self.items}
            self.do(("get_order", {"order_id": f"OR-{self.n}"}, result))

    def refund(self) -> None:
        """Refund the delivered item as the rules say, but for what is skipped."""
        item = self.items[1 if "delivered" in self.skip else 0]
        amount = item["price"] - 5
        if "policy" not in self.skip:
            self.do(("get_policy", {"topic": "refund"}, {"topic": "refund", "text": f"policy {self.n}"}))
        shown = {"status": "preview", "item_id": item["item_id"], "refund_amount": amount, "fee": 5 + self.n % 3}
        if "preview" not in self.skip:
            self.do(("refund", {"item_id": item["item_id"], "confirm": False}, shown))
        self.say("user", "Yes, do that.")
        paid = amount + (1 if "amount" in self.skip else 0)
        done = {"status": "refunded", "item_id": item["item_id"], "refund_amount": paid}
        self.do(("refund", {"item_id": item["item_id"], "amount": paid, "confirm": True}, done))

    def replace(self) -> None:
        """Replace the lost item."""
        item = self.items[2]
        self.do(("replace", {"item_id": item["item_id"]}, {"status": "replaced", "item_id": item["item_id"]}))

    def trace(self) -> Trace:
        """The conversation as an imported trace."""
        raw = json.dumps({"conversation": self.turns}).encode()
        return next(parse(raw, name=f"t{self.n:03}"))


def refunded(n: int, *skip: str) -> Trace:
    """A trajectory with one refund."""
    run = Run(n=n, skip=frozenset(skip))
    run.say("user", f"Please refund the first item of OR-{n}.")
    run.order()
    run.refund()
    return run.trace()


def replaced(n: int) -> Trace:
    """A trajectory with one replacement, for which no policy is read."""
    run = Run(n=n)
    run.say("user", f"An item of OR-{n} is lost.")
    run.order()
    run.replace()
    return run.trace()


def looked(n: int) -> Trace:
    """A trajectory in which nothing is changed."""
    run = Run(n=n)
    run.say("user", f"What is in OR-{n}?")
    run.order()
    return run.trace()


def good(refunds: int = 12, replacements: int = 8, looks: int = 4) -> list[Trace]:
    """Trajectories without an exception."""
    start, end = refunds, refunds + replacements
    return [
        *(refunded(n) for n in range(start)),
        *(replaced(n) for n in range(start, end)),
        *(looked(n) for n in range(end, end + looks)),
    ]


def rules(report: dict[str, Any], tool: str) -> dict[str, dict[str, Any]]:
    """The weighed rules of a tool by their text."""
    found = {}
    for rule in report["rules"]:
        if rule["tool"] == tool:
            said = {k: v for k, v in rule["requirement"].items() if k != "id"}
            found[json.dumps(said, sort_keys=True)] = rule
    return found


def rule(report: dict[str, Any], tool: str, **said: Any) -> dict[str, Any]:
    """The one rule that says exactly this (`with_` for `with`)."""
    text = json.dumps({k.rstrip("_"): v for k, v in said.items()}, sort_keys=True)
    found = rules(report, tool)
    assert text in found, f"{text} is not among {sorted(found)}"
    return found[text]


def names(traces: Sequence[Trace]) -> list[str]:
    """The ids of some traces."""
    return [t.id for t in traces]
