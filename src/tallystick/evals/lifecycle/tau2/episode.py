"""One played task, as it is kept: who said and called what, and why it does not count where it does not."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from tallystick.evals.common import folder as common
from tallystick.evals.tau2.replay import Step
from tallystick.evals.tau2.tasks import Domain
from tallystick.evals.tau2.world import Call, Result

EPISODES: Final = "episodes.jsonl"
STOPS: Final = ("###STOP###", "###OUT-OF-SCOPE###", "###TRANSFER###")
"""How the benchmark's user simulator ends a conversation."""


class Episode(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A played task.

    Attributes:
        domain, task: which.
        deployment: the agent's model and serving configuration; a scripted one says so in its name.
        user: who simulated the customer.
        epoch: from 0.
        steps: every message, in order.
        lost: why the episode does not count: an exception that the benchmark's loop swallowed, as `agent: …` or
            `user: …`. Its checkpoints are TRANSPORT and in no other denominator.
        ended: the customer ended it; false where the limit of messages did, or it was lost.
    """

    domain: Domain
    task: str
    deployment: str
    user: str
    epoch: int = 0
    steps: tuple[Step, ...] = ()
    lost: str = ""
    ended: bool = False


def steps_of(trajectory: Iterable[Any]) -> tuple[Step, ...]:
    """Return the steps of a trajectory as the benchmark stores it: messages with the role of whoever made them."""
    steps: list[Step] = []
    for one in trajectory:
        message = one.message
        if message.role == "tool":
            last = steps[-1]
            result = Result(
                id=message.tool_call_id or "", text=message.text,
                error=message.error.message if message.error is not None else "",
            )  # fmt: skip
            steps[-1] = msgspec.structs.replace(last, results=(*last.results, result))
        elif message.role == "assistant":  # both sides are models, so both speak as assistants
            steps.append(
                Step(
                    by="user" if one.role == "user" else "agent",
                    text=message.text,
                    calls=tuple(
                        Call(
                            id=c.id, tool=c.function, args=json.dumps(c.arguments, default=str),
                            broken=c.parse_error or "",
                        )
                        for c in message.tool_calls or ()
                    ),
                )
            )  # fmt: skip
    return tuple(steps)


def read(folder: Path) -> list[Episode]:
    """Return the episodes of a folder; of several of one task and epoch the last: a lost one that was played again.

    Raises:
        InputError: the file cannot be read, or a line is no episode. A last line that was cut off is left out.
    """
    played = common.records(folder / EPISODES, Episode, "an episode")
    return list({(one.task, one.epoch): one for one in played}.values())


def append(folder: Path, one: Episode) -> None:
    """Append an episode to a folder."""
    common.append(folder / EPISODES, one)
