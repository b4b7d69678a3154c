"""What the view remembers: calls, receipts, facts, effects, approvals, conditions, obligations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import msgspec

from tallystick.contracts.types import Effect, ObligationRule
from tallystick.model.events import (
    Approval,
    Confirmation,
    Outcome,
    Raised,
    Receipt,
    ResidualEnded,
    ResidualFrozen,
    ResidualJudged,
    ResidualStep,
)
from tallystick.model.values import EntityRef

EffectStatus = Literal["in_flight", "done", "no_effect", "in_doubt", "pending", "partial", "simulated"]
ObligationStatus = Literal["open", "discharged", "waived", "impossible", "not_applicable"]


@dataclass(slots=True)
class CallRecord:
    """One call: its intent, and where it stands. `seq` and `digest` are the intent's."""

    id: str
    seq: int
    digest: str
    tool: str
    args: Mapping[str, Any]
    args_text: str | None
    effect: Effect
    targets: tuple[EntityRef, ...]
    effect_keys: tuple[str, ...]
    native_id: str | None
    turn: int | None
    wish: str
    idempotency_key: str | None
    at: datetime | None
    outcome: Outcome = "in_flight"
    why: str = ""
    in_doubt: bool = False
    receipts: list[ReceiptRecord] = field(default_factory=list)
    rest_seq: int = 0  # last event that told what came of a write; until then it was under way
    settled_by: str | None = None  # digest of the event that settled the doubt


@dataclass(slots=True)
class ReceiptRecord:
    """One receipt, with its parsed value and the judged outcome.

    `value` is the structured channel where there is one, else the parsed JSON body, else the text.
    `observed_seq` is the position its observation dates from: its call's intent, or the original's for a cached one.
    """

    id: str
    seq: int
    digest: str
    body: Receipt
    call: CallRecord | None
    value: Any
    text: str | None
    outcome: Outcome
    code: str
    pointer: str
    observed_seq: int
    observed_at: datetime | None
    proves: bool = True  # not from a replica or made by a framework, and what it repeats, if anything, is good

    @property
    def good(self) -> bool:
        """Whether facts may be taken from it: live or imported, from the tool, and judged ok or partial."""
        return self.outcome in ("ok", "partial") and self.proves and self.call is not None


class Fact(msgspec.Struct, frozen=True):  # made several times per receipt, and four times cheaper than a dataclass
    """Entity, field, value, with the receipt it came from. `problem` is set where the value does not fit its type."""

    value: Any
    seq: int
    digest: str
    receipt: str
    tool: str
    pointer: str
    observed_seq: int
    observed_at: datetime | None
    problem: str | None = None


@dataclass(slots=True)
class EffectRecord:
    """A realised or attempted change, per effect key and attempt."""

    key: str
    tool: str
    call: CallRecord
    status: EffectStatus
    receipt: ReceiptRecord | None = None
    item: str | None = None  # batch item id


@dataclass(slots=True)
class ApprovalRecord:
    """An approval or denial. `trusted` is False where its signature does not verify: it then has no force."""

    seq: int
    digest: str
    body: Approval
    trusted: bool
    problem: str = ""
    used_by: str | None = None  # call id
    expires: datetime | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """What the user chose or confirmed, as the host recorded it, and when."""

    seq: int
    digest: str
    body: Confirmation
    at: datetime | None


@dataclass(slots=True)
class ConditionRecord:
    """A condition raised in this run, and whether it is still open.

    `lifted_by` and `lifted_digest` say who or what ended it, and in which event; `shown` is the receipt that satisfies
    its prerequisite, where that is what did, and `shown_until` the instant from which it does no more.
    """

    seq: int
    digest: str
    body: Raised
    open: bool = True
    lifted_how: str = ""
    lifted_by: str = ""
    lifted_digest: str = ""
    shown: ReceiptRecord | None = None
    shown_until: datetime | None = None

    @property
    def over(self) -> bool:
        """Whether it is over for good: not merely left aside, and not ended by evidence that may be taken back."""
        return not self.open and self.lifted_how != "fallback" and self.shown is None

    def end(self, how: str, by: str, digest: str) -> None:
        """It holds no longer."""
        self.open, self.lifted_how, self.lifted_by, self.lifted_digest = False, how, by, digest
        self.shown = self.shown_until = None


@dataclass(slots=True)
class ObligationRecord:
    """One obligation instance. `args` are the argument values the discharging call must have."""

    id: str
    rule: ObligationRule | None
    kind: Literal["event", "state"]
    tool: str | None
    entity: EntityRef | None
    args: Mapping[str, Any]
    item: Any = None
    text: str = ""
    seq: int = 0
    settled: Literal["waived", "impossible"] | None = None
    settled_digest: str = ""
    discharged_by: EffectRecord | None = None


@dataclass(slots=True)
class TakeoverRecord:
    """A successor's tenure: its frozen contract, the proposals judged, the steps realised, and its end.

    `seq` and `digest` are those of the event that froze the contract.
    """

    seq: int
    digest: str
    frozen: ResidualFrozen
    judged: list[ResidualJudged] = field(default_factory=list)
    steps: list[ResidualStep] = field(default_factory=list)
    ended: ResidualEnded | None = None
