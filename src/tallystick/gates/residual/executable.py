"""(iv) Dependencies: each call of the remainder will have what the act gate asks of it, or nothing is begun.

A call that is wholly known is put before the act gate as the record stands. What the gate misses must come from a call
before it; what people must say first cannot come from any call, so the remainder is held. A later write about entities
that the remainder itself changes is judged again when it runs; here only what no call can change counts.
A hold is ours: the source counts holds and does not say what they are.
Source: residual completion, section 3.4, step 1 (iv).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

from tallystick.contracts.types import Contract, Requirement, Tool
from tallystick.gates.act import may_act
from tallystick.gates.answers import Missing, Violated
from tallystick.gates.conditions import raised, standing
from tallystick.gates.evidence import requirement
from tallystick.gates.residual.planned import Planned
from tallystick.gates.residual.reasons import no
from tallystick.gates.residual.refs import ref_of
from tallystick.gates.residual.supply import Known, Supply, is_of_people
from tallystick.gates.scope import Scope, scopes_of
from tallystick.model.decision import Decision, Reason, Verdict
from tallystick.model.pointer import join
from tallystick.model.proposal import Call
from tallystick.view import View
from tallystick.view.keys import typed_args

_ABOUT_ARGS: Final = ("args.", "schema.", "tool.", "gate.")
"""Codes of calls that do not fit: grounding says so already, or nobody can judge them."""
_TWICE: Final = frozenset({"effect.duplicate", "effect.in_doubt", "effect.in_flight", "idempotency.conflict"})


def executable(
    view: View, contract: Contract, calls: Sequence[Planned], covers: Callable[[str], Sequence[str]], now: datetime
) -> Iterator[Reason]:
    """Yield what stands in the way of each call, as far as it can be told before the first write."""
    supply = Supply(calls)
    known = Known()
    for at, planned in enumerate(calls):
        if planned.tool is not None:
            events = [n for n in covers(planned.id) if (o := view.obligations.get(n)) is not None and o.kind == "event"]
            call = Call(
                tool=planned.name, args=planned.args, now=now, wish=events[0] if len(events) == 1 else ""
            )  # fmt: skip
            if planned.dynamic:
                refused, held = _in_part(view, contract, planned.tool, planned, call)
            else:
                refused, held = _whole(may_act(view, contract, call))
            changed = not known.written.keys().isdisjoint(planned.targets)
            yield from _refusals(planned, _for_good(view, planned.tool, refused, supply, at) if changed else refused)
            yield from _holds(planned, planned.tool, held, supply, at, changed=changed)
            yield from _unbound(planned, planned.tool, calls, supply)
            if changed:
                yield from known.void(view, contract, planned, planned.tool, call)
        known.after(planned, at)


def _whole(decision: Decision) -> tuple[list[Reason], list[Reason]]:
    """Return (what refuses, what is missing) of the act gate's answer."""
    if decision.verdict is Verdict.ADMIT:
        return [], []
    held = decision.verdict is Verdict.HOLD
    reasons = list(decision.reasons)
    return ([], reasons) if held and not _TWICE.intersection(decision.codes) else (reasons, [])


def _in_part(
    view: View, contract: Contract, tool: Tool, planned: Planned, call: Call
) -> tuple[list[Reason], list[Reason]]:
    """Return (what refuses, what is missing) of a write that is not wholly known: what does not hang on the rest."""
    refused: list[Reason] = []
    held: list[Reason] = []
    for scope in scopes_of(view, contract, tool, call, typed_args(tool, call.args)):
        answers = [*raised(scope), *(standing(scope, rule) for rule in contract.conditions)]
        answers.extend(requirement(scope, rule) for rule in tool.requires if not _hangs(scope, planned, rule))
        for answer in answers:
            if isinstance(answer, Violated):
                refused.extend(answer.reasons)
            elif isinstance(answer, Missing):
                held.extend(answer.reasons)
    if tool.needs_approval is not None:
        text = f"{tool.name} needs an approval of exactly its arguments, which are not known yet"
        held.append(Reason(code="approval.missing", message=text, reverses="arguments known now, and the approval",
                           where="approval"))  # fmt: skip
    return refused, held


def _hangs(scope: Scope, planned: Planned, rule: Requirement) -> bool:
    """Return whether a requirement looks at an argument that is not known yet."""
    if rule.kind == "approval" or planned.hangs_on(rule.expr, rule.when, rule.entity.id if rule.entity else None):
        return True
    named = {*rule.args_equal, *((rule.arg,) if rule.arg is not None else ())}
    return not planned.dynamic.isdisjoint(named) or any(_hangs(scope, planned, option) for option in rule.options)


def _for_good(view: View, tool: Tool, refused: Iterable[Reason], supply: Supply, at: int) -> list[Reason]:
    """Of a call about what the remainder changes before: what no call of it can reverse."""
    raised_ids = {record.body.id for record in view.raised}
    fixed = {rule.id for rule in _each(tool.requires) if rule.tool is not None and not supply.runs(rule.tool, at)}
    return [
        r for r in refused
        if r.code == "approval.denied" or r.code in _TWICE or (r.code == "condition.open" and r.where in raised_ids)
        or (r.code == "argument.mismatch" and r.where in fixed)
    ]  # fmt: skip


def _each(rules: Iterable[Requirement]) -> Iterator[Requirement]:
    for rule in rules:
        yield rule
        yield from _each(rule.options)


def _refusals(planned: Planned, refused: Iterable[Reason]) -> Iterator[Reason]:
    for reason in refused:
        if reason.code.startswith(_ABOUT_ARGS):
            yield no("residual.grounding", f"`{planned.id}`: {reason.message}", reason.reverses, planned.id)
        else:
            code = "residual.duplicate" if reason.code in _TWICE else "residual.effect"
            yield no(code, f"`{planned.id}` ({reason.code}): {reason.message}", reason.reverses, planned.id)


# ---------------------------------------------------------------- bound to the predecessor


def _unbound(planned: Planned, tool: Tool, calls: Sequence[Planned], supply: Supply) -> Iterator[Reason]:
    """Yield the arguments that must be a predecessor's result, are not known yet, and are bound to something else."""
    for top in tool.requires:
        options = [top, *top.options] if top.kind == "any" else [top]
        wanted = [rule for rule in options if rule.kind == "argument" and rule.arg in planned.dynamic]
        if top.when is not None or not wanted or (top.kind == "any" and len(wanted) + 1 < len(options)):
            continue
        if not any(_is_bound(planned, rule, calls, supply) for rule in wanted):
            text = f"`{planned.id}`: `{wanted[0].arg}` is not bound to what `{top.id}` asks for"
            places = " or ".join(f"{r.tool} at {join(r.pointer)}" for r in wanted)
            yield no("residual.dependency", text, f"a reference to the result of {places}", planned.id)


def _is_bound(planned: Planned, rule: Requirement, calls: Sequence[Planned], supply: Supply) -> bool:
    ref = ref_of(planned.written.get(rule.arg or ""))
    if ref is None or ref.tokens != rule.pointer or ref.source not in supply.at:
        return False
    other = calls[supply.at[ref.source]]
    return other.name == rule.tool and (
        not other.targets or not planned.targets or not set(other.targets).isdisjoint(planned.targets)
    )


# ---------------------------------------------------------------- what is missing, and who would give it


def _holds(
    planned: Planned, tool: Tool, held: Sequence[Reason], supply: Supply, at: int, *, changed: bool
) -> Iterator[Reason]:
    """Yield what is missing and no call before this one gives; of several acceptable sources one is enough.

    About an entity that the remainder changes before, a fact may yet come: what people say does not, and neither does
    the predecessor's result by itself where the argument is a value and not bound to it.
    """
    groups: dict[str, dict[str, list[Reason]]] = {}
    rules = {i: top for top in tool.requires for i in _ids(top)}
    single = {i: rule for top in tool.requires for i, rule in _ids(top).items()}
    for reason in held:
        top = rules.get(reason.where)
        groups.setdefault(top.id if top is not None else reason.where, {}).setdefault(reason.where, []).append(reason)
    for options in groups.values():
        left = {
            where: [
                r
                for r in reasons
                if not supply.before(planned, single.get(where), r, at)
                and (not changed or _stays(single.get(where), r))
            ]
            for where, reasons in options.items()
        }
        top = rules.get(next(iter(options)))
        if not (top is not None and top.kind == "any" and not all(left.values())):
            for where, reasons in left.items():
                for reason in reasons:
                    yield _hold(planned, single.get(where), reason, supply, at)


def _stays(rule: Requirement | None, reason: Reason) -> bool:
    return is_of_people(reason) or (rule is not None and rule.kind == "argument")


def _ids(rule: Requirement) -> dict[str, Requirement]:
    found = {rule.id: rule}
    for option in rule.options:
        found.update(_ids(option))
    return found


def _hold(planned: Planned, rule: Requirement | None, reason: Reason, supply: Supply, at: int) -> Reason:
    text = f"`{planned.id}` ({reason.code}): {reason.message}"
    if rule is not None and rule.kind in ("argument", "previewed") and not is_of_people(reason):
        return no(
            "residual.dependency", f"{text}; no call before it gives that", reason.reverses, planned.id, reason.reads
        )
    if supply.after(reason, at):
        return no(
            "residual.dependency",
            f"{text}; a later call would give that",
            "that call before it",
            planned.id,
            reason.reads,
        )
    return no("residual.hold", text, reason.reverses, planned.id, reason.reads)
