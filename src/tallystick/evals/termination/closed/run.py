"""The closed-loop study: every cluster, checkpoint, repetition and policy once, with what is counted over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from tallystick.errors import InputError
from tallystick.evals.common.intervals import numpy
from tallystick.evals.termination.closed import kept
from tallystick.evals.termination.closed.behaviour import MEANING, Scripted
from tallystick.evals.termination.closed.clusters import GAPS, SEED, Cluster, clusters
from tallystick.evals.termination.closed.manifest import manifest_ok
from tallystick.evals.termination.closed.measures import CONTROLLER, ECT, GATES, MEASURES, gates, row
from tallystick.evals.termination.closed.play import TURNS, Agent, Trajectory, play
from tallystick.evals.termination.closed.policies import (
    CONTROLLER as CONTROLLER_POLICY,
)
from tallystick.evals.termination.closed.policies import CORE, ORDER, AlwaysContinue, Ect, Policy, ScriptedCritic
from tallystick.evals.termination.closed.scene import CHECKPOINTS, Checkpoint
from tallystick.evals.termination.family import data

REPETITIONS: Final = 3
SCRIPTED_NOTE: Final = (
    "scripted agents of stated behaviour: the numbers follow from the probabilities stated per cluster and say nothing "
    "about any model"
)
CRITIC_NOTE: Final = "the full-trace critic is a scripted critic of stated error rates; no model was asked"
Job = tuple[Cluster, Checkpoint, int, Policy, Agent]


def published() -> dict[str, Any]:
    """Return the paper's figures, each with its place in the source; cells that the source lacks are null."""
    found: dict[str, Any] = yaml.safe_load(data("closed/published.yaml"))
    return found


def chosen(limit: int | None = None, seed: str = SEED) -> tuple[Cluster, ...]:
    """Return the clusters, or `limit` primary ones of them, taken evenly over families.

    Raises:
        InputError: a limit below 1.
    """
    every = clusters(seed)
    if limit is None:
        return every
    if limit < 1:
        raise InputError(f"`{limit}` clusters", where="limit", fix="1 or more")
    primary = [c for c in every if c.primary]
    # The first of each family, then the second: families and gaps both go round.
    return tuple(sorted(primary, key=lambda c: c.number)[:limit])


def study(
    agent: Agent | None = None,
    *,
    critic: Policy | None = None,
    policies: Sequence[str] = ORDER,
    limit: int | None = None,
    repetitions: int = REPETITIONS,
    turns: int = TURNS,
    seed: str = SEED,
    out: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Run the study and return its measures.

    Args:
        agent: who acts; the scripted agents where None.
        critic: the full-trace critic; where None, a scripted one beside scripted agents, and not run beside a model.
        policies: those of `ORDER` to run.
        limit: at most so many clusters, primary ones.
        repetitions: of each checkpoint and policy; the paper has three.
        turns: an agent has after the checkpoint.
        seed: of tasks, behaviours and draws.
        out: folder for the trajectories; with one, an interrupted study goes on where it stopped.
        settings: what else the agent was run with; kept with the trajectories.
        progress: is told (trajectories done, trajectories in all).

    Returns:
        `{"agent", "scripted", "critic", "notes", "seed", "manifest_ok", "clusters", "primary", "repetitions", "turns",
        "trajectories", "policies", "secondary", "differences", "margin", "gates", "controls", "behaviour", "gaps",
        "definitions", "published"}`. A policy that was not run is null. `published` is the paper's, never ours.

    Raises:
        InputError: a bad choice, an unusable folder, or numpy is missing.
    """
    numpy()  # before hours of work, not after
    if repetitions < 1:
        raise InputError(f"`{repetitions}` repetitions", where="repetitions", fix="1 or more")
    unknown = [p for p in policies if p not in ORDER]
    if unknown or not policies:
        raise InputError(f"there is no policy `{', '.join(unknown)}`", where="policies", fix=f"of {', '.join(ORDER)}")
    acting: Agent = agent or Scripted(seed=seed)
    judge = critic or (ScriptedCritic(seed=seed) if acting.scripted else None)
    known: dict[str, Policy | None] = {
        "critic_core": CORE,
        "controller": CONTROLLER_POLICY,
        "full_trace_critic": judge,
        "ect": Ect(),
    }
    tested: list[Policy] = [p for name in ORDER if name in policies and (p := known[name]) is not None]
    critic_name = None if judge is None else getattr(judge, "called", "scripted")
    head = {
        "agent": acting.name,
        "critic": critic_name,
        "seed": seed,
        "turns": turns,
        **(settings or {}),
    }
    picked = chosen(limit, seed)
    folder = Path(out) if out is not None else None
    done = kept.load(folder, head)
    jobs = list(_jobs(picked, repetitions, tested, acting))
    found = _play(jobs, done, folder, turns, progress)
    return {
        **head,
        "scripted": acting.scripted,
        "scripted_critic": judge is not None and critic_name == "scripted",
        "notes": [
            *([SCRIPTED_NOTE] if acting.scripted else []),
            *([CRITIC_NOTE] if critic_name == "scripted" else []),
        ],
        "manifest_ok": manifest_ok() if seed == SEED else None,
        "clusters": len(picked),
        "primary": sum(c.primary for c in picked),
        "repetitions": repetitions,
        "trajectories": len(found),
        **report(found),
        "controls": controls(picked, repetitions, turns, seed, found) if acting.scripted else None,
        "behaviour": {c.name: acting.behaviour(c).to_json() for c in picked} if isinstance(acting, Scripted) else None,
        "behaviour_meaning": MEANING if acting.scripted else None,
        "gaps": {c.name: c.gap for c in picked},
        "gap_meaning": GAPS,
        "definitions": {**MEASURES, **GATES},
        "published": published(),
    }


def report(trajectories: Sequence[Trajectory]) -> dict[str, Any]:
    """Return what is counted over trajectories."""
    by: dict[str, list[Trajectory]] = {name: [t for t in trajectories if t.policy == name] for name in ORDER}
    primary = {name: [t for t in those if t.primary] for name, those in by.items()}
    return {
        "policies": {name: row(those) if those else None for name, those in primary.items()},
        "secondary": {
            name: row(rest) if (rest := [t for t in those if not t.primary]) else None for name, those in by.items()
        },
        **gates(primary[ECT], primary[CONTROLLER]),
        "reproduced": sum(t.reproduces for t in trajectories),
    }


def controls(
    picked: Sequence[Cluster], repetitions: int, turns: int, seed: str, found: Sequence[Trajectory]
) -> dict[str, Any]:
    """Return two studies that must fail a gate each: a policy that always continues, an agent that never recovers.

    Their trajectories are beside the study's own, and are compared with the same controller.
    """
    controller = [t for t in found if t.policy == CONTROLLER and t.primary]
    agents: dict[str, tuple[Policy, Agent, str]] = {
        "always_continue": (AlwaysContinue(), Scripted(seed=seed), "S_non_inferiority"),
        "never_recovering": (Ect(), Scripted(seed=seed, never_recovers=True), "recovery"),
    }
    told: dict[str, Any] = {}
    for name, (policy, agent, must_fail) in agents.items():
        jobs = [j for j in _jobs(picked, repetitions, [policy], agent) if j[0].primary]
        mine = [play(*job, turns=turns) for job in jobs]
        measured = gates(mine, controller)
        told[name] = {
            "row": row(mine),
            **measured,
            "must_fail": must_fail,
            "fails": measured["gates"][must_fail] is False,
        }
    return told


def _jobs(picked: Sequence[Cluster], repetitions: int, tested: Sequence[Policy], agent: Agent) -> Iterator[Job]:
    for repetition in range(repetitions):
        for cluster in picked:
            for checkpoint in CHECKPOINTS:
                for policy in tested:
                    yield cluster, checkpoint, repetition, policy, agent


def _play(
    jobs: Sequence[Job],
    done: dict[kept.Key, Trajectory],
    folder: Path | None,
    turns: int,
    progress: Callable[[int, int], None] | None,
) -> list[Trajectory]:
    found: list[Trajectory] = []
    for cluster, checkpoint, repetition, policy, agent in jobs:
        known = done.get((cluster.name, checkpoint, repetition, policy.name))
        if known is None:
            known = play(cluster, checkpoint, repetition, policy, agent, turns=turns)
            if folder is not None:
                kept.append(folder, known)
        found.append(known)
        if progress is not None:
            progress(len(found), len(jobs))
    return found
