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
        result: the tool's JSON answer; None where nothing came back.
        error: what a caller sees instead of an answer: a timeout, a rejected argument.
        decision: a guard's decision, where one answered in the tool's place; `result` is then the recorded one, if any.
    """

    result: Any = None
    error: str | None = None
    decision: Decision | None = None

    def text(self) -> str:
        """Return the observation as JSON text, the way a model is shown it."""
        if self.decision is not None:
            shown: dict[str, Any] = {"guard": str(self.decision.verdict), "reasons": explained(self.decision.reasons)}
            if self.result is not None:
                shown["recorded_result"] = self.result
            return jsontext.dumps(shown)
        if self.error is not None:
            return jsontext.dumps({"error": self.error})
        return jsontext.dumps(self.result)


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What came back for "done".

    Attributes:
        accepted: whether the run may stop here.
        over: whether the run has ended, accepted or not; nothing more is heard from the agent.
        reasons: why not, and what would help.
    """

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


def explained(reasons: tuple[Reason, ...]) -> list[dict[str, Any]]:
    """Return reasons as JSON for an agent: code, sentence, what would help, and the reads that would."""
    return [
        {
            "code": r.code,
            "message": r.message,
            "what_would_help": r.reverses,
            "where": r.where,
            "reads": [{"tool": read.tool, "args": jsontext.loads(read.args)} for read in r.reads],
        }
        for r in reasons
    ]


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
        answer = Answer(accepted=True, over=True)
        self.exchanges.append(Exchange(text=text, answer=answer))
        return answer

    def _run(self, tool: str, args: Mapping[str, Any]) -> Observation:
        if tool not in self._tools:
            return Observation(error=f"there is no tool `{tool}`")
        try:
            return Observation(result=self._tools[tool](**args))
        except (TimeoutError, TypeError, InputError) as bad:
            # TypeError: a model left an argument out or made one up; it is told so, as any tool runner would.
            return Observation(error=f"{type(bad).__name__}: {bad}")
