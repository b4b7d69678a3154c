"""What is put before a gate: a call, a claim, a stop, a handoff. Each carries the recorded `now`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from tallystick.model.values import EntityRef

Quantifier = Literal["one", "all", "none", "count"]
StopOutcome = Literal["acted", "declined", "withdrawn"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A call somebody wants to run.

    Attributes:
        tool: the tool's name.
        args: arguments as exact JSON values (`jsontext.loads`).
        args_text: the model's raw argument text, where there is one; checked against `args`.
        now: the recorded instant of the proposal, UTC.
        native_id: the framework's call id, if any.
        turn: assistant turn, if known; calls of one turn are parallel.
        wish: obligation instance or user wish this serves; "" means the run's own task.
        idempotency_key: key the runtime or caller attaches for a tool that deduplicates.
        complete: False when the turn that made the call ended by length or was cut.
    """

    tool: str
    args: Mapping[str, Any]
    now: datetime
    args_text: str | None = None
    native_id: str | None = None
    turn: int | None = None
    wish: str = ""
    idempotency_key: str | None = None
    complete: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A statement the answer makes.

    Attributes:
        slot: the contract's answer slot, or None for a free claim.
        subject: the entity spoken about, or None where the claim names none.
        field: dotted field name, e.g. `refund.status`.
        value: exact JSON value claimed.
        quantifier: one (this value), all, none, or count.
        cites: receipt references: receipt id, native call id, or `native#n` for the n-th occurrence.
        as_of: a receipt reference: the claim speaks of the state after that receipt, so older evidence is void.
    """

    field: str
    value: Any
    slot: str | None = None
    subject: EntityRef | None = None
    quantifier: Quantifier = "one"
    cites: tuple[str, ...] = ()
    as_of: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Stop:
    """A proposal that the run is over.

    Attributes:
        outcome: acted; declined (rightly not acting); withdrawn (the requester took it back).
        declared_by: agent, framework, or stop_reason; only words either way.
        truncated: the turn that says so was cut by length.
    """

    now: datetime
    claims: tuple[Claim, ...] = ()
    text: str = ""
    outcome: StopOutcome = "acted"
    declared_by: str = "agent"
    truncated: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Handoff:
    """An artifact passed on: its text, the obligations it says are left, the condition ids its carrier block names."""

    text: str
    now: datetime
    residual: tuple[str, ...] | None = None
    carries: tuple[str, ...] = ()
    to: str = ""
    meta: Mapping[str, str] = field(default_factory=dict)
