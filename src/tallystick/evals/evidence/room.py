"""Where an episode takes place, on the environment's side: the case, its desk, a gate if there is one, the record.

An agent never holds a `Room`. It holds a session that can ask for the public part, make calls and submit (`client`);
the room stays with the environment, in another process where the agent is one (`serve`).
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tallystick.evals.evidence.case import LABELS, SUBMIT, Case
from tallystick.evals.evidence.desk import Desk
from tallystick.evals.evidence.episode import Call, End, Episode
from tallystick.evals.evidence.gated import Gate

MAX_CALLS: Final = 120
"""Calls after which an episode ends by limit; the longest reference path has fewer than 30."""


class Room:
    """One episode in the making.

    Args:
        case: the case.
        agent: who is running, for the record.
        gated: put the act gate before the tools.
        epoch: repetition.
        seed: for the desk's ids; drawn where None.
    """

    def __init__(
        self, case: Case, agent: str, *, gated: bool = False, epoch: int = 0, seed: bytes | None = None
    ) -> None:
        self.case = case
        self.agent = agent
        self.epoch = epoch
        self._desk = Desk(case, seed if seed is not None else secrets.token_bytes(16))
        self._gate = Gate(case, self._desk) if gated else None
        self._calls: list[Call] = []
        self._label = ""
        self._end: End = "stopped"
        self._note = ""
        self.over = False

    def task(self) -> dict[str, Any]:
        """Return the public part, without the names it is reported under."""
        shown: dict[str, Any] = msgspec.to_builtins(self.case.public)
        return {k: v for k, v in shown.items() if k not in ("protocol", "domain")}

    def call(self, tool: str, args: Mapping[str, Any]) -> Any:
        """Make a call and return its result as JSON values. A submit ends the episode."""
        if self.over:
            return {"error": "the task is over"}
        if tool == SUBMIT:
            return self.submit(str(args.get("label", "")), str(args.get("note", "")))
        if len(self._calls) >= MAX_CALLS:
            self.close("limit", f"more than {MAX_CALLS} calls")
            return {"error": "the task is over: too many calls"}
        plain = dict(args)
        if self._gate is not None:
            made = self._gate.call(tool, plain)
        else:
            result, changes = self._desk.call(tool, plain)
            made = Call(tool=tool, args=plain, result=result, changes=changes)
        self._calls.append(made)
        return made.result

    def submit(self, label: str, note: str = "") -> Any:
        """End the episode with a label; any other label than the offered ones is told so, and ends nothing."""
        if self.over:
            return {"error": "the task is over"}
        allowed = LABELS["static" if self.case.protocol == "Legacy" else "interactive"]
        if label not in allowed:
            return {"error": f"the label is one of {', '.join(allowed)}"}
        self._label, self._note = label, note[:500]
        self.close("submitted")
        return {"status": "submitted"}

    def close(self, end: End, note: str = "") -> None:
        """End the episode as it stands."""
        if not self.over:
            self.over = True
            self._end = end
            self._note = self._note or note
            if self._gate is not None:
                self._gate.close()

    def episode(self, seconds: float | None = None) -> Episode:
        """Return the record; closes the episode if it is still open."""
        self.close("stopped")
        return Episode(
            case=self.case.id,
            agent=self.agent,
            calls=tuple(self._calls),
            label=self._label,
            end=self._end,
            gated=self._gate is not None,
            epoch=self.epoch,
            seconds=seconds,
            note=self._note,
        )
