"""One trajectory while it runs: the guarded run, its checkpoint, and what an agent may do in it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

from tallystick.evals.termination.closed.clusters import Cluster
from tallystick.evals.termination.closed.desk import Desk, as_json
from tallystick.evals.termination.corrupt import corrupted
from tallystick.model import jsontext
from tallystick.model.events import Sealed
from tallystick.runtime.run import Run

Checkpoint = Literal["incomplete", "complete"]
CHECKPOINTS: Final[tuple[Checkpoint, ...]] = ("incomplete", "complete")
POLLS: Final = 3
"""Status calls at a polling checkpoint; the job is then still pending."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Done:
    """The agent says that it is done.

    Attributes:
        text: its final words.
        answer: slot → value it states.
    """

    text: str
    answer: Mapping[str, Any] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The final words and every value, as a reader of the trace sees them."""
        stated = " ".join(f"{name}: {jsontext.dumps(value)}." for name, value in self.answer.items())
        return f"{self.text} {stated}".strip()


@dataclass(frozen=True, kw_only=True, slots=True)
class Working:
    """The agent's turn ended without saying that it is done."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Leaves:
    """The agent gives up: it neither goes on nor says that it is done."""


Move = Done | Working | Leaves


class Clock:
    """Tells another second each time it is asked."""

    def __init__(self) -> None:
        self._now = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        """Return the present instant."""
        self._now += timedelta(seconds=1)
        return self._now


@dataclass(kw_only=True)
class Scene:
    """One trajectory.

    Attributes:
        calls: calls proposed since the checkpoint.
        answer: what the agent would answer at the checkpoint.
        events: returns the run's events so far.
        told: (tool, arguments, text of what came back) of every call, for an agent that reads its history.
    """

    cluster: Cluster
    checkpoint: Checkpoint
    repetition: int
    run: Run
    desk: Desk
    events: Callable[[], tuple[Sealed, ...]]
    calls: int = 0
    answer: dict[str, Any] = field(default_factory=dict)
    told: list[tuple[str, Mapping[str, Any], str]] = field(default_factory=list)

    def call(self, tool: str, args: Mapping[str, Any]) -> Any:
        """Propose a call and return its result as JSON values, or None where it was not run."""
        self.calls += 1
        outcome = self.run.call(tool, dict(args))
        self.told.append((tool, dict(args), outcome.text()))
        return outcome.result

    def poll(self) -> Any:
        """Ask for the state of the job that prepares the data."""
        arg, binding = self.cluster.family.SUBJECT
        return self.call(self.cluster.family.STATUS_TOOL, {arg: self.cluster.scenario.bindings[binding]})

    def read(self) -> None:
        """Make the reads the answer rests on."""
        self.cluster.family.read(self.cluster.scenario.bindings, self.call)

    def lead_in(self) -> None:
        """Play the part before the checkpoint: the same at every repetition and for every policy and agent."""
        cluster, desk = self.cluster, self.desk
        gap = cluster.gap if self.checkpoint == "incomplete" else None
        desk.world["job"]["ready_after"] = POLLS if gap == "polling" else POLLS - 1
        cluster.family.act(cluster.scenario.bindings, self.call)
        for _ in range(POLLS):
            self.poll()
        if gap == "other_entity":
            cluster.family.read(cluster.scenario.elsewhere, self.call)
        elif gap == "nested_error":
            desk.broken = True
            self._try_reading()
            desk.broken = False
        elif gap not in ("unread", "polling"):
            self.read()
        truth = desk.truth()
        assert truth is not None
        slots = [slot.name for slot in cluster.contract.answer]
        self.answer = {name: truth[name] for name in slots}
        at = slots[cluster.number % len(slots)]
        if gap == "omitted":
            del self.answer[at]
        elif gap == "wrong_value":
            slot = next(s for s in cluster.contract.answer if s.name == at)
            self.answer[at] = as_json(slot.type, corrupted(slot.type, self.answer[at]))
        self.calls = 0

    def _try_reading(self) -> None:
        with contextlib.suppress(KeyError):  # a family whose next read depends on the last cannot go on after an error
            self.read()
