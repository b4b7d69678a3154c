"""Where does the task really stand? Derived from the record; what a model reports is only compared with it.

Source: unreliable-progress-bar, the oracle G(X): completed when nothing remains; needs information while evidence that
an open obligation's call demands is missing, also after an effect; post-observation once an effect exists and work
remains; ready otherwise. Nothing remains where everything owed is done and the stop gate would miss nothing but the
answer: what the answer states is not work, and the gate judges it when it is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

import msgspec

from tallystick.contracts.types import Contract
from tallystick.gates.answers import Missing, Violated
from tallystick.gates.approval import approval_of
from tallystick.gates.conditions import raised, standing
from tallystick.gates.evidence import requirement
from tallystick.gates.owed import applies, holds_now, open_obligations
from tallystick.gates.remaining import duties_left, open_conditions, unsettled
from tallystick.gates.scope import Scope, scope_of
from tallystick.model.decision import Reason
from tallystick.model.proposal import Call
from tallystick.model.values import Money, instant_of, plain
from tallystick.view import ObligationRecord, View
from tallystick.view.keys import id_text

__all__ = ["Obligation", "Stage", "Standing", "applies", "call_for", "holds_now", "open_obligations", "stage_of"]

END_OF_TIME: Final = instant_of("9999-12-31T00:00:00Z")
"""The instant that is judged at where none is given: evidence with a maximum age then counts as too old."""


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

State = Literal["open", "discharged", "holds", "waived", "impossible", "not_applicable"]
"""open: still owed · discharged: by an effect · holds: of the state kind, and true now · waived: by a principal ·
impossible: shown by evidence · not_applicable: its condition is false."""


class Obligation(msgspec.Struct, frozen=True, kw_only=True):
    """One obligation instance, and where it stands.

    Attributes:
        id: its id.
        text: what it says, for people.
        tool: the tool whose effect discharges it, "" where facts do.
        entity: what it is about, as `kind(id)`, "" for nothing in particular.
        state: whether it is still owed, or why not.
        receipt: the receipt that discharged it, "" for none.
        missing: the information its call still lacks.
        blocked: the conditions and approvals that stand in the way of its call.
    """

    id: str
    text: str = ""
    tool: str = ""
    entity: str = ""
    state: State = "open"
    receipt: str = ""
    missing: tuple[Reason, ...] = ()
    blocked: tuple[Reason, ...] = ()


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """The derived stage, the obligations done and open, and what is missing and why.

    Attributes:
        stage: the stage.
        done: ids of the obligations that are owed no more.
        open: ids of those that are.
        missing: what information is missing and which reads would give it, over all open obligations.
        in_doubt: ids of the calls in doubt.
        judged_upto: seq up to which the record was read.
        obligations: every obligation instance, in the order they are owed.
        duties: standing duties that calls of the run brought about and nothing discharged.
        blocked: conditions and approvals that stand in the way, of an obligation's call or of the end.
        unsettled: calls in doubt, calls without a result, and child runs without an end.
    """

    stage: Stage
    done: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    missing: tuple[Reason, ...] = ()
    in_doubt: tuple[str, ...] = ()
    judged_upto: int = 0
    obligations: tuple[Obligation, ...] = ()
    duties: tuple[Reason, ...] = ()
    blocked: tuple[Reason, ...] = ()
    unsettled: tuple[Reason, ...] = ()

    @property
    def left(self) -> bool:
        """Whether anything is known to be left. A task that owes nothing may have nothing left and be in any stage."""
        return bool(self.open or self.duties or self.blocked or self.unsettled)


def stage_of(view: View, contract: Contract, now: datetime | None = None) -> Standing:
    """Return where the task stands, from the record alone. Pure.

    Args:
        view: the run's record.
        contract: what it is judged by.
        now: the instant to judge the age of evidence at; `END_OF_TIME` where None.
    """
    now = now or END_OF_TIME
    owed = tuple(_standing_of(view, contract, o, now) for o in view.obligations.values())
    left = [o for o in owed if o.state == "open"]
    duties = tuple(duties_left(view, contract, now))
    conditions = tuple(open_conditions(view))
    pending = tuple(unsettled(view))
    missing = tuple(dict.fromkeys(r for o in left for r in o.missing))
    # The paper's priority: nothing remains, then what is missing (also after an effect), then whether there is one.
    if owed and not left and not duties and not conditions and not pending:
        stage = Stage.COMPLETED
    elif missing:
        stage = Stage.NEEDS_INFO
    elif view.any_effect():
        stage = Stage.POST_OBS
    else:
        stage = Stage.READY
    return Standing(
        stage=stage,
        done=tuple(o.id for o in owed if o.state != "open"),
        open=tuple(o.id for o in left),
        missing=missing,
        in_doubt=tuple(view.doubts),
        judged_upto=view.upto,
        obligations=owed,
        duties=duties,
        blocked=tuple(dict.fromkeys((*(r for o in left for r in o.blocked), *conditions))),
        unsettled=pending,
    )


def _standing_of(view: View, contract: Contract, owed: ObligationRecord, now: datetime) -> Obligation:
    effect = owed.discharged_by
    state = _state(view, owed)
    missing, blocked = _in_the_way(view, contract, owed, now) if state == "open" else ((), ())
    return Obligation(
        id=owed.id,
        text=owed.text,
        tool=owed.tool or "",
        entity=str(owed.entity) if owed.entity is not None else "",
        state=state,
        receipt=effect.receipt.id if effect is not None and effect.receipt is not None else "",
        missing=missing,
        blocked=blocked,
    )


def _state(view: View, owed: ObligationRecord) -> State:
    if owed.settled is not None:
        return owed.settled
    if not applies(view, owed):
        return "not_applicable"
    if holds_now(view, owed):
        return "discharged" if owed.kind == "event" else "holds"
    return "open"


# ---------------------------------------------------------------- what stands in the way of one obligation


def call_for(contract: Contract, owed: ObligationRecord, now: datetime = END_OF_TIME) -> Call | None:
    """Return the call that would discharge an obligation, with the arguments the record tells; None where no tool does.

    Unless told otherwise its `now` is the end of time, so that evidence with a maximum age counts as too old.
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
    return Call(tool=tool.name, args=args, now=now)


def _in_the_way(
    view: View, contract: Contract, owed: ObligationRecord, now: datetime
) -> tuple[tuple[Reason, ...], tuple[Reason, ...]]:
    """Return (information missing, conditions and approvals in the way) of the call that would discharge `owed`."""
    call = call_for(contract, owed, now)
    if call is None:
        return (), ()
    scope = scope_of(view, contract, contract.tools[call.tool], call)
    unknown, blocked = _conditions(scope)
    return tuple(dict.fromkeys((*_lacking(scope), *unknown))), tuple(dict.fromkeys(blocked))


def _lacking(scope: Scope) -> Iterator[Reason]:
    """Yield what the call still lacks, as far as the record tells; steps of the work itself are not information."""
    args = scope.call.args
    for rule in scope.tool.requires:
        if rule.kind in ("argument", "previewed"):
            continue
        answer = requirement(scope, rule)
        if not isinstance(answer, Missing):
            continue
        # Arguments that the agent still has to choose are not in the record, so only facts can be missing for them.
        chosen = rule.expr is not None and any(
            r[0] == "args" and len(r) > 1 and r[1] not in args for r in rule.expr.refs
        )
        yield from (r for r in answer.reasons if not chosen or r.code.startswith("evidence."))


def _conditions(scope: Scope) -> tuple[list[Reason], list[Reason]]:
    """Return (facts needed to tell whether a condition applies, the conditions and approvals that stand in the way)."""
    unknown: list[Reason] = []
    blocked: list[Reason] = []
    for answer in (*raised(scope), *(standing(scope, rule) for rule in scope.contract.conditions)):
        if isinstance(answer, Missing):
            unknown.extend(r for r in answer.reasons if r.reads)
            blocked.extend(r for r in answer.reasons if not r.reads)
        elif isinstance(answer, Violated):
            blocked.extend(answer.reasons)
    if scope.tool.needs_approval is not None:
        found = approval_of(scope.view, scope.call, scope.tool.needs_approval, "approval")
        blocked.extend(found.reasons if isinstance(found, Missing | Violated) else ())
    return unknown, blocked


def _json(value: object) -> object:
    if isinstance(value, Money):
        return plain(value.amount)
    if isinstance(value, (str, int, bool, list, dict)) or value is None:
        return value
    return id_text(value) or str(value)
