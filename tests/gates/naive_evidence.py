"""What one call may read, and whether its requirements and approvals are met: the slow way (see `naive_act`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tallystick.contracts.types import EntityExpr, Requirement, Tool
from tallystick.errors import ExpressionError
from tallystick.model.events import Confirmation
from tallystick.model.exact import args_digest
from tallystick.model.proposal import Call
from tallystick.model.values import EntityRef, same
from tests.gates import naive_facts as facts
from tests.gates import naive_view as past
from tests.gates.naive_view import MISSING, Record

Why = tuple[str, str]  # code, where
Answered = tuple[str, list[Why]]


@dataclass
class Names:
    """What one item's call may read."""

    args: Mapping[str, Any]
    entities: dict[str, EntityRef]
    unnamed: set[str]
    env: dict[str, Any]


def each_item(record: Record, tool: Tool, call: Call) -> Iterator[Names]:
    """One reading per item of a batch; one in all for other calls."""
    args = past.exact(tool, call.args)
    start: dict[str, Any] = {"args": args, "task": record.task.bindings, "now": call.now}
    count = max([len(past.named(e, start)) for e in (*tool.target, *tool.bind) if e.each] or [1])
    for n in range(max(count, 1)):
        names = Names(args, {}, set(), dict(start))
        for expr in (*tool.target, *tool.bind):
            ref = _named(record, names, expr, n)
            if ref is None:
                names.unnamed.add(expr.kind)
            else:
                names.entities[expr.alias] = ref
                names.env[expr.alias] = _Facts(record, ref)
        yield names


def _named(record: Record, names: Names, expr: EntityExpr, n: int) -> EntityRef | None:
    for ref in expr.id.refs:
        if ref[0] in names.entities:
            known = facts.fact(record, names.entities[ref[0]], ref[1])
            if known is None or known.seen < facts.last_write(record, names.entities[ref[0]]):
                return None  # reached through a fact that is void
        elif ref[0] not in names.env:
            return None
    found = past.named(expr, names.env)
    return found[min(n, len(found) - 1)] if found else None


class _Facts(dict[str, Any]):
    """An entity's usable facts, looked up when an expression asks."""

    def __init__(self, record: Record, ref: EntityRef) -> None:
        super().__init__()
        self.record, self.ref = record, ref

    def __missing__(self, name: str) -> Any:
        known = facts.fact(self.record, self.ref, name)
        if known is None or known.problem:
            raise KeyError(name)
        return known.value


def is_false(expr: Any, env: Mapping[str, Any]) -> bool:
    try:
        return expr.evaluate(env) is False
    except ExpressionError:
        return False


# ---------------------------------------------------------------- requirements


def required(record: Record, tool: Tool, call: Call, names: Names, rule: Requirement) -> Answered:
    if rule.when is not None:
        sure = not any(_unreliable(record, call, names, rule, *ref[:2]) for ref in rule.when.refs if ref[0] != "args")
        if sure and is_false(rule.when, names.env):
            return "met", []
    if rule.kind == "any":
        found = [required(record, tool, call, names, option) for option in rule.options]
        for kind in ("met", "missing", "violated"):
            if any(f[0] == kind for f in found):
                return kind, [w for f in found if f[0] == kind for w in f[1]]
    if rule.kind == "approval":
        return approved(record, call, rule.role or "", rule.id)
    kinds = {"fact": _fact, "known": _known, "confirmed": _confirmed, "argument": _argument, "read": _read,
             "previewed": _previewed}  # fmt: skip
    return kinds[rule.kind](record, tool, call, names, rule)


def _unreliable(record: Record, call: Call, names: Names, rule: Requirement, alias: str, name: str) -> str | None:
    """Why a fact cannot be relied on, as a code."""
    ref = names.entities.get(alias)
    if ref is None:
        return "evidence.missing"
    known = facts.fact(record, ref, name)
    if known is None:
        others = [e for e in facts.of_kind(record, ref.kind) if e != ref and facts.fact(record, e, name) is not None]
        return "evidence.other_entity" if others else "evidence.missing"
    if known.problem:
        return "evidence.invalid"
    if known.seen < facts.last_write(record, ref):
        return "evidence.stale"
    return "evidence.stale" if _too_old(call, rule, known.at) else None


def _too_old(call: Call, rule: Requirement, at: Any) -> bool:
    return isinstance(rule.fresh, int) and (at is None or (call.now - at).total_seconds() > rule.fresh)


def _fact(record: Record, _: Tool, call: Call, names: Names, rule: Requirement) -> Answered:
    assert rule.expr is not None
    refs = [ref for ref in rule.expr.refs if ref[0] != "args"]
    bad = [code for ref in refs if (code := _unreliable(record, call, names, rule, *ref[:2])) is not None]
    if bad:
        return "missing", [(code, rule.id) for code in bad]
    return ("met", []) if past.true(rule.expr, names.env) else ("violated", [("evidence.violated", rule.id)])


def _known(record: Record, _: Tool, call: Call, names: Names, rule: Requirement) -> Answered:
    assert rule.entity is not None
    why = []
    for ref in past.named(rule.entity, names.env) or [None]:
        if ref is None:
            why.append(("evidence.unknown_entity", rule.id))
        elif facts.exists(record, ref):
            fields = record.contract.entities[ref.kind].fields
            known = [f for f in (facts.fact(record, ref, name) for name in fields) if f is not None]
            newest = max(known, key=lambda f: f.seen, default=None)
            late = newest is None or _too_old(call, rule, newest.at)
            if rule.fresh == "write":
                late = newest is None or newest.seen < facts.last_write(record, ref)
            if rule.fresh is not None and late:
                why.append(("evidence.stale", rule.id))
        elif any(e.id.startswith(ref.id) for e in facts.of_kind(record, ref.kind)):
            why.append(("evidence.ambiguous_entity", rule.id))
        else:
            why.append(("evidence.unknown_entity", rule.id))
    return ("missing", why) if why else ("met", [])


def _confirmed(record: Record, _: Tool, call: Call, names: Names, rule: Requirement) -> Answered:
    assert rule.entity is not None
    for ref in past.named(rule.entity, names.env) or [None]:
        chosen, at = 0, None
        for seq, body, sealed in record.each(Confirmation):
            role = sealed.event.actor.role
            if body.name or ref is None or (body.entity_kind, body.entity_id) != (ref.kind, ref.id):
                continue
            if role in ("host", "user", "importer", "principal") and (not body.guessed or role == "importer"):
                chosen, at = seq, past.instant(sealed.event.at)
        if (
            not chosen
            or _too_old(call, rule, at)
            or (rule.fresh == "write" and ref is not None and chosen < facts.last_write(record, ref))
        ):
            return "missing", [("confirmation.missing", rule.id)]
    return "met", []


def _good_receipts(record: Record, name: str) -> list[tuple[int, Any, Any, int, Any]]:
    """(seq, receipt, call's arguments, seen, at) of every good receipt of a tool, in order."""
    found = []
    for seq, body, sealed in past.receipts(record):
        intent = past.intent_of(record, body.call)
        if intent is None or intent[1].tool != name or not past.good(record, seq, body, sealed):
            continue
        seen, at = past.dated(record, seq, body, sealed)
        args = past.args_of(intent[1])
        if past.effect_class(record.contract.tools.get(name), args) == "write" and body.cached_from is None:
            seen = seq
        found.append((seq, body, args, seen, at))
    return found


def _argument(record: Record, tool: Tool, call: Call, names: Names, rule: Requirement) -> Answered:
    assert rule.tool is not None
    assert rule.arg is not None
    mine = set(names.entities.values())
    stated = []
    for _, body, args, seen, at in _good_receipts(record, rule.tool):
        theirs = set(past.addressed(record.contract.tools.get(rule.tool), args))
        value = past.dig(past.value_of(body), rule.pointer)
        if value is not MISSING and (not mine or not theirs or mine & theirs):
            stated.append((seen, value, theirs or mine, at))
    if not stated:
        return "missing", [("evidence.missing", rule.id)]
    seen, value, about, at = [s for s in stated if s[0] == max(s[0] for s in stated)][-1]
    if _too_old(call, rule, at) or (rule.fresh == "write" and any(facts.void(record, ref, seen) for ref in about)):
        return "missing", [("evidence.stale", rule.id)]
    given = call.args.get(rule.arg, MISSING)
    fits = given is not MISSING and same(given, value)
    return ("met", []) if fits else ("violated", [("argument.mismatch", rule.id)])


def _read(record: Record, _: Tool, call: Call, names: Names, rule: Requirement) -> Answered:
    assert rule.tool is not None
    for _, body, args, seen, at in _good_receipts(record, rule.tool):
        env = {**names.env, "args": args, "result": past.value_of(body), "call": names.args}
        if rule.expr is not None and not past.true(rule.expr, env):
            continue
        about = past.addressed(record.contract.tools.get(rule.tool), args) or list(names.entities.values())
        if _too_old(call, rule, at):
            continue
        if rule.fresh == "write" and any(facts.void(record, ref, seen) for ref in about):
            continue
        return "met", []
    return "missing", [("evidence.missing", rule.id)]


def _previewed(record: Record, tool: Tool, call: Call, names: Names, rule: Requirement) -> Answered:
    """The last preview of these very arguments, if it is good and nothing was written since."""
    last = None
    for seq, body, sealed in past.receipts(record):
        intent = past.intent_of(record, body.call)
        if intent is None or intent[0] > seq or intent[1].tool != tool.name:
            continue
        args = past.args_of(intent[1])
        if past.effect_class(tool, args) != "preview":
            continue
        if all(_alike(args.get(a, MISSING), call.args.get(a, MISSING)) for a in rule.args_equal):
            last = (seq, body, sealed, args)
    if last is None or not past.good(record, *last[:3]):
        return "missing", [("preview.missing", rule.id)]
    seen, at = past.dated(record, *last[:3])
    void = any(facts.void(record, ref, seen) for ref in past.addressed(tool, last[3]))
    if void or _too_old(call, rule, at):
        return "missing", [("preview.missing", rule.id)]
    if rule.expr is None or past.true(rule.expr, {**names.env, "preview": past.value_of(last[1])}):
        return "met", []
    return "violated", [("preview.mismatch", rule.id)]


def _alike(left: Any, right: Any) -> bool:
    return left is right if MISSING in (left, right) else same(left, right)


# ---------------------------------------------------------------- approvals


def _by(record: Record, who: str, role: str) -> bool:
    principal = next((p for p in record.task.principals if p.id == who), None)
    return not role or role == who or (principal is not None and principal.role == role)


def approved(record: Record, call: Call, role: str, where: str) -> Answered:
    all_ = list(facts.approvals(record, call.tool))
    exact = [a for a in all_ if a[0].args_sha256 == args_digest(call.args)]
    fitting = [a for a in exact if a[1] and _by(record, a[0].principal, role)]
    if fitting:
        body, _, used = fitting[-1]
        if body.decision == "deny":
            return "violated", [("approval.denied", where)]
        if used is not None:
            return "missing", [("approval.consumed", where)]
        return ("missing", [("approval.expired", where)]) if _expired(body, call) else ("met", [])
    if exact:
        return "missing", [("approval.untrusted", where)]
    others = any(force and body.decision == "approve" for body, force, _ in all_)
    return "missing", [("approval.other_args" if others else "approval.missing", where)]


def _expired(body: Any, call: Call) -> bool:
    at = past.instant(body.expires)
    return at is not None and at <= call.now


def lifts(record: Record, call: Call, condition: str, authority: str, entities: list[EntityRef]) -> bool:
    """The authority approved this very call, or the condition's entity; a denial of the call outranks the latter."""
    fitting = [a for a in facts.approvals(record, call.tool) if a[1] and _by(record, a[0].principal, authority)]
    exact = [a for a in fitting if a[0].args_sha256 == args_digest(call.args)]
    if exact:
        body, _, used = exact[-1]
        if body.decision == "deny":
            return False
        if used is None and not _expired(body, call):
            return True
    entity = [
        a for a in fitting
        if a[0].for_condition == condition and len(a[0].entity) == 2 and EntityRef(*a[0].entity) in entities
    ]  # fmt: skip
    if not entity:
        return False
    body, _, used = entity[-1]
    return body.decision == "approve" and used is None and not _expired(body, call)
