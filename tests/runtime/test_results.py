"""What a tool returns is one JSON value: the receipt holds it and the agent is told it, or both say it has none."""

from __future__ import annotations

import dataclasses
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import pytest

from tallystick import Guard, ToolResult
from tallystick.contracts import parse
from tallystick.model import jsontext
from tallystick.model.events import Receipt
from tallystick.runtime.results import NotJsonError
from tests.runtime.shop import TASK, events_of

LOOSE = parse("contract: c/1\ntools:\n  look: {effect: read}\n  do: {effect: write, once_per: args.n}\n")


class Colour(Enum):
    RED = "red"


@dataclasses.dataclass
class Room:
    id: str
    price: Decimal


HAVE_ONE = [
    None, True, 3, "text", 1.5, Decimal("10.00"), [1, (2, 3)], {"a": {3, 1, 2}}, {1: "a", None: "b"},
    datetime(2026, 3, 11, 9, tzinfo=UTC), {"on": date(2026, 3, 11)}, Colour.RED, UUID(int=7), PurePosixPath("a/b"),
    Room("101", Decimal("89.50")), b'{"a": 1}', b"plain", ToolResult(value={"on": date(2026, 3, 11)}),
]  # fmt: skip
HAVE_NONE = [object(), {"a": [object()]}, float("nan"), {"x": float("inf")}, b"\xff\xfe", {"raw": b"a"}, {1: 1, "1": 2},
             Guard, 1j, ToolResult(value=object()), ToolResult(value=1, structured={"x": object()})]  # fmt: skip


def receipt_of(guard: Guard, run: str) -> Receipt:
    return next(e.body for e in events_of(guard, run) if isinstance(e.body, Receipt))


@pytest.mark.parametrize("value", HAVE_ONE, ids=range(len(HAVE_ONE)))
def test_the_agent_is_told_the_very_value_the_receipt_holds(value: Any) -> None:
    with Guard(LOOSE, tools={"look": lambda: value}) as guard, guard.run() as run:
        outcome = run.call("look")
        kept = receipt_of(guard, run.id).result
        assert kept is not None
        assert outcome.error is None
        held = kept.raw.decode() if isinstance(value, (str, bytes)) else jsontext.loads(kept.raw)
        assert outcome.to_json() == {"result": held}
        assert jsontext.loads(outcome.text()) == held


@pytest.mark.parametrize("value", HAVE_NONE, ids=range(len(HAVE_NONE)))
@pytest.mark.parametrize("tool", ["look", "do"])
def test_what_has_no_json_form_is_an_error_by_name_and_never_a_repr(value: Any, tool: str) -> None:
    def fn(**_: Any) -> Any:
        return value

    with Guard(LOOSE, tools={tool: fn}) as guard, guard.run() as run:
        outcome = run.call(tool, {} if tool == "look" else {"n": 1})
        assert outcome.ran
        assert isinstance(outcome.error, NotJsonError)
        assert outcome.in_doubt is (tool == "do")
        body = receipt_of(guard, run.id)
        assert body.result is None
        assert body.error is not None
        assert body.error.startswith("result.not_json: the tool returned ")
        assert " at 0x" not in body.error
        assert outcome.result is None
        assert body.error in outcome.to_json()["error"]
        assert body.outcome == ("unknown" if tool == "do" else "no_effect")
        if tool == "do":
            assert outcome.why_in_doubt == body.error


def test_a_wrapped_tool_raises_what_could_not_be_recorded(guard: Guard) -> None:
    with guard.run(TASK) as run, pytest.raises(NotJsonError, match="a `object` at /a/0"):
        run.tool(lambda: {"a": [object()]}, name="queue")()
