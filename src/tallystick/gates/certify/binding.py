"""Completing claims into a certificate: what an agent need not say, the record and the contract say.

The contract gives type, quantifier, scope and derivation; the record gives the receipts. The verifier trusts none of
it: what is bound here is checked like any other certificate.
Source: evidence-carrying termination, "two ways to obtain certificates".
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from typing import Any, Final

from tallystick.contracts.terms import sources
from tallystick.contracts.types import Contract, Slot
from tallystick.errors import InputError
from tallystick.gates.certify.case import task_digest
from tallystick.gates.certify.demand import candidates, demanded
from tallystick.gates.certify.exhibits import anchor, dates_of_slot, scope_of_slot
from tallystick.gates.certify.obligations import discharge_of
from tallystick.model.certificate import BoundClaim, Certificate, ClaimScope, Reference, lexical, value_of
from tallystick.model.events import SEMANTICS
from tallystick.model.exact import tagged
from tallystick.model.pointer import join
from tallystick.model.proposal import Claim, Stop
from tallystick.model.values import EntityRef, Type
from tallystick.view import ReceiptRecord, View


def bind(view: View, contract: Contract, stop: Stop, claims: Sequence[Claim] | None = None) -> Certificate:
    """Return the certificate that a stop's claims for answer slots make, bound to the record as it is now.

    Claims that name no slot are not part of a certificate; an obligation that is still owed is left out of it, and a
    value that is none of its slot's type stands as it was claimed. The verifier says so.

    Args:
        view: the record, up to the event the certificate will rest on.
        contract: what it is judged by.
        stop: what came of the run, when, and its claims.
        claims: other claims than the stop's.
    """
    slots = {slot.name: slot for slot in contract.answer}
    given = stop.claims if claims is None else claims
    discharges = (discharge_of(view, contract, owed, stop) for owed in view.obligations.values())
    return Certificate(
        run=view.run,
        upto=view.upto,
        head=view.head,
        contract=contract.sha256,
        task=task_digest(view),
        semantics=SEMANTICS,
        now=stop.now.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        outcome=stop.outcome,
        claims=tuple(bound(view, contract, claim, slots.get(claim.slot)) for claim in given if claim.slot is not None),
        obligations=tuple(d for d in discharges if d is not None),
    )


def bound(view: View, contract: Contract, claim: Claim, slot: Slot | None, *, cites: bool = True) -> BoundClaim:
    """Return a claim with everything it leaves out: references, derivation, scope, type, quantifier.

    Args:
        view: the record.
        contract: the contract.
        claim: the claim.
        slot: its slot, or None where the contract has none of that name.
        cites: also refer to receipts the claim cites and the derivation does not read.
    """
    if slot is None:
        return BoundClaim(slot=claim.slot or "", type="json", value=_raw(claim.value), quantifier=claim.quantifier)
    scope, dates = scope_of_slot(view, slot)[0], dates_of_slot(view, slot)[0]
    places = _places(view, contract, slot, scope)
    used = {receipt.id for receipt, _ in places}
    extra = [view.receipt(ref) or ref for ref in claim.cites] if cites else []
    references = [_reference(receipt, pointer) for receipt, pointer in places]
    for cited in extra:
        if isinstance(cited, str):
            references.append(Reference(receipt=cited, digest="", pointer=""))
        elif cited.id not in used:
            references.append(_reference(cited, _place(slot, cited)))
    about = claim.subject if claim.subject is not None else scope
    return BoundClaim(
        slot=slot.name,
        type=str(slot.type),
        value=_value(slot.type, claim.value),
        # `one` is what a claim says that says nothing.
        quantifier=slot.quantifier if claim.quantifier == "one" else claim.quantifier,
        scope=ClaimScope(
            entity=(about.kind, about.id) if about is not None else None,
            dates=(dates[0].isoformat(), dates[1].isoformat()) if dates is not None else None,
        ),
        references=tuple(dict.fromkeys(references)),
        derivation=slot.derive.source,
    )


def _places(view: View, contract: Contract, slot: Slot, scope: EntityRef | None) -> list[tuple[ReceiptRecord, str]]:
    """Return what the slot's derivation reads; where no good receipt is there, the newest that is, for what it says."""
    if slot.entity is not None and scope is None:
        return []
    dates = dates_of_slot(view, slot)[0]
    found = demanded(view, contract, slot, slot.derive.term, scope, dates)
    places = [place for demand in found for place in demand.places]
    have = {demand.what for demand in found if demand.places and not isinstance(demand.what, str)}
    for _, source in sources(slot.derive.term):
        if source in have:
            continue
        tool = contract.tools[source.tool]
        told = [r for r in candidates(view, source.tool, scope)
                if r.call is not None and (r.call.effect != "preview" or tool.effect == "preview")]  # fmt: skip
        if told:
            places.append((told[-1], join(anchor(source))))
    return list({(receipt.id, pointer): (receipt, pointer) for receipt, pointer in places}.values())


def _place(slot: Slot, receipt: ReceiptRecord) -> str:
    """Return the place a cited receipt is referred to at: where the derivation would read it, else as a whole."""
    tool = receipt.call.tool if receipt.call is not None else None
    return next((join(anchor(s)) for _, s in sources(slot.derive.term) if s.tool == tool), "")


def _reference(receipt: ReceiptRecord, pointer: str) -> Reference:
    return Reference(receipt=receipt.id, digest=receipt.digest, pointer=pointer)


UNREAD: Final = "not a value of this type"
"""The member under which a claim keeps a value that is none of its slot's type."""


def _value(type_: Type, value: Any) -> Any:
    try:
        return lexical(claimed_value(type_, value), type_)
    except (ValueError, InputError):
        return {UNREAD: _raw(value)}  # in no type's form, so that no reading of it passes


def claimed_value(type_: Type, value: Any) -> Any:
    """Return the value a claim states, as JSON or in the form a certificate states it.

    Raises:
        ValueError: it is none of that type.
    """
    try:
        return type_.parse(value)
    except ValueError:
        if not _own_unit(type_):
            raise
        return value_of(type_, value)  # "5 kg": a quantity whose unit no sibling states


def _own_unit(type_: Type) -> bool:
    inner = ((type_.item,) if type_.item is not None else ()) + tuple(type_.fields.values())
    return type_.unit_from is not None or any(map(_own_unit, inner))


def _raw(value: Any) -> Any:
    try:
        return tagged(value)
    except (ValueError, RecursionError):
        return None
