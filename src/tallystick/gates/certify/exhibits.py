"""A claim laid beside what it points to: its slot, its derivation as read, the receipts of its references.

Nothing is judged here. What does not resolve stays as it is, for the check that owns it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from tallystick.contracts.derive import stated
from tallystick.contracts.types import Contract, Period, Slot, Source, Term
from tallystick.errors import ExpressionError, InputError
from tallystick.model.certificate import BoundClaim, Certificate, Reference
from tallystick.model.decision import Reason
from tallystick.model.pointer import split
from tallystick.model.values import EntityRef, date_of
from tallystick.view import ReceiptRecord, View
from tallystick.view.keys import entity_of

Dates = tuple[date, date]


@dataclass(frozen=True, slots=True)
class Cited:
    """One reference: the receipt of this run that has its id, and the pointer's tokens; None where there is none."""

    reference: Reference
    receipt: ReceiptRecord | None
    tokens: tuple[str, ...] | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Exhibit:
    """A claim and what it points to.

    Attributes:
        term: the stated derivation, or None where its text is none; `problem` then says why.
        cited: its references, each once, in the order stated.
        scope: the entity the claim says it is about; `dates` likewise, None also where they are no dates.
    """

    claim: BoundClaim
    slot: Slot | None
    term: Term | None
    problem: str
    cited: tuple[Cited, ...]
    scope: EntityRef | None
    dates: Dates | None

    @property
    def receipts(self) -> tuple[ReceiptRecord, ...]:
        """The receipts it refers to that answer a recorded call, each once."""
        found = {c.receipt.id: c.receipt for c in self.cited if c.receipt is not None and c.receipt.call is not None}
        return tuple(found.values())

    def of(self, source: Source) -> list[ReceiptRecord]:
        """Return the receipts that stand for a source of the derivation: of its tool, referred to at its place."""
        place = anchor(source)
        return [
            c.receipt
            for c in self.cited
            if c.receipt is not None
            and c.receipt.call is not None
            and c.receipt.call.tool == source.tool
            and c.tokens == place
        ]


def anchor(source: Source) -> tuple[str, ...]:
    """Return the place a reference points to for a source: the value, or the array the derivation ranges over."""
    return source.pointer[: source.pointer.index("*")] if "*" in source.pointer else source.pointer


def exhibits(view: View, contract: Contract, certificate: Certificate) -> Iterator[Exhibit]:
    """Yield every claim of a certificate beside what it points to."""
    slots = {slot.name: slot for slot in contract.answer}
    for claim in certificate.claims:
        slot = slots.get(claim.slot)
        term, problem = None, ""
        try:
            term = stated(claim.derivation, contract, slot)
        except InputError as bad:
            problem = bad.message
        entity = claim.scope.entity
        unique = dict.fromkeys(claim.references)
        yield Exhibit(
            claim=claim,
            slot=slot,
            term=term,
            problem=problem,
            cited=tuple(Cited(r, view.index.receipt_by_id.get(r.receipt), _tokens(r.pointer)) for r in unique),
            scope=EntityRef(*entity) if entity is not None else None,
            dates=_dates(claim.scope.dates),
        )


def _tokens(pointer: str) -> tuple[str, ...] | None:
    try:
        return split(pointer)
    except ValueError:
        return None


def _dates(given: tuple[str, str] | None) -> Dates | None:
    try:
        return None if given is None else (date_of(given[0]), date_of(given[1]))
    except ValueError:
        return None


# ---------------------------------------------------------------- what the contract and the task say a slot is about


def scope_of_slot(view: View, slot: Slot) -> tuple[EntityRef | None, Reason | None]:
    """Return (the entity a slot is about, why it cannot be told)."""
    if slot.entity is None:
        return None, None
    ref = next(iter(entity_of(slot.entity, {"task": view.task.bindings})), None)
    if ref is not None:
        return ref, None
    return None, _untold(slot, f"the task does not say which {slot.entity.kind}")


def dates_of_slot(view: View, slot: Slot) -> tuple[Dates | None, Reason | None]:
    """Return (the first and last civil date a slot is about, why they cannot be told)."""
    period = slot.dates
    if period is None:
        return None, None
    env = {"task": view.task.bindings}
    try:
        first, last = (_day(expr.evaluate(env)) for expr in (period.first, period.last))
    except (ExpressionError, ValueError) as bad:
        return None, _untold(slot, f"the task does not say which period: {bad}")
    if last < first:
        return None, _untold(slot, f"a period from {first} to {last} has no day, and nothing happens in it")
    return (first, last), None


def _day(value: object) -> date:
    return value if type(value) is date else date_of(value)


def _untold(slot: Slot, text: str) -> Reason:
    return Reason(
        code="claim.scope",
        message=f"`{slot.name}`: {text}",
        reverses="a task binding for it",
        where=slot.name,
    )


def period_of(slot: Slot | None) -> Period | None:
    """Return the contract's period of a slot, if it has one."""
    return slot.dates if slot is not None else None
