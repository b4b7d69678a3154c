"""What a gate answers: a verdict, the reasons with stable codes, and the evidence it relied on."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec

from tallystick.model.canonical import canonical


class Verdict(StrEnum):
    """What may happen next."""

    ADMIT = "admit"
    HOLD = "hold"  # act: obtainable evidence is missing; claim: evidence conflicts
    REFUSE = "refuse"
    RETURN_RECORDED = "return_recorded"  # this very effect already has a receipt: hand it back, do not dispatch
    RECONCILE = "reconcile"  # an earlier attempt is in doubt; settle it first
    ACCEPT = "accept"
    REJECT = "reject"
    OK = "ok"
    QUARANTINE = "quarantine"


POSITIVE: Final = frozenset({Verdict.ADMIT, Verdict.ACCEPT, Verdict.OK})


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """A read that would establish missing evidence: a tool and the arguments known so far (JSON text)."""

    tool: str
    args: str = "{}"


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """Why. `code` is stable and dotted; people read `message`; `reverses` says what would turn the verdict.

    Attributes:
        where: requirement id, slot, condition id, obligation id or JSON Pointer the reason speaks about.
        refs: seq numbers of the events it rests on.
        reads: reads that would establish what is missing.
    """

    code: str
    message: str
    reverses: str = ""
    where: str = ""
    refs: tuple[int, ...] = ()
    reads: tuple[Read, ...] = ()


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """A gate's answer.

    Attributes:
        verdict: what may happen.
        reasons: each independently sufficient for a verdict that is not positive; for a positive one, what was met.
        basis: digests of the events relied on.
        judged_upto: seq of the last event the view had folded; absence was judged up to here.
        recorded: receipt id to hand back, for `return_recorded`.
        in_doubt: call id to settle, for `reconcile`.
    """

    verdict: Verdict
    reasons: tuple[Reason, ...] = ()
    basis: tuple[str, ...] = ()
    judged_upto: int = 0
    recorded: str | None = None
    in_doubt: str | None = None

    @property
    def positive(self) -> bool:
        """Whether the proposal may go ahead."""
        return self.verdict in POSITIVE

    @property
    def codes(self) -> tuple[str, ...]:
        """The reasons' codes, in order."""
        return tuple(r.code for r in self.reasons)

    def to_json(self) -> Any:
        """Return plain JSON values."""
        return msgspec.to_builtins(self)

    def text(self) -> str:
        """Return the canonical JSON text, as stored in the ledger."""
        return canonical(self.to_json()).decode("utf-8")


def decision_of(text: str) -> Decision:
    """Return the decision that `Decision.text` wrote."""
    return msgspec.json.decode(text, type=Decision)
