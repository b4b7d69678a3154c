"""The standing in full: what is done and open per instance, what is missing and why, and that it fits the stop gate."""

from __future__ import annotations

from datetime import timedelta

from tallystick import Guard
from tallystick.contracts import parse
from tallystick.gates.stage import Stage, stage_of
from tallystick.gates.stop import may_stop
from tallystick.model.proposal import Stop
from tallystick.model.values import instant_of
from tests.gates.worlds import world
from tests.runtime.shop import Clock

OF_THE_ANSWER = ("coverage.", "claim.", "outcome.", "run.closed")

CONTRACT = parse("""
contract: bills/1
entities:
  bill: {id: id, amount: money(EUR), status: string}
tools:
  get_bill:
    effect: read
    args: {bill: id}
    target: bill(args.bill)
    yields: {bill: {id: /id, amount: /amount, status: /status}}
  pay:
    effect: write
    args: {bill: id}
    target: bill(args.bill)
    once_per: args.bill
    ok: result.status == "paid"
    requires:
      - {id: open, fact: bill.status == "open", fresh: 60 s}
  log: {effect: write, args: {bill: id}, target: bill(args.bill), ok: result.ok == true}
conditions:
  - {id: large, when: bill.amount > 1000.00, removes: [pay], status: do not pay, prerequisite: a decision,
     authority: finance, fallback: leave it}
duties:
  - {id: logged, after: pay, owes: log, with: args.bill == call.bill, message: a payment is logged}
task:
  inputs: {bills: list(id)}
  owes:
    - {id: paid, by: pay, each: bills, for: bill(item), text: each bill is paid}
""")


def test_nothing_is_completed_that_the_stop_gate_would_miss_more_of_than_an_answer() -> None:
    completed = 0
    for seed in range(4_000):
        case = world(seed)
        view = case.view()
        if stage_of(view, case.contract).stage is Stage.COMPLETED:
            completed += 1
            stop = Stop(now=instant_of("2026-03-11T09:00:00Z"))
            codes = may_stop(view, case.contract, stop).codes
            assert all(code.startswith(OF_THE_ANSWER) for code in codes), f"world {seed}: {codes}"
    assert completed > 20


def test_each_instance_says_what_it_lacks_and_which_read_would_give_it() -> None:
    clock = Clock()
    guard = Guard(CONTRACT, clock=clock)
    run = guard.run({"bindings": {"bills": ["B-1", "B-2"]}})
    found = stage_of(run.view, run.contract, clock())
    assert found.stage is Stage.NEEDS_INFO
    assert [(o.id, o.state, o.entity) for o in found.obligations] == [
        ("paid[B-1]", "open", "bill(B-1)"), ("paid[B-2]", "open", "bill(B-2)")
    ]  # fmt: skip
    (first, second) = found.obligations
    assert {r.code for r in first.missing} == {"evidence.missing", "condition.unknown"}
    assert {read.args for r in first.missing for read in r.reads} == {'{"bill":"B-1"}'}
    assert {read.args for r in second.missing for read in r.reads} == {'{"bill":"B-2"}'}

    run.call("get_bill", {"bill": "B-1"}, lambda bill: {"id": bill, "amount": "20.00", "status": "open"})
    run.call("get_bill", {"bill": "B-2"}, lambda bill: {"id": bill, "amount": "2000.00", "status": "open"})
    found = stage_of(run.view, run.contract, clock())
    assert found.stage is Stage.READY
    assert not found.missing
    assert [r.code for r in found.obligations[1].blocked] == ["condition.open"]
    assert not found.obligations[0].blocked

    clock.move(timedelta(minutes=5).total_seconds())
    found = stage_of(run.view, run.contract, clock())
    assert found.stage is Stage.NEEDS_INFO  # what was read is too old by now
    assert {r.code for r in found.missing} == {"evidence.stale"}


def test_information_may_be_missing_after_an_effect_and_a_duty_is_left_when_all_obligations_are_done() -> None:
    clock = Clock()
    guard = Guard(CONTRACT, clock=clock)
    run = guard.run({"bindings": {"bills": ["B-1"]}})
    run.call("get_bill", {"bill": "B-1"}, lambda bill: {"id": bill, "amount": "20.00", "status": "open"})
    run.oblige("again", "and the other one", tool="pay", args={"bill": "B-2"})
    run.call("pay", {"bill": "B-1"}, lambda bill: {"status": "paid"})
    found = stage_of(run.view, run.contract, clock())
    assert found.stage is Stage.NEEDS_INFO
    assert (found.done, found.open) == (("paid[B-1]",), ("again",))
    assert found.obligations[0].receipt in {r.id for r in run.view.receipts}

    run.call("get_bill", {"bill": "B-2"}, lambda bill: {"id": bill, "amount": "20.00", "status": "open"})
    run.call("pay", {"bill": "B-2"}, lambda bill: {"status": "paid"})
    found = stage_of(run.view, run.contract, clock())
    assert not found.open
    assert found.stage is Stage.POST_OBS
    assert [r.code for r in found.duties] == ["duty.open", "duty.open"]
    for bill in ("B-1", "B-2"):
        run.call("log", {"bill": bill}, lambda bill: {"ok": True})
    assert stage_of(run.view, run.contract, clock()).stage is Stage.COMPLETED


def test_a_call_in_doubt_is_named_and_nothing_is_completed() -> None:
    guard = Guard(CONTRACT, clock=Clock())
    run = guard.run({"bindings": {"bills": ["B-1"]}})
    run.call("get_bill", {"bill": "B-1"}, lambda bill: {"id": bill, "amount": "20.00", "status": "open"})
    run.call("pay", {"bill": "B-1"}, lambda bill: {"status": "eh"})
    found = stage_of(run.view, run.contract)
    assert found.in_doubt
    assert [r.code for r in found.unsettled] == ["doubt.open"]
    assert found.stage is not Stage.COMPLETED
    assert found.left


ROWS = parse("""
contract: rows/1
entities:
  bill: {id: id}
tools:
  pay: {effect: write, args: {bill: id, amount: string}, target: bill(args.bill), ok: result.status == "paid"}
task:
  inputs: {rows: list(json)}
  owes:
    - {id: paid, by: pay, each: rows, for: bill(item.id), args: {amount: item.amount}}
""")


def test_of_two_items_that_are_called_the_same_none_takes_the_others_place() -> None:
    first, second = {"id": "B-1", "amount": "1.00"}, {"id": "B-1", "amount": "2.00"}
    for rows in ([first, second], [second, first], [first, second, dict(first)]):
        run = Guard(ROWS).run({"bindings": {"rows": rows}})
        assert [o.id for o in run.progress().standing.obligations] == ["paid[B-1]", "paid[B-1]#2"]
        run.call("pay", {"bill": "B-1", "amount": "2.00"}, lambda bill, amount: {"status": "paid"})
        assert run.progress().stage is Stage.POST_OBS
        assert not run.finish("Done.").accepted
        run.call("pay", {"bill": "B-1", "amount": "1.00"}, lambda bill, amount: {"status": "paid"})
        assert run.progress().stage is Stage.COMPLETED
        assert run.finish("Done.").status == "CERTIFIED"


def test_an_item_named_twice_is_owed_once() -> None:
    run = Guard(CONTRACT).run({"bindings": {"bills": ["B-1", "B-1"]}})
    assert [o.id for o in run.progress().standing.obligations] == ["paid[B-1]"]
