"""A wish is good for one repeated effect, whichever entity it is about."""

from __future__ import annotations

from tallystick.contracts import build
from tallystick.gates.act import may_act
from tallystick.model.events import GENESIS, Actor, AnyBody, Event, Intent, Receipt, Role, Wish, blob, seal
from tallystick.model.proposal import Call
from tallystick.model.values import instant_of
from tallystick.view import View

AT = "2026-01-01T00:00:00Z"
REFUND = {"effect": "write", "args": {"id": "id"}, "once_per": "args.id", "ok": 'result.status == "done"'}
CONTRACT = build({"contract": "r/1", "tools": {"refund": REFUND}})


class Run:
    def __init__(self) -> None:
        self.view = View(CONTRACT, run="r")
        self.prev = GENESIS
        self.calls = 0

    def add(self, body: AnyBody, role: Role) -> None:
        made = seal(
            Event(
                v=1, run="r", seq=self.view.upto + 1, at=AT, actor=Actor(role=role, id="x"), body=body, prev=self.prev
            )
        )
        self.prev = made.digest
        self.view.apply(made)

    def verdict(self, name: str) -> str:
        return str(may_act(self.view, CONTRACT, Call(tool="refund", args={"id": name}, now=instant_of(AT))).verdict)

    def refund(self, name: str) -> None:
        self.calls += 1
        self.add(
            Intent(call=f"c{self.calls}", tool="refund", args=blob(b'{"id":"%s"}' % name.encode()), now=AT), "runtime"
        )
        self.add(Receipt(id=f"r{self.calls}", call=f"c{self.calls}", result=blob(b'{"status":"done"}')), "executor")


def test_one_wish_repeats_one_effect_and_no_more() -> None:
    run = Run()
    for name in ("A", "B", "C"):
        run.refund(name)
    run.add(Wish(id="w"), "host")
    assert [run.verdict(n) for n in ("A", "B")] == ["admit", "admit"]  # nobody said which
    run.refund("A")
    assert [run.verdict(n) for n in ("A", "B", "C")] == ["return_recorded"] * 3


def test_what_is_done_for_the_first_time_uses_no_wish_up() -> None:
    run = Run()
    run.refund("A")
    run.add(Wish(id="w"), "host")
    run.refund("new")
    assert run.verdict("A") == "admit"


def test_two_wishes_repeat_twice() -> None:
    run = Run()
    run.refund("A")
    run.add(Wish(id="w1"), "host")
    run.add(Wish(id="w2"), "host")
    run.refund("A")
    run.refund("A")
    assert run.verdict("A") == "return_recorded"
