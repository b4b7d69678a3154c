"""One slot of each type: what states its value, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from tallystick import Guard
from tallystick.contracts import parse

RECORD = {
    "departs": "2026-03-11T15:30:00-05:00", "due": "2026-03-11", "mass": {"amount": "2.5", "unit": "kg"},
    "insured": True, "stops": ["ORD", "DEN", "SFO"], "hold": {"shelf": "S-4", "days": 3}, "note": "Blue door",
    "rate": "12.5", "nothing": None, "empty": [], "cents": 1250, "seat": "12A", "count": 1200,
}  # fmt: skip
TYPES = {
    "departs": "instant", "due": "date", "mass": "quantity(/unit)", "insured": "boolean", "stops": "list(string)",
    "hold": "record(shelf: id, days: integer)", "note": "string", "rate": "decimal", "nothing": "optional string",
    "empty": "set(id)", "cents": "money(USD minor)", "seat": "id", "count": "integer",
}  # fmt: skip
POINTER = {"mass": "mass/amount", "empty": "empty/*"}
DERIVE = {"stops": "list(get./stops/*)", "empty": "set(get./empty/*)"}


def finish(slot: str, text: str) -> Any:
    derive = DERIVE.get(slot, f"get./{POINTER.get(slot, slot)}")
    contract = parse(
        "contract: one/1\ntools:\n  get:\n    effect: read\n    complete: always\ntask:\n  answer:\n"
        f"    - {{slot: {slot}, type: '{TYPES[slot]}', derive: '{derive}'}}\n"
    )
    run = Guard(contract).run()
    run.call("get", {}, lambda: RECORD)
    return run.finish(text)


@pytest.mark.parametrize(
    ("slot", "text"),
    [
        ("departs", "It departs on March 11, 2026 at 3:30 PM."),
        ("departs", "Departs 2026-03-11T20:30:00Z."),
        ("departs", "Departs 2026-03-11T15:30:00-05:00."),
        ("due", "It is due on March 11."),
        ("due", "Due: 11 March 2026"),
        ("due", "Due 2026-03-11."),
        ("mass", "The mass is 2.5 kg."),
        ("mass", "Mass: 2.5 kilograms"),
        ("insured", "Insured: yes"),
        ("insured", "- **insured**: true"),
        ("stops", "The stops are ORD, DEN and SFO."),
        ("hold", "It is on shelf S-4 for 3 days."),
        ("note", "Note: blue door."),
        ("rate", "The rate is 12.5%."),
        ("rate", "Rate: 12.50"),
        ("empty", "There are no empty ones."),
        ("cents", "That is 12.50 USD."),
        ("seat", "Your seat is 12A."),
        ("count", "The count is 1,200."),
    ],
)
def test_a_value_of_each_type_is_stated_in_the_words_of_people(slot: str, text: str) -> None:
    answer = finish(slot, text)
    assert answer.accepted, str(answer)


@pytest.mark.parametrize(
    ("slot", "text"),
    [
        ("departs", "It departs on March 11, 2026 at 8:30 PM."),  # in no zone the record names
        ("departs", "It departs on March 11, 2026 at 3:30 AM."),
        ("departs", "It departs at 3:30 PM."),
        ("due", "It is due on March 12."),
        ("due", "It is due on March 11, 2027."),
        ("due", "It is due in March."),
        ("mass", "The mass is 2.5 lb."),
        ("mass", "The mass is 2.5."),
        ("mass", "The mass is 25 kg."),
        ("insured", "Insured: no"),
        ("insured", "It is insured."),
        ("stops", "The stops are DEN, ORD and SFO."),
        ("stops", "The stops are ORD and SFO."),
        ("hold", "It is on shelf S-4 for 4 days."),
        ("hold", "It is on shelf S-5 for 3 days."),
        ("note", "Note: red door."),
        ("note", "Note: blue doors."),
        ("rate", "The rate is 125%."),
        ("rate", "Rate: 12"),
        ("empty", "All done."),
        ("cents", "That is 1250 USD."),
        ("cents", "That is 12.50."),
        ("seat", "Your seat is 12B."),
        ("seat", "Your seat is 12a."),
        ("seat", "Your seat is 112A."),
        ("count", "The count is 1.2."),
        ("count", "The count is 1200.5."),
    ],
)
def test_another_value_or_no_plain_one_is_not_accepted(slot: str, text: str) -> None:
    assert not finish(slot, text).accepted


def test_what_the_record_gives_as_nothing_is_never_read_from_a_text() -> None:
    assert not finish("nothing", "There is nothing.").accepted
