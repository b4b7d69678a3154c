"""The certificate verifier: six checks, each by itself, over one run's record and contract.

The checks and what each alone is answerable for:

1. `claim_coverage`: every required slot once, known slots only, typed, under its quantifier; every obligation named.
2. `task_scope`: this run, contract and task; the slot's entity and period; receipts that speak of them, are not void
   by a later write, and are all there where nothing may be left out.
3. `outcome_validation`: each receipt went well at every level; nothing the claim rests on is in doubt.
4. `ledger_reference`: each reference is in this run's chain, with that digest, at a place that is there, up to `upto`.
5. `value_replay`: the stated derivation over the stated references gives the claimed value.
6. `exact_transform`: the stated derivation is the contract's, over the receipts that it demands.

A check that is switched off does not run, and none of the others asks its question: `docs/adr/0015-certificates.md`
says what that means for each. What else an end needs (no blocker, no doubt, no open duty) is the stop gate's.
Source: evidence-carrying termination, "Verifier: six checks".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Final

from tallystick.contracts.types import Contract
from tallystick.errors import InputError
from tallystick.gates.certify.case import Case
from tallystick.gates.certify.coverage import claim_coverage, typed
from tallystick.gates.certify.deficits import Deficit, Verified
from tallystick.gates.certify.outcome import outcome_validation, went_well
from tallystick.gates.certify.reference import ledger_reference, resolves
from tallystick.gates.certify.replay import replays, value_replay
from tallystick.gates.certify.scope import in_scope, task_scope
from tallystick.gates.certify.transform import exact_transform, transforms
from tallystick.model.certificate import CHECKS, BoundClaim, Certificate, Check
from tallystick.view import ReceiptRecord, View

MAX_EXTRA: Final = 16
"""Most claims of a certificate beyond one for each slot of the contract."""
MAX_REFERENCES: Final = 100_000
"""Most references of all its claims together."""
_CHECKS: Final[dict[Check, Callable[[Case], Iterator[Deficit]]]] = {
    "claim_coverage": claim_coverage,
    "task_scope": task_scope,
    "outcome_validation": outcome_validation,
    "ledger_reference": ledger_reference,
    "value_replay": value_replay,
    "exact_transform": exact_transform,
}


def verify_certificate(
    view: View, contract: Contract, certificate: Certificate, *, without: Collection[Check] = ()
) -> Verified:
    """Return whether a certificate holds, and if not, everything that it lacks.

    Pure: no I/O, no clock. A check that fails in itself refuses the certificate.

    Args:
        view: the run's record, folded up to the event the certificate rests on (`upto`).
        contract: what the run was judged by.
        certificate: the certificate.
        without: checks to switch off, for studies of what each is worth. What passes then is not certified.

    Raises:
        InputError: `without` names no check.
    """
    unknown = [name for name in without if name not in CHECKS]
    if unknown:
        raise InputError(f"`{unknown[0]}` is no check", fix=f"one of {', '.join(CHECKS)}")
    references = sum(len(claim.references) for claim in certificate.claims)
    most = len(contract.answer) + MAX_EXTRA
    if len(certificate.claims) > most or references > MAX_REFERENCES:
        text = f"{len(certificate.claims)} claims with {references} references"
        deficit = Deficit(
            slot="", check="claim_coverage", code="certificate.too_large", message=f"{text} are too many to check",
            closes=f"at most {most} claims and {MAX_REFERENCES} references",
        )  # fmt: skip
        return Verified(complete=False, deficits=(deficit,), upto=view.upto)
    try:
        case = Case(view, contract, certificate)
    except Exception as bad:  # noqa: BLE001 - fail closed: our own fault certifies nothing
        return Verified(complete=False, deficits=(_failed("claim_coverage", bad),), upto=view.upto)
    deficits = [d for name, check in _CHECKS.items() if name not in without for d in _ran(name, check, case)]
    digests = (r.digest for exhibit in case.exhibits for r in exhibit.receipts)
    return Verified(
        complete=not deficits,
        deficits=tuple(dict.fromkeys(deficits)),
        basis=tuple(dict.fromkeys(digests)),
        upto=view.upto,
    )


def deficits_of(
    view: View, contract: Contract, claim: BoundClaim
) -> tuple[tuple[Deficit, ...], tuple[ReceiptRecord, ...]]:
    """Return (what the six checks find in one claim for a slot of the contract, the receipts it refers to).

    Only the claim is judged: not the certificate it may become part of, nor what else that must cover.
    """
    case = Case(view, contract, alone(view, claim))
    (exhibit,) = case.exhibits
    slot = exhibit.slot
    if slot is None:
        raise InputError(f"the contract asks for no `{claim.slot}`")
    found = (
        *typed(exhibit, slot),
        *in_scope(case, exhibit, slot),
        *went_well(case, exhibit),
        *resolves(case, exhibit),
        *replays(case, exhibit, slot),
        *transforms(case, exhibit, slot),
    )
    return tuple(dict.fromkeys(found)), exhibit.receipts


def alone(view: View, claim: BoundClaim) -> Certificate:
    """Return a certificate that says nothing but one claim, to look at that claim alone."""
    return Certificate(
        run=view.run, upto=view.upto, head=view.head, contract="", task="", semantics="", now="", claims=(claim,)
    )


def _ran(name: Check, check: Callable[[Case], Iterator[Deficit]], case: Case) -> list[Deficit]:
    try:
        return list(check(case))
    except Exception as bad:  # noqa: BLE001 - fail closed: our own fault certifies nothing
        return [_failed(name, bad)]


def _failed(name: Check, bad: Exception) -> Deficit:
    return Deficit(
        slot="", check=name, code="gate.error", message=f"the check itself failed: {type(bad).__name__}",
        closes="a certificate that can be read",
    )  # fmt: skip
