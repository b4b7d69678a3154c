"""Check 6, exact transform: the stated derivation is the contract's, over the receipts that it demands.

A constant, another aggregate that happens to agree, another filter, an older answer, one page too few: the value may be
right all the same, and is not derived as the contract demands. Receipts are chosen in the scope the claim states;
whether that is the right scope is check 2's question.
Source: evidence-carrying termination, check 6.
"""

from __future__ import annotations

from collections.abc import Iterator

from tallystick.contracts.terms import normal
from tallystick.contracts.types import Slot
from tallystick.gates.certify.case import Case
from tallystick.gates.certify.deficits import Deficit
from tallystick.gates.certify.demand import Demand, demanded, usable
from tallystick.gates.certify.exhibits import Exhibit
from tallystick.model.certificate import Check
from tallystick.view import ReceiptRecord

CHECK: Check = "exact_transform"


def exact_transform(case: Case) -> Iterator[Deficit]:
    """Yield the claims that are derived otherwise than the contract demands."""
    for exhibit in case.exhibits:
        if exhibit.slot is not None:
            yield from transforms(case, exhibit, exhibit.slot)


def transforms(case: Case, exhibit: Exhibit, slot: Slot) -> Iterator[Deficit]:
    """Yield how a claim's derivation, or what it ranges over, is not what the contract demands."""
    if exhibit.term is None or normal(exhibit.term) != normal(slot.derive.term):
        yield _found(slot, "claim.transform", f"derived by {exhibit.claim.derivation[:200] or 'nothing'}, the contract "
                     f"demands {slot.derive.source}", f"the derivation {slot.derive.source}")  # fmt: skip
    if exhibit.term is None:
        return
    wanted = demanded(case.view, case.contract, slot, exhibit.term, exhibit.scope, exhibit.dates)
    stated = [(c.receipt, c.reference.pointer) for c in exhibit.cited if c.receipt is not None]
    has = {(r.id, pointer) for r, pointer in stated}
    wants = {(r.id, pointer): r for demand in wanted for r, pointer in demand.places}
    for place, receipt in wants.items():
        if place not in has:
            yield _found(slot, "claim.unsupported", f"{slot.derive.source} reads `{receipt.id}` at `{place[1]}`, which "
                         "is not referred to", f"a reference to `{receipt.id}`", receipt)  # fmt: skip
    for receipt, pointer in stated:
        if (receipt.id, pointer) not in wants and _good(case, receipt):
            names = ", ".join(sorted({r.id for r in wants.values()})[:5]) or "none"
            yield _found(slot, "claim.unsupported", f"`{slot.name}` is derived from other receipts than `{receipt.id}`",
                         f"references among: {names}", receipt)  # fmt: skip
    yield from _in_order(slot, wanted, [(r.id, pointer) for r, pointer in stated])


def _good(case: Case, receipt: ReceiptRecord) -> bool:
    """What is no evidence at all is another check's; here only evidence of the wrong thing is wrong."""
    tool = case.contract.tools.get(receipt.call.tool) if receipt.call is not None else None
    return tool is not None and usable(case.contract, tool, receipt, None)


def _in_order(slot: Slot, wanted: tuple[Demand, ...], stated: list[tuple[str, str]]) -> Iterator[Deficit]:
    for demand in wanted:
        right = [(r.id, pointer) for r, pointer in demand.places]
        if demand.ordered and right != [place for place in stated if place in set(right)] and set(right) <= set(stated):
            yield _found(slot, "claim.unsupported", "the receipts of a list stand in another order than they were read",
                         "the order of pages")  # fmt: skip


def _found(slot: Slot, code: str, message: str, closes: str, receipt: ReceiptRecord | None = None) -> Deficit:
    refs = (receipt.seq,) if receipt is not None else ()
    return Deficit(slot=slot.name, check=CHECK, code=code, message=message, closes=closes, refs=refs)
