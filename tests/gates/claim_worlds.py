"""Small random records for the claim and stop gates: one contract, events as they are sealed, one stop with claims."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from tallystick.contracts.build import build
from tallystick.contracts.task import load_task
from tallystick.contracts.types import Contract, Task
from tallystick.model import events as e
from tallystick.model import jsontext
from tallystick.model.proposal import Claim, Stop
from tallystick.model.values import EntityRef, instant_of
from tallystick.view import View

RUN: Final = "r-claims"
NOW: Final = instant_of("2026-03-01T12:00:00Z")
CONTRACT: Final[Contract] = build(
    {
        "contract": "claims/1",
        "entities": {"invoice": {"id": "id", "amount_due": "money(EUR)", "status": "string"}},
        "tools": {
            "get": {
                "effect": "read",
                "target": "invoice(args.id)",
                "yields": {"invoice": {"id": "/id", "amount_due": "/amount_due", "status": "/status"}},
                "echoes": {"id": "/id"},
            },
            "list": {
                "effect": "read",
                "yields": {
                    "invoice": {"at": "/items/*", "id": "/id", "amount_due": "/amount_due", "status": "/status"}
                },
                "complete": {"flag": "/complete", "items": "/items"},
            },
            "pay": {
                "effect": "write",
                "target": "invoice(args.id)",
                "args": {"amount": "money(EUR)"},
                "once_per": ["args.id", "args.amount"],
                "ok": 'result.status == "paid"',
                "pending": 'result.status == "queued"',
                "no_effect": 'result.status == "refused"',
            },
        },
        "task": {
            "inputs": {"invoice": "id"},
            "owes": [{"id": "paid", "by": "pay", "for": "invoice(task.invoice)"}],
            "answer": [
                {"slot": "amount", "type": "money(EUR)", "scope": "invoice", "derive": "pay./amount"},
                {
                    "slot": "open",
                    "type": "money(EUR)",
                    "derive": 'sum(list./items/*/amount_due where item.status == "open")',
                    "required": False,
                },
                {"slot": "status", "type": "string", "scope": "invoice", "derive": "invoice.status", "required": False},
            ],
        },
    }
)  # fmt: skip
TASK: Final[Task] = load_task({"bindings": {"invoice": "I-1"}}, CONTRACT)
IDS: Final = ("I-1", "I-2")
AMOUNTS: Final = ("5.00", "7.50", "12.50")
STATES: Final = ("open", "paid")


def sealed(bodies: Sequence[tuple[e.AnyBody, e.Role]], *, format: str | None = None) -> tuple[e.Sealed, ...]:  # noqa: A002
    """Seal bodies into one run's chain, a second apart, with its start."""
    start = e.Started(semantics=e.SEMANTICS, contract="", contract_sha256="", task="", task_sha256="", format=format)
    found: list[e.Sealed] = []
    prev = e.GENESIS
    listed: list[tuple[e.AnyBody, e.Role]] = [(start, "runtime"), *bodies]
    for seq, (body, role) in enumerate(listed, 1):
        at = f"2026-03-01T10:{seq // 60:02d}:{seq % 60:02d}Z"
        event = e.Event(v=1, run=RUN, seq=seq, at=at, actor=e.Actor(role=role, id=role), body=body, prev=prev)
        one = e.seal(event)
        prev = one.digest
        found.append(one)
    return tuple(found)


def folded(events: Sequence[e.Sealed], contract: Contract = CONTRACT, task: Task = TASK) -> View:
    """Fold sealed events from scratch."""
    view = View(contract, task, run=RUN)
    for event in events:
        view.apply(event)
    return view


def intent(call: str, tool: str, args: dict[str, Any], **more: Any) -> tuple[e.AnyBody, e.Role]:
    """Return an intent."""
    return e.Intent(call=call, tool=tool, args=e.blob(jsontext.dumps(args).encode()), **more), "runtime"


def receipt(name: str, call: str | None, value: Any, **more: Any) -> tuple[e.AnyBody, e.Role]:
    """Return a receipt whose result is the JSON text of `value` (a `str` is the text itself)."""
    text = value if isinstance(value, str) else jsontext.dumps(value)
    return e.Receipt(id=name, call=call, result=None if value is None else e.blob(text.encode()), **more), "executor"


@dataclass(frozen=True)
class ClaimWorld:
    """A record and a stop."""

    seed: int
    events: tuple[e.Sealed, ...]
    stop: Stop

    def view(self) -> View:
        """Fold the record."""
        return folded(self.events)


def world(seed: int) -> ClaimWorld:
    """Return the world of a seed."""
    rng = random.Random(seed)
    bodies: list[tuple[e.AnyBody, e.Role]] = []
    open_: list[tuple[str, str, dict[str, Any]]] = []
    names: list[str] = []
    for number in range(rng.choice((1, 2, 3, 4, 5))):
        if rng.random() < 0.12:
            bodies.append((e.Said(role="assistant", text="all is paid"), "agent"))
        tool = rng.choice(("get", "list", "pay"))
        args: dict[str, Any] = {} if tool == "list" else {"id": rng.choice((*IDS, "I-1"))}
        if tool == "pay":
            args["amount"] = rng.choice(AMOUNTS)
        call = f"c{number}"
        bodies.append(intent(call, tool, args))
        open_.append((call, tool, args))
        while open_ and rng.random() < 0.93:
            which = open_.pop(rng.randrange(len(open_)))
            for again in range(rng.choice((1, 1, 1, 1, 2))):
                name = f"{which[0]}r{again}"
                names.append(name)
                bodies.append(_answer(rng, name, *which))
    if rng.random() < 0.1:
        names.append("lost")
        bodies.append(receipt("lost", None, {"id": "I-1", "status": "paid"}))
    return ClaimWorld(seed, sealed(bodies), _stop(rng, names, bodies))


def _record(rng: random.Random, name: str) -> dict[str, Any]:
    record = {"id": name, "amount_due": rng.choice(AMOUNTS), "status": rng.choice(STATES)}
    if rng.random() < 0.08:
        del record[rng.choice(("amount_due", "status"))]
    return record


def _answer(rng: random.Random, name: str, call: str, tool: str, args: dict[str, Any]) -> tuple[e.AnyBody, e.Role]:
    more: dict[str, Any] = {}
    if rng.random() < 0.06:
        more["flag"] = "error"
    if rng.random() < 0.05:
        more["source"] = "replica"
    if rng.random() < 0.04:
        more["truncated"] = True
    if rng.random() < 0.05:
        return receipt(name, call, None, error="timeout")
    if tool == "get":
        return receipt(name, call, _record(rng, args["id"] if rng.random() < 0.92 else rng.choice(IDS)), **more)
    if tool == "list":
        items = [_record(rng, i) for i in rng.sample(IDS, rng.choice((0, 1, 2)))]
        return receipt(name, call, {"items": items, "complete": rng.random() < 0.8}, **more)
    state = rng.choice(("paid",) * 9 + ("queued", "rejected", "refused"))
    value: dict[str, Any] = {"id": args["id"], "status": state, "amount": args["amount"]}
    if rng.random() < 0.05:
        value["amount"] = rng.choice(("about five", "99.00"))
    if rng.random() < 0.05:
        value["detail"] = {"error": "no"}
    return receipt(name, call, value, **more)


def _stop(rng: random.Random, names: list[str], bodies: Sequence[tuple[e.AnyBody, e.Role]]) -> Stop:
    claims: list[Claim] = []
    paid = [jsontext.loads(b.args.raw)["amount"] for b, _ in bodies if isinstance(b, e.Intent) and b.tool == "pay"]
    if paid and rng.random() < 0.6:  # an answer with a chance to be right
        claims.append(Claim(slot="amount", field="amount", value=rng.choice((f"{paid[-1]} EUR", paid[-1], paid[0]))))
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        if rng.random() < 0.4:
            slot = rng.choice(("amount", "amount", "open", "status"))
            value: Any = rng.choice(STATES) if slot == "status" else rng.choice((*AMOUNTS, "0.00", "20.00", "x"))
            cites = tuple(rng.sample(names, 1)) if names and rng.random() < 0.3 else ()
            subject = EntityRef("invoice", rng.choice(IDS)) if rng.random() < 0.2 else None
            claims.append(Claim(slot=slot, field=slot, value=value, cites=cites, subject=subject))
        else:
            name = rng.choice(("status", "status", "amount_due", "exists", "done", "nothing"))
            said: Any = {"status": rng.choice(STATES), "amount_due": rng.choice(AMOUNTS)}.get(name, rng.random() < 0.6)
            known = [*names, "ghost"]
            cites = tuple(rng.sample(known, rng.choice((0, 1, 1, 1)))) if known else ()
            claims.append(Claim(field=name, value=said, subject=EntityRef("invoice", rng.choice(IDS)), cites=cites))
    return Stop(now=NOW, claims=tuple(claims), truncated=rng.random() < 0.05)
