"""The certificate an honest agent would submit for a recorded run: each slot's value, bound to the receipts it is from.

Written for these studies alone. It uses neither the verifier nor the product's own certificate builder, so that what is
judged is not made by its judge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tallystick.contracts.terms import facts, sources
from tallystick.contracts.types import Contract, Slot
from tallystick.evals.termination.family import Bindings
from tallystick.model.certificate import BoundClaim, Certificate, ClaimScope, Discharge, Reference
from tallystick.model.events import SEMANTICS, Intent, Receipt, Sealed
from tallystick.model.pointer import join
from tallystick.view import View


def bound(
    contract: Contract, bindings: Bindings, events: Sequence[Sealed], answer: Mapping[str, Any]
) -> tuple[BoundClaim, ...]:
    """Return a claim per slot of `answer`, bound to the receipts of this record that its derivation reads."""
    return tuple(
        BoundClaim(
            slot=slot.name,
            type=str(slot.type),
            value=answer[slot.name],
            quantifier=slot.quantifier,
            scope=scope_of(slot, bindings),
            references=references(contract, slot, events),
            derivation=slot.derive.source,
        )
        for slot in contract.answer
        if slot.name in answer
    )


def scope_of(slot: Slot, bindings: Bindings) -> ClaimScope:
    """Return what the task says a slot is about: an entity, and where the contract declares a period, its dates."""
    entity = (slot.entity.kind, str(bindings[slot.entity.kind])) if slot.entity is not None else None
    dates = None
    if slot.dates is not None:
        first, last = (str(bindings[e.source.removeprefix("task.")]) for e in (slot.dates.first, slot.dates.last))
        dates = (first, last)
    return ClaimScope(entity=entity, dates=dates)


def references(contract: Contract, slot: Slot, events: Sequence[Sealed]) -> tuple[Reference, ...]:
    """Return the receipts a slot's derivation reads, and where in them: the value, or the array it ranges over."""
    tools = {e.event.body.call: e.event.body.tool for e in events if isinstance(e.event.body, Intent)}
    found = []
    for sealed in events:
        body = sealed.event.body
        if isinstance(body, Receipt) and body.call is not None:
            found += [
                Reference(receipt=body.id, digest=sealed.digest, pointer=pointer)
                for pointer in places(contract, slot, tools[body.call])
            ]
    return tuple(found)


def places(contract: Contract, slot: Slot, tool: str) -> tuple[str, ...]:
    """Return the pointers into a result of `tool` that a slot's derivation reads."""
    found = [
        join(source.pointer[: source.pointer.index("*")] if "*" in source.pointer else source.pointer)
        for _, source in sources(slot.derive.term)
        if source.tool == tool
    ]
    for part in facts(slot.derive.term):
        assert slot.entity is not None
        found += [
            join((*rule.at, *rule.fields[ref[1]]))
            for rule in contract.tools[tool].yields
            if rule.kind == slot.entity.kind
            for ref in part.expr.refs
            if ref[0] == slot.entity.alias and ref[1] in rule.fields
        ]
    return tuple(found)


def certificate(view: View, claims: Sequence[BoundClaim], now: str) -> Certificate:
    """Return a certificate over everything recorded so far, with the receipts that discharged what the run owed."""
    assert view.started is not None
    return Certificate(
        run=view.run,
        upto=view.upto,
        head=view.head,
        contract=view.started.contract_sha256,
        task=view.started.task_sha256,
        semantics=SEMANTICS,
        now=now,
        claims=tuple(claims),
        obligations=tuple(
            Discharge(obligation=owed.id, how="discharged", event=owed.discharged_by.receipt.digest)
            for owed in view.obligations.values()
            if owed.discharged_by is not None and owed.discharged_by.receipt is not None
        ),
    )
