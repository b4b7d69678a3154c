"""What stands between a refused stop and an accepted one, in a form an agent can act on and a program can read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tallystick.contracts.terms import facts, sources
from tallystick.contracts.types import Contract, Slot, Tool
from tallystick.gates.claim_slot import slot_of
from tallystick.gates.derive import scope_of_slot
from tallystick.gates.stage import call_for
from tallystick.model import jsontext
from tallystick.model.certificate import Check
from tallystick.model.decision import Decision, Read, Reason
from tallystick.model.values import same
from tallystick.view import ReceiptRecord, View

_CHECKS: Final[Mapping[str, Check]] = {
    "coverage.open": "claim_coverage",
    "coverage.twice": "claim_coverage",
    "coverage.unknown_slot": "claim_coverage",
    "coverage.empty": "claim_coverage",
    "claim.type": "claim_coverage",
    "claims.not_json": "claim_coverage",
    "claim.scope": "task_scope",
    "evidence.other_entity": "task_scope",
    "evidence.unknown_entity": "task_scope",
    "evidence.ambiguous_entity": "task_scope",
    "evidence.other_kind": "task_scope",
    "evidence.partial": "outcome_validation",
    "evidence.invalid": "outcome_validation",
    "receipt.missing": "ledger_reference",
    "receipt.forged": "ledger_reference",
    "receipt.orphan": "ledger_reference",
    "receipt.replica": "ledger_reference",
    "pairing.ambiguous": "ledger_reference",
    "claim.mismatch": "value_replay",
    "claim.unit": "value_replay",
    "claim.not_derivable": "value_replay",
    "claim.unsupported": "exact_transform",
}
_UNREAD: Final = frozenset({"coverage.open", "claim.not_derivable", "evidence.missing", "evidence.stale"})
"""Codes of deficits that a read may close."""


class Deficit(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is missing. Each alone keeps the run from ending.

    Attributes:
        slot: the answer slot it is about, "" for none.
        check: the verifier's check that failed; "" where it is no claim but the run itself: something owed, in doubt.
        code: stable dotted code (reason-codes).
        where: obligation, condition, call, slot or argument it speaks about.
        message: what is missing, for people.
        closes: what would close it.
        reads: reads that would give that evidence, as far as the record tells their arguments.
        call: the call that is owed, with the arguments the task fixes; None where none is.
    """

    code: str
    message: str
    slot: str = ""
    check: Check | str = ""
    where: str = ""
    closes: str = ""
    reads: tuple[Read, ...] = ()
    call: Read | None = None

    def __str__(self) -> str:
        about = self.slot or self.where
        name = f"{about} " if about else ""
        check = f" ({self.check})" if self.check else ""
        text = f"{name}[{self.code}]{check}: {self.message}"
        text += f"; needs {self.closes}" if self.closes else ""
        text += "".join(f"; read {read.tool} {read.args}" for read in self.reads)
        return text + (f"; call {self.call.tool} {self.call.args}" if self.call is not None else "")

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        told = msgspec.to_builtins(self)
        told["reads"] = [_json(read) for read in self.reads]
        told["call"] = _json(self.call) if self.call is not None else None
        return dict(told)


def _json(read: Read) -> dict[str, Any]:
    return {"tool": read.tool, "args": jsontext.loads(read.args)}


def check_of(reason: Reason) -> Check | str:
    """Return the verifier's check a reason belongs to, or "" where it is about the run and no claim."""
    if reason.code.startswith("result."):
        return "outcome_validation"
    return _CHECKS.get(reason.code, "")


def deficits(view: View, contract: Contract, decision: Decision) -> tuple[Deficit, ...]:
    """Return what is missing, one for each reason of a refused stop, in its order."""
    return tuple(_deficit(view, contract, reason) for reason in decision.reasons)


def _deficit(view: View, contract: Contract, reason: Reason) -> Deficit:
    slot = slot_of(contract, reason.where)
    owed = view.obligations.get(reason.where) if reason.code == "obligation.open" else None
    call = call_for(contract, owed) if owed is not None else None
    reads = reason.reads
    if not reads and slot is not None and reason.code in _UNREAD:
        reads = _reads(view, contract, slot)
    return Deficit(
        slot=slot.name if slot is not None else "",
        check=check_of(reason),
        code=reason.code,
        where=reason.where,
        message=reason.message,
        closes=reason.reverses,
        reads=reads,
        call=Read(tool=call.tool, args=jsontext.dumps(call.args)) if call is not None else None,
    )


def _reads(view: View, contract: Contract, slot: Slot) -> tuple[Read, ...]:
    """Return the reads a slot is derived from, those left out whose answer the record has already."""
    scope, problem = scope_of_slot(view, slot)
    found = []
    for tool in _tools(contract, slot):
        args: dict[str, Any] = {}
        for expr in tool.target:
            ref = expr.id.refs[0] if len(expr.id.refs) == 1 else ()
            if problem is None and scope is not None and expr.kind == scope.kind and len(ref) == 2 and ref[0] == "args":
                args[ref[1]] = [scope.id] if expr.each else scope.id
        if not any(_answers(receipt, args) for receipt in view.receipts_of(tool.name)):
            found.append(Read(tool=tool.name, args=jsontext.dumps(args)))
    return tuple(found)


def _tools(contract: Contract, slot: Slot) -> list[Tool]:
    """Return the reads whose results a slot's derivation names, or yield the facts it names."""
    named = {source.tool for _, source in sources(slot.derive.term)}
    if slot.entity is not None:
        wanted = {ref[1] for part in facts(slot.derive.term) for ref in part.expr.refs if len(ref) > 1}
        for tool in contract.tools.values():
            if any(y.kind == slot.entity.kind and not wanted.isdisjoint(y.fields) for y in tool.yields):
                named.add(tool.name)
    return [tool for tool in contract.tools.values() if tool.name in named and tool.effect == "read"]


def _answers(receipt: ReceiptRecord, args: Mapping[str, Any]) -> bool:
    made = receipt.call
    return receipt.good and made is not None and all(same(made.args.get(name), value) for name, value in args.items())
