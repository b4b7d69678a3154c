"""The gold rule held against the author's own calls: where do they make a task complete?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tallystick.evals.lifecycle.tau2.gold import goal_is_start, stage
from tallystick.evals.tau2.replay import Step, replay
from tallystick.evals.tau2.tasks import Domain, Tau2Task, tasks
from tallystick.evals.tau2.world import call_of
from tallystick.gates.stage import Stage


def stages(task: Tau2Task) -> tuple[Stage | None, ...]:
    """Return the stage before the author's first call and after each of them."""
    steps = [Step(by=g.by, calls=(call_of(g, f"call_{n}"),)) for n, g in enumerate(task.gold)]
    return tuple(stage(task, state) for state in replay(task, steps).states)


def authored(
    domain: Domain, chosen: Sequence[Tau2Task] | None = None, *, progress: Callable[[int, int], None] | None = None
) -> dict[str, Any]:
    """Return where the author's calls complete tasks: counts, and the ids of those where the rule is not kept.

    Args:
        domain: whose tasks.
        chosen: all of the base split where None.
        progress: told after each task.

    Returns:
        `only_after_last`: complete after the last call and at no moment before · `by_action`: the same, of tasks whose
        reward basis names an action · `before_last`: complete after the last call and before it too, as where look-ups
        follow the last change · `goal_is_start` and, of those, `undetermined` at the end · `never`: ids not complete at
        the end, though determinable · `before_work`: ids complete before the first call.
    """
    own = list(tasks(domain) if chosen is None else chosen)
    told: dict[str, Any] = {"domain": domain, "tasks": len(own), "calls": sum(len(t.gold) for t in own)}
    names = ("only_after_last", "by_action", "before_last", "goal_is_start", "undetermined")
    counts = dict.fromkeys(names, 0)
    never, early = [], []
    for number, task in enumerate(own, 1):
        found = stages(task)
        counts["goal_is_start"] += goal_is_start(task)
        if found[0] is Stage.COMPLETED:
            early.append(task.id)
        if found[-1] is None:
            counts["undetermined"] += 1
        elif found[-1] is not Stage.COMPLETED:
            never.append(task.id)
        elif Stage.COMPLETED in found[:-1]:
            counts["before_last"] += 1
        else:
            counts["by_action" if task.action else "only_after_last"] += 1
        if progress is not None:
            progress(number, len(own))
    return {**told, **counts, "never": never, "before_work": early}


def kept(told: dict[str, Any]) -> bool:
    """Whether the rule is kept: nothing complete before work, everything determinable complete after it."""
    return not told["never"] and not told["before_work"]
