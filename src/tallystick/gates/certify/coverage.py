"""Check 1, claim coverage: everything the answer must state is stated once, typed, and under its quantifier.

An omitted slot is found here and nowhere else; so is one claimed twice, one nobody asked for, a value that is no value
of its type, and an obligation that the certificate passes over.
Source: evidence-carrying termination, check 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from tallystick.contracts.answer_schema import in_words
from tallystick.contracts.types import Slot
from tallystick.errors import InputError
from tallystick.gates.certify.binding import UNREAD
from tallystick.gates.certify.case import Case
from tallystick.gates.certify.deficits import Deficit
from tallystick.gates.certify.exhibits import Exhibit
from tallystick.model.certificate import Check, value_of
from tallystick.model.jsontext import dumps
from tallystick.model.values import Type

CHECK: Check = "claim_coverage"
_JSON: Final = Type(name="json")


def claim_coverage(case: Case) -> Iterator[Deficit]:
    """Yield what is not covered."""
    stated = Counter(claim.slot for claim in case.certificate.claims)
    for slot in case.contract.answer:
        if stated[slot.name] > 1:
            yield _found(slot.name, "coverage.twice", f"`{slot.name}` is claimed {stated[slot.name]} times",
                         "one claim for it")  # fmt: skip
        if not stated[slot.name] and _required(case, slot):
            yield Deficit(
                slot=slot.name,
                check=CHECK,
                code="coverage.open",
                message=f"the answer slot `{slot.name}` is not claimed",
                closes=f"a claim for `{slot.name}`, derived by {slot.derive.source}",
                reads=case.reads_for(slot),
            )
    for exhibit in case.exhibits:
        if exhibit.slot is None:
            names = ", ".join(s.name for s in case.contract.answer) or "no slots"
            yield _found(exhibit.claim.slot, "coverage.unknown_slot",
                         f"the contract asks for no `{exhibit.claim.slot}`", f"one of: {names}")  # fmt: skip
        else:
            yield from typed(exhibit, exhibit.slot)
    yield from _obligations(case)


def _required(case: Case, slot: Slot) -> bool:
    # Whoever rightly did not act owes no answer about the act.
    return slot.required and case.view.task.need_answer and case.certificate.outcome == "acted"


def typed(exhibit: Exhibit, slot: Slot) -> Iterator[Deficit]:
    """Yield how a claim is not of its slot's type, or not under its quantifier."""
    claim = exhibit.claim
    if claim.type != str(slot.type):
        yield _found(slot.name, "claim.type", f"`{slot.name}` is a {slot.type}, the claim says {claim.type}",
                     f"a claim of type {slot.type}")  # fmt: skip
    if claim.quantifier != slot.quantifier:
        yield _found(slot.name, "claim.type", f"`{slot.name}` asks for `{slot.quantifier}`, not `{claim.quantifier}`",
                     f"a claim of `{slot.quantifier}`")  # fmt: skip
    try:
        value = value_of(slot.type, claim.value)
    except ValueError as bad:
        said = _shown(claim.value)
        why = str(bad) if said is None else f"{said} is claimed"
        yield _found(slot.name, "claim.type", f"`{slot.name}` is of type {slot.type}: {why}",
                     in_words(slot.type))  # fmt: skip
        return
    if slot.quantifier == "none" and not _nothing(slot.type, value):
        yield _found(slot.name, "claim.not_none", f"`{slot.name}` asks that there is none, the claim states some",
                     "a record in which there is none")  # fmt: skip


def _shown(value: object) -> str | None:
    """Return a value that is none of its type as the agent gave it, or None where the certificate itself is off."""
    if not isinstance(value, Mapping) or value.keys() != {UNREAD}:
        return None
    try:
        text = dumps(value_of(_JSON, value[UNREAD]))
    except (ValueError, InputError):
        return None
    return text if len(text) <= 80 else text[:77] + "..."


def _nothing(type_: Type, value: object) -> bool:
    return value == 0 if type_.name == "integer" else not value


def _obligations(case: Case) -> Iterator[Deficit]:
    """Every obligation of the run is accounted for, once; whether the account is true is `ledger_reference`'s."""
    stated = Counter(discharge.obligation for discharge in case.certificate.obligations)
    for name in case.view.obligations:
        if stated[name] != 1:
            what = "is not accounted for" if not stated[name] else f"is accounted for {stated[name]} times"
            yield _found("", "obligation.open", f"`{name}` {what}", f"the effect that discharges `{name}`")
    for name in stated:
        if name not in case.view.obligations:
            yield _found("", "obligation.unknown", f"this run owes no `{name}`", "the obligations of this run")


def _found(slot: str, code: str, message: str, closes: str) -> Deficit:
    return Deficit(slot=slot, check=CHECK, code=code, message=message, closes=closes)
