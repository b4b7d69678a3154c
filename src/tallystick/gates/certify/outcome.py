"""Check 3, outcome and validation: every receipt went well at every level, and nothing it rests on is in doubt.

An error inside a body, a flag, a failed success predicate, an answer cut off, a dry run, a simulation, another answer
than was asked for, an effect nobody can vouch for: none of these supports a claim, whatever value stands beside it.
Source: evidence-carrying termination, check 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tallystick.contracts.exact import exact
from tallystick.contracts.terms import sources
from tallystick.gates.certify.case import Case
from tallystick.gates.certify.deficits import Deficit
from tallystick.gates.certify.demand import again, doubtful
from tallystick.gates.certify.exhibits import Cited, Exhibit, scope_of_slot
from tallystick.gates.claim_evidence import went
from tallystick.model.certificate import Check
from tallystick.model.pointer import MISSING, resolve
from tallystick.view import ReceiptRecord

CHECK: Check = "outcome_validation"


def outcome_validation(case: Case) -> Iterator[Deficit]:
    """Yield what did not go well."""
    for exhibit in case.exhibits:
        yield from went_well(case, exhibit)


def went_well(case: Case, exhibit: Exhibit) -> Iterator[Deficit]:
    """Yield why receipts of a claim do not show success, and which effects it rests on are in doubt."""
    name, slot = exhibit.claim.slot, exhibit.slot
    doubts = set()
    scope = scope_of_slot(case.view, slot)[0] if slot is not None else exhibit.scope
    for tool in dict.fromkeys(s.tool for _, s in sources(slot.derive.term)) if slot is not None else ():
        for doubt in doubtful(case.view, case.contract.tools[tool], scope):
            doubts.add(doubt.id)
            yield _found(name, "doubt.open", f"`{name}`: whether call {doubt.id} of {doubt.tool} took effect is in "
                         "doubt", f"call {doubt.id} settled", (doubt.seq,))  # fmt: skip
    for receipt in exhibit.receipts:
        call = receipt.call
        assert call is not None
        if call.id in doubts:
            continue
        for reason in went(receipt):
            found = _found(name, reason.code, reason.message, reason.reverses, reason.refs)
            yield replace(found, reads=again(receipt))
        if receipt.body.truncated:
            found = _found(name, "evidence.partial", "the result was cut off", "the whole result", (receipt.seq,))
            yield replace(found, reads=again(receipt))
        left = [e.item or e.key for e in case.view.effects_of_call(call.id) if e.status != "done"]
        if exhibit.claim.quantifier == "all" and call.outcome == "partial" and left:
            yield _found(name, "effect.partial_batch", f"not done: {', '.join(left[:10])}",
                         f"receipts that show success for {', '.join(left[:10])}", (receipt.seq,))  # fmt: skip
    for cited in exhibit.cited:
        if cited.receipt is not None:
            yield from _valid(case, exhibit, cited, cited.receipt)


def _valid(case: Case, exhibit: Exhibit, cited: Cited, receipt: ReceiptRecord) -> Iterator[Deficit]:
    """What a declared yield reads at the very place referred to has the type that the contract declares there."""
    call = receipt.call
    tool = case.contract.tools.get(call.tool) if call is not None else None
    if tool is None or cited.tokens is None:
        return
    for rule in tool.yields:
        kind = case.contract.entities.get(rule.kind)
        depth = len(rule.at)
        if kind is None or any(a not in ("*", b) for a, b in zip(rule.at, cited.tokens, strict=False)):
            continue
        for name, place in rule.fields.items():
            declared = kind.fields.get(name)
            raw = resolve(receipt.value, cited.tokens)
            if declared is None or place != cited.tokens[depth:] or raw is MISSING:
                continue
            try:
                exact(declared, raw, resolve(receipt.value, cited.tokens[:depth]))
            except ValueError as bad:
                yield _found(exhibit.claim.slot, "evidence.invalid", f"`{cited.reference.pointer}`: {bad}",
                             f"a result whose {name} is a {declared}", (receipt.seq,))  # fmt: skip


def _found(slot: str, code: str, message: str, closes: str, refs: tuple[int, ...]) -> Deficit:
    return Deficit(slot=slot, check=CHECK, code=code, message=message, closes=closes, refs=refs)
