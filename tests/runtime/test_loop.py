"""The closed loop: what a refused stop is answered with, what counts as progress, and that every loop ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick import Guard
from tallystick.contracts import parse
from tallystick.ledger.memory import MemoryStore
from tallystick.model.events import StopAnswered, seal
from tallystick.runtime.bounds import Limits, limits_of
from tallystick.runtime.recheck import recheck
from tallystick.runtime.run import Run
from tests.runtime.shop import Clock, events_of, kinds

CONTRACT = parse("""
contract: exports/1
entities:
  export: {id: id, status: string, rows: integer}
tools:
  find: {effect: read, args: {name: string}}
  start:
    effect: write
    args: {export_id: id}
    target: export(args.export_id)
    ok: result.status == "started"
    pending: result.status == "queued"
    settle: {tool: started, shows: result.yes == true}
  started: {effect: read, args: {export_id: id}, target: export(args.export_id)}
  peek:                                     # declares nothing, and its answer says that it is not final
    effect: read
    args: {export_id: id}
  watch: {effect: read, volatile: true}
  check:
    effect: read
    args: {export_id: id}
    target: export(args.export_id)
    status_at: /state
    terminal: [done, broken]
  get:
    effect: read
    args: {export_id: id}
    target: export(args.export_id)
    yields: {export: {id: /id, status: /status, rows: /rows}}
task:
  inputs: {export: id}
  owes:
    - {id: finished, for: export(task.export), fact: export.status == "done"}
  answer:
    - {slot: rows, type: integer, scope: export, derive: get./rows}
""")
TASK = {"bindings": {"export": "E-1"}}
E1 = {"export_id": "E-1"}


class World:
    """Exports whose every answer a test sets."""

    def __init__(self) -> None:
        self.get: Any = {"id": "E-1", "status": "new", "rows": 0}
        self.check: Any = {"state": "merging"}
        self.peek: Any = {"status": "running"}
        self.start: Any = {"status": "queued"}
        self.started: Any = {"yes": False}

    def tools(self) -> dict[str, Any]:
        return {
            "find": lambda name: {"found": name}, "start": lambda export_id: self.start,
            "started": lambda export_id: self.started, "peek": lambda export_id: self.peek,
            "watch": lambda: {"waiting": 1}, "check": lambda export_id: self.check, "get": lambda export_id: self.get,
        }  # fmt: skip


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def guard(world: World, clock: Clock) -> Iterator[Guard]:
    with Guard(CONTRACT, MemoryStore(), tools=world.tools(), clock=clock) as made:
        yield made


def other(world: World, clock: Clock, **limits: Any) -> Guard:
    return Guard(CONTRACT, MemoryStore(), tools=world.tools(), clock=clock, **limits)


def reproduces(guard: Guard, run: Run) -> bool:
    return recheck(guard.store.events(run.id)).reproduces


# ------------------------------------------------------------------ what the agent is told


def test_a_refused_stop_is_answered_with_one_line_for_each_deficit_and_nothing_else(guard: Guard) -> None:
    with guard.run(TASK) as run:
        finish = run.finish("all done")
        assert (finish.answer, finish.status) == ("CONTINUE", None)
        assert [d.code for d in finish.deficits] == list(finish.decision.codes) == ["obligation.open", "coverage.open"]
        slot = finish.deficits[1]
        assert (slot.slot, slot.check) == ("rows", "claim_coverage")
        assert [(r.tool, r.args) for r in slot.reads] == [("get", '{"export_id":"E-1"}')]
        lines = str(finish).splitlines()
        assert lines[0].startswith("CONTINUE")
        assert [line[:2] for line in lines[1:3]] == ["- ", "- "]
        assert len(lines) == 1 + len(finish.deficits) + 1  # and what the next refusal would do
        told = finish.to_json()
        assert (told["decision"], told["accepted"]) == ("CONTINUE", False)
        assert told["deficits"][1]["reads"] == [{"tool": "get", "args": E1}]


def test_closing_every_deficit_completes(guard: Guard, world: World) -> None:
    with guard.run(TASK) as run:
        finish = run.finish()
        world.get = {"id": "E-1", "status": "done", "rows": 12}
        for read in {read for deficit in finish.deficits for read in deficit.reads}:
            assert run.call(read.tool, args_text=read.args).ran
        wrong = run.finish("done", {"rows": 13})
        assert [(d.slot, d.check, d.code) for d in wrong.deficits] == [("rows", "value_replay", "claim.mismatch")]
        done = run.finish("done", {"rows": 12})
        assert (done.answer, done.deficits, done.status) == ("COMPLETE", (), "CERTIFIED")
        assert reproduces(guard, run)


def test_what_is_owed_by_a_call_names_the_call() -> None:
    contract = parse(
        "contract: a/1\nentities: {bill: {id: id}}\ntools:\n  pay: {effect: write, args: {bill_id: id},"
        " target: bill(args.bill_id)}\ntask: {inputs: {bill: id}, owes: [{id: paid, by: pay, for: bill(task.bill)}]}\n"
    )
    with Guard(contract) as guard, guard.run({"bindings": {"bill": "B"}}) as run:
        (owed,) = run.finish().deficits
        assert (owed.where, owed.check) == ("paid", "")
        assert owed.call is not None
        assert (owed.call.tool, owed.call.args) == ("pay", '{"bill_id":"B"}')


# ------------------------------------------------------------------ no progress


def test_the_same_stop_refused_again_with_nothing_new_is_stuck(guard: Guard) -> None:
    with guard.run(TASK) as run:
        assert run.finish("done").answer == "CONTINUE"
        stuck = run.finish("really done")
        assert (stuck.answer, stuck.status, stuck.reason) == ("STUCK", "UNCERTIFIED", "stuck.same_refusal")
        assert kinds(guard, run) == ["stop.decided", "stop.answered", "stop.decided", "stop.answered", "run.ended"]
        assert reproduces(guard, run)


def test_a_read_repeated_with_the_same_answer_is_nothing_new(guard: Guard) -> None:
    with guard.run(TASK) as run:
        run.call("get", E1)
        assert run.finish().answer == "CONTINUE"
        run.call("get", E1)
        assert run.finish().reason == "stuck.same_refusal"
        assert reproduces(guard, run)


def test_an_attempt_that_fails_the_same_way_again_is_nothing_new(guard: Guard, world: World) -> None:
    world.get = {"error": "no such export"}
    with guard.run(TASK) as run:
        run.call("get", E1)
        assert run.finish().answer == "CONTINUE"
        run.call("get", E1)
        assert run.finish().reason == "stuck.same_refusal"


def test_words_are_nothing_new(guard: Guard) -> None:
    with guard.run(TASK) as run:
        assert run.finish().answer == "CONTINUE"
        run.says("assistant", "I looked again.")
        run.report("completed", "it is done")
        assert run.finish().answer == "STUCK"


def test_a_read_never_made_is_new_although_it_may_not_help_and_the_budget_bounds_it(guard: Guard) -> None:
    with guard.run(TASK) as run:
        answers = []
        while run.status is None:
            run.call("find", {"name": f"n{len(answers)}"})
            answers.append(run.finish("done"))
        assert [a.answer for a in answers] == ["CONTINUE"] * (guard.limits.stops - 1) + ["STUCK"]
        assert "the next refused stop ends the run" in str(answers[-2])
        assert answers[-1].reason == "stuck.stop_budget"
        assert reproduces(guard, run)


def test_another_claim_is_another_stop(guard: Guard) -> None:
    with guard.run(TASK) as run:
        assert [run.finish("", {"rows": n}).answer for n in range(4)] == ["CONTINUE"] * 4


def test_claims_that_cannot_be_read_are_recorded_answered_and_bounded(guard: Guard) -> None:
    with guard.run(TASK) as run:
        first = run.finish("done", {"rows": object()})
        assert [d.code for d in first.deficits] == ["claims.not_json"]
        assert run.finish("done", {"rows": object()}).answer == "STUCK"
        assert kinds(guard, run).count("stop.answered") == 2
        assert reproduces(guard, run)


# ------------------------------------------------------------------ polling is no loop


def test_a_poll_whose_answer_changes_is_progress(guard: Guard, world: World) -> None:
    with guard.run(TASK) as run:
        for n in range(5):
            world.get = {"id": "E-1", "status": "new", "rows": n}
            run.call("get", E1)
            assert run.finish("done").answer == "CONTINUE"


@pytest.mark.parametrize(
    ("tool", "args"), [("watch", {}), ("check", E1), ("peek", E1)], ids=["volatile", "not a final state", "says so"]
)
def test_a_poll_the_contract_or_the_answer_waits_for_is_no_strike(guard: Guard, tool: str, args: Any) -> None:
    with guard.run(TASK) as run:
        for _ in range(guard.limits.stops - 1):
            run.call(tool, args)
            assert run.finish("done").answer == "CONTINUE"
        run.call(tool, args)
        assert run.finish("done").reason == "stuck.stop_budget"  # waiting is no circle, and no licence either
        assert reproduces(guard, run)


def test_once_the_state_is_final_asking_again_is_a_strike(guard: Guard, world: World) -> None:
    with guard.run(TASK) as run:
        world.check = {"state": "broken"}
        run.call("check", E1)
        assert run.finish("done").answer == "CONTINUE"
        run.call("check", E1)
        assert run.finish("done").reason == "stuck.same_refusal"


def test_waiting_for_a_write_that_is_not_finished_is_no_strike_and_ends_in_doubt(world: World, clock: Clock) -> None:
    with other(world, clock, stop_budget=4) as guard, guard.run(TASK) as run:
        run.call("start", E1)
        answers = [run.finish("done") for _ in range(4)]  # each makes the contract's status query
        assert [a.answer for a in answers] == ["CONTINUE"] * 3 + ["STUCK"]
        assert answers[-1].status == "IN_DOUBT"
        assert reproduces(guard, run)


def test_the_same_query_after_the_write_is_finished_is_a_strike(guard: Guard, world: World) -> None:
    world.start = {"status": "started"}
    with guard.run(TASK) as run:
        run.call("start", E1)
        run.call("started", E1)
        assert run.finish("done").answer == "CONTINUE"
        run.call("started", E1)
        assert run.finish("done").answer == "STUCK"


def test_a_poll_spaced_by_the_declared_interval_is_no_strike(world: World, clock: Clock) -> None:
    with other(world, clock, poll_interval=30) as guard, guard.run(TASK) as run:
        run.call("get", E1)
        for _ in range(3):
            assert run.finish("done").answer == "CONTINUE"
            clock.move(30)
            run.call("get", E1)
        assert run.finish("done").answer == "CONTINUE"
        clock.move(29)
        run.call("get", E1)
        assert run.finish("done").reason == "stuck.same_refusal"
        assert reproduces(guard, run)


def test_an_endless_poll_ends_by_budget_although_nobody_says_done(world: World, clock: Clock) -> None:
    with other(world, clock, poll_budget=20) as guard, guard.run(TASK) as run:
        polls = 0
        while run.status is None and polls < 100:
            outcome = run.call("watch")
            polls += 1
        assert (polls, outcome.decision.codes, outcome.ended) == (22, ("stuck.poll_budget",), "UNCERTIFIED")
        assert kinds(guard, run)[-3:] == ["refusal", "stop.answered", "run.ended"]
        assert reproduces(guard, run)


def test_a_poll_that_sees_change_is_never_ended_by_the_poll_budget(world: World, clock: Clock) -> None:
    with other(world, clock, poll_budget=3) as guard, guard.run(TASK) as run:
        for n in range(20):
            world.get = {"id": "E-1", "status": "new", "rows": n // 3}
            assert run.call("get", E1).ran


# ------------------------------------------------------------------ budgets after a refused stop


def test_calls_after_a_refused_stop_are_bounded_whatever_they_are(world: World, clock: Clock) -> None:
    with other(world, clock, calls_after_stop=5) as guard, guard.run(TASK) as run:
        for n in range(20):
            assert run.call("find", {"name": f"before {n}"}).ran
        run.finish("done")
        outcomes = [run.call("find", {"name": f"n{n}"}) for n in range(6)]
        assert [o.ran for o in outcomes] == [True] * 5 + [False]
        assert (outcomes[-1].decision.codes, outcomes[-1].ended) == (("stuck.calls_after_stop",), "UNCERTIFIED")
        assert reproduces(guard, run)


def test_turns_after_a_refused_stop_are_bounded_and_a_turn_is_never_cut_in_half(world: World, clock: Clock) -> None:
    with other(world, clock, turns_after_stop=2) as guard, guard.run(TASK) as run:
        run.call("find", {"name": "x"}, turn=1)
        run.finish("done")
        for turn in (2, 2, 3, 3):
            assert run.call("find", {"name": f"{turn}"}, turn=turn).ran
        assert run.call("find", {"name": "last"}, turn=4).decision.codes == ("stuck.turns_after_stop",)
        assert reproduces(guard, run)


def test_starting_again_buys_no_new_stops(world: World, clock: Clock) -> None:
    with other(world, clock, stop_budget=3) as guard:
        for n in range(2):
            run = guard.run(TASK, run_id="r") if n == 0 else guard.resume("r")
            run.call("find", {"name": f"{n}"})
            assert run.finish("done").answer == "CONTINUE"
            run.suspend()
        run = guard.resume("r")
        run.call("find", {"name": "2"})
        assert run.finish("done").reason == "stuck.stop_budget"
        assert reproduces(guard, run)


MOVES = st.lists(
    st.sampled_from(["done", "claim", "get", "watch", "check", "find", "start", "change", "later", "started", "words"]),
    max_size=30,
)


@settings(max_examples=60, deadline=None)
@given(moves=MOVES, stops=st.integers(1, 4), calls=st.integers(1, 6) | st.none(), interval=st.sampled_from([None, 10]))
def test_every_answer_of_the_loop_comes_out_again_and_no_bound_is_passed(
    moves: list[str], stops: int, calls: int | None, interval: float | None
) -> None:
    world, clock = World(), Clock()
    guard = other(world, clock, stop_budget=stops, calls_after_stop=calls, poll_interval=interval, poll_budget=8)
    with guard, guard.run(TASK) as run:
        for n, move in enumerate(moves):
            if run.status is not None:
                break
            if move in ("done", "claim"):
                run.finish("done", {"rows": 1} if move == "claim" else {})
            elif move == "change":
                world.get = {"id": "E-1", "status": "new", "rows": n}
            elif move == "later":
                clock.move(10)
            elif move == "words":
                run.says("assistant", "working on it")
            else:
                run.call(move, {"name": str(n)} if move == "find" else {} if move == "watch" else E1)
        told = [e.body for e in events_of(guard, run) if isinstance(e.body, StopAnswered)]
        own = len(told) + 1 if "start" in moves else 0  # status queries that `finish` makes are never kept back
        assert all(a.refused <= stops and (calls is None or a.calls <= calls + 1 + own) for a in told)
        assert reproduces(guard, run)


@pytest.mark.parametrize("change", [{"refused": 7}, {"same": 9}, {"answer": "STUCK"}, {"limits": [["stops", "x"]]}])
def test_an_answer_that_does_not_follow_from_the_record_is_found(guard: Guard, change: dict[str, Any]) -> None:
    with guard.run(TASK) as run:
        run.finish("done")
    events = []
    for sealed in guard.store.events(run.id):
        body = sealed.event.body
        if isinstance(body, StopAnswered):
            body = msgspec.structs.replace(body, **change)
        events.append(seal(msgspec.structs.replace(sealed.event, body=body)))
    assert [d.what for d in recheck(events).differences] == ["done"]


@given(
    st.builds(
        Limits, refusals=st.integers(1, 99), stops=st.integers(1, 99), calls=st.none() | st.integers(1, 9),
        turns=st.none() | st.integers(1, 9), polls=st.none() | st.integers(1, 9),
        interval=st.none() | st.floats(0.1, 1e6),
    )
)  # fmt: skip
def test_limits_come_back_from_the_record_as_they_were(limits: Limits) -> None:
    assert limits_of(limits.pairs()) == limits


@pytest.mark.parametrize(("given", "shown"), [(True, "true"), ("many", '"many"'), ([1], "[1]"), ({"n": 1}, '{"n":1}')])
def test_a_value_of_another_type_is_told_as_it_was_given_and_how_one_is_written(given: Any, shown: str) -> None:
    run = Guard(CONTRACT, tools=World().tools()).run(TASK)
    [told] = [d for d in run.finish("Done.", {"rows": given}).deficits if d.code == "claim.type"]
    assert f"of type integer: {shown} is claimed" in told.message
    assert told.closes == "a whole number"
    run.close("step.limit")
