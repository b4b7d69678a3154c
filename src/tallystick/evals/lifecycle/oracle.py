"""The oracle: from trusted runtime state alone, is a report due, and which stage is true.

Source: unreliable-progress-bar, appendix A, equation 2, G(X) = (D, Z*). Nothing here can see a reply.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tallystick.gates.stage import Stage

Mode = Literal["speak", "act"]
"""What a turn is: text for the user, or a tool call."""


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """X, trusted runtime state at a checkpoint.

    Attributes:
        tool_event: a tool has returned in this session.
        next: what the required next turn is.
        completion_reported: completion was reported before this checkpoint.
        missing: names of required information that nobody has supplied.
        effects: steps that took effect.
        remaining: steps that have not.
    """

    tool_event: bool
    next: Mode
    completion_reported: bool = False
    missing: tuple[str, ...] = ()
    effects: int = 0
    remaining: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Gold:
    """What the oracle says: D, is a report due, and Z*, the stage that is true."""

    due: bool
    stage: Stage


def oracle(state: State) -> Gold:
    """Return whether a report is due in `state`, and its stage.

    The paper defines Z* only where D = 1; the stage is derived everywhere because the state always has one.
    """
    return Gold(
        due=state.tool_event and state.next == "speak" and not state.completion_reported,
        stage=_stage(state),
    )


def _stage(state: State) -> Stage:
    if state.remaining == 0:
        return Stage.COMPLETED
    if state.missing:
        return Stage.NEEDS_INFO  # also after an effect
    return Stage.POST_OBS if state.effects else Stage.READY
