"""Close: the residual contract z_f = (K, E, O, S, A), made before the successor is asked, or no contract at all.

Read top to bottom, this is the rule: the run is open, nobody else has a tenure, nothing is in doubt; something is owed;
something real is fixed; everything owed can be discharged by an interface the contract knows, and no blocker or kept
effect stands in the way of it. Else there is no contract (⊥), and nobody gets write authority.
Source: residual completion, section 3.2, steps 2 and 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Literal

from tallystick.contracts.types import Contract, Duty, Tool
from tallystick.errors import InputError, TallystickError
from tallystick.gates.answers import Violated
from tallystick.gates.conditions import raised, standing
from tallystick.gates.duties import OpenDuty, open_duties
from tallystick.gates.owed import open_obligations
from tallystick.gates.remaining import unsettled
from tallystick.gates.residual.ground import Grounded, ground
from tallystick.gates.residual.reasons import no
from tallystick.gates.scope import scope_of
from tallystick.gates.stage import END_OF_TIME, call_for
from tallystick.gates.undone import taken_back
from tallystick.model import jsontext
from tallystick.model.decision import Decision, Reason, Verdict
from tallystick.model.residual import Admissible, Owed, Residual, json_text
from tallystick.model.values import Money, plain
from tallystick.view import ObligationRecord, View
from tallystick.view.keys import entity_of


def construct(
    view: View,
    contract: Contract,
    *,
    tenure: str,
    allow: Sequence[str] = (),
    free: Iterable[Sequence[str]] = (),
    extracted: Sequence[str] = (),
    now: datetime = END_OF_TIME,
) -> tuple[Residual | None, Decision]:
    """Return the residual contract of the state reached, or None with the reasons why there is none.

    Pure and deterministic: the same record and settings make the same contract, byte for byte.

    Args:
        view: the run's record.
        contract: what it is judged by.
        tenure: id of the takeover it is for.
        allow: tools whose effects the host allows on the way, for verified entities, any number of times.
        free: [tool, argument] pairs whose text needs no source.
        extracted: ids of the obligations that an extractor added.
        now: when; standing duties may ask for it.

    Returns:
        (contract, admit) or (None, refuse). Anything that goes wrong in here is a refusal.

    Raises:
        InputError: `allow` or `free` names a tool the contract does not have.
    """
    settings = ([*allow], [[*pair] for pair in free])
    _known(contract, *settings)
    try:
        return _construct(view, contract, tenure, *settings, frozenset(extracted), now)
    except TallystickError as bad:
        message = f"no contract could be made: {bad.message}"
    except Exception as bad:  # noqa: BLE001 - fail closed: our own fault gives nobody write authority
        message = f"the constructor itself failed: {type(bad).__name__}"
    return _bottom(view, [Reason(code="gate.error", message=message, reverses="a valid contract and record")])


def _known(contract: Contract, allow: list[str], free: list[list[str]]) -> None:
    for name in (*allow, *(pair[0] for pair in free if pair)):
        if name not in contract.tools:
            raise InputError(
                f"the contract `{contract.name}` has no tool `{name}`", where="allow, free", fix="a tool it declares"
            )
    for pair in free:
        if len(pair) != 2:
            raise InputError(f"`{pair}` is no pair of tool and argument", where="free", fix="[tool, argument]")


def _bottom(view: View, reasons: list[Reason]) -> tuple[None, Decision]:
    return None, Decision(verdict=Verdict.REFUSE, reasons=tuple(dict.fromkeys(reasons)), judged_upto=view.upto)


def _construct(
    view: View,
    contract: Contract,
    tenure: str,
    allow: list[str],
    free: list[list[str]],
    extracted: frozenset[str],
    now: datetime,
) -> tuple[Residual | None, Decision]:
    reasons = [*not_open(view)]
    if reasons:
        return _bottom(view, reasons)  # what is not settled cannot be built on
    grounded = ground(view, contract)
    records, duties = open_obligations(view), tuple(open_duties(view, contract, now))
    owed = [*(_owed(view, o, extracted) for o in records), *(_duty(contract, d) for d in duties)]
    if not owed:
        reasons.append(no("residual.nothing_open", "nothing is owed any more", "an obligation that is open"))
    if not grounded.fixed:
        text = "no effect, choice of the user or verified entity is fixed: there is nothing to take over"
        reasons.append(no("residual.nothing_fixed", text, "a receipt-backed effect, or a choice recorded by the host"))
    effects = [e for o in owed for e in _admissible(contract, grounded, o)]
    for o in owed:
        reasons.extend(_supported(contract, o, effects))
    for record in records:
        reasons.extend(_blocked(view, contract, record))
    for entry in effects:
        reasons.extend(_undoes(contract, grounded, entry))
    if reasons:
        return _bottom(view, reasons)
    effects.extend(_in_turn(contract, effects))
    effects.extend(Admissible(tool=name, times=0) for name in dict.fromkeys(allow))
    residual = Residual(
        run=view.run,
        tenure=tenure,
        upto=view.upto,
        head=view.head,
        request=view.task.request,
        bindings=list(grounded.bindings),
        kept=list(grounded.kept),
        entities=list(grounded.entities),
        receipts=list(grounded.receipts),
        words=list(grounded.words),
        owed=owed,
        effects=effects,
        interfaces=_interfaces(contract, effects),
        free=free,
    )
    supports = [
        *(b.support for b in grounded.bindings),
        *(k.support for k in grounded.kept),
        *(o.support for o in owed),
    ]
    basis = tuple(dict.fromkeys(d for d in supports if d))
    return residual, Decision(verdict=Verdict.ADMIT, basis=basis, judged_upto=view.upto)


def not_open(view: View) -> Iterator[Reason]:
    """Yield why nobody may take over, whatever is owed: the run is over, somebody else has it, or there is doubt."""
    if view.ended is not None:
        yield Reason(code="run.closed", message=f"the run has ended: {view.ended.status}", reverses="a new run")
    if view.tenure is not None:
        text = f"tenure {view.tenure.frozen.tenure} of `{view.tenure.frozen.to}` is not over"
        yield no("residual.tenure", text, "the end of that tenure", view.tenure.frozen.tenure)
    if taken_back(view):
        yield no("residual.nothing_open", "the requester took the request back", "a new request")
    for reason in unsettled(view):
        yield no("residual.doubt", reason.message, reason.reverses, reason.where)


# ---------------------------------------------------------------- O


def _owed(view: View, record: ObligationRecord, extracted: frozenset[str]) -> Owed:
    rule = record.rule
    origin: Literal["task", "added", "extracted"] = "task" if rule is not None else "added"
    return Owed(
        id=record.id,
        kind=record.kind,
        text=record.text,
        tools=[record.tool] if record.tool else [],
        entity=[*record.entity] if record.entity is not None else [],
        args=[[name, json_text(plain_json(record.args[name]))] for name in sorted(record.args)],
        fact=rule.fact.source if record.kind == "state" and rule is not None and rule.fact is not None else "",
        origin="extracted" if record.id in extracted and rule is None else origin,
        support=view.digest_at(record.seq or 1) or "",
    )


def plain_json(value: Any) -> Any:
    """Return an exact value as a JSON argument would state it: an amount by its digits, a date by its text."""
    if isinstance(value, Money):
        return plain(value.amount)
    if isinstance(value, dict):
        return {name: plain_json(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_json(item) for item in value]
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if value is None or isinstance(value, (str, bool, int)) or hasattr(value, "as_tuple"):
        return value
    return str(value)


def duty_id(duty: OpenDuty) -> str:
    """Return the id a standing duty has among what is owed: the duty, and the call that brought it about."""
    return f"duty:{duty.duty.id}:{duty.call.id}"


def _duty(contract: Contract, left: OpenDuty) -> Owed:
    about = left.call.targets[:1]
    shared = [n for n in left.duty.owes if about and _addresses(contract.tools.get(n), about[0].kind)]
    return Owed(
        id=duty_id(left),
        kind="duty",
        text=left.duty.message or f"{left.duty.after} owes {' or '.join(left.duty.owes)}",
        tools=list(left.duty.owes),
        entity=[*about[0]] if shared and len(shared) == len(left.duty.owes) else [],
        fact=left.duty.expr.source if left.duty.expr is not None else "",
        origin="duty",
        support=left.receipt.digest,
    )


def _addresses(tool: Tool | None, kind: str) -> bool:
    return tool is not None and any(expr.kind == kind for expr in tool.target)


# ---------------------------------------------------------------- S and A


def may_write(tool: Tool) -> bool:
    """Return whether some call of a tool changes state."""
    return tool.effect == "write" or any(effect == "write" for _, effect in tool.effect_cases)


def may_look(tool: Tool) -> bool:
    """Return whether some call of a tool only reads or previews."""
    return tool.effect != "write" or any(effect != "write" for _, effect in tool.effect_cases)


def _admissible(contract: Contract, grounded: Grounded, owed: Owed) -> Iterator[Admissible]:
    """Yield the effects that would discharge what is owed, with the accepted choices compiled into them."""
    for name in owed.tools:
        tool = contract.tools.get(name)
        if tool is None or not may_write(tool):
            continue
        entity = owed.entity or _named(tool, owed)
        if not entity:
            kinds = {expr.kind for expr in tool.target if not expr.each}
            chosen = {
                (b.kind, b.id) for b in grounded.bindings
                if b.kind in kinds and (not b.name or b.source == "task") and b.source != "statement"
            }  # fmt: skip
            entity = [*next(iter(chosen))] if len(chosen) == 1 else []
        yield Admissible(tool=name, obligation=owed.id, entity=entity, args=owed.args)


def brought_id(duty: Duty) -> str:
    """Return the id a standing duty has in S that the remainder itself may bring about: as often as it does."""
    return f"duty:{duty.id}"


def _in_turn(contract: Contract, effects: Sequence[Admissible]) -> Iterator[Admissible]:
    """Yield the effects that what is owed brings with it, by the contract's standing duties."""
    may = {entry.tool for entry in effects}
    for duty in contract.duties:
        if duty.after in may and not duty.ever:
            for name in duty.owes:
                if may_write(contract.tools[name]):
                    yield Admissible(tool=name, obligation=brought_id(duty), times=0)


def _named(tool: Tool, owed: Owed) -> list[str]:
    """Return the entity that the arguments owed name: what was chosen for another effect does not replace it."""
    single = [expr for expr in tool.target if not expr.each]
    if len(single) != 1:
        return []
    env = {"args": {name: jsontext.loads(text) for name, text in owed.args}}
    return next(([*ref] for ref in entity_of(single[0], env)), [])


def _interfaces(contract: Contract, effects: Iterable[Admissible]) -> list[str]:
    may = {entry.tool for entry in effects}
    return [name for name, tool in contract.tools.items() if name in may or may_look(tool)]


# ---------------------------------------------------------------- validation


def _supported(contract: Contract, owed: Owed, effects: list[Admissible]) -> Iterator[Reason]:
    """Each obligation has trusted support, and an interface that realises it or shows that it holds."""
    if not owed.support:
        yield no(
            "residual.unsupported", f"no event supports `{owed.id}`", "an obligation of the task or the host", owed.id
        )
    realised = any(entry.obligation == owed.id for entry in effects)
    if owed.kind == "state":
        realised = realised or bool(owed.entity and any(
            rule.kind == owed.entity[0] for tool in contract.tools.values() for rule in tool.yields
        ))  # fmt: skip
    elif owed.kind == "duty":
        realised = realised or any(name in contract.tools for name in owed.tools)
    if not realised:
        text = f"no interface of the contract can discharge `{owed.id}`"
        yield no("residual.unsupported", text, f"a tool whose effect discharges `{owed.id}`", owed.id)


def _blocked(view: View, contract: Contract, owed: ObligationRecord) -> Iterator[Reason]:
    """No blocker removes the call that discharges it, as far as that call is known."""
    call = call_for(contract, owed)
    if call is None:
        return
    scope = scope_of(view, contract, contract.tools[call.tool], call)
    for answer in (*raised(scope), *(standing(scope, rule) for rule in contract.conditions)):
        for reason in answer.reasons if isinstance(answer, Violated) else ():
            if not _approved(view, call.tool):
                yield no("residual.blocked", f"`{owed.id}`: {reason.message}", reason.reverses, owed.id)


def _approved(view: View, tool: str) -> bool:
    """An unused approval may be for the very call that is still to be proposed: the act gate will tell."""
    return any(
        r.trusted and r.used_by is None and r.body.decision == "approve" for r in view.approvals_of(tool)
    )  # fmt: skip


def _undoes(contract: Contract, grounded: Grounded, entry: Admissible) -> Iterator[Reason]:
    """What is owed cannot be had at the price of what is kept."""
    for kept in grounded.kept:
        tool = contract.tools.get(kept.tool)
        if tool is None or entry.tool not in tool.undone_by or not entry.entity:
            continue
        if not kept.entities or entry.entity in kept.entities:
            text = f"{entry.tool} for `{entry.obligation}` would undo call {kept.call} of {kept.tool}"
            yield no(
                "residual.blocked",
                text,
                "another obligation, or the undoing done before the takeover",
                entry.obligation,
            )
