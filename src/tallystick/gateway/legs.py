"""Guarded calls on their way: what was asked of the server for them, and what may still answer.

A call lands when its result arrives. A question of the server (`input_required`) and a task handle are no results: the
call stays open, and what the client sends on for it belongs to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tallystick.gateway.flight import Flight
from tallystick.gateway.frames import ClientFrame, Id
from tallystick.gateway.results import Answer
from tallystick.runtime.outcome import Outcome


@dataclass(slots=True, eq=False)
class Leg:
    """One request to the server that a flight waits for.

    Attributes:
        asked: the client's request it serves; None for a status query of the runtime's own.
        reply_to: the client's request id that still waits for an answer; None once it was answered.
        answer: raw line that answered, to be passed on after the receipt.
        stop_clock: cancels the time-out.
        token: progress token; progress starts the clock anew.
    """

    flight: Flight[Any]
    tool: str
    args: Mapping[str, Any]
    asked: ClientFrame | None = None
    reply_to: Id | None = None
    answer: bytes = b""
    stop_clock: Callable[[], None] | None = None
    token: Any = None


@dataclass(slots=True, eq=False)
class Asked:
    """A client's `tools/call`, from the moment it arrives: it may wait for a listing, a twin, or the server."""

    frame: ClientFrame
    tool: str
    args: Mapping[str, Any]
    args_text: str | None
    modern: bool
    flight: Flight[Outcome] | None = None
    leg: Leg | None = None
    cancelled: bool = False


@dataclass(slots=True)
class Legs:
    """All legs of a session, by what may answer them.

    Attributes:
        by_id: request id at the server → leg.
        asking: legs whose server asked for input first, with the state it wants back.
        tasks: task id → leg.
        late: request id → where an answer goes that comes after the wait was given up.
    """

    by_id: dict[Id, Leg] = field(default_factory=dict)
    asking: list[tuple[Leg, str | None]] = field(default_factory=list)
    tasks: dict[str, Leg] = field(default_factory=dict)
    late: dict[Id, Callable[[Any], None]] = field(default_factory=dict)

    def continued(self, asked: Asked) -> Leg | None:
        """Return the open leg this `tools/call` goes on with: same tool, same arguments, same state; else None."""
        params = asked.frame.params or {}
        if "inputResponses" not in params and "requestState" not in params:
            return None
        for at, (leg, state) in enumerate(self.asking):
            if leg.tool == asked.tool and leg.args == asked.args and params.get("requestState") == state:
                del self.asking[at]
                return leg
        return None

    def open(self) -> list[Leg]:
        """Return every leg that has no result yet."""
        return [*self.by_id.values(), *(leg for leg, _ in self.asking), *self.tasks.values()]

    def waiting(self, leg: Leg, answer: Answer) -> bool:
        """Keep a leg whose answer is no result; return whether it was none."""
        if answer.wants_input:
            self.asking.append((leg, answer.request_state))
        elif answer.task is not None:
            self.tasks[answer.task] = leg
        else:
            return False
        return True
