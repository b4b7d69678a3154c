"""Taking over at the invoice desk: what is wrong is rejected before the first write, what is right ends CERTIFIED."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tallystick import Guard
from tallystick.demo.desk import Desk, Faults
from tallystick.gates.residual import ErrorStreak, Spent, Supported
from tallystick.model import jsontext
from tallystick.model.events import Intent, ResidualEnded, ResidualFrozen, ResidualJudged, ResidualStep
from tallystick.runtime.successors import Brief, ScriptedSuccessor
from tests.runtime.takeover_desk import (
    AMOUNT,
    CONTRACT,
    INVOICE,
    TASK,
    answer,
    check,
    forked,
    frontier,
    pay,
    rechecked,
    rest,
    send,
)


def bodies(run: Any, kind: type) -> list[Any]:
    return [s.event.body for s in run._journal.store.events(run.id) if isinstance(s.event.body, kind)]


# ------------------------------------------------------------------ rejected before the first write, with their codes


def repaying(receipt: str) -> Mapping[str, Any]:
    again = {"id": "pay", "tool": "pay_invoice", "args": {"invoice_id": INVOICE, "amount": AMOUNT}}
    return {**rest(receipt), "calls": [again, *rest(receipt)["calls"]]}


def switching(receipt: str) -> Mapping[str, Any]:
    other = send({"$from": receipt, "$at": "/receipt_file"})
    other["args"]["invoice_id"] = "I-8"
    return {"calls": [other, check()], "answer": answer()}


def omitting(receipt: str) -> Mapping[str, Any]:
    look = {"id": "look", "tool": "delivery_status", "args": {"invoice_id": INVOICE}}
    return {"calls": [look, check()], "answer": answer()}


def claiming(receipt: str) -> Mapping[str, Any]:
    return {"calls": [], "answer": {"text": "Paid and delivered.", "claims": {"amount_paid": "420.00 EUR"}}}


def falsely_covering(receipt: str) -> Mapping[str, Any]:
    return {"calls": [check(covers=["delivered"])], "answer": answer()}


@pytest.mark.parametrize(
    ("proposal", "codes"),
    [
        (repaying, {"residual.duplicate"}),
        (switching, {"residual.effect", "residual.grounding"}),
        (omitting, {"residual.coverage"}),
        (claiming, {"residual.coverage", "residual.claim"}),
        (falsely_covering, {"residual.coverage"}),
    ],
)
def test_a_wrong_remainder_is_rejected_before_the_first_write(tmp_path: Path, proposal: Any, codes: set[str]) -> None:
    with frontier(tmp_path) as (run, desk, receipt):
        before = desk.accesses()
        taken = run.take_over(ScriptedSuccessor([proposal(receipt)]), attempts=1)
        assert taken.status == "bottom"
        assert taken.reason == "takeover.attempts"
        assert codes & {reason.code for reason in taken.reasons}
        assert taken.writes == 0
        assert desk.accesses() == before  # nothing at all ran, not even a read
        assert rechecked(run).reproduces
        assert run.status is None  # the run goes on as before
        assert run.take_over(ScriptedSuccessor([rest(receipt)])).complete
    assert rechecked(run).reproduces


def test_a_replica_receipt_offered_as_proof_is_rejected(tmp_path: Path) -> None:
    def offering(brief: Brief) -> Mapping[str, Any]:
        assert brief.replica is not None
        brief.replica.call("send_receipt", {"invoice_id": INVOICE, "file": paid_file(brief)})
        return {
            "calls": [check()],
            "answer": {"text": "Sent.", "claims": {"amount_paid": {"$from": "replica-1", "$at": "/status"}}},
        }

    with frontier(tmp_path) as (run, desk, _):
        before = desk.truth(INVOICE)
        taken = run.take_over(offering, replica=forked(desk), attempts=1)
        assert taken.reason == "takeover.attempts"
        assert {"residual.grounding", "residual.claim"} & {reason.code for reason in taken.reasons}
        assert (taken.writes, desk.truth(INVOICE)) == (0, before)
        assert rechecked(run).reproduces


def paid_file(brief: Brief) -> str:
    paid = next(row for row in brief.evidence if row["tool"] == "pay_invoice")
    return str(paid["result"]["receipt_file"])


# ------------------------------------------------------------------ the valid continuation


def test_the_symbolic_continuation_ends_certified(tmp_path: Path) -> None:
    with frontier(tmp_path) as (run, desk, receipt):
        taken = run.take_over(ScriptedSuccessor([rest(receipt)], tokens=7), name="strong")
        assert str(taken).startswith("complete")
        assert (taken.status, taken.reason, taken.writes, taken.tokens) == ("complete", "takeover.complete", 1, 7)
        assert taken.discharged == ("delivered",)
        assert [step.matched for step in taken.steps] == [True, True]
        assert taken.finish is not None
        assert taken.finish.certificate is not None
        assert run.status == "CERTIFIED"
        truth = desk.truth(INVOICE)
        assert (truth.payments, truth.deliveries) == (1, 1)
    assert rechecked(run).reproduces
    assert [body.reason for body in bodies(run, ResidualEnded)] == ["takeover.complete"]
    assert run._journal.view.stops[-1][1].text == "Paid 420.00 EUR, the vendor has the receipt."


def test_a_continuation_authored_on_a_replica_ends_certified_and_its_values_never_reach_the_live_call(
    tmp_path: Path,
) -> None:
    """On the replica another payment is booked first, so that its ids differ from the live ones."""

    def author(brief: Brief) -> Mapping[str, Any]:
        assert brief.replica is not None
        brief.replica.call("pay_invoice", {"invoice_id": "I-8", "amount": "429.00"})
        file = paid_file(brief)
        sent = brief.replica.call("send_receipt", {"invoice_id": INVOICE, "file": file})
        assert sent["status"] == "sent"
        books = brief.replica.call("payments", {"invoice_id": INVOICE})
        return {
            "calls": [send(file), check()],
            "answer": {"text": TEXT_OF_IT, "claims": {"amount_paid": {"$from": "check", "$at": "/total"}}, },
            **({} if books["count"] == 1 else {"calls": []}),
        }  # fmt: skip

    with frontier(tmp_path) as (run, desk, _):
        taken = run.take_over(author, replica=forked(desk), attempts=1)
        assert str(taken).startswith("complete")
        assert run.status == "CERTIFIED"
        assert desk.truth("I-8").payments == 0
        judged = bodies(run, ResidualJudged)[0]
        assert [call.tool for call in judged.replica] == ["pay_invoice", "send_receipt", "payments"]
    assert rechecked(run).reproduces


TEXT_OF_IT = "Paid {amount_paid}."


def test_a_value_that_only_a_replica_knows_is_bound_to_its_live_source(tmp_path: Path) -> None:
    """The books of a replica that began with one more payment name another file: the live call gets the live one."""

    def author(brief: Brief) -> Mapping[str, Any]:
        assert brief.replica is not None
        books = brief.replica.call("payments", {"invoice_id": INVOICE})
        file = books["payments"][0]["receipt_file"]
        assert file == "receipt-P-9999.pdf"
        brief.replica.call("send_receipt", {"invoice_id": INVOICE, "file": file})
        books_live = {**check(), "id": "books"}
        return {"calls": [books_live, send(file), check(after=["send"])], "answer": answer()}

    def renamed(path: Path) -> dict[str, Any]:
        tools = dict(Desk(path).tools())
        books = tools["payments"]

        def payments(invoice_id: str) -> Any:
            said = books(invoice_id)
            for payment in said["payments"]:
                payment["receipt_file"] = "receipt-P-9999.pdf"
            return said

        return {**tools, "payments": payments, "send_receipt": lambda invoice_id, file: {"status": "sent"}}

    from tallystick.runtime.replicas import sqlite_replica

    with frontier(tmp_path) as (run, desk, _):
        taken = run.take_over(author, replica=sqlite_replica(desk.path, renamed), attempts=1)
        assert str(taken).startswith("complete")
        sent = [body for body in bodies(run, Intent) if body.tool == "send_receipt"]
        assert len(sent) == 1
        assert "9999" not in (sent[0].args.text or "")
        assert desk.truth(INVOICE).deliveries == 1
    assert rechecked(run).reproduces


def test_the_async_twin_ends_certified_with_an_asynchronous_successor(tmp_path: Path) -> None:
    async def main() -> None:
        desk = Desk.create(tmp_path / "desk.db")
        guard = Guard(CONTRACT, tmp_path / "ledger.db", tools=desk.tools())
        async with guard.run(TASK, run_id="run") as run:
            receipt = await asyncio.to_thread(pay, run)

            async def successor(brief: Brief) -> str:
                await asyncio.sleep(0)
                assert brief.replica is not None
                await brief.replica.acall("send_receipt", {"invoice_id": INVOICE, "file": paid_file(brief)})
                brief.tokens += 3
                return jsontext.dumps(rest(receipt))

            taken = await run.atake_over(successor, replica=forked(desk))
            assert (taken.status, taken.tokens, run.status) == ("complete", 3, "CERTIFIED")
            assert rechecked(run).reproduces
        guard.close()

    asyncio.run(main())


# ------------------------------------------------------------------ within a tenure


def test_a_rejected_proposal_is_followed_by_another_against_the_same_contract(tmp_path: Path) -> None:
    with frontier(tmp_path) as (run, _, receipt):
        successor = ScriptedSuccessor([omitting(receipt), repaying(receipt), rest(receipt)])
        taken = run.take_over(successor, attempts=3)
        assert taken.complete
        assert [str(d.verdict) for d in taken.decisions] == ["refuse", "refuse", "admit"]
        assert len(bodies(run, ResidualFrozen)) == 1
        assert "residual.coverage" in {r.code for r in successor.briefs[1].feedback}
        assert "residual.coverage" in successor.briefs[1].prompt()
        assert {brief.residual.sha256 for brief in successor.briefs} == {
            taken.residual.sha256 if taken.residual else ""
        }
    assert rechecked(run).reproduces


def test_nobody_else_writes_or_stops_while_a_tenure_is_open(tmp_path: Path) -> None:
    with frontier(tmp_path) as (run, desk, receipt):

        def meddling(brief: Brief) -> Mapping[str, Any]:
            refused = run.call("pay_invoice", {"invoice_id": "I-8", "amount": "429.00"})
            assert refused.decision.codes == ("takeover.tenure",)
            assert run.call("pay_invoice", {"invoice_id": "I-8", "amount": "429.00"}).ended is None
            assert run.call("get_invoice", {"invoice_id": INVOICE}).ran  # reading is free
            stop = run.finish("done", {"amount_paid": AMOUNT})
            assert stop.decision.codes == ("takeover.tenure",)
            nested = run.take_over(ScriptedSuccessor([rest(receipt)]))
            assert (nested.status, nested.tenure) == ("bottom", "")
            return rest(receipt)

        assert run.take_over(meddling).complete
        assert desk.truth("I-8").payments == 0
    assert rechecked(run).reproduces


@pytest.mark.parametrize(
    ("successor", "reason"),
    [
        (lambda brief: None, "takeover.declined"),
        (lambda brief: 1 / 0, "takeover.failed"),
        (lambda brief: "no JSON", "takeover.attempts"),
        (lambda brief: ["a", "list"], "takeover.attempts"),
        (lambda brief: object(), "takeover.attempts"),
    ],
)
def test_a_successor_that_has_nothing_to_offer_leaves_the_run_as_it_was(
    tmp_path: Path, successor: Any, reason: str
) -> None:
    with frontier(tmp_path) as (run, desk, receipt):
        before = desk.truth(INVOICE)
        taken = run.take_over(successor, attempts=2)
        assert (taken.status, taken.reason, taken.writes) == ("bottom", reason, 0)
        assert desk.truth(INVOICE) == before
        assert run._journal.view.tenure is None
        assert run.take_over(ScriptedSuccessor([rest(receipt)])).complete
    assert rechecked(run).reproduces


def test_a_replica_that_cannot_be_made_ends_the_tenure_before_anybody_is_asked(tmp_path: Path) -> None:
    from tallystick.runtime.replicas import sqlite_replica

    with frontier(tmp_path) as (run, _, receipt):
        taken = run.take_over(
            ScriptedSuccessor([rest(receipt)]), replica=sqlite_replica(tmp_path / "none.db", lambda p: {})
        )
        assert (taken.status, taken.reason) == ("bottom", "takeover.replica")
        assert rechecked(run).reproduces


def test_finish_false_completes_the_tenure_and_leaves_the_run_open(tmp_path: Path) -> None:
    with frontier(tmp_path) as (run, _, receipt):
        taken = run.take_over(ScriptedSuccessor([rest(receipt)]), finish=False)
        assert (taken.status, taken.finish, run.status) == ("complete", None, None)
        assert run.finish("done", {"amount_paid": "420.00 EUR"}).accepted
    assert rechecked(run).reproduces


# ------------------------------------------------------------------ live failures


def test_a_write_that_did_nothing_ends_the_tenure_without_repair(tmp_path: Path) -> None:
    with frontier(tmp_path, faults=Faults(nested_error=True)) as (run, desk, receipt):
        taken = run.take_over(ScriptedSuccessor([rest(receipt), rest(receipt)]), attempts=3)
        assert (taken.status, taken.reason, taken.writes) == ("bottom", "takeover.mismatch", 1)
        assert len(taken.decisions) == 1
        assert desk.truth(INVOICE).deliveries == 0
        again = run.take_over(ScriptedSuccessor([rest(receipt)]))
        assert again.complete
        assert again.residual is not None
        assert taken.residual is not None
        assert again.residual.upto > taken.residual.upto  # a fresh contract, of the state reached since
    assert rechecked(run).reproduces


def test_a_lost_answer_is_in_doubt_and_no_successor_may_go_on_before_it_is_settled(tmp_path: Path) -> None:
    def losing(desk: Desk) -> dict[str, Any]:
        tools = dict(desk.tools())
        send_receipt = tools["send_receipt"]

        def lost(invoice_id: str, file: str) -> Any:
            send_receipt(invoice_id, file)
            raise TimeoutError("no answer within 30 s")

        return {**tools, "send_receipt": lost}

    with frontier(tmp_path, tools=losing) as (run, desk, receipt):
        taken = run.take_over(ScriptedSuccessor([rest(receipt)]))
        assert (taken.status, taken.reason, taken.writes) == ("bottom", "takeover.lost", 1)
        early = run.take_over(ScriptedSuccessor([rest(receipt)]))
        assert (early.reason, early.tenure) == ("residual.doubt", "")
        assert run.settle_by_query() == ()
        over = run.take_over(ScriptedSuccessor([rest(receipt)]))
        assert (over.status, over.reason) == ("bottom", "residual.nothing_open")
        run.call("payments", {"invoice_id": INVOICE})
        assert run.finish("done", {"amount_paid": "420.00 EUR"}).accepted
        assert desk.truth(INVOICE).deliveries == 1
    assert rechecked(run).reproduces


def test_a_read_that_fails_before_the_first_write_goes_back_to_the_successor(tmp_path: Path) -> None:
    def failing(desk: Desk) -> dict[str, Any]:
        tools = dict(desk.tools())
        status, left = tools["delivery_status"], [1]

        def once(invoice_id: str) -> Any:
            if left.pop() if left else 0:
                raise ConnectionError("try again")
            return status(invoice_id)

        return {**tools, "delivery_status": once}

    with frontier(tmp_path, tools=failing) as (run, desk, receipt):
        look = {"id": "look", "tool": "delivery_status", "args": {"invoice_id": INVOICE}}
        careful = {**rest(receipt), "calls": [look, *rest(receipt)["calls"]]}
        successor = ScriptedSuccessor([careful, careful])
        taken = run.take_over(successor)
        assert str(taken).startswith("complete")
        assert successor.briefs[1].feedback
        assert [step.matched for step in taken.steps] == [False, True, True, True]
        assert desk.truth(INVOICE).deliveries == 1
    assert rechecked(run).reproduces


def test_a_blocker_keeps_its_force_in_a_tenure(tmp_path: Path) -> None:
    with frontier(tmp_path) as (run, desk, receipt):

        def blocked(brief: Brief) -> Mapping[str, Any]:
            run.block("hold-it", ["send_receipt"], status="do not send", prerequisite="a word from legal",
                      authority="legal")  # fmt: skip
            return rest(receipt)

        taken = run.take_over(blocked, attempts=1)
        assert (taken.status, taken.writes, desk.truth(INVOICE).deliveries) == ("bottom", 0, 0)
        assert rechecked(run).reproduces


def test_a_stop_that_is_refused_ends_the_tenure_as_bottom(tmp_path: Path) -> None:
    """A blocker raised while the last call runs bars the end; the delivery it came too late for stays counted."""
    held: list[Any] = []

    def blocking(desk: Desk) -> dict[str, Any]:
        tools = dict(desk.tools())
        books = tools["payments"]

        def payments(invoice_id: str) -> Any:
            held[0].block("audit", ["pay_invoice"], status="stop", prerequisite="an audit", authority="legal")
            return books(invoice_id)

        return {**tools, "payments": payments}

    with frontier(tmp_path, tools=blocking) as (run, _, receipt):
        held.append(run)
        taken = run.take_over(ScriptedSuccessor([rest(receipt)]))
        assert (taken.status, taken.reason, taken.writes) == ("bottom", "takeover.stop_refused", 1)
        assert "condition.open" in {reason.code for reason in taken.reasons}
        assert taken.discharged == ("delivered",)
        assert run._journal.view.tenure is None
    assert rechecked(run).reproduces


# ------------------------------------------------------------------ no contract, no frontier


def test_there_is_nothing_to_take_over_in_a_fresh_run(tmp_path: Path) -> None:
    desk = Desk.create(tmp_path / "desk.db")
    with Guard(CONTRACT, tools=desk.tools()) as guard, guard.run(TASK) as run:
        taken = run.take_over(ScriptedSuccessor([rest("r1")]))
        assert (taken.status, taken.tenure, taken.residual) == ("bottom", "", None)
        assert taken.reason == "residual.nothing_fixed"
        assert not bodies(run, ResidualFrozen)


@pytest.mark.parametrize(
    ("rules", "fired"),
    [
        ([ErrorStreak(3), Supported()], "supported"),
        (Spent(calls=2), "spent"),
        (Spent(calls=9), ""),
        ("explicit", "explicit"),
    ],
)
def test_a_frontier_rule_says_when(tmp_path: Path, rules: Any, fired: str) -> None:
    with frontier(tmp_path) as (run, _, receipt):
        taken = run.take_over(ScriptedSuccessor([rest(receipt)]), trigger=rules)
        assert taken.trigger == fired
        assert taken.complete == bool(fired)
        if not fired:
            assert taken.reason == "takeover.no_frontier"
            assert not bodies(run, ResidualStep)
