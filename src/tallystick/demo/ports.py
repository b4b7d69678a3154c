"""What an agent sees of the world: a way to call tools and a way to say it is finished.

The same agent object talks to either side of this port, so a difference between two runs comes from the port alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.decision import Decision, Reason

Outcome = Literal["acted", "declined"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """What came back for one call.

    Attributes:
        text: what a model is shown.
        result: the tool's JSON answer, or the recorded one a guard handed back; None where nothing came back.
        error: what a caller sees instead of an answer: a timeout, a rejected argument.
        decision: a guard's decision, where one answered in the tool's place.
    """

    text: str
    result: Any = None
    error: str | None = None
    decision: Decision | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What came back for "done".

    Attributes:
        text: what a model is shown.
        accepted: whether the run may stop here.
        over: whether the run has ended, accepted or not; nothing more is heard from the agent.
        reasons: why not, and what would help.
    """

    text: str
    accepted: bool
    over: bool
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """One entry of what went through a port: a call and its observation, or "done" and its answer."""

    tool: str | None = None
    args: Mapping[str, Any] = field(default_factory=dict)
    observation: Observation | None = None
    text: str = ""
    answer: Answer | None = None


class Port(Protocol):
    """An agent's side of the world."""

    exchanges: list[Exchange]

    def call(self, tool: str, args: Mapping[str, Any]) -> Observation:
        """Propose one call and return what came back. Never raises for what a tool does."""

    def finish(
        self, text: str, claims: Mapping[str, Any], *, outcome: Outcome = "acted", truncated: bool = False
    ) -> Answer:
        """Say that the task is finished, with values for the answer slots; return whether that is accepted."""


class UnguardedPort:
    """Straight to the tools. Nobody checks a call, and "done" is believed."""

    def __init__(self, tools: Mapping[str, Callable[..., Any]]) -> None:
        self.exchanges: list[Exchange] = []
        self._tools = tools

    def call(self, tool: str, args: Mapping[str, Any]) -> Observation:
        """Run the tool and return its answer, or the error its caller would see."""
        observation = self._run(tool, args)
        self.exchanges.append(Exchange(tool=tool, args=args, observation=observation))
        return observation

    def finish(
        self, text: str, claims: Mapping[str, Any], *, outcome: Outcome = "acted", truncated: bool = False
    ) -> Answer:
        """Believe it."""
        del claims, outcome, truncated  # that nobody looks at them is the point
        answer = Answer(text=jsontext.dumps({"accepted": True}), accepted=True, over=True)
        self.exchanges.append(Exchange(text=text, answer=answer))
        return answer

    def _run(self, tool: str, args: Mapping[str, Any]) -> Observation:
        if tool not in self._tools:
            return _failed(f"there is no tool `{tool}`")
        try:
            result = self._tools[tool](**args)
        except (TimeoutError, TypeError, InputError) as bad:
            # TypeError: a model left an argument out or made one up; it is told so, as any tool runner would.
            return _failed(f"{type(bad).__name__}: {bad}")
        return Observation(text=jsontext.dumps(result), result=result)


def _failed(error: str) -> Observation:
    return Observation(text=jsontext.dumps({"error": error}), error=error)
