"""The offline check of a certificate: an envelope, an export of its run, and a pinned public key. No ledger, no server.

Read top to bottom, this is the check: exactly the pinned key signed exactly this statement; the same key signed the
export, whose every byte holds; the certificate names this run, this point of its chain, this contract and this task;
the record says that it was issued for an accepted stop and that the run then ended CERTIFIED; and all of it comes out
again: the stop is accepted anew, the six checks pass anew, and the certificate bound anew is this one.

Without a key there is no better answer than "intact, unauthenticated", as for exports (`ledger.verify`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from tallystick.certificates.envelope import MAX_BYTES, Opened, UnsignedError, open_envelope
from tallystick.certificates.record import Ending, ending_of, misplaced, unrecorded, view_at
from tallystick.certificates.stopping import held, judged
from tallystick.errors import InputError, TallystickError
from tallystick.ledger.exported import exported
from tallystick.ledger.verify import Authentic, Verification
from tallystick.ledger.verify import verify as verify_export
from tallystick.model.certificate import Certificate
from tallystick.model.events import Sealed
from tallystick.view import View
from tallystick.view.stops import stop_of

Step = Literal["envelope", "signature", "export", "chain", "stop", "gate", "checks", "binding"]
STEPS: Final[tuple[Step, ...]] = ("envelope", "signature", "export", "chain", "stop", "gate", "checks", "binding")
"""In order; each needs those before it, but for the export, which is looked at in any case."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One thing that is wrong: the step that found it, its stable dotted code, a sentence."""

    step: Step
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.step}: {self.message} [{self.code}]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    """What the check found.

    Attributes:
        ok: nothing is wrong and, where a key was pinned, that key signed certificate and export.
        authentic: "authentic" only under a pinned key.
        problems: what is wrong, in the order of the steps.
        passed: the steps that were reached and found nothing.
        certificate: what the envelope states, or None where it could not be read or the pinned key did not sign it.
        later: events of the export after the run's end.
    """

    ok: bool
    authentic: Authentic
    problems: tuple[Fault, ...]
    passed: tuple[Step, ...]
    certificate: Certificate | None
    later: int = 0


def check_certificate(
    envelope: str | os.PathLike[str], export: str | os.PathLike[str], key: bytes | None = None
) -> Checked:
    """Check the certificate in the file `envelope` against the export of its run, under a raw Ed25519 public key.

    Raises:
        InputError: a file cannot be read. (What is wrong *in* it is a value, not an error.)
    """
    try:
        with Path(envelope).open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as bad:
        raise InputError(f"cannot be read: {bad.strerror}", where=str(envelope)) from None
    check = _Check(Path(export), key)
    check.run(raw)
    ok = not check.faults
    authentic: Authentic = "not authentic"
    if ok:
        authentic = "authentic" if key is not None else "intact, unauthenticated"
    return Checked(
        ok=ok,
        authentic=authentic,
        problems=tuple(sorted(check.faults, key=lambda f: STEPS.index(f.step))),
        passed=tuple(s for s in STEPS if s in check.reached and all(f.step != s for f in check.faults)),
        certificate=check.opened.certificate if check.opened is not None else None,
        later=check.later,
    )


class _Check:
    """One pass through the steps."""

    def __init__(self, export: Path, key: bytes | None) -> None:
        self.export = export
        self.key = key
        self.faults: list[Fault] = []
        self.reached: set[Step] = set()
        self.opened: Opened | None = None
        self.later = 0

    def run(self, raw: bytes) -> None:
        self._open(raw)
        verified = self._export()
        if self.opened is None or verified is None:
            return
        certificate = self.opened.certificate
        try:
            ending = self._ending(verified)
            if ending is None or not self._takes("chain", misplaced(certificate, ending, verified.run or "")):
                return
            self.later = ending.later
            if not self._takes("stop", unrecorded(certificate, ending)):
                return
            self._again(certificate, ending, view_at(exported(self.export), certificate.upto))
        except TallystickError as bad:
            self._fault("chain", "certificate.unread", f"the record cannot be judged again: {bad.message}")
        except Exception as bad:  # noqa: BLE001 - fail closed: a record made to break its reader shows nothing
            self._fault("chain", "certificate.unread", f"the record cannot be judged again: {type(bad).__name__}")

    # ---------------------------------------------------------------- the two files

    def _open(self, raw: bytes) -> None:
        """The envelope is in its one form, its payload is a canonical statement, and the pinned key signed it."""
        self.reached.add("envelope")
        try:
            opened = open_envelope(raw, self.key)
        except UnsignedError as bad:
            self.reached.add("signature")
            self._fault("signature", "signature.untrusted", bad.message)
            return
        except InputError as bad:
            self._fault("envelope", "envelope.invalid", bad.message)
            return
        if opened.signed:
            self.reached.add("signature")
        self.opened = opened

    def _export(self) -> Verification | None:
        """Every byte of the export holds and, with a key, its holder signed it too."""
        self.reached.add("export")
        verified = verify_export(self.export, self.key)
        for flaw in verified.problems:
            self._fault("export", flaw.code, str(flaw).removesuffix(f" [{flaw.code}]"))
        return verified if verified.ok else None

    def _ending(self, verified: Verification) -> Ending | None:
        """Read the export a second time, and only if it is still the one that was verified."""
        head = ""

        def noted() -> Iterator[Sealed]:
            nonlocal head
            for sealed in exported(self.export):
                head = sealed.digest
                yield sealed

        ending = ending_of(noted())
        if head != verified.head:
            self._fault("export", "export.changed", "the export changed while it was checked")
            return None
        return ending

    def _again(self, certificate: Certificate, ending: Ending, view: View) -> None:
        """The stop gate accepts again, the six checks pass again, and the certificate comes out again."""
        stop = stop_of(ending.stop) if ending.stop is not None else None
        if stop is None:
            self._fault("gate", "certificate.record", "the stop cannot be judged again")
            return
        decision, bound = judged(view, view.contract, stop)
        self._takes("gate", [(r.code, r.message) for r in decision.reasons] if not decision.positive else [])
        self._takes("checks", [(r.code, r.message) for r in held(view, view.contract, certificate)])
        other = decision.positive and bound != certificate
        self._takes("binding", [("certificate.differs", "bound anew, it is another certificate")] if other else [])

    # ---------------------------------------------------------------- notes

    def _takes(self, step: Step, faults: Iterable[tuple[str, str]]) -> bool:
        """Note that a step was reached and what it found; return whether that was nothing."""
        self.reached.add(step)
        before = len(self.faults)
        for code, message in faults:
            self._fault(step, code, message)
        return len(self.faults) == before

    def _fault(self, step: Step, code: str, message: str) -> None:
        self.faults.append(Fault(step=step, code=code, message=message))
