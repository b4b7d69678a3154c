"""The true stage at a customer-facing message, from replayed state and calls alone. No message is read for it.

Source: unreliable-progress-bar, section 2.1 and appendix G ("Gold rule").
"""

from __future__ import annotations

from functools import cache

from tallystick.evals.tau2.replay import State
from tallystick.evals.tau2.tasks import TRANSFER, Tau2Task
from tallystick.evals.tau2.world import starts_at_goal
from tallystick.gates.stage import Stage


def stage(task: Tau2Task, state: State) -> Stage | None:
    """Return the stage: READY stands for everything before an action; None where nothing recorded can tell.

    Completed: the assertions hold (telecom) or the database is the goal's (retail, airline); and where the reward basis
    names an action, that action was called. An earlier rule of the paper's, without the action, called the transfer
    tasks complete from their first message; retail and airline tasks whose goal is the start have the same flaw, and
    what is done about it is *ours*: see `_without_a_goal`.
    """
    if state.at_goal and goal_is_start(task) and task.domain != "telecom":
        return _without_a_goal(task, state)
    if state.at_goal and (not task.action or all(state.made)):
        return Stage.COMPLETED
    return Stage.POST_OBS if state.changed else Stage.READY


@cache
def goal_is_start(task: Tau2Task) -> bool:
    """Whether the goal state holds before anything is done."""
    return starts_at_goal(task)


def _without_a_goal(task: Tau2Task, state: State) -> Stage | None:
    """The stage of a task that ends in the state it began in: a refusal, an answer, or a transfer.

    Before the calls that its author made, it is not complete. A transfer among them completes it. After mere look-ups a
    question and the final refusal leave the same record, so the stage is not determinable; nor is it ever where the
    author made no call.
    """
    before = Stage.POST_OBS if state.changed else Stage.READY
    if any(g.tool == TRANSFER for g in task.gold):
        transferred = any(m for g, m in zip(task.gold, state.made, strict=True) if g.tool == TRANSFER)
        return Stage.COMPLETED if transferred else before
    return None if all(state.made) else before


def names_no_work(task: Tau2Task) -> bool:
    """Whether no message of a task can be scored: its goal is its start and its author made no call."""
    return not task.gold and goal_is_start(task)
