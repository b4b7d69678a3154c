"""Where does the task really stand? Derived from the record; what a model reports is only compared with it.

Source: unreliable-progress-bar, the oracle G(X): completed when nothing remains; needs information while evidence that
an open obligation's call demands is missing, also after an effect; post-observation once an effect exists and work
remains; ready otherwise.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from tallystick.contracts.types import Contract
from tallystick.errors import ExpressionError
from tallystick.gates.answers import Missing
from tallystick.gates.evidence import requirement, scope_of
from tallystick.model.decision import Reason
from tallystick.model.proposal import Call
from tallystick.model.values import EntityRef, Money, instant_of, plain
from tallystick.view import ObligationRecord, View
from tallystick.view.keys import id_text


class Stage(StrEnum):
    """The four stages a run can be in."""

    NEEDS_INFO = "needs_information"
    READY = "ready_for_action"
    POST_OBS = "post_observation_continue"
    COMPLETED = "completed"

    @property
    def words(self) -> str:
        """The glossary's words for it."""
        return _WORDS[self]


_WORDS: Final = {
    Stage.NEEDS_INFO: "needs information",
    Stage.READY: "ready",
    Stage.POST_OBS: "post-observation",
    Stage.COMPLETED: "completed",
}


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """The derived stage, the obligations done and open, and what is missing and why."""

    stage: Stage
    done: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    missing: tuple[Reason, ...] = ()
    in_doubt: tuple[str, ...] = ()
    judged_upto: int = 0


def holds_now(view: View, owed: ObligationRecord) -> bool:
    """Return whether an obligation is discharged: by its event, or, for the state kind, by facts that hold now."""
    if owed.kind == "event":
        return owed.discharged_by is not None
    if owed.rule is None or owed.rule.fact is None:
        return False
    env: dict[str, object] = {"task": view.task.bindings}
    if owed.item is not None:
        env["item"] = owed.item
    if owed.entity is not None:
        fresh = _facts_now(view, owed.entity)
        env[owed.rule.entity.alias if owed.rule.entity is not None else owed.entity.kind] = fresh
        needed = [r[1] for r in owed.rule.fact.refs if len(r) > 1 and r[0] in env and r[0] not in ("task", "item")]
        if any(name not in fresh for name in needed):
            return False  # not known now; `has()` never turns ignorance into truth
    try:
        return owed.rule.fact.evaluate(env) is True
    except ExpressionError:
        return False


def _facts_now(view: View, entity: EntityRef) -> dict[str, object]:
    """Return what is known of an entity and not void by a later write to it."""
    written = view.last_write(entity)
    return {n: f.value for n, f in view.facts(entity).items() if f.problem is None and f.observed_seq >= written}


def applies(view: View, owed: ObligationRecord) -> bool:
    """Return whether a conditional obligation is owed. Unknown means still owed."""
    rule = owed.rule
    if rule is None or rule.when is None:
        return True
    env: dict[str, object] = {"task": view.task.bindings}
    if owed.item is not None:
        env["item"] = owed.item
    if owed.entity is not None:
        env[rule.entity.alias if rule.entity is not None else owed.entity.kind] = _facts_now(view, owed.entity)
    if any(len(r) > 1 and r[0] not in ("task", "item") and r[1] not in _mapping(env.get(r[0])) for r in rule.when.refs):
        return True
    try:
        return rule.when.evaluate(env) is not False
    except ExpressionError:
        return True


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def open_obligations(view: View) -> tuple[ObligationRecord, ...]:
    """Return the obligations still owed: not discharged, not waived, not shown impossible, and applicable."""
    return tuple(
        o for o in view.obligations.values() if o.settled is None and applies(view, o) and not holds_now(view, o)
    )


def stage_of(view: View, contract: Contract) -> Standing:
    """Return where the task stands, from the record alone."""
    left = open_obligations(view)
    names = {o.id for o in left}
    done = tuple(o.id for o in view.obligations.values() if o.id not in names)
    doubts = tuple(view.doubts)
    open_ = tuple(o.id for o in left)
    under_way = any(c.effect == "write" for c in view.open_calls.values())
    if not left and not doubts and not under_way and view.obligations:
        return Standing(stage=Stage.COMPLETED, done=done, judged_upto=view.upto)
    missing = tuple(dict.fromkeys(r for o in left for r in _missing_for(view, contract, o)))
    if missing:
        stage = Stage.NEEDS_INFO
    elif view.any_effect():
        stage = Stage.POST_OBS
    else:
        stage = Stage.READY
    return Standing(stage=stage, done=done, open=open_, missing=missing, in_doubt=doubts, judged_upto=view.upto)


def call_for(contract: Contract, owed: ObligationRecord) -> Call | None:
    """Return the call that would discharge an obligation, with the arguments the record tells; None where no tool does.

    Its `now` is the end of time, so that evidence with a maximum age counts as too old.
    """
    tool = contract.tools.get(owed.tool or "")
    if tool is None:
        return None
    args = {name: _json(value) for name, value in owed.args.items()}
    if owed.entity is not None:
        for expr in tool.target:
            ref = expr.id.refs[0] if len(expr.id.refs) == 1 else ()
            if expr.kind == owed.entity.kind and len(ref) == 2 and ref[0] == "args":
                args.setdefault(ref[1], [owed.entity.id] if expr.each else owed.entity.id)
    return Call(tool=tool.name, args=args, now=instant_of("9999-12-31T00:00:00Z"))


def _missing_for(view: View, contract: Contract, owed: ObligationRecord) -> tuple[Reason, ...]:
    """Return what the call that would discharge an obligation still lacks, as far as the record tells."""
    call = call_for(contract, owed)
    if call is None:
        return ()
    tool = contract.tools[call.tool]
    args = call.args
    scope = scope_of(view, contract, tool, call)
    found: list[Reason] = []
    for rule in tool.requires:
        if rule.kind in ("argument", "previewed"):
            continue  # steps of the work itself, not information somebody must supply
        if rule.expr is not None and any(r[0] == "args" and len(r) > 1 and r[1] not in args for r in rule.expr.refs):
            answer = requirement(scope, rule)
            found.extend(_about_facts(answer.reasons) if isinstance(answer, Missing) else ())
            continue
        answer = requirement(scope, rule)
        if isinstance(answer, Missing):
            found.extend(answer.reasons)
    return tuple(found)


def _about_facts(reasons: tuple[Reason, ...]) -> tuple[Reason, ...]:
    return tuple(r for r in reasons if r.code.startswith("evidence."))


def _json(value: object) -> object:
    if isinstance(value, Money):
        return plain(value.amount)
    if isinstance(value, (str, int, bool, list, dict)) or value is None:
        return value
    return id_text(value) or str(value)
