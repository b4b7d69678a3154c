"""One trajectory, from its checkpoint to its end, and what is written down about it."""

from __future__ import annotations

from typing import Final, Literal, Protocol

import msgspec

from tallystick.evals.termination.closed.clusters import Cluster
from tallystick.evals.termination.closed.desk import Desk
from tallystick.evals.termination.closed.policies import Policy
from tallystick.evals.termination.closed.scene import Checkpoint, Clock, Done, Leaves, Move, Scene
from tallystick.runtime.guard import Guard
from tallystick.runtime.recheck import recheck

TURNS: Final = 4
"""Turns an agent has after the checkpoint; the paper's limit is not in the source."""
End = Literal["complete", "stuck", "left", "budget"]


class Mind(Protocol):
    """An agent in one trajectory."""

    def move(self, told: str, deficits: int) -> Move:
        """Return the next move, having been told the answer to the last one ("" at first)."""


class Agent(Protocol):
    """Who acts."""

    @property
    def name(self) -> str:
        """What it is called in records and reports."""

    @property
    def scripted(self) -> bool:
        """Whether its behaviour is stated by us."""

    def start(self, scene: Scene) -> Mind:
        """Return its state for one trajectory."""


class Trajectory(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one trajectory.

    Attributes:
        end: complete (the policy let it end as done), stuck (the policy ended it), left (the agent gave up), budget.
        supported: whether its end as done is supported, by the judge that reads the world and the log.
        first: the policy's first answer.
        continued: how often it answered continue.
        recovered: after a continue, what was missing came into the record, or the answer was put right.
        turns: agent turns after the checkpoint. calls: calls proposed in them.
        deficits: codes of the deficits the agent was told, in order.
        status: the run's final status in the ledger.
        reproduces: every recorded decision of its run came out again.
    """

    cluster: str
    family: str
    primary: bool
    gap: str
    checkpoint: Checkpoint
    repetition: int
    policy: str
    agent: str
    end: End
    supported: bool
    first: str
    continued: int
    recovered: bool
    turns: int
    calls: int
    deficits: tuple[str, ...] = ()
    status: str = ""
    reproduces: bool = True

    @property
    def key(self) -> tuple[str, str, int, str]:
        """What names it in a study."""
        return (self.cluster, self.checkpoint, self.repetition, self.policy)


def play(
    cluster: Cluster, checkpoint: Checkpoint, repetition: int, policy: Policy, agent: Agent, *, turns: int = TURNS
) -> Trajectory:
    """Play one trajectory and return what came of it."""
    desk = Desk(cluster)
    name = f"{cluster.name}-{checkpoint}-{repetition}-{policy.name}"
    with Guard(cluster.contract, tools=desk.tools(), clock=Clock(), ids=lambda: name, holder="study") as guard:
        with guard.run(cluster.task) as run:
            run.says("user", cluster.scenario.request)
            scene = Scene(
                cluster=cluster, checkpoint=checkpoint, repetition=repetition, run=run, desk=desk,
                events=lambda: tuple(guard.store.events(name)),
            )  # fmt: skip
            scene.lead_in()
            found = _loop(scene, policy, agent, turns)
            run.close(f"study.{found.end}")
            found = msgspec.structs.replace(found, status=run.status or "")
        return msgspec.structs.replace(found, reproduces=recheck(guard.store.events(name)).reproduces)


def _loop(scene: Scene, policy: Policy, agent: Agent, turns: int) -> Trajectory:
    mind, judge = agent.start(scene), policy.start(scene)
    was_missing, was_right = not scene.desk.evidence(), scene.desk.right(scene.answer)
    told, named, first, continued, recovered = "", 0, "", 0, False
    deficits: list[str] = []
    end: End = "budget"
    supported = False
    turn = 0
    while turn < turns:
        turn += 1
        move = mind.move(told, named)
        if isinstance(move, Leaves):
            end = "left"
            break
        done = move if isinstance(move, Done) else None
        if continued and scene.checkpoint == "incomplete":
            found = scene.desk.evidence() if was_missing else done is not None and scene.desk.right(done.answer)
            recovered = recovered or found
        if done is not None and scene.run.status is None:
            scene.run.says("assistant", done.words)
        verdict = judge.judge(done)
        first = first or verdict.decision
        deficits += verdict.deficits
        if verdict.decision != "continue":
            end = verdict.decision
            supported = end == "complete" and done is not None and scene.desk.supported(done.answer)
            break
        continued += 1
        told, named = verdict.told, len(verdict.deficits)
    assert was_missing or not was_right or scene.checkpoint == "complete"
    return Trajectory(
        cluster=scene.cluster.name,
        family=scene.cluster.family.NAME,
        primary=scene.cluster.primary,
        gap=scene.cluster.gap if scene.checkpoint == "incomplete" else "",
        checkpoint=scene.checkpoint,
        repetition=scene.repetition,
        policy=policy.name,
        agent=agent.name,
        end=end,
        supported=supported,
        first=first,
        continued=continued,
        recovered=recovered,
        turns=turn,
        calls=scene.calls,
        deficits=tuple(deficits),
    )
