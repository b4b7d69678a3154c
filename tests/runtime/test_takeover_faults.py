"""What goes wrong around a tenure: interrupts, a full disk, meddling successors, controls that say no."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tallystick import Guard, Principal, Run
from tallystick.certificates.check import check_certificate
from tallystick.demo.desk import Desk
from tallystick.errors import InputError
from tallystick.ledger.memory import MemoryStore
from tallystick.model.events import ResidualEnded, ResidualJudged
from tallystick.runtime.controls import permission_lookup
from tallystick.runtime.principals import signed_approval
from tallystick.runtime.recheck import recheck
from tallystick.runtime.replicas import Fork
from tallystick.runtime.successors import Brief, ScriptedSuccessor
from tests.certificates.desk import KEY, PUBLIC, written
from tests.runtime.shop import Clock, Faulty
from tests.runtime.takeover_desk import (
    CONTRACT,
    INVOICE,
    PAYOUT,
    TASK,
    answer,
    check,
    frontier,
    pay,
    rechecked,
    rest,
)


def ended(run: Run) -> list[tuple[str, str]]:
    found = (s.event.body for s in run._journal.store.events(run.id))
    return [(body.status, body.reason) for body in found if isinstance(body, ResidualEnded)]


# ------------------------------------------------------------------ interrupts


def test_an_interrupt_while_the_successor_thinks_ends_the_tenure_and_the_replica_and_is_raised(tmp_path: Path) -> None:
    left: list[str] = []

    @contextlib.contextmanager
    def fork() -> Iterator[Mapping[str, Any]]:
        try:
            yield {}
        finally:
            left.append("left")

    def interrupted(brief: Brief) -> Any:
        raise KeyboardInterrupt

    with frontier(tmp_path) as (run, _, receipt):
        with pytest.raises(KeyboardInterrupt):
            run.take_over(interrupted, replica=fork)
        assert ended(run) == [("bottom", "takeover.interrupted")]
        assert left == ["left"]
        assert run.take_over(ScriptedSuccessor([rest(receipt)])).complete
    assert rechecked(run).reproduces


def test_interrupted_at_any_function_a_tenure_leaves_no_gap_and_repeats_nothing(tmp_path: Path) -> None:
    """Where a function begins is where Python looks for signals; a few dozen of those places are tried."""

    def episode(folder: Path, at: int) -> tuple[int, Run, Desk]:
        folder.mkdir()
        desk = Desk.create(folder / "desk.db")
        run = Guard(CONTRACT, tools=desk.tools()).run(TASK, run_id="run")
        receipt = pay(run)
        taken = 0

        def calls(frame: Any, event: str, _: Any) -> None:
            nonlocal taken
            if "/tallystick/runtime/" in frame.f_code.co_filename:
                taken += 1
                if taken == at:
                    raise KeyboardInterrupt

        sys.settrace(calls)
        try:
            run.take_over(ScriptedSuccessor([rest(receipt)]))
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        return taken, run, desk

    whole, _, _ = episode(tmp_path / "whole", 0)
    for at in range(1, whole, max(1, whole // 40)):
        _, run, desk = episode(tmp_path / str(at), at)
        run.suspend()
        guard = run._guard
        if run.status is None:
            run = guard.resume("run")
            run.settle_by_query()
            again = run.take_over(ScriptedSuccessor([rest("r2")]))
            if again.reason == "residual.nothing_open":
                run.call("payments", {"invoice_id": INVOICE})
                run.finish("done", {"amount_paid": "420.00 EUR"})
        assert run.status == "CERTIFIED", at
        truth = desk.truth(INVOICE)
        assert (truth.payments, truth.deliveries) == (1, 1), at
        assert recheck(guard.store.events("run")).reproduces, at
        assert run.view.tenure is None


def test_a_cancelled_takeover_ends_its_tenure(tmp_path: Path) -> None:
    async def main() -> None:
        desk = Desk.create(tmp_path / "desk.db")
        run = Guard(CONTRACT, tools=desk.tools()).run(TASK)
        receipt = await asyncio.to_thread(pay, run)
        begun = asyncio.Event()

        async def thinking(brief: Brief) -> Any:
            begun.set()
            await asyncio.sleep(60)

        task = asyncio.create_task(run.atake_over(thinking))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended(run) == [("bottom", "takeover.interrupted")]
        assert (await run.atake_over(ScriptedSuccessor([rest(receipt)]))).complete

    asyncio.run(main())


def test_leaving_the_run_ends_a_tenure_that_is_open(tmp_path: Path) -> None:
    with frontier(tmp_path) as (run, _, receipt):

        def leaving(brief: Brief) -> Any:
            run.close()
            return rest(receipt)

        taken = run.take_over(leaving)
        assert (taken.status, taken.reason) == ("bottom", "run.closed")
        assert ended(run) == [("bottom", "takeover.interrupted")]
        assert run.status == "UNCERTIFIED"
    assert rechecked(run).reproduces


def test_a_resumed_run_finds_its_tenure_ended(tmp_path: Path) -> None:
    with frontier(tmp_path, ledger=tmp_path / "ledger.db") as (run, _, receipt):
        run.take_over(lambda brief: run.suspend())
        guard = run._guard
        assert run.view.tenure is not None  # this tenure could record nothing more
        with guard.resume("run") as again:
            assert ended(again) == [("bottom", "takeover.interrupted")]
            assert again.take_over(ScriptedSuccessor([rest(receipt)])).complete
        assert rechecked(again).reproduces


# ------------------------------------------------------------------ a ledger that cannot be written


@pytest.mark.parametrize("kind", ["takeover.frozen", "takeover.judged", "takeover.step", "takeover.ended"])
def test_a_ledger_that_takes_no_event_of_the_tenure_means_nothing_more_runs(tmp_path: Path, kind: str) -> None:
    store = Faulty(MemoryStore())
    with frontier(tmp_path, ledger=store) as (run, desk, receipt):
        store.fails = {kind}
        taken = run.take_over(ScriptedSuccessor([rest(receipt)]), finish=False)
        assert (taken.status, taken.reason) == ("bottom", "ledger.unavailable")
        assert desk.truth(INVOICE).deliveries == (kind in ("takeover.step", "takeover.ended"))
        store.fails = set()


# ------------------------------------------------------------------ meddling successors


def test_a_successor_that_edits_its_brief_changes_nothing(tmp_path: Path) -> None:
    def editing(brief: Brief) -> Mapping[str, Any]:
        brief.residual.owed.clear()
        brief.residual.kept.clear()
        brief.residual.effects.clear()
        brief.residual.interfaces.append("pay_invoice")
        return {"calls": [check()], "answer": answer()}

    with frontier(tmp_path) as (run, _, _):
        taken = run.take_over(editing, attempts=1)
        assert {reason.code for reason in taken.reasons} == {"residual.coverage"}
    assert rechecked(run).reproduces


def test_a_replica_that_fails_to_close_changes_nothing(tmp_path: Path) -> None:
    @contextlib.contextmanager
    def fork() -> Iterator[Mapping[str, Any]]:
        yield {}
        raise OSError("busy")

    with frontier(tmp_path) as (run, _, receipt):
        assert run.take_over(ScriptedSuccessor([rest(receipt)]), replica=fork).complete


def test_tokens_that_are_no_count_are_not_believed(tmp_path: Path) -> None:
    def odd(brief: Brief) -> Any:
        brief.tokens = "many"  # type: ignore[assignment]
        return rest("r2")

    with frontier(tmp_path) as (run, _, _):
        assert run.take_over(odd).tokens == 0


@pytest.mark.parametrize(
    "settings",
    [
        {"successor": 7},
        {"attempts": 0},
        {"name": ""},
        {"trigger": "sometimes"},
        {"trigger": []},
        {"trigger": [7]},
        {"allow": "no_such_tool"},
        {"free": {"send_receipt": "colour"}},
        {"free": {"no_such_tool": "file"}},
        {"free": ["send_receipt"]},
        {"replica": {}},
        {"extract": []},
        {"finish": "no"},
    ],
)
def test_a_setting_that_is_none_is_misuse_and_nothing_begins(tmp_path: Path, settings: dict[str, Any]) -> None:
    with frontier(tmp_path) as (run, _, receipt):
        successor = settings.pop("successor", ScriptedSuccessor([rest(receipt)]))
        with pytest.raises(InputError):
            run.take_over(successor, **settings)
        assert not run.view.takeovers


def test_a_coroutine_function_is_asked_on_the_asynchronous_path_only(tmp_path: Path) -> None:
    class Asking:
        async def __call__(self, brief: Brief) -> Any:
            return None

    async def successor(brief: Brief) -> Any:
        return None

    with frontier(tmp_path) as (run, _, _):
        for given in (successor, Asking()):
            with pytest.raises(InputError):
                run.take_over(given)
        taken = run.take_over(lambda brief: Asking().__call__(brief))
        assert (taken.status, taken.reason) == ("bottom", "takeover.failed")


def test_an_extractor_may_be_a_generator_and_one_that_raises_ends_it(tmp_path: Path) -> None:
    def raising(view: Any, contract: Any) -> Iterator[Any]:
        yield from ()
        raise ValueError("no")

    with frontier(tmp_path) as (run, _, receipt):
        assert run.take_over(lambda brief: None, extract=raising).reason == "takeover.extraction"  # type: ignore[arg-type]
        assert run.take_over(lambda brief: None, extract=lambda view, contract: 7).reason == "takeover.extraction"  # type: ignore[arg-type, return-value]
        done = run.take_over(ScriptedSuccessor([rest(receipt)]), extract=lambda view, contract: iter(()))  # type: ignore[arg-type, return-value]
        assert done.complete


# ------------------------------------------------------------------ what holds outside holds inside


def test_an_endpoint_control_keeps_its_force_and_its_refusal_goes_back_to_the_successor(tmp_path: Path) -> None:
    said = [False, True]
    control = permission_lookup(lambda asked: said.pop(0))
    with frontier(tmp_path) as (run, desk, receipt):
        run._calls.controls = (control,)
        successor = ScriptedSuccessor([rest(receipt), rest(receipt)])
        taken = run.take_over(successor)
        assert taken.complete
        assert [step.code for step in taken.steps] == ["takeover.call_refused", "", ""]
        assert successor.briefs[1].feedback
        assert desk.truth(INVOICE).deliveries == 1
    assert rechecked(run).reproduces


def test_a_certificate_of_a_run_that_was_taken_over_verifies_offline(tmp_path: Path) -> None:
    desk = Desk.create(tmp_path / "desk.db")
    guard = Guard(CONTRACT, tools=desk.tools(), clock=Clock(), sign_with=KEY)
    with guard.run(TASK, run_id="r") as run:
        taken = run.take_over(ScriptedSuccessor([rest(pay(run))]))
    assert taken.finish is not None
    found = written(tmp_path, guard, "r", taken.finish)
    checked = check_certificate(found.envelope, found.export, PUBLIC)
    assert (checked.ok, checked.problems) == (True, ())


def test_what_a_proposal_says_is_in_the_record_as_it_was_given(tmp_path: Path) -> None:
    raw = '{"calls": [ ],  "answer": {"text": "é"}}'
    with frontier(tmp_path) as (run, _, _):
        run.take_over(ScriptedSuccessor([raw]), attempts=1)
        judged = [s.event.body for s in run._journal.store.events("run") if isinstance(s.event.body, ResidualJudged)]
        assert judged[0].proposal.raw == raw.encode()
    assert rechecked(run).reproduces


def test_a_fork_that_is_none_ends_the_tenure(tmp_path: Path) -> None:
    fork: Fork = dict  # type: ignore[assignment, return-value]
    with frontier(tmp_path) as (run, _, receipt):
        assert run.take_over(ScriptedSuccessor([rest(receipt)]), replica=fork).reason == "takeover.replica"


def test_a_call_that_needs_approval_is_held_before_anything_runs_and_admitted_once_it_is_given(tmp_path: Path) -> None:
    paid: list[str] = []
    tools = {
        "get_claim": lambda claim: {"id": claim, "status": "open"},
        "pay_out": lambda claim: paid.append(claim) or {"ok": True},
    }
    key = Ed25519PrivateKey.generate()
    finance = Principal(id="ann", role="finance", public_key=key.public_key().public_bytes_raw())
    guard = Guard(PAYOUT, tools=tools)
    run = guard.run(run_id="r", principals=[finance])
    run.call("get_claim", {"claim": "C-1"})
    run.confirm("claim", "C-1")
    proposal = {"calls": [{"id": "pay", "tool": "pay_out", "args": {"claim": "C-1"}}]}
    codes: list[set[str]] = []

    def successor(brief: Brief) -> Mapping[str, Any]:
        codes.append({reason.code for reason in brief.feedback})
        if brief.attempt == 2:
            assert not paid
            run.deliver(signed_approval(run.id, "ann", key, "pay_out", {"claim": "C-1"}))
        return proposal

    taken = run.take_over(successor, attempts=2)
    assert str(taken).startswith("complete")
    assert [str(decision.verdict) for decision in taken.decisions] == ["hold", "admit"]
    assert codes == [set(), {"residual.hold"}]
    assert (paid, run.status) == (["C-1"], "CERTIFIED")
    assert recheck(guard.store.events("r")).reproduces
