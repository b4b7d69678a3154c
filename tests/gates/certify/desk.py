"""One record on which every kind of slot has its answer, and the certificate that an honest answer to it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tallystick.contracts.build import build
from tallystick.contracts.task import load_task, task_text
from tallystick.contracts.types import Contract, Task
from tallystick.gates.certify import bind, verify_certificate
from tallystick.model import events as e
from tallystick.model.canonical import digest
from tallystick.model.certificate import BoundClaim, Certificate
from tallystick.model.proposal import Claim, Stop
from tallystick.model.values import instant_of
from tallystick.view import View
from tests.gates.claim_worlds import intent, receipt

RUN: Final = "r-desk"
NOW: Final = instant_of("2026-03-31T12:00:00Z")
SLOTS: Final[dict[str, dict[str, Any]]] = {
    "paid": {"type": "money(EUR)", "scope": "invoice", "derive": "pay./amount"},
    "status": {"type": "string", "scope": "invoice", "derive": "invoice.status"},
    "quoted": {"type": "money(EUR)", "derive": "quote./amount"},
    "open": {"type": "money(EUR)", "derive": 'sum(list./items/*/amount where item.status == "open")'},
    "ids": {"type": "set(id)", "quantifier": "all", "derive": "set(list./items/*/id)"},
    "names": {"type": "list(string)", "derive": "list(list./items/*/name)"},
    "march": {
        "type": "integer",
        "quantifier": "count",
        "derive": "count(list./items/*)",
        "dates": {"at": "/issued", "from": "task.from", "to": "task.to"},
    },
    "overdue": {
        "type": "integer",
        "quantifier": "none",
        "derive": 'count(list./items/* where item.status == "overdue")',
    },
    "left": {"type": "money(EUR)", "scope": "invoice", "derive": "difference(get./amount_due, get./paid)"},
    "until": {"type": "date", "scope": "invoice", "derive": 'after(get./issued, "14d")'},
    "age": {"type": "integer", "scope": "invoice", "derive": "days(get./issued, invoice.due)"},
    "local": {"type": "date", "scope": "invoice", "derive": 'day(get./seen, "Europe/Paris")'},
    "seen": {"type": "instant", "scope": "invoice", "derive": "get./seen"},
    "weight": {"type": "quantity(kg)", "scope": "invoice", "derive": "get./weight"},
    "mine": {"type": "money(EUR)", "derive": "lookup(list./items/*/amount where item.id == task.invoice)"},
    "others": {
        "type": "set(id)",
        "derive": 'minus(set(list./items/*/id), set(list./items/*/id where item.status == "open"))',
    },
    "summary": {
        "type": "record(id: id, total: money(EUR))",
        "scope": "invoice",
        "derive": "record(id: get./id, total: get./amount_due)",
    },
}


def contract_of(*names: str, required: bool = True) -> Contract:
    """Return the desk's contract with these slots (all of them where none is named)."""
    return build(
        {
            "contract": "desk/1",
            "entities": {
                "invoice": {"id": "id", "amount_due": "money(EUR)", "status": "string", "due": "date"},
            },
            "tools": {
                "get": {
                    "effect": "read",
                    "target": "invoice(args.id)",
                    "yields": {
                        "invoice": {"id": "/id", "amount_due": "/amount_due", "status": "/status", "due": "/due"}
                    },
                    "echoes": {"id": "/id"},
                },
                "list": {
                    "effect": "read",
                    "args": {"page": "integer"},
                    "yields": {"invoice": {"at": "/items/*", "id": "/id"}},
                    "complete": {"next": "/next", "page_arg": "page", "items": "/items"},
                },
                "pay": {"effect": "write", "target": "invoice(args.id)", "ok": 'result.status == "paid"'},
                "quote": {"effect": "read"},
            },
            "task": {
                "inputs": {"invoice": "id", "from": "date", "to": "date"},
                "owes": [{"id": "paid", "by": "pay", "for": "invoice(task.invoice)"}],
                "answer": [{"slot": name, "required": required, **SLOTS[name]} for name in (names or tuple(SLOTS))],
            },
        }
    )


CONTRACT: Final = contract_of()
TASK: Final = load_task({"bindings": {"invoice": "I-1", "from": "2026-03-01", "to": "2026-03-31"}}, CONTRACT)
TRUTH: Final[dict[str, Any]] = {
    "paid": "12.50",
    "status": "paid",
    "quoted": "9.00",
    "open": "30.10",
    "ids": ["I-1", "I-2", "I-3"],
    "names": ["Ann", "Bo", "Cy"],
    "march": 2,
    "overdue": 0,
    "left": "3.25",
    "until": "2026-03-24",
    "age": 21,
    "local": "2026-03-11",
    "seen": "2026-03-10T23:30:00Z",
    "weight": "2.5 kg",
    "mine": "12.50",
    "others": ["I-1"],
    "summary": {"id": "I-1", "total": "15.75"},
}
"""What an honest answer says, worked out by hand from `BODIES`."""

Body = tuple[e.AnyBody, e.Role]


def invoice(name: str, **more: Any) -> dict[str, Any]:
    """Return what `get` answers about an invoice."""
    return {
        "id": name, "amount_due": "15.75", "paid": "12.50", "status": "paid", "issued": "2026-03-10",
        "due": "2026-03-31", "seen": "2026-03-11T00:30:00+01:00", "weight": "2.5", **more,
    }  # fmt: skip


def item(name: str, who: str, amount: str, status: str, issued: str) -> dict[str, Any]:
    """Return one line of the listing."""
    return {"id": name, "name": who, "amount": amount, "status": status, "issued": issued}


PAGES: Final = (
    [item("I-1", "Ann", "12.50", "paid", "2026-03-10"), item("I-2", "Bo", "30.00", "open", "2026-02-28")],
    [item("I-3", "Cy", "0.10", "open", "2026-03-31")],
)
BODIES: Final[tuple[Body, ...]] = (
    intent("g0", "get", {"id": "I-1"}),
    receipt("rg0", "g0", invoice("I-1", status="open", paid="0.00")),
    intent("p1", "pay", {"id": "I-1", "amount": "12.50"}),
    receipt("rp1", "p1", {"status": "paid", "id": "I-1", "amount": "12.50"}),
    intent("g1", "get", {"id": "I-1"}),
    receipt("rg1", "g1", invoice("I-1")),
    intent("g2", "get", {"id": "I-2"}),
    receipt("rg2", "g2", invoice("I-2")),
    intent("l1", "list", {"page": 1}),
    receipt("rl1", "l1", {"items": PAGES[0], "next": 2}),
    intent("l2", "list", {"page": 2}),
    receipt("rl2", "l2", {"items": PAGES[1], "next": None}),
    intent("q1", "quote", {}),
    receipt("rq1", "q1", {"amount": "9.00"}),
    (e.Said(role="assistant", text="all is done"), "agent"),
)


def record(bodies: Sequence[Body] = BODIES, contract: Contract = CONTRACT, task: Task = TASK, run: str = RUN) -> View:
    """Return the view of a record of these bodies, after its first event."""
    text = task_text(task)
    start = e.Started(
        semantics=e.SEMANTICS, contract=contract.text, contract_sha256=contract.sha256,
        task=text, task_sha256=digest(text.encode()),
    )  # fmt: skip
    view, prev = View(contract, task, run=run), e.GENESIS
    for seq, (body, role) in enumerate([(start, "runtime"), *bodies], 1):
        at = f"2026-03-31T10:{seq // 60:02d}:{seq % 60:02d}Z"
        sealed = e.seal(e.Event(v=1, run=run, seq=seq, at=at, actor=e.Actor(role=role, id=role), body=body, prev=prev))  # type: ignore[arg-type]  # a role
        prev = sealed.digest
        view.apply(sealed)
    return view


def stop(contract: Contract = CONTRACT, **other: Any) -> Stop:
    """Return the stop of an honest answer, with other values where given."""
    said = {slot.name: {**TRUTH, **other}[slot.name] for slot in contract.answer}
    return Stop(now=NOW, claims=tuple(Claim(slot=name, field=name, value=value) for name, value in said.items()))


def honest(view: View, contract: Contract = CONTRACT, **other: Any) -> Certificate:
    """Return the certificate bound from an honest answer."""
    return bind(view, contract, stop(contract, **other))


def claim(certificate: Certificate, slot: str) -> BoundClaim:
    """Return the claim for a slot."""
    return next(c for c in certificate.claims if c.slot == slot)


def found(view: View, certificate: Certificate, contract: Contract = CONTRACT, **more: Any) -> set[tuple[str, str]]:
    """Return (check, code) of every deficit."""
    return {(d.check, d.code) for d in verify_certificate(view, contract, certificate, **more).deficits}
