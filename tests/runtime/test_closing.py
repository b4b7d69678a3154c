"""How runs end: accepted, declined, left, suspended; parents and children; statements of host and user."""

from __future__ import annotations

from typing import Any

import pytest

from tallystick import Claim, Guard, InputError
from tallystick.model.decision import decision_of
from tallystick.model.events import ChildRun, Ended, Issued, StopDecided
from tallystick.model.values import EntityRef
from tallystick.runtime.listing import listed
from tests.runtime.shop import PAY, TASK, Clock, Shop, events_of, kinds

READ = {"invoice_id": "I-7"}


def ended(guard: Guard, run: str) -> Ended:
    body = events_of(guard, run)[-1].body
    assert isinstance(body, Ended)
    return body


def test_an_accepted_stop_certifies_and_says_so_in_three_events(guard: Guard) -> None:
    with guard.run(TASK, run_id="r") as run:
        run.call("get_invoice", READ)
        run.call("pay", PAY)
        claim = Claim(subject=EntityRef("invoice", "I-7"), field="status", value="paid", cites=("r3",))
        assert run.finish("paid", [claim]).status is None  # there is no receipt r3 yet
        run.call("get_invoice", READ)
        finish = run.finish("paid", [claim], declared_by="framework")
        assert (finish.accepted, finish.status, run.status) == (True, "CERTIFIED", "CERTIFIED")
        assert str(finish).startswith("COMPLETE")
    assert (ended(guard, "r").status, ended(guard, "r").outcome) == ("CERTIFIED", "acted")
    stop, issued = (e.body for e in events_of(guard, "r")[-3:-1])
    assert isinstance(stop, StopDecided)
    assert isinstance(issued, Issued)
    assert stop.declared_by == "framework"
    assert decision_of(stop.decision) == finish.decision


def test_rightly_not_acting_is_a_success(guard: Guard, shop: Shop) -> None:
    shop.pay("I-7", "420.00")  # somebody else already did
    with guard.run(TASK) as run:
        run.call("get_invoice", READ)
        refused = run.call("pay", PAY)
        assert refused.decision.codes == ("evidence.violated",)
        assert run.finish("already paid", outcome="declined").status == "CERTIFIED"
    assert shop.count("pay") == 1


def test_a_request_the_user_took_back_is_a_success(guard: Guard) -> None:
    with guard.run(TASK) as run:
        assert not run.finish("never mind", outcome="withdrawn").accepted
        run.state("withdrawn", True)
        assert run.finish("never mind", outcome="withdrawn").accepted


def test_a_cut_turn_does_not_end_a_run(guard: Guard) -> None:
    with guard.run(TASK) as run:
        run.call("get_invoice", READ)
        run.call("pay", PAY)
        assert run.finish("paid", truncated=True).decision.codes == ("turn.truncated",)
        assert run.finish("paid").accepted


@pytest.mark.parametrize("claims", [[1], {"x": object()}, {"x": float("nan")}, [Claim(field="\ud800", value=1)]])
def test_claims_that_are_no_claims_are_not_accepted(guard: Guard, claims: Any) -> None:
    with guard.run(TASK) as run:
        assert run.finish("paid", claims).decision.codes == ("claims.not_json",)


def test_leaving_without_a_stop_ends_the_run_as_it_stands(guard: Guard, shop: Shop) -> None:
    with guard.run(TASK, run_id="u"):
        pass
    assert (ended(guard, "u").status, ended(guard, "u").reason) == ("UNCERTIFIED", "run.exit")
    with guard.run(TASK, run_id="b") as run:
        run.block("hold", ("pay",), status="do not pay", prerequisite="an audit", authority="finance")
    assert (ended(guard, "b").status, ended(guard, "b").reason) == ("BLOCKED", "condition.open")
    with guard.run(TASK, run_id="d") as run:
        run.block("hold", ("pay",), status="do not pay", prerequisite="an audit", authority="finance")
        shop.after = lambda: exec("raise OSError")
        run.call("refund", READ)
    assert ended(guard, "d").status == "IN_DOUBT"  # before BLOCKED
    with pytest.raises(RuntimeError, match="agent"), guard.run(TASK, run_id="e"):
        raise RuntimeError("agent crashed")
    assert ended(guard, "e").reason == "run.exception"
    assert guard.run(TASK, run_id="s").close("step.limit") == "UNCERTIFIED"
    assert ended(guard, "s").reason == "step.limit"


def test_closing_twice_changes_nothing_and_nothing_follows(guard: Guard) -> None:
    run = guard.run(TASK)
    assert run.close() == "UNCERTIFIED"
    assert run.close() == "UNCERTIFIED"
    assert run.call("queue").decision.codes == ("run.closed",)
    with pytest.raises(InputError, match="ended"):
        run.wish("more")
    assert kinds(guard, run) == ["run.ended"]
    assert guard.store.lease(run.id) is None


def test_a_suspended_run_has_no_status_and_goes_on_later(guard: Guard) -> None:
    with guard.run(TASK, run_id="r") as run:
        run.call("get_invoice", READ)
        run.suspend()
        assert run.call("queue").decision.codes == ("run.left",)
    assert [x.standing for x in listed(guard.store, guard.clock())] == ["left"]
    with guard.resume("r") as again:
        assert again.call("pay", PAY).ran
        assert again.finish("paid").accepted
    assert [x.standing for x in listed(guard.store, guard.clock())] == ["ended"]


def test_where_runs_stand_is_listed(guard: Guard, clock: Clock) -> None:
    guard.run(TASK, run_id="r")
    (one,) = listed(guard.store, clock())
    assert (one.standing, one.holder, one.letters) == ("live", guard.holder, 0)
    clock.move(61)
    (one,) = listed(guard.store, clock())
    assert one.standing == "lost"


def test_a_parent_is_not_certified_while_a_child_is_open_or_in_doubt(guard: Guard, shop: Shop) -> None:
    with guard.run(TASK, run_id="p") as parent:
        parent.call("get_invoice", READ)
        parent.call("pay", PAY)
        child = parent.child({"bindings": {"invoice": "I-8"}}, run_id="c")
        assert parent.finish("paid").decision.codes == ("child.open",)
        shop.after = lambda: exec("raise OSError")
        child.call("refund", {"invoice_id": "I-8"})
        child.close()
        assert child.status == "IN_DOUBT"
        assert parent.finish("paid").decision.codes == ("child.in_doubt",)
    assert ended(guard, "p").status == "IN_DOUBT"
    told = [e.body for e in events_of(guard, "p") if isinstance(e.body, ChildRun)]
    assert [(t.child, t.status) for t in told] == [("c", "open"), ("c", "IN_DOUBT")]
    assert guard.store.runs()[1].parent == "p"


def test_a_parent_may_be_certified_over_a_child_that_honestly_failed(guard: Guard) -> None:
    with guard.run(TASK) as parent:
        parent.call("get_invoice", READ)
        parent.call("pay", PAY)
        with parent.child({"bindings": {"invoice": "I-8"}}):
            pass
        assert parent.finish("paid").accepted


def test_a_resumed_parent_learns_how_its_children_ended(guard: Guard) -> None:
    parent = guard.run(TASK, run_id="p")
    parent.call("get_invoice", READ)
    parent.call("pay", PAY)
    child = parent.child({"bindings": {"invoice": "I-8"}}, run_id="c")
    parent.suspend()
    child.close()
    with guard.resume("p") as again:
        assert again.finish("paid").accepted


def test_an_ended_parent_has_no_more_children(guard: Guard) -> None:
    parent = guard.run(TASK)
    parent.close()
    with pytest.raises(InputError, match="parent"):
        parent.child({"bindings": {"invoice": "I-8"}}, run_id="c")
    assert guard.store.lease("c") is None


def test_what_host_and_user_say_is_typed_and_what_the_model_says_is_words(guard: Guard, shop: Shop) -> None:
    with guard.run(TASK) as run:
        run.says("user", "pay I-7 please")
        run.says("assistant", "the user has approved everything")
        run.report("completed", "all done")
        run.confirm("invoice", "I-7")
        run.state("amount", "420.00", entity=EntityRef("invoice", "I-7"))
        run.oblige("refunded", "refund it too", tool="refund", args={"invoice_id": "I-7"})
        run.schema_changed("queue", {"type": "object", "required": ["n"]})
        assert run.view.confirmed(EntityRef("invoice", "I-7")) is not None
        assert run.call("queue").decision.codes == ("schema.mismatch",)
        run.call("get_invoice", READ)
        run.call("pay", PAY)
        assert run.finish("paid").decision.codes == ("obligation.open",)
        run.call("refund", READ)
        assert run.finish("paid and refunded").accepted
    roles = {e.kind: e.actor.role for e in events_of(guard, run)}
    assert roles["report"] == "agent"
    assert roles["confirmation"] == "host"
    assert roles["receipt"] == "executor"
    assert roles["run.ended"] == "runtime"


def test_a_raised_condition_ends_with_its_operation_or_its_fallback(guard: Guard) -> None:
    with guard.run(TASK) as run:
        run.call("get_invoice", READ)
        run.block("busy", ("pay",), operation="closing the books", prerequisite="the books are closed")
        assert run.call("pay", PAY).refused
        run.close_operation("closing the books")
        assert run.call("pay", PAY).ran
        run.block("later", ("refund",), args={"invoice_id": "I-7"}, prerequisite="a call", fallback="leave it")
        assert run.call("refund", {"invoice_id": "I-8"}).ran
        assert run.call("refund", READ).refused
        assert not run.finish("done").accepted
        run.leave_aside("later")
        assert run.finish("done").accepted
