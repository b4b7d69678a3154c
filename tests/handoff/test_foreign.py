"""A block of another run: taken with `source` its blockers bind here; without, it is rejected and never dropped."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tallystick import Guard, InputError, Principal, Run
from tallystick.contracts import parse
from tallystick.handoff import prose, repair
from tallystick.handoff.forms import Form
from tallystick.ledger.keys import public_bytes
from tallystick.model.values import EntityRef
from tallystick.runtime.principals import signed_lift
from tallystick.runtime.recheck import recheck
from tests.handoff.desk import CONTRACT, DOMAINS, Clock, Desk, blocked, guarded

LEGAL_KEY = Ed25519PrivateKey.generate()
LEGAL = Principal(id="legal-1", role="legal", public_key=public_bytes(LEGAL_KEY))
SHARE = {"resource": "F-12"}
OPEN = ("condition.open",)
STARTS: dict[Form, Any] = {
    "text": "Please share F-12.\n",
    "markdown": "# Plan\n\nShare F-12.\n",
    "messages": [{"role": "user", "content": "share F-12"}],
    "ticket": {"title": "share F-12"},
    "ticket-text": '{"title": "share F-12"}',
}


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def guard(desk: Desk) -> Guard:
    return guarded(desk)


@pytest.fixture
def other(guard: Guard) -> Run:
    run = guard.run(run_id="other", principals=[LEGAL])
    blocked(run, "external sharing")
    return run


@pytest.fixture
def run(guard: Guard) -> Run:
    return guard.run(run_id="here")


def kinds(form: Form) -> dict[str, Any]:
    return {"form": form} if form in ("markdown", "ticket-text") else {}


@pytest.mark.parametrize("form", STARTS)
def test_taken_without_its_source_it_is_rejected_and_the_way_is_named(run: Run, other: Run, form: Form) -> None:
    sent = other.hand_off("here", STARTS[form], **kinds(form)).artifact
    for found in (run.receive(sent, **kinds(form)), run.hand_off("x", sent, **kinds(form))):
        assert (found.verdict, found.state, found.artifact) == ("reject", "foreign", sent)
        (reason,) = [r for r in found.decision.reasons if r.code == "handoff.foreign"]
        assert "`other`" in reason.message
        assert "`b1`" in reason.message
        assert "source=" in reason.reverses
        assert "discard_foreign=True" in reason.reverses
        assert [(f.run, f.blockers) for f in found.foreign] == [("other", ("b1",))]
    assert {(h.verdict, h.delivered) for h in run.provenance()} == {("reject", "")}
    assert run._calls.received is None  # what an endpoint control would look at


@pytest.mark.parametrize("form", STARTS)
def test_taken_with_its_source_it_binds_here(run: Run, other: Run, desk: Desk, form: Form) -> None:
    sent = other.hand_off("here", STARTS[form], **kinds(form)).artifact
    taken = run.receive(sent, source=other, **kinds(form))
    assert (taken.verdict, taken.state) == ("accept", "complete")
    assert run.call("share_file", SHARE).decision.codes == OPEN
    # Passed on, the other run's block gives way to this one's, which has its blockers.
    passed = run.hand_off("next", taken.artifact, **kinds(form))
    assert (passed.verdict, passed.state) == ("repaired", "foreign")
    assert [b.id for b in passed.carrier.blockers] == ["b1"]
    assert prose(passed.artifact, form) == prose(STARTS[form], form)
    assert run.receive(sent, **kinds(form)).repaired  # every blocker in it is held here by now
    assert desk.done == []


@pytest.mark.parametrize("how", ["run", "view", "id"])
def test_its_source_is_a_run_a_view_or_an_id_in_the_ledger(run: Run, other: Run, how: str) -> None:
    sent = other.hand_off("here", "Share it.").artifact
    if how == "id":
        other.close()
    source: Any = {"run": other, "view": other.view, "id": "other"}[how]
    assert run.receive(sent, source=source).accepted
    assert run.call("share_file", SHARE).decision.codes == OPEN
    with pytest.raises(InputError, match="no run `nobody`"):
        run.receive(sent, source="nobody")
    assert run.receive("go on", source="here").repaired  # itself


def test_what_was_raised_since_it_was_taken_over_is_not_dropped(run: Run, other: Run) -> None:
    run.receive(other.hand_off("here", "Share it.").artifact, source=other)
    other.block("late", "use_public", prerequisite="a look", entity=EntityRef("resource", "F-1"))
    later = other.hand_off("here", "Share it.").artifact
    found = run.receive(later)
    assert (found.verdict, found.state) == ("reject", "foreign")
    assert run.receive(later, source=other).accepted
    assert run.call("use_public", {"resource": "F-1"}).decision.codes == OPEN
    assert run.receive(later).repaired


def test_discarded_by_the_host_it_is_recorded_and_stays_discarded(guard: Guard, run: Run, other: Run) -> None:
    sent = other.hand_off("here", "Share it.\n").artifact
    blocked(run)
    found = run.receive(sent, discard_foreign=True)
    assert (found.verdict, found.state) == ("repaired", "foreign")
    assert [f.run for f in found.foreign] == ["other"]
    assert found.artifact.endswith("Share it.\n")
    assert "external sharing" not in found.artifact
    assert run.receive(sent).repaired  # this very block was discarded
    other.block("late", "use_public", prerequisite="a look", fallback="wait")
    assert not run.receive(other.hand_off("here", "Share it.\n").artifact).accepted  # another one was not
    assert run.hand_off("x", "go on", discard_foreign=True).accepted
    assert run.call("share_file", SHARE).ran
    assert recheck(guard.store.events("here"), CONTRACT).differences == ()


def test_an_edited_block_of_another_run_is_rejected_too(run: Run, other: Run) -> None:
    sent = other.hand_off("here", "Share it.\n").artifact
    blocked(run)
    lines = sent.splitlines()
    for changed in (
        sent.replace("decided by: legal", "decided by: anybody"),
        "\n".join(x for x in lines if "json]" not in x),  # without the typed data
        "\n".join(lines[:3]),
        "\n".join(x for x in lines if "json]" in x),
        run.hand_off("x", "go on").artifact + sent,  # beside the right one
        run.hand_off("x", "go on").artifact.replace("Do not do", "Do not ever do") + "\n".join(lines[1:-3]),  # mixed in
    ):
        found = run.receive(changed)
        assert found.verdict == "reject", changed
        assert [f.run for f in found.foreign] == ["other"]
    assert run.receive(changed, discard_foreign=True).repaired


def test_repair_alone_takes_no_block_of_another_run_out(run: Run, other: Run) -> None:
    sent = other.hand_off("here", "Share it.\n").artifact
    with pytest.raises(InputError, match="block of run `other`"):
        repair(run.view, run.contract, sent)
    assert "other" not in repair(run.view, run.contract, sent, discard_foreign=True)


def test_conditions_of_another_contract_bind_here_too(guard: Guard, desk: Desk) -> None:
    strict = parse(
        CONTRACT.text.replace("desk/1", "strict/1")
        + "conditions:\n  - {id: big, removes: [share_file], status: do not share, prerequisite: a look,"
        " authority: legal, fallback: wait}\n"
        "task:\n  owes: [{id: shared, by: share_file, kind: event}]\n"
    )
    with Guard(strict, guard.store, tools=desk.tools(), clock=Clock()) as other_guard:
        other = other_guard.run(run_id="strict", without_approvers=True)
        sent = other.hand_off("here", "Share it.").artifact
        assert [b.standing for b in other.carrier().blockers] == [True]
        run = guard.run(run_id="here")
        assert not run.receive(sent).accepted
        assert run.receive(sent, source="strict").accepted
        assert run.call("share_file", SHARE).decision.codes == OPEN
        assert run.receive(sent).repaired
        assert len(run.blockers()) == 1
        run.receive(sent, source=other)
        assert len(run.blockers()) == 1  # taken over once
        child = other_guard.run(run_id="child", parent=other, without_approvers=True)
        assert child.blockers()[0].blocker.standing  # the same contract holds it there


def test_a_child_takes_its_parents_block_without_a_word(run: Run) -> None:
    blocked(run)
    sent = run.hand_off("child", "go on\n").artifact
    with run.child() as child:
        assert child.receive(sent).repaired
        run.block("late", "share_file", prerequisite="a look")
        assert not child.receive(run.hand_off("child", "go on\n").artifact).accepted


def test_two_runs_that_take_from_each_other_at_once_both_end(guard: Guard, run: Run, other: Run) -> None:
    blocked(run)
    done: list[str] = []

    def take(one: Run, source: Run) -> None:
        for _ in range(10):
            one.receive("go on", source=source)
        done.append(one.id)

    threads = [threading.Thread(target=take, args=pair, daemon=True) for pair in ((run, other), (other, run))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(done) == ["here", "other"]
    # Each has its own and the other's once, however often they went round.
    for one in (run, other):
        assert sorted(b.blocker.removes[0] for b in one.blockers()) == ["open_document", "share_file"]


def test_a_block_taken_through_many_runs_binds_in_the_last(tmp_path: Path, desk: Desk) -> None:
    with guarded(desk, ledger=tmp_path / "l.db") as guard:
        artifact: Any = "Share it.\n"
        before: str | None = None
        for n in range(6):
            run = guard.run(run_id=f"r{n}")
            if before is None:
                blocked(run, "external sharing")
            else:
                artifact = run.receive(artifact, source=before).artifact
            artifact = run.hand_off("next", artifact).artifact
            before = run.id
            if n < 5:
                run.close()
        assert run.call("share_file", SHARE).decision.codes == OPEN
        assert run.blockers()[0].blocker.authority == DOMAINS["external sharing"][2]
    assert desk.done == []


def test_handed_round_in_a_circle_a_blocker_stays_one(guard: Guard, run: Run, other: Run) -> None:
    third = guard.run(run_id="third")
    artifact = other.hand_off("here", "Share it.\n").artifact
    for _ in range(3):
        for taker, giver in ((run, other), (third, run), (other, third)):
            artifact = taker.receive(artifact, source=giver).artifact
            artifact = taker.hand_off("next", artifact).artifact
    assert [len(one.blockers()) for one in (other, run, third)] == [1, 1, 1]
    assert {b.origin[0] for one in (run, third) for b in one.blockers()} == {"other"}
    # The first run's own words, by way of nobody, lose nothing in the third: it has that blocker.
    assert third.receive(other.hand_off("third", "Share it.\n").artifact).repaired
    other.deliver(signed_lift("other", "legal-1", LEGAL_KEY, "b1"))
    assert other.call("share_file", SHARE).ran
    assert other.receive(artifact, source=third).accepted  # what its own authority resolved does not come back
    assert [b.standing for b in other.blockers()] == ["resolved"]
    assert third.call("share_file", SHARE).decision.codes == OPEN
