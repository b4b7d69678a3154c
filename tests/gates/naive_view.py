"""The record, read the slow way: every question scans the whole list of events. Written from the documents.

Sources: docs/glossary.md, docs/adr/0001, the docstrings of `model.events` and `contracts.types`. Nothing is kept
between questions but what foreign bytes say. Where `tallystick.view` disagrees with this file, one of them is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from tallystick.contracts.types import Contract, EntityExpr, Task, Tool
from tallystick.errors import ExpressionError, InputError
from tallystick.model import jsontext
from tallystick.model.events import (
    Intent,
    Receipt,
    Sealed,
    Started,
)
from tallystick.model.signing import is_signed_by
from tallystick.model.values import EntityRef, Money, instant_of, same

MISSING = object()
FOREVER = 10**9


@dataclass(frozen=True)
class Record:
    """A run's events, and what it is judged by."""

    contract: Contract
    task: Task
    run: str
    events: Sequence[Sealed]
    came: dict[int, str] = field(default_factory=dict)  # what each receipt's bytes tell, worked out once
    shown: list[Any] = field(default_factory=list)  # what they show, likewise

    def each(self, *kinds: type) -> Iterator[tuple[int, Any, Sealed]]:
        """Yield (seq, body, event) of these kinds. What an agent adds is words, so only its words are here."""
        for sealed in self.events:
            if isinstance(sealed.event.body, kinds) and sealed.event.actor.role != "agent":
                yield sealed.event.seq, sealed.event.body, sealed


@lru_cache(maxsize=65_536)
def loads(text: str) -> Any:
    return jsontext.loads(text)


def instant(text: str) -> datetime | None:
    try:
        return instant_of(text) if text else None
    except ValueError:
        return None


def dig(value: Any, tokens: Sequence[str]) -> Any:
    for token in tokens:
        if isinstance(value, Mapping) and token in value:
            value = value[token]
        elif isinstance(value, list) and token.isdigit() and int(token) < len(value):
            value = value[int(token)]
        else:
            return MISSING
    return value


def dig_each(value: Any, tokens: Sequence[str]) -> list[Any]:
    if not tokens:
        return [value]
    if tokens[0] == "*":
        items = value if isinstance(value, list) else list(value.values()) if isinstance(value, Mapping) else []
        return [found for item in items for found in dig_each(item, tokens[1:])]
    inner = dig(value, tokens[:1])
    return [] if inner is MISSING else dig_each(inner, tokens[1:])


def as_id(value: Any) -> str | None:
    """Ids are opaque strings; an integer id is its digits; nothing else is an id."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    return str(value)


def true(expr: Any, env: Mapping[str, Any]) -> bool | None:
    """What a predicate says: True, False (or anything else), or None where it cannot be evaluated."""
    try:
        return expr.evaluate(env) is True
    except ExpressionError:
        return None


# ---------------------------------------------------------------- calls


def args_of(body: Intent) -> Mapping[str, Any]:
    value = loads(body.args.text or "")
    return value if isinstance(value, dict) else {}


def exact(tool: Tool, args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with declared types applied; what does not fit is left out."""
    out = dict(args)
    for name, kind in tool.args.items():
        if name in out:
            try:
                out[name] = kind.parse(out[name])
            except ValueError:
                del out[name]
    return out


def effect_class(tool: Tool | None, args: Mapping[str, Any]) -> str:
    if tool is None:
        return "write"
    for condition, effect in tool.effect_cases:
        if true(condition, {"args": args}):
            return effect
    return tool.effect


def named(expr: EntityExpr, env: Mapping[str, Any]) -> list[EntityRef | None]:
    try:
        value = expr.id.evaluate(env)
    except ExpressionError:
        return [None]
    if expr.each and not isinstance(value, (list, tuple)):
        return [None]
    ids = [as_id(v) for v in (value if expr.each else [value])]
    return [None if i is None else EntityRef(expr.kind, i) for i in ids]


def addressed(tool: Tool | None, args: Mapping[str, Any]) -> list[EntityRef]:
    if tool is None:
        return []
    env = {"args": {**args, **exact(tool, args)}}
    return [ref for expr in tool.target for ref in named(expr, env) if ref is not None]


def canon(value: Any) -> Any:
    """A hashable stand-in: equal for equal values, never across kinds."""
    if isinstance(value, bool) or value is None:
        return ("is", value)
    if isinstance(value, (int, Decimal)):
        return ("number", Decimal(value))
    if isinstance(value, Money):
        return ("money", value.amount, value.currency)
    if isinstance(value, Mapping):
        return frozenset((k, canon(v)) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return ("list", *map(canon, value))
    return (type(value).__name__, value)


def items_of(tool: Tool | None, args: Mapping[str, Any]) -> list[str] | None:
    if tool is None or tool.batch is None or not isinstance(args.get(tool.batch.arg), list):
        return None
    found = []
    for item in args[tool.batch.arg]:
        text = as_id(dig(item, tool.batch.key))
        found.append(repr(canon(item)) if text is None else text)
    return found


def identities(tool: Tool | None, args: Mapping[str, Any]) -> list[Any]:
    """Effect identity: the tool and what identifies the effect, without idempotency keys; one per item of a batch."""
    if tool is None:
        return []
    items = items_of(tool, args)
    if items is not None:
        return [(tool.name, "item", i) for i in items]
    env = {"args": exact(tool, args)}
    if tool.once_per:
        values = []
        for expr in tool.once_per:
            try:
                values.append(canon(expr.evaluate(env)))
            except ExpressionError:
                values.append(canon(None))  # what is not given is given as nothing
        return [(tool.name, *values)]
    rest = {**args, **env["args"]}
    rest.pop(tool.idempotency_arg or "", None)
    return [(tool.name, canon(rest))]


def key_of(tool: Tool | None, attached: str | None, args: Mapping[str, Any]) -> str | None:
    if attached is None and tool is not None and tool.idempotency_arg is not None:
        carried = args.get(tool.idempotency_arg)
        return carried if isinstance(carried, str) else None
    return attached


def intent_of(record: Record, call: str | None) -> tuple[int, Intent, Sealed] | None:
    return next((found for found in record.each(Intent) if found[1].call == call), None)


# ---------------------------------------------------------------- receipts


def receipts(record: Record, before: int | None = None) -> Iterator[tuple[int, Receipt, Sealed]]:
    """Yield every receipt made by whoever can make one."""
    for seq, body, sealed in record.each(Receipt):
        if sealed.event.actor.role in ("executor", "runtime", "importer") and (before is None or seq < before):
            yield seq, body, sealed


def repeated(record: Record, seq: int, body: Receipt) -> tuple[int, Receipt, Sealed] | None:
    """The receipt that this one says it repeats, if the record has it (the newest of that id)."""
    if body.cached_from is None:
        return None
    return next((r for r in reversed(list(receipts(record, seq))) if r[1].id == body.cached_from), None)


def proves(record: Record, seq: int, body: Receipt) -> bool:
    """A replica's receipt, and one a framework made, prove nothing; nor does what repeats one that is not good."""
    if body.source == "replica" or body.synthetic:
        return False
    original = repeated(record, seq, body)
    return original is None or good(record, *original)


def dated(record: Record, seq: int, body: Receipt, sealed: Sealed) -> tuple[int, datetime | None]:
    """Where and when what a receipt says was observed: at its call; for a repeated one, when the original was."""
    if body.cached_from is not None:
        original = repeated(record, seq, body)
        return dated(record, *original) if original is not None else (0, instant(body.observed_at))
    found = intent_of(record, body.call)
    return (found[0] if found is not None and found[0] < seq else seq), instant(body.observed_at or sealed.event.at)


def value_of(body: Receipt) -> Any:
    if body.result is None:
        return None
    try:
        return loads(body.result.text or "")
    except InputError:
        return body.result.text


def outcome(record: Record, seq: int, body: Receipt, sealed: Sealed) -> str:
    """What came of the call, by every level of the result."""
    if seq not in record.came:
        record.came[seq] = _outcome(record, seq, body, sealed)
    return record.came[seq]


def _outcome(record: Record, seq: int, body: Receipt, sealed: Sealed) -> str:
    found = intent_of(record, body.call)
    if found is None or found[0] > seq:
        return "unknown"
    if body.outcome == "not_started" and sealed.event.actor.role == "runtime":
        return "not_started"
    args = args_of(found[1])
    tool = record.contract.tools.get(found[1].tool)
    value = value_of(body)
    env = {"args": args, "result": value}
    write = effect_class(tool, args) == "write"
    bad = "unknown" if write else "no_effect"
    if tool is not None and tool.no_effect is not None and true(tool.no_effect, env) and not body.synthetic:
        return "no_effect"
    if body.error is not None or body.synthetic or body.flag == "error":
        return bad
    if body.dry_run or anywhere(value, lambda k, v: k == "dry_run" and v is True):
        return "simulated" if write else "ok"
    per_item = tool.batch.results if tool is not None and tool.batch is not None else None
    outside = value
    if per_item and isinstance(value, Mapping):
        outside = {k: v for k, v in value.items() if k != per_item[0]}
    if anywhere(
        outside, lambda k, v: (k == "isError" and v is True) or (k == "error" and v) or (k == "ok" and v is False)
    ):
        return bad
    if write and anywhere(outside, lambda k, v: k == "status" and v == "rejected"):
        return bad  # in a read it is what was read
    if not write:
        return "ok" if tool is None or tool.ok is None or true(tool.ok, env) else "no_effect"
    return _written(tool, args, value, env)


def anywhere(value: Any, found: Any) -> bool:
    if isinstance(value, Mapping):
        return any(found(k, v) or anywhere(v, found) for k, v in value.items())
    return isinstance(value, list) and any(anywhere(v, found) for v in value)


def _written(tool: Tool | None, args: Mapping[str, Any], value: Any, env: Mapping[str, Any]) -> str:
    if tool is not None:
        if tool.pending is not None and true(tool.pending, env):
            return "in_flight"
        status = dig(value, tool.status_at or ("status",))
        if tool.terminal and status is not MISSING and status not in tool.terminal:
            return "in_flight"
        for arg, tokens in tool.echoes:
            echoed = dig(value, tokens)
            if arg in args and echoed is not MISSING and not same(echoed, args[arg]):
                return "unknown"
        if tool.ok is not None and true(tool.ok, env):
            return "ok"
    if anywhere(value, lambda k, v: k == "status" and v == "queued"):
        return "in_flight"  # not finished is neither done nor failed
    if tool is not None and tool.ok is not None:
        return "unknown"
    if anywhere(value, lambda k, v: k == "dropped_fields" and v):
        return "partial"
    if tool is not None and tool.batch is not None and isinstance(value, Mapping) and value:
        return "ok"  # judged per item
    if isinstance(value, Mapping):  # blanks and empty lists tell nothing
        return "ok" if any(value.values()) else "unknown"
    words = value.lower() if isinstance(value, str) else ""
    names = [ref.id.lower() for ref in addressed(tool, args)]
    return "ok" if any(n in words for n in names) and "could not" not in words else "unknown"


def good(record: Record, seq: int, body: Receipt, sealed: Sealed) -> bool:
    return outcome(record, seq, body, sealed) in ("ok", "partial") and proves(record, seq, body) and (
        intent_of(record, body.call) is not None
    )  # fmt: skip


def trusted(record: Record, body: Any, who: str, sealed: Sealed) -> bool:
    """A principal's event has force if that principal signed it, or an importer read it in an imported run."""
    first = record.events[0].event.body if record.events else None
    started = first if isinstance(first, Started) else None
    before = started is not None and sealed.event.seq > 1
    imported = not before or (started is not None and started.format is not None)
    if sealed.event.actor.role == "importer" and imported:
        return True
    known = next((p for p in record.task.principals if p.id == who), None)
    return known is not None and _verified(body, record.run, known.public_key)


_SEEN: dict[tuple[Any, ...], bool] = {}


def _verified(body: Any, run: str, key: bytes) -> bool:
    mark = (repr(body), run, key)
    if mark not in _SEEN:
        _SEEN[mark] = is_signed_by(body, run, key)
    return _SEEN[mark]
