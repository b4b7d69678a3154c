"""The same agent through the guard: judged by the desk's database and the ledger, fault by fault."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from tallystick.demo.agents import Job, ScriptedAgent
from tallystick.demo.compare import Comparison, compare
from tallystick.demo.desk import ALL_FAULTS, Desk, Faults, faults_of
from tallystick.demo.guarded import CONTRACT, run_guarded
from tallystick.demo.model_agent import ModelAgent
from tallystick.demo.ports import Port
from tallystick.demo.show import JOB
from tallystick.errors import InputError
from tallystick.ledger.sqlite import SQLiteStore
from tallystick.model.events import Ended, Intent
from tests.demo.fake_endpoint import call, serving, turn

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "invoice-desk.yaml"
SUBSETS = [",".join(c) or "none" for n in range(len(ALL_FAULTS.names) + 1) for c in combinations(ALL_FAULTS.names, n)]
PAY = {"invoice_id": "I-7", "amount": "420.00"}
READ = {"invoice_id": "I-7"}


def compared(tmp_path: Path, faults: Faults) -> Comparison:
    return compare(ScriptedAgent(), JOB, faults, folder=tmp_path, ledger=None)


def test_the_demo_runs_under_the_contract_a_newcomer_reads() -> None:
    assert CONTRACT.read_bytes() == EXAMPLE.read_bytes()


@pytest.mark.parametrize("faults", SUBSETS)
def test_whatever_goes_wrong_the_guarded_run_pays_once_delivers_and_is_certified(tmp_path: Path, faults: str) -> None:
    found = compared(tmp_path, faults_of(faults))
    truth = Desk(tmp_path / "guarded.db").truth("I-7")
    assert found.guarded.truth == truth
    assert (str(truth.paid), truth.payments, truth.deliveries, truth.seen_first) == ("420.00", 1, 1, True)
    assert found.guarded.done.accepted
    assert found.guarded.status == "CERTIFIED"


def test_with_all_faults_the_table_of_the_issue(tmp_path: Path) -> None:
    found = compared(tmp_path, ALL_FAULTS)
    open_side = Desk(tmp_path / "unguarded.db").truth("I-7")
    assert (str(open_side.paid), open_side.payments, open_side.deliveries) == ("840.00", 2, 0)
    assert found.unguarded.done.accepted
    assert found.unguarded.status is None
    assert found.guarded.done.refused == 2


@pytest.mark.parametrize(
    ("faults", "about", "verdict", "code"),
    [
        ("timeout", "pay_invoice", "in doubt", "receipt.unknown"),
        ("timeout", "pay_invoice", "settled", "settled.ok"),
        ("timeout", "pay_invoice", "return_recorded", "effect.duplicate"),
        ("nested-error", "send_receipt", "no effect", "receipt.no_effect"),
        ("nested-error", "done", "reject", "obligation.open"),
        ("second-page", "pay_invoice", "hold", "evidence.other_entity"),
        ("stale-read", "pay_invoice", "return_recorded", "effect.duplicate"),
    ],
)
def test_each_fault_is_answered_for_its_own_reason(
    tmp_path: Path, faults: str, about: str, verdict: str, code: str
) -> None:
    with_fault = compared(tmp_path, faults_of(faults)).guarded.steps
    (tmp_path / "calm").mkdir()
    without = compared(tmp_path / "calm", Faults()).guarded.steps
    answered = {(s.about, s.verdict, r.code) for s in with_fault for r in s.reasons}
    assert (about, verdict, code) in answered
    assert (about, verdict, code) not in {(s.about, s.verdict, r.code) for s in without for r in s.reasons}


class Boaster:
    """Does nothing and says it is done."""

    label = "boaster"

    def run(self, port: Port, job: Job) -> None:
        for _ in range(5):
            if port.finish("All done.", {"amount_paid": job.amount}).over:
                return


def test_doing_nothing_is_believed_unguarded_and_never_certified_guarded(tmp_path: Path) -> None:
    found = compare(Boaster(), JOB, Faults(), folder=tmp_path, ledger=None)
    assert found.unguarded.done.accepted
    assert found.guarded.status == "UNCERTIFIED"
    assert not found.guarded.done.accepted
    assert found.guarded.truth.payments == 0


def test_a_model_that_pays_again_under_guard_pays_once(tmp_path: Path) -> None:
    desk = Desk.create(tmp_path / "desk.db", Faults(timeout=True))
    turns = [call("get_invoice", READ), call("pay_invoice", PAY), call("pay_invoice", PAY), turn("Paid, all done.")]
    with serving(*turns) as endpoint:
        agent = ModelAgent(model="tiny", base_url=endpoint.url)
        _, events = run_guarded(agent, JOB, desk, ledger=tmp_path / "ledger.db")
    assert desk.truth("I-7").payments == 1
    told = [m["content"] for m in endpoint.requests[-1]["messages"] if m["role"] == "tool"]
    assert "effect.duplicate" in told[2]  # the model is told why, not only that
    assert "obligation.open" in endpoint.requests[-1]["messages"][-1]["content"]
    assert isinstance(events[-1].body, Ended)
    assert events[-1].body.status == "UNCERTIFIED"  # "done" without the receipt sent, twice the same


def test_a_model_that_follows_the_reasons_is_certified(tmp_path: Path) -> None:
    desk = Desk.create(tmp_path / "desk.db", Faults(nested_error=True))
    done = call("finish", {"text": "Paid and sent.", "claims": {"amount_paid": "420.00"}})
    send = call("send_receipt", {"invoice_id": "I-7", "file": "receipt-P-3.pdf"})
    turns = [call("pay_invoice", PAY), call("get_invoice", READ), call("pay_invoice", PAY), send, done, send,
             call("payments", READ), done]  # fmt: skip
    with serving(*turns) as endpoint:
        agent = ModelAgent(model="tiny", base_url=endpoint.url)
        _, events = run_guarded(agent, JOB, desk, ledger=tmp_path / "ledger.db")
    assert [desk.truth("I-7").payments, desk.truth("I-7").deliveries] == [1, 1]
    assert isinstance(events[-1].body, Ended)
    assert events[-1].body.status == "CERTIFIED"
    assert len(endpoint.requests) == len(turns)


def test_a_step_limit_is_no_certificate(tmp_path: Path) -> None:
    desk = Desk.create(tmp_path / "desk.db")
    with serving(call("get_invoice", READ)) as endpoint:
        _, events = run_guarded(
            ModelAgent(model="tiny", base_url=endpoint.url), JOB, desk, ledger=tmp_path / "ledger.db"
        )
    assert isinstance(events[-1].body, Ended)
    assert events[-1].body.status == "UNCERTIFIED"


def test_an_endpoint_that_breaks_in_the_middle_leaves_an_honest_end_in_the_ledger(tmp_path: Path) -> None:
    desk = Desk.create(tmp_path / "desk.db")
    ledger = tmp_path / "ledger.db"
    with serving(call("get_invoice", READ), call("pay_invoice", PAY), 500) as endpoint, pytest.raises(InputError):
        run_guarded(ModelAgent(model="tiny", base_url=endpoint.url), JOB, desk, ledger=ledger)
    store = SQLiteStore(ledger)
    (row,) = store.runs()
    assert row.status == "UNCERTIFIED"
    bodies = [s.event.body for s in store.events(row.run)]
    store.close()
    assert [b.tool for b in bodies if isinstance(b, Intent)] == ["get_invoice", "pay_invoice"]
