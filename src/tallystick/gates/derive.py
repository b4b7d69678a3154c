"""A slot's value as the record gives it: what a claim would have to state to pass the six checks.

For whoever proposes claims from an answer's words; the verifier does not believe it and evaluates again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from tallystick.contracts.types import Contract, Slot
from tallystick.gates.certify.binding import bound
from tallystick.gates.certify.case import Case
from tallystick.gates.certify.deficits import Deficit
from tallystick.gates.certify.evaluate import Evaluation, NotDerivableError
from tallystick.gates.certify.exhibits import scope_of_slot
from tallystick.gates.certify.verify import alone, deficits_of
from tallystick.model.decision import Reason
from tallystick.model.proposal import Claim
from tallystick.model.values import EntityRef
from tallystick.view import ReceiptRecord, View

__all__ = ["Derived", "derive", "mended_first", "scope_of_slot"]


@dataclass(frozen=True, slots=True)
class Derived:
    """A recomputed value, the receipts it was read from, their digests, and where the channels of one disagree."""

    value: Any
    receipts: tuple[ReceiptRecord, ...]
    digests: tuple[str, ...]
    conflicts: tuple[Reason, ...] = ()


def derive(view: View, contract: Contract, slot: Slot, scope: EntityRef | None) -> Derived | tuple[Reason, ...]:
    """Return the slot's value as the record gives it, or every reason why it gives none.

    Args:
        view: the record.
        contract: the contract.
        slot: one of its answer slots.
        scope: the entity the slot is about, as `scope_of_slot` says.
    """
    stated = bound(view, contract, Claim(field=slot.name, value=None, slot=slot.name, subject=scope), slot)
    found, receipts = deficits_of(view, contract, stated)
    wanting = [d for d in found if d.check != "claim_coverage" and d.code not in (*OF_THE_VALUE, "evidence.conflict")]
    if wanting:
        return tuple(d.reason for d in mended_first(wanting))
    try:
        evaluation = Evaluation(view, contract, Case(view, contract, alone(view, stated)).exhibits[0])
        value = evaluation.value(slot.derive.term, slot.type)
    except NotDerivableError as bad:
        return (Reason(code=bad.code, message=f"`{slot.name}`: {bad.message}", where=slot.name),)
    conflicts = tuple(d.reason for d in found if d.code == "evidence.conflict")
    return Derived(value, receipts, tuple(r.digest for r in receipts), conflicts)


OF_THE_VALUE: Final = frozenset({"claim.mismatch", "claim.unit"})
"""Codes of what the value alone is wrong in."""
_LAST: Final = 7
_RANKS: Final = {
    "claim.scope": 0,
    "doubt.open": 1,
    "evidence.missing": 3,
    "evidence.other_entity": 3,
    "evidence.other_date": 3,
    "evidence.partial": 4,
    "evidence.stale": 5,
    "evidence.invalid": 6,
    "receipt.pointer": 6,
    "claim.not_derivable": 6,
    "derivation.bounds": 6,
}
"""In which order gaps are mended; what is not named here is about a receipt's own worth (2) or the value itself."""
_OF_RECEIPTS: Final = frozenset({"result", "receipt", "effect", "args", "settled"})
_WORTH: Final = frozenset({"evidence.repeated", "claim.contradicted_earlier"})


def mended_first(deficits: Iterable[Deficit]) -> list[Deficit]:
    """Return the deficits of one claim that must be mended before the others mean anything.

    Where no receipt speaks of the entity there is also nothing to derive, and no value agrees: only the first is said.
    """
    listed = list(deficits)
    first = min((_rank(d.code) for d in listed), default=_LAST)
    found = [d for d in listed if _rank(d.code) == first]
    plain = [d for d in found if d.code == "claim.not_derivable"]
    return plain or found


def evidence_lacks(deficits: Iterable[Deficit]) -> bool:
    """Return whether any deficit is one of the evidence, not of the value or of how it was derived from it."""
    return any(_rank(d.code) < _LAST for d in deficits)


def _rank(code: str) -> int:
    return _RANKS.get(code, 2 if code.split(".", maxsplit=1)[0] in _OF_RECEIPTS or code in _WORTH else _LAST)
