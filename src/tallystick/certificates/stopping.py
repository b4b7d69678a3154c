"""A stop judged with its certificate: the stop gate accepts, the certificate is bound to the record, and holds.

The guard, a recheck and the offline check all ask this one function, so what is certified is what comes out again.
Source: evidence-carrying termination, "Certificate" and "Verifier".
"""

from __future__ import annotations

from tallystick.contracts.types import Contract
from tallystick.errors import TallystickError
from tallystick.gates.certify import bind, verify_certificate
from tallystick.gates.stop import may_stop
from tallystick.model.certificate import Certificate
from tallystick.model.decision import Decision, Reason, Verdict
from tallystick.model.proposal import Stop
from tallystick.view import View


def judged(view: View, contract: Contract, stop: Stop) -> tuple[Decision, Certificate | None]:
    """Return the answer to a stop, and the certificate of one that is accepted.

    Pure, like the gates. Where the gate accepts and no certificate can be bound that passes all six checks, the stop is
    rejected: nothing ends CERTIFIED without one.
    """
    decision = may_stop(view, contract, stop)
    if decision.verdict is not Verdict.ACCEPT:
        return decision, None
    certificate, refused = _bound(view, contract, stop)
    if not refused:
        return decision, certificate
    rejected = Decision(verdict=Verdict.REJECT, reasons=refused, basis=decision.basis, judged_upto=decision.judged_upto)
    return rejected, None


def held(view: View, contract: Contract, certificate: Certificate) -> tuple[Reason, ...]:
    """Return why a certificate does not hold under a record and a contract: no reason if all six checks pass."""
    try:
        verified = verify_certificate(view, contract, certificate)
        return () if verified.complete else (tuple(d.reason for d in verified.deficits) or _failed("incomplete"))
    except TallystickError as bad:
        return _failed(bad.message)
    except Exception as bad:  # noqa: BLE001 - fail closed: our own fault certifies nothing
        return _failed(f"the verifier itself failed: {type(bad).__name__}")


def _bound(view: View, contract: Contract, stop: Stop) -> tuple[Certificate | None, tuple[Reason, ...]]:
    try:
        certificate = bind(view, contract, stop)
    except TallystickError as bad:
        return None, _failed(f"it cannot be bound: {bad.message}")
    except Exception as bad:  # noqa: BLE001 - fail closed, as above
        return None, _failed(f"binding it failed: {type(bad).__name__}")
    return certificate, held(view, contract, certificate)


def _failed(why: str) -> tuple[Reason, ...]:
    return (
        Reason(
            code="certificate.unbound",
            message=f"no certificate of this stop holds: {why}",
            reverses="claims that receipts of this run support, each derived as the contract demands",
        ),
    )
