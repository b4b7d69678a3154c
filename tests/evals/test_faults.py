"""Scripted agents with stated faults are measured back; the act gate stops what it must and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tallystick.evals.common.intervals import bootstrap, wilson
from tallystick.evals.evidence.case import Case
from tallystick.evals.evidence.room import Room
from tallystick.evals.evidence.score import Score, score
from tallystick.evals.evidence.scripted import FAULTS, MEASURED_BY, Fault, Scripted, applies


def played(agent: Scripted, cases: tuple[Case, ...], *, gated: bool = False) -> list[Score]:
    found = []
    for case in cases:
        room = Room(case, agent.name, gated=gated, seed=b"faults")
        agent.play(case, room)
        found.append(score(case, room.episode()))
    return found


@pytest.mark.parametrize("p", [0.15, 0.6])
@pytest.mark.parametrize("fault", FAULTS[1:])
def test_a_stated_fault_is_measured_back(fault: Fault, p: float, cases: tuple[Case, ...]) -> None:
    """What was committed is what is measured, case by case; and the interval of the measured rate holds the stated one.

    The first is exact. The second holds for about 95 of 100 seeds; the one here was not chosen for it.
    """
    agent = Scripted(fault=fault, p=p)
    room = tuple(c for c in cases if applies(fault, c))
    scores = played(agent, room)
    committed = [agent.commits(c) for c in room]
    measured = [bool(getattr(s, MEASURED_BY[fault])) for s in scores]
    assert measured == committed
    interval = wilson(sum(measured), len(measured))
    clustered = bootstrap([(int(m), 1) for m in measured])
    assert interval is not None
    assert clustered is not None
    assert interval[0] <= p <= interval[1]
    assert clustered[0] - 0.01 <= p <= clustered[1] + 0.01
    assert all(s.exact is not bad for s, bad in zip(scores, committed, strict=True))


def test_a_correct_agent_succeeds_in_all_cases(cases: tuple[Case, ...]) -> None:
    """Without a fault every episode is exact, and no diagnostic is raised."""
    scores = played(Scripted(), cases)
    assert all(s.exact for s in scores)
    names = ("stopped_early", "acted_early", "gap", "partial", "wrong_argument", "wrong_target", "dropped_result")
    assert not any(getattr(s, n) for s in scores for n in names)


def test_the_gate_leaves_a_correct_agents_successes_unchanged(cases: tuple[Case, ...]) -> None:
    """Behind the act gate every episode of the correct agent is exact, and nothing was refused."""
    scores = played(Scripted(), cases, gated=True)
    assert all(s.exact for s in scores)
    assert sum(s.refused for s in scores) == 0


WRONG: dict[str, Callable[[Score], int]] = {
    "acts_early": lambda s: s.effects_early,
    "wrong_entity": lambda s: s.effects_wrong_entity,
}


@pytest.mark.parametrize("fault", WRONG)
def test_behind_the_gate_no_premature_and_no_wrong_entity_action_takes_effect(
    fault: Fault, cases: tuple[Case, ...]
) -> None:
    """Of an agent that always commits the fault, every wrong effect happens without the gate and none with it."""
    agent = Scripted(fault=fault, p=1.0)
    room = tuple(c for c in cases if applies(fault, c))[::5]
    free, held = played(agent, room), played(agent, room, gated=True)
    assert all(WRONG[fault](s) > 0 for s in free)
    assert sum(s.effects_early + s.effects_wrong_entity for s in held) == 0
    assert all(s.refused > 0 for s in held)


def test_an_agent_held_too_early_succeeds_once_the_evidence_is_there(cases: tuple[Case, ...]) -> None:
    """A hold is not a dead end: the agent that acts early and is held goes on, and ends exact."""
    room = tuple(c for c in cases if applies("acts_early", c))[::7]
    assert all(s.exact for s in played(Scripted(fault="acts_early", p=1.0), room, gated=True))


def test_scripted_agents_say_so() -> None:
    """No report can take a scripted agent for a model."""
    assert all(Scripted(fault=f, p=0.2).name.startswith("scripted:") for f in FAULTS)
