"""What a run's record amounts to so far: plain attributes and the indexes over them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from tallystick.contracts.types import Contract, Task
from tallystick.model.events import (
    Blob,
    ChildRun,
    Damage,
    Ended,
    Handed,
    Received,
    Refusal,
    Said,
    SchemaChanged,
    Started,
    Stated,
    StopDecided,
    Wish,
)
from tallystick.model.values import EntityRef, instant_of
from tallystick.view.obligations import instances
from tallystick.view.outcome import Judged
from tallystick.view.records import (
    ApprovalRecord,
    CallRecord,
    Choice,
    ConditionRecord,
    EffectRecord,
    Fact,
    ObligationRecord,
    ReceiptRecord,
    TakeoverRecord,
)


def when(text: str) -> datetime | None:
    """Return the instant an event states, or None where it states none."""
    try:
        return instant_of(text) if text else None
    except ValueError:
        return None


@dataclass(slots=True)
class Index:
    """Look-ups that keep every question's cost independent of the run's length."""

    receipt_by_id: dict[str, ReceiptRecord] = field(default_factory=dict)
    receipts_by_native: dict[str, list[ReceiptRecord]] = field(default_factory=dict)
    calls_by_native: dict[str, list[CallRecord]] = field(default_factory=dict)
    receipts_by_tool: dict[str, list[ReceiptRecord]] = field(default_factory=dict)
    receipts_about: dict[tuple[str, EntityRef], list[ReceiptRecord]] = field(default_factory=dict)
    pages: dict[str, dict[bytes, dict[str | None, list[ReceiptRecord]]]] = field(default_factory=dict)
    facts: dict[EntityRef, dict[str, Fact]] = field(default_factory=dict)
    kinds: dict[str, dict[str, EntityRef]] = field(default_factory=dict)
    last_write: dict[EntityRef, int] = field(default_factory=dict)
    write_at: dict[EntityRef, datetime | None] = field(default_factory=dict)
    write_over: dict[EntityRef, int] = field(default_factory=dict)
    writes_open: dict[EntityRef, dict[str, int]] = field(default_factory=dict)
    effects: dict[str, list[EffectRecord]] = field(default_factory=dict)
    effects_of_call: dict[str, list[EffectRecord]] = field(default_factory=dict)
    writes_by_tool: dict[str, list[EffectRecord]] = field(default_factory=dict)
    confirmed: dict[EntityRef, dict[str, Choice]] = field(default_factory=dict)
    confirmed_kinds: dict[str, list[EntityRef]] = field(default_factory=dict)
    approval_by_id: dict[str, ApprovalRecord] = field(default_factory=dict)
    exclusive: dict[tuple[str, str], list[EffectRecord]] = field(default_factory=dict)
    approvals_by_call: dict[tuple[str, str], list[ApprovalRecord]] = field(default_factory=dict)
    approvals_by_tool: dict[str, list[ApprovalRecord]] = field(default_factory=dict)
    conditions_by_tool: dict[str, list[ConditionRecord]] = field(default_factory=dict)
    conditions_by_id: dict[str, list[ConditionRecord]] = field(default_factory=dict)
    conditions_shown: dict[str, list[ConditionRecord]] = field(default_factory=dict)  # by the tool that can show it
    keys_seen: dict[tuple[str, str], CallRecord] = field(default_factory=dict)
    fingerprints: dict[str, tuple[int, int]] = field(default_factory=dict)


class State:
    """The folded record of one run.

    Args:
        contract: the compiled contract the run is judged by.
        task: what the run owes; its obligations are instantiated at once.
        run: run id; approvals for other runs have no force.

    Attributes:
        upto: seq of the last folded event; `head` its digest.
        started: the run's first event, if folded; `ended` its last, once it has ended.
        epoch: newest fencing epoch seen.
        evidence_seq: seq of the last event that can change a verdict; words cannot.
        talk: (who spoke, text) of every word of the user and the agent; nobody speaks for the user but the user's host.
        heard: (seq, text) of every message of the user that the agent did not write itself.
        transfers: (seq, digest, body) of every artifact handed on or taken, oldest first.
        takeovers: successors' tenures by id, oldest first; `tenure` is the one that is not over, if any.
        children: child run id → (seq, where it stands).
        known_json: (bytes, what `jsontext.loads` reads in them), said by whoever wrote those very bytes, so that
            folding the event they come in need not parse them again.
        doubts: calls whose outcome is not known, by call id; `open_calls` those without any receipt yet.
    """

    def __init__(self, contract: Contract, task: Task | None = None, *, run: str = "") -> None:
        self.contract = contract
        self.task = task or Task()
        self.run = run
        self.upto = 0
        self.head = ""
        self._digests: list[str] = []
        self.started: Started | None = None
        self.ended: Ended | None = None
        self.epoch = 0
        self.calls: dict[str, CallRecord] = {}
        self.receipts: list[ReceiptRecord] = []
        self.orphans: list[ReceiptRecord] = []
        self.said: list[tuple[int, Said]] = []
        self.talk: list[tuple[Literal["user", "agent"], str]] = []
        self.heard: list[tuple[int, str]] = []
        self.stated: list[tuple[int, Stated]] = []
        self.damage: list[tuple[int, Damage]] = []
        self.refusals: list[tuple[int, Refusal]] = []
        self.stops: list[tuple[int, StopDecided]] = []
        self.wishes: list[tuple[int, Wish]] = []
        self.schema_changes: dict[str, tuple[int, SchemaChanged]] = {}
        self.approvals: list[ApprovalRecord] = []
        self.conditions: dict[str, ConditionRecord] = {}
        self.doubts: dict[str, CallRecord] = {}
        self.open_calls: dict[str, CallRecord] = {}
        self.obligations: dict[str, ObligationRecord] = {o.id: o for o in instances(contract, self.task)}
        self.children: dict[str, tuple[int, ChildRun]] = {}
        self.transfers: list[tuple[int, str, Handed | Received]] = []
        self.takeovers: dict[str, TakeoverRecord] = {}
        self.evidence_seq = 0
        self.principals = {p.id: p for p in self.task.principals}
        self.known_json: tuple[Blob, Any] | None = None
        self.last_reading: (
            tuple[CallRecord, Blob | None, Blob | None, object, tuple[Any, str | None, Judged]] | None
        ) = None
        self.index = Index()

    @property
    def tenure(self) -> TakeoverRecord | None:
        """The successor's tenure that is not over."""
        newest = next(reversed(self.takeovers.values()), None)
        return newest if newest is not None and newest.ended is None else None

    def digest_at(self, seq: int) -> str | None:
        """Return the digest of the event of this number, or None where the record has none."""
        return self._digests[seq - 1] if 0 < seq <= len(self._digests) else None

    def has_event(self, digest: str, upto: int) -> bool:
        """Return whether one of the first `upto` events has this digest."""
        return digest in self._digests[:upto]

    def receipt(self, ref: str) -> ReceiptRecord | None:
        """Return the receipt named by its minted id, by a native call id, or by `native#n` for the n-th occurrence."""
        found = self.index.receipt_by_id.get(ref)
        if found is not None:
            return found
        several = self.index.receipts_by_native.get(ref)
        if several is not None:
            return several[-1]
        name, mark, ordinal = ref.rpartition("#")
        if mark and ordinal.isdigit():
            several = self.index.receipts_by_native.get(name, [])
            index = int(ordinal) - 1
            return several[index] if 0 <= index < len(several) else None
        return None
