"""Date scope: what a meter counted between two civil dates."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

from tallystick.evals.common.draw import Draw
from tallystick.evals.termination.family import Bindings, Call, Scenario, World, ids, job, ready

NAME: Final = "period"
STATUS_TOOL: Final = "import_status"
SUBJECT: Final = ("meter_id", "meter")


def draw(draw: Draw, number: int) -> Scenario:
    """Return a task: sum, peak and days of a week's readings; the week before and another meter differ."""
    mine, other = ids(draw, "M", 2)
    first = date(2026, draw.between(2, 10), draw.between(8, 20))
    last = first + timedelta(days=draw.between(3, 6))
    rows = []
    for meter, base in ((mine, 5), (other, 25)):
        day = first - timedelta(days=14)
        while day <= last + timedelta(days=14):
            late = 10 if day >= first else 0
            rows.append(
                {
                    "meter": meter,
                    "day": day.isoformat(),
                    "kwh": f"{draw.between(base, base + 4) + late}.{draw.between(1, 9)}",
                }
            )
            day += timedelta(days=1)
    asked = {"meter": mine, "since": first.isoformat(), "until": last.isoformat()}
    back = timedelta(days=7)
    return Scenario(
        request=f"How much did {mine} count from {asked['since']} to {asked['until']}, its peak, on which days?",
        bindings=asked,
        elsewhere={**asked, "meter": other},
        shifted={**asked, "since": (first - back).isoformat(), "until": (last - back).isoformat()},
        world={"job": job(draw), "readings": rows, "number": number},
    )


def act(bindings: Bindings, call: Call) -> None:
    """Do nothing: the task only asks."""


def read(bindings: Bindings, call: Call) -> None:
    """Read the period."""
    asked = {"meter_id": bindings["meter"], "since": bindings["since"], "until": bindings["until"]}
    call("list_readings", asked)


def reply(world: World, tool: str, args: Mapping[str, Any]) -> Any:
    """Return the readings of the period."""
    assert tool == "list_readings"
    rows = _rows(world, args["meter_id"], args["since"], args["until"])
    return {"complete": True, "readings": [{"day": r["day"], "kwh": r["kwh"]} for r in rows]}


def truth(world: World, bindings: Bindings) -> dict[str, Any] | None:
    """Return sum, peak and days from the table, once the import is over."""
    if not ready(world):
        return None
    rows = _rows(world, bindings["meter"], bindings["since"], bindings["until"])
    counted = [Decimal(r["kwh"]) for r in rows]
    return {"used": f"{sum(counted)} kWh", "peak": f"{max(counted)} kWh", "days": [r["day"] for r in rows]}


def _rows(world: World, meter: str, since: str, until: str) -> list[dict[str, Any]]:
    return [r for r in world["readings"] if r["meter"] == meter and since <= r["day"] <= until]
