"""Approvals: signed, for one call, used once, brought in from another process while the agent's holds the run."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tallystick import Guard, InputError, Principal, Run
from tallystick.errors import LedgerError
from tallystick.ledger.keys import public_bytes, signing_key
from tallystick.ledger.sqlite import SQLiteStore
from tallystick.model.canonical import canonical
from tallystick.model.events import Intent, Settled
from tallystick.model.exact import args_digest
from tallystick.runtime.letters import send
from tallystick.runtime.principals import deliver, signed_approval, signed_lift, signed_waiver, waiting
from tests.runtime.shop import CONTRACT, PAY, TASK, Clock, Shop, events_of, in_thread, kinds

KEY = Ed25519PrivateKey.generate()
ANN = Principal(id="ann", role="finance", public_key=public_bytes(KEY))
BOB_KEY = Ed25519PrivateKey.generate()
BOB = Principal(id="bob", role="sales", public_key=public_bytes(BOB_KEY))
WIRE = {"invoice_id": "I-7", "amount": "420.00"}


@pytest.fixture
def run(guard: Guard) -> Run:
    return guard.run(TASK, principals=[ANN, BOB])


def test_an_approval_lets_exactly_one_call_through(run: Run, guard: Guard, shop: Shop) -> None:
    held = run.call("wire", WIRE)
    assert held.decision.codes == ("approval.missing",)
    (pending,) = run.pending()
    assert (pending.tool, pending.args, pending.codes) == ("wire", WIRE, ("approval.missing",))
    run.deliver(signed_approval(run.id, "ann", KEY, "wire", args_sha256=pending.args_sha256, id="a1"))
    assert run.call("wire", WIRE).ran
    intent = next(e.body for e in events_of(guard, run) if isinstance(e.body, Intent))
    assert intent.approvals == ["a1"]
    assert run.pending() == ()
    run.wish("once more", tool="wire")
    assert run.call("wire", WIRE).decision.codes == ("approval.consumed",)
    assert shop.count("wire") == 1


def test_an_approval_is_for_these_arguments_and_this_run(run: Run, guard: Guard, shop: Shop) -> None:
    run.deliver(signed_approval(run.id, "ann", KEY, "wire", {**WIRE, "amount": "4200.00"}))
    assert run.call("wire", WIRE).decision.codes == ("approval.other_args",)
    run.deliver(signed_approval("another", "ann", KEY, "wire", WIRE))
    assert run.call("wire", WIRE).decision.codes == ("approval.untrusted",)
    assert shop.count("wire") == 0


def test_an_approval_with_another_key_or_role_has_no_force(run: Run, shop: Shop) -> None:
    run.deliver(signed_approval(run.id, "ann", BOB_KEY, "wire", WIRE))
    assert run.call("wire", WIRE).decision.codes == ("approval.untrusted",)
    run.deliver(signed_approval(run.id, "bob", BOB_KEY, "wire", WIRE))
    assert run.call("wire", WIRE).decision.codes == ("approval.untrusted",)
    assert shop.count("wire") == 0


def test_an_approval_expires(run: Run, clock: Clock) -> None:
    run.deliver(signed_approval(run.id, "ann", KEY, "wire", WIRE, expires=clock() + timedelta(minutes=5)))
    run.call("queue")
    clock.move(301)
    assert run.call("wire", WIRE).decision.codes == ("approval.expired",)


def test_a_denial_is_a_refusal_and_the_newest_decision_wins(run: Run, shop: Shop) -> None:
    run.deliver(signed_approval(run.id, "ann", KEY, "wire", WIRE))
    run.deliver(signed_approval(run.id, "ann", KEY, "wire", WIRE, decision="deny"))
    assert run.call("wire", WIRE).decision.codes == ("approval.denied",)
    run.deliver(signed_approval(run.id, "ann", KEY, "wire", WIRE))
    assert run.call("wire", WIRE).ran


def test_the_same_letter_counts_once(run: Run, guard: Guard, shop: Shop) -> None:
    approval = signed_approval(run.id, "ann", KEY, "wire", WIRE)
    run.deliver(approval)
    run.deliver(approval)
    assert run.call("wire", WIRE).ran
    run.deliver(approval)
    run.wish("once more", tool="wire")
    assert run.call("wire", WIRE).refused
    assert kinds(guard, run).count("approval") == 1
    assert shop.count("wire") == 1


def test_a_letter_that_is_none_is_recorded_as_damage_and_stops_nothing(run: Run, guard: Guard) -> None:
    guard.store.post(run.id, b"hello")
    guard.store.post(run.id, canonical({"kind": "wish", "id": "w", "text": "pay", "tool": None}))
    forged = Settled(id="paid", how="impossible", by="ann", evidence=["r1"], signature="00")
    guard.store.post(run.id, canonical({"kind": "obligation.settled", "id": "paid", "how": "impossible", "by": "ann",
                                        "evidence": ["r1"], "signature": forged.signature}))  # fmt: skip
    assert run.call("get_invoice", {"invoice_id": "I-7"}).ran
    assert kinds(guard, run)[:3] == ["damage", "damage", "damage"]
    assert guard.store.posted(run.id) == ()
    assert not run.finish("impossible", outcome="declined").accepted


def test_an_unsigned_statement_is_not_even_posted(run: Run, guard: Guard) -> None:
    with pytest.raises(InputError, match="not signed"):
        run.deliver(Settled(id="paid", how="waived", by="ann"))
    with pytest.raises(LedgerError, match="no such run"):
        send(guard.store, "nobody", signed_waiver("nobody", "ann", KEY, "paid"))


def test_a_waiver_by_a_principal_discharges_nothing_but_is_owed_no_more(run: Run) -> None:
    assert run.finish("done").decision.codes == ("obligation.open",)
    run.deliver(signed_waiver(run.id, "ann", KEY, "paid"))
    run.call("get_invoice", {"invoice_id": "I-7"})
    finish = run.finish("nothing to pay", outcome="withdrawn")
    assert finish.accepted


def test_only_its_authority_lifts_a_condition(run: Run, shop: Shop) -> None:
    run.call("get_invoice", {"invoice_id": "I-7"})
    run.block("hold", ("pay",), status="do not pay", prerequisite="an audit", authority="finance")
    assert run.call("pay", PAY).decision.codes == ("condition.open",)
    run.deliver(signed_lift(run.id, "bob", BOB_KEY, "hold"))
    run.call("queue")
    assert run.call("pay", PAY).decision.codes == ("condition.open",)
    run.deliver(signed_lift(run.id, "ann", KEY, "hold"))
    assert run.call("pay", PAY).ran


def test_a_run_nobody_writes_takes_a_letter_in_at_once(guard: Guard, clock: Clock) -> None:
    run = guard.run(TASK, run_id="r", principals=[ANN])
    run.call("wire", WIRE)
    assert not deliver(
        guard.store, "r", signed_approval("r", "ann", KEY, "wire", WIRE, id="a1"), clock=clock, holder="cli"
    )
    run.suspend()
    assert deliver(guard.store, "r", signed_approval("r", "ann", KEY, "wire", WIRE, id="a2"), clock=clock, holder="cli")
    assert kinds(guard, "r") == ["refusal", "approval", "tenure", "approval"]
    with guard.resume("r") as again:
        assert again.call("wire", WIRE).ran


def test_an_approver_in_another_process_is_heard_while_the_run_is_live(tmp_path: Path, shop: Shop) -> None:
    key = signing_key(tmp_path / "ann.pem")
    ledger = tmp_path / "ledger.db"
    ann = Principal(id="ann", role="finance", public_key=public_bytes(key))
    with Guard(CONTRACT, ledger, tools=shop.tools()) as guard, guard.run(TASK, run_id="r", principals=[ann]) as run:
        assert run.call("wire", WIRE).refused
        script = f"""
from tallystick.ledger.keys import signing_key
from tallystick.ledger.sqlite import SQLiteStore
from tallystick.runtime.guard import utc_now
from tallystick.runtime.principals import deliver, signed_approval, waiting
store = SQLiteStore({str(ledger)!r})
(pending,) = waiting(store, "r")
key = signing_key({str(tmp_path / "ann.pem")!r})
body = signed_approval("r", "ann", key, pending.tool, args_sha256=pending.args_sha256)
print(deliver(store, "r", body, clock=utc_now, holder="ann"))
"""
        said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
        assert said.stdout == "False\n"
        assert run.call("wire", WIRE).ran
    assert shop.count("wire") == 1
    with contextlib.closing(SQLiteStore(ledger, read_only=True)) as store:
        assert waiting(store, "r") == ()


def test_pending_takes_in_what_was_posted(run: Run) -> None:
    run.call("wire", WIRE)
    assert len(run.pending()) == 1
    run.deliver(signed_approval(run.id, "ann", KEY, "wire", WIRE))
    assert run.pending() == ()


def test_a_host_can_wait_for_an_approval(run: Run, guard: Guard, shop: Shop) -> None:
    run.call("wire", WIRE)
    assert len(run.wait_for_approval(0)) == 1
    asked = in_thread(lambda: run.wait_for_approval(30, poll=0.01))
    send(guard.store, run.id, signed_approval(run.id, "ann", KEY, "wire", WIRE))
    assert asked() == ()
    assert run.call("wire", WIRE).ran
    for bad in ({"timeout": -1}, {"timeout": "5s"}, {"poll": 0}):
        with pytest.raises(InputError):
            run.wait_for_approval(**bad)  # type: ignore[arg-type]


def test_asking_again_while_a_person_is_asked_is_no_loop_but_spends_the_budget(shop: Shop) -> None:
    with Guard(CONTRACT, tools=shop.tools(), refusal_budget=4) as guard, guard.run(TASK, principals=[ANN]) as run:
        told = [run.call("wire", WIRE) for _ in range(4)]
        assert [t.ended for t in told] == [None, None, None, "UNCERTIFIED"]
        assert [bool(t.warning) for t in told] == [False, False, True, False]


@pytest.mark.parametrize("authority", ["finance", "ann", ""])
def test_asking_again_while_a_blocker_waits_for_its_authority_is_no_loop(run: Run, authority: str) -> None:
    run.block("b", "wire", status="do not wire", authority=authority)
    told = [run.call("wire", WIRE) for _ in range(3)]
    assert [(t.ended, t.warning) for t in told] == [(None, "")] * 3


def test_asking_again_where_a_blocker_has_no_authority_in_the_run_is_a_loop(run: Run) -> None:
    run.block("b", "wire", status="do not wire", authority="nobody here")
    run.call("wire", WIRE)
    assert run.call("wire", WIRE).ended


def test_a_denied_call_waits_no_more_and_asking_again_is_a_loop(run: Run) -> None:
    run.call("wire", WIRE)
    run.deliver(signed_approval(run.id, "ann", KEY, "wire", WIRE, decision="deny"))
    assert run.pending() == ()
    assert run.call("wire", WIRE).warning
    assert run.call("wire", WIRE).ended == "UNCERTIFIED"


def test_a_later_approval_of_a_denied_call_can_be_given(run: Run, guard: Guard, shop: Shop) -> None:
    run.call("wire", WIRE)
    run.deliver(signed_approval(run.id, "ann", KEY, "wire", WIRE, decision="deny"))
    assert run.call("wire", WIRE).decision.codes == ("approval.denied",)
    (denied,) = waiting(guard.store, run.id)
    assert (denied.denied, denied.codes, denied.args_sha256) == (True, ("approval.denied",), args_digest(WIRE))
    run.deliver(signed_approval(run.id, "ann", KEY, denied.tool, args_sha256=denied.args_sha256))
    assert run.call("wire", WIRE).ran
    assert waiting(guard.store, run.id) == ()
