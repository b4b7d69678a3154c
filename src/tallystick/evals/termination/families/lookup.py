"""Single lookup: what one account says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tallystick.evals.common.draw import Draw
from tallystick.evals.termination.family import Bindings, Call, Scenario, ScopeFault, World, euros, ids, job, ready

NAME: Final = "lookup"
STATUS_TOOL: Final = "refresh_status"
SUBJECT: Final = ("account_id", "account")
SCOPE_FAULT: Final[ScopeFault] = "claim"
_STATES: Final = ("current", "reminded", "suspended")


def draw(draw: Draw, number: int) -> Scenario:
    """Return a task: balance, due date and status of one account; another account differs in all three."""
    mine, other = ids(draw, "A", 2)
    states = draw.shuffled(_STATES)
    accounts = {
        name: {
            "id": name,
            "balance": euros(draw, 20 + 500 * i, 400 + 500 * i),
            "due": f"2026-{draw.between(1, 6) + 6 * i:02d}-{draw.between(1, 28):02d}",
            "status": states[i],
        }
        for i, name in enumerate((mine, other))
    }
    return Scenario(
        request=f"What is the balance of account {mine}, when is it due, and what is its status?",
        bindings={"account": mine},
        elsewhere={"account": other},
        shifted={"account": other},
        world={"job": job(draw), "accounts": accounts, "number": number},
    )


def act(bindings: Bindings, call: Call) -> None:
    """Do nothing: the task only asks."""


def read(bindings: Bindings, call: Call) -> None:
    """Read the account."""
    call("get_account", {"account_id": bindings["account"]})


def reply(world: World, tool: str, args: Mapping[str, Any]) -> Any:
    """Return the account."""
    assert tool == "get_account"
    return {"account": dict(world["accounts"][args["account_id"]])}


def truth(world: World, bindings: Bindings) -> dict[str, Any] | None:
    """Return the account's row, once the refresh is over."""
    row = world["accounts"].get(bindings["account"])
    if row is None or not ready(world):
        return None
    return {"balance": f"{row['balance']} EUR", "due": row["due"], "status": row["status"]}
