"""Continuations as anybody would write them are carried out, on a help desk; their wrong near twins are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tallystick import Guard, Run
from tallystick.contracts import parse
from tallystick.runtime.recheck import recheck
from tallystick.runtime.successors import ScriptedSuccessor
from tallystick.runtime.takeover_result import Takeover

DESK = """
contract: help-desk/1
entities:
  order: {{id: id, status: string, total: money(EUR), customer: id}}
  customer: {{id: id, email: string}}
  ticket: {{id: id, status: string}}
tools:
  get_order:
    effect: read
    args: {{order_id: id}}
    target: order(args.order_id)
    yields: {{order: {{id: /id, status: /status, total: /total, customer: /customer}}}}
  get_customer:
    effect: read
    args: {{customer_id: id}}
    target: customer(args.customer_id)
    yields: {{customer: {{id: /id, email: /email}}}}
  find_customers:
    effect: read
    args: {{email: string}}
    yields: {{customer: {{at: /found/*, id: /id, email: /email}}}}
  refund:
    effect: write
    args: {{order_id: id, amount: money(EUR)}}
    target: order(args.order_id)
    once_per: args.order_id
    ok: result.status == "refunded"
    requires: [{{id: amount, fact: args.amount == order.total}}]
  notify:
    effect: write
    args: {{customer_id: id, text: string}}
    target: customer(args.customer_id)
    ok: result.sent == true
  open_ticket:
    effect: write
    args: {{order_id: id}}
    target: order(args.order_id)
    ok: result.status == "open"
    yields: {{ticket: {{id: /id, status: /status}}}}
    {undone}
  close_ticket:
    effect: write
    args: {{ticket_id: id}}
    target: ticket(args.ticket_id)
    ok: result.status == "closed"
  cancel:
    effect: preview unless args.confirm
    args: {{order_id: id, confirm: optional boolean, reason: optional string}}
    target: order(args.order_id)
    ok: result.status == "cancelled" || result.status == "preview"
    requires: [{{id: shown, previewed: [order_id]}}]
  sweep: {{effect: write, ok: result.ok == true}}
  set_status:
    effect: write
    args: {{order_id: id, status: string}}
    target: order(args.order_id)
    ok: result.ok == true
duties:
  - {{id: tell, after: refund, owes: notify}}
task:
  inputs: {{orders: list(id)}}
  owes: {owes}
"""
FREE = {"notify": ["text"], "cancel": ["reason"], "set_status": ["status"]}


class World:
    """The help desk; `ticket` is the id a new ticket gets, `customer` what is shown of a customer."""

    def __init__(self) -> None:
        self.done: list[tuple[Any, ...]] = []
        self.status = "open"
        self.status_of: Callable[[], str] = lambda: self.status
        self.ticket: Any = "T-1"
        self.customer: Callable[[str], Mapping[str, Any]] = lambda name: {"id": name, "email": "c@x.org"}

    def _customer(self, customer_id: str) -> Mapping[str, Any]:
        return self.customer(customer_id)

    def tools(self) -> dict[str, Callable[..., Any]]:
        def did(*what: Any, **answer: Any) -> Mapping[str, Any]:
            self.done.append(what)
            return answer

        def cancel(order_id: str, confirm: bool = False, reason: str = "") -> Mapping[str, Any]:
            return did("cancel", order_id, status="cancelled") if confirm else {"status": "preview"}

        def set_status(order_id: str, status: str) -> Mapping[str, Any]:
            self.status = status
            return did("set", order_id, status, ok=True)

        return {
            "get_order": lambda order_id: {
                "id": order_id, "status": self.status if order_id == "O-1" else self.status_of(), "total": "42.00",
                "customer": "C-1"},
            "get_customer": self._customer,
            "find_customers": lambda email: {"found": [{"id": "C-1", "email": email}]},
            "refund": lambda order_id, amount: did("refund", order_id, status="refunded"),
            "notify": lambda customer_id, text: did("notify", customer_id, sent=True),
            "open_ticket": lambda order_id: did("open", order_id, id=self.ticket, status="open"),
            "close_ticket": lambda ticket_id: did("close", ticket_id, status="closed"),
            "cancel": cancel,
            "sweep": lambda: did("sweep", ok=True),
            "set_status": set_status,
        }  # fmt: skip


def finished(
    owes: str,
    calls: list[Mapping[str, Any]],
    *,
    world: World,
    prefix: Callable[[Run], Any] = lambda run: None,
    undone: str = "",
    **settings: Any,
) -> tuple[Takeover, Run]:
    contract = parse(DESK.format(owes=owes, undone=undone))
    task = {"request": "see to O-1", "bindings": {"orders": ["O-1", "O-2"]}}
    run = Guard(contract, tools=world.tools()).run(task, run_id="r")
    run.says("user", "Please see to O-1 and tell C-1 at c@x.org.")
    run.call("get_order", {"order_id": "O-1"})
    run.confirm("order", "O-1")
    prefix(run)
    named = [{"id": f"n{at}", **call} for at, call in enumerate(calls)]
    taken = run.take_over(ScriptedSuccessor([{"calls": named}]), attempts=1, free=FREE, **settings)
    assert recheck(run._journal.store.events("r"), contract).reproduces
    return taken, run


def do(tool: str, **args: Any) -> dict[str, Any]:
    return {"tool": tool, "args": args}


def of(node: str, at: str) -> dict[str, str]:
    return {"$from": node, "$at": at}


KNOWN = do("get_customer", customer_id="C-1")
TELL = do("notify", customer_id="C-1", text="It is done.")
REFUND = do("refund", order_id="O-1", amount="42.00")
TOLD = "[{id: told, by: notify}]"
TICKET = "[{id: opened, by: open_ticket}, {id: closed, by: close_ticket}]"
OPEN = do("open_ticket", order_id="O-1")
CLOSE = do("close_ticket", ticket_id=of("n0", "/id"))
CANCEL = do("cancel", order_id="O-1", confirm=True, reason="no longer needed")


@pytest.mark.parametrize(
    ("owes", "calls", "done"),
    [
        (TOLD, [KNOWN, TELL], ["notify"]),  # whom a write is for is shown by a read of the remainder itself
        (TOLD, [do("find_customers", email="c@x.org"), do("notify", customer_id=of("n0", "/found/0/id"), text="!")],
         ["notify"]),
        (TICKET, [OPEN, CLOSE], ["open", "close"]),  # an id that is made on the way
        ("[{id: cancelled, by: cancel}]", [do("cancel", order_id="O-1"), CANCEL], ["cancel"]),
        ("[{id: refunded, by: refund, each: orders, for: order(item)}]",
         [do("get_order", order_id="O-2"), REFUND, do("refund", order_id="O-2", amount=of("n0", "/total")), KNOWN,
          TELL], ["refund", "refund", "notify"]),
        ("[{id: shut, by: set_status, args: {status: \"'closed'\"}}]",
         [do("set_status", order_id="O-1", status="closed")], ["set"]),
        ("[{id: shut, fact: order.status == 'closed', for: order('O-1')}]",
         [do("set_status", order_id="O-1", status="closed"), do("get_order", order_id="O-1")], ["set"]),
    ],
)  # fmt: skip
def test_a_natural_continuation_is_carried_out(owes: str, calls: list[Mapping[str, Any]], done: list[str]) -> None:
    world = World()
    taken, run = finished(owes, calls, world=world, allow=["set_status"])
    assert taken.complete, str(taken)
    assert ([what[0] for what in world.done], run.status) == (done, "CERTIFIED")


def test_what_a_read_of_the_remainder_does_not_show_after_all_is_not_written_to() -> None:
    world = World()
    world.customer = lambda _: {"note": "nobody by that number"}
    taken, run = finished(TOLD, [KNOWN, TELL], world=world)
    assert (taken.status, taken.writes, world.done, run.status) == ("bottom", 0, [], None)
    assert [reason.code for reason in taken.reasons] == ["residual.grounding"]


@pytest.mark.parametrize("ticket", [None, True, ["T-1"], "T-2"])
def test_an_id_that_is_none_ends_the_tenure_and_is_sent_nowhere(ticket: Any) -> None:
    world = World()
    world.ticket = ticket
    taken, _ = finished(TICKET, [OPEN, CLOSE], world=world)
    if ticket == "T-2":  # whatever the id is
        assert taken.complete
        assert world.done == [("open", "O-1"), ("close", "T-2")]
    else:
        assert (taken.status, taken.reason, taken.writes) == ("bottom", "takeover.unbound", 1)
        assert world.done == [("open", "O-1")]


@pytest.mark.parametrize(
    ("calls", "more"),
    [
        ([TELL, KNOWN], {}),  # the read comes too late
        ([do("get_order", order_id="O-1"), do("notify", customer_id=of("n0", "/customer"), text="!")], {}),  # no id
        ([do("find_customers", email="c@x.org"), do("notify", customer_id=of("n0", "/found/0/email"), text="!")], {}),
        ([do("find_customers", email="c@x.org"), do("notify", customer_id=of("n0", "/found/0/id"), text="!")],
         {"prefix": lambda run: run.confirm("customer", "C-1")}),  # who it is was chosen
    ],
)  # fmt: skip
def test_whom_a_write_is_for_is_never_open_where_something_hangs_on_it(
    calls: list[Mapping[str, Any]], more: Mapping[str, Any]
) -> None:
    world = World()
    taken, _ = finished(TOLD, calls, world=world, **more)
    assert (taken.reason, taken.writes, world.done) == ("takeover.attempts", 0, [])
    assert "residual.grounding" in {reason.code for reason in taken.reasons}


def test_an_id_made_on_the_way_does_not_open_a_way_to_undo_it() -> None:
    world = World()
    taken, _ = finished(TICKET, [OPEN, CLOSE], world=world, undone="undone_by: close_ticket")
    assert (taken.reason, taken.writes, world.done) == ("takeover.attempts", 0, [])


@pytest.mark.parametrize("before", [True, False])
def test_a_call_that_names_nothing_may_undo_anything(before: bool) -> None:
    """`sweep` undoes a ticket that was opened, and says nothing of which."""
    world = World()
    sweep = do("sweep")
    taken, _ = finished(
        TOLD, [sweep, KNOWN, TELL] if before else [OPEN, sweep, KNOWN, TELL], world=world, undone="undone_by: sweep",
        prefix=lambda run: run.call("open_ticket", {"order_id": "O-1"}) if before else None,
        allow=["open_ticket", "sweep"],
    )  # fmt: skip
    assert (taken.reason, taken.writes) == ("takeover.attempts", 0)
    assert {reason.code for reason in taken.reasons} == {"residual.effect"}


def test_a_second_effect_of_a_tool_is_not_left_to_an_id_made_on_the_way() -> None:
    """It may turn out to be the ticket that was closed before."""
    world = World()

    def before(run: Run) -> None:
        run.call("open_ticket", {"order_id": "O-2"})
        run.call("close_ticket", {"ticket_id": "T-1"})

    more = "{id: opened-2, by: open_ticket}, {id: closed-2, by: close_ticket}]"
    owes = f"{TICKET[:-1]}, {more}"
    taken, _ = finished(owes, [OPEN, CLOSE], world=world, prefix=before)
    assert (taken.reason, taken.writes) == ("takeover.attempts", 0)


def test_a_discharge_taken_back_before_anything_was_written_ends_the_tenure() -> None:
    """A state that held is open again: nothing that follows under this contract could complete it."""
    world = World()
    shown = iter(["closed", "open"])
    world.status_of = lambda: next(shown)
    look = do("get_order", order_id="O-2")
    owes = "[{id: shut, fact: order.status == 'closed', for: order('O-2')}, {id: told, by: notify}]"
    taken, run = finished(owes, [look, look, KNOWN, TELL], world=world)
    assert (taken.status, taken.reason, taken.writes) == ("bottom", "takeover.invalidated", 0), str(taken)
    assert [list(step.invalidated) for step in taken.steps] == [[], ["shut"]]
    assert (world.done, run.status) == ([], None)


def test_a_hundred_steps_say_what_is_discharged_and_recheck() -> None:
    """Each step is judged by the step before it alone."""
    text = """
contract: many/1
entities: {order: {id: id}}
tools:
  get: {effect: read, args: {id: id}, target: order(args.id), yields: {order: {id: /id}}}
  ship: {effect: write, args: {id: id}, target: order(args.id), ok: result.ok == true}
task:
  inputs: {orders: list(id)}
  owes: [{id: shipped, by: ship, each: orders, for: order(item)}]
"""
    names = [f"O-{n}" for n in range(100)]
    tools = {"get": lambda id: {"id": id}, "ship": lambda id: {"ok": True}}  # noqa: A006 - the contract's name
    run = Guard(parse(text), tools=tools).run({"bindings": {"orders": names}}, run_id="r")
    run.call("get", {"id": "O-0"})
    run.confirm("order", "O-0")
    calls = [{"id": f"n{at}", "tool": "ship", "args": {"id": name}} for at, name in enumerate(names)]
    taken = run.take_over(ScriptedSuccessor([{"calls": calls}]))
    assert (taken.complete, taken.writes, len(taken.discharged)) == (True, 100, 100)
    assert [len(step.discharged) for step in taken.steps] == list(range(1, 101))
    assert recheck(run._journal.store.events("r")).reproduces
