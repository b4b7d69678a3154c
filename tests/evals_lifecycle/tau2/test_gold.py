"""The true stage, held against the benchmark's own tasks and the calls their author made."""

from __future__ import annotations

import pytest

from tallystick.evals.lifecycle.tau2.authored import authored, kept, stages
from tallystick.evals.lifecycle.tau2.gold import goal_is_start, names_no_work, stage
from tallystick.evals.tau2.replay import State, replay
from tallystick.evals.tau2.tasks import TRANSFER, Domain, tasks
from tallystick.evals.tau2.world import Call, ReplayError, call_of, opened
from tallystick.gates.stage import Stage
from tests.evals_lifecycle.tau2.made import does, first, says


def test_the_authors_calls_complete_every_telecom_task_at_the_last_and_at_no_moment_before() -> None:
    found = authored("telecom")
    assert (found["tasks"], found["only_after_last"], found["by_action"]) == (114, 94, 20)
    assert found["before_last"] == found["undetermined"] == 0
    assert kept(found)


def test_the_transfer_tasks_hold_their_assertions_from_the_start_and_are_complete_only_with_the_transfer() -> None:
    handed = [t for t in tasks("telecom") if t.action]
    assert len(handed) == 20
    for task in handed:
        assert goal_is_start(task)
        assert [g.tool for g in task.gold] == [TRANSFER]
        assert stages(task) == (Stage.READY, Stage.COMPLETED)
    other = replay(handed[0], [does("agent", TRANSFER, '{"summary": "in other words"}')])
    assert stage(handed[0], other.states[-1]) is Stage.COMPLETED  # whatever the summary says


@pytest.mark.parametrize(("domain", "many"), [("retail", 11), ("airline", 20)])
def test_a_task_whose_goal_is_its_start_is_not_complete_before_work(domain: Domain, many: int) -> None:
    """Before the author's calls it is unfinished; with none, or once look-ups are made, nothing recorded can tell."""
    looks = ("get_", "find_", "list_", "search_", "calculate", TRANSFER)
    same = [t for t in tasks(domain) if all(g.tool.startswith(looks) for g in t.gold)]
    same += [t for t in tasks(domain) if domain == "retail" and t.id in {"12", "105"}]  # their changes are refused
    assert len(same) == many
    for task in same:
        assert goal_is_start(task)
        start = State(changed=False, at_goal=True, made=(False,) * len(task.gold))
        end = State(changed=False, at_goal=True, made=(True,) * len(task.gold))
        assert stage(task, start) is (None if names_no_work(task) else Stage.READY)
        transfers = any(g.tool == TRANSFER for g in task.gold)
        assert stage(task, end) is (Stage.COMPLETED if transfers else None)


def test_a_refused_call_is_work_but_no_change() -> None:
    """Retail task 12: a return that the tool refuses, then a transfer, which completes it."""
    task = next(t for t in tasks("retail") if t.id == "12")
    assert set(stages(task)[:-1]) == {Stage.READY}
    assert stages(task)[-1] is Stage.COMPLETED


def test_a_retail_task_is_mid_task_between_its_first_change_and_the_goal() -> None:
    task = next(t for t in tasks("retail") if [g.tool for g in t.gold].count("modify_pending_order_items") >= 2)
    found = stages(task)
    assert found[0] is Stage.READY
    assert found[-1] is Stage.COMPLETED
    order = [s for s in found if s is not None]
    assert order == sorted(order, key=list(Stage).index)
    assert Stage.POST_OBS in order


def test_each_state_is_the_one_that_its_prefix_alone_leaves() -> None:
    """One pass reads what replaying every prefix in an environment of its own would."""
    task = first("telecom", calls=6)
    steps = [does(g.by, g.tool, call_of(g, "x").args, n) for n, g in enumerate(task.gold)]
    whole = replay(task, steps)
    for length in range(len(steps) + 1):
        assert replay(task, steps[:length]).states == whole.states[: length + 1]


def test_looking_changes_nothing_and_an_undone_change_stays_one() -> None:
    task = first("telecom", calls=1)
    look = [does("user", "check_status_bar"), does("user", "run_speed_test"), does("user", "can_send_mms")]
    look.append(does("agent", "get_customer_by_phone", '{"phone_number": "555-123-2002"}'))
    assert {(s.changed, s.at_goal) for s in replay(task, look).states} == {(False, False)}
    there_and_back = [
        does("user", "toggle_data_saver_mode"),
        says("user", "on"),
        does("user", "toggle_data_saver_mode"),
    ]
    assert [s.changed for s in replay(task, there_and_back).states] == [False, True, True, True]


def test_a_call_that_breaks_a_tool_is_an_error_of_ours_and_one_the_tool_refuses_is_a_result() -> None:
    task = first("telecom", calls=1)
    with opened(task) as world:
        before = world.fingerprint()
        (refused,) = world.call("agent", [Call(id="1", tool="get_details_by_id", args='{"id": "?"}')])
        assert refused.error
        (unknown,) = world.call("agent", [Call(id="2", tool="make_payment")])  # the customer's tool
        assert "not found" in unknown.error
        (unread,) = world.call("agent", [Call(id="3", tool="enable_roaming", broken="not JSON")])
        assert "not JSON" in unread.error
        with pytest.raises(ReplayError, match="set_apn_settings"):
            world.call("user", [Call(id="4", tool="set_apn_settings", args='{"apn_settings": {"apn_name": 7}}')])
        assert world.fingerprint() == before


def test_two_worlds_share_nothing() -> None:
    task = first("telecom", calls=1)
    with opened(task) as one, opened(task) as other:
        before = other.fingerprint()
        one.call("user", [Call(id="1", tool="toggle_airplane_mode")])
        assert one.fingerprint() != before == other.fingerprint()
