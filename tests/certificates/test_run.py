"""Runs issue certificates: every certified end has one that verifies offline, and nothing else does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick import Guard, InputError, Run
from tallystick.certificates import stopping
from tallystick.certificates.check import check_certificate
from tallystick.certificates.record import recorded
from tallystick.demo.desk import Desk
from tallystick.ledger.keys import make_signing_key
from tallystick.ledger.memory import MemoryStore
from tallystick.model.certificate import certificate_of
from tallystick.model.events import Ended, Issued, Receipt, StopDecided
from tallystick.model.jsontext import dumps
from tallystick.runtime.recheck import recheck
from tests.certificates.desk import CONTRACT, KEY, PUBLIC, certified, settle_invoice, signed, written
from tests.runtime.shop import CONTRACT as SHOP
from tests.runtime.shop import TASK, Clock, Faulty, Shop, kinds
from tests.runtime.test_recheck import ANN, STEPS


def elsewhere(shop: Shop) -> None:
    """Somebody else pays the invoice, without this run."""
    after, shop.after = shop.after, lambda: None
    shop.pay("I-7", "420.00")
    shop.after = after


MORE: dict[str, Any] = {
    "paid elsewhere": lambda run, shop, clock: elsewhere(shop),
    "take back": lambda run, shop, clock: run.state("withdrawn", True) if run.status is None else None,
    "withdraw": lambda run, shop, clock: run.finish("never mind", outcome="withdrawn"),
}
LAST = {
    "acted": ("read", "pay", "done"),
    "declined": ("paid elsewhere", "read", "pay", "decline"),
    "withdrawn": ("take back", "withdraw"),
}
"""What ends a run well, if nothing stands in the way."""


def test_whatever_the_guard_certifies_verifies_offline(tmp_path_factory: pytest.TempPathFactory) -> None:
    outcomes: Counter[str] = Counter()

    @settings(max_examples=60, deadline=None, database=None, derandomize=True)
    @given(steps=st.lists(st.sampled_from(sorted({**STEPS, **MORE})), max_size=12), last=st.sampled_from(sorted(LAST)))
    def holds(steps: list[str], last: str) -> None:
        outcomes.update(certified_and_checked(tmp_path_factory.mktemp("run"), [*steps, *LAST[last]]))

    holds()
    assert set(outcomes) == {"acted", "declined", "withdrawn", "none"}, outcomes  # else it shows nothing
    assert outcomes.total() - outcomes["none"] >= 20, outcomes


def certified_and_checked(folder: Path, steps: list[str]) -> list[str]:
    """Play steps and check what was handed out; return the certified outcome."""
    shop, clock = Shop(folder / "shop.db"), Clock()
    guard = Guard(SHOP, tools=shop.tools(), clock=clock, same_refusal_limit=4, sign_with=KEY)
    finishes = []
    with guard.run(TASK, run_id="r", principals=[ANN]) as run:
        for step in steps:
            answer = {**STEPS, **MORE}[step](run, shop, clock)
            if hasattr(answer, "certificate"):
                finishes.append(answer)
    assert recheck(guard.store.events("r")).reproduces
    handed_out = [f for f in finishes if f.certificate is not None]
    assert [f.accepted for f in handed_out] == ([True] if run.status == "CERTIFIED" else [])
    assert (Issued in {type(e.event.body) for e in guard.store.events("r")}) == bool(handed_out)
    for finish in handed_out:
        files = written(folder, guard, "r", finish)
        found = check_certificate(files.envelope, files.export, PUBLIC)
        assert found.problems == ()
        assert found.authentic == "authentic"
    return [f.certificate.outcome for f in handed_out] or ["none"]


def test_a_certified_end_is_three_events_and_the_answer_has_the_certificate(tmp_path: Path) -> None:
    desk = certified(tmp_path)
    stop, issued, ended = (s.event.body for s in list(desk.guard.store.events("r"))[-3:])
    assert isinstance(stop, StopDecided)
    assert isinstance(ended, Ended)
    assert isinstance(issued, Issued)
    assert certificate_of(issued.statement.encode()) == desk.certificate
    assert [c.slot for c in desk.certificate.claims] == ["amount_paid"]
    assert {o.obligation for o in desk.certificate.obligations} == {"paid", "delivered"}


@pytest.mark.parametrize("outcome", ["declined", "withdrawn"])
def test_rightly_not_acting_is_certified_with_its_reasons(tmp_path: Path, outcome: Any) -> None:
    shop = Shop(tmp_path / "shop.db")
    guard = Guard(SHOP, tools=shop.tools(), clock=Clock(), sign_with=KEY)
    with guard.run(TASK, run_id="r") as run:
        if outcome == "declined":
            shop.pay("I-7", "420.00")  # somebody else already did
            run.call("get_invoice", {"invoice_id": "I-7"})
            run.call("pay", {"invoice_id": "I-7", "amount": "420.00"})
        else:
            run.state("withdrawn", True)
        finish = run.finish("no", outcome=outcome)
    assert finish.accepted
    assert finish.certificate is not None
    assert (finish.certificate.outcome, finish.certificate.claims) == (outcome, ())
    how = {o.obligation: o.how for o in finish.certificate.obligations}
    assert how == {"paid": "rightly_undone" if outcome == "declined" else "withdrawn"}
    files = written(tmp_path, guard, "r", finish)
    assert check_certificate(files.envelope, files.export, PUBLIC).authentic == "authentic"


def test_without_a_key_there_is_a_certificate_and_no_envelope(tmp_path: Path) -> None:
    guard = Guard(CONTRACT, tools=Desk.create(tmp_path / "desk.db").tools(), clock=Clock())
    with guard.run({"bindings": {"invoice": "I-7"}}) as run:
        finish = settle_invoice(run)
    assert finish.certificate is not None
    assert finish.envelope is None


def test_a_run_that_is_not_certified_has_none(tmp_path: Path) -> None:
    guard = Guard(CONTRACT, tools=Desk.create(tmp_path / "desk.db").tools(), clock=Clock(), sign_with=KEY)
    with guard.run({"bindings": {"invoice": "I-7"}}, run_id="r") as run:
        finish = run.finish("done", {"amount_paid": "420.00"})
        assert (finish.certificate, finish.envelope) == (None, None)
    assert "certificate.issued" not in kinds(guard, "r")
    with pytest.raises(InputError, match="only a CERTIFIED run"):
        recorded(lambda: guard.store.events("r"), "r")


def test_a_stop_whose_certificate_does_not_hold_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Defence in depth: the gate accepts, the verifier does not, and nothing ends CERTIFIED."""

    def broken(*_: object, **__: object) -> Any:
        raise ZeroDivisionError

    for name in ("bind", "verify_certificate"):
        guard = Guard(CONTRACT, tools=Desk.create(tmp_path / f"{name}.db").tools(), clock=Clock(), sign_with=KEY)
        with monkeypatch.context() as patch, guard.run({"bindings": {"invoice": "I-7"}}, run_id=name) as run:
            patch.setattr(stopping, name, broken)
            finish = settle_invoice(run)
            assert finish.decision.codes == ("certificate.unbound",)
            assert (finish.accepted, finish.certificate, finish.envelope) == (False, None, None)
        assert run.status == "UNCERTIFIED"


def test_the_key_may_be_a_file_and_must_be_one_for_signing(tmp_path: Path) -> None:
    key = tmp_path / "key"
    make_signing_key(key)
    assert Guard(CONTRACT, sign_with=key).signer is not None
    for wrong in (tmp_path / "none", tmp_path / "key.pub", 7, b"x"):
        with pytest.raises(InputError):
            Guard(CONTRACT, sign_with=wrong)  # type: ignore[arg-type]
    assert not (tmp_path / "none").exists()


# ------------------------------------------------------------------ interrupted ends


@pytest.mark.parametrize("fails", ["stop.decided", "certificate.issued", "run.ended"])
@pytest.mark.parametrize("stored", [False, True])
def test_an_end_the_ledger_does_not_take_hands_out_nothing(tmp_path: Path, fails: str, stored: bool) -> None:
    store = Faulty(MemoryStore())
    guard = Guard(CONTRACT, store, tools=Desk.create(tmp_path / "desk.db").tools(), clock=Clock(), sign_with=KEY)
    run = guard.run({"bindings": {"invoice": "I-7"}}, run_id="r")
    store.fails, store.stored = {fails}, stored
    finish = settle_invoice(run)
    assert not finish.accepted
    assert (finish.certificate, finish.envelope) == (None, None)
    store.fails = set()
    again = run.finish("done", {"amount_paid": "420.00"})
    if run.status == "CERTIFIED" and not again.accepted:  # the end was stored all the same; the record has it
        assert (fails, stored) == ("run.ended", True)
        view, certificate = recorded(lambda: store.events("r"), "r")
        assert certificate.upto == view.upto
    else:
        files = written(tmp_path, guard, "r", again)
        assert check_certificate(files.envelope, files.export, PUBLIC).authentic == "authentic"
    assert recheck(store.events("r")).reproduces


SCRIPT = """
import os, signal, sys
from pathlib import Path
from tallystick import Guard
from tallystick.demo.desk import Desk
from tallystick.ledger.sqlite import SQLiteStore
from tests.certificates.desk import CONTRACT, settle_invoice

class Dying(SQLiteStore):
    def append(self, lease, sealed, durable):
        super().append(lease, sealed, durable)
        if sealed.event.kind == sys.argv[2]:
            os.kill(os.getpid(), signal.SIGKILL)

folder = Path(sys.argv[1])
guard = Guard(CONTRACT, Dying(folder / "ledger.db"), tools=Desk(folder / "desk.db").tools(), lease_seconds=0.2)
settle_invoice(guard.run({"bindings": {"invoice": "I-7"}}, run_id="r"))
"""


@pytest.mark.parametrize("kind", ["stop.decided", "certificate.issued", "run.ended"])
def test_a_process_killed_on_the_way_to_the_end_leaves_an_honest_record(tmp_path: Path, kind: str) -> None:
    """An accepted stop, even with its certificate, is no certified end until the end is in the record too."""
    Desk.create(tmp_path / "desk.db")
    root = Path(__file__).resolve().parents[2]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "src")])}
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path), kind], env=env, check=False, cwd=root)
    assert done.returncode == -signal.SIGKILL
    guard = Guard(CONTRACT, tmp_path / "ledger.db", tools=Desk(tmp_path / "desk.db").tools(), sign_with=KEY)
    assert recheck(guard.store.events("r")).reproduces
    if kind == "run.ended":
        with pytest.raises(InputError, match="has ended"):
            guard.resume("r", force=True)
        _, certificate = recorded(lambda: guard.store.events("r"), "r")
        assert certificate.run == "r"
        return
    with pytest.raises(InputError, match="has not ended"):
        recorded(lambda: guard.store.events("r"), "r")
    early = [s.event.body for s in guard.store.events("r") if isinstance(s.event.body, Issued)]
    with guard.resume("r", force=True) as run:
        finish = run.finish("done", {"amount_paid": "420.00"})
        assert finish.accepted, finish
    files = written(tmp_path, guard, "r", finish)
    assert check_certificate(files.envelope, files.export, PUBLIC).authentic == "authentic"
    assert recheck(guard.store.events("r")).reproduces
    for body in early:  # the certificate of the stop that never ended the run, signed by whoever has the key
        assert body.statement.encode() != finish.certificate.statement()  # type: ignore[union-attr]
        files.envelope.write_bytes(signed(body.statement.encode(), KEY))
        assert not check_certificate(files.envelope, files.export, PUBLIC).ok


def test_a_receipt_that_comes_after_the_end_changes_nothing(tmp_path: Path) -> None:
    """What the certificate rests on ends where it says; the check counts what came later."""
    desk = certified(tmp_path)
    events = list(desk.guard.store.events("r"))
    late = next(s.event.body for s in events if isinstance(s.event.body, Receipt))
    run = _again(desk.guard, "r")
    run._journal.append(msgspec.structs.replace(late, id="late", late=True), events[4].event.actor, durable=True)
    files = written(tmp_path, desk.guard, "r", desk.finish)
    found = check_certificate(files.envelope, files.export, PUBLIC)
    assert (found.authentic, found.later) == ("authentic", 1)


def _again(guard: Guard, run: str) -> Run:
    """A writer of a run that has ended, as the one that waits for its late receipts is."""
    from tallystick.runtime.bounds import Bounds
    from tallystick.runtime.journal import Journal
    from tallystick.view.frozen import frozen_in

    first = next(iter(guard.store.events(run))).event.body
    contract, task = frozen_in(first)  # type: ignore[arg-type]
    lease = guard.store.acquire(run, "late", guard.clock(), 60.0, True)
    bounds = Bounds(guard.limits)
    journal = Journal(guard.store, lease, contract, task, guard.clock, bounds)
    journal.load()
    return guard._made(journal, contract, bounds, None, None)


# ------------------------------------------------------------------ recheck


def test_a_recheck_binds_the_certificate_again_and_notices_another(tmp_path: Path) -> None:
    desk = certified(tmp_path)
    events = list(desk.guard.store.events("r"))
    assert recheck(events).differences == ()
    at = next(i for i, s in enumerate(events) if isinstance(s.event.body, Issued))
    body = events[at].event.body
    assert isinstance(body, Issued)
    from tallystick.model.events import seal

    for statement in (body.statement.replace("420.00", "421.00"), "{}", ""):
        other = seal(msgspec.structs.replace(events[at].event, body=msgspec.structs.replace(body, statement=statement)))
        assert [d.what for d in recheck([*events[:at], other, *events[at + 1 :]]).differences] == ["certificate"]


def test_a_record_of_a_version_without_certificates_still_rechecks(tmp_path: Path) -> None:
    desk = certified(tmp_path)
    old = [s for s in desk.guard.store.events("r") if not isinstance(s.event.body, Issued)]
    found = recheck(old)
    assert found.reproduces
    assert found.compared == recheck(desk.guard.store.events("r")).compared - 1
    with pytest.raises(InputError, match="issued none"):
        recorded(lambda: iter(old), "r")


def test_the_statement_is_what_the_published_schema_says(tmp_path: Path) -> None:
    """The schema is written from the types; a real statement fits, and one with a member more or less does not."""
    import json

    import jsonschema_rs

    from tallystick.certificates.schema import FILE, schema_text

    assert FILE.read_text(encoding="utf-8") == schema_text(), "run `python -m tallystick.certificates.schema`"
    schema = json.loads(schema_text())
    jsonschema_rs.meta.validate(schema)
    fits = jsonschema_rs.validator_for(schema).is_valid
    statement = json.loads(certified(tmp_path).certificate.statement())
    assert fits(statement)
    assert not fits({**statement, "more": 1})
    for name in statement["predicate"]:
        assert not fits({**statement, "predicate": {k: v for k, v in statement["predicate"].items() if k != name}})
    assert not fits({**statement, "predicate": {**statement["predicate"], "more": 1}})
    assert dumps(statement).encode() != b""
