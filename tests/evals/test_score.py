"""The evaluator, statement by statement, on one case of each kind."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tallystick.evals.evidence.case import Case, Change, same_value
from tallystick.evals.evidence.episode import Call, Episode
from tallystick.evals.evidence.paths import actions, end, reads
from tallystick.evals.evidence.room import Room
from tallystick.evals.evidence.score import Observed, Score, score
from tallystick.evals.evidence.scripted import follow


def played(case: Case, steps: list[Any]) -> Score:
    room = Room(case, "scripted:path", seed=b"score")
    follow(steps, room)
    return score(case, room.episode())


@pytest.fixture
def refund(cases: tuple[Case, ...]) -> Case:
    return next(c for c in cases if c.protocol == "V1" and c.private.actions[0].tool == "issue_refund")


def test_evidence_goes_from_missing_over_other_entity_to_established_and_stale(refund: Case) -> None:
    """One requirement through its four standings."""
    need = next(e for e in refund.private.evidence if e.id == "order.status")
    kind = refund.private.readers["get_order"].id
    observed = Observed(refund.private)
    assert observed.status(need) == "missing"
    other = {kind: "OR-0000", "status": need.value}
    observed.take(0, Call(tool="get_order", args={kind: "OR-0000"}, result=other))
    assert observed.status(need) == "other_entity"
    assert not observed.resolved(need)
    right = {kind: need.entity, "status": need.value}
    observed.take(1, Call(tool="get_order", args={kind: need.entity}, result=right))
    assert observed.status(need) == "established"
    change = Change(kind="order", entity=need.entity, field="status", value="refunded")
    observed.take(2, Call(tool="issue_refund", args={}, result={"status": "done"}, changes=(change,)))
    assert observed.status(need) == "stale"
    assert observed.resolved(need)


def test_a_result_that_is_an_error_establishes_nothing(refund: Case) -> None:
    """Neither an error nor somebody else's answer under the right arguments counts."""
    need = next(e for e in refund.private.evidence if e.id == "order.status")
    observed = Observed(refund.private)
    for result in ({"error": "no"}, {"order_id": "OR-0000", "status": need.value}, None, "delivered", []):
        observed.take(0, Call(tool="get_order", args={"order_id": need.entity}, result=result))
    assert observed.status(need) != "established"


def test_a_call_the_gate_stopped_is_no_action(refund: Case) -> None:
    """What did not reach the environment is counted as refused and judged as nothing else."""
    spec = refund.private.actions[0]
    stopped = Call(tool=spec.tool, args=spec.args, result={"guard": "hold"}, ran=False, codes=("evidence.missing",))
    told = score(refund, Episode(case=refund.id, agent="x", calls=(stopped,), label="DONE", end="submitted"))
    assert told.refused == 1
    assert told.acted_early is False
    assert told.no_action is True
    assert told.exact is False


def test_diagnostics_overlap(refund: Case) -> None:
    """One episode can act early, at the wrong target, and stop early: three diagnostics, one failure."""
    spec = refund.private.actions[0]
    arg = "order_id"
    other = refund.private.lookalikes[spec.args[arg]][0]
    wrong = msgspec.structs.replace(actions(refund)[0], args={**spec.args, arg: other})
    told = played(refund, [*reads(refund)[:1], wrong, end("DONE")])
    assert told.acted_early
    assert told.stopped_early
    assert told.wrong_target
    assert told.first_early
    assert not told.exact


def test_success_is_not_the_endpoint(refund: Case) -> None:
    """The same right action with the same right result fails where the evidence came after it."""
    looks, acts = reads(refund), actions(refund)
    right = played(refund, [*looks, *acts, end("DONE")])
    late = played(refund, [*acts, *looks, end("DONE")])
    assert right.exact
    assert not late.exact
    assert late.actions[0].result_ok
    assert set(late.reasons) == {"evidence.missing"}


def test_a_case_without_action_needs_the_whole_investigation(cases: tuple[Case, ...]) -> None:
    """Restraint alone is no success in V0, and neither is the right label alone."""
    case = next(c for c in cases if c.protocol == "V0" and c.private.label == "BLOCK")
    label = end(case.private.label)
    assert played(case, [*reads(case), label]).exact
    idle = played(case, [label])
    assert not idle.exact
    assert idle.stopped_early
    assert not idle.acted


def test_a_missing_record_is_resolved_by_asking_for_it(cases: tuple[Case, ...]) -> None:
    """Where a record is withheld, meeting its absence at an acceptable source is what can be had."""
    case = next(c for c in cases if c.protocol == "V0" and c.private.label == "DEFER")
    gone = next(e for e in case.private.evidence if not e.obtainable)
    asked = [s for s in reads(case) if any(s.tool == x.tool and s.args == x.args for x in gone.sources)]
    assert asked
    rest = [s for s in reads(case) if s not in asked]
    assert played(case, [*rest, *asked, end("DEFER")]).exact
    assert "evidence.unresolved" in played(case, [*rest, end("DEFER")]).reasons


def test_readiness_is_the_read_after_which_everything_was_there(refund: Case) -> None:
    """Counted in reads; never where it never was."""
    looks = reads(refund)
    assert played(refund, [*looks, *actions(refund), end("DONE")]).ready_after == len(looks)
    assert played(refund, [*looks[:-1], end("DONE")]).ready_after is None


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("12.50", "12.5", True), ("12.50", "12.51", False), ("12.00", 12, True), ("12", 12, False), ("007", "7", False),
        (7, 7, True), (True, 1, False), ("1e2", "100.0", False), (None, None, True), ("a", "a", True),
        ("12.50", None, False),
    ],
)  # fmt: skip
def test_values_are_compared_by_what_they_state(left: Any, right: Any, same: bool) -> None:
    """Amounts by value, ids by their digits, booleans by themselves."""
    assert same_value(left, right) is same
    assert same_value(right, left) is same
