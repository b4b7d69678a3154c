"""Which calls wait for a principal, read from the record alone, so that any process can list them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from tallystick.contracts.types import Contract
from tallystick.gates.act import may_act
from tallystick.gates.answers import Met
from tallystick.gates.approval import approval_of
from tallystick.handoff.controls import NEEDS_APPROVAL
from tallystick.model.decision import Decision, Verdict, decision_of
from tallystick.model.exact import args_digest
from tallystick.model.proposal import Call
from tallystick.view import View
from tallystick.view.parse import parse_args
from tallystick.view.state import when

DENIED: Final = "approval.denied"
WAITING: Final = frozenset({"approval.missing", "approval.expired", "approval.consumed", "approval.other_args",
                            "approval.untrusted", "condition.open", NEEDS_APPROVAL, DENIED})  # fmt: skip
"""Reasons only a principal can reverse. A denial is one: a later decision about the call counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pending:
    """A call that needs a principal.

    Attributes:
        refusal: seq of the refusal that holds it; names it on the command line.
        args: its arguments; secret fields hold marks.
        args_sha256: what an approval is bound to.
        codes: why it is held now.
        condition: id of the condition an approval would lift, if one holds the call.
        message: the first such reason, in words.
    """

    refusal: int
    tool: str
    args: Any
    args_sha256: str
    codes: tuple[str, ...]
    condition: str | None
    message: str

    @property
    def denied(self) -> bool:
        """Whether a principal has said no. A later approval still lets the call through."""
        return DENIED in self.codes


def awaits_principal(view: View, contract: Contract, decision: Decision) -> bool:
    """Return whether a refused call waits for nothing but a principal of this run who can still say yes.

    A denial is an answer, so a denied call waits no more; proposing it again and again is a loop.
    """
    if not decision.codes or DENIED in decision.codes or not WAITING.issuperset(decision.codes):
        return False
    here = {name for p in view.principals.values() for name in (p.id, p.role)}
    rules = {rule.id: rule.authority for rule in contract.conditions}
    for reason in decision.reasons:
        if reason.code != "condition.open":
            continue
        raised = view.conditions.get(reason.where)
        if raised is not None and not raised.body.authority:
            continue  # any principal of the run may lift it
        authority = raised.body.authority if raised is not None else rules.get(reason.where, "")
        if authority not in here:
            return False
    return bool(here)


def _held(view: View, call: Call, decision: Decision) -> Decision:
    """Return where the approval an endpoint control asked for stands now."""
    role = next(r.where for r in decision.reasons if r.code == NEEDS_APPROVAL)
    answer = approval_of(view, call, role, role)
    if isinstance(answer, Met):
        return Decision(verdict=Verdict.ADMIT)
    return Decision(verdict=Verdict.HOLD, reasons=answer.reasons)


def pending(view: View, contract: Contract) -> tuple[Pending, ...]:
    """Return the newest refusal of each call that a principal alone can let through, and that would still be refused.

    Denied calls are among them: the newest decision about a call counts, so a later one can be made.
    """
    if view.ended is not None:
        return ()
    found: dict[tuple[str, str], Pending] = {}
    for seq, body in view.refusals:
        decision = decision_of(body.decision)
        if not decision.codes or not WAITING.issuperset(decision.codes):
            continue
        args = parse_args(body.args)
        now = when(body.now)
        if now is None:
            continue
        call = Call(tool=body.tool, args=args, now=now, wish=body.wish)
        sha256 = args_digest(args)
        again = may_act(view, contract, call)
        if again.verdict is Verdict.ADMIT and NEEDS_APPROVAL in decision.codes:
            # An endpoint control holds it: the gate has nothing against the call, and a principal still has to say so.
            again = _held(view, call, decision)
        if not again.codes or not WAITING.issuperset(again.codes):
            found.pop((body.tool, sha256), None)
            continue
        condition = next((r.where for r in again.reasons if r.code == "condition.open"), None)
        found[body.tool, sha256] = Pending(
            refusal=seq, tool=body.tool, args=args, args_sha256=sha256, codes=again.codes, condition=condition,
            message=again.reasons[0].message,
        )  # fmt: skip
    return tuple(found.values())
