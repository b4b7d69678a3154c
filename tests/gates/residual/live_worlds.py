"""A world carried out live: the prefix through a real run, `take_over` by a scripted successor, a look at the shop.

What is checked looks at the shop's own journal: what was really done, by its own rules, before and after the frontier.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tallystick import Guard, Run
from tallystick.gates.residual import may_take_over
from tallystick.model import events as e
from tallystick.model import jsontext
from tallystick.model.residual import Residual
from tallystick.model.values import EntityRef
from tallystick.runtime.recheck import recheck
from tallystick.runtime.successors import Brief
from tests.gates.residual.naive_takeover import judge
from tests.gates.residual.proposals import proposal_of
from tests.gates.residual.worlds import NOW, Doc, Shop, World, bound_orders, effects_of, world_of


@dataclass
class Outcome:
    """What became of one world."""

    status: str = ""
    reason: str = ""
    verdict: str = ""
    codes: tuple[str, ...] = ()
    writes: int = 0
    wrong: list[str] = field(default_factory=list)


def carried_out(seed: int, *, faults: float = 0.05, rechecked: bool = True) -> Outcome:
    """Carry out the world of that seed; `wrong` lists what should never be."""
    world = world_of(seed)
    shop = Shop()
    tools = {name: partial(_asked, shop, name) for name in world.contract.tools}
    guard = Guard(world.contract, None, tools=tools, clock=lambda: NOW, same_refusal_limit=99, refusal_budget=99)
    found = Outcome()
    with guard.run(world.task, run_id=f"run-{seed}", without_approvers=True) as run:
        for action in world.script:
            _play(run, action)
        world.shop = shop
        before = len(shop.journal)
        shop.broken = lambda: world.rng.random() < faults
        seen: list[tuple[Residual, str, set[str]]] = []
        tenure = run.take_over(
            partial(_succeed, world, run, seen), replica=partial(_forked, world), attempts=1, allow=world.allow,
            finish=world.rng.random() < 0.5,
        )  # fmt: skip
        shop.broken = lambda: False
        found.status, found.reason, found.writes = tenure.status, tenure.reason, tenure.writes
        if tenure.decisions:
            found.verdict, found.codes = str(tenure.decisions[0].verdict), tenure.decisions[0].codes
        if seen:
            found.wrong.extend(_wrong(world, seen[0], tenure, shop, before))
        events = list(run._journal.store.events(run.id)) if rechecked else []
    if rechecked and not recheck(events, world.contract).reproduces:
        found.wrong.append("a decision does not come out again")
    guard.close()
    return found


def _asked(shop: Shop, tool: str, **args: Any) -> Any:
    return shop.call(tool, args)


def _play(run: Run, action: tuple[Any, ...]) -> None:
    """Play one action of the prefix through the run."""
    if action[0] == "call":
        _, _, tool, args, _ = action
        run.call(tool, args)
        return
    body = action[1]
    if isinstance(body, e.Said):
        run.says("user", body.text)
    elif isinstance(body, e.Confirmation):
        run.confirm(body.entity_kind, body.entity_id)
    elif isinstance(body, e.Stated):
        run.state(body.field, jsontext.loads(body.value), entity=EntityRef(*body.entity))
    elif isinstance(body, e.Obliged):
        run.oblige(body.id, tool=body.tool, entity=EntityRef(*body.entity))
    elif isinstance(body, e.Raised):
        run.block(body.id, removes=body.removes)


@contextlib.contextmanager
def _forked(world: World) -> Iterator[Mapping[str, Any]]:
    shop = Shop(dict(world.shop.status), 100)
    yield {name: partial(_asked, shop, name) for name in world.contract.tools}


def _succeed(world: World, run: Run, seen: list[Any], brief: Brief) -> bytes:
    """Propose what the world proposes, having tried on the replica what it says it tried; judge it here as well."""
    world.view = run._journal.view
    raw, tried = proposal_of(world, brief.residual)
    if brief.replica is not None:
        for made in tried:
            with contextlib.suppress(Exception):  # what fails on the replica is the successor's own affair
                brief.replica.call(made.tool, jsontext.loads(made.args.raw))
        calls = list(brief.replica.calls)
    decision, _ = may_take_over(world.view, world.contract, brief.residual, raw, calls, NOW)
    mine = (str(decision.verdict), {code.removeprefix("residual.") for code in decision.codes})
    theirs = judge(world.view, world.contract, brief.residual, raw, calls, NOW)
    seen.append((brief.residual, mine, theirs))
    return raw


# ---------------------------------------------------------------- what should never be


def _wrong(world: World, seen: Any, tenure: Any, shop: Shop, before: int) -> Iterator[str]:
    residual, mine, theirs = seen
    if mine != theirs:
        yield f"the naive twin says {theirs}, the gate {mine}"
    if tenure.decisions and str(tenure.decisions[0].verdict) != mine[0]:
        yield f"the runtime's verdict is {tenure.decisions[0].verdict}, the gate's {mine[0]}"
    after = shop.journal[before:]
    if mine[0] != "admit" and (after or tenure.writes):
        yield "something was written under a proposal that was not admitted"
    done = [x for tool, args, known in shop.journal[:before] for x in effects_of(world.rules, tool, args, known)]
    for tool, args, known in after:
        for effect in effects_of(world.rules, tool, args, known):
            if effect in done and not _undone(world, shop, before, effect):
                yield f"{effect} was done twice"
            done.append(effect)
    kept = {(k.tool, pair[1]) for k in residual.kept for pair in k.entities}
    for tool, _, known in after:
        for name in known:
            for old, of in kept:
                if tool in world.rules.undone_by.get(old, ()) and of == name:
                    yield f"{tool} undid {old} of {name}"
    yield from _unbound(world, residual, after)
    if tenure.status == "complete":
        yield from _uncovered(world, residual, shop, after)


def _undone(world: World, shop: Shop, before: int, effect: tuple[str, ...]) -> bool:
    """Return whether the shop's last act on an order, before the frontier, undid the effect there."""
    acts = [(tool, name) for tool, _, known in shop.journal[:before] for name in known]
    last = max((i for i, act in enumerate(acts) if act == (effect[0], effect[1])), default=-1)
    return any(
        (tool in world.rules.undone_by.get(effect[0], ())) and name == effect[1] for tool, name in acts[last + 1 :]
    )


def _unbound(world: World, residual: Residual, after: list[tuple[str, Doc, tuple[str, ...]]]) -> Iterator[str]:
    """A choice is broken by a write to an order that was neither chosen, nor named by the task, nor by what is owed."""
    chosen = bound_orders(world)
    named = {o.entity[1] for o in residual.owed if o.entity} | {"O-1"} | set(world.task.bindings["more"])
    for tool, args, known in after:
        for name in known:
            if chosen and name not in chosen | named:
                yield f"{tool} addressed {name}, which nobody chose"
        for action in world.script:
            if action[0] == "event" and isinstance(action[1], e.Stated) and "amount" in args:
                value = jsontext.loads(action[1].value)
                if action[1].entity[1] in known and _amount(args["amount"]) != _amount(value):
                    yield f"{tool} stated {args['amount']}, the user {value}"


def _amount(value: Any) -> Any:
    return jsontext.loads(str(value).split()[0])


def _uncovered(
    world: World, residual: Residual, shop: Shop, after: list[tuple[str, Doc, tuple[str, ...]]]
) -> Iterator[str]:
    """What was owed is done, as the shop knows it."""
    every = [(tool, args, name) for tool, args, known in after for name in known]
    left = list(every)
    for owed in residual.owed:
        if owed.kind == "state":
            if shop.status[owed.entity[1]] != "closed":
                yield f"{owed.id} does not hold"
            continue
        for entry in left if owed.kind == "event" else every:
            tool, args, name = entry
            fits = tool in owed.tools and (not owed.entity or owed.entity[1] == name)
            if fits and all(str(args.get(n)) == str(jsontext.loads(v)) for n, v in owed.args):
                if owed.kind == "event":
                    left.remove(entry)  # one effect discharges one
                break
        else:
            yield f"{owed.id} was not done"
