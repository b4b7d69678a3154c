"""What is recorded of one run of an agent over a case: calls, observations, receipts, transitions, how it ended."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from tallystick.evals.evidence.case import Change

End = Literal["submitted", "stopped", "limit", "infrastructure"]
"""submitted a label; stopped without one; ran out of calls or time; failed for reasons that are not the agent's."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call the agent made.

    Attributes:
        result: what came back, from the tool or from the gate.
        ran: whether it reached the environment; False for a call that a gate did not let through.
        changes: transitions it caused.
        codes: the gate's reason codes, where it did not run.
    """

    tool: str
    args: dict[str, Any]
    result: Any
    ran: bool = True
    changes: tuple[Change, ...] = ()
    codes: tuple[str, ...] = ()


class Episode(msgspec.Struct, frozen=True, kw_only=True):
    """One run of an agent over a case.

    Attributes:
        case: the case's id.
        agent: who ran; scripted agents are called so.
        calls: in order.
        label: the terminal label submitted, or "".
        end: how it ended. Infrastructure failures are excluded from scores and reported.
        gated: whether an act gate stood before the tools.
        epoch: repetition, from 0.
        seconds: wall time, where it was measured.
    """

    case: str
    agent: str
    calls: tuple[Call, ...]
    label: str = ""
    end: End = "stopped"
    gated: bool = False
    epoch: int = 0
    seconds: float | None = None
    note: str = ""
