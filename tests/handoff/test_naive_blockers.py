"""A deliberately naive twin of what removes an action: it scans the whole ledger for every question."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from tallystick import Run
from tallystick.gates.act import may_act
from tallystick.handoff import Carrier, carrier_from, carrier_of, compare, render
from tallystick.model.events import Intent, Lifted, Raised, Receipt, Sealed
from tallystick.model.proposal import Call
from tallystick.model.signing import is_signed_by
from tallystick.model.values import EntityRef
from tallystick.runtime.blocking import Shown
from tallystick.runtime.principals import signed_lift
from tallystick.view import View, fold_shown
from tests.handoff.desk import CONTRACT, KEYS, OTHER, SEC, Clock, Desk, guarded

TOOLS = ("open_document", "export_data")
DOCS = ("A", "B")
WRITES = {name for name, tool in CONTRACT.tools.items() if tool.effect == "write"}


def removed(events: Sequence[Sealed], run: str, tool: str, args: dict[str, str], now: datetime) -> bool:
    """Whether some blocker removes this call at `now`."""
    return any(
        _binds(events, run, seq, body, now)
        for seq, body in ((s.event.seq, s.event.body) for s in events)
        if isinstance(body, Raised) and tool in body.removes and body.entity[1:] == [args["resource"]]
        if all(n in args and args[n] == json.loads(v) for n, v in body.scope)
    )


def _binds(events: Sequence[Sealed], run: str, raised: int, blocker: Raised, now: datetime) -> bool:
    shown: tuple[int, datetime | None] | None = None
    calls: dict[str, tuple[int, Intent]] = {}
    for sealed in events:
        body, seq = sealed.event.body, sealed.event.seq
        if isinstance(body, Intent):
            calls[body.call] = (seq, body)
            if body.tool in WRITES and json.loads(body.args.text or "{}")["resource"] == blocker.entity[1]:
                shown = None if shown is not None and seq > shown[0] else shown
        if seq <= raised:
            continue
        if isinstance(body, Lifted) and body.id == blocker.id:
            if body.how == "resolved" and body.by == "sec" and is_signed_by(body, run, SEC.public_key):
                return False
            if body.how == "expired" and blocker.expires and sealed.event.at >= blocker.expires:
                return False
        if isinstance(body, Receipt) and blocker.until and body.call in calls:
            asked, intent = calls[body.call]
            args = json.loads(intent.args.text or "{}")
            result = json.loads(body.result.text or "null") if body.result else None
            if intent.tool != "get_approval" or asked <= raised or args["resource"] != blocker.entity[1]:
                continue
            if any({**result, **args}.get(n) != json.loads(v) for n, v in blocker.scope):
                continue
            good = result.get("approval") == "granted" and result.get("by") == "security"
            end = result.get("until")
            if any(not value for _, _, value in blocker.until):
                good = good and end is not None and end > sealed.event.at
            shown = (asked, datetime.fromisoformat(end) if end else None) if good else None
    if shown is None:
        return True
    timed = any(not value for _, _, value in blocker.until or ())
    return timed and shown[1] is not None and shown[1] <= now


class World:
    """A run in which blockers come and go at random."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.clock = Clock()
        self.desk = Desk()
        self.guard = guarded(self.desk, self.clock)
        self.run: Run = self.guard.run(principals=[SEC, OTHER])
        self.raised = 0

    def step(self) -> None:
        self.clock.move(self.rng.choice((1, 1, 60, 400)))
        self.rng.choice((self.block, self.block, self.ask, self.ask, self.ask, self.write, self.lift, self.aside))()

    def block(self) -> None:
        if self.raised == 4:
            return self.ask()
        self.raised += 1
        tool = self.rng.choice(TOOLS)
        timed = self.rng.random() < 0.3
        until = Shown(tool="get_approval", values={"/approval": "granted", "/by": "security"},
                      not_over=("/until",) if timed else ())  # fmt: skip
        self.run.block(
            f"b{self.raised}", tool, entity=EntityRef("resource", self.rng.choice(DOCS)),
            authority="security", prerequisite="approval", fallback="wait",
            args={"rows": "all"} if tool == "export_data" and self.rng.random() < 0.5 else None,
            until=until if self.rng.random() < 0.7 else None,
            expires=self.clock() + timedelta(seconds=500) if self.rng.random() < 0.3 else None,
        )  # fmt: skip
        return None

    def ask(self) -> None:
        doc = self.rng.choice(DOCS)
        answer: dict[str, Any] = {
            "approval": self.rng.choice(("granted", "granted", "none")),
            "by": self.rng.choice(("security", "security", "sales")),
            "until": (self.clock() + timedelta(seconds=self.rng.choice((-5, 300, 3000)))).isoformat(),
        }
        if self.rng.random() < 0.5:
            answer["rows"] = self.rng.choice(("all", "ten"))
        self.desk.approvals[doc] = answer
        self.run.call("get_approval", {"resource": doc, "action": str(self.rng.random())})

    def write(self) -> None:
        self.run.wish("again")
        self.run.call("provision", {"resource": self.rng.choice(DOCS)})

    def lift(self) -> None:
        name = f"b{self.rng.randint(1, max(self.raised, 1))}"
        who, key = self.rng.choice((("sec", "sec"), ("other", "other"), ("sec", "outsider")))
        self.run.deliver(signed_lift(self.run.id, who, KEYS[key], name))

    def aside(self) -> None:
        if self.run.view.conditions:
            self.run.leave_aside(self.rng.choice(sorted(self.run.view.conditions)))


@pytest.mark.parametrize("chunk", range(4))
def test_what_removes_an_action_is_what_a_naive_scan_of_the_ledger_says(chunk: int) -> None:
    seen = {True: 0, False: 0}
    for seed in range(chunk * 25, chunk * 25 + 25):
        world = World(seed)
        for _ in range(14):
            world.step()
            world.run.pending()  # takes in what was posted, and what is over
            events = list(world.guard.store.events(world.run.id))
            for tool in TOOLS:
                for doc in DOCS:
                    for args in ({"resource": doc}, {"resource": doc, "rows": "all"}):
                        if tool == "open_document" and "rows" in args:
                            continue
                        call = Call(tool=tool, args=args, now=world.clock())
                        decision = may_act(world.run.view, CONTRACT, call)
                        wanted = removed(events, world.run.id, tool, args, world.clock())
                        assert ("condition.open" in decision.codes) == wanted, (seed, len(events), call)
                        seen[wanted] += 1
        world.guard.close()
    assert min(seen.values()) > 200


def test_no_block_that_says_anything_else_than_the_record_is_complete() -> None:
    rng = random.Random(5)
    changed = 0
    for seed in range(30):
        world = World(seed)
        for _ in range(10):
            world.step()
        world.run.pending()
        view = world.run.view
        right = carrier_of(view, CONTRACT, world.clock())
        assert compare("\n".join(render(right)), "text", right, view).state == "complete"
        for _ in range(10):
            wrong = _altered(right, rng)
            if wrong is None or wrong == right:
                continue
            changed += 1
            assert compare("\n".join(render(wrong)), "text", right, view).state != "complete"
        world.guard.close()
    assert changed > 100


def _altered(carrier: Carrier, rng: random.Random) -> Carrier | None:
    value = carrier.to_json()
    kind = rng.randrange(6)
    if kind == 0:
        value["left"].append("something")
    elif kind == 1:
        value["head"] = "0" * 64
    elif kind == 2 and value["blockers"]:
        value["blockers"].pop(rng.randrange(len(value["blockers"])))
    elif kind == 3 and value["blockers"]:
        one = rng.choice(value["blockers"])
        name = rng.choice(("status", "prerequisite", "authority", "fallback", "expires", "operation", "event"))
        one[name] = one[name] + "x"
    elif kind == 4 and value["blockers"]:
        rng.choice(value["blockers"])["removes"] = []
    elif value["resolved"]:
        value["resolved"].pop()
    return carrier_from(value)


def _agree(seeds: range) -> bool:
    for seed in seeds:
        world = World(seed)
        for _ in range(14):
            world.step()
            world.run.pending()
            events = list(world.guard.store.events(world.run.id))
            for tool in TOOLS:
                args = {"resource": "A", **({"rows": "all"} if tool == "export_data" else {})}
                codes = may_act(world.run.view, CONTRACT, Call(tool=tool, args=args, now=world.clock())).codes
                if ("condition.open" in codes) != removed(events, world.run.id, tool, args, world.clock()):
                    return False
    return True


@pytest.mark.parametrize(
    ("where", "name", "broken"),
    [
        (fold_shown, "speaks_of", lambda record, found: found.good),  # any receipt of the tool will do
        (fold_shown, "shows", lambda body, found, at: (True, None)),  # whatever it says
        (View, "void", lambda *_: False),  # and however much was written since
    ],
    ids=["another entity", "another value", "before a write"],
)
def test_the_twin_notices_a_planted_fault(monkeypatch: pytest.MonkeyPatch, where: Any, name: str, broken: Any) -> None:
    monkeypatch.setattr(where, name, broken)
    assert not _agree(range(40))
