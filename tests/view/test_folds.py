"""What the view makes of a record: calls, effects, facts, doubt, authority."""

from __future__ import annotations

from typing import Any

import pytest

from tallystick.contracts.types import Batch, Contract, ObligationRule, Task, Tool, Yield
from tallystick.model.events import (
    Approval,
    Body,
    Confirmation,
    DoubtSettled,
    Ended,
    Obliged,
    OperationClosed,
    Raised,
    Reported,
    Said,
    SchemaChanged,
    Settled,
    Started,
    Tenure,
    Wish,
)
from tallystick.model.values import EntityRef
from tallystick.view import View
from tests.gates.worlds_kit import EACH, ENTITIES, INVOICE, PRINCIPALS, RUN, SEEN, Log, equals, signed

I1 = EntityRef("invoice", "I-1")
GET = Tool(
    name="get",
    effect="read",
    target=(INVOICE,),
    yields=(Yield(kind="invoice", at=(), fields=SEEN, id=("id",)),),
)
PAY = Tool(
    name="pay",
    effect="write",
    target=(INVOICE,),
    yields=(Yield(kind="invoice", at=(), fields={"status": ("status",)}, id=("id",)),),
    no_effect=equals("result.code", "closed"),
)
MANY = Tool(
    name="many",
    effect="write",
    target=(EACH,),
    batch=Batch(arg="invoice_ids", results=("results",), result_key=("id",), ok=equals("item.ok", True)),
)
ARGS = {"invoice_id": "I-1"}


def desk(**more: Any) -> Contract:
    tools = {t.name: t for t in (GET, PAY, MANY)}
    return Contract(name="desk", version="1", text="", sha256="", entities=ENTITIES, tools=tools, **more)


def folded(log: Log, contract: Contract | None = None) -> View:
    view = View(contract or desk(), Task(principals=PRINCIPALS), run=RUN)
    for event in log.events:
        view.apply(event)
    return view


def stands(view: View, call: str = "c1") -> list[str]:
    return [e.status for e in view.effects_of_call(call)]


def record(status: str = "open") -> dict[str, str]:
    return {"id": "I-1", "status": status, "amount_due": "420.00"}


# ---------------------------------------------------------------- receipts


@pytest.mark.parametrize("role", ["agent", "user", "host", "principal"])
def test_only_what_executed_a_call_can_say_what_came_of_it(role: Any) -> None:
    log = Log()
    log.done("c1", "get", ARGS, record(), role=role)
    assert not folded(log).known(I1)


@pytest.mark.parametrize("marks", [{"source": "replica"}, {"synthetic": True}, {"flag": "error"}, {"error": "x"}])
def test_a_receipt_that_proves_nothing_establishes_no_fact(marks: dict[str, Any]) -> None:
    log = Log()
    log.done("c1", "get", ARGS, record(), **marks)
    log.intent("c2", "get", ARGS)
    log.receipt("c2", record(), cached_from="r-c1")  # nor does its repetition
    assert not folded(log).known(I1)


def test_a_replicas_receipt_of_a_write_realises_nothing() -> None:
    log = Log()
    log.done("c1", "pay", ARGS, {"id": "I-1"}, source="replica")
    view = folded(log)
    assert stands(view) == ["in_flight"]
    assert "c1" in view.open_calls


def test_a_repeated_answer_is_as_old_as_its_original() -> None:
    log = Log()
    log.done("c1", "get", ARGS, record())
    log.done("c2", "pay", ARGS, {"id": "I-1"})
    log.intent("c3", "get", ARGS)
    log.receipt("c3", record(), cached_from="r-c1")
    view = folded(log)
    fact = view.facts(I1)["status"]
    assert fact.value == "open"
    assert view.void(I1, fact.observed_seq)


def test_a_repeated_answer_from_elsewhere_is_older_than_anything_known() -> None:
    log = Log()
    log.done("c1", "get", ARGS, record("paid"))
    log.intent("c2", "get", ARGS)
    log.receipt("c2", record(), cached_from="another run")
    view = folded(log)
    assert view.facts(I1)["status"].value == "paid"
    assert view.receipts[-1].observed_at is None


def test_a_repeated_answer_to_a_write_shows_no_second_effect_and_no_news() -> None:
    log = Log()
    log.done("c1", "pay", ARGS, {"id": "I-1", "status": "paid"})
    log.done("c2", "get", ARGS, record("open"))
    log.intent("c3", "pay", ARGS)
    log.receipt("c3", {"id": "I-1", "status": "paid"}, cached_from="r-c1")
    view = folded(log)
    assert (stands(view, "c1"), stands(view, "c3")) == (["done"], ["no_effect"])
    assert view.facts(I1)["status"].value == "open"


def test_its_own_answer_again_changes_nothing() -> None:
    for first, status in (({"id": "I-1"}, "done"), ({}, "in_doubt")):
        log = Log()
        log.done("c1", "pay", ARGS, first)
        log.receipt("c1", {"id": "I-1"}, name="r2", cached_from="r-c1")
        assert stands(folded(log)) == [status]


def test_a_success_is_never_unmade() -> None:
    log = Log()
    log.done("c1", "pay", ARGS, {"id": "I-1"})
    log.receipt("c1", {"error": "already paid"}, name="r2")
    log.receipt("c1", {"code": "closed"}, name="r3")
    view = folded(log)
    assert stands(view) == ["done"]
    assert not view.doubts
    assert view.effects_of_call("c1")[0].receipt is view.receipts[0]


def test_a_later_answer_of_a_batch_unmakes_no_item() -> None:
    log = Log()
    args = {"invoice_ids": ["I-1", "I-2"]}
    log.done("c1", "many", args, {"results": [{"id": "I-1", "ok": True}]})
    assert stands(folded(log)) == ["done", "in_doubt"]
    log.receipt("c1", {"results": [{"id": "I-2", "ok": True}]}, name="r2")
    view = folded(log)
    assert stands(view) == ["done", "done"]
    assert not view.doubts


def test_a_batch_with_every_item_refused_was_no_success() -> None:
    log = Log()
    log.done("c1", "many", {"invoice_ids": ["I-1"]}, {"results": [{"id": "I-1", "ok": False}]})
    assert stands(folded(log)) == ["no_effect"]
    log.receipt("c1", None, name="r2", error="timeout")
    assert stands(folded(log)) == ["in_doubt"]


def test_a_partial_effect_is_in_doubt_until_somebody_settles_it() -> None:
    log = Log()
    log.done("c1", "pay", ARGS, {"id": "I-1", "dropped_fields": ["note"]})
    assert set(folded(log).doubts) == {"c1"}
    settled = DoubtSettled(call="c1", outcome="ok", by="principal", principal="fin")
    log.add(signed(settled, "fin"), "principal", "fin")
    view = folded(log)
    assert not view.doubts
    assert stands(view) == ["done"]


@pytest.mark.parametrize(
    ("by", "role"),
    [("query", "agent"), ("query", "runtime"), ("principal", "principal")],
)
def test_doubt_is_settled_by_evidence_or_a_signature_and_by_nothing_else(by: Any, role: Any) -> None:
    log = Log()
    log.done("c1", "pay", ARGS, None, error="timeout")
    log.done("c2", "get", ARGS, record(), source="replica")
    log.add(DoubtSettled(call="c1", outcome="no_effect", by=by, principal="fin", evidence=["r-c2"]), role)
    assert set(folded(log).doubts) == {"c1"}


def test_what_was_observed_before_the_call_or_by_it_cannot_settle_it() -> None:
    log = Log()
    log.done("c1", "get", ARGS, record())
    log.done("c2", "pay", ARGS, {"id": "I-1", "status": "queued"})
    log.done("c3", "get", ARGS, record())
    for evidence, left in (("r-c1", {"c2"}), ("r-c2", {"c2"}), ("r-c3", set())):
        log.add(DoubtSettled(call="c2", outcome="no_effect", by="query", evidence=[evidence]), "runtime")
        assert set(folded(log).doubts) == left


def test_one_effect_discharges_one_obligation_however_often_it_is_reported() -> None:
    contract = desk(owes=tuple(ObligationRule(id=n, kind="event", by="pay") for n in ("a", "b")))
    log = Log()
    log.done("c1", "pay", ARGS, {"id": "I-1"})
    log.receipt("c1", {"id": "I-1"}, name="r2", late=True)
    view = folded(log, contract)
    assert [o.discharged_by is not None for o in view.obligations.values()] == [True, False]


def test_a_crash_puts_what_was_open_in_doubt_and_a_crash_seen_twice_nothing_more() -> None:
    log = Log()
    log.add(Tenure(epoch=1, holder="a"))
    log.intent("c1", "pay", ARGS)
    log.intent("c2", "get", ARGS)
    log.add(Tenure(epoch=2, holder="b"))
    view = folded(log)
    assert set(view.doubts) == {"c1"}
    assert not view.open_calls
    log.intent("c3", "pay", {"invoice_id": "I-2"})
    log.add(Tenure(epoch=2, holder="b"))
    assert set(folded(log).doubts) == {"c1"}


# ---------------------------------------------------------------- facts


def test_the_newest_fact_is_the_one_observed_last_not_the_one_that_arrived_last() -> None:
    log = Log()
    log.intent("c1", "get", ARGS)
    log.intent("c2", "get", ARGS)
    log.receipt("c2", record("paid"))
    log.receipt("c1", record("open"))
    assert folded(log).facts(I1)["status"].value == "paid"


def test_a_value_that_does_not_fit_its_type_is_no_value() -> None:
    log = Log()
    log.done("c1", "get", ARGS, {**record(), "amount_due": "about 400"})
    fact = folded(log).facts(I1)["amount_due"]
    assert fact.problem is not None


@pytest.mark.parametrize(("read", "write"), [("I-1", "I-2"), ("1", "01"), ("I-1", "i-1"), ("I-1", "I-1 ")])
def test_an_id_is_compared_as_written(read: str, write: str) -> None:
    log = Log()
    log.done("c1", "get", {"invoice_id": read}, {**record(), "id": read})
    log.done("c2", "pay", {"invoice_id": write}, {"id": write})
    view = folded(log)
    assert view.known(EntityRef("invoice", read))
    assert view.last_write(EntityRef("invoice", read)) == 0


def test_one_writes_answer_is_void_when_another_was_under_way() -> None:
    log = Log()
    log.intent("c1", "pay", ARGS)
    log.done("c2", "pay", {**ARGS, "amount": 1}, {"id": "I-1", "status": "paid"})
    assert folded(log).void(I1, folded(log).facts(I1)["status"].observed_seq)
    log.receipt("c1", {"id": "I-1", "status": "part-paid"})
    view = folded(log)
    fact = view.facts(I1)["status"]
    assert fact.value == "part-paid"
    assert not view.void(I1, fact.observed_seq)


# ---------------------------------------------------------------- evidence and words

NEWS: list[tuple[Body, str]] = [
    (Wish(id="w"), "host"),
    (Raised(id="C1", removes=["pay"]), "host"),
    (Obliged(id="o"), "host"),
    (SchemaChanged(tool="pay", sha256="0"), "runtime"),
    (Confirmation(entity_kind="invoice", entity_id="I-1"), "host"),
]
WORDS: list[tuple[Body, str]] = [
    (Said(role="assistant", text="done"), "agent"),
    (Reported(stage="completed"), "agent"),
    (Wish(id="w"), "agent"),
    (Confirmation(entity_kind="invoice", entity_id="I-1"), "agent"),
    (Raised(id="C1", removes=["pay"]), "agent"),
    (Obliged(id="o"), "agent"),
    (Tenure(epoch=9, holder="me"), "agent"),
    (Ended(status="CERTIFIED"), "agent"),
    (OperationClosed(operation="x"), "agent"),
    (Settled(id="o", how="impossible", by="me", evidence=["r-c1"]), "agent"),
    (Approval(id="A", principal="fin", decision="approve", tool="pay", args_sha256="0", run=RUN), "agent"),
    (Started(semantics="s", contract="", contract_sha256="", task="", task_sha256="", format="x"), "agent"),
]


@pytest.mark.parametrize(("body", "role"), NEWS)
def test_whatever_can_change_a_verdict_is_news(body: Body, role: Any) -> None:
    log = Log()
    log.done("c1", "get", ARGS, record())
    log.add(body, role)
    assert folded(log).evidence_seq == 3


@pytest.mark.parametrize(("body", "role"), WORDS)
def test_an_agents_words_are_no_news_and_leave_the_record_as_it_was(body: Body, role: Any) -> None:
    log = Log()
    log.done("c1", "get", ARGS, record())
    before = folded(log)
    log.add(body, role)
    after = folded(log)
    assert after.evidence_seq == 2
    assert after.upto == 3
    same = ("conditions", "obligations", "wishes", "approvals", "ended", "epoch", "started", "doubts")
    assert all(getattr(before, name) == getattr(after, name) for name in same)
    assert before.index.confirmed == after.index.confirmed
