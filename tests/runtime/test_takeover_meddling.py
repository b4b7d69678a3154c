"""What happens beside a tenure while it lasts: the user chooses otherwise, the run is left, people are asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tallystick import Guard, Principal, Run
from tallystick.contracts import parse
from tallystick.demo.desk import Desk
from tallystick.model.events import ResidualEnded
from tallystick.model.values import EntityRef
from tallystick.runtime.principals import signed_approval
from tallystick.runtime.recheck import recheck
from tallystick.runtime.successors import Brief, ScriptedSuccessor
from tests.runtime.takeover_desk import CONTRACT, PAYOUT, frontier, rechecked, rest

TRIP = parse("""
contract: trip/1
entities:
  trip: {id: id, seat: string, meal: string}
tools:
  get_trip:
    effect: read
    args: {trip: id}
    target: trip(args.trip)
    yields: {trip: {id: /id, seat: /seat, meal: /meal}}
  book_seat: {effect: write, args: {trip: id, seat: string}, target: trip(args.trip), ok: result.ok == true}
  book_meal: {effect: write, args: {trip: id, meal: string}, target: trip(args.trip), ok: result.ok == true}
task:
  inputs: {trip: id}
  owes:
    - {id: seated, by: book_seat, for: trip(task.trip)}
    - {id: fed, by: book_meal, for: trip(task.trip)}
""")
SEAT = {"id": "seat", "tool": "book_seat", "args": {"trip": "T-1", "seat": "12A"}}
MEAL = {"id": "meal", "tool": "book_meal", "args": {"trip": "T-1", "meal": "vegan"}}


class Trip:
    """A world of its own; `meddle` is called while the seat is booked."""

    def __init__(self) -> None:
        self.done: list[tuple[str, str]] = []
        self.meddle: Callable[[], Any] = lambda: None

    def get_trip(self, trip: str) -> Mapping[str, Any]:
        return {"id": trip, "seat": "12A", "meal": "vegan"}

    def book_seat(self, trip: str, seat: str) -> Mapping[str, Any]:
        self.done.append((trip, seat))
        self.meddle()
        return {"ok": True}

    def book_meal(self, trip: str, meal: str) -> Mapping[str, Any]:
        self.done.append((trip, meal))
        return {"ok": True}


def booking() -> tuple[Run, Trip]:
    world = Trip()
    tools = {"get_trip": world.get_trip, "book_seat": world.book_seat, "book_meal": world.book_meal}
    run = Guard(TRIP, tools=tools).run({"request": "book it", "bindings": {"trip": "T-1"}}, run_id="r")
    run.call("get_trip", {"trip": "T-1"})
    run.confirm("trip", "T-1", "meal", "vegan")
    return run, world


@pytest.mark.parametrize(
    ("meddle", "message"),
    [
        (lambda run: run.confirm("trip", "T-1", "meal", "kosher"), "another meal"),
        (lambda run: run.state("meal", "kosher", entity=EntityRef("trip", "T-1")), "another meal"),
        (lambda run: run.state("withdrawn", True), "took the request back"),
    ],
)
def test_a_choice_made_anew_in_mid_tenure_stops_the_next_write(meddle: Callable[[Run], None], message: str) -> None:
    run, world = booking()
    world.meddle = lambda: meddle(run)
    taken = run.take_over(ScriptedSuccessor({"calls": [SEAT, MEAL]}), attempts=2)
    assert (taken.reason, taken.writes, world.done) == ("takeover.stale", 1, [("T-1", "12A")])
    assert message in taken.reasons[0].message
    assert [step.code for step in taken.steps] == ["", "residual.stale"]
    assert recheck(run._journal.store.events("r"), TRIP).reproduces


def test_a_choice_made_anew_while_the_successor_thinks_is_judged_with_its_proposal() -> None:
    run, world = booking()

    def successor(brief: Brief) -> Mapping[str, Any]:
        run.confirm("trip", "T-1", "meal", "kosher")
        return {"calls": [SEAT, MEAL]}

    taken = run.take_over(successor, attempts=1)
    assert (taken.reason, [r.code for r in taken.reasons], world.done) == ("takeover.attempts", ["residual.stale"], [])
    assert recheck(run._journal.store.events("r"), TRIP).reproduces


def test_the_same_choice_said_again_changes_nothing() -> None:
    run, world = booking()
    world.meddle = lambda: run.confirm("trip", "T-1", "meal", "vegan")
    assert run.take_over(ScriptedSuccessor({"calls": [SEAT, MEAL]})).complete


def test_a_request_that_was_taken_back_is_not_finished_by_anybody() -> None:
    run, world = booking()
    run.state("withdrawn", True)
    taken = run.take_over(ScriptedSuccessor({"calls": [SEAT, MEAL]}))
    assert (taken.reason, taken.writes, world.done) == ("residual.nothing_open", 0, [])


# ------------------------------------------------------------------ the run is left, lost or ended under a call


def meddled(run_of: list[Run], meddle: Callable[[Run], Any]) -> Callable[[Desk], dict[str, Any]]:
    def served(desk: Desk) -> dict[str, Any]:
        tools = dict(desk.tools())
        deliver = tools["send_receipt"]

        def send_receipt(invoice_id: str, file: str) -> Any:
            meddle(run_of[0])
            return deliver(invoice_id=invoice_id, file=file)

        return {**tools, "send_receipt": send_receipt}

    return served


def test_a_run_closed_under_a_call_says_so(tmp_path: Path) -> None:
    held: list[Run] = []
    with frontier(tmp_path, tools=meddled(held, lambda run: run.close())) as (run, _, receipt):
        held.append(run)
        taken = run.take_over(ScriptedSuccessor([rest(receipt)]))
        assert (taken.status, taken.reason, taken.writes, run.status) == (
            "bottom",
            "takeover.interrupted",
            1,
            "IN_DOUBT",
        )
    assert rechecked(run).reproduces


def test_a_run_that_another_process_took_over_says_so(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"

    def steal(_: Run) -> None:
        Guard(CONTRACT, ledger, tools={}).resume("run", force=True).suspend()

    held: list[Run] = []
    with frontier(tmp_path, tools=meddled(held, steal), ledger=ledger) as (run, _, receipt):
        held.append(run)
        taken = run.take_over(ScriptedSuccessor([rest(receipt)]))
        assert (taken.status, taken.reason, taken.writes) == ("bottom", "lease.lost", 1)
        ended = [s.event.body for s in run._journal.store.events("run") if isinstance(s.event.body, ResidualEnded)]
        assert [body.reason for body in ended] == ["takeover.interrupted"]
        assert rechecked(run).reproduces


def test_a_run_that_ends_as_stuck_in_a_tenure_leaves_a_record_that_rechecks(tmp_path: Path) -> None:
    def served(desk: Desk) -> dict[str, Any]:
        return {**desk.tools(), "send_receipt": lambda: None}

    with frontier(tmp_path, tools=served) as (run, _, receipt):
        taken = run.take_over(ScriptedSuccessor([rest(receipt)] * 2))
        assert (taken.reason, taken.writes) == ("takeover.interrupted", 0)
        assert [reason.code for reason in taken.reasons] == ["args.signature"]
        assert run.status == "UNCERTIFIED"
    assert rechecked(run).reproduces


@pytest.mark.parametrize("policy", ["B1", "B2"])
def test_under_a_policy_of_signals_answer_and_record_say_the_same(tmp_path: Path, policy: str) -> None:
    with frontier(tmp_path, stop_policy=policy) as (run, _, receipt):
        taken = run.take_over(ScriptedSuccessor([rest(receipt)]))
        ended = run.view.takeovers["t1"].ended
        assert ended is not None
        assert (taken.reason, taken.writes, run.status) == (ended.reason, 1, "UNCERTIFIED")
        assert taken.reason == "takeover.stop_refused"
    assert rechecked(run).reproduces


# ------------------------------------------------------------------ what stands in the way comes first


def test_doubt_comes_before_extraction(tmp_path: Path) -> None:
    def lost(desk: Desk) -> dict[str, Any]:
        return {**desk.tools(), "send_receipt": lambda invoice_id, file: "?"}

    def extract(view: Any, contract: Any) -> Any:
        raise AssertionError("nobody was to be asked")

    with frontier(tmp_path, tools=lost) as (run, _, receipt):
        assert run.take_over(ScriptedSuccessor([rest(receipt)])).reason == "takeover.lost"
        taken = run.take_over(ScriptedSuccessor([rest(receipt)]), extract=extract)
        assert taken.reason == "residual.doubt"


# ------------------------------------------------------------------ people


def test_a_held_call_is_pending_and_goes_through_once_a_principal_approves_it() -> None:
    paid: list[str] = []
    key = Ed25519PrivateKey.generate()
    finance = Principal(id="ann", role="finance", public_key=key.public_key().public_bytes_raw())
    tools = {
        "get_claim": lambda claim: {"id": claim, "status": "open"},
        "pay_out": lambda claim: paid.append(claim) or {"ok": True},
    }
    run = Guard(PAYOUT, tools=tools).run(run_id="r", principals=[finance])
    run.call("get_claim", {"claim": "C-1"})
    run.confirm("claim", "C-1")
    proposal = {"calls": [{"id": "pay", "tool": "pay_out", "args": {"claim": "C-1"}}]}
    assert run.pending() == ()
    taken = run.take_over(ScriptedSuccessor([proposal] * 2), attempts=2)
    assert (taken.reason, taken.writes, paid) == ("takeover.attempts", 0, [])
    assert [(p.tool, p.args, p.codes) for p in run.pending()] == [("pay_out", {"claim": "C-1"}, ("approval.missing",))]
    run.deliver(signed_approval(run.id, "ann", key, "pay_out", {"claim": "C-1"}))
    assert run.take_over(ScriptedSuccessor([proposal])).complete
    assert (paid, run.status, run.pending()) == (["C-1"], "CERTIFIED", ())
    assert recheck(run._journal.store.events("r"), PAYOUT).reproduces


def test_a_rejected_remainder_asks_nobody_to_approve_anything(tmp_path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    finance = Principal(id="ann", role="finance", public_key=key.public_key().public_bytes_raw())
    run = Guard(PAYOUT, tools={"get_claim": lambda claim: {"id": claim, "status": "open"}}).run(principals=[finance])
    run.call("get_claim", {"claim": "C-1"})
    run.confirm("claim", "C-1")
    other = {"id": "pay", "tool": "pay_out", "args": {"claim": "C-2"}}
    assert run.take_over(ScriptedSuccessor([{"calls": [other]}]), attempts=1).reason == "takeover.attempts"
    assert run.pending() == ()


# ------------------------------------------------------------------ what is handed in


class Raising(Mapping[str, Any]):
    """A mapping whose own code fails."""

    def __getitem__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __iter__(self) -> Any:
        raise RuntimeError("no names")

    def __len__(self) -> int:
        return 1


def test_a_proposal_whose_own_code_fails_is_no_proposal(tmp_path: Path) -> None:
    with frontier(tmp_path) as (run, _, receipt):
        taken = run.take_over(ScriptedSuccessor([Raising(), rest(receipt)]), attempts=2)
        assert taken.complete
        assert [decision.codes for decision in taken.decisions] == [("residual.malformed",), ()]
    assert rechecked(run).reproduces


def test_whoever_declines_after_a_rejection_is_told_what_was_rejected_too(tmp_path: Path) -> None:
    with frontier(tmp_path) as (run, _, _receipt):
        taken = run.take_over(ScriptedSuccessor([{"calls": []}]), attempts=2)
        assert taken.reason == "takeover.declined"
        assert [reason.code for reason in taken.reasons][:2] == ["takeover.declined", "residual.coverage"]


def test_a_replica_whose_writes_are_the_live_tools_is_none(tmp_path: Path) -> None:
    with frontier(tmp_path) as (run, desk, receipt):
        live = dict(desk.tools())
        asked: list[Brief] = []

        def successor(brief: Brief) -> Mapping[str, Any]:
            asked.append(brief)
            return rest(receipt)

        taken = run.take_over(successor, replica=lambda: nullcontext(dict(desk.tools())))
        assert (taken.reason, asked) == ("takeover.replica", [])
        assert "is the live tool" in taken.reasons[0].message
        copy = {name: lambda _fn=fn, **args: _fn(**args) for name, fn in live.items() if name != "send_receipt"}
        assert run.take_over(successor, replica=lambda: nullcontext({**copy, "payments": live["payments"]})).complete
