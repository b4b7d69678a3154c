"""The takeover gate again, naively, from the specification: lists, scans and pairs, and no code shared with the gate.

What the view and the act and claim gates answer is taken as given; they have twins of their own. The form of a proposal
is decided by the published JSON Schema alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from importlib.resources import files
from itertools import combinations
from typing import Any

import jsonschema_rs

from tallystick.contracts import task_text, validate_args
from tallystick.contracts.terms import facts, sources
from tallystick.contracts.types import Contract, Requirement, Tool
from tallystick.errors import ExpressionError, InputError
from tallystick.gates.act import may_act
from tallystick.gates.answers import Missing, Violated
from tallystick.gates.certify.exhibits import scope_of_slot
from tallystick.gates.claim import may_claim
from tallystick.gates.conditions import raised, standing
from tallystick.gates.duties import open_duties
from tallystick.gates.evidence import requirement
from tallystick.gates.owed import applies, holds_now
from tallystick.gates.scope import scope_of, scopes_of
from tallystick.model import jsontext
from tallystick.model.decision import Reason
from tallystick.model.events import ReplicaCall
from tallystick.model.pointer import MISSING, resolve, split
from tallystick.model.proposal import Call, Claim
from tallystick.model.residual import Residual
from tallystick.model.values import EntityRef, decimal_of, same
from tallystick.view import CallRecord, EffectRecord, Talk, View
from tallystick.view.keys import batch_items, effect_keys, effect_of, exclusion_values, id_text, targets_of, typed_args
from tallystick.view.obligations import matches

SCHEMA = jsonschema_rs.validator_for(
    json.loads((files("tallystick.gates.residual") / "proposal.schema.json").read_text("utf-8"))
)
TWICE = ("effect.duplicate", "effect.in_doubt", "effect.in_flight", "idempotency.conflict")


def judge(
    view: View, contract: Contract, residual: Residual, raw: bytes, replica: Sequence[ReplicaCall], now: datetime
) -> tuple[str, set[str]]:
    """Return (verdict, set of short codes)."""
    codes = set(Naive(view, contract, residual, replica, now).codes(raw))
    return ("refuse" if codes - {"hold"} else "hold" if codes else "admit"), codes


class N:
    """One call."""

    def __init__(self, call: Mapping[str, Any], contract: Contract) -> None:
        self.id, self.name = call["id"], call["tool"]
        self.args: dict[str, Any] = dict(call.get("args", {}))
        self.after, self.covers = call.get("after", []), call.get("covers", [])
        self.tool: Tool | None = contract.tools.get(self.name)
        self.known: dict[str, Any] = {}
        self.holes: set[str] = set()
        self.effect = "write"
        self.targets: tuple[EntityRef, ...] = ()
        self.keys: tuple[str, ...] = ()
        self.items: tuple[str, ...] | None = None
        self.typed: Mapping[str, Any] = {}
        self.truly: set[str] = set()

    def hangs(self, *exprs: Any) -> bool:
        return any(
            r[0] == "args" and self.holes and (len(r) == 1 or r[1] in self.holes) for x in exprs if x for r in x.refs
        )

    @property
    def writes(self) -> bool:
        return self.effect == "write"


def is_ref(value: Any) -> bool:
    return isinstance(value, dict) and "$from" in value


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every reference and every scalar, with its place."""
    if is_ref(value) or not isinstance(value, (dict, list)):
        yield path, value
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield from leaves(item, (*path, key))


def keys_in(value: Any) -> Iterator[str]:
    if is_ref(value) or not isinstance(value, (dict, list)):
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(key, str):
            yield key[1:] if re.fullmatch(r"\$\$+from", key) else key
        yield from keys_in(item)


def refs(value: Any) -> list[dict[str, Any]]:
    return [leaf for _, leaf in leaves(value) if is_ref(leaf)]


class Naive:
    def __init__(
        self, view: View, contract: Contract, residual: Residual, replica: Sequence[ReplicaCall], now: datetime
    ) -> None:
        self.view, self.contract, self.z, self.replica, self.now = view, contract, residual, replica, now
        self.task = jsontext.loads(task_text(view.task))["bindings"]
        self.listed = [x.receipt for x in residual.receipts]
        self.stated = list(self._stated())

    def codes(self, raw: bytes) -> Iterator[str]:
        yield from self.frozen()
        try:
            proposal = jsontext.loads(raw)
        except InputError:
            yield "malformed"
            return
        if not SCHEMA.is_valid(json.loads(raw)):
            yield "malformed"
            return
        calls = [N(call, self.contract) for call in proposal["calls"]]
        answer = proposal.get("answer", {})
        claims = answer.get("claims", {})
        closing = [*self.unclosed(calls, claims)]
        order = self.ordered(calls)
        if order is None:
            closing.append("dependency")
        if closing or order is None:
            yield from closing
            return
        self.rebind(calls, claims)
        for call in order:
            self.type(call, [c.id for c in calls])
        self.covered(order)
        for call in order:
            yield from self.grounded(call, order)
        yield from self.effects(order)
        yield from self.duplicates(order)
        for owed in self.z.owed:
            if not any(owed.id in call.truly for call in order):
                yield "coverage"
        if any(self.forgotten(order, o) for o in self.view.obligations.values()):
            yield "coverage"
        if self.unmet or any(name not in call.truly for call in calls for name in call.covers):
            yield "coverage"
        yield from self.executable(order)
        yield from self.claimed(order, claims, answer.get("text", ""))

    # ------------------------------------------------------------ the contract itself

    def frozen(self) -> Iterator[str]:
        tenure = self.view.tenure
        if self.z.run != self.view.run or self.view.digest_at(self.z.upto) != self.z.head:
            yield "foreign"
        if tenure is not None and tenure.frozen.residual_sha256 != self.z.sha256:
            yield "foreign"
        after = [c for c in self.view.calls.values() if c.seq > self.z.upto and c.outcome != "not_started"]
        if any(c.effect == "write" for c in after):
            yield "stale"
        if self.view.doubts:
            yield "doubt"

    # ------------------------------------------------------------ closing

    def source(self, ref: Mapping[str, Any]) -> Any:
        name, at = ref["$from"], split(ref.get("$at", ""))
        if name == "task":
            return resolve(self.task, at)
        if name not in self.listed:
            return MISSING
        receipt = next((r for r in reversed(self.view.receipts) if r.id == name), None)
        return resolve(receipt.value, at) if receipt is not None and receipt.good else MISSING

    def unclosed(self, calls: list[N], claims: Mapping[str, Any]) -> Iterator[str]:
        ids = [c.id for c in calls]
        taken = ["task", *(r.id for r in self.view.receipts), *(made.id for made in self.replica)]
        for i, call in enumerate(calls):
            if ids.count(call.id) > 1 or call.id in taken or any(name not in ids for name in call.after):
                yield "dependency"
            for ref in refs(list(call.args.values())):
                if ref["$from"] not in ids[:i]:
                    if ref["$from"] in ids:
                        yield "dependency"
                    elif self.source(ref) is MISSING:
                        yield "grounding"
        for ref in refs(list(claims.values())):
            if ref["$from"] not in ids and self.source(ref) is MISSING:
                yield "claim"

    def ordered(self, calls: list[N]) -> list[N] | None:
        done: list[N] = []
        while len(done) < len(calls):
            ids = [c.id for c in done]
            for call in calls:
                needs = [*call.after, *(r["$from"] for r in refs(list(call.args.values())))]
                needs = [n for n in needs if any(c.id == n for c in calls)]
                if call not in done and all(n in ids for n in needs):
                    done.append(call)
                    break
            else:
                return None
        return done

    def rebind(self, calls: list[N], claims: dict[str, Any]) -> None:
        if not self.replica:
            return
        used: list[str] = []
        shown: list[tuple[int, N, Any]] = []

        def tried(value: Any) -> Any:
            if is_ref(value):
                for _, call, result in shown:
                    if call.id == value["$from"]:
                        return resolve(result, split(value.get("$at", "")))
                return self.source(value)
            if isinstance(value, dict):
                return {k: tried(v) for k, v in value.items()}
            return [tried(v) for v in value] if isinstance(value, list) else value

        for i, call in enumerate(calls):
            args = tried(call.args)
            for made in self.replica:
                given = jsontext.loads(made.args.raw)
                if made.id not in used and made.tool == call.name and _text(given) == _text(args):
                    used.append(made.id)
                    if made.result is not None:
                        shown.append((i, call, jsontext.loads(made.result.raw)))
                    break

        def bind(value: Any, before: int, tools: set[str] | None, keep: Any, path: tuple[Any, ...] = ()) -> Any:
            if is_ref(value):
                return value
            if isinstance(value, dict):
                return {k: bind(v, before, tools, keep, (*path, k)) for k, v in value.items()}
            if isinstance(value, list):
                return [bind(v, before, tools, keep, (*path, i)) for i, v in enumerate(value)]
            if value is None or isinstance(value, bool) or value == "" or keep(path, value):
                return value
            for i, call, result in shown:
                for place, leaf in _places(result):
                    if i < before and (not tools or call.name in tools) and _text(leaf) == _text(value):
                        return {"$from": call.id, "$at": "".join(f"/{step}" for step in place)}
            return value

        for i, call in enumerate(calls):
            for name, value in call.args.items():
                tool = call.tool
                call.args[name] = bind(
                    value, i, None, lambda p, v, n=name, t=tool: t is not None and self.has_source(t, n, p, v)
                )
        for name, value in claims.items():
            slot = next((s for s in self.contract.answer if s.name == name), None)
            if slot is None or (not refs(value) and self.accepts(name, value)):
                continue
            tools = {source.tool for _, source in sources(slot.derive.term)}
            claims[name] = bind(value, len(calls), tools, lambda _p, _v: False)

    # ------------------------------------------------------------ typing

    def type(self, call: N, ids: list[str]) -> None:
        for name, value in call.args.items():
            if any(ref["$from"] in ids for ref in refs(value)):
                call.holes.add(name)
            else:
                call.known[name] = self.plain(value)
        if call.tool is None:
            return
        if not call.hangs(*(c for c, _ in call.tool.effect_cases)):
            call.effect = effect_of(call.tool, call.known)
        call.typed = typed_args(call.tool, call.known)
        call.targets = targets_of(call.tool, call.known)
        if call.writes and not self.open_key(call):
            call.items = batch_items(call.tool, call.known)
            call.keys = effect_keys(call.tool, call.known)

    def open_key(self, call: N) -> bool:
        assert call.tool is not None
        if call.tool.batch is not None:
            return call.tool.batch.arg in call.holes
        return call.hangs(*call.tool.once_per) if call.tool.once_per else bool(call.holes)

    def plain(self, value: Any) -> Any:
        if is_ref(value):
            return self.source(value)
        if isinstance(value, dict):
            return {k[1:] if re.fullmatch(r"\$\$+from", k) else k: self.plain(v) for k, v in value.items()}
        return [self.plain(v) for v in value] if isinstance(value, list) else value

    # ------------------------------------------------------------ (i)

    def _stated(self) -> Iterator[Any]:
        z = self.z
        yield from (x.id for x in z.entities)
        for b in z.bindings:
            yield from (x for x in (b.id, jsontext.loads(b.value) if b.value else None) if x not in ("", None))
        for k in z.kept:
            yield from (pair[1] for pair in k.entities)
            yield from (leaf for _, leaf in leaves(dict(self.view.calls[k.call].args)))
        for o in z.owed:
            yield from o.entity[1:]
            yield from (jsontext.loads(text) for _, text in o.args)
        yield from (leaf for _, leaf in leaves(self.task))
        for receipt in self.view.receipts:
            if receipt.id in self.listed and receipt.good:
                yield from (leaf for _, leaf in leaves(receipt.value))
        for seq, text in self.view.heard:
            if self.view.digest_at(seq) in z.words:
                yield from (word.strip(".,;:!?") for word in text.split())

    def has_source(self, tool: Tool, arg: str, path: tuple[Any, ...], value: Any) -> bool:
        if value is None or isinstance(value, bool) or [tool.name, arg] in self.z.free:
            return True
        numeric = not path and arg in tool.args and tool.args[arg].name in ("money", "decimal", "integer", "quantity")
        for stated in self.stated:
            if isinstance(stated, bool) or stated is None:
                continue
            text = isinstance(stated, (str, int)) and str(stated) == str(value)
            if isinstance(value, str):
                number = _number(value) if numeric else None
                if text or (number is not None and number == _number(stated)):
                    return True
            elif _number(stated) == decimal_of(value) or (isinstance(value, int) and text):
                return True
        return False

    def has_name(self, tool: Tool, arg: str, name: str) -> bool:
        known = set(self.task)
        for receipt in self.view.receipts:
            if receipt.id in self.listed and receipt.good:
                known.update(keys_in(receipt.value))
        for kept in self.z.kept:
            known.update(keys_in(dict(self.view.calls[kept.call].args)))
        return name in known or self.has_source(tool, arg, ("",), name)

    def grounded(self, call: N, order: list[N]) -> Iterator[str]:
        if call.tool is None or call.name not in self.z.interfaces:
            yield "grounding"
            return
        loose = {n: t for n, t in call.tool.args.items() if n not in call.holes}
        bare = Tool(name=call.name, effect=call.tool.effect, args=loose, args_schema=call.tool.args_schema)
        if validate_args(bare, call.known):
            yield "grounding"
        for name, value in call.args.items():
            literals = [(p, leaf) for p, leaf in leaves(value) if not is_ref(leaf)]
            if not all(self.has_source(call.tool, name, p, leaf) for p, leaf in literals):
                yield "grounding"
            if not all(self.has_name(call.tool, name, key) for key in keys_in(value)):
                yield "grounding"
        if not call.writes:
            return
        exprs = [c for c, _ in call.tool.effect_cases]
        exprs += [t.id for t in call.tool.target if not self.returned(call, t, order)]
        exprs += [x.per[call.name] for x in self.contract.exclusive if call.name in x.per]
        fixed = {n for s in self.z.effects if s.tool == call.name for n, _ in s.args}
        fixed |= {call.tool.batch.arg} if call.tool.batch is not None else set()
        fixed |= {b.name for b in self.choices() if b.kind == "" or EntityRef(b.kind, b.id) in call.targets}
        if call.hangs(*exprs) or fixed & call.holes:
            yield "grounding"
        real = [(x.kind, x.id) for x in self.z.entities]
        real += [(b.kind, b.id) for b in self.z.bindings if b.source != "statement" and b.kind]
        real += [tuple(pair) for k in self.z.kept for pair in k.entities]  # type: ignore[misc]  # pairs by their making
        real += [tuple(x.entity) for x in (*self.z.owed, *self.z.effects) if x.entity]  # type: ignore[misc]
        for before in order[: order.index(call)]:
            if before.tool is not None and before.effect == "read" and before.name in self.z.interfaces:
                real += [(t.kind, t.id) for t in before.targets if any(y.kind == t.kind for y in before.tool.yields)]
        if any((ref.kind, ref.id) not in real for ref in call.targets):
            yield "grounding"

    def returned(self, call: N, target: Any, order: list[N]) -> bool:
        """The target's id is one that an earlier call returns, and nothing at all depends on which one it is."""
        found = re.fullmatch(r"args\.(\w+)", target.id.source)
        value = call.args.get(found[1]) if found is not None else None
        maker = next((c for c in order if is_ref(value) and c.id == value["$from"]), None)
        if target.each or maker is None or maker.tool is None:
            return False
        at = split(value.get("$at", ""))
        ids = [(*y.at, *y.id) for y in maker.tool.yields if y.kind == target.kind and y.id is not None]
        if not any(len(i) == len(at) and all(a in ("*", b) for a, b in zip(i, at, strict=True)) for i in ids):
            return False
        writes = [c for c in order if c.writes]
        done = [self.contract.tools[k.tool] for k in self.z.kept] + [c.tool for c in writes if c.tool is not None]
        return not (
            any(b.kind == target.kind for b in self.z.bindings)
            or any(t.kind == target.kind for c in writes for t in c.targets)
            or any(s.tool == call.name and s.entity for s in self.z.effects)
            or any(call.name in tool.undone_by for tool in done)
        )

    def may_be(self, call: N, kind: str) -> bool:
        """It changes something of a kind, and nobody knows yet which."""
        return call.writes and call.tool is not None and any(
            t.kind == kind and call.hangs(t.id) for t in call.tool.target
        )  # fmt: skip

    def choices(self) -> list[Any]:
        return [b for b in self.z.bindings if b.source != "task" and b.name]

    # ------------------------------------------------------------ (iii)

    def covered(self, order: list[N]) -> None:
        owed = {o.id: o for o in self.z.owed}
        left = [o for o in self.view.obligations.values() if o.kind == "event" and o.discharged_by is None]
        self.mine: dict[int, list[str]] = {}  # effect → what it discharges
        self.done: list[tuple[N, EffectRecord]] = []
        changed: list[str] = []
        duties = []
        for d in open_duties(self.view, self.contract, self.now):
            name = f"duty:{d.duty.id}:{d.call.id}"
            if name in owed:
                cause = typed_args(self.contract.tools[d.call.tool], d.call.args)
                duties.append((name, d.duty, cause, d.call.targets, None))
        for call in order:
            records = self.records(call)
            for record in records:
                self.done.append((call, record))
                mine = self.mine.setdefault(id(record), [])
                for o in left:
                    if o.tool == call.name and matches(o, record):
                        left.remove(o)
                        if o.id in owed:
                            mine.append(o.id)
                        break
                for o in self.z.owed:
                    rule = self.view.obligations.get(o.id)
                    if o.kind != "state" or rule is None or rule.tool != call.name or o.id in changed:
                        continue
                    if matches(rule, record):
                        changed.append(o.id)
                        mine.append(o.id)
                for due in [d for d in duties if self.takes(call, d)]:
                    duties.remove(due)
                    mine.append(due[0])
                call.truly.update(name for name in mine if name in owed)
            if not records:
                for due in [d for d in duties if self.takes(call, d)]:
                    duties.remove(due)
                    call.truly.update({due[0]} & owed.keys())
            for duty in self.contract.duties:
                if duty.after != call.name or call.tool is None or call.effect == "preview" or duty.ever:
                    continue
                if duty.when is None or self.certainly(call, duty.when):
                    duties.append((f"duty:{duty.id}", duty, call.typed, call.targets, call))
        self.unmet = [d for d in duties if d[4] is not None]
        for o in self.z.owed:
            if o.kind == "state":
                self.state(order, o)

    def records(self, call: N) -> list[EffectRecord]:
        if not call.writes:
            return []
        record = CallRecord(
            id=call.id, seq=0, digest="", tool=call.name, args=call.known, args_text=None, effect="write",
            targets=call.targets, effect_keys=(), native_id=None, turn=None, wish="", idempotency_key=None, at=None,
        )  # fmt: skip
        if call.items is None:
            return [EffectRecord("", call.name, record, "done")]
        return [EffectRecord("", call.name, record, "done", None, item) for item in call.items]

    def certainly(self, call: N, when: Any) -> bool:
        assert call.tool is not None
        if call.hangs(when) or any(r[0] == "result" for r in when.refs):
            return False
        scope = scope_of(self.view, self.contract, call.tool, Call(tool=call.name, args=call.known, now=self.now))
        try:
            return when.evaluate(scope.env) is True
        except ExpressionError:
            return False

    def takes(self, call: N, due: Any) -> bool:
        _, duty, cause, targets, _by = due
        if call.name not in duty.owes or call.effect == "preview" or call.tool is None:
            return False
        shared = {a.kind for a in targets} & {b.kind for b in call.targets}
        if shared and not set(targets) & set(call.targets):
            return False
        if duty.expr is None or any(r[0] == "result" for r in duty.expr.refs):
            return True
        env = {"args": call.typed, "call": cause, "now": self.now, "task": self.view.task.bindings}
        try:
            return not call.hangs(duty.expr) and duty.expr.evaluate({**env, "talk": Talk(self.view)}) is True
        except ExpressionError:
            return False

    def state(self, order: list[N], owed: Any) -> None:
        record = self.view.obligations[owed.id]
        assert record.rule is not None
        assert record.rule.fact is not None
        assert record.entity is not None
        entity = record.entity
        needed = {r[1] for r in record.rule.fact.refs if r[0] == entity.kind and len(r) > 1}
        writes = [i for i, c in enumerate(order) if c.writes and entity in c.targets]
        last = max((i for i, c in enumerate(order) if i in writes or self.may_be(c, entity.kind)), default=-1)
        shown: dict[str, N] = {}
        for i, call in enumerate(order):
            if i < last or call.tool is None or call.hangs(*(t.id for t in call.tool.target)):
                continue
            for rule in call.tool.yields:
                names = any(t.kind == entity.kind for t in call.tool.target)
                if rule.kind == entity.kind and (entity in call.targets or not names):
                    shown.update(dict.fromkeys(needed & set(rule.fields), call))
        facts_now = self.view.facts(entity)
        written = self.view.last_write(entity)
        known = all(n in facts_now and facts_now[n].observed_seq >= written for n in needed)
        ran = any(k.tool == record.tool and [*entity] in k.entities for k in self.z.kept)
        must = known or (record.tool is not None and not ran)
        did = any(owed.id in mine for mine in self.mine.values()) or (record.tool is None and bool(writes))
        for call in order:
            call.truly.discard(owed.id)
        if needed <= shown.keys() and (did or not must):
            for call in shown.values():
                call.truly.add(owed.id)
            for call, effect in self.done:
                if owed.id in self.mine[id(effect)]:
                    call.truly.add(owed.id)

    def forgotten(self, order: list[N], record: Any) -> bool:
        """A state that holds now, that a write makes unknown, and that nothing after it shows."""
        if record.kind != "state" or record.id in [o.id for o in self.z.owed] or record.settled is not None:
            return False
        if not holds_now(self.view, record) or not applies(self.view, record):
            return False
        entity = record.entity
        needed = {r[1] for r in record.rule.fact.refs if r[0] == entity.kind and len(r) > 1}
        writes = [i for i, c in enumerate(order) if c.writes and (entity in c.targets or self.may_be(c, entity.kind))]
        shown = set()
        for call in order[max(writes, default=0) :]:
            if call.tool is None or call.hangs(*(t.id for t in call.tool.target)):
                continue
            for rule in call.tool.yields:
                names = any(t.kind == entity.kind for t in call.tool.target)
                if rule.kind == entity.kind and (entity in call.targets or not names):
                    shown |= needed & set(rule.fields)
        return bool(writes) and shown != needed

    # ------------------------------------------------------------ (ii)

    def effects(self, order: list[N]) -> Iterator[str]:
        allowed = [s.tool for s in self.z.effects if s.obligation == ""]
        chosen = [
            b for b in self.z.bindings if b.kind and b.source != "statement" and (not b.name or b.source == "task")
        ]
        before: list[N] = []
        for call in order:
            if not call.writes or call.tool is None:
                continue
            used = []
            for other, record in self.done:
                if other is not call:
                    continue
                mine = [s for s in self.z.effects if s.tool == call.name and s.obligation in self.mine[id(record)]]
                if not mine and call.name not in allowed:
                    yield "effect"
                used += mine or [s for s in self.z.effects if s.tool == call.name and not s.obligation]
            for s in used:
                if s.entity and call.targets and EntityRef(*s.entity) not in call.targets:
                    yield "effect"
            for ref in call.targets:
                here = [[b.kind, b.id] for b in chosen if b.kind == ref.kind]
                fixed = [s.entity for s in used if s.entity and s.entity[0] == ref.kind]
                named = [id_text(jsontext.loads(v)) for s in used for _, v in s.args]
                if (here or fixed) and [*ref] not in here and [*ref] not in fixed and ref.id not in named:
                    yield "effect"
            for b in self.choices():
                about = b.kind == "" or EntityRef(b.kind, b.id) in call.targets
                if about and b.name in call.known and b.value:
                    group = [c for c in self.choices() if (c.kind, c.id, c.name) == (b.kind, b.id, b.name)]
                    if not any(self.equal(call.tool, b.name, call.known[b.name], c.value) for c in group):
                        yield "effect"
            for k in self.z.kept:
                kept = self.contract.tools.get(k.tool)
                about = not k.entities or not call.targets or any([*ref] in k.entities for ref in call.targets)
                if kept is not None and call.name in kept.undone_by and about:
                    yield "effect"
            for other in before:
                assert other.tool is not None
                about = not other.targets or not call.targets or bool(set(other.targets) & set(call.targets))
                if call.name in other.tool.undone_by and about:
                    yield "effect"
            told = dict(exclusion_values(self.contract, call.name, call.known))
            if any(call.name in x.tools and x.id not in told for x in self.contract.exclusive):
                yield "effect"
            for name, value in told.items():
                stands = [e for e in self.view.exclusive(name, value) if e.status not in ("no_effect", "simulated")]
                mates = [o for o in before if (name, value) in exclusion_values(self.contract, o.name, o.known)]
                if mates or any(not self.view.undone(e) for e in stands):
                    yield "effect"
            before.append(call)

    def equal(self, tool: Tool, name: str, given: Any, text: str) -> bool:
        wanted = jsontext.loads(text)
        if same(given, wanted):
            return True
        try:
            return name in tool.args and tool.args[name].name != "json" and bool(
                tool.args[name].parse(given) == tool.args[name].parse(wanted)
            )  # fmt: skip
        except ValueError:
            return False

    def duplicates(self, order: list[N]) -> Iterator[str]:
        ids: list[tuple[str, bool, dict[str, str], dict[str, str]]] = [
            (k.tool, True, _parts(k.key[len(k.tool) :]), {}) for k in self.z.kept
        ]
        for call in order:
            if call.writes and call.tool is not None:
                ids.extend((call.name, False, *parts) for parts in self.identities(call))
        for (a, old_a, known_a, open_a), (b, old_b, known_b, open_b) in combinations(ids, 2):
            if a != b or (old_a and old_b):
                continue
            tool = self.contract.tools[a]
            blind = {*open_a, *open_b}
            if not tool.once_per and tool.args and tool.batch is None:
                fixed = {n for s in self.z.effects if s.tool == a for n, _ in s.args}
                blind |= {n for n in (*known_a, *known_b) if n not in tool.args and n not in fixed}
                gaps = [{n: v for n, v in o.items() if n in tool.args or n in fixed} for o in (open_a, open_b)]
            else:
                gaps = [open_a, open_b]
            seen_a, seen_b = (
                {n: v for n, v in known.items() if n not in blind and v != "null"} for known in (known_a, known_b)
            )
            if seen_a == seen_b:
                yield "duplicate" if gaps[0] == gaps[1] else "grounding"

    def identities(self, call: N) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
        assert call.tool is not None
        if call.keys:
            yield from ((_parts(key[len(call.name) :]), {}) for key in call.keys)
            return
        holes = {n: _text(call.args[n]) for n in call.holes}
        if not call.tool.once_per:
            key = effect_keys(call.tool, call.known)[0]
            yield _parts(key[len(call.name) :]), holes
            return
        known, gaps = {}, {}
        whole = _parts(effect_keys(call.tool, call.known)[0][len(call.name) :])
        for i, expr in enumerate(call.tool.once_per):
            if call.hangs(expr):
                gaps[str(i)] = expr.source + _text(holes)
            else:
                known[str(i)] = whole[str(i)]
        yield known, gaps

    # ------------------------------------------------------------ (iv)

    def executable(self, order: list[N]) -> Iterator[str]:
        for at, call in enumerate(order):
            if call.tool is None:
                continue
            events = [n for n in call.truly if n in self.view.obligations and self.view.obligations[n].kind == "event"]
            wish = events[0] if len(events) == 1 else ""
            put = Call(tool=call.name, args=call.known, now=self.now, wish=wish)
            refused: list[Reason] = []
            missing: list[Reason] = []
            if call.holes:
                for scope in scopes_of(self.view, self.contract, call.tool, put):
                    answers = [*raised(scope), *(standing(scope, rule) for rule in self.contract.conditions)]
                    answers += [requirement(scope, r) for r in call.tool.requires if not self.looks_at(call, r)]
                    for answer in answers:
                        if isinstance(answer, Violated):
                            refused += answer.reasons
                        elif isinstance(answer, Missing):
                            missing += answer.reasons
            else:
                decision = may_act(self.view, self.contract, put)
                if decision.verdict == "hold" and not set(decision.codes) & set(TWICE):
                    missing += decision.reasons
                elif not decision.positive:
                    refused += decision.reasons
            changed = any(set(c.targets) & set(call.targets) for c in order[:at] if c.writes and c.tool is not None)
            raised_ids = [r.body.id for r in self.view.raised]
            for r in refused:
                rule = next((x for x in call.tool.requires if x.id == r.where), None)
                stays = r.code in ("approval.denied", *TWICE)
                if r.code == "condition.open":
                    stays = r.where in raised_ids
                if r.code == "argument.mismatch" and rule is not None:
                    stays = all(c.name != rule.tool for c in order[:at])
                if changed and not stays:
                    continue
                if r.code.split(".")[0] in ("args", "schema", "tool", "gate"):
                    yield "grounding"
                else:
                    yield "duplicate" if r.code in TWICE else "effect"
            for r in missing:
                rule = next((x for x in call.tool.requires if x.id == r.where), None)
                people = r.code.split(".")[0] in ("approval", "confirmation")
                if changed and not people and (rule is None or rule.kind != "argument"):
                    continue
                if not people and any(self.gives(c, r) for c in order[:at]):
                    continue
                later = any(self.gives(c, r) for c in order[at + 1 :])
                yield "dependency" if (rule is not None and rule.kind == "argument") or later else "hold"
            for rule in call.tool.requires:
                if rule.kind == "argument" and rule.arg in call.holes and not self.taken_from(order, call, rule):
                    yield "dependency"
                if rule.kind == "fact" and rule.expr is not None:
                    for ref in rule.expr.refs:
                        if ref[0] == "order" and len(ref) > 1 and self.voided(order, at, call.targets, ref[1]):
                            yield "dependency"

    def taken_from(self, order: list[N], call: N, rule: Requirement) -> bool:
        value = call.args[rule.arg or ""]
        mate = next((c for c in order if is_ref(value) and c.id == value["$from"]), None)
        if mate is None or mate.name != rule.tool or split(value.get("$at", "")) != rule.pointer:
            return False
        return not mate.targets or not call.targets or bool(set(mate.targets) & set(call.targets))

    def voided(self, order: list[N], at: int, targets: tuple[EntityRef, ...], name: str) -> bool:
        """Whether a write before made void what is known, and nothing after it shows it again."""
        ref = targets[0] if targets else None
        writes = [i for i, c in enumerate(order[:at]) if c.writes and c.tool is not None and ref in c.targets]
        if not writes or ref is None:
            return False
        for other in order[max(writes) : at]:
            if other.tool is None or other.hangs(*(t.id for t in other.tool.target)):
                continue
            for rule in other.tool.yields:
                if rule.kind == ref.kind and name in rule.fields and (ref in other.targets or not other.targets):
                    return False
        return True

    def looks_at(self, call: N, rule: Requirement) -> bool:
        return call.hangs(rule.expr, rule.when, rule.entity.id if rule.entity else None) or rule.arg in call.holes

    def gives(self, call: N, reason: Reason) -> bool:
        return call.effect == "read" and any(
            read.tool == call.name and all(same(call.known.get(n), v) for n, v in jsontext.loads(read.args).items())
            for read in reason.reads
        )

    def accepts(self, slot: str, value: Any) -> bool:
        return may_claim(self.view, self.contract, Claim(slot=slot, field=slot, value=self.plain(value))).positive

    def claimed(self, order: list[N], claims: Mapping[str, Any], text: str) -> Iterator[str]:
        slots = {s.name: s for s in self.contract.answer}
        for name in slots:
            if name not in claims and (self.view.task.need_answer or "{" + name + "}" in text):
                yield "claim"
        for name, value in claims.items():
            slot = slots.get(name)
            if slot is None:
                yield "claim"
                continue
            about = scope_of_slot(self.view, slot)[0]
            tools = {s.tool for _, s in sources(slot.derive.term)}
            assert not facts(slot.derive.term)
            nodes = [(i, c) for i, c in enumerate(order) if any(r["$from"] == c.id for r in refs(value))]
            if not nodes:
                touched = any(self.touches(c, about) for c in order)
                if not self.accepts(name, value) or touched:
                    yield "claim"
            for ref in refs(value) if nodes else ():
                at, call = next(((i, c) for i, c in nodes if c.id == ref["$from"]), (-1, None))
                receipt = next((r for r in self.view.receipts if r.id == ref["$from"]), None)
                tool = call.name if call else receipt.call.tool if receipt and receipt.call else ""
                others = [t for t in call.targets if about and t.kind == about.kind] if call else []
                void = any(self.touches(c, about) for c in order[at + 1 :])
                if tool not in tools or (others and about not in others) or void:
                    yield "claim"

    def touches(self, call: N, about: EntityRef | None) -> bool:
        return call.writes and about is not None and (about in call.targets or self.may_be(call, about.kind))


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{k}:{_text(v)}" for k, v in sorted(value.items())) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return repr(value)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _places(item, (*path, key))
    else:
        yield path, value


def _parts(text: str) -> dict[str, str]:
    value = json.loads(text)
    return {
        str(k): json.dumps(v, sort_keys=True)
        for k, v in (value.items() if isinstance(value, dict) else enumerate(value))
    }


def _number(value: Any) -> Decimal | None:
    words = value.split() if isinstance(value, str) else []
    found = []
    for word in words if isinstance(value, str) else [value]:
        try:
            if not (isinstance(word, str) and re.match(r"[+-]?0\d", word)):
                found.append(decimal_of(word))
        except ValueError:
            continue
    return found[0] if len(found) == 1 and len(words) <= 2 else None
