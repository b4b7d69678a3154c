"""A deliberately naive twin of the act gate: the same rule, read off the documents, asking `naive_view` every time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tallystick.contracts.types import Contract, Exclusion, Task, Tool
from tallystick.errors import ExpressionError, InputError
from tallystick.model import jsontext
from tallystick.model.events import Ended, Intent, SchemaChanged, Wish
from tallystick.model.proposal import Call
from tallystick.model.values import EntityRef, same
from tests.gates import naive_effects as effects
from tests.gates import naive_facts as facts
from tests.gates import naive_view as past
from tests.gates.naive_effects import Attempt
from tests.gates.naive_evidence import Answered, Names, Why, approved, each_item, is_false, lifts, required
from tests.gates.naive_view import Record


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
    answers = [a for names in each_item(record, tool, call) for a in _answers(record, tool, call, names, write, retry)]
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
    told = effects.story(record)
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


def _undone(record: Record, told: effects.Story, attempt: Attempt) -> bool:
    tool = record.contract.tools.get(attempt.tool)
    return tool is not None and attempt.status == "done" and any(
        later.tool in tool.undone_by
        and later.status == "done"
        and later.seq > attempt.seq
        and (not attempt.targets or any(ref in later.targets for ref in attempt.targets))
        for later in told.attempts
    )  # fmt: skip


def _wished_again(record: Record, told: effects.Story, tool: Tool, call: Call, done: list[Attempt]) -> bool:
    """Two identical calls can be two real wishes: an obligation of its own still open, or the user asked again."""
    last = done[-1]
    owed = told.owed.get(call.wish) if call.wish else None
    if owed is not None:
        return owed.tool in (None, tool.name) and effects.asks_for(owed, last) and owed.by is None and not owed.settled
    asked = [
        (seq, wish.tool)
        for seq, wish, sealed in record.each(Wish)
        if sealed.event.actor.role in ("host", "user", "principal", "importer")
        and wish.tool in (None, tool.name)
        and seq > last.seq
    ]
    used = set()
    for a in told.attempts:
        again = any(b.identity == a.identity and b.status == "done" and b.seq < a.seq for b in told.attempts)
        anyone = any(name is None for _, name in asked)
        counts = again and a.status not in ("no_effect", "simulated") and (anyone or a.tool == tool.name)
        if asked and counts and a.seq > asked[0][0]:
            used.add(a.call)
    if len(asked) > len(used):
        return True
    wanted = [o for o in told.owed.values() if o.kind == "event" and o.tool == tool.name and effects.asks_for(o, last)]
    return len([o for o in wanted if o.by is not None or not o.settled]) > len(done)


# ---------------------------------------------------------------- the evidence


def _answers(record: Record, tool: Tool, call: Call, names: Names, write: bool, retry: bool) -> Iterator[Answered]:
    yield from _raised(record, call, names)
    if write or not tool.effect_cases:
        for rule in record.contract.conditions:
            if tool.name in rule.removes:
                yield from _standing(record, call, names, rule)
        for needed in tool.requires:
            yield required(record, tool, call, names, needed)
        if tool.needs_approval is not None:
            yield approved(record, call, tool.needs_approval, "approval")
    if write:
        for rule in record.contract.exclusive:
            if tool.name in rule.tools:
                yield _exclusive(record, tool, call, rule, retry)


def _raised(record: Record, call: Call, names: Names) -> Iterator[Answered]:
    entities = list(names.entities.values())
    for body in facts.open_conditions(record, call.tool, call.args):
        if len(body.entity) == 2 and entities and EntityRef(*body.entity) not in entities:
            if body.entity[0] in names.unnamed or body.entity[0] not in {e.kind for e in entities}:
                yield "missing", [("condition.unknown", body.id)]
            continue
        if lifts(record, call, body.id, body.authority, entities):
            continue
        if any(call.args.get(n) is None and text != "null" for n, text in body.scope):
            yield "missing", [("condition.unknown", body.id)]
        else:
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
            if is_false(rule.when, env):
                continue
        if rule.until is not None and past.true(rule.until, env) and rule.until not in void:
            continue
        if not lifts(record, call, rule.id, rule.authority, list(names.entities.values())):
            yield "violated", [("condition.open", rule.id)]


def _void(record: Record, ref: EntityRef, name: str) -> bool:
    known = facts.fact(record, ref, name)
    return known is None or known.problem or known.seen < facts.last_write(record, ref)


def _exclusive(record: Record, tool: Tool, call: Call, rule: Exclusion, retry: bool) -> Answered:
    try:
        mine = past.canon(rule.per[tool.name].evaluate({"args": past.exact(tool, call.args)}))
    except ExpressionError:
        return "missing", [("exclusion.unknown", rule.id)]
    for attempt in effects.story(record).attempts:
        other = record.contract.tools.get(attempt.tool)
        if other is None or attempt.tool not in rule.tools or attempt.status in ("no_effect", "simulated"):
            continue
        if retry and attempt.identity in past.identities(tool, call.args):
            continue
        if _undone(record, effects.story(record), attempt):
            continue
        try:
            value = past.canon(rule.per[attempt.tool].evaluate({"args": past.exact(other, attempt.args)}))
        except ExpressionError:
            continue
        if value == mine:
            return "violated", [("exclusion.taken", rule.id)]
    return "met", []
