"""What the act gate would have said: each consequential call of a trace, judged before its receipt.

The view is folded from the trace as it stood when the call was made, so the gate sees what the agent could have known.
A user's choice, which a live host records as a typed event, is guessed here from words, and marked as a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tallystick.audit.findings import Finding
from tallystick.audit.rules_contract import anomalies
from tallystick.audit.tools import Tools
from tallystick.contracts.types import Contract
from tallystick.gates.act import may_act
from tallystick.gates.duties import open_duties
from tallystick.model.decision import Decision
from tallystick.model.events import Confirmation, Intent, Said
from tallystick.model.proposal import Call
from tallystick.model.trace import Trace, TraceCall
from tallystick.model.values import EntityRef, instant_of
from tallystick.traces.to_events import Chain, to_events
from tallystick.view import View, effect_of, targets_of

_ASSENT: Final = re.compile(
    r"\b(?:yes|yep|yeah|sure|ok|okay|go ahead|please do|proceed|confirm(?:ed)?|do it|sounds good|that works|correct"
    r"|agreed)\b"
)


@dataclass(frozen=True, slots=True)
class Moment:
    """A call that writes under the contract, before it runs; `view` goes on being folded once the next is asked for."""

    view: View
    call: TraceCall
    proposal: Call


def moments(trace: Trace, contract: Contract) -> Iterator[Moment]:
    """Yield each call of `trace` that writes under `contract` (or is not mentioned), with the view as it stood then."""
    return Folded(trace, contract).moments()


class Folded:
    """A trace folded under a contract: `view` is where `moments` has come to, the whole trace once that is used up."""

    def __init__(self, trace: Trace, contract: Contract) -> None:
        self._trace = trace
        self._chain = Chain(trace, contract)
        self.view = View(contract, run=self._chain.run)
        self.now = instant_of(self._chain.at)

    def moments(self) -> Iterator[Moment]:
        """Yield each call that writes under the contract (or is not mentioned), before it is folded."""
        return _moments(self._trace, self.view, self._chain)


def _moments(trace: Trace, view: View, chain: Chain) -> Iterator[Moment]:
    contract = view.contract
    view.apply(chain.start())
    recorded = {call.id: call for call in trace.calls}
    cut = {message.index for message in trace.messages if message.truncated}
    words = ""
    pending: list[EntityRef] = []
    now = instant_of(chain.at)
    for body in to_events(trace, contract):
        if isinstance(body, Said) and body.role == "user":
            words = f"{words}\n{body.text}"
            if _ASSENT.search(body.text.lower()):
                for ref in pending:
                    view.apply(chain.add(_chosen(ref)))
            pending = []
        if isinstance(body, Intent):
            call = recorded[body.call]
            tool = contract.tools.get(call.tool)
            args = call.args if isinstance(call.args, dict) else {}
            targets = targets_of(tool, args) if tool is not None else ()
            for ref in targets:
                if view.confirmed(ref) is None and _names(words, ref.id):
                    view.apply(chain.add(_chosen(ref)))
            if tool is None or effect_of(tool, args) == "write":
                proposal = Call(
                    tool=call.tool,
                    args=args,
                    args_text=call.args_text,
                    now=now,
                    native_id=call.native_id,
                    turn=call.turn,
                    complete=call.message not in cut,
                )
                yield Moment(view, call, proposal)
            else:
                pending.extend(targets)
        view.apply(chain.add(body))


def judge(trace: Trace, contract: Contract, tools: Tools | None = None) -> list[Finding]:
    """Return a finding for each call that the act gate would not have admitted, and for each duty left at the end.

    Severity is error only where the call took effect and the effect stands; a call that the tool refused too did no
    harm, and what was undone later is an anomaly worth a look. A tool that the contract does not mention is one
    finding, not one for each call, and none where `tools` takes it for a read.
    """
    tools = tools or Tools(contract=contract)
    unmentioned: set[str] = set()
    refused: list[tuple[Moment, Decision]] = []
    folded = Folded(trace, contract)
    for moment in folded.moments():
        name = moment.call.tool
        if name not in contract.tools:
            if name in unmentioned or tools.use(name, moment.call.args).effect == "read":
                continue
            unmentioned.add(name)
        decision = may_act(moment.view, contract, moment.proposal)
        if not decision.positive:
            refused.append((moment, decision))
    findings = [_finding(moment.call, decision, folded.view, contract) for moment, decision in refused]
    return [*findings, *_duties(trace, contract, folded), *anomalies(trace, contract, folded.view)]


def _duties(trace: Trace, contract: Contract, folded: Folded) -> Iterator[Finding]:
    """What successful calls brought with them and nothing discharged by the end of the trace."""
    calls = {call.id: call for call in trace.calls}
    for left in open_duties(folded.view, contract, folded.now):
        call = calls[left.call.id]
        duty, tools = left.duty, " or ".join(left.duty.owes)
        yield Finding(
            code="duty.open",
            severity="error",
            message=f"`{duty.id}`: {duty.message or f'`{call.tool}` owes {tools}'}; nothing followed",
            at=call.message,
            call=call.id,
            pointer="",
            evidence=(duty.id,),
            reasons=("duty.open",),
        )


def _chosen(ref: EntityRef) -> Confirmation:
    return Confirmation(entity_kind=ref.kind, entity_id=ref.id, guessed=True)


def _names(words: str, id_: str) -> bool:
    return id_ in words and re.search(rf"(?<![\w-]){re.escape(id_)}(?![\w-])", words) is not None


def _finding(call: TraceCall, decision: Decision, view: View, contract: Contract) -> Finding:
    record = view.calls.get(call.id)
    done = record is not None and record.outcome in ("ok", "partial")
    effects = view.effects_of_call(call.id)
    undone = done and bool(effects) and all(view.undone(e) for e in effects)
    first = decision.reasons[0] if decision.reasons else None
    unknown = call.tool not in contract.tools
    what = {"hold": "held", "refuse": "refused", "return_recorded": "answered from the record",
            "reconcile": "stopped until its earlier attempt is settled"}[decision.verdict.value]  # fmt: skip
    because = f": {first.message}" if first is not None else ""
    more = f" (and {len(decision.reasons) - 1} more)" if len(decision.reasons) > 1 else ""
    return Finding(
        code=f"act.{decision.verdict.value}",
        severity="error" if done and not unknown and not undone else "warning",
        message=f"`{call.tool}` would have been {what}{because}{more}"
        + ("; it took effect and was undone later" if undone else "; it took effect" if done else ""),
        at=call.message,
        call=call.id,
        pointer="",
        guess=unknown,
        evidence=tuple(dict.fromkeys(r.where for r in decision.reasons if r.where)),
        reasons=decision.codes,
    )
