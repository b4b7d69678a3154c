"""What a tool-use family is: a contract, a small world that answers its tools, and the ways its tasks are drawn.

The paper names six families and does not say which; these are *reconstructed*. A world is a plain JSON object. Its
tools are simulated, so that whatever a trace records is what that world answered to that very call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final, Protocol

from tallystick.contracts import Contract, parse
from tallystick.evals.common.draw import Draw

Bindings = Mapping[str, Any]
World = dict[str, Any]
Call = Callable[[str, Mapping[str, Any]], Any]
"""Makes a call of a tool with arguments, and returns what the world answered."""
READY_AFTER: Final = 2
"""Status calls that say pending before the one that says ready."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """One drawn task.

    Attributes:
        request: what the requester asked.
        bindings: the task's inputs.
        elsewhere: the same question about another entity of the same world, with other answers.
        shifted: the same question in another scope, another entity or other dates. In `lookup` and `confirm` it is
            another day on which everything is as it was, so that the answers are the same; in the others they differ.
        world: the environment before anything was done.
    """

    request: str
    bindings: Bindings
    elsewhere: Bindings
    shifted: Bindings
    world: World


class Family(Protocol):
    """One of the six families. Modules of `families` are such objects."""

    NAME: str
    STATUS_TOOL: str
    """The tool that says whether the preparing job is ready; asking it again is legitimate polling."""
    SUBJECT: tuple[str, str]
    """The status tool's argument, and the binding it takes."""

    def draw(self, draw: Draw, number: int) -> Scenario:
        """Return a task of the family."""

    def act(self, bindings: Bindings, call: Call) -> None:
        """Make the writes of the task, if it has any."""

    def read(self, bindings: Bindings, call: Call) -> None:
        """Make the reads the answer rests on."""

    def reply(self, world: World, tool: str, args: Mapping[str, Any]) -> Any:
        """Return what the world answers to a call, and change the world as the call does."""

    def truth(self, world: World, bindings: Bindings) -> dict[str, Any] | None:
        """Return slot → value as the environment's state gives it, or None where the state is not what is asked for.

        Shares no code with contracts and derivations: it reads the world's own tables.
        """


def data(name: str) -> str:
    """Return the text of a file of this package."""
    return resources.files("tallystick.evals.termination").joinpath(*name.split("/")).read_text(encoding="utf-8")


@cache
def contract_of(family: str) -> Contract:
    """Return a family's contract."""
    return parse(data(f"contracts/{family}.yaml"), f"contracts/{family}.yaml")


def answered(family: Family, world: World, tool: str, args: Mapping[str, Any]) -> Any:
    """Return what a world answers to any call of a family: its job's state, or what the family's own tools say."""
    if tool != family.STATUS_TOOL:
        return family.reply(world, tool, args)
    job = world["job"]
    job["asked"] += 1
    ready = job["asked"] > job["ready_after"]
    job["state"] = "ready" if ready else "pending"
    return {"job": {"id": job["id"], "state": job["state"], "checked": job["asked"]}}


def ready(world: World) -> bool:
    """Return whether the job that prepares the data is over."""
    return bool(world["job"]["state"] == "ready")


def job(draw: Draw) -> dict[str, Any]:
    """Return a new job, pending for the first `READY_AFTER` times it is asked about."""
    return {"id": f"J-{draw.between(1000, 9999)}", "asked": 0, "ready_after": READY_AFTER, "state": "pending"}


def ids(draw: Draw, prefix: str, count: int, *, low: int = 1000, high: int = 9999) -> list[str]:
    """Return so many different ids."""
    found: list[str] = []
    while len(found) < count:
        name = f"{prefix}-{draw.between(low, high)}"
        if name not in found:
            found.append(name)
    return found


def euros(draw: Draw, low: int, high: int) -> str:
    """Return an amount in euros, drawn in cents, as text; never a whole number, so that cents are always told."""
    cents = draw.between(low * 100, high * 100)
    cents += 1 if cents % 10 == 0 else 0
    return f"{cents // 100}.{cents % 100:02d}"
