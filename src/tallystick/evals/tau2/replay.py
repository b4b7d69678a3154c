"""A trajectory of the benchmark, and what its prefixes leave: the state that the calls before a message lead to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from tallystick.evals.tau2.tasks import By, Tau2Task, called
from tallystick.evals.tau2.world import Call, Result, World, opened


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message of the agent or of the customer, with the results of its calls.

    A message without calls is what the other one reads; text beside calls reaches nobody.
    """

    by: By
    text: str = ""
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """What a prefix of a trajectory leaves.

    Attributes:
        changed: a call has taken effect at some moment, whoever made it and whether or not it was undone.
        at_goal: the state is the goal; see `World.at_goal`.
        made: for each of the author's calls, whether one like it was made.
    """

    changed: bool
    at_goal: bool
    made: tuple[bool, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Replay:
    """A replayed trajectory.

    Attributes:
        states: for each n from 0, what the first n steps leave.
        diverged: the first step whose results were other ones when it was recorded, None where all are the same.
    """

    states: tuple[State, ...]
    diverged: int | None = None


def replay(task: Tau2Task, steps: Sequence[Step]) -> Replay:
    """Replay a trajectory from its start in a fresh environment, reading the state after every step.

    Reading changes nothing, so each state is the one that its prefix alone leaves (the tests replay prefixes alone).

    Raises:
        ReplayError: a recorded call breaks the environment.
    """
    with opened(task) as world:
        return _followed(world, task, steps)


def _followed(world: World, task: Tau2Task, steps: Sequence[Step]) -> Replay:
    print_now = world.fingerprint()
    state = State(changed=False, at_goal=world.at_goal(), made=(False,) * len(task.gold))
    states, diverged = [state], None
    for number, step in enumerate(steps):
        if step.calls:
            results = world.call(step.by, step.calls)
            if diverged is None and step.results and tuple(results) != step.results:
                diverged = number
            before, print_now = print_now, world.fingerprint()
            moved = before != print_now
            made = tuple(
                already or any(_like(task, n, step.by, c) for c in step.calls) for n, already in enumerate(state.made)
            )
            state = State(
                changed=state.changed or moved, at_goal=world.at_goal() if moved else state.at_goal, made=made
            )
        states.append(state)
    return Replay(states=tuple(states), diverged=diverged)


def _like(task: Tau2Task, number: int, by: By, call: Call) -> bool:
    gold = task.gold[number]
    if gold.by != by or gold.tool != call.tool or call.broken:
        return False
    args = json.loads(call.args)  # compared by the benchmark's own rule, which takes its own numbers
    return isinstance(args, dict) and called(gold, call.tool, args)
