"""Check 5, value replay: the stated derivation, evaluated over the stated references, gives the claimed value.

Whether it is the right derivation over the right receipts is not asked here: a constant replays as itself.
Source: evidence-carrying termination, check 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

from tallystick.contracts.types import Slot
from tallystick.gates.certify.case import Case
from tallystick.gates.certify.deficits import Deficit
from tallystick.gates.certify.evaluate import MAX_STEPS, Evaluation, NotDerivableError, unit_of
from tallystick.gates.certify.exhibits import Exhibit
from tallystick.model.certificate import Check, value_of
from tallystick.model.values import EXACT, Money, Quantity, same

CHECK: Check = "value_replay"


def value_replay(case: Case) -> Iterator[Deficit]:
    """Yield the claims whose derivation gives another value, or none."""
    for exhibit in case.exhibits:
        if exhibit.slot is not None:
            yield from replays(case, exhibit, exhibit.slot)


def replays(case: Case, exhibit: Exhibit, slot: Slot) -> Iterator[Deficit]:
    """Yield how a claim's value is not what its derivation gives."""
    claim, refs = exhibit.claim, tuple(r.seq for r in exhibit.receipts[:10])
    if exhibit.term is None:
        yield _found(slot, "derivation.invalid", f"not a derivation: {exhibit.problem}",
                     f"the derivation {slot.derive.source}", refs)  # fmt: skip
        return
    steps = min(MAX_STEPS, case.steps[0])
    evaluation = Evaluation(case.view, case.contract, exhibit, steps=steps)
    try:
        derived = evaluation.value(exhibit.term, slot.type)
    except NotDerivableError as bad:
        case.steps[0] -= steps - max(0, evaluation.steps[0])
        yield _found(slot, bad.code, f"{claim.derivation[:200]}: {bad.message}", "receipts that state it", refs)
        return
    case.steps[0] -= steps - evaluation.steps[0]
    try:
        claimed = value_of(slot.type, claim.value)
    except ValueError:
        yield _found(slot, "claim.mismatch", f"the claim states no {slot.type}, {claim.derivation[:200]} gives "
                     f"{_show(derived)}", f"the derived value {_show(derived)}", refs)  # fmt: skip
        return
    if not equal(claimed, derived):
        code = "claim.unit" if _apart(claimed, derived) else "claim.mismatch"
        yield _found(slot, code, f"{_show(claimed)} is claimed, {claim.derivation[:200]} gives {_show(derived)}",
                     f"the derived value {_show(derived)}", refs)  # fmt: skip
    for receipt, text in evaluation.conflicts[:10]:
        yield _found(slot, "evidence.conflict", text, "a fresh read on which both agree", (receipt.seq,))


def equal(left: Any, right: Any) -> bool:
    """Return whether two typed values are the same value; amounts only in one unit, never across types."""
    if isinstance(left, (Money, Quantity, frozenset, date)) or isinstance(right, (Money, Quantity, frozenset, date)):
        return type(left) is type(right) and bool(left == right)
    if isinstance(left, (tuple, list)) and isinstance(right, (tuple, list)):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(v, right[k]) for k, v in left.items())
    return same(left, right)


def _apart(claimed: Any, derived: Any) -> bool:
    """Return whether two amounts differ only by unit, currency or a power of ten: the sign of a misread scale."""
    left, right = getattr(claimed, "amount", None), getattr(derived, "amount", None)
    if unit_of(claimed) != unit_of(derived):
        return True
    if not isinstance(left, Decimal) or not isinstance(right, Decimal) or not (left and right):
        return False
    return left.normalize(EXACT).as_tuple().digits == right.normalize(EXACT).as_tuple().digits


def _show(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _found(slot: Slot, code: str, message: str, closes: str, refs: tuple[int, ...]) -> Deficit:
    said = f"`{slot.name}`: {message}"
    return Deficit(slot=slot.name, check=CHECK, code=code, message=said, closes=closes, refs=refs)
