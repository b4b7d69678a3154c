"""Proposals for a world: the right one as far as the residual contract tells, and it spoilt in one or more ways."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from tallystick.model import events as e
from tallystick.model import jsontext
from tallystick.model.residual import Residual
from tests.gates.residual.worlds import ORDERS, Doc, Shop, World, arguments

Calls = list[Doc]


def proposal_of(
    world: World, residual: Residual, *, adversarial: bool | None = None
) -> tuple[bytes, list[e.ReplicaCall]]:
    """Return a proposal, as bytes, and what was tried on a replica for it. Left open, half are adversarial."""
    rng = world.rng
    adversarial = rng.random() < 0.5 if adversarial is None else adversarial
    calls, claims = _right(world, residual)
    replica: list[e.ReplicaCall] = []
    if rng.random() < 0.25:
        replica, calls = _authored(world, calls)
    answer: Doc = {"text": rng.choice(("done", "{total} is done", "")), "claims": claims}
    if adversarial:
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            rng.choice(SPOILERS)(rng, world, residual, calls, answer, replica)
    proposal: Any = {"calls": calls, "answer": answer}
    raw = jsontext.dumps(proposal).encode()
    if adversarial and rng.random() < 0.02:
        raw = rng.choice((raw[:-1], b"[]", b"", jsontext.dumps({**proposal, "more": 1}).encode()))
    return raw, replica


def _right(world: World, residual: Residual) -> tuple[Calls, Doc]:
    """Return what a careful successor would propose."""
    rng, contract = world.rng, world.contract
    calls: Calls = []
    paid: dict[str, str] = {}
    wanted = {s.obligation: s for s in residual.effects if s.obligation}
    together = [o for o in residual.owed if o.tools == ["ship"]]
    for owed in sorted(residual.owed, key=lambda o: (o.kind == "state", o.tools != ["pay"])):
        entry = wanted.get(owed.id)
        order = owed.entity[1] if owed.entity else entry.entity[1] if entry is not None and entry.entity else "O-1"
        tool = owed.tools[0] if owed.tools else "get"
        if owed in together[1:]:
            continue
        args = arguments(rng, tool, order)
        args.update({name: jsontext.loads(text) for name, text in owed.args})
        name = f"n{len(calls)}"
        needs = {rule.kind for rule in contract.tools[tool].requires} if tool in contract.tools else set()
        known = {(x.kind, x.id) for x in residual.entities}
        if (tool == "pay" and needs & {"fact", "known"}) or ("order", order) not in known or rng.random() < 0.2:
            if tool == "pay":
                args["amount"] = {"$from": f"look{len(calls)}", "$at": "/total"}
            calls.append({"id": f"look{len(calls)}", "tool": "get", "args": {"id": order}})
        if tool == "ship":
            args = {"ids": list(dict.fromkeys(o.entity[1] for o in together if o.entity)) or ["O-1"]}
        if tool == "send":
            args["file"] = _slip(world, residual, paid, order)
        if tool == "pay":
            paid[order] = name
        calls.append({"id": name, "tool": tool, "args": args})
        if owed.kind == "state":
            calls.append({"id": f"see{len(calls)}", "tool": "get", "args": {"id": order}, "after": [name]})
        if rng.random() < 0.2:
            calls[-1]["covers"] = [owed.id]
        if tool == "pay" and contract.duties:
            calls.append({"id": f"note{len(calls)}", "tool": "note", "args": {"id": order, "text": "O-1"}})
    for i, call in enumerate(calls):  # what needs a slip of a payment comes after it
        if call["tool"] == "send" and isinstance(call["args"]["file"], dict) and call["args"]["file"]["$from"] in paid:
            at = call["args"]["file"]["$from"]
            if all(c["id"] != at for c in calls[:i]):
                calls.append(calls.pop(i))
    claims: Doc = {}
    if contract.answer:
        calls.append({"id": "last", "tool": "get", "args": {"id": "O-1"}, "after": [c["id"] for c in calls]})
        claims["total"] = {"$from": "last", "$at": "/total"}
    return calls, claims


def _slip(world: World, residual: Residual, paid: dict[str, str], order: str) -> Any:
    if order in paid:
        return {"$from": paid[order], "$at": "/slip"}
    shown = [x.receipt for x in residual.receipts if x.tool == "pay"]
    if shown:
        return {"$from": world.rng.choice(shown), "$at": "/slip"}
    return "slip-1.pdf"


def _authored(world: World, calls: Calls) -> tuple[list[e.ReplicaCall], Calls]:
    """Try the calls on a fork of the shop, and write what it shows as literals."""
    shop = Shop(dict(world.shop.status), 100)
    results: dict[str, Any] = {}
    made: list[e.ReplicaCall] = []
    written: Calls = []
    for call in calls:
        args = {name: _literal(value, results) for name, value in call["args"].items()}
        answer = shop.call(call["tool"], args) if call["tool"] in world.contract.tools else {"error": "unknown"}
        results[call["id"]] = answer
        said = [e.blob(jsontext.dumps(value).encode()) for value in (args, answer)]
        made.append(e.ReplicaCall(id=f"replica-{len(made) + 1}", tool=call["tool"], args=said[0], result=said[1]))
        written.append({**call, "args": args})
    return made, written


def _literal(value: Any, results: dict[str, Any]) -> Any:
    if isinstance(value, dict) and value.get("$from") in results:
        return results[value["$from"]].get(value["$at"][1:], "nothing")
    return value


# ---------------------------------------------------------------- ways to be wrong

Spoiler = Callable[[random.Random, World, Residual, Calls, Doc, list[e.ReplicaCall]], None]


def _some(rng: random.Random, calls: Calls) -> Doc | None:
    return rng.choice(calls) if calls else None


def omit(rng: random.Random, _w: World, _z: Residual, calls: Calls, _a: Doc, _r: Any) -> None:
    if calls:
        calls.pop(rng.randrange(len(calls)))


def repeat(rng: random.Random, _w: World, _z: Residual, calls: Calls, _a: Doc, _r: Any) -> None:
    if (call := _some(rng, calls)) is not None:
        args = dict(reversed(call["args"].items()))
        if str(args.get("amount")).replace(".", "").isdigit():
            amount = Decimal(str(args["amount"]))
            args["amount"] = rng.choice((amount, f"{amount:.2f} EUR"))
        calls.append({"id": f"again{len(calls)}", "tool": call["tool"], "args": args})


def repeat_kept(rng: random.Random, world: World, residual: Residual, calls: Calls, _a: Doc, _r: Any) -> None:
    if residual.kept:
        kept = rng.choice(residual.kept)
        calls.append({"id": f"kept{len(calls)}", "tool": kept.tool, "args": dict(world.view.calls[kept.call].args)})


def undo(rng: random.Random, world: World, residual: Residual, calls: Calls, _a: Doc, _r: Any) -> None:
    done = [(k.tool, k.entities[0][1]) for k in residual.kept if k.entities]
    done += [(c["tool"], str(c["args"].get("id"))) for c in calls]
    ways = [(by, order) for tool, order in done for by in world.rules.undone_by.get(tool, ()) if by in world.rules.once]
    if ways:
        tool, order = rng.choice(ways)
        calls.append({"id": f"undo{len(calls)}", "tool": tool, "args": {"id": order}})


def another(rng: random.Random, _w: World, _z: Residual, calls: Calls, _a: Doc, _r: Any) -> None:
    if (call := _some(rng, calls)) is not None:
        order = rng.choice((*ORDERS, "O-3", 1))
        call["args"] = {**call["args"], **({"ids": [order, "O-1"]} if "ids" in call["args"] else {"id": order})}


def shuffle(rng: random.Random, _w: World, _z: Residual, calls: Calls, _a: Doc, _r: Any) -> None:
    rng.shuffle(calls)


def dangle(rng: random.Random, world: World, residual: Residual, calls: Calls, _a: Doc, replica: Any) -> None:
    if (call := _some(rng, calls)) is not None and call["args"]:
        names = [c["id"] for c in calls] + [x.receipt for x in residual.receipts] + ["task", "nobody", "r-c9"]
        names += [made.id for made in replica] + [r.id for r in world.view.receipts]
        at = rng.choice(("/id", "/slip", "", "/orders/0/id", "/main", "/no"))
        name = rng.choice(list(call["args"]))
        ref: Any = {"$from": rng.choice(names), "$at": at}
        call["args"] = {**call["args"], name: rng.choice((ref, ref, [ref], {"$$from": "x"}))}


def wait(rng: random.Random, _w: World, _z: Residual, calls: Calls, _a: Doc, _r: Any) -> None:
    if (call := _some(rng, calls)) is not None:
        call["after"] = [rng.choice([c["id"] for c in calls] + ["nobody"])]


def declare(rng: random.Random, _w: World, residual: Residual, calls: Calls, _a: Doc, _r: Any) -> None:
    if (call := _some(rng, calls)) is not None:
        call["covers"] = [rng.choice([o.id for o in residual.owed] + ["nothing"])]


def rename(rng: random.Random, world: World, _z: Residual, calls: Calls, _a: Doc, replica: Any) -> None:
    if (call := _some(rng, calls)) is not None:
        receipts = [r.id for r in world.view.receipts] + [made.id for made in replica]
        call["id"] = rng.choice(["task", *(c["id"] for c in calls), *receipts])


def more(rng: random.Random, world: World, _z: Residual, calls: Calls, _a: Doc, _r: Any) -> None:
    tool = rng.choice([*world.contract.tools, "wire"])
    call = {"id": f"more{len(calls)}", "tool": tool, "args": arguments(rng, tool)}
    calls.insert(rng.randrange(len(calls) + 1), call)


def invent(rng: random.Random, _w: World, _z: Residual, calls: Calls, _a: Doc, _r: Any) -> None:
    if (call := _some(rng, calls)) is not None:
        name = rng.choice([*call["args"], "extra"])
        made = rng.choice(("made up", 7, Decimal("3.5"), True, None, ["O-1"], {"id": "O-1"}, "", "O"))
        call["args"] = {**call["args"], name: made}


def drop(rng: random.Random, _w: World, _z: Residual, calls: Calls, _a: Doc, _r: Any) -> None:
    if (call := _some(rng, calls)) is not None and call["args"]:
        name = rng.choice(list(call["args"]))
        call["args"] = {n: v for n, v in call["args"].items() if n != name}


def twice(rng: random.Random, _w: World, _z: Residual, calls: Calls, _a: Doc, _r: Any) -> None:
    batches = [c for c in calls if c["tool"] == "ship" and isinstance(c["args"].get("ids"), list)]
    if (call := _some(rng, batches)) is not None:
        call["args"] = {"ids": [*call["args"]["ids"], *rng.choice((call["args"]["ids"], ["O-20"], ["O-9"]))]}


def dry(rng: random.Random, _w: World, _z: Residual, calls: Calls, _a: Doc, _r: Any) -> None:
    settling = [c for c in calls if c["tool"] == "settle"]
    if (call := _some(rng, settling)) is not None:
        go = rng.choice((False, {"$from": calls[0]["id"], "$at": "/ok"}, None))
        call["args"] = {**call["args"], "go": go}


def claim(rng: random.Random, world: World, residual: Residual, calls: Calls, answer: Doc, replica: Any) -> None:
    values: list[Any] = [Decimal("420.00"), "420.00", 17, {"$from": "nobody", "$at": ""}]
    values += [{"$from": c["id"], "$at": "/total"} for c in calls] + [{"$from": m.id, "$at": "/total"} for m in replica]
    values += [{"$from": x.receipt, "$at": "/total"} for x in residual.receipts if x.tool == "get"]
    slot = rng.choice(("total", "total", "tip") if world.contract.answer else ("tip",))
    answer["claims"] = rng.choice(({}, {slot: rng.choice(values)}, {slot: rng.choice(values)}))


def expect(rng: random.Random, _w: World, _z: Residual, calls: Calls, _a: Doc, _r: Any) -> None:
    if (call := _some(rng, calls)) is not None:
        call["expect"] = {rng.choice(("/ok", "/status", "", "no")): rng.choice(("yes", "open", {"$from": "x"}))}


SPOILERS: tuple[Spoiler, ...] = (
    omit, repeat, repeat_kept, another, shuffle, dangle, wait, declare, rename, more, invent, drop, twice, dry, claim,
    expect, undo, undo, undo, omit, repeat, repeat_kept, another, shuffle, dangle, claim,
)  # fmt: skip
