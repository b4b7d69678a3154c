"""The act gate: may this call run now?

Read top to bottom, this is the rule: a run that is over runs nothing; a call that is not whole is not a call; a tool
nobody declared is not waved through; an effect is never realised twice; a condition removes an action; and a
consequential call needs every piece of evidence its contract names, established before it, for that very entity.
Source: SafeActBench, evidence before action.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

import msgspec

from tallystick.contracts.arguments import validate_args
from tallystick.contracts.types import Contract, Tool
from tallystick.errors import InputError, TallystickError
from tallystick.gates.answers import Answer, Met, Missing, Violated
from tallystick.gates.approval import approval_of
from tallystick.gates.conditions import raised, standing
from tallystick.gates.duplicates import duplicate
from tallystick.gates.evidence import requirement
from tallystick.gates.rewrites import rewritten
from tallystick.gates.scope import Scope, scopes_of
from tallystick.model import jsontext
from tallystick.model.decision import Decision, Reason, Verdict
from tallystick.model.proposal import Call
from tallystick.model.values import same
from tallystick.view import View, effect_of
from tallystick.view.keys import effect_keys, exclusion_values, typed_args


def may_act(view: View, contract: Contract, call: Call) -> Decision:
    """Return whether `call` may run now.

    Pure: no I/O, no clock (`call.now` is the recorded instant). Anything that goes wrong in here is a refusal, because
    an error must never be an admit.

    Returns:
        admit; hold (obtainable evidence missing, the reasons name the reads); refuse (what is violated);
        return_recorded (`recorded` names the receipt); reconcile (`in_doubt` names the call to settle).
    """
    try:
        decision = _decide(view, contract, call)
    except TallystickError as bad:
        decision = _refuse("gate.error", f"the call could not be judged: {bad.message}", "a valid contract and call")
    except Exception as bad:  # noqa: BLE001 - fail closed: our own fault means the call does not run
        decision = _refuse("gate.error", f"the gate itself failed: {type(bad).__name__}", "a fixed gate")
    if decision.judged_upto != view.upto:
        decision = msgspec.structs.replace(decision, judged_upto=view.upto)
    return decision


def _refuse(code: str, message: str, reverses: str, where: str = "") -> Decision:
    reason = Reason(code=code, message=message, reverses=reverses, where=where)
    return Decision(verdict=Verdict.REFUSE, reasons=(reason,))


def _decide(view: View, contract: Contract, call: Call) -> Decision:
    if view.ended is not None:
        return _refuse("run.closed", f"the run has ended: {view.ended.status}", "a new run")
    tool = contract.tools.get(call.tool)
    malformed = _malformed(tool, call)
    if malformed is not None:
        return malformed
    if tool is None:
        return _unmentioned(contract, call)
    drifted = _drifted(view, tool, call)
    if drifted is not None:
        return drifted
    typed = typed_args(tool, call.args)
    problems = validate_args(tool, call.args, typed)
    if problems:
        return Decision(
            verdict=Verdict.REFUSE,
            reasons=tuple(
                Reason(code="args.invalid", message=p.message, reverses=p.fix or "arguments that fit", where=p.pointer)
                for p in problems
            ),
        )
    effect = effect_of(tool, call.args)
    earlier: Decision | None = None
    if effect == "write":
        earlier = duplicate(view, tool, call, typed)
        if earlier is not None and earlier.verdict is not Verdict.ADMIT:
            return earlier
    scopes = scopes_of(view, contract, tool, call, typed)
    return _weigh((answer for scope in scopes for answer in _answers(scope, effect, earlier)), earlier, view.upto)


def _answers(scope: Scope, effect: str, earlier: Decision | None) -> Iterator[Answer]:
    tool = scope.tool
    if tool.volatile and effect == "read":
        yield Met((), _progress(scope))
    yield from raised(scope)
    # The contract's demands speak about what is consequential; a preview or read by the same tool is how to meet them.
    if effect == "write" or not tool.effect_cases:
        for rule in scope.contract.conditions:
            yield standing(scope, rule)
        for needed in tool.requires:
            yield requirement(scope, needed)
        if tool.needs_approval is not None:
            yield approval_of(scope.view, scope.call, tool.needs_approval, "approval")
    if effect == "write":
        yield from rewritten(scope)
        yield from _exclusions(scope, earlier)


def _progress(scope: Scope) -> tuple[Reason, ...]:
    """Polling a volatile read again is progress while its answers change."""
    asked = [
        r for r in scope.view.receipts_of(scope.tool.name) if r.call is not None and r.call.args == scope.call.args
    ]
    if len(asked) < 2 or same(asked[-1].value, asked[-2].value):
        return ()
    text = f"{scope.tool.name} is volatile, and its last two answers differ"
    return (Reason(code="read.progress", message=text, where=scope.tool.name, refs=(asked[-2].seq, asked[-1].seq)),)


def _weigh(answers: Iterator[Answer], earlier: Decision | None, upto: int) -> Decision:
    refusals: list[Reason] = []
    holds: list[Reason] = []
    basis: list[str] = list(earlier.basis) if earlier is not None else []
    notes: list[Reason] = list(earlier.reasons) if earlier is not None else []
    for answer in answers:
        if isinstance(answer, Met):
            basis.extend(answer.digests)
            notes.extend(answer.notes)
        elif isinstance(answer, Missing):
            holds.extend(answer.reasons)
        else:
            refusals.extend(answer.reasons)
            basis.extend(answer.digests)
    unique = tuple(dict.fromkeys(basis))
    if refusals:
        return Decision(verdict=Verdict.REFUSE, reasons=tuple(dict.fromkeys(refusals)), basis=unique)
    if holds:
        return Decision(verdict=Verdict.HOLD, reasons=tuple(dict.fromkeys(holds)), basis=unique)
    return Decision(verdict=Verdict.ADMIT, reasons=tuple(dict.fromkeys(notes)), basis=unique, judged_upto=upto)


def _malformed(tool: Tool | None, call: Call) -> Decision | None:
    """A call whose raw text was cut, glued or changed on the way is not the call the model made."""
    if not call.complete:
        return _refuse("args.incomplete", "the turn that made this call was cut off", "the whole call, made again")
    if call.args_text is None:
        return None
    try:
        written = jsontext.loads(call.args_text)
    except InputError as bad:
        return _refuse(
            "args.unparseable", f"the raw argument text is not one JSON object: {bad.message}", "one JSON object"
        )
    given = call.args
    minted = (tool.idempotency_arg or "") if tool is not None and call.idempotency_key is not None else ""
    if (
        minted in given
        and given[minted] == call.idempotency_key
        and isinstance(written, dict)
        and minted not in written
    ):
        given = {name: value for name, value in given.items() if name != minted}  # the runtime's key, not the model's
    if not same(written, given):
        return _refuse(
            "args.mutated", "the arguments to dispatch differ from the raw argument text", "the arguments as written"
        )
    return None


def _unmentioned(contract: Contract, call: Call) -> Decision:
    if not contract.closed:
        return Decision(verdict=Verdict.ADMIT)
    near = difflib.get_close_matches(call.tool, contract.tools, n=1, cutoff=0.75)
    return _refuse(
        "tool.unmentioned",
        f"the contract `{contract.name}` does not mention `{call.tool}`"
        + (f"; did you mean `{near[0]}`?" if near else ""),
        "a contract that declares its effect",
        where=call.tool,
    )


def _drifted(view: View, tool: Tool, call: Call) -> Decision | None:
    """The tool is not the one the contract was reviewed against."""
    change = view.schema_changes.get(tool.name)
    if change is None:
        return None
    seq, body = change
    if body.effect is not None and body.effect != tool.effect:
        reason = Reason(
            code="schema.effect_changed",
            message=f"{tool.name} was declared {tool.effect}; it now says {body.effect}",
            reverses="a contract reviewed against the live tool",
            where=tool.name,
            refs=(seq,),
        )
        return Decision(verdict=Verdict.REFUSE, reasons=(reason,))
    if body.schema:
        live = jsontext.loads(body.schema)
        problems = validate_args(_bare(tool, live), call.args) if isinstance(live, dict) else []
        if problems:
            reason = Reason(
                code="schema.mismatch",
                message=f"the live schema of {tool.name} does not accept this call: {problems[0].message}",
                reverses=problems[0].fix or "arguments that fit the live schema",
                where=problems[0].pointer,
                refs=(seq,),
            )
            return Decision(verdict=Verdict.REFUSE, reasons=(reason,))
    return None


def _bare(tool: Tool, schema: dict[str, object]) -> Tool:
    """Return a tool of that name with nothing but `schema`, for validating against a live schema."""
    return Tool(name=tool.name, effect=tool.effect, args_schema=schema)


def _exclusions(scope: Scope, earlier: Decision | None) -> Iterator[Answer]:
    """At most one of the tools takes effect per value of `per` (one remedy per item)."""
    if not scope.contract.exclusive:
        return
    tool = scope.tool
    # A retry under the same key is the same effect, so the attempt it repeats does not stand in its way.
    same_effect = frozenset(effect_keys(tool, scope.call.args, scope.args)) if earlier is not None else frozenset()
    falls_under = dict(exclusion_values(scope.contract, tool.name, scope.call.args, scope.args))
    for rule in scope.contract.exclusive:
        if tool.name not in rule.tools or rule.id in falls_under:
            continue
        reason = Reason(
            code="exclusion.unknown",
            message=f"`{rule.id}` may apply: these arguments do not tell what it is counted per",
            reverses="the arguments that tell",
            where=rule.id,
        )
        yield Missing((reason,))
    for name, value in falls_under.items():
        for effect in scope.view.exclusive(name, value):
            if effect.status in ("no_effect", "simulated") or effect.key in same_effect or scope.view.undone(effect):
                continue
            rule = next(r for r in scope.contract.exclusive if r.id == name)
            said = rule.message or f"only one of {', '.join(rule.tools)} may take effect"
            reason = Reason(
                code="exclusion.taken",
                message=f"`{name}`: {said}; {effect.tool} already did in call {effect.call.id}",
                reverses=f"evidence that call {effect.call.id} of {effect.tool} had no effect",
                where=name,
                refs=(effect.call.seq,),
            )
            yield Violated((reason,), (effect.call.digest,))
            break
