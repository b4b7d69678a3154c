"""When not doing what is owed is right: a blocker removes it, the gate refuses it for cause, or it is taken back."""

from __future__ import annotations

from typing import Final

from tallystick.contracts.types import ConditionRule, Contract, Tool
from tallystick.gates.act import may_act
from tallystick.gates.answers import Violated
from tallystick.gates.choice import is_beyond_choice
from tallystick.gates.conditions import standing
from tallystick.gates.evidence import scope_of
from tallystick.gates.owed import open_obligations
from tallystick.gates.stage import call_for
from tallystick.model import jsontext
from tallystick.model.decision import Decision, Verdict, decision_of
from tallystick.model.proposal import Call, Stop
from tallystick.model.values import EntityRef, same
from tallystick.view import ConditionRecord, ObligationRecord, View
from tallystick.view.parse import parse_args
from tallystick.view.state import when

WITHDRAWN: Final = "withdrawn"
"""Field of the host's event that the requester took the request back: `Stated(field="withdrawn", value="true")`."""
_RIGHTLY: Final = frozenset(
    {"evidence.violated", "exclusion.taken", "approval.denied", "argument.mismatch", "preview.mismatch"}
)
"""Refusals that show the action would be wrong, not merely that something is missing."""


def rightly_undone(view: View, contract: Contract, owed: ObligationRecord, stop: Stop) -> bool:
    """Return whether the record shows that not doing what is owed is right.

    A blocker removes its action and its fallback was taken; or the act gate refused it for what the evidence says,
    whatever arguments the caller might have chosen instead, and would refuse it again now.
    """
    removed = blockers(view, contract, owed)
    if removed and all(taken for _, taken in removed):
        return True
    return _refused_for_cause(view, contract, owed, stop)


def blockers(view: View, contract: Contract, owed: ObligationRecord) -> list[tuple[str, bool]]:
    """Return (condition id, whether its fallback was taken) for every condition that removes what is owed."""
    call = call_for(contract, owed)
    if call is None:
        return []
    found: list[tuple[str, bool]] = []
    for record in view.index.conditions_by_tool.get(call.tool, ()):
        concerns = _concerns(record, call, owed)
        if concerns and (record.open or record.lifted_how == "fallback"):
            found.append((record.body.id, not record.open or not record.body.fallback))
    scope = scope_of(view, contract, contract.tools[call.tool], call)
    found.extend(
        (rule.id, _fell_back(view, rule.fallback_tools, owed))
        for rule in contract.conditions
        if isinstance(standing(scope, rule), Violated)
    )
    return found


def standing_blockers(view: View, contract: Contract) -> list[tuple[ConditionRule, EntityRef | None]]:
    """Return the contract's conditions in force over what is owed or was refused, each with the entity it is about.

    A standing condition speaks of every entity of its kind; those matter here that somebody wants to act on.
    """
    calls = [call for owed in open_obligations(view) if (call := call_for(contract, owed)) is not None]
    refused: dict[tuple[str, str], Call] = {}
    for _, body in view.refusals:
        if '"condition.open"' in body.decision and (at := when(body.now)) is not None:
            call = Call(tool=body.tool, args=parse_args(body.args), now=at, wish=body.wish)
            refused[body.tool, body.args.sha256] = call
    found: dict[tuple[str, EntityRef | None], ConditionRule] = {}
    for call in (*calls, *refused.values()):
        tool = contract.tools.get(call.tool)
        if tool is None:
            continue
        scope = scope_of(view, contract, tool, call)
        for rule in contract.conditions:
            if isinstance(standing(scope, rule), Violated):
                about = [ref for ref in scope.entities.values() if ref.kind == rule.kind]
                found[rule.id, about[0] if about else None] = rule
    return [(rule, entity) for (_, entity), rule in found.items()]


def _concerns(record: ConditionRecord, call: Call, owed: ObligationRecord) -> bool:
    entity = record.body.entity
    if len(entity) == 2 and owed.entity is not None and entity != [owed.entity.kind, owed.entity.id]:
        return False
    return all(n not in call.args or same(call.args[n], jsontext.loads(v)) for n, v in record.body.scope)


def _fell_back(view: View, tools: tuple[str, ...], owed: ObligationRecord) -> bool:
    """A fallback that is a tool must have taken effect for the entity; one that is only words is to leave it alone."""
    if not tools:
        return True
    return any(
        e.status == "done" and (owed.entity is None or not e.call.targets or owed.entity in e.call.targets)
        for name in tools
        for e in view.writes(name)
    )


def _refused_for_cause(view: View, contract: Contract, owed: ObligationRecord, stop: Stop) -> bool:
    for _, body in reversed(view.refusals):
        if body.tool != owed.tool or not body.decision or not _rightly(decision_of(body.decision)):
            continue
        args = parse_args(body.args)
        if not all(name in args and same(args[name], value) for name, value in owed.args.items()):
            continue
        call = Call(tool=body.tool, args=args, now=when(body.now) or stop.now, wish=body.wish)
        tool = contract.tools.get(body.tool)
        if tool is None:
            continue
        targets = tuple(scope_of(view, contract, tool, call).entities.values())
        if owed.entity is not None and targets and owed.entity not in targets:
            continue
        again = may_act(view, contract, call)
        fixed = _fixed(contract, owed, tool)
        if _rightly(again) and any(
            r.code in _RIGHTLY and is_beyond_choice(contract, tool, fixed, r) for r in again.reasons
        ):
            return True
    return False


def _fixed(contract: Contract, owed: ObligationRecord, tool: Tool) -> frozenset[str]:
    """Return the arguments the obligation itself fixes; one owed for no entity in particular fixes those that name it.

    Such an obligation is one whose binding the task left out: any entity would discharge it, so any may be refused.
    """
    call = call_for(contract, owed)
    named = set(call.args) if call is not None else set()
    if owed.entity is None:
        named.update(ref[1] for expr in tool.target for ref in expr.id.refs if ref[0] == "args" and len(ref) > 1)
    return frozenset(named)


def _rightly(decision: Decision) -> bool:
    return decision.verdict is Verdict.REFUSE and any(c in _RIGHTLY for c in decision.codes)


def taken_back(view: View) -> bool:
    """Return whether the host recorded that the requester took the request back."""
    return any(s.field == WITHDRAWN and s.value == "true" for _, s in view.stated)
