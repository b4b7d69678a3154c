"""Theorems about mining, over random mixtures of trajectories that keep or break the planted rules."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick import contracts
from tallystick.audit import audit_trace
from tallystick.drafting import mine
from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.trace import Trace
from tests.drafting.shop import Run, good, looked, refunded, replaced

SKIPS = ("order", "policy", "preview", "amount", "delivered")


@st.composite
def mixtures(draw: st.DrawFn) -> list[Trace]:
    """Some trajectories of each kind; a few refunds leave something out."""
    traces: list[Trace] = []
    for n in range(draw(st.integers(1, 14))):
        kind = draw(st.sampled_from(("refund", "refund", "refund", "replace", "look")))
        if kind == "refund":
            traces.append(refunded(n, *draw(st.lists(st.sampled_from(SKIPS), max_size=1))))
        else:
            traces.append(replaced(n) if kind == "replace" else looked(n))
    return traces


@settings(max_examples=30)
@given(mixtures(), st.integers(1, 6))
def test_a_mined_contract_admits_every_effect_of_the_trajectories_it_was_mined_from(
    traces: list[Trace], least: int
) -> None:
    """Whatever is in force, no good trajectory contradicts it, by the act gate's own word."""
    mined = mine(traces, name="shop", min_support=least)
    assert mined.report["effects_admitted"]["counter_examples"] == {"trajectories": 0, "calls": 0}
    for trace in traces:
        stopped = [f for f in audit_trace(trace, contract=mined.contract).findings if f.code.startswith("act.")]
        assert stopped == []


@settings(max_examples=20)
@given(mixtures(), st.randoms(use_true_random=False))
def test_mining_depends_on_the_trajectories_alone(traces: list[Trace], random: object) -> None:
    """Neither their order nor giving one twice changes a byte of contract or report."""
    once = mine(traces, name="shop")
    again = [*traces, traces[0]]
    random.shuffle(again)  # type: ignore[attr-defined]
    other = mine(again, name="shop")
    assert other.text == once.text
    assert jsontext.dumps(other.report) == jsontext.dumps(once.report)


@settings(max_examples=20)
@given(mixtures())
def test_what_is_mined_is_a_contract_that_says_what_the_report_says(traces: list[Trace]) -> None:
    """The text is accepted as it is, and its requirements are exactly the rules the report calls in force."""
    mined = mine(traces, name="shop")
    contract = contracts.parse(mined.text)
    said = {(t.name, r.id) for t in contract.tools.values() for r in t.requires}
    live = {(r["tool"], r["id"]) for r in mined.report["rules"] if r["in_force"]}
    assert said == live
    for rule in mined.report["rules"]:
        assert not rule["in_force"] or rule["counter_examples"]["calls"] == 0


@settings(max_examples=15)
@given(mixtures(), st.sampled_from(SKIPS))
def test_one_more_counter_example_never_makes_a_rule(traces: list[Trace], skip: str) -> None:
    """Adding a good trajectory that breaks rules can only take rules with cases against it out of force."""
    before = mine(traces, name="shop", min_support=1)
    after = mine([*traces, refunded(99, skip)], name="shop", min_support=1)
    against = {(r["tool"], json.dumps(r["requirement"], sort_keys=True)) for r in after.report["rules"]
               if r["counter_examples"]["calls"]}  # fmt: skip
    live = {(r["tool"], json.dumps(r["requirement"], sort_keys=True)) for r in after.report["rules"] if r["in_force"]}
    assert not live & against
    assert before.report["chosen_from"] + 1 == after.report["chosen_from"]


def test_the_same_call_made_good_again_is_a_counter_example_to_doing_it_once() -> None:
    """Where a good trajectory repeats an effect, the contract says that it cannot tell, and the count is against it."""
    run = Run(n=1)
    run.say("user", "Send it twice.")
    for _ in range(2):
        run.do(("send_note", {"note_id": "N-1"}, {"status": "sent", "note_id": "N-1"}))
    mined = mine([run.trace()], name="notes")
    assert mined.report["tools"]["send_note"]["once_per"]["counter_examples"]["calls"] == 1
    assert "the very same call took effect twice" in mined.text


def test_an_effect_made_again_after_another_tool_is_undone_by_that_tool() -> None:
    """Lock, unlock, lock: the unlocking is what makes the second locking new, and the contract admits all three."""
    run = Run(n=1)
    run.say("user", "Lock D-1, then open it, then lock it again.")
    for tool in ("lock_door", "unlock_door", "lock_door"):
        run.do((tool, {"door_id": "D-1"}, {"status": f"{tool} done", "door_id": "D-1"}))
    mined = mine([run.trace()], name="doors")
    assert mined.contract.tools["lock_door"].undone_by == ("unlock_door",)
    assert mined.report["effects_admitted"]["counter_examples"]["calls"] == 0


def test_a_rejection_counts_as_harmless_only_where_nothing_speaks_against_it() -> None:
    """A read before and after that differ show that a `rejected` was none; then no predicate is written."""

    def attempt(n: int, after: str) -> Trace:
        run = Run(n=n)
        run.say("user", "Cancel it.")
        run.do(("get_booking", {"booking_id": f"B-{n}"}, {"booking_id": f"B-{n}", "status": "confirmed"}))
        run.do(("cancel_booking", {"booking_id": f"B-{n}"}, {"status": "rejected", "reason": "too late"}))
        run.do(("get_booking", {"booking_id": f"B-{n}"}, {"booking_id": f"B-{n}", "status": after}))
        return run.trace()

    honest = mine([attempt(n, "confirmed") for n in range(3)], name="trips").contract.tools["cancel_booking"]
    assert honest.no_effect is not None
    assert honest.no_effect.source == 'result.status == "rejected"'
    lying = mine([*(attempt(n, "confirmed") for n in range(3)), attempt(4, "cancelled")], name="trips")
    assert lying.contract.tools["cancel_booking"].no_effect is None
    assert "reads show a change around t004 m2.c0" in lying.text


def test_an_answer_that_is_not_final_by_its_own_word_is_pending() -> None:
    """A queued job is under way, not done and not in doubt."""
    runs = []
    for n in range(3):
        run = Run(n=n)
        run.say("user", "Start it.")
        run.do(("start_export", {"export_id": f"E-{n}"}, {"status": "queued", "export_id": f"E-{n}"}))
        runs.append(run.trace())
    made = mine(runs, name="jobs").contract.tools["start_export"]
    assert made.pending is not None
    assert made.pending.source == 'result.status == "queued"'
    assert made.ok is None


def test_nothing_to_learn_from_is_an_input_error() -> None:
    """No call, or a support of nothing, is one clear error."""
    run = Run(n=1)
    run.say("user", "Hello.")
    with pytest.raises(InputError, match="hold no call"):
        mine([run.trace()], name="x")
    with pytest.raises(InputError, match="can teach nothing"):
        mine(good(), name="x", min_support=0)
