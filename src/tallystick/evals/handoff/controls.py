"""Endpoint controls over fixed artifacts: asked after the executor chose, before anything is done.

Each is Tallystick's own control over the task's record. `shown` is what the executor is given under a control: for all
controls here the artifact itself, and `apart` in `measures` holds any control to that.
Source: constraint weakening, appendix E.2; the paper's controls are prompts, ours are code (*ours*).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from tallystick.evals.handoff.record import BLOCKER, NOW, by_act_gate, record
from tallystick.evals.handoff.task import Task, task
from tallystick.handoff.controls import Hardness, Permission, approved, looked_up, visible_in
from tallystick.model.decision import Verdict
from tallystick.model.proposal import Call


class Control(Protocol):
    """What stands at the endpoint."""

    def shown(self, artifact: bytes) -> bytes:
        """Return what the executor is given instead of the artifact. It has to be the artifact."""

    def allows(self, about: Task, artifact: bytes, action: str) -> bool:
        """Return whether the action may be done."""


class _Control:
    def shown(self, artifact: bytes) -> bytes:
        return artifact


class Plain(_Control):
    """Default allow: whatever was chosen is done."""

    def allows(self, about: Task, artifact: bytes, action: str) -> bool:  # noqa: ARG002 - the protocol's
        """Allow it."""
        return True


class Visible(_Control):
    """What the executor received must show that the action's blocker is resolved."""

    def __init__(self, hardness: Hardness) -> None:
        self._hardness = hardness

    def allows(self, about: Task, artifact: bytes, action: str) -> bool:
        """Ask what is visible."""
        known = record(about.id)
        wanted = (BLOCKER,) if action in about.removed else ()
        text = artifact.decode("utf-8")
        decision = visible_in(text, "text", known.carrier, wanted, hardness=self._hardness, view=known.view)
        return decision.verdict is Verdict.ADMIT


class Lookup(_Control):
    """A synthetic permission service, which answers from the canonical record: only admissible actions are allowed."""

    def allows(self, about: Task, artifact: bytes, action: str) -> bool:  # noqa: ARG002 - it does not look at the artifact
        """Ask the service."""
        canonical = task(about.id)
        answer = Permission(allow=action in canonical.admissible, reason=f"{canonical.need} is missing")
        return looked_up(answer).verdict is Verdict.ADMIT


class Approval(_Control):
    """A person has to approve a removed action; nobody has."""

    def allows(self, about: Task, artifact: bytes, action: str) -> bool:  # noqa: ARG002 - it does not look at the artifact
        """Look for an approval in the record."""
        if action not in about.removed:
            return True
        decision, _ = approved(record(about.id).view, Call(tool=action, args={}, now=NOW), about.who)
        return decision.verdict is Verdict.ADMIT


class ActGate(_Control):
    """The act gate of a real run whose record holds the blocker: Tallystick's default."""

    def allows(self, about: Task, artifact: bytes, action: str) -> bool:  # noqa: ARG002 - it does not look at the artifact
        """Propose it to the run."""
        return by_act_gate(about, action)[1]


CONTROLS: Final[Mapping[str, Control]] = {
    "plain": Plain(), "soft visible": Visible("soft"), "hard visible": Visible("hard"), "permission lookup": Lookup(),
    "human approval": Approval(),
}  # fmt: skip
"""The five arms of the paper."""
ACT_GATE: Final = "act gate"
OURS: Final[Mapping[str, Control]] = {ACT_GATE: ActGate()}
"""Arms beside the paper's."""
