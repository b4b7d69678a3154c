"""The scripted agents: what each does at a checkpoint and after CONTINUE, as probabilities stated per cluster.

The probabilities are *ours*. They were set once, around what table 4 lets one guess about the paper's model, and not
fitted; whatever numbers come out describe these agents and no model. Draws are named by cluster, checkpoint, repetition
and turn and never by policy, so that policies meet the same agent.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

from tallystick.evals.common.draw import Draw
from tallystick.evals.termination.closed.clusters import OF_ANSWERS, SEED, Cluster
from tallystick.evals.termination.closed.desk import as_json
from tallystick.evals.termination.closed.scene import Done, Leaves, Move, Scene, Working
from tallystick.evals.termination.corrupt import corrupted

RANGES: Final = {
    "premature": (45, 85),
    "poll": (30, 70),
    "recover": (15, 60),
    "blind": (2, 15),
    "persist": (30, 70),
    "slip": (2, 10),
}
"""Per cluster each probability is drawn from such a range, in per cent."""
MEANING: Final = {
    "premature": "at an incomplete checkpoint, says at once that it is done; else it first does what is missing",
    "poll": "at a polling checkpoint, asks for the state once more and ends its turn; the next begins as the first",
    "recover": "told CONTINUE with deficits, does what is missing and says that it is done",
    "blind": "told CONTINUE without deficits, does what is missing and says that it is done",
    "persist": "else, says once more what it said before; else it gives up",
    "slip": "having done what was missing, states one value wrongly",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Behaviour:
    """One cluster's probabilities; `MEANING` says what each is."""

    premature: float
    poll: float
    recover: float
    blind: float
    persist: float
    slip: float

    def to_json(self) -> dict[str, float]:
        """Return plain JSON values."""
        return dict(asdict(self))


def drawn(cluster: Cluster, seed: str = SEED) -> Behaviour:
    """Return the stated behaviour of a cluster's agent."""
    draw = Draw(seed, "behaviour", cluster.name)
    return Behaviour(**{name: draw.between(low, high) / 100 for name, (low, high) in RANGES.items()})


@dataclass(frozen=True, kw_only=True)
class Scripted:
    """The scripted agent.

    Attributes:
        never_recovers: it never does what is missing, whatever it is told: the control for the recovery gate.
        seed: of its draws.
    """

    never_recovers: bool = False
    seed: str = SEED
    scripted: bool = True

    @property
    def name(self) -> str:
        """What it is called in records and reports."""
        return "scripted:never-recovering" if self.never_recovers else "scripted"

    def behaviour(self, cluster: Cluster) -> Behaviour:
        """Return what it does in a cluster."""
        return drawn(cluster, self.seed)

    def start(self, scene: Scene) -> Mind:
        """Return its state for one trajectory."""
        return Mind(self, scene)


class Mind:
    """A scripted agent in one trajectory."""

    def __init__(self, agent: Scripted, scene: Scene) -> None:
        self._agent = agent
        self._scene = scene
        self._does = agent.behaviour(scene.cluster)
        self._turn = 0
        self._waited = False  # its last turn only asked for the state: nobody has contradicted it
        self._said = dict(scene.answer)

    def move(self, told: str, deficits: int) -> Move:
        """Return the next move.

        Args:
            told: what the policy answered to the last one, "" at first.
            deficits: how many deficits that answer named.
        """
        self._turn += 1
        if not told or self._waited:
            return self._first()
        if self._chance("recover" if deficits else "blind") and not self._agent.never_recovers:
            return self._close()
        return self._done() if self._chance("persist") else Leaves()

    def _first(self) -> Move:
        scene = self._scene
        if scene.checkpoint == "complete":
            return self._done()
        if scene.cluster.gap == "polling" and self._chance("poll"):
            scene.poll()
            self._waited = True
            return Working()
        self._waited = False
        if self._agent.never_recovers or self._chance("premature"):
            return self._done()
        return self._close()

    def _close(self) -> Move:
        """Do what is missing, then say that it is done."""
        scene = self._scene
        if scene.checkpoint == "incomplete" and scene.cluster.gap not in OF_ANSWERS and not scene.desk.evidence():
            for _ in range(5):
                state = scene.poll() if scene.cluster.gap == "polling" else None
                if state is None or state["job"]["state"] == "ready":
                    break
            scene.read()
        truth = scene.desk.truth()
        assert truth is not None
        self._said = dict(truth)
        if self._chance("slip"):
            slot = scene.cluster.contract.answer[0]
            self._said[slot.name] = as_json(slot.type, corrupted(slot.type, truth[slot.name]))
        return self._done()

    def _done(self) -> Done:
        return Done(text="Done.", answer=self._said)

    def _chance(self, name: str) -> bool:
        scene = self._scene
        draw = Draw(self._agent.seed, "agent", scene.cluster.name, scene.checkpoint, scene.repetition, self._turn, name)
        probability: Any = getattr(self._does, name)
        return draw.chance(probability)
