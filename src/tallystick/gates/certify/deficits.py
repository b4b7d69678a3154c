"""What the verifier answers: complete, or what is missing, in a form a program can act on."""

from __future__ import annotations

from dataclasses import dataclass

from tallystick.model.certificate import Check
from tallystick.model.decision import Read, Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Deficit:
    """One thing a certificate lacks. Each alone is enough to refuse it.

    Attributes:
        slot: the answer slot it is about; "" where it is about the certificate as a whole or an obligation.
        check: the check that found it.
        code: stable dotted code, as of reasons.
        message: a sentence for people.
        closes: what would close it.
        reads: reads that would establish what is missing, where some would.
        refs: seq numbers of the events it rests on.
    """

    slot: str
    check: Check
    code: str
    message: str
    closes: str
    reads: tuple[Read, ...] = ()
    refs: tuple[int, ...] = ()

    @property
    def reason(self) -> Reason:
        """The same, as the reason of a decision."""
        return Reason(
            code=self.code,
            message=self.message,
            reverses=self.closes,
            where=self.slot,
            refs=self.refs,
            reads=self.reads,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Verified:
    """What the checks that ran found.

    Attributes:
        complete: no check found anything. It means "every required claim is supported" only where none was left out.
        deficits: everything they found, in the order of the checks.
        basis: digests of the receipts the certificate refers to that this run's record has.
        upto: seq of the last event of the record it was judged by.
    """

    complete: bool
    deficits: tuple[Deficit, ...] = ()
    basis: tuple[str, ...] = ()
    upto: int = 0
