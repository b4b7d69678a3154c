"""Conditions of the contract travel like blockers raised in the run, bound to the contract."""

from __future__ import annotations

from tallystick.handoff import transfer
from tallystick.runtime.blocking import blockers_of
from tests.gates.claim_worlds import NOW, folded, sealed
from tests.gates.test_stop import CONTRACT, TASK, get, refused


def test_a_condition_of_the_contract_over_what_is_owed_travels_along() -> None:
    view = folded(sealed(get(1, due="5000.00")), CONTRACT, TASK)
    sent = transfer(view, CONTRACT, {"title": "pay the bill"}, now=NOW)
    assert sent.repaired
    (big,) = sent.carrier.blockers
    assert (big.id, big.standing, big.event, big.authority) == ("big", True, CONTRACT.sha256, "finance")
    assert big.entity == ["bill", "B"]
    assert transfer(view, CONTRACT, sent.artifact, now=NOW).state == "complete"
    softened = {**sent.artifact}
    member = {**softened["tallystick"]}
    member["carrier"] = {**member["carrier"], "blockers": [{**member["carrier"]["blockers"][0], "status": "look"}]}
    softened["tallystick"] = member
    found = transfer(view, CONTRACT, softened, now=NOW, repair=False)
    assert (found.verdict, found.state) == ("reject", "edited")
    (listed,) = blockers_of(view, CONTRACT)
    assert (listed.blocker.id, listed.standing, listed.raised_by) == ("big", "open", "contract")


def test_a_condition_of_the_contract_that_refused_a_call_travels_along() -> None:
    bodies = get(1, due="5000.00")
    view = folded(sealed(bodies), CONTRACT, TASK)
    bodies = [*bodies, *refused(view)]
    nothing_owed = folded(sealed(bodies), CONTRACT, TASK)
    assert [b.id for b in transfer(nothing_owed, CONTRACT, "go on", now=NOW).carrier.blockers] == ["big"]


def test_where_nothing_is_blocked_and_nothing_owed_an_artifact_goes_as_it_is() -> None:
    from tests.handoff.desk import Desk, guarded

    with guarded(Desk()) as guard, guard.run() as run:
        sent = run.hand_off("executor", "go on")
        assert (sent.verdict, sent.state, sent.artifact, sent.decision.codes) == ("accept", "absent", "go on", ())
