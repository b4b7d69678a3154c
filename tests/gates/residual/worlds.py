"""Random small worlds: a contract, a prefix that really ran against a little shop, and a proposal for the rest.

The shop keeps its own journal of what was really done, by its own plain rules, so that what the gate promises can be
checked against something that knows nothing of it. Proposals are right, or wrong in one of many ways.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from tallystick.contracts import build
from tallystick.contracts.types import Contract, Task
from tallystick.model import events as e
from tallystick.view import View
from tests.gates.worlds_kit import RUN, Log

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ORDERS = ("O-1", "O-2", "O-20")  # the third begins like the second
TOTALS = {"O-1": "420.00", "O-2": "17.10", "O-20": "99.50"}
CONTRACTS = 240
Doc = dict[str, Any]


# ---------------------------------------------------------------- contracts


@dataclass(frozen=True)
class Rules:
    """A contract, and the options it was drawn from, for the shop's own rules."""

    contract: Contract
    once: Mapping[str, tuple[str, ...]]  # tool → the arguments that identify its effect
    undone_by: Mapping[str, tuple[str, ...]]
    exclusive: bool


@lru_cache(maxsize=CONTRACTS)
def rules_of(number: int) -> Rules:
    """Return the contract of that number."""
    rng = random.Random(f"residual contract {number}")
    once = {
        "pay": rng.choice((("id",), ("id", "amount"), ("id", "amount"))),
        "send": rng.choice((("id",), ("id", "file"))),
        "close": ("id",),
        "note": ("id", "text"),
        "void": ("id",),
        "ship": ("id",),
        "settle": ("id",),
    }
    undone = {"pay": ("void",) if rng.random() < 0.6 else (), "close": rng.choice(((), ("close",), ("void",)))}
    every = _tools(rng, once, undone)
    names = ["get", "pay", *rng.sample(("send", "close", "note", "void", "ship", "list", "settle"), rng.randint(1, 4))]
    tools = {name: every[name] for name in names}
    for tool in tools.values():
        undoing = [name for name in tool.pop("undone_by", ()) if name in tools]
        if undoing:
            tool["undone_by"] = undoing
    if "send" in tools and "send-needs-pay" in every:
        tools["send"]["requires"] = every["send-needs-pay"]
    exclusive = rng.random() < 0.25 and "void" in tools
    doc: Doc = {
        "contract": f"shop-{number}/1",
        "entities": {"order": {"id": "id", "status": "string", "total": "money(EUR)"}},
        "tools": tools,
        "task": {"inputs": {"main": "id", "more": "list(id)"}, "owes": _owes(rng, names), "answer": _answer(rng)},
    }
    if exclusive:
        doc["exclusive"] = [{"id": "one", "tools": ["pay", "void"], "per": "args.id"}]
    if "note" in tools and rng.random() < 0.4:
        doc["duties"] = [{"id": "noted", "after": "pay", "owes": "note", "with": "args.id == call.id"}]
    return Rules(build(doc), {n: once[n] for n in names if n in once}, {n: undone.get(n, ()) for n in names}, exclusive)


def _tools(rng: random.Random, once: Mapping[str, tuple[str, ...]], undone: Mapping[str, tuple[str, ...]]) -> Doc:
    key = {name: [f"args.{arg}" for arg in args] for name, args in once.items()}
    yields = {"order": {"id": "/id", "status": "/status", "total": "/total"}}
    one: Doc = {
        "effect": "write",
        "target": "order(args.id)",
        "ok": 'result.ok == "yes"',
        "no_effect": "has(result.error)",
    }
    needs: list[list[Doc]] = [
        [],
        [{"id": "right", "fact": "args.amount == order.total"}],
        [{"id": "open", "fact": 'order.status == "open"', "fresh": "since last write"}],
        [{"id": "seen", "known": "order(args.id)"}],
        [{"id": "chosen", "confirmed": "order"}],
    ]
    typed = {"id": "id", "amount": "money(EUR)"}
    pay = {**one, "args": typed, "once_per": key["pay"], "requires": rng.choice(needs)}
    if not pay["requires"]:
        del pay["requires"]
    if rng.random() < 0.1:
        del pay["once_per"]
    if undone["pay"]:
        pay["undone_by"] = list(undone["pay"])
    close = {**one, "args": {"id": "id"}, "yields": yields if rng.random() < 0.5 else {}}
    if undone["close"]:
        close["undone_by"] = list(undone["close"])
    found: Doc = {
        "get": {"effect": "read", "args": {"id": "id"}, "target": "order(args.id)", "yields": yields},
        "list": {"effect": "read", "yields": {"order": {"at": "/orders/*", "id": "/id", "status": "/status"}}},
        "pay": pay,
        "send": {**one, "args": {"id": "id", "file": "string"}, "once_per": key["send"]},
        "close": close,
        "note": {**one, "args": {"id": "id", "text": "string"}, "once_per": key["note"]},
        "void": {**one, "args": {"id": "id"}},
        "ship": {
            "effect": "write", "args": {"ids": "list(id)"}, "target": "each order(args.ids)",
            "batch": {"arg": "ids", "results": "/results", "result_key": "/id", "ok": 'item.ok == "yes"'},
        },
        "settle": {**one, "args": {"id": "id", "go": "optional boolean"}, "effect": "preview unless args.go"},
    }  # fmt: skip
    for tool in ("close", "note", "void", "settle", "send", "ship"):
        if not found[tool].get("yields", True):
            del found[tool]["yields"]
    if rng.random() < 0.5:
        found["send-needs-pay"] = [{"id": "slip", "arg": "file", "equals": "pay./slip"}]
    return found


def _owes(rng: random.Random, names: list[str]) -> list[Doc]:
    pool: list[Doc] = [
        {"id": "paid", "by": "pay"},
        {"id": "all-paid", "by": "pay", "each": "more", "for": "order(item)"},
        {"id": "loose", "by": "pay", "for": ""},
    ]
    if "send" in names:
        pool.append({"id": "sent", "by": "send"})
        pool.append({"id": "sent", "by": "send", "when": 'order.status == "open"'})
    if "close" in names:
        pool.append({"id": "closed", "kind": "state", "by": "close", "fact": 'order.status == "closed"'})
    if "ship" in names:
        pool.append({"id": "shipped", "by": "ship", "each": "more", "for": "order(item)"})
    if "settle" in names:
        pool.append({"id": "settled", "by": "settle"})
    if "note" in names:
        pool.append({"id": "note", "by": "note", "args": {"text": '"thanks"'}})
    if rng.random() < 0.9:  # several obligations for one and the same payment are rare
        pool = [rng.choice(pool[:3]), *pool[3:]]
    picked = {p["id"]: p for p in rng.sample(pool, min(len(pool), rng.choice((1, 2, 2, 3))))}
    owed = [{"for": "order(task.main)", **p} for p in picked.values()]
    return [{k: v for k, v in o.items() if v} for o in owed]


def _answer(rng: random.Random) -> list[Doc]:
    slot = {"slot": "total", "type": "money(EUR)", "scope": "order(task.main)", "derive": "get./total"}
    return [slot] if rng.random() < 0.4 else []


# ---------------------------------------------------------------- the shop


@dataclass
class Shop:
    """What is really there, and the journal of what was really done: (tool, arguments, took effect)."""

    status: dict[str, str] = field(default_factory=lambda: dict.fromkeys(ORDERS, "open"))
    slips: int = 0
    journal: list[tuple[str, Doc, tuple[str, ...]]] = field(default_factory=list)
    broken: Callable[[], bool] = lambda: False

    def call(self, tool: str, args: Mapping[str, Any]) -> Any:
        """Run a tool."""
        given = copy.deepcopy(dict(args))
        if tool == "get":
            return self._order(str(given.get("id")))
        if tool == "list":
            return {"orders": [self._order(name) for name in ORDERS]}
        if tool == "settle" and given.get("go") is not True:
            return {"plan": "settle it"}
        if self.broken():
            return {"error": "no"}
        names = [str(n) for n in given["ids"]] if tool == "ship" else [str(given.get("id"))]
        known = tuple(name for name in names if name in self.status)
        self.journal.append((tool, given, known))
        for name in known:
            self.status[name] = {"pay": "paid", "close": "closed", "void": "open"}.get(tool, self.status[name])
        if tool == "ship":
            return {"results": [{"id": n, "ok": "yes" if n in known else "no"} for n in names]}
        if not known:
            return {"error": "no such order"}
        self.slips += 1
        return {"ok": "yes", **self._order(known[0]), "slip": f"slip-{self.slips}.pdf"}

    def _order(self, name: str) -> Doc:
        if name not in self.status:
            return {"error": "no such order"}
        return {"id": name, "status": self.status[name], "total": Decimal(TOTALS[name])}


def effects_of(rules: Rules, tool: str, args: Mapping[str, Any], known: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return what a journalled call did, told apart by the shop's own rules: one amount in two spellings is one."""
    if tool == "ship":
        return [(tool, name) for name in known]
    return [(tool, *(_plain(args.get(arg)) for arg in rules.once.get(tool, ())))] if known else []


def _plain(value: Any) -> str:
    text = str(value)
    try:
        return str(Decimal(text).normalize())
    except ArithmeticError:
        return text


# ---------------------------------------------------------------- worlds


@dataclass
class World:
    """A reached state, the shop it is in, and a proposal.

    `script` is the prefix: [kind, …] actions, so that it can be run again against the runtime.
    """

    seed: int
    rules: Rules
    task: Task
    script: list[tuple[Any, ...]]
    log: Log
    view: View
    shop: Shop
    rng: random.Random
    allow: tuple[str, ...] = ()

    @property
    def contract(self) -> Contract:
        """The contract."""
        return self.rules.contract


def world_of(seed: int) -> World:
    """Return the world of that seed: the same seed gives the same world."""
    rng = random.Random(seed)
    rules = rules_of(rng.randrange(CONTRACTS))
    more = list(rng.choice((("O-1",), ("O-1", "O-2"), ("O-2", "O-20"))))
    bindings = {"main": "O-1", "more": tuple(more)}
    task = Task(request="see to the orders", bindings=bindings, need_answer=rng.random() < 0.5)
    script = _script(rng, rules)
    shop, log = Shop(), Log(real=True)
    log.add(e.Started(semantics=e.SEMANTICS, contract="", contract_sha256="", task="", task_sha256=""))
    view = View(rules.contract, task, run=RUN)
    view.apply(log.events[0])
    world = World(seed, rules, task, script, log, view, shop, rng)
    for action in script:
        play(world, action)
    world.allow = tuple(n for n in ("void", "note", "close") if n in rules.contract.tools and rng.random() < 0.25)
    return world


def play(world: World, action: tuple[Any, ...]) -> None:
    """Append one action of a prefix to the record."""
    before = len(world.log.events)
    if action[0] == "call":
        _, name, tool, args, lost = action
        world.log.intent(name, tool, args)
        world.log.receipt(name, None if lost else world.shop.call(tool, args))
    else:
        world.log.add(action[1], action[2])
    for sealed in world.log.events[before:]:
        world.view.apply(sealed)


def _script(rng: random.Random, rules: Rules) -> list[tuple[Any, ...]]:
    tools = rules.contract.tools
    said = rng.choice(("pay O-1, 420.00", "note thanks for O-2, pay 17.10", "O-1 and O-2, please", "hello"))
    actions: list[tuple[Any, ...]] = [("event", e.Said(role="user", text=said), "user")]
    if rng.random() < 0.4:
        chosen = rng.choice(("O-1", "O-1", "O-2"))
        actions.append(("event", e.Confirmation(entity_kind="order", entity_id=chosen), "host"))
    if rng.random() < 0.1:
        value = rng.choice(('"420.00"', "420", "17"))
        actions.append(("event", e.Stated(field="amount", value=value, entity=["order", "O-1"]), "host"))
    count = rng.choice((0, 1, 2, 2, 3, 4, 6))
    for i in range(count):
        tool = rng.choice(["get", "get", *tools])
        actions.append(("call", f"c{i}", tool, arguments(rng, tool), tool != "get" and rng.random() < 0.03))
    if rng.random() < 0.15:
        owed = e.Obliged(
            id="extra",
            tool=rng.choice([n for n in tools if n not in ("get", "list")]),
            entity=["order", rng.choice(ORDERS)],
        )
        actions.append(("event", owed, "host"))
    if rng.random() < 0.06:
        actions.append(("event", e.Raised(id="stop", removes=[rng.choice([*tools])]), "host"))
    return actions


def arguments(rng: random.Random, tool: str, order: str | None = None) -> Doc:
    """Return plausible arguments of a tool."""
    order = order if order is not None else rng.choice(("O-1", "O-1", "O-1", "O-2", "O-20"))
    match tool:
        case "pay":
            total = TOTALS.get(order, "5")
            return {"id": order, "amount": rng.choice((total, total, Decimal(total), Decimal(total).normalize()))}
        case "send":
            return {"id": order, "file": rng.choice(("slip-1.pdf", "slip-1.pdf", "slip-2.pdf"))}
        case "note":
            return {"id": order, "text": rng.choice(("thanks", "thanks", "hello"))}
        case "ship":
            return {"ids": rng.choice(([order], ["O-1", "O-2"], ["O-2", "O-20"]))}
        case "settle":
            return {"id": order, "go": True}
        case "list":
            return {}
    return {"id": order}


def bound_orders(world: World) -> set[str]:
    """Return the orders the user chose, by the shop's own look at the script."""
    return {a[1].entity_id for a in world.script if a[0] == "event" and isinstance(a[1], e.Confirmation)}


def fork(world: World) -> World:
    """Return the world again, with a record and a shop of its own."""
    return world_of(world.seed)


__all__ = ["NOW", "ORDERS", "World", "arguments", "bound_orders", "effects_of", "fork", "world_of"]
