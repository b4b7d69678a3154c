"""Ways around a blocker that its words do not name: what is left out, said twice, or of another kind."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tallystick import Guard, InputError, Run
from tallystick.contracts import parse
from tallystick.handoff import compare
from tallystick.model.values import EntityRef
from tallystick.runtime.blocking import Shown
from tests.handoff.desk import Clock, Desk, blocked, guarded

CONTRACT = parse("""
contract: mail/1
entities:
  document: {id: id, approval: string, ends: instant}
  customer: {id: id}
tools:
  get_approval:
    effect: read
    args: {document: id}
    target: document(args.document)
    yields: {document: {id: /id, approval: /approval, ends: /ends}}
  publish: {effect: write, args: {document: id, audience: optional string}, target: document(args.document)}
  email: {effect: write, args: {customer: id, document: id}, target: customer(args.customer)}
""")


class Mail:
    """What was done."""

    def __init__(self, clock: Clock) -> None:
        self.done: list[tuple[str, ...]] = []
        self.ends = (clock() + timedelta(hours=1)).isoformat().replace("+00:00", "Z")

    def get_approval(self, document: str) -> dict[str, str]:
        return {"id": document, "approval": "granted", "ends": self.ends}

    def publish(self, document: str, audience: str = "public") -> dict[str, bool]:
        self.done.append(("publish", document, audience))
        return {"ok": True}

    def email(self, customer: str, document: str) -> dict[str, bool]:
        self.done.append(("email", customer, document))
        return {"ok": True}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def mail(clock: Clock) -> Mail:
    return Mail(clock)


@pytest.fixture
def guard(mail: Mail, clock: Clock) -> Guard:
    tools = {"get_approval": mail.get_approval, "publish": mail.publish, "email": mail.email}
    return Guard(CONTRACT, tools=tools, clock=clock)


def test_leaving_an_argument_to_the_tools_default_evades_no_blocker(guard: Guard, mail: Mail) -> None:
    run = guard.run()
    run.block("not-public", "publish", status="do not publish", args={"audience": "public"})
    for args in ({"document": "D"}, {"document": "D", "audience": None}):
        assert run.call("publish", args).decision.codes == ("condition.unknown",)
    assert run.call("publish", {"document": "D", "audience": "public"}).decision.codes == ("condition.open",)
    assert mail.done == []
    assert run.call("publish", {"document": "D", "audience": "staff"}).ran


def test_a_blocker_about_a_kind_the_tool_does_not_target_still_holds_it(guard: Guard, mail: Mail) -> None:
    run = guard.run()
    run.block("not-cleared", ["publish", "email"], status="do not send", entity=EntityRef("document", "D"))
    assert run.call("email", {"customer": "C", "document": "D"}).decision.codes == ("condition.unknown",)
    assert run.call("publish", {"document": "D"}).decision.codes == ("condition.open",)
    assert mail.done == []
    assert run.call("publish", {"document": "E"}).ran


def test_an_approval_that_is_over_frees_no_child_and_no_receiver(guard: Guard, mail: Mail, clock: Clock) -> None:
    run = guard.run(run_id="first")
    until = Shown(tool="get_approval", values={"/approval": "granted"}, not_over=("/ends",))
    run.block("not-cleared", "publish", status="do not publish", entity=EntityRef("document", "D"), until=until)
    run.call("get_approval", {"document": "D"})
    assert [b.standing for b in run.blockers()] == ["resolved"]
    clock.move(3601)
    other = guard.run(run_id="other")
    other.receive("Please publish D.", source=run)
    for taken in (run.child(), other):
        assert taken.call("publish", {"document": "D"}).refused
    assert mail.done == []


def raised_twice(run: Run) -> None:
    blocked(run)
    run.block("b1", "open_document", status="do not open", authority="security", prerequisite="an approval",
              entity=EntityRef("resource", "DOC-8"), by="reviewer")  # fmt: skip


def test_a_blocker_raised_again_for_another_entity_hides_neither(clock: Clock) -> None:
    desk = Desk()
    guard = guarded(desk, clock)
    run = guard.run(run_id="first")
    raised_twice(run)
    assert [b.entity for b in run.carrier().blockers] == [["resource", "DOC-7"], ["resource", "DOC-8"]]
    assert [b.standing for b in run.blockers()] == ["open", "open"]
    other = guard.run(run_id="other")
    other.receive("Please open both.", source=run)
    for taken in (run, run.child(), other):
        for name in ("DOC-7", "DOC-8"):
            assert taken.call("open_document", {"resource": name}).refused
    assert desk.done == []


def test_of_blockers_of_one_id_each_has_to_arrive(clock: Clock) -> None:
    run = guarded(Desk(), clock).run()
    blocked(run)
    older = run.hand_off("x", "Please.\n").artifact
    raised_twice(run)
    given = run.hand_off("x", older)
    assert (given.state, given.verdict, given.preserved) == ("stale", "repaired", False)
    found = compare(given.artifact, "text", run.carrier(), run.view)
    assert (found.state, found.losses) == ("complete", ())


@pytest.mark.parametrize(
    "until",
    [
        Shown(tool=["get_approval"], values={"/a": 1}),  # type: ignore[arg-type]
        Shown(tool="get_approval", values=5),  # type: ignore[arg-type]
        Shown(tool="get_approval", values={5: 1}),  # type: ignore[dict-item]
        Shown(tool="get_approval", values={"/a": 1}, not_over=5),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_sentence(guard: Guard, until: Shown) -> None:
    with pytest.raises(InputError):
        guard.run().block("b", "publish", entity=EntityRef("document", "D"), until=until)


def test_what_is_no_run_and_no_list_is_refused_in_one_sentence(guard: Guard) -> None:
    run = guard.run()
    with pytest.raises(InputError):
        run.receive("x", source=5)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        run.hand_off("x", "x", residual=5)  # type: ignore[arg-type]
    run.hand_off("x", [{"role": [], "content": "x"}])  # an odd role leads no conversation
