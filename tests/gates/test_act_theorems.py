"""What the act gate promises, as theorems over random worlds (ADR 0001)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tallystick.contracts.types import Contract, Requirement, Tool
from tallystick.errors import ExpressionError, InputError
from tallystick.gates.act import may_act
from tallystick.model import jsontext
from tallystick.model.decision import Decision
from tallystick.model.events import (
    Actor,
    Approval,
    Confirmation,
    DoubtSettled,
    Intent,
    Obliged,
    Raised,
    Receipt,
    Reported,
    Said,
    Sealed,
    Wish,
)
from tallystick.view import View
from tests.gates import naive_view as past
from tests.gates.test_act_twin import plain
from tests.gates.worlds import World, world
from tests.gates.worlds_kit import INVOICES, RUN, VENDORS, Fn, instant_text, text_blob

seeds = st.integers(0, 2**40)
few = settings(max_examples=150, derandomize=True)
many = settings(max_examples=400, derandomize=True)


def decide(case: World, events: Sequence[Sealed] | None = None) -> Decision:
    return may_act(case.view(events), case.contract, case.call)


def admits(decision: Decision) -> bool:
    """Whether a call may run that might do something new.

    A retry under the same key of what is in doubt does not: the tool promises one effect. So losing the receipt of a
    write, or a framework giving up on it, may turn "under way" into "try again", and no harm is done.
    """
    return decision.positive and "effect.retry_same_key" not in decision.codes


def renumbered(events: Sequence[Sealed]) -> list[Sealed]:
    """The same events with seq numbers and digests in order, as if this had been the record."""
    return [
        msgspec.structs.replace(
            s, event=msgspec.structs.replace(s.event, seq=n), digest=f"event {n}"
        )
        for n, s in enumerate(events, 1)
    ]  # fmt: skip


def changed(sealed: Sealed, *, body: Any = None, role: str | None = None) -> Sealed:
    event = sealed.event
    if body is not None:
        event = msgspec.structs.replace(event, body=body)
    if role is not None:
        event = msgspec.structs.replace(event, actor=Actor(role=role, id="it"))  # type: ignore[arg-type]  # a role
    return msgspec.structs.replace(sealed, event=event)


# ---------------------------------------------------------------- losing evidence


def without_fact(case: World, kind: str, name: str, field: str) -> list[Sealed]:
    """The record in which no receipt states `field` of this entity: it was never seen, or it is lost."""
    kept = []
    for whole in case.events:
        sealed, body = whole, whole.event.body
        if isinstance(body, Receipt) and body.result is not None:
            intent = next((s.event.body for s in case.events if _is_call(s, body.call)), None)
            tool = case.contract.tools.get(intent.tool) if intent is not None else None
            value = _loads(body.result.text)
            if tool is not None and value is not None:
                for rule in tool.yields:
                    for item in past.dig_each(value, rule.at):
                        stated = past.args_of(intent).get(rule.id_arg) if rule.id_arg else past.dig(item, rule.id or ())
                        if rule.kind == kind and stated == name and isinstance(item, dict):
                            item.pop(field, None)
                sealed = changed(sealed, body=msgspec.structs.replace(body, result=text_blob(jsontext.dumps(value))))
        kept.append(sealed)
    return kept


def _is_call(sealed: Sealed, call: str | None) -> bool:
    return isinstance(sealed.event.body, Intent) and sealed.event.body.call == call


def _loads(text: str | None) -> Any:
    try:
        return jsontext.loads(text or "")
    except InputError:
        return None


def losses(case: World) -> Iterator[tuple[str, list[Sealed]]]:
    """Ways to lose positive evidence wholly: every event that says the same is gone."""
    for invoice in INVOICES:
        for field in ("status", "amount_due", "vendor"):
            yield f"{field} of {invoice}", without_fact(case, "invoice", invoice, field)
        yield f"confirmations of {invoice}", [
            s for s in case.events
            if not (isinstance(s.event.body, Confirmation) and s.event.body.entity_id == invoice)
        ]  # fmt: skip
    for vendor in VENDORS:
        yield f"blocked of {vendor}", without_fact(case, "vendor", vendor, "blocked")
    yield (
        "approvals",
        [s for s in case.events if not (isinstance(s.event.body, Approval) and s.event.body.decision == "approve")],
    )
    silent = [name for name, tool in case.contract.tools.items() if not tool.yields]
    for lost in (*([name] for name in silent), list(case.contract.tools)):
        calls = {b.call for b in bodies(case, Intent) if b.tool in lost}
        # A settlement speaks about the doubt a receipt left, so it goes with it.
        yield f"receipts of {lost}", [
            s for s in case.events
            if not (isinstance(s.event.body, (Receipt, DoubtSettled)) and s.event.body.call in calls)
        ]  # fmt: skip


def bodies(case: World, kind: type) -> list[Any]:
    return [s.event.body for s in case.events if isinstance(s.event.body, kind)]


@many
@given(seeds)
def test_losing_evidence_never_turns_refuse_into_admit(seed: int) -> None:
    """All that states a fact, a choice, a grant or a tool's answer is lost: what was not admitted still is not."""
    case = world(seed)
    if decide(case).positive:
        return
    for what, events in losses(case):
        assert not admits(decide(case, events)), f"losing {what}"


def test_losing_evidence_does_turn_admit_into_something_else() -> None:
    """The theorem above is not empty: what an admission rests on matters."""
    turned = 0
    for seed in range(400):
        case = world(seed)
        if decide(case).positive:
            turned += any(not decide(case, events).positive for _, events in losses(case))
    assert turned > 10


# ---------------------------------------------------------------- words, replicas


@many
@given(seeds, seeds)
def test_what_an_agent_says_or_writes_never_changes_a_verdict(seed: int, other: int) -> None:
    """Neither its messages nor any event made in its name: approvals, receipts, confirmations, intents, an end."""
    case = world(seed)
    before = plain(decide(case))
    mute = [
        s for s in case.events
        if s.event.actor.role != "agent" and not isinstance(s.event.body, (Said, Reported))
    ]  # fmt: skip
    assert plain(decide(case, renumbered(mute))) == before
    rng = random.Random(other)
    for extra in (*case.events, *world(other).events):
        at = rng.randrange(1, len(case.events) + 1) if case.events else 0
        forged = [*case.events[:at], changed(extra, role="agent"), *case.events[at:]]
        assert plain(decide(case, renumbered(forged))) == before


@many
@given(seeds, seeds)
def test_replica_and_framework_made_receipts_never_help(seed: int, other: int) -> None:
    case = world(seed)
    calls = [s for s in case.events if isinstance(s.event.body, Intent)]
    answers = [s.event.body for w in (case, world(other)) for s in w.events if isinstance(s.event.body, Receipt)]
    if not calls or decide(case).positive:
        return
    rng = random.Random(other)
    for body in answers:
        call = rng.choice(calls)
        at = rng.randint(call.event.seq, len(case.events))
        for marks in ({"source": "replica"}, {"synthetic": True}):
            fake = msgspec.structs.replace(body, id="fake", call=call.event.body.call, cached_from=None, **marks)
            events = [*case.events[:at], changed(call, body=fake, role="executor"), *case.events[at:]]
            assert not admits(decide(case, renumbered(events))), marks


# ---------------------------------------------------------------- order


def about(case: World, sealed: Sealed) -> tuple[set[Any], str] | None:
    """What an event is about (entities, and a tag no two independent events share); None where that is not plain."""
    body = sealed.event.body
    if isinstance(body, (Said, Reported)):
        return set(), f"words {sealed.event.seq}"
    if isinstance(body, Confirmation):
        return {(body.entity_kind, body.entity_id)}, "confirmation"
    if isinstance(body, Approval):
        return set(), f"approval {body.id} {body.tool}"
    if isinstance(body, Raised):
        return set(), f"condition {body.id}"
    call = body.call if isinstance(body, (Intent, Receipt)) else None
    intent = next((s.event.body for s in case.events if _is_call(s, call)), None)
    if call is None or not isinstance(intent, Intent) or (isinstance(body, Receipt) and body.cached_from is not None):
        return None
    args = past.args_of(intent)
    if intent.tool in ("list_invoices", "get_policy"):
        return None
    names = {(k, v) for k, v in (("invoice", args.get("invoice_id")), ("vendor", args.get("vendor_id"))) if v}
    names |= {("invoice", str(i)) for i in args.get("invoice_ids", ())}
    if isinstance(body, Receipt) and body.result is not None:
        names |= {("invoice", i) for i in INVOICES if f'"{i}"' in (body.result.text or "")}
    return names, f"call {call}"


def independent(case: World, left: Sealed, right: Sealed) -> bool:
    """Different entities, different calls, and neither draws on the other."""
    a, b = about(case, left), about(case, right)
    if a is None or b is None or a[0] & b[0]:
        return False
    kinds = {a[1].split()[0], b[1].split()[0]}
    if kinds <= {"call"}:
        names = [s.event.body.call for s in (left, right) if isinstance(s.event.body, (Intent, Receipt))]
        tools = [next(s.event.body.tool for s in case.events if _is_call(s, n)) for n in names]  # type: ignore[union-attr]
        return tools[0] != tools[1] and not any(getattr(s.event.body, "approvals", ()) for s in (left, right))
    if "approval" in kinds and "call" in kinds:
        return not any(getattr(s.event.body, "approvals", ()) for s in (left, right))
    if kinds == {"approval"}:
        return a[1].split()[1] != b[1].split()[1] and a[1].split()[2] != b[1].split()[2]
    return a[1] != b[1]


@many
@given(seeds)
def test_the_order_of_independent_events_does_not_matter(seed: int) -> None:
    case = world(seed)
    before = plain(decide(case))
    events = list(case.events)
    for i in range(1, len(events) - 1):
        if independent(case, events[i], events[i + 1]):
            swapped = [*events[:i], events[i + 1], events[i], *events[i + 2 :]]
            assert plain(decide(case, renumbered(swapped))) == before, f"events {i + 1} and {i + 2} swapped"


def test_random_worlds_have_independent_events() -> None:
    pairs = sum(
        independent(w, a, b) for w in map(world, range(200)) for a, b in zip(w.events, w.events[1:], strict=False)
    )
    assert pairs > 100


# ---------------------------------------------------------------- reasons


def lifted(case: World, names: set[str]) -> World:
    """The world without the demands of these names: requirements, conditions, exclusions, the needed approval."""

    def keeps(rule: Requirement) -> bool:
        return not ({rule.id, *(o.id for o in rule.options)} & names)

    tool = case.contract.tools[case.call.tool]
    tool = replace(
        tool,
        requires=tuple(r for r in tool.requires if keeps(r)),
        needs_approval=None if "approval" in names else tool.needs_approval,
    )
    contract = replace(
        case.contract,
        tools={**case.contract.tools, tool.name: tool},
        conditions=tuple(c for c in case.contract.conditions if c.id not in names),
        exclusive=tuple(e for e in case.contract.exclusive if e.id not in names),
    )
    events = [s for s in case.events if not (isinstance(s.event.body, Raised) and s.event.body.id in names)]
    return replace(case, contract=contract, events=tuple(renumbered(events)))


WEIGHED = ("evidence.", "confirmation.", "argument.", "preview.", "condition.", "exclusion.", "approval.")


@many
@given(seeds)
@example(3)
def test_reasons_are_sufficient_and_minimal(seed: int) -> None:
    """Each reason alone keeps the call from being admitted, and with all of them gone nothing unsaid remains."""
    case = world(seed)
    decision = decide(case)
    if decision.positive or not all(r.code.startswith(WEIGHED) for r in decision.reasons):
        return
    names = {r.where for r in decision.reasons}
    for name in names:
        rest = lifted(case, names - {name} - _with(case, name))
        alone = decide(rest)
        assert alone.verdict is decision.verdict, f"only `{name}` is left"
        assert {r.where for r in alone.reasons} <= {name} | _with(case, name)
    gone = decide(lifted(case, names))
    assert gone.positive or (decision.verdict == "refuse" and gone.verdict == "hold")


def _with(case: World, name: str) -> set[str]:
    """The names that stand and fall together: the options of one requirement."""
    tool = case.contract.tools[case.call.tool]
    together = [{r.id, *(o.id for o in r.options)} for r in tool.requires]
    found: set[str] = {name}
    for _ in together:
        for group in together:
            if group & found:
                found |= group
    return found


@few
@given(seeds)
def test_every_refusal_says_why_and_what_would_reverse_it(seed: int) -> None:
    decision = decide(world(seed))
    assert decision.positive or decision.reasons
    for reason in decision.reasons if not decision.positive else ():
        assert reason.message
        assert reason.reverses
    assert (decision.recorded is not None) <= (decision.verdict == "return_recorded")
    assert (decision.in_doubt is not None) == (decision.verdict == "reconcile")


# ---------------------------------------------------------------- purity


@few
@given(seeds)
def test_a_decision_is_a_pure_function(seed: int) -> None:
    """Same inputs, same answer, and nothing it looked at has changed."""
    case = world(seed)
    view = case.view()
    before = repr(vars(view))
    first = may_act(view, case.contract, case.call)
    assert may_act(view, case.contract, case.call) == first == decide(case)
    assert repr(vars(view)) == before
    assert first.judged_upto == len(case.events)


@few
@given(seeds)
def test_a_view_folded_as_events_come_decides_like_one_folded_from_scratch(seed: int) -> None:
    case = world(seed)
    view = View(case.contract, case.task, run=RUN)
    for n, event in enumerate(case.events, 1):
        view.apply(event)
        assert may_act(view, case.contract, case.call) == decide(case, case.events[:n])


# ---------------------------------------------------------------- never twice


@many
@given(seeds)
def test_an_admitted_write_that_took_effect_is_not_admitted_again_without_a_new_wish(seed: int) -> None:
    case = world(seed)
    case = replace(
        case,
        contract=replace(case.contract, owes=()),
        events=tuple(renumbered([s for s in case.events if not isinstance(s.event.body, (Wish, Obliged))])),
    )
    tool = case.contract.tools.get(case.call.tool)
    args = case.call.args
    if not case.events or tool is None or past.effect_class(tool, args) != "write" or not decide(case).positive:
        return
    items = past.items_of(tool, args)
    body: dict[str, Any] = {"status": "paid", "invoice": {"id": args.get("invoice_id"), "status": "paid"}}
    if items is not None:
        body = {"results": [{"id": i, "ok": True} for i in items]}
    model = case.events[0].event
    seq = len(case.events)
    intent = Intent(
        call="again",
        tool=tool.name,
        args=text_blob(jsontext.dumps(dict(args))),
        wish=case.call.wish,
        idempotency_key=case.call.idempotency_key,
        now=instant_text(5_000),
    )
    receipt = Receipt(id="done", call="again", result=text_blob(jsontext.dumps(body)), flag="ok")
    added = [
        Sealed(
            event=msgspec.structs.replace(model, seq=seq + n, body=b, actor=Actor(role=role, id="it")),
            raw=b"",
            digest=f"event {seq + n}",
        )
        for n, (b, role) in enumerate(((intent, "runtime"), (receipt, "executor")), 1)
    ]
    view = case.view([*case.events, *added])
    status = {e.status for e in view.effects_of_call("again")}
    if status != {"done"}:
        return  # the tool's own predicates say that this answer is no success
    decision = may_act(view, case.contract, case.call)
    assert not decision.positive
    if decision.verdict == "return_recorded":
        assert decision.recorded == "done"


# ---------------------------------------------------------------- failing expressions

FAULTS = (RuntimeError("boom"), ZeroDivisionError(), RecursionError(), ValueError("secret"))


def failing(fault: Exception) -> Fn:
    def fail(_env: Any) -> Any:
        raise fault

    return Fn("fails", (), fail)


def _planted(case: World, place: str, expr: Fn) -> Contract:
    tool = case.contract.tools["pay"]
    plants: dict[str, Tool] = {
        "fact": replace(tool, requires=(Requirement(id="x", kind="fact", expr=expr),)),
        "when": replace(tool, requires=(Requirement(id="x", kind="approval", role="", when=expr),)),
        "once_per": replace(tool, once_per=(expr,)),
        "effect": replace(tool, effect_cases=((expr, "preview"),)),
        "target": replace(tool, target=(replace(tool.target[0], id=expr),)),
        "bind": replace(tool, bind=(replace(tool.target[0], id=expr, alias="other"),)),
    }
    return replace(case.contract, tools={**case.contract.tools, "pay": plants[place]})


@pytest.mark.parametrize("place", ["fact", "when", "once_per", "effect", "target", "bind"])
def test_an_exception_inside_the_gate_is_a_refusal(place: str) -> None:
    hit = 0
    for seed in range(120):
        for fault in FAULTS:
            case = world(seed)
            if case.call.tool != "pay":
                continue
            view = case.view()  # folded under the sound contract: what fails here is the gate
            contract = _planted(case, place, failing(fault))
            decision = may_act(view, contract, case.call)
            assert not decision.positive
            if decision.codes == ("gate.error",):
                hit += 1
                assert decision.verdict == "refuse"
                assert "secret" not in decision.text()
    assert hit > 50


@pytest.mark.parametrize("place", ["fact", "when", "target"])
def test_an_expression_that_cannot_be_evaluated_never_admits(place: str) -> None:
    for seed in range(300):
        case = world(seed)
        if case.call.tool != "pay" or case.contract.tools["pay"].effect_cases:
            continue
        expr = failing(ExpressionError("missing"))
        contract = _planted(case, place, expr)
        if place == "target":
            known = Requirement(id="x", kind="known", entity=contract.tools["pay"].target[0])
            pay = replace(contract.tools["pay"], requires=(known,))
            contract = replace(contract, tools={**contract.tools, "pay": pay})
        if place == "when":  # it may apply, so it does; take away what would meet it
            case = replace(case, events=tuple(s for s in case.events if not isinstance(s.event.body, Approval)))
        assert not may_act(case.view(), contract, case.call).positive
