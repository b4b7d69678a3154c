"""Refusals are bounded, and polling is no loop."""

from __future__ import annotations

import pytest

from tallystick import Guard, InputError
from tests.runtime.shop import CONTRACT, PAY, TASK, Clock, Shop, kinds

READ = {"invoice_id": "I-7"}


def test_the_same_proposal_refused_twice_with_nothing_new_ends_the_run(guard: Guard) -> None:
    with guard.run(TASK) as run:
        first = run.call("pay", PAY)
        assert first.ended is None
        assert "the same again, with nothing new in the record, ends the run" in first.text()
        assert first.to_json()["warning"] == first.warning
        second = run.call("pay", PAY)
        assert second.ended == "UNCERTIFIED"
        assert run.status == "UNCERTIFIED"
        assert run.view.ended is not None
        assert run.view.ended.reason == "stuck.same_refusal"
        third = run.call("get_invoice", READ)
        assert third.decision.codes == ("run.closed",)
        assert kinds(guard, run) == ["refusal", "refusal", "run.ended"]
        assert run.finish("done").decision.codes == ("run.closed",)


def test_something_new_in_the_record_starts_the_count_again(guard: Guard) -> None:
    with guard.run(TASK) as run:
        for _ in range(5):
            assert run.call("pay", {**PAY, "amount": "1.00"}).ended is None
            run.call("get_invoice", READ)


def test_other_proposals_are_counted_apart(guard: Guard) -> None:
    with guard.run(TASK) as run:
        for i in range(5):
            assert run.call("pay", {**PAY, "amount": f"{i + 1}.00"}).ended is None


def test_a_spent_budget_ends_the_run(shop: Shop) -> None:
    guard = Guard(CONTRACT, tools=shop.tools(), refusal_budget=3)
    with guard.run(TASK) as run:
        ended = [run.call("pay", {**PAY, "amount": f"{i + 1}.00"}).ended for i in range(3)]
        assert ended == [None, None, "UNCERTIFIED"]
        assert run.view.ended is not None
        assert run.view.ended.reason == "stuck.refusal_budget"


def test_saying_done_twice_with_nothing_new_ends_the_run(guard: Guard) -> None:
    with guard.run(TASK) as run:
        first = run.finish("done")
        assert first.status is None
        assert "ends the run" in str(first)
        assert run.finish("really done").status == "UNCERTIFIED"  # other words, the same proposal


def test_polling_is_no_loop(shop: Shop) -> None:
    guard = Guard(CONTRACT, tools=shop.tools(), refusal_budget=5)
    with guard.run(TASK) as run:
        assert all(run.call("queue").ran for _ in range(50))


def test_being_handed_a_recorded_result_is_not_being_stuck(guard: Guard) -> None:
    with guard.run(TASK) as run:
        run.call("get_invoice", READ)
        assert run.call("pay", PAY).ran
        assert all(run.call("pay", PAY).recorded for _ in range(5))
        assert run.finish("paid").accepted


def test_starting_again_buys_no_new_attempts(guard: Guard, clock: Clock) -> None:
    run = guard.run(TASK, run_id="r")
    run.call("pay", PAY)
    run.suspend()
    with guard.resume("r") as again:
        assert again.call("pay", PAY).ended == "UNCERTIFIED"


@pytest.mark.parametrize("bad", [{"refusal_budget": 0}, {"same_refusal_limit": 0}, {"lease_seconds": 0},
                                 {"patience": -1}, {"timeout": 0}])  # fmt: skip
def test_settings_out_of_range_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(InputError):
        Guard(CONTRACT, **bad)  # type: ignore[arg-type]


def test_the_guards_own_status_queries_do_not_make_the_agent_stuck(guard: Guard, shop: Shop) -> None:
    def lose() -> None:
        raise ConnectionError("gone")

    with guard.run(TASK) as run:
        run.call("get_invoice", READ)
        shop.after = lose
        run.call("pay", PAY)
        run.block("audit", ("payments",), prerequisite="the auditors leave", authority="finance")
        for _ in range(4):
            assert run.settle_by_query() == ("c2",)  # refused each time, with nothing new in the record
        assert run.status is None


def test_claims_that_cannot_be_read_are_bounded_too(guard: Guard) -> None:
    with guard.run(TASK) as run:
        assert run.finish("done", {"a": object()}).status is None
        assert run.finish("done", {"a": object()}).status == "UNCERTIFIED"
