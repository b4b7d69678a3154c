"""What stands between a refused stop and an accepted one, in a form an agent can act on and a program can read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import quote
from typing import Any, Final

import msgspec

from tallystick.contracts.terms import facts, sources
from tallystick.contracts.types import Contract, Slot, Tool
from tallystick.gates.certify.exhibits import dates_of_slot, scope_of_slot
from tallystick.gates.claim_slot import slot_of
from tallystick.gates.stage import call_for
from tallystick.model import jsontext
from tallystick.model.certificate import Check, lexical
from tallystick.model.decision import Decision, Read, Reason
from tallystick.model.values import same
from tallystick.view import ReceiptRecord, View

_OF_CHECKS: Final[Mapping[Check, tuple[str, ...]]] = {
    "claim_coverage": (
        "coverage.open", "coverage.twice", "coverage.unknown_slot", "coverage.empty", "claim.type", "claim.not_none",
        "claims.not_json", "obligation.unknown", "certificate.too_large",
    ),
    "task_scope": (
        "claim.scope", "evidence.other_entity", "evidence.other_date", "evidence.unknown_entity", "evidence.missing",
        "evidence.ambiguous_entity", "evidence.other_kind", "evidence.stale", "result.echo", "certificate.now",
    ),
    "outcome_validation": ("evidence.partial", "evidence.invalid", "effect.partial_batch"),
    "ledger_reference": (
        "receipt.missing", "receipt.forged", "receipt.orphan", "receipt.replica", "receipt.digest", "receipt.imported",
        "receipt.later", "receipt.pointer", "evidence.repeated", "pairing.ambiguous", "certificate.head",
        "certificate.upto",
    ),
    "value_replay": (
        "claim.mismatch", "claim.unit", "claim.not_derivable", "derivation.invalid", "derivation.bounds",
        "evidence.conflict",
    ),
    "exact_transform": ("claim.transform", "claim.unsupported"),
}  # fmt: skip
_CHECKS: Final[Mapping[str, Check]] = {code: check for check, codes in _OF_CHECKS.items() for code in codes}
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
        said = self.message.removeprefix(f"`{about}`: ")
        text = f"{name}[{self.code}]{check}: {said}"
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
    found = _CHECKS.get(reason.code)
    if found is not None:
        return found
    return "outcome_validation" if reason.code.startswith("result.") else ""


def deficits(view: View, contract: Contract, decision: Decision, notes: Sequence[Reason] = ()) -> tuple[Deficit, ...]:
    """Return what is missing, one for each reason of a refused stop, in its order.

    Args:
        view: the run's record.
        contract: what it is judged by.
        decision: the refusal.
        notes: where claims were read from the answer's text: why a slot's value was not found there.
    """
    unread = {note.where: note for note in notes}
    return tuple(_noted(_deficit(view, contract, reason), unread) for reason in decision.reasons)


def _noted(deficit: Deficit, notes: Mapping[str, Reason]) -> Deficit:
    note = notes.get(deficit.slot) if deficit.code == "coverage.open" else None
    if note is None:
        return deficit
    said = note.message.removeprefix(f"`{deficit.slot}`: ")
    return msgspec.structs.replace(
        deficit, message=f"{deficit.message} ({note.code}: {said})", closes=note.reverses or deficit.closes,
        reads=deficit.reads or note.reads,
    )  # fmt: skip


def _deficit(view: View, contract: Contract, reason: Reason) -> Deficit:
    slot = slot_of(contract, reason.where)
    owed = view.obligations.get(reason.where) if reason.code == "obligation.open" else None
    call = call_for(contract, owed) if owed is not None else None
    reads = reason.reads
    if slot is not None and (reason.code in _UNREAD or reason.code.startswith("result.")):
        reads = _reads(view, contract, slot) or reads
    return Deficit(
        slot=slot.name if slot is not None else "",
        check=check_of(reason),
        code=reason.code,
        where=reason.where,
        message=reason.message,
        closes=reason.reverses + (_how_lifted(view, reason.where) if reason.code == "condition.open" else ""),
        reads=reads or (_shown_by(view, reason.where) if reason.code == "condition.open" else ()),
        call=Read(tool=call.tool, args=jsontext.dumps(call.args)) if call is not None else None,
    )


def _how_lifted(view: View, name: str) -> str:
    """How whoever decides over a blocker says so; an agent can only ask for it."""
    if name not in view.conditions:
        return ""
    return f" (`tallystick approve LEDGER --run {quote(view.run)} --blocker {quote(name)} --key FILE`)"


def _shown_by(view: View, name: str) -> tuple[Read, ...]:
    """Return the read that would show a blocker's prerequisite, where it says of what it has to speak."""
    record = view.conditions.get(name)
    until = (record.body.until or []) if record is not None else []
    tool = view.contract.tools.get(until[0][0]) if until else None
    if record is None or tool is None or tool.effect != "read":
        return ()
    args = {arg: jsontext.loads(value) for arg, value in record.body.scope if arg in tool.args}
    for expr in tool.target:
        ref = expr.id.refs[0] if len(expr.id.refs) == 1 else ()
        if len(record.body.entity) == 2 and expr.kind == record.body.entity[0] and len(ref) == 2 and ref[0] == "args":
            args[ref[1]] = [record.body.entity[1]] if expr.each else record.body.entity[1]
    return (Read(tool=tool.name, args=jsontext.dumps(args)),)


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
        args |= _of_task(view, contract, slot, tool, args)
        if not any(_answers(receipt, args) for receipt in view.receipts_of(tool.name)):
            found.append(Read(tool=tool.name, args=jsontext.dumps(args)))
    return tuple(found)


def _of_task(view: View, contract: Contract, slot: Slot, tool: Tool, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments the task settles: the day a slot's period is told by, and what is named as an input is."""
    found: dict[str, Any] = {}
    period, (dates, _) = slot.dates, dates_of_slot(view, slot)
    arg = period.arg if period is not None else None
    if arg is not None and arg in tool.args and dates is not None and dates[0] == dates[1]:
        found[arg] = dates[0].isoformat()
    for name, kind in tool.args.items():
        declared = contract.inputs.get(name)
        if name in view.task.bindings and str(declared) == str(kind) and name not in known:
            found.setdefault(name, lexical(view.task.bindings[name]))
    return found


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
