"""Single lookup: what one account says as of a day."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, Final

from tallystick.evals.common.draw import Draw
from tallystick.evals.termination.family import Bindings, Call, Scenario, World, euros, ids, job, ready

NAME: Final = "lookup"
STATUS_TOOL: Final = "refresh_status"
SUBJECT: Final = ("account_id", "account")
_STATES: Final = ("current", "reminded", "suspended")


def draw(draw: Draw, number: int) -> Scenario:
    """Return a task: balance, due date and status of an account as of a day; the day after says the same.

    Another account differs in all three.
    """
    mine, other = ids(draw, "A", 2)
    states = draw.shuffled(_STATES)
    since = date(2026, draw.between(1, 6), draw.between(1, 20))
    accounts = {
        name: {
            "id": name,
            "since": since.isoformat(),
            "balance": euros(draw, 20 + 500 * i, 400 + 500 * i),
            "due": (since + timedelta(days=draw.between(20, 40) + 60 * i)).isoformat(),
            "status": states[i],
        }
        for i, name in enumerate((mine, other))
    }
    day = since + timedelta(days=draw.between(1, 12))
    asked = {"account": mine, "on": day.isoformat()}
    return Scenario(
        request=f"What is the balance of account {mine} as of {day}, when is it due, and what is its status?",
        bindings=asked,
        elsewhere={**asked, "account": other},
        shifted={**asked, "on": (day + timedelta(days=1)).isoformat()},
        world={"job": job(draw), "accounts": accounts, "number": number},
    )


def act(bindings: Bindings, call: Call) -> None:
    """Do nothing: the task only asks."""


def read(bindings: Bindings, call: Call) -> None:
    """Read the account."""
    call("get_account", {"account_id": bindings["account"], "on": bindings["on"]})


def reply(world: World, tool: str, args: Mapping[str, Any]) -> Any:
    """Return the account as of a day; it has said the same since its last statement."""
    assert tool == "get_account"
    row = world["accounts"][args["account_id"]]
    if args["on"] < row["since"]:
        return {"account": {"id": row["id"], "balance": None, "due": None, "status": "new"}}
    return {"account": {name: row[name] for name in ("id", "balance", "due", "status")}}


def truth(world: World, bindings: Bindings) -> dict[str, Any] | None:
    """Return the account's row, once the refresh is over."""
    row = world["accounts"].get(bindings["account"])
    if row is None or bindings["on"] < row["since"] or not ready(world):
        return None
    return {"balance": f"{row['balance']} EUR", "due": row["due"], "status": row["status"]}
