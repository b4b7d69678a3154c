"""The four policies of the closed loop, and the control that must fail. All are *reconstructed*.

| policy | says |
| --- | --- |
| critic_core | complete where the agent says it is done; stuck where its last calls are the same; else continue |
| controller | as the critic core, but its first "stuck" is answered by one more turn, as the critic's own loop would |
| full_trace_critic | what a critic says that reads every word and result: a model, or a scripted one of stated errors |
| ect | what the runtime's own closed loop says: COMPLETE, CONTINUE with deficits, STUCK |

The first three believe or disbelieve; none of them can name a deficit. All trajectories run their calls under the same
guard, so that only the answer to "I am done" tells the policies apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, Protocol

from tallystick.evals.common.draw import Draw
from tallystick.evals.termination.closed.clusters import SEED
from tallystick.evals.termination.closed.scene import Done, Scene

Decision = Literal["complete", "continue", "stuck"]
SAME_CALLS: Final = 3
"""Equal calls in a row that the critic core takes for a loop (reconstructed, as in the static study)."""
CONTINUE: Final = "CONTINUE"


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """A policy's answer.

    Attributes:
        decision: complete, continue, stuck.
        told: what the agent sees of it; nothing but the decision and the deficits.
        deficits: codes of the deficits it names.
    """

    decision: Decision
    told: str = CONTINUE
    deficits: tuple[str, ...] = ()


class Judge(Protocol):
    """A policy in one trajectory."""

    def judge(self, done: Done | None) -> Verdict:
        """Answer the agent's turn; `done` is None where it did not say that it is done."""


class Policy(Protocol):
    """A stop policy."""

    @property
    def name(self) -> str:
        """What it is called in records and reports."""

    def start(self, scene: Scene) -> Judge:
        """Return its state for one trajectory."""


@dataclass(frozen=True, kw_only=True)
class CriticCore:
    """The inspected critic: it believes the signal.

    Attributes:
        replans: times a "stuck" is answered by one more turn: none for the critic, once for its controller.
    """

    replans: int = 0
    name: str = "critic_core"

    def start(self, scene: Scene) -> Judge:
        """Return its state for one trajectory."""
        return _Core(self, scene)


class _Core:
    def __init__(self, policy: CriticCore, scene: Scene) -> None:
        self._left = policy.replans
        self._scene = scene

    def judge(self, done: Done | None) -> Verdict:
        if done is not None:
            return Verdict(decision="complete")
        last = [(c.tool, dict(c.args)) for c in self._scene.run.view.calls.values()][-SAME_CALLS:]
        if len(last) < SAME_CALLS or any(c != last[0] for c in last):
            return Verdict(decision="continue")
        if self._left:
            self._left -= 1
            return Verdict(decision="continue")
        return Verdict(decision="stuck")


@dataclass(frozen=True, kw_only=True)
class ScriptedCritic:
    """Stands in for a full-trace critic where there is no model: it knows the truth and errs as stated.

    Attributes:
        accepts: probability that it calls an unsupported end complete.
        refuses: probability that it calls a supported end incomplete.
    """

    accepts: float = 0.3
    refuses: float = 0.3
    seed: str = SEED
    name: str = "full_trace_critic"

    def start(self, scene: Scene) -> Judge:
        """Return its state for one trajectory."""
        return _ScriptedCritic(self, scene)


class _ScriptedCritic:
    def __init__(self, policy: ScriptedCritic, scene: Scene) -> None:
        self._policy = policy
        self._scene = scene
        self._asked = 0

    def judge(self, done: Done | None) -> Verdict:
        if done is None:
            return Verdict(decision="continue")
        self._asked += 1
        scene, policy = self._scene, self._policy
        draw = Draw(policy.seed, "critic", scene.cluster.name, scene.checkpoint, scene.repetition, self._asked)
        good = scene.desk.supported(done.answer)
        wrong = draw.chance(policy.refuses if good else policy.accepts)
        return Verdict(decision="complete" if good is not wrong else "continue")


@dataclass(frozen=True, kw_only=True)
class Ect:
    """The runtime's own closed loop: `run.finish`, with its verdicts, deficits and bounds."""

    name: str = "ect"

    def start(self, scene: Scene) -> Judge:
        """Return its state for one trajectory."""
        return _Ect(scene)


class _Ect:
    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def judge(self, done: Done | None) -> Verdict:
        if done is None:
            ended = self._scene.run.status is not None
            return Verdict(decision="stuck" if ended else "continue")
        finish = self._scene.run.finish(done.text, done.answer)
        decisions: dict[str, Decision] = {"COMPLETE": "complete", "CONTINUE": "continue", "STUCK": "stuck"}
        return Verdict(
            decision=decisions[finish.answer], told=str(finish), deficits=tuple(d.code for d in finish.deficits)
        )


@dataclass(frozen=True, kw_only=True)
class AlwaysContinue:
    """The control that must fail non-inferiority: never unsafe, and never done."""

    name: str = "always_continue"

    def start(self, scene: Scene) -> Judge:
        """Return itself: it remembers nothing."""
        del scene
        return self

    def judge(self, done: Done | None) -> Verdict:
        """Say CONTINUE."""
        del done
        return Verdict(decision="continue")


ORDER: Final = ("critic_core", "controller", "full_trace_critic", "ect")
CORE: Final = CriticCore()
CONTROLLER: Final = CriticCore(replans=1, name="controller")
