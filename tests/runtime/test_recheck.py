"""Every recorded decision comes out again from the record alone, and a changed one does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tallystick import Guard, InputError, Principal, Run
from tallystick.ledger.keys import public_bytes
from tallystick.ledger.memory import MemoryStore
from tallystick.model.decision import Reason, Verdict, decision_of
from tallystick.model.events import (
    Ended,
    Intent,
    Issued,
    Refusal,
    Sealed,
    Started,
    StopAnswered,
    StopDecided,
    seal,
)
from tallystick.runtime.principals import signed_approval, signed_settlement, signed_waiver
from tallystick.runtime.recheck import recheck
from tests.runtime.shop import CONTRACT, PAY, TASK, Clock, Shop

KEY = Ed25519PrivateKey.generate()
ANN = Principal(id="ann", role="finance", public_key=public_bytes(KEY))
DECIDED = Intent | Refusal | StopDecided | StopAnswered | Issued | Ended
WIRE = {"invoice_id": "I-7", "amount": "420.00"}


def lose(shop: Shop) -> None:
    def once() -> None:
        shop.after = lambda: None
        raise ConnectionError("gone")

    shop.after = once


STEPS: dict[str, Callable[[Run, Shop, Clock], Any]] = {
    "read": lambda run, shop, clock: run.call("get_invoice", {"invoice_id": "I-7"}),
    "read other": lambda run, shop, clock: run.call("get_invoice", {"invoice_id": "I-8"}),
    "pay": lambda run, shop, clock: run.call("pay", PAY),
    "pay too much": lambda run, shop, clock: run.call("pay", {**PAY, "amount": "4200.00"}),
    "books": lambda run, shop, clock: run.call("payments", {"invoice_id": "I-7"}),
    "lose": lambda run, shop, clock: lose(shop),
    "refund": lambda run, shop, clock: run.call("refund", {"invoice_id": "I-7"}),
    "order": lambda run, shop, clock: run.call("order", {"sku": "A"}, args_text='{"sku": "A"}', native_id="n", turn=3),
    "wire": lambda run, shop, clock: run.call("wire", WIRE),
    "approve": lambda run, shop, clock: run.deliver(signed_approval(run.id, "ann", KEY, "wire", WIRE)),
    "settle": lambda run, shop, clock: run.deliver(signed_settlement(run.id, "ann", KEY, "c2", "no_effect")),
    "waive": lambda run, shop, clock: run.deliver(signed_waiver(run.id, "ann", KEY, "paid")),
    "mail": lambda run, shop, clock: run.call("mail_all", {"to": ["a", "bad"]}),
    "cut": lambda run, shop, clock: run.call("pay", PAY, complete=False),
    "mutated": lambda run, shop, clock: run.call("pay", PAY, args_text="{}"),
    "garbage": lambda run, shop, clock: run.call("pay", args_text="{"),
    "surrogate": lambda run, shop, clock: run.call("pay", PAY, args_text='"\ud800'),
    "unknown": lambda run, shop, clock: run.call("nothing", {}),
    "wish": lambda run, shop, clock: run.wish("again") if run.status is None else None,
    "later": lambda run, shop, clock: clock.move(100),
    "done": lambda run, shop, clock: run.finish("done"),
    "claim": lambda run, shop, clock: run.finish("done", {"amount": "420.00"}),
    "decline": lambda run, shop, clock: run.finish("no", outcome="declined"),
}


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.sampled_from(sorted(STEPS)), max_size=14))
def test_every_decision_of_every_run_comes_out_again(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    shop, clock = Shop(tmp_path_factory.mktemp("shop") / "shop.db"), Clock()
    guard = Guard(CONTRACT, tools=shop.tools(), clock=clock, same_refusal_limit=4)
    with guard.run(TASK, principals=[ANN]) as run:
        for step in steps:
            STEPS[step](run, shop, clock)
    events = list(guard.store.events(run.id))
    found = recheck(events)
    assert found.differences == ()
    assert found.reproduces
    decided = [e for e in events if isinstance(e.event.body, DECIDED)]
    assert found.compared + found.exempt == len(decided)
    assert shop.count("pay") <= 1
    if run.status == "CERTIFIED":
        assert not run.view.doubts


@pytest.fixture
def events(shop: Shop, clock: Clock) -> list[Sealed]:
    """A run with an admission, refusals, an accepted stop and an end."""
    guard = Guard(CONTRACT, tools=shop.tools(), clock=clock)
    with guard.run(TASK) as run:
        run.call("pay", PAY)
        run.call("get_invoice", {"invoice_id": "I-7"})
        run.finish("done")
        run.call("pay", PAY)
        run.call("pay", PAY)
        run.finish("done")
    return list(guard.store.events(run.id))


def changed(events: list[Sealed], number: int, change: Callable[[Any], Any], kind: type) -> list[Sealed]:
    """Return the events with the body of the `number`-th one of a kind changed. (Digests of later ones are left.)"""
    at = [i for i, e in enumerate(events) if isinstance(e.event.body, kind)][number]
    event = msgspec.structs.replace(events[at].event, body=change(events[at].event.body))
    return [*events[:at], seal(event), *events[at + 1 :]]


def redecided(**fields: Any) -> Callable[[Any], Any]:
    return lambda body: msgspec.structs.replace(
        body, decision=msgspec.structs.replace(decision_of(body.decision), **fields).text()
    )


def test_the_run_reproduces_as_it_is(events: list[Sealed]) -> None:
    found = recheck(events)
    assert found.reproduces
    assert (found.compared, found.exempt) == (9, 0)


@pytest.mark.parametrize(
    ("number", "change", "kind", "message"),
    [
        (0, redecided(verdict=Verdict.REFUSE), Refusal, "another verdict"),
        (0, redecided(reasons=(Reason(code="evidence.stale", message=""),)), Refusal, "another reason codes"),
        (1, redecided(recorded="r9"), Refusal, "another recorded receipt"),
        (0, redecided(verdict=Verdict.ACCEPT, reasons=()), StopDecided, "another verdict"),
        (1, redecided(verdict=Verdict.REJECT), StopDecided, "another verdict"),
        (1, lambda b: msgspec.structs.replace(b, basis=[]), Intent, "another basis"),
        (1, lambda b: msgspec.structs.replace(b, judged_upto=1), Intent, "another point up to which absence"),
        (1, lambda b: msgspec.structs.replace(b, now=""), Intent, "does not say when"),
        (0, lambda b: msgspec.structs.replace(b, status="IN_DOUBT"), Ended, "another status"),
    ],
)
def test_a_decision_that_was_changed_does_not_come_out_again(
    events: list[Sealed], number: int, change: Callable[[Any], Any], kind: type, message: str
) -> None:
    found = recheck(changed(events, number, change, kind))
    assert not found.reproduces
    assert any(message in d.message for d in found.differences)


def test_evidence_that_was_taken_away_shows(events: list[Sealed]) -> None:
    kept = [e for e in events if e.event.seq not in (4, 5)]  # the read
    assert not recheck(kept).reproduces


def test_a_certified_end_without_an_accepted_stop_shows(events: list[Sealed]) -> None:
    kept = [e for e in events if not (isinstance(e.event.body, StopDecided) and "accept" in e.event.body.decision)]
    assert [d.what for d in recheck(kept).differences] == ["certificate", "run"]


def test_a_run_judged_by_other_rules_is_reported_as_such(events: list[Sealed]) -> None:
    found = recheck(changed(events, 0, lambda b: msgspec.structs.replace(b, semantics="tallystick-gates/0"), Started))
    assert (found.other_semantics, found.compared, found.reproduces) == (True, 0, False)


def test_a_contract_that_is_not_the_one_named_is_refused(events: list[Sealed]) -> None:
    text = CONTRACT.text.replace("once_per", "requires: []\n    once_per", 1)
    with pytest.raises(InputError, match="digest"):
        recheck(changed(events, 0, lambda b: msgspec.structs.replace(b, contract=text), Started))


def test_what_is_no_run_is_refused(events: list[Sealed]) -> None:
    with pytest.raises(InputError, match="no events"):
        recheck([])
    with pytest.raises(InputError, match=r"run\.started"):
        recheck(events[1:])


def test_a_run_of_several_tenures_reproduces(tmp_path: Path, shop: Shop) -> None:
    store = MemoryStore()
    guard = Guard(CONTRACT, store, tools=shop.tools())
    run = guard.run(TASK, run_id="r")
    run.call("pay", PAY)
    run.call("get_invoice", {"invoice_id": "I-7"})
    run.suspend()
    with guard.resume("r") as again:
        lose(shop)
        again.call("pay", PAY)
        again.call("pay", PAY)
        again.finish("done")
    assert recheck(store.events("r"), CONTRACT).reproduces
