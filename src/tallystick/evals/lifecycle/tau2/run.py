"""Playing tasks under the duty with Inspect, every episode kept as it ends, going on from where it was."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.evals.lifecycle.suite import kept
from tallystick.evals.lifecycle.tau2 import episode
from tallystick.evals.lifecycle.tau2.duty import DUTY
from tallystick.evals.lifecycle.tau2.episode import Episode
from tallystick.evals.lifecycle.tau2.scripted import is_scripted, outputs, way_of
from tallystick.evals.tau2.package import version
from tallystick.evals.tau2.tasks import Domain, Tau2Task, task_named, tasks
from tallystick.model.canonical import digest

LOGS: Final = "logs"


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What is played.

    Attributes:
        domain: whose tasks.
        only: ids of tasks; all of the base split where empty.
        limit: at most so many tasks, in the benchmark's order.
        epochs: trajectories of each.
        message_limit: turns of each side; the benchmark's own number where None.
    """

    domain: Domain
    only: tuple[str, ...] = ()
    limit: int | None = None
    epochs: int = 1
    message_limit: int | None = None

    def chosen(self) -> list[Tau2Task]:
        """Return the tasks.

        Raises:
            InputError: the base split has no such task, or a number is below 1.
        """
        numbers = (("--limit", self.limit), ("--repetitions", self.epochs), ("--message-limit", self.message_limit))
        for option, number in numbers:
            if number is not None and number < 1:
                raise InputError(f"`{number}` is too few", where=option, fix="1 or more")
        found = [task_named(self.domain, n) for n in self.only] if self.only else list(tasks(self.domain))
        return found[: self.limit]


def play(plan: Plan, model: str, user: str | None, out: Path) -> list[Episode]:
    """Play every episode that is not kept yet, and return all that are kept; lost ones are played again.

    Args:
        plan: what is played.
        model: the agent's: a name of Inspect's such as `openai/gpt-5`, or `scripted:WAY`.
        user: the customer's; the agent's where None. A scripted agent has a scripted customer.
        out: folder of the run.

    Raises:
        InputError: a model cannot be used; the folder holds another run.
    """
    chosen = plan.chosen()
    customer = user or model
    if is_scripted(model) != is_scripted(customer):
        raise InputError(
            "a scripted agent and its customer follow one script", where="--user", fix="leave --user out"
        )  # fmt: skip
    agent, other = _models(model, customer)
    kept.settle(
        out,
        {"tau2": plan.domain, "deployment": model, "user": customer, "only": list(plan.only), "limit": plan.limit,
         "epochs": plan.epochs, "message_limit": plan.message_limit, "duty": digest(DUTY.encode()),
         "inspect_evals": version()},
    )  # fmt: skip
    kept.mend(out, episode.EPISODES)
    for epoch in range(plan.epochs):
        done = {e.task for e in _kept(out) if e.epoch == epoch and not e.lost}
        left = [t for t in chosen if t.id not in done]
        if left:
            _play(plan, left, epoch, agent, other, out, (model, customer))
    return _kept(out)


def _kept(out: Path) -> list[Episode]:
    return episode.read(out) if (out / episode.EPISODES).exists() else []


def _models(model: str, customer: str) -> tuple[Any, Any]:
    from inspect_ai.model import get_model  # noqa: PLC0415 - an extra

    if is_scripted(model):
        way = way_of(model)
        way_of(customer)
        return (
            get_model("mockllm/agent", custom_outputs=outputs(way, "agent"), memoize=False),
            get_model("mockllm/customer", custom_outputs=outputs(way, "user"), memoize=False),
        )
    try:
        return get_model(model), get_model(customer)
    except Exception as bad:
        first = str(bad).strip().split("\n")[0]
        raise InputError(f"Inspect has no usable model: {first}", where="--model") from bad


def _play(
    plan: Plan, left: list[Tau2Task], epoch: int, agent: Any, other: Any, out: Path, names: tuple[str, str]
) -> None:
    from inspect_ai import eval as inspect_eval  # noqa: PLC0415 - an extra

    from tallystick.evals.lifecycle.tau2.inspect_task import duty_task  # noqa: PLC0415

    made = duty_task(plan.domain, left, first=epoch, message_limit=plan.message_limit, keep=out, names=names)
    with contextlib.redirect_stdout(sys.stderr):  # the benchmark's loop prints what it swallows
        logs = inspect_eval(
            made, model=agent, model_roles={"user": other}, display="none", log_dir=str(out / LOGS), log_level="warning"
        )
    failed = next((log.error.message for log in logs if log.error is not None), None)
    if failed is not None:
        raise InputError(
            f"Inspect ended the run: {failed.strip().splitlines()[0]}", where=names[0],
            fix="start it again; it goes on from the episodes that are kept",
        )  # fmt: skip
