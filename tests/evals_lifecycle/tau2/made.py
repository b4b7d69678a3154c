"""Trajectories that tests make."""

from __future__ import annotations

from collections.abc import Iterable

from tallystick.evals.lifecycle.tau2.episode import Episode
from tallystick.evals.lifecycle.tau2.scripted import script
from tallystick.evals.tau2.replay import Step
from tallystick.evals.tau2.tasks import By, Domain, Tau2Task, tasks
from tallystick.evals.tau2.world import Call


def first(domain: Domain, *, calls: int) -> Tau2Task:
    """Return the first task of a domain whose author made so many calls or more."""
    return next(t for t in tasks(domain) if len(t.gold) >= calls)


def says(by: By, text: str) -> Step:
    return Step(by=by, text=text)


def does(by: By, tool: str, args: str = "{}", number: int = 0) -> Step:
    return Step(by=by, calls=(Call(id=f"made_{number}", tool=tool, args=args),))


def episode(task: Tau2Task, steps: Iterable[Step], deployment: str = "made", epoch: int = 0) -> Episode:
    return Episode(
        domain=task.domain,
        task=task.id,
        deployment=deployment,
        user="made",
        epoch=epoch,
        steps=tuple(steps),
        ended=True,
    )


def scripted(task: Tau2Task, way: str) -> Episode:
    return episode(task, script(task, way), f"scripted:{way}")
