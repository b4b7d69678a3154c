"""Which calls wait for a principal, read from the record alone, so that any process can list them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from tallystick.contracts.types import Contract
from tallystick.gates.act import may_act
from tallystick.model.decision import decision_of
from tallystick.model.events import args_digest
from tallystick.model.proposal import Call
from tallystick.view import View
from tallystick.view.parse import parse_args
from tallystick.view.state import when

WAITING: Final = frozenset({"approval.missing", "approval.expired", "approval.consumed", "approval.other_args",
                            "approval.untrusted", "condition.open"})  # fmt: skip
"""Reasons only a principal can reverse."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pending:
    """A call that needs a principal.

    Attributes:
        refusal: seq of the refusal that holds it; names it on the command line.
        args: its arguments; secret fields hold marks.
        args_sha256: what an approval is bound to.
        codes: why it is held.
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


def pending(view: View, contract: Contract) -> tuple[Pending, ...]:
    """Return the newest refusal of each call that waits for a principal only, and that would still be refused."""
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
        now_codes = may_act(view, contract, call).codes
        if not now_codes or not WAITING.issuperset(now_codes):
            found.pop((body.tool, args_digest(args)), None)
            continue
        first = decision.reasons[0]
        condition = next((r.where for r in decision.reasons if r.code == "condition.open"), None)
        sha256 = args_digest(args)
        found[body.tool, sha256] = Pending(
            refusal=seq, tool=body.tool, args=args, args_sha256=sha256, codes=decision.codes, condition=condition,
            message=first.message,
        )  # fmt: skip
    return tuple(found.values())
