"""A deliberately naive twin of the act gate: the same rule, read off the documents, asking `naive_view` every time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tallystick.contracts.types import Contract, EntityExpr, Exclusion, Requirement, Task, Tool
from tallystick.errors import ExpressionError, InputError
from tallystick.model import jsontext
from tallystick.model.events import Confirmation, Ended, Intent, SchemaChanged, Wish, args_digest
from tallystick.model.proposal import Call
from tallystick.model.values import EntityRef, same
from tests.gates import naive_view as past
from tests.gates.naive_view import MISSING, Attempt, Record

Why = tuple[str, str]  # code, where


@dataclass(frozen=True)
class Answer:
    """The twin's decision: what a `Decision` says, without words."""

    verdict: str
    why: frozenset[Why] = frozenset()
    recorded: str | None = None
    in_doubt: str | None = None


def naive_act(contract: Contract, task: Task, run: str, events: Any, call: Call) -> Answer:
    """Return whether `call` may run now."""
    record = Record(contract, task, run, events)
    if any(True for _ in record.each(Ended)):
        return _refuse("run.closed")
    if not call.complete:
        return _refuse("args.incomplete")
    if call.args_text is not None:
        try:
            written = jsontext.loads(call.args_text)
        except InputError:
            return _refuse("args.unparseable")
        if not same(written, call.args):
            return _refuse("args.mutated")
    tool = contract.tools.get(call.tool)
    if tool is None:
        return _refuse("tool.unmentioned", call.tool) if contract.closed else Answer("admit")
    drift = _drift(record, tool, call)
    if drift is not None:
        return _refuse(*drift)
    invalid = _invalid(tool, call.args)
    if invalid:
        return Answer("refuse", frozenset(("args.invalid", where) for where in invalid))
    write = past.effect_class(tool, call.args) == "write"
    retry = False
    if write:
        earlier = _earlier(record, tool, call)
        if earlier is not None and earlier.verdict != "admit":
            return earlier
        retry = earlier is not None
    answers = [a for names in _each_item(record, tool, call) for a in _answers(record, tool, call, names, write, retry)]
    for kind, verdict in (("violated", "refuse"), ("missing", "hold")):
        why = frozenset(w for found, whys in answers if found == kind for w in whys)
        if why:
            return Answer(verdict, why)
    return Answer("admit")


def _refuse(code: str, where: str = "") -> Answer:
    return Answer("refuse", frozenset({(code, where)}))


# ---------------------------------------------------------------- the call itself


def _drift(record: Record, tool: Tool, call: Call) -> Why | None:
    changes = [body for _, body, _ in record.each(SchemaChanged) if body.tool == tool.name]
    if not changes:
        return None
    newest = changes[-1]
    if newest.effect is not None and newest.effect != tool.effect:
        return ("schema.effect_changed", tool.name)
    required = jsontext.loads(newest.schema).get("required", []) if newest.schema else []
    return ("schema.mismatch", "") if any(name not in call.args for name in required) else None


def _invalid(tool: Tool, args: Mapping[str, Any]) -> set[str]:
    """The arguments that do not fit: by the tool's own schema ("" for the whole), then by the declared types."""
    found: set[str] = set()
    schema = tool.args_schema or {}
    required = [name for name in schema.get("required", ()) if name not in args]
    if required:
        found.add("")
    if "file" in args and "file" in schema.get("properties", {}) and not isinstance(args["file"], str):
        found.add("/file")
    told = schema.get("required", ()) if found else ()
    for name, kind in tool.args.items():
        if name not in args:
            if name not in told and not kind.optional:
                found.add(f"/{name}")
            continue
        try:
            kind.parse(args[name])
        except ValueError:
            found.add(f"/{name}")
    return found


# ---------------------------------------------------------------- never twice


def _earlier(record: Record, tool: Tool, call: Call) -> Answer | None:
    key = past.key_of(tool, call.idempotency_key, call.args)
    for _, body, _ in record.each(Intent):
        args = past.args_of(body)
        wrote = body.tool == tool.name and past.effect_class(tool, args) == "write"
        if wrote and key is not None and past.key_of(tool, body.idempotency_key, args) == key:
            if not same(args, call.args):
                return _refuse("idempotency.conflict", tool.idempotency_arg or "")
            break  # a key belongs to the first call that carried it
    mine = past.identities(tool, call.args)
    if len(set(mine)) < len(mine):
        return _refuse("effect.duplicate")
    told = past.story(record)
    attempts = [a for identity in mine for a in told.attempts if a.identity == identity]
    doubtful = [a for a in attempts if a.status in ("in_doubt", "partial")]
    if doubtful:
        last = doubtful[-1]
        if tool.dedupes_by_key and key is not None and last.key == key and same(last.args, call.args):
            return Answer("admit")
        return Answer("reconcile", frozenset({("effect.in_doubt", "")}), in_doubt=last.call)
    if any(a.status in ("in_flight", "pending") for a in attempts):
        return Answer("hold", frozenset({("effect.in_flight", "")}))
    done = []
    for identity in mine:
        same_effect = [
            a for a in attempts if a.identity == identity and a.status == "done" and not _undone(record, told, a)
        ]
        if same_effect and not _wished_again(record, told, tool, call, same_effect):
            done.append(same_effect[-1])
    if not done:
        return None
    if len(done) < len(mine):
        return _refuse("effect.duplicate")
    return Answer("return_recorded", frozenset({("effect.duplicate", "")}), recorded=done[-1].receipt)


def _undone(record: Record, told: past.Story, attempt: Attempt) -> bool:
    tool = record.contract.tools.get(attempt.tool)
    return tool is not None and attempt.status == "done" and any(
        later.tool in tool.undone_by
        and later.status == "done"
        and later.seq > attempt.seq
        and (not attempt.targets or any(ref in later.targets for ref in attempt.targets))
        for later in told.attempts
    )  # fmt: skip


def _wished_again(record: Record, told: past.Story, tool: Tool, call: Call, done: list[Attempt]) -> bool:
    """Two identical calls can be two real wishes: an obligation of its own still open, or the user asked again."""
    last = done[-1]
    owed = told.owed.get(call.wish) if call.wish else None
    if owed is not None:
        return owed.tool in (None, tool.name) and past.asks_for(owed, last) and owed.by is None and not owed.settled
    for seq, wish, sealed in record.each(Wish):
        said = sealed.event.actor.role in ("host", "user", "principal", "importer")
        if said and wish.tool in (None, tool.name) and seq > last.seq:
            return True
    wanted = [o for o in told.owed.values() if o.kind == "event" and o.tool == tool.name and past.asks_for(o, last)]
    return len([o for o in wanted if o.by is not None or not o.settled]) > len(done)


# ---------------------------------------------------------------- the evidence


@dataclass
class Names:
    """What one item's call may read."""

    args: Mapping[str, Any]
    entities: dict[str, EntityRef]
    unnamed: set[str]
    env: dict[str, Any]


def _each_item(record: Record, tool: Tool, call: Call) -> Iterator[Names]:
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
            known = past.fact(record, names.entities[ref[0]], ref[1])
            if known is None or known.seen < past.last_write(record, names.entities[ref[0]]):
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
        known = past.fact(self.record, self.ref, name)
        if known is None or known.problem:
            raise KeyError(name)
        return known.value


Answered = tuple[str, list[Why]]


def _answers(record: Record, tool: Tool, call: Call, names: Names, write: bool, retry: bool) -> Iterator[Answered]:
    yield from _raised(record, call, names)
    if write or not tool.effect_cases:
        for rule in record.contract.conditions:
            if tool.name in rule.removes:
                yield from _standing(record, call, names, rule)
        for needed in tool.requires:
            yield _required(record, tool, call, names, needed)
        if tool.needs_approval is not None:
            yield _approved(record, call, tool.needs_approval, "approval")
    if write:
        for rule in record.contract.exclusive:
            if tool.name in rule.tools:
                yield _exclusive(record, tool, call, rule, retry)


def _raised(record: Record, call: Call, names: Names) -> Iterator[Answered]:
    entities = list(names.entities.values())
    for body in past.open_conditions(record, call.tool, call.args):
        if len(body.entity) == 2 and entities and EntityRef(*body.entity) not in entities:
            if body.entity[0] in names.unnamed:
                yield "missing", [("condition.unknown", body.id)]
            continue
        if not _lifts(record, call, body.id, body.authority, entities):
            yield "violated", [("condition.open", body.id)]


def _standing(record: Record, call: Call, names: Names, rule: Any) -> Iterator[Answered]:
    about = [alias for alias, ref in names.entities.items() if ref.kind == rule.kind] if rule.kind else [""]
    if rule.kind and (not about or rule.kind in names.unnamed):
        yield "missing", [("condition.unknown", rule.id)]
    for alias in about:
        env = {**names.env, rule.kind: names.env[alias]} if alias else names.env
        void = [
            f for f in (rule.when, rule.until)
            if f is not None and alias and any(
                ref[0] == rule.kind and _void(record, names.entities[alias], ref[1]) for ref in f.refs
            )
        ]  # fmt: skip
        if rule.when is not None:
            if rule.when in void:
                yield "missing", [("condition.unknown", rule.id)]
                continue
            if _is_false(rule.when, env):
                continue
        if rule.until is not None and past.true(rule.until, env) and rule.until not in void:
            continue
        if not _lifts(record, call, rule.id, rule.authority, list(names.entities.values())):
            yield "violated", [("condition.open", rule.id)]


def _is_false(expr: Any, env: Mapping[str, Any]) -> bool:
    try:
        return expr.evaluate(env) is False
    except ExpressionError:
        return False


def _void(record: Record, ref: EntityRef, name: str) -> bool:
    known = past.fact(record, ref, name)
    return known is None or known.problem or known.seen < past.last_write(record, ref)


def _exclusive(record: Record, tool: Tool, call: Call, rule: Exclusion, retry: bool) -> Answered:
    try:
        mine = past.canon(rule.per[tool.name].evaluate({"args": past.exact(tool, call.args)}))
    except ExpressionError:
        return "missing", [("exclusion.unknown", rule.id)]
    for attempt in past.story(record).attempts:
        other = record.contract.tools.get(attempt.tool)
        if other is None or attempt.tool not in rule.tools or attempt.status in ("no_effect", "simulated"):
            continue
        if retry and attempt.identity in past.identities(tool, call.args):
            continue
        if _undone(record, past.story(record), attempt):
            continue
        try:
            value = past.canon(rule.per[attempt.tool].evaluate({"args": past.exact(other, attempt.args)}))
        except ExpressionError:
            continue
        if value == mine:
            return "violated", [("exclusion.taken", rule.id)]
    return "met", []


# ---------------------------------------------------------------- requirements


def _required(record: Record, tool: Tool, call: Call, names: Names, rule: Requirement) -> Answered:
    if rule.when is not None:
        sure = not any(_unreliable(record, call, names, rule, *ref[:2]) for ref in rule.when.refs if ref[0] != "args")
        if sure and _is_false(rule.when, names.env):
            return "met", []
    if rule.kind == "any":
        found = [_required(record, tool, call, names, option) for option in rule.options]
        for kind in ("met", "missing", "violated"):
            if any(f[0] == kind for f in found):
                return kind, [w for f in found if f[0] == kind for w in f[1]]
    if rule.kind == "approval":
        return _approved(record, call, rule.role or "", rule.id)
    kinds = {"fact": _fact, "known": _known, "confirmed": _confirmed, "argument": _argument, "read": _read,
             "previewed": _previewed}  # fmt: skip
    return kinds[rule.kind](record, tool, call, names, rule)


def _unreliable(record: Record, call: Call, names: Names, rule: Requirement, alias: str, name: str) -> str | None:
    """Why a fact cannot be relied on, as a code."""
    ref = names.entities.get(alias)
    if ref is None:
        return "evidence.missing"
    known = past.fact(record, ref, name)
    if known is None:
        others = [e for e in past.of_kind(record, ref.kind) if e != ref and past.fact(record, e, name) is not None]
        return "evidence.other_entity" if others else "evidence.missing"
    if known.problem:
        return "evidence.invalid"
    if known.seen < past.last_write(record, ref):
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
        elif past.exists(record, ref):
            fields = record.contract.entities[ref.kind].fields
            known = [f for f in (past.fact(record, ref, name) for name in fields) if f is not None]
            newest = max(known, key=lambda f: f.seen, default=None)
            late = newest is None or _too_old(call, rule, newest.at)
            if rule.fresh == "write":
                late = newest is None or newest.seen < past.last_write(record, ref)
            if rule.fresh is not None and late:
                why.append(("evidence.stale", rule.id))
        elif any(e.id.startswith(ref.id) for e in past.of_kind(record, ref.kind)):
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
            or (rule.fresh == "write" and ref is not None and chosen < past.last_write(record, ref))
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
    if _too_old(call, rule, at) or (rule.fresh == "write" and any(past.void(record, ref, seen) for ref in about)):
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
        if rule.fresh == "write" and any(past.void(record, ref, seen) for ref in about):
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
    void = any(past.void(record, ref, seen) for ref in past.addressed(tool, last[3]))
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


def _approved(record: Record, call: Call, role: str, where: str) -> Answered:
    all_ = list(past.approvals(record, call.tool))
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


def _lifts(record: Record, call: Call, condition: str, authority: str, entities: list[EntityRef]) -> bool:
    """The authority approved this very call, or the condition's entity; a denial of the call outranks the latter."""
    fitting = [a for a in past.approvals(record, call.tool) if a[1] and _by(record, a[0].principal, authority)]
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
