"""What random worlds are made of: tiny expressions, contracts drawn from options, and a log that makes events."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tallystick.contracts.types import (
    Batch,
    ConditionRule,
    Contract,
    EntityExpr,
    EntityType,
    Exclusion,
    ObligationRule,
    Principal,
    Requirement,
    Settle,
    Task,
    Tool,
    Yield,
)
from tallystick.errors import ExpressionError
from tallystick.model import jsontext
from tallystick.model.events import Actor, Blob, Body, Event, Intent, Receipt, Role, Sealed, blob, seal
from tallystick.model.signing import sign
from tallystick.model.values import Type

RUN = "run-1"
EUR = Type(name="money", unit="EUR")
ID = Type(name="id")
TEXT = Type(name="string")
INVOICES = ("I-1", "I-2", "I-20")  # the third begins like the second: a near miss is another id
VENDORS = ("V-1", "V-2")
AMOUNTS: tuple[Any, ...] = ("420.00", 420, "17.10", "420.0", 99)


@dataclass(frozen=True, slots=True)
class Fn:
    """An expression that is a Python callable: what the gates see of CEL, at a fraction of its cost."""

    source: str
    refs: tuple[tuple[str, ...], ...]
    fn: Callable[[Mapping[str, Any]], Any]

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        try:
            return self.fn(env)
        except (KeyError, TypeError, IndexError) as bad:
            raise ExpressionError(f"`{self.source}`: {bad}") from None


def path(*names: str) -> Fn:
    """The value at a dotted path; missing is an error."""

    def look(env: Mapping[str, Any]) -> Any:
        value: Any = env
        for name in names:
            value = value[name]
        return value

    return Fn(".".join(names), (names,), look)


def const(value: Any) -> Fn:
    return Fn(repr(value), (), lambda _env: value)


def eq(left: Fn, right: Fn) -> Fn:
    """Equality of values of one type; comparing across types is an error, as in CEL."""

    def compare(env: Mapping[str, Any]) -> bool:
        a, b = left.fn(env), right.fn(env)
        if type(a) is not type(b):
            raise TypeError("mixed types")
        return bool(a == b)

    return Fn(f"{left.source} == {right.source}", tuple(dict.fromkeys((*left.refs, *right.refs))), compare)


def equals(ref: str, value: Any) -> Fn:
    return eq(path(*ref.split(".")), const(value))


INVOICE = EntityExpr(kind="invoice", id=path("args", "invoice_id"), alias="invoice")
VENDOR = EntityExpr(kind="vendor", id=path("invoice", "vendor"), alias="vendor")
EACH = EntityExpr(kind="invoice", id=path("args", "invoice_ids"), alias="invoice", each=True)
ENTITIES = {
    "invoice": EntityType(kind="invoice", fields={"amount_due": EUR, "status": TEXT, "vendor": ID}),
    "vendor": EntityType(kind="vendor", fields={"blocked": Type(name="boolean")}),
}
SEEN = {"amount_due": ("amount_due",), "status": ("status",), "vendor": ("vendor",)}


def requirement(rng: random.Random, kind: str, entity: EntityExpr, nested: bool = False) -> Requirement:
    """One requirement of a kind, with random options."""
    fresh = rng.choice((None, None, "write", 120))
    when = rng.choice((None, None, None, equals("args.express", True), equals("invoice.status", "open")))
    common: dict[str, Any] = {"id": f"{kind}-{rng.randrange(100)}", "fresh": fresh, "when": when}
    if kind == "fact":
        expr = rng.choice(
            (
                equals("invoice.status", "open"),
                equals("invoice.status", "open"),
                eq(path("args", "amount"), path("invoice", "amount_due")),
                equals("vendor.blocked", False),
            )
        )
        return Requirement(kind="fact", expr=expr, **common)
    if kind in ("known", "confirmed"):
        return Requirement(kind=kind, entity=entity, **common)  # type: ignore[arg-type]  # one of the two
    if kind == "argument":
        source = rng.choice((("pay", ("file",)), ("get_invoice", ("etag",))))
        return Requirement(kind="argument", arg="file", tool=source[0], pointer=source[1], **common)
    if kind == "read":
        expr = rng.choice((None, equals("args.topic", "pay")))
        return Requirement(kind="read", tool="get_policy", expr=expr, **common)
    if kind == "previewed":
        expr = rng.choice((None, equals("preview.limit", "kept")))
        names = rng.choice((("invoice_id",), ("invoice_id", "amount")))
        return Requirement(kind="previewed", args_equal=names, expr=expr, **common)
    if kind == "approval":
        return Requirement(kind="approval", role=rng.choice(("", "finance", "boss")), **common)
    assert kind == "any"
    assert not nested
    options = tuple(requirement(rng, k, entity, True) for k in rng.sample(("fact", "approval", "read", "known"), 2))
    return Requirement(kind="any", options=options, **common)


KINDS = ("fact", "fact", "fact", "known", "confirmed", "argument", "read", "previewed", "approval", "any")


def _reads(rng: random.Random) -> list[Tool]:
    by_arg = rng.random() < 0.3
    shown = Yield(kind="invoice", at=(), fields=SEEN, id=("id",))
    return [
        Tool(
            name="get_invoice",
            effect="read",
            target=(INVOICE,),
            yields=(replace(shown, id=None, id_arg="invoice_id") if by_arg else shown,),
            lag_seconds=rng.choice((0, 0, 45)),
            requires=(requirement(rng, "confirmed", INVOICE),) if rng.random() < 0.05 else (),
            needs_approval="" if rng.random() < 0.03 else None,
        ),
        Tool(name="list_invoices", effect="read", yields=(replace(shown, at=("items", "*")),)),
        Tool(
            name="get_vendor",
            effect="read",
            target=(EntityExpr(kind="vendor", id=path("args", "vendor_id"), alias="vendor"),),
            yields=(Yield(kind="vendor", at=(), fields={"blocked": ("blocked",)}, id=("id",)),),
        ),
        Tool(name="get_policy", effect="read", ok=rng.choice((None, equals("result.ok", True)))),
    ]


def _write(rng: random.Random, name: str) -> Tool:
    typed = rng.random() < 0.6
    keyed = rng.random() < 0.5
    requires = tuple(requirement(rng, rng.choice(KINDS), INVOICE) for _ in range(rng.choice((0, 0, 1, 1, 2, 3))))
    previews = rng.random() < (0.9 if any(r.kind == "previewed" for r in requires) else 0.2)
    return Tool(
        name=name,
        effect="write",
        effect_cases=((equals("args.dry", True), "preview"),) if previews else (),
        args={"invoice_id": ID, "amount": EUR} if typed else {},
        args_schema={"type": "object", "required": ["invoice_id"], "properties": {"file": {"type": "string"}}}
        if rng.random() < 0.3
        else None,
        target=(INVOICE,),
        bind=(VENDOR,) if rng.random() < 0.5 else (),
        yields=(Yield(kind="invoice", at=("invoice",), fields={"status": ("status",)}, id=("id",)),)
        if rng.random() < 0.4
        else (),
        once_per=rng.choice(((), (path("args", "invoice_id"),), (path("args", "invoice_id"), path("args", "amount")))),
        idempotency_arg="key" if keyed and rng.random() < 0.5 else None,
        dedupes_by_key=keyed,
        needs_approval=rng.choice(("", "finance")) if rng.random() < 0.15 else None,
        ok=rng.choice((None, equals("result.status", "paid"))),
        no_effect=rng.choice((None, equals("result.status", "rejected"))),
        pending=rng.choice((None, equals("result.status", "queued"))),
        terminal=rng.choice(((), (), ("paid", "rejected"))),
        status_at=("status",),
        echoes=rng.choice(((), (("invoice_id", ("invoice", "id")),))),
        settle=Settle(tool="get_invoice", shows=equals("result.status", "paid"), args={"invoice_id": INVOICE.id}),
        requires=requires,
    )


def _batch(rng: random.Random) -> Tool:
    kinds = ("fact", "known", "confirmed", "approval", "read")
    return Tool(
        name="pay_many",
        effect="write",
        target=(EACH,),
        batch=Batch(
            arg="invoice_ids",
            results=("results",),
            result_key=("id",),
            ok=rng.choice((None, equals("item.ok", True))),
        ),
        dedupes_by_key=rng.random() < 0.3,
        requires=tuple(requirement(rng, rng.choice(kinds), EACH) for _ in range(rng.choice((0, 1, 1, 2)))),
    )


def _conditions(rng: random.Random) -> tuple[ConditionRule, ...]:
    if rng.random() < 0.7:
        return ()
    kind = rng.choice(("invoice", "invoice", "vendor", None))
    when = {"invoice": equals("invoice.status", "disputed"), "vendor": equals("vendor.blocked", True), None: None}[kind]
    if kind is None:
        when = equals("args.express", True)
    until = rng.choice((None, equals("invoice.status", "open"))) if kind == "invoice" else None
    rule = ConditionRule(
        id="standing",
        kind=kind,
        when=when,
        removes=("pay", "pay_many", "get_policy"),
        status="do not pay",
        prerequisite="a decision",
        authority=rng.choice(("finance", "")),
        fallback="leave it",
        until=until,
    )
    return (rule,)


def _owes(rng: random.Random) -> tuple[ObligationRule, ...]:
    each = EntityExpr(kind="invoice", id=path("item"), alias="invoice")
    one = EntityExpr(kind="invoice", id=path("task", "main"), alias="invoice")
    pool = (
        ObligationRule(id="paid", kind="event", by="pay", entity=each, each="invoices"),
        ObligationRule(id="main", kind="event", by="pay", entity=one, args={"amount": path("task", "amount")}),
        ObligationRule(id="again", kind="event", by="pay", entity=one, when=equals("invoice.status", "open")),
        ObligationRule(id="sent", kind="event", by="send", entity=one),
        ObligationRule(id="closed", kind="state", entity=one, fact=equals("invoice.status", "paid")),
        ObligationRule(id="loose", kind="event", by="refund"),
    )
    return tuple(rng.sample(pool, rng.choice((0, 1, 1, 2, 3))))


@lru_cache(maxsize=512)
def contract_of(number: int) -> Contract:
    """Return the contract of that number; the same number gives the same contract."""
    rng = random.Random(f"contract {number}")
    tools = [*_reads(rng), *(_write(rng, n) for n in ("pay", "refund", "send")), _batch(rng)]
    exclusive = (
        Exclusion(
            id="one-remedy",
            tools=("pay", "refund"),
            per={"pay": path("args", "invoice_id"), "refund": path("args", "invoice_id")},
        ),
    )
    conditions, kept, owes, closed = _conditions(rng), rng.random() < 0.25, _owes(rng), rng.random() < 0.9
    undoing = rng.choice(((), ("refund",), ("refund", "pay", "send")))
    return Contract(
        name="desk",
        version="1",
        text="",
        sha256="",
        entities=ENTITIES,
        tools={t.name: replace(t, undone_by=undoing if t.name in ("pay", "refund") else ()) for t in tools},
        conditions=conditions,
        exclusive=exclusive if kept else (),
        owes=owes,
        closed=closed,
    )


KEYS = {name: Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32) for n, name in enumerate(("fin", "max", "eve"), 1)}
PRINCIPALS = tuple(
    Principal(id=name, role=role, public_key=KEYS[name].public_key().public_bytes_raw())
    for name, role in (("fin", "finance"), ("max", "boss"))
)  # eve has a key and no standing


def task_of(rng: random.Random) -> Task:
    """A task; its bindings may be missing, and then what depends on them is owed in general."""
    bindings: dict[str, Any] = {"invoices": list(rng.choice((("I-1",), ("I-1", "I-2"), ("I-1", "I-1"))))}
    if rng.random() < 0.8:
        bindings |= {"main": "I-1", "amount": EUR.parse("420.00")}
    return Task(bindings=bindings, principals=PRINCIPALS)


_SIGNED: dict[tuple[str, bytes], Any] = {}


def signed(body: Any, who: str) -> Any:
    """Return `body` signed by the key of `who`, remembering signatures, as worlds repeat themselves."""
    key = (who, msgspec.json.encode(body))
    if key not in _SIGNED:
        _SIGNED[key] = sign(body, RUN, KEYS[who])
    return _SIGNED[key]


@lru_cache(maxsize=65_536)
def text_blob(text: str) -> Blob:
    return blob(text.encode())


@lru_cache(maxsize=65_536)
def instant_text(second: int) -> str:
    """RFC 3339 text of so many seconds after ten o'clock."""
    hours, rest = divmod(second, 3600)
    return f"2026-11-30T{10 + hours:02d}:{rest // 60:02d}:{rest % 60:02d}Z"


class Log:
    """Makes a run's events one after another. `real` seals them; else the digest is a label, which is much faster."""

    def __init__(self, *, real: bool = False) -> None:
        self.events: list[Sealed] = []
        self.second = 0
        self.real = real

    def add(self, body: Body, role: Role = "runtime", name: str = "it", *, after: int = 1) -> Sealed:
        """Append `body` by an actor of `role`, `after` seconds later."""
        self.second += after
        seq = len(self.events) + 1
        prev = self.events[-1].digest if self.events else "0" * 64
        event = Event(
            v=1,
            run=RUN,
            seq=seq,
            at=instant_text(self.second),
            actor=Actor(role=role, id=name),
            body=body,  # type: ignore[arg-type]  # one of the union's members
            prev=prev,
        )
        sealed = seal(event) if self.real else Sealed(event=event, raw=b"", digest=f"event {seq}")
        self.events.append(sealed)
        return sealed

    def intent(self, call: str, tool: str, args: Mapping[str, Any], **more: Any) -> Sealed:
        """Append "this call is about to happen"."""
        body = Intent(call=call, tool=tool, args=text_blob(jsontext.dumps(dict(args))), **more)
        return self.add(body)

    def receipt(self, call: str, value: Any, *, name: str = "", role: Role = "executor", **more: Any) -> Sealed:
        """Append what came of a call; `value` is JSON, text as it is, or nothing."""
        text = value if isinstance(value, str) or value is None else jsontext.dumps(value)
        result = text_blob(text) if text is not None else None
        return self.add(Receipt(id=name or f"r-{call}", call=call, result=result, **more), role)

    def done(self, call: str, tool: str, args: Mapping[str, Any], value: Any, **more: Any) -> Sealed:
        """Append a call and its answer."""
        self.intent(call, tool, args)
        return self.receipt(call, value, **more)
