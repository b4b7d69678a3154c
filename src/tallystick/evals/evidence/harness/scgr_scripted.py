"""Scripted agents behind SCGR: they play their path through the front end, faults included, and are named so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tallystick.evals.evidence.case import SUBMIT, Case
from tallystick.evals.evidence.harness.opened import OpenCase
from tallystick.evals.evidence.harness.scgr import BUDGET, Variant, front
from tallystick.evals.evidence.harness.scgr_checks import MAX_BATCH, PublicTools
from tallystick.evals.evidence.paths import Step
from tallystick.evals.evidence.room import Room
from tallystick.evals.evidence.scripted import Caller, Scripted, follow


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptedScgr(Scripted):
    """A scripted agent behind the front end.

    Its queries end where its path first acts, so one that acts early submits early. It states every condition of what
    it plans as supported, by all its calls: the checks are of form, and such a statement has the right one.
    """

    variant: Variant = "select"
    budget: int = BUDGET

    @property
    def name(self) -> str:
        """Its name in reports."""
        return f"{Scripted.name.fget(self)}/scgr-{self.variant}"  # type: ignore[attr-defined] # a property's getter

    def play(self, case: Case, session: Caller, epoch: int = 0) -> None:
        """Play a case through the front end."""
        steps = self.steps(case, epoch)
        if case.protocol == "Legacy":
            follow(steps, session)
            return
        opened = _Opened(session)
        speak(steps, front(opened, self.variant, self.budget), PublicTools.of(opened.task["tools"]), self.variant)


class _Opened:
    """An environment's room as an open case."""

    def __init__(self, room: Any) -> None:
        assert isinstance(room, Room)
        self._room = room
        self.task: dict[str, Any] = room.task()

    @property
    def over(self) -> bool:
        """Whether the case has ended."""
        return self._room.over

    def call(self, tool: str, args: Any) -> Any:
        """Make a call."""
        return self._room.call(tool, args)

    def submit(self, label: str, note: str = "") -> Any:
        """End the case."""
        return self._room.submit(label, note)


def speak(steps: Sequence[Step], case: OpenCase, tools: PublicTools, variant: Variant) -> None:
    """Say a path in the front end's words: batches of its reads, then its actions with symbolic citations."""
    first = next((n for n, s in enumerate(steps) if s.node), len(steps))
    looks = [s for s in steps[:first] if s.tool != SUBMIT]
    plan = list({s.node: s for s in steps if s.node}.values())  # an action made early is planned once
    some = list(tools.conditions[:1])
    for start in range(0, len(looks), MAX_BATCH):
        batch: list[dict[str, Any]] = [
            {"question": "what does it say?", "tool": s.tool, "args": s.args} for s in looks[start : start + MAX_BATCH]
        ]
        case.call("query", {"queries": [{**q, "for": some} for q in batch] if variant == "eg" else batch})
    calls = [f"q{n}" for n in range(1, len(looks) + 1)]
    label = str(steps[-1].args["label"])
    status = "supported" if plan else "violated" if label == "BLOCK" else "missing"
    entry = {"statement": "as scripted", "status": status, "calls": calls, "why": "as scripted"}
    conditions = [c for s in plan if s.tool in tools.actions for c in tools.actions[s.tool].conditions] or some
    submission = {
        "evidence": [{"condition": c, **entry} for c in conditions] if variant == "eg" else [entry],
        "actions": [
            {"id": s.node, "tool": s.tool, "args": {**s.args, **{name: f"${n}.{name}" for name, n in s.cites.items()}}}
            for s in plan
        ],
        "label": label,
    }
    if "error" in case.call("submit", submission):
        case.call("submit", submission)  # its one revision; a script has nothing to revise
