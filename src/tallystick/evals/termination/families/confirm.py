"""Write, then confirm: a visit is booked, and the ticket is read as of its day."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tallystick.evals.common.draw import Draw
from tallystick.evals.termination.family import Bindings, Call, Scenario, World, euros, ids, job, ready

NAME: Final = "confirm"
STATUS_TOOL: Final = "dispatch_status"
SUBJECT: Final = ("ticket_id", "ticket")


def draw(draw: Draw, number: int) -> Scenario:
    """Return a task: book a visit, then say confirmation, fee, day and place; the day after, they are the same.

    Another ticket differs in all of them.
    """
    mine, other = ids(draw, "T", 2)
    codes = ids(draw, "V", 2)
    month = draw.between(1, 11)
    visit = draw.between(15, 26)
    day, after = f"2026-{month:02d}-{visit:02d}", f"2026-{month:02d}-{visit + 1:02d}"
    earlier = f"2026-{month:02d}-{draw.between(1, 14):02d}"
    tickets = {
        name: {
            "id": name,
            "code": codes[i],
            "fees": {
                "before": euros(draw, 10 + 200 * i, 80 + 200 * i),
                "after": euros(draw, 90 + 200 * i, 190 + 200 * i),
            },
            "place": {"room": f"{'BN'[i]}{draw.between(100, 499)}", "hours": draw.between(1, 2) + 2 * i},
            "visit": None if i == 0 else earlier,
        }
        for i, name in enumerate((mine, other))
    }
    return Scenario(
        request=f"Book a visit for ticket {mine} on {day}; tell me the confirmation, the fee, the day and the place.",
        bindings={"ticket": mine, "day": day},
        elsewhere={"ticket": other, "day": day},
        shifted={"ticket": mine, "day": after},
        world={"job": job(draw), "tickets": tickets, "number": number},
    )


def act(bindings: Bindings, call: Call) -> None:
    """Book the visit."""
    call("book_visit", {"ticket_id": bindings["ticket"], "day": bindings["day"]})


def read(bindings: Bindings, call: Call) -> None:
    """Read the ticket as of the day of the visit."""
    call("get_ticket", {"ticket_id": bindings["ticket"], "on": bindings["day"]})


def reply(world: World, tool: str, args: Mapping[str, Any]) -> Any:
    """Book, or return the ticket as of a day."""
    row = world["tickets"][args["ticket_id"]]
    if tool == "book_visit":
        row["visit"] = args["day"]
        return {"booked": True, "confirmation": row["code"], "ticket_id": row["id"]}
    assert tool == "get_ticket"
    return {"ticket": {"id": row["id"], "place": dict(row["place"]), **_as_of(row, args["on"])}}


def truth(world: World, bindings: Bindings) -> dict[str, Any] | None:
    """Return what the ticket says, once it is booked for that day and dispatched."""
    row = world["tickets"].get(bindings["ticket"])
    if row is None or row["visit"] != bindings["day"] or not ready(world):
        return None
    return {
        "confirmation": row["code"],
        "fee": f"{row['fees']['after']} EUR",
        "visit": row["visit"],
        "place": {"room": row["place"]["room"], "hours": str(row["place"]["hours"])},
    }


def _as_of(row: Mapping[str, Any], on: str) -> dict[str, Any]:
    booked = row["visit"] is not None and on >= row["visit"]
    return {"visit": row["visit"] if booked else None, "fee": row["fees"]["after" if booked else "before"]}
