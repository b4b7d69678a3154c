"""Writing again what was written as asked, because the words of an answer say otherwise: read again first."""

from __future__ import annotations

from typing import Any

import pytest

from tallystick.contracts.build import build
from tallystick.gates.act import may_act
from tallystick.gates.channels import Channels
from tallystick.model import events as e
from tallystick.model import jsontext
from tallystick.model.decision import Verdict
from tallystick.model.proposal import Call
from tests.gates.certify.desk import NOW, Body, record
from tests.gates.claim_worlds import intent, receipt

CONTRACT = build(
    {
        "contract": "calendar/1",
        "entities": {"event": {"id": "id", "start": "instant"}},
        "tools": {
            "create": {"effect": "write", "yields": {"event": {"id": "/id", "start": "/start"}}},
            "update": {"effect": "write", "target": "event(args.id)", "args": {"start": "instant"}},
            "get": {
                "effect": "read", "target": "event(args.id)", "yields": {"event": {"id": "/id", "start": "/start"}},
            },
        },
        "task": {"inputs": {"invoice": "id", "from": "date", "to": "date"}},
    }
)  # fmt: skip
CALL = Call(tool="update", args={"id": "e3", "start": "2026-03-09T02:15:00-07:00"}, now=NOW)


def created(text: str, start: str = "2026-03-09T16:15:00Z") -> list[Body]:
    """An event that was asked for at 9:15 in Los Angeles, and what came back."""
    structured = e.blob(jsontext.dumps({"id": "e3", "start": start}).encode())
    return [
        intent("c1", "create", {"start": "2026-03-09T09:15:00-07:00"}),
        receipt("r1", "c1", text, structured=structured),
    ]


WRONG = "Start: 3/9/2026, 4:15:00 PM (America/Los_Angeles)"
READ = [
    intent("g1", "get", {"id": "e3"}),
    receipt("rg", "g1", {"id": "e3", "start": "2026-03-09T16:15:00Z"}),
]
SAID = [(e.Said(role="user", text="make it 2:15"), "user")]
WISHED = [(e.Wish(id="w", text="make it 2:15"), "host")]


@pytest.mark.parametrize(
    ("bodies", "held"),
    [
        (created(WRONG), True),
        (created("Start: 3/9/2026, 9:15:00 AM (America/Los_Angeles)"), False),
        (created("created e3"), False),
        (created(WRONG, start="2026-03-09T23:15:00Z"), False),  # the record itself is not as it was asked
        ([*created(WRONG), *READ], False),
        ([*created(WRONG), *SAID], False),
        ([*created(WRONG), *WISHED], False),
    ],
)
def test_a_write_over_what_was_written_as_asked_is_held_until_it_was_read(bodies: list[Any], held: bool) -> None:
    decision = may_act(record(bodies, CONTRACT), CONTRACT, CALL)
    assert (decision.verdict is Verdict.HOLD) is held
    assert ("effect.as_asked" in decision.codes) is held


def test_writing_the_same_instant_in_another_zone_is_no_other_value() -> None:
    same = Call(tool="update", args={"id": "e3", "start": "2026-03-09T17:15:00+01:00"}, now=NOW)
    assert may_act(record(created(WRONG), CONTRACT), CONTRACT, same).verdict is Verdict.ADMIT


@pytest.mark.parametrize(
    ("text", "other"),
    [
        (WRONG, "4:15:00 PM (America/Los_Angeles)"),
        ("start 16:15 UTC", None),
        ("start 16:15:30 UTC", "16:15:30 (UTC)"),
        ("start 12:15 AM UTC", "12:15 AM (UTC)"),
        ("start 5:15 p.m. Europe/Paris", None),
        ("start 5:15 PM Europe/Nowhere", None),
        ("start 4:15 PM or 5:15 PM America/Los_Angeles", None),
        ("start 4:15 PM", None),
        ("begins 4:15 PM America/Los_Angeles", None),
    ],
)
def test_a_clock_time_in_a_zone_states_an_instant_or_another(text: str, other: str | None) -> None:
    assert Channels(text).otherwise(("start",), "2026-03-09T16:15:00Z", alone=True) == other
