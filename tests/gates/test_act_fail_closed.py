"""Cases in which a gate once let something through, or could have: each docstring is the rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tallystick.contracts.types import (
    Batch,
    ConditionRule,
    Contract,
    EntityExpr,
    Exclusion,
    ObligationRule,
    Requirement,
    Task,
    Tool,
    Yield,
)
from tallystick.gates.act import may_act
from tallystick.model.decision import Decision
from tallystick.model.events import Approval, Confirmation, Lifted, OperationClosed, Raised, SchemaChanged, Settled
from tallystick.model.exact import args_digest
from tallystick.model.proposal import Call
from tallystick.model.values import instant_of
from tallystick.view import View
from tests.gates.worlds_kit import (
    EACH,
    ENTITIES,
    EUR,
    ID,
    INVOICE,
    PRINCIPALS,
    RUN,
    SEEN,
    VENDOR,
    Log,
    const,
    equals,
    path,
    signed,
)

NOW = instant_of("2026-11-30T11:00:00Z")
GET = Tool(
    name="get_invoice",
    effect="read",
    target=(INVOICE,),
    yields=(Yield(kind="invoice", at=(), fields=SEEN, id=("id",)),),
)
OPEN = Requirement(id="open", kind="fact", expr=equals("invoice.status", "open"))


def pay(**more: Any) -> Tool:
    return Tool(**{"name": "pay", "effect": "write", "target": (INVOICE,)} | more)


def pay_many(**more: Any) -> Tool:
    batch = Batch(arg="invoice_ids", results=("results",), result_key=("id",), ok=equals("item.ok", True))
    return Tool(**{"name": "pay_many", "effect": "write", "target": (EACH,), "batch": batch} | more)


def desk(*tools: Tool, **more: Any) -> Contract:
    named = {t.name: t for t in (GET, *tools)}
    return Contract(name="desk", version="1", text="", sha256="", entities=ENTITIES, tools=named, **more)


def ask(
    contract: Contract, log: Log, tool: str, args: Mapping[str, Any], *, task: Task | None = None, **more: Any
) -> Decision:
    view = View(contract, task or Task(principals=PRINCIPALS), run=RUN)
    for event in log.events:
        view.apply(event)
    return may_act(view, contract, Call(tool=tool, args=args, now=NOW, **more))


def invoice(name: str, status: str = "open", vendor: str = "V-1") -> dict[str, str]:
    return {"id": name, "status": status, "amount_due": "420.00", "vendor": vendor}


def approve(log: Log, args: Mapping[str, Any], *, name: str = "A1", decision: str = "approve", **more: Any) -> Approval:
    body = Approval(
        id=name,
        principal="fin",
        decision=decision,  # type: ignore[arg-type]  # one of the two
        tool="pay",
        args_sha256=args_digest(args),
        run=RUN,
        **more,
    )
    sealed = signed(body, "fin")
    log.add(sealed, "principal", "fin")
    assert isinstance(sealed, Approval)
    return sealed


# ---------------------------------------------------------------- entities


@pytest.mark.parametrize("kind", ["confirmed", "known"])
@pytest.mark.parametrize("args", [{}, {"invoice_id": 1.5}, {"invoice_id": {"id": "I-1"}}])
def test_an_entity_that_is_not_named_is_neither_confirmed_nor_known(kind: Any, args: dict[str, Any]) -> None:
    contract = desk(pay(requires=(Requirement(id="x", kind=kind, entity=INVOICE),)))
    assert ask(contract, Log(), "pay", args).verdict == "hold"


@pytest.mark.parametrize("kind", ["confirmed", "known"])
def test_every_item_of_a_batch_is_asked_about_also_one_that_is_no_id(kind: Any) -> None:
    contract = desk(pay_many(requires=(Requirement(id="x", kind=kind, entity=EACH),)))
    log = Log()
    log.done("c1", "get_invoice", {"invoice_id": "I-1"}, invoice("I-1"))
    log.add(Confirmation(entity_kind="invoice", entity_id="I-1"), "host")
    assert ask(contract, log, "pay_many", {"invoice_ids": ["I-1"]}).positive
    assert ask(contract, log, "pay_many", {"invoice_ids": ["I-1", "I-2"]}).verdict == "hold"
    assert ask(contract, log, "pay_many", {"invoice_ids": ["I-1", {"id": "I-2"}]}).verdict == "hold"
    assert ask(contract, log, "pay_many", {"invoice_ids": []}).verdict == "hold"
    assert ask(contract, log, "pay_many", {"invoice_ids": "I-1"}).verdict == "hold"


def test_a_fact_about_one_item_of_a_batch_never_serves_another() -> None:
    contract = desk(pay_many(requires=(OPEN,)))
    log = Log()
    log.done("c1", "get_invoice", {"invoice_id": "I-1"}, invoice("I-1"))
    log.done("c2", "get_invoice", {"invoice_id": "I-2"}, invoice("I-2", "paid"))
    assert ask(contract, log, "pay_many", {"invoice_ids": ["I-1"]}).positive
    decision = ask(contract, log, "pay_many", {"invoice_ids": ["I-1", "I-2"]})
    assert (decision.verdict, decision.codes) == ("refuse", ("evidence.violated",))
    assert ask(contract, log, "pay_many", {"invoice_ids": ["I-1", "I-20"]}).codes == ("evidence.other_entity",)


def test_a_condition_on_any_item_of_a_batch_removes_it() -> None:
    log = Log()
    log.add(Raised(id="C1", removes=["pay_many"], entity=["invoice", "I-2"]), "host")
    assert ask(desk(pay_many()), log, "pay_many", {"invoice_ids": ["I-1"]}).positive
    assert ask(desk(pay_many()), log, "pay_many", {"invoice_ids": ["I-1", "I-2"]}).codes == ("condition.open",)


def test_a_standing_condition_asks_about_both_entities_of_its_kind() -> None:
    other = EntityExpr(kind="invoice", id=path("args", "from_id"), alias="source")
    rule = ConditionRule(
        id="disputed", kind="invoice", when=equals("invoice.status", "disputed"), removes=("pay",), status="stop",
        prerequisite="a decision", authority="finance", fallback="",
    )  # fmt: skip
    contract = desk(pay(target=(INVOICE, other)), conditions=(rule,))
    log = Log()
    log.done("c1", "get_invoice", {"invoice_id": "I-1"}, invoice("I-1"))
    log.done("c2", "get_invoice", {"invoice_id": "I-2"}, invoice("I-2", "disputed"))
    assert ask(contract, log, "pay", {"invoice_id": "I-1", "from_id": "I-1"}).positive
    assert ask(contract, log, "pay", {"invoice_id": "I-1", "from_id": "I-2"}).codes == ("condition.open",)
    assert ask(contract, log, "pay", {"invoice_id": "I-1"}).codes == ("condition.unknown",)


def test_a_condition_on_an_entity_the_call_may_be_about_holds_until_that_is_known() -> None:
    contract = desk(pay(bind=(VENDOR,)))
    log = Log()
    log.add(Raised(id="C1", removes=["pay"], entity=["vendor", "V-2"]), "host")
    assert ask(contract, log, "pay", {"invoice_id": "I-1"}).codes == ("condition.unknown",)
    log.done("c1", "get_invoice", {"invoice_id": "I-1"}, invoice("I-1", vendor="V-1"))
    assert ask(contract, log, "pay", {"invoice_id": "I-1"}).positive


def test_an_entity_reached_through_a_void_fact_is_not_known() -> None:
    fine = Requirement(id="fine", kind="fact", expr=equals("vendor.blocked", False))
    vendor = Tool(
        name="get_vendor",
        effect="read",
        target=(EntityExpr(kind="vendor", id=path("args", "vendor_id"), alias="vendor"),),
        yields=(Yield(kind="vendor", at=(), fields={"blocked": ("blocked",)}, id=("id",)),),
    )
    contract = desk(pay(bind=(VENDOR,), requires=(fine,)), pay(name="assign"), vendor)
    log = Log()
    log.done("c1", "get_invoice", {"invoice_id": "I-1"}, invoice("I-1"))
    log.done("c2", "get_vendor", {"vendor_id": "V-1"}, {"id": "V-1", "blocked": False})
    assert ask(contract, log, "pay", {"invoice_id": "I-1"}).positive
    log.done("c3", "assign", {"invoice_id": "I-1", "vendor": "V-2"}, {"ok": True})
    assert ask(contract, log, "pay", {"invoice_id": "I-1"}).codes == ("evidence.missing",)


# ---------------------------------------------------------------- never twice


def test_a_batch_that_names_an_item_twice_is_refused() -> None:
    decision = ask(desk(pay_many()), Log(), "pay_many", {"invoice_ids": ["I-1", "I-1"]})
    assert (decision.verdict, decision.codes) == ("refuse", ("effect.duplicate",))


def test_the_wish_for_one_item_is_no_second_wish_for_another() -> None:
    rule = ObligationRule(id="paid", kind="event", by="pay", each="ids",
                          entity=EntityExpr(kind="invoice", id=path("item"), alias="invoice"))  # fmt: skip
    contract, task = desk(pay(), owes=(rule,)), Task(bindings={"ids": ("I-1", "I-2")})
    log = Log()
    log.done("c1", "pay", {"invoice_id": "I-1"}, {"ok": True})
    for wish in ("", "paid[I-1]", "paid[I-2]"):
        decision = ask(contract, log, "pay", {"invoice_id": "I-1"}, task=task, wish=wish)
        assert (decision.verdict, decision.recorded) == ("return_recorded", "r-c1")
    assert ask(contract, log, "pay", {"invoice_id": "I-2"}, task=task, wish="paid[I-2]").positive


def test_a_waived_obligation_asks_for_no_second_effect() -> None:
    rules = tuple(ObligationRule(id=n, kind="event", by="pay") for n in ("first", "second"))
    contract = desk(pay(), owes=rules)
    log = Log()
    log.done("c1", "pay", {"invoice_id": "I-1"}, {"ok": True})
    assert ask(contract, log, "pay", {"invoice_id": "I-1"}).positive  # the second instance is owed
    log.add(signed(Settled(id="second", how="waived", by="fin"), "fin"), "principal", "fin")
    assert ask(contract, log, "pay", {"invoice_id": "I-1"}).verdict == "return_recorded"


def test_an_exclusion_sees_through_the_spelling_of_an_id() -> None:
    per = {"pay": path("args", "invoice_id"), "refund": path("args", "invoice_id")}
    rule = Exclusion(id="one", tools=("pay", "refund"), per=per)
    contract = desk(pay(args={"invoice_id": ID}), pay(name="refund", args={"invoice_id": ID}), exclusive=(rule,))
    log = Log()
    log.done("c1", "refund", {"invoice_id": 7}, {"ok": True})
    assert ask(contract, log, "pay", {"invoice_id": "7"}).codes == ("exclusion.taken",)
    assert ask(contract, log, "pay", {"invoice_id": "8"}).positive


def test_an_exclusion_that_cannot_be_told_holds() -> None:
    rule = Exclusion(id="one", tools=("pay",), per={"pay": path("args", "line")})
    decision = ask(desk(pay(), exclusive=(rule,)), Log(), "pay", {"invoice_id": "I-1"})
    assert (decision.verdict, decision.codes) == ("hold", ("exclusion.unknown",))


def test_a_permitted_retry_is_not_stopped_by_the_attempt_it_repeats() -> None:
    rule = Exclusion(id="one", tools=("pay",), per={"pay": path("args", "invoice_id")})
    contract = desk(pay(dedupes_by_key=True), exclusive=(rule,))
    log = Log()
    log.intent("c1", "pay", {"invoice_id": "I-1"}, idempotency_key="k")
    log.receipt("c1", None, error="timeout")
    assert ask(contract, log, "pay", {"invoice_id": "I-1"}, idempotency_key="k").codes == ("effect.retry_same_key",)
    assert ask(contract, log, "pay", {"invoice_id": "I-1"}, idempotency_key="other").verdict == "reconcile"
    log.intent("c2", "pay", {"invoice_id": "I-1"}, idempotency_key="k")
    log.receipt("c2", {"ok": True})
    decision = ask(contract, log, "pay", {"invoice_id": "I-1"}, idempotency_key="k")
    assert (decision.verdict, decision.recorded) == ("return_recorded", "r-c2")  # one effect, and it is known


def test_a_key_carried_by_an_argument_is_bound_to_its_first_call() -> None:
    contract = desk(pay(idempotency_arg="key"))
    log = Log()
    log.done("c1", "pay", {"invoice_id": "I-1", "key": "k"}, {"ok": True})
    assert ask(contract, log, "pay", {"invoice_id": "I-2", "key": "k"}).codes == ("idempotency.conflict",)


def test_doubt_about_one_item_comes_before_what_is_known_of_the_rest() -> None:
    log = Log()
    log.intent("c1", "pay_many", {"invoice_ids": ["I-1"]})
    log.done("c2", "pay_many", {"invoice_ids": ["I-2"]}, None, error="timeout")
    decision = ask(desk(pay_many()), log, "pay_many", {"invoice_ids": ["I-1", "I-2"]})
    assert (decision.verdict, decision.in_doubt) == ("reconcile", "c2")


# ---------------------------------------------------------------- authority


def test_a_denial_of_this_call_outranks_an_approval_of_its_entity() -> None:
    contract, args = desk(pay()), {"invoice_id": "I-1"}
    log = Log()
    log.add(Raised(id="C1", removes=["pay"], authority="finance"), "host")
    approve(log, {}, for_condition="C1", entity=["invoice", "I-1"])
    assert ask(contract, log, "pay", args).positive
    approve(log, args, name="D1", decision="deny")
    assert ask(contract, log, "pay", args).codes == ("condition.open",)


def test_an_approval_seen_again_is_not_a_second_one() -> None:
    contract, args = desk(pay(needs_approval="finance", once_per=(const("x"),))), {"invoice_id": "I-1"}
    log = Log()
    given = approve(log, args)
    assert ask(contract, log, "pay", args).positive
    log.intent("c1", "pay", args, approvals=["A1"])
    log.receipt("c1", {"status": "rejected"}, role="runtime", outcome="not_started")
    log.add(given, "principal", "fin")
    assert ask(contract, log, "pay", args).codes == ("approval.consumed",)
    denied = Log()
    given = approve(denied, args)
    approve(denied, args, name="D1", decision="deny")
    denied.add(given, "principal", "fin")
    assert ask(contract, denied, "pay", args).codes == ("approval.denied",)


def test_an_agent_lifts_nothing_and_hides_nothing() -> None:
    contract = desk(pay())
    log = Log()
    log.add(Raised(id="C1", removes=["pay"], operation="close"), "host")
    log.add(OperationClosed(operation="close"), "agent")
    log.add(Lifted(id="C1", how="expired", by="me"), "agent")
    assert ask(contract, log, "pay", {"invoice_id": "I-1"}).codes == ("condition.open",)
    drifted = Log()
    drifted.add(SchemaChanged(tool="pay", sha256="0", effect="read"), "runtime")
    drifted.add(SchemaChanged(tool="pay", sha256="1"), "agent")
    assert ask(contract, drifted, "pay", {"invoice_id": "I-1"}).codes == ("schema.effect_changed",)


def test_a_condition_raised_twice_is_lifted_once() -> None:
    log = Log()
    for _ in range(2):
        log.add(Raised(id="C1", removes=["pay"], authority="finance"), "host")
    log.add(signed(Lifted(id="C1", how="resolved", by="max"), "max"), "principal", "max")
    assert ask(desk(pay()), log, "pay", {"invoice_id": "I-1"}).verdict == "refuse"
    log.add(signed(Lifted(id="C1", how="resolved", by="fin"), "fin"), "principal", "fin")
    assert ask(desk(pay()), log, "pay", {"invoice_id": "I-1"}).positive


def test_a_choice_guessed_from_text_has_no_force_in_a_live_run() -> None:
    contract = desk(pay(requires=(Requirement(id="x", kind="confirmed", entity=INVOICE),)))
    log = Log()
    log.add(Confirmation(entity_kind="invoice", entity_id="I-1", guessed=True), "host")
    assert ask(contract, log, "pay", {"invoice_id": "I-1"}).codes == ("confirmation.missing",)


@pytest.mark.parametrize("change", [{"needs_approval": ""}, {}])
def test_a_read_the_contract_guards_is_guarded(change: dict[str, Any]) -> None:
    rule = ConditionRule(id="closed", kind=None, when=None, removes=("export",), status="do not export",
                         prerequisite="a decision", authority="finance", fallback="")  # fmt: skip
    contract = desk(Tool(name="export", effect="read", **change), conditions=() if change else (rule,))
    assert not ask(contract, Log(), "export", {}).positive


# ---------------------------------------------------------------- age


def test_a_preview_is_void_after_a_later_write() -> None:
    seen = Requirement(id="seen", kind="previewed", args_equal=("invoice_id",))
    contract = desk(pay(effect_cases=((equals("args.dry", True), "preview"),), requires=(seen,)), pay(name="note"))
    log = Log()
    log.done("c1", "pay", {"invoice_id": "I-1", "dry": True}, {"ok": True})
    assert ask(contract, log, "pay", {"invoice_id": "I-1"}).positive
    log.done("c2", "note", {"invoice_id": "I-1"}, {"ok": True})
    assert ask(contract, log, "pay", {"invoice_id": "I-1"}).codes == ("preview.missing",)


@pytest.mark.parametrize("kind", ["known", "argument", "previewed", "read", "fact", "confirmed"])
def test_every_kind_of_evidence_can_be_too_old(kind: Any) -> None:
    needed = Requirement(
        id="x", kind=kind, fresh=60, entity=INVOICE, arg="status", tool="get_invoice", pointer=("status",),
        args_equal=("invoice_id",), expr=equals("invoice.status", "open") if kind == "fact" else None,
    )  # fmt: skip
    contract = desk(pay(effect_cases=((equals("args.dry", True), "preview"),), requires=(needed,)))
    args = {"invoice_id": "I-1", "status": "open"}
    log = Log()
    for second, fine in ((3590, True), (3000, False)):
        log = Log()
        log.second = second
        log.done("c1", "get_invoice", {"invoice_id": "I-1"}, invoice("I-1"))
        log.done("c2", "pay", {**args, "dry": True}, {"ok": True})
        log.add(Confirmation(entity_kind="invoice", entity_id="I-1"), "host")
        assert ask(contract, log, "pay", args).positive is fine


def test_what_was_read_while_a_write_was_under_way_is_void() -> None:
    contract = desk(pay(), pay(name="refund", requires=(OPEN,)))
    log = Log()
    log.intent("c1", "pay", {"invoice_id": "I-1"})
    log.done("c2", "get_invoice", {"invoice_id": "I-1"}, invoice("I-1"))
    assert ask(contract, log, "refund", {"invoice_id": "I-1"}).codes == ("evidence.stale",)
    log.receipt("c1", {"ok": True})
    assert ask(contract, log, "refund", {"invoice_id": "I-1"}).codes == ("evidence.stale",)
    log.done("c3", "get_invoice", {"invoice_id": "I-1"}, invoice("I-1"))
    assert ask(contract, log, "refund", {"invoice_id": "I-1"}).positive


def test_one_amount_is_one_effect_however_it_is_written() -> None:
    contract = desk(pay(args={"amount": EUR}))
    log = Log()
    log.done("c1", "pay", {"invoice_id": "I-1", "amount": 420}, {"ok": True})
    for amount in (420, "420.00", "420"):
        assert ask(contract, log, "pay", {"invoice_id": "I-1", "amount": amount}).verdict == "return_recorded"
    assert ask(contract, log, "pay", {"invoice_id": "I-1", "amount": "420.01"}).positive
